//! Checks the words of the code: names and comments use the terms of the field.
//!
//! Finds parts of identifiers, first words of doc comments, and phrases that a reader would have to learn first. Does not
//! check grammar. A review that finds another such word adds it to the lists.

use std::path::Path;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use super::tree::{TidyError, read_file, tracked_files};

/// Parts of identifiers that do not name their subject, with plain replacements.
const FORBIDDEN_PARTS: &[(&str, &str)] = &[
    ("aloud", "the name of the effect, such as `record_deltas`"),
    ("anew", "`again` or `new`"),
    ("beside", "`next_to`, or the name of the relation"),
    ("goodbye", "`session_end`"),
    ("hear", "`receive`, `on_event`"),
    ("heard", "`received`, `output`"),
    ("hears", "`receives`"),
    ("met", "`cached`, `visited`"),
    ("ours", "`own`, `contract`"),
    ("patience", "`timeout`, `grace`"),
    ("retold", "`replayed`"),
    ("said", "`message`, `detail`, `text`"),
    ("says", "`contains`, `answers`"),
    ("speak", "`write`, `set_output`"),
    ("speaks", "`writes`"),
    ("tell", "`report`, `notify`, `warn`"),
    ("tells", "`reports`"),
    ("theirs", "the name of the owner"),
    ("told", "`reported`, `payload`"),
    ("unsaid", "`omitted`"),
    ("untold", "`pending`"),
    ("whisper", "`write`"),
    ("whoever", "the name of the role"),
    ("wish", "`options`, `command`"),
    ("wishes", "`options`"),
];

/// First words of doc comments that start with neither a noun nor a verb in the third person.
const FORBIDDEN_OPENINGS: &[&str] = &[
    "As ", "Here", "How ", "It ", "None", "Nothing", "Of ", "One that", "Says", "Tells", "That ", "The same",
    "There", "These", "They", "Those", "What ", "Where ", "Who ", "Whoever", "Whose",
];

/// Phrases that no comment and no text uses.
const FORBIDDEN_PHRASES: &[&str] = &[
    "at the most",
    "goes on with",
    "gone on with",
    "in truth",
    "in vain",
    "of ours",
    "of theirs",
    "of yours",
    "to be had",
    "whoever",
];

/// Files that quote the forbidden words.
const QUOTING_FILES: &[&str] = &["xtask/src/tidy/words.rs", "CHANGELOG.md"];

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let mut findings = Vec::new();
    for path in tracked_files(root)? {
        if QUOTING_FILES.contains(&path.as_str()) || path.starts_with("corpus/") {
            continue;
        }
        if path.ends_with(".rs") {
            let text = read_file(root, &path)?;
            findings.extend(code_findings(&path, &text)?);
        } else if path.ends_with(".md") || path.ends_with("/en.ftl") {
            findings.extend(phrase_findings(&path, &read_file(root, &path)?, |_| true));
        }
    }
    Ok(findings)
}

fn code_findings(path: &str, text: &str) -> Result<Vec<String>, TidyError> {
    let tokens =
        TokenStream::from_str(text).map_err(|error| TidyError::Unreadable(format!("{path}: {error}")))?;
    let mut findings = Vec::new();
    collect_identifiers(path, tokens, &mut findings);
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    findings.extend(phrase_findings(path, text, is_comment));
    findings.extend(opening_findings(path, text));
    Ok(findings)
}

fn collect_identifiers(path: &str, tokens: TokenStream, findings: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_identifiers(path, group.stream(), findings),
            TokenTree::Ident(name) => {
                let text = name.to_string();
                if let Some((part, replacement)) = forbidden_part(&text) {
                    let line = name.span().start().line;
                    findings.push(format!("{path}:{line}: `{text}`: instead of `{part}`: {replacement}"));
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the first forbidden part of a name, and its replacement.
fn forbidden_part(name: &str) -> Option<(&'static str, &'static str)> {
    let parts = name_parts(name);
    FORBIDDEN_PARTS.iter().copied().find(|(part, _)| parts.iter().any(|found| found == part))
}

/// Returns the lower-case words of a name in snake case or camel case.
fn name_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && previous.is_lowercase() {
            parts.push(String::new());
        }
        if c != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
        previous = c;
    }
    parts
}

/// Finds doc comments whose first line opens with a forbidden word.
fn opening_findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_first = true;
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_first = true;
            continue;
        };
        if is_first && FORBIDDEN_OPENINGS.iter().any(|opening| doc.trim_start().starts_with(opening)) {
            findings.push(format!(
                "{path}:{number}: open the doc comment with a noun or a verb in the third person"
            ));
        }
        is_first = false;
    }
    findings
}

fn phrase_findings(path: &str, text: &str, is_checked: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_checked(line));
    lines
        .filter_map(|(number, line)| {
            let line = line.to_lowercase();
            let phrase = FORBIDDEN_PHRASES.iter().find(|phrase| has_phrase(&line, phrase))?;
            Some(format!("{path}:{number}: say `{phrase}` in other words"))
        })
        .collect()
}

/// Whether `line` has the words of `phrase` as complete words.
fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(start, _)| {
        let before = line.get(..start).and_then(|before| before.chars().next_back());
        let after = line.get(start + phrase.len()..).and_then(|after| after.chars().next());
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        let findings = code_findings("a.rs", text).unwrap();
        assert_eq!(findings.len(), expected, "{findings:?}");
    }

    #[test]
    fn parts_of_names_are_found_and_strings_are_not() {
        check("fn a() { let what_it_said = 1; }", 1);
        check("struct ToldTwice; enum E { Aloud }", 2);
        check("fn method() { let x = \"said\"; }", 0);
        check("fn a() { println!(\"{}\", self.told); }", 1);
    }

    #[test]
    fn doc_comments_open_with_a_noun_or_a_verb() {
        check("/// That of a session.\nfn a() {}", 1);
        check("/// Returns the session.\n/// That is all.\nfn a() {}", 0);
    }

    #[test]
    fn phrases_are_found_in_comments() {
        check("// Not to be had here.\nfn a() {}", 1);
        check("// As tokens.\nfn a() { let x = \"to be had\"; }", 0);
        check("// Parts of oursines.\nfn a() {}", 0);
    }
}
