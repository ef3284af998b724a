//! The placeholders in the text of a command: `$ARGUMENTS`, `$1`, `$2` …

/// The placeholder for all arguments.
const ALL: &str = "ARGUMENTS";

/// Replaces the placeholders of `template`. `\$` is a dollar sign. Arguments without any placeholder follow the text.
pub(super) fn fill_arguments(template: &str, arguments: &str) -> String {
    let words = split_words(arguments);
    let mut text = String::with_capacity(template.len() + arguments.len());
    let mut has_placeholder = false;
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
        if let Some(before) = before.strip_suffix('\\') {
            text.push_str(before);
            text.push('$');
            rest = after;
            continue;
        }
        text.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = after.get(..digits).and_then(|digits| digits.parse::<usize>().ok());
        if let Some(remaining) = after.strip_prefix(ALL) {
            text.push_str(arguments);
            (rest, has_placeholder) = (remaining, true);
        } else if let Some(number) = number.filter(|number| *number > 0) {
            text.push_str(words.get(number - 1).map(String::as_str).unwrap_or_default());
            (rest, has_placeholder) = (after.get(digits..).unwrap_or_default(), true);
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    if !has_placeholder && !arguments.is_empty() {
        text.push_str(&format!("\n\nArguments: {arguments}"));
    }
    text
}

/// Splits arguments at white space. A word that begins with a quote extends to the next such quote, or to the end.
pub(super) fn split_words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => {
                let inner = rest.get(1..).unwrap_or_default();
                inner.split_once(first).unwrap_or((inner, ""))
            }
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once() {
        for (template, arguments, expect) in [
            ("Fix $ARGUMENTS now", "issue 7", "Fix issue 7 now"),
            ("$1 then $2, not $3.", "a \"b c\"", "a then b c, not ."),
            ("$1", "$2 x", "$2"),
            ("$12|$1", "a", "|a"),
            ("costs \\$1 or $0 or $", "x", "costs $1 or $0 or $\n\nArguments: x"),
            ("no placeholder", "", "no placeholder"),
            ("no placeholder", "it's here", "no placeholder\n\nArguments: it's here"),
            ("$1", "'open", "open"),
        ] {
            assert_eq!(fill_arguments(template, arguments), expect, "{template} {arguments}");
        }
    }
}
