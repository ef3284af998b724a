//! The translations of texts that the model, programs, journals or other crates have in English, from that text: the
//! reasons of policy, wrong values, errors of the system. A recorded reason can be translated too.
//!
//! `locales/reasons.txt` has a block for each template. A text without a block stays English; a test of the binary
//! compares the blocks with the reasons of policy.

use ibeam_protocol::Sentence;

use super::translations;
use crate::locale::Locale;

/// Returns the translation of a reason; `None` for English and for an unknown reason.
pub(super) fn translation(locale: Locale, reason: &str) -> Option<String> {
    if locale == Locale::En {
        return None;
    }
    let blocks =
        translations::reasons().split("\n\n").filter_map(|block| block.trim_matches('\n').split_once('\n'));
    let found = blocks.filter_map(|(template, lines)| {
        let arguments = matched_arguments(template, reason)?;
        let values: usize = arguments.iter().map(|(_, value)| value.len()).sum();
        let is_doubtful = arguments.iter().any(|argument| has_quote_in_quotes(template, argument));
        // A reason with an addition: what is added last comes off first.
        let is_whole = !template.contains("{reason}");
        let order = (is_whole, template.ends_with('}'), is_doubtful, values);
        Some((order, arguments, lines))
    });
    // Of several templates, the one with the longest text of its own.
    let (_, arguments, lines) = found.min_by_key(|(order, _, _)| *order)?;
    let line = lines
        .lines()
        .find_map(|line| line.strip_prefix(locale.code()).and_then(|rest| rest.strip_prefix(' ')))?;
    let arguments = arguments.into_iter().map(|(name, value)| match name {
        // A part of the sentence: half a sentence in English is worse than a whole one.
        "operators" | "what" | "why" => Some((name, translation(locale, value)?)),
        "reason" | "flags" => Some((name, translation(locale, value).unwrap_or_else(|| value.to_owned()))),
        _ => Some((name, value.to_owned())),
    });
    Some(Sentence::from_template(line, arguments.collect::<Option<_>>()?).to_string())
}

/// Returns the translation of a reason, or of several reasons with `; ` between them; `None` if one has no translation.
pub(super) fn translation_of_all(locale: Locale, reasons: &str) -> Option<String> {
    let translate_each = || {
        let parts: Option<Vec<String>> =
            reasons.split("; ").map(|reason| translation(locale, reason)).collect();
        Some(parts?.join("; "))
    };
    translation(locale, reasons).or_else(translate_each)
}

/// Whether a value that the template quotes has a quote: then the value probably ends there, and the rest is of a longer
/// template.
fn has_quote_in_quotes(template: &str, (name, value): &(&str, &str)) -> bool {
    value.contains('`') && template.contains(&format!("`{{{name}}}`"))
}

/// Returns the texts in the places of the placeholders; `None` if `text` is not of this template.
fn matched_arguments<'t>(template: &'static str, text: &'t str) -> Option<Vec<(&'static str, &'t str)>> {
    let (first, mut rest_of_template) = template.split_once('{').unwrap_or((template, ""));
    let mut rest = text.strip_prefix(first)?;
    let mut arguments = Vec::new();
    while !rest_of_template.is_empty() {
        let (name, after) = rest_of_template.split_once('}')?;
        let (literal, next) = after.split_once('{').unwrap_or((after, ""));
        let end = if next.is_empty() && !after.ends_with('{') {
            rest.strip_suffix(literal)?.len()
        } else {
            rest.find(literal)?
        };
        let (value, tail) = rest.split_at(end);
        arguments.push((name, value));
        rest = tail.strip_prefix(literal)?;
        rest_of_template = next;
    }
    rest.is_empty().then_some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(locale: Locale, reason: &str, expect: &str) {
        assert_eq!(translation(locale, reason).as_deref(), Some(expect));
    }

    #[test]
    fn a_reason_is_translated_with_the_values_in_it() {
        check(
            Locale::Es,
            "running `rm` is denied by the rule `Shell(rm)`",
            "la regla `Shell(rm)` prohíbe ejecutar `rm`",
        );
        check(
            Locale::Fr,
            "the command `ls -l` is not covered by an allow rule; a person may allow it with \
             `--allow 'Shell(ls)'` or `--force` (in the working directory `/w`)",
            "aucune règle d'autorisation ne couvre la commande `ls -l` ; une personne peut l'autoriser avec \
             `--allow 'Shell(ls)'` ou `--force` (dans le répertoire de travail `/w`)",
        );
        check(
            Locale::Es,
            "`/etc/passwd` is outside the workspace `/w`; a person may allow it with `--add-dir` or `--allow \
             'Write(/etc/passwd)'`",
            "`/etc/passwd` está fuera del espacio de trabajo `/w`; una persona puede permitirlo con `--add-dir` o \
             `--allow 'Write(/etc/passwd)'`",
        );
        check(
            Locale::Es,
            "running `echo `date`` is denied by the rule `Shell(echo)`",
            "la regla `Shell(echo)` prohíbe ejecutar `echo `date``",
        );
        check(
            Locale::Ja,
            "the command has a brace expansion, which no allow rule covers; use simple commands joined by `&&`, `||`, \
             `;` or `|`",
            "コマンドにブレース展開が含まれ、これを許可する規則がありません。`&&`、`||`、`;`、`|` \
             でつないだ単純なコマンドを使ってください",
        );
        check(Locale::Ja, "nothing narrower applies", "これより厳しい規則は当てはまりません");
        assert_eq!(translation(Locale::Es, "a hook refused it"), None);
        assert_eq!(translation(Locale::Es, "it covers other arguments: this one does something new"), None);
        assert_eq!(translation(Locale::En, "nothing narrower applies"), None);
    }

    #[test]
    fn several_reasons_are_translated_if_each_has_a_translation() {
        let spanish = |reasons| translation_of_all(Locale::Es, reasons);
        assert_eq!(
            spanish("`/a` lacks the property `b`; the document should be of type array, not object")
                .as_deref(),
            Some("`/a` no tiene la propiedad `b`; el documento debe ser de tipo array, no object"),
        );
        assert_eq!(spanish("`/a` lacks the property `b`; something else"), None);
    }

    #[test]
    fn every_block_has_each_language_and_its_placeholders() {
        let names = |text: &str| -> Vec<String> {
            text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect()
        };
        let blocks =
            translations::reasons().split("\n\n").filter(|block| !block.trim_start().starts_with('#'));
        for block in blocks {
            let (template, lines) = block.trim_matches('\n').split_once('\n').unwrap();
            let known = names(template);
            let codes: Vec<&str> = lines.lines().filter_map(|line| line.get(..2)).collect();
            assert_eq!(codes, ["es", "id", "ja", "fr", "pt"], "{template}");
            for line in lines.lines() {
                assert!(names(line).iter().all(|name| known.contains(name)), "{line}");
            }
        }
    }
}
