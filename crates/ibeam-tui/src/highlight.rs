//! Colours for code: strings, comments, numbers and the keywords that many languages share.
//!
//! It knows no language. A line that it misreads is still complete and correct as text.

use crate::styled::{Color, Line, Style};

/// The keywords of common languages.
const KEYWORDS: &[&str] = &[
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "do",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "lambda",
    "let",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "package",
    "pass",
    "private",
    "pub",
    "public",
    "raise",
    "return",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "undefined",
    "unsafe",
    "use",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// Returns a line of code in the language `language`, which may be empty.
pub(crate) fn code_line(text: &str, language: &str) -> Line {
    let mut line = Line::plain("  ");
    if matches!(language, "diff" | "patch") {
        let style = match text.as_bytes().first() {
            Some(b'+') => Style::color(Color::Green),
            Some(b'-') => Style::color(Color::Red),
            Some(_) | None => Style::PLAIN,
        };
        return line.with(style, text);
    }
    let mut rest = text;
    let mut is_after_word = false;
    while let Some(first) = rest.chars().next() {
        let (style, length) = if !is_after_word && is_comment(rest, language) {
            (Style::DIM, rest.len())
        } else if matches!(first, '"' | '`') || (first == '\'' && closes_soon(rest)) {
            (Style::color(Color::Green), string_length(rest, first))
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_keyword = rest.get(..length).is_some_and(|word| KEYWORDS.contains(&word));
            (if is_keyword { Style::color(Color::Blue) } else { Style::PLAIN }, length)
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'));
            (Style::color(Color::Magenta), length.unwrap_or(rest.len()))
        } else {
            (Style::PLAIN, first.len_utf8())
        };
        let (token, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        line.push(style, token);
        is_after_word = token.ends_with(|c: char| !c.is_whitespace());
        rest = after;
    }
    line
}

/// Whether a comment starts here.
fn is_comment(rest: &str, language: &str) -> bool {
    match language {
        "" | "text" | "markdown" | "md" | "json" => false,
        "sql" | "lua" | "haskell" => rest.starts_with("--"),
        "python" | "py" | "bash" | "sh" | "shell" | "toml" | "yaml" | "yml" | "ruby" | "rb" => {
            rest.starts_with('#')
        }
        _ => rest.starts_with("//") || rest.starts_with("/*"),
    }
}

/// Whether a `'` starts a short text, and not a lifetime or an apostrophe.
fn closes_soon(rest: &str) -> bool {
    rest.get(1..).and_then(|rest| rest.find('\'')).is_some()
}

/// Returns the length in bytes of the string at the start of `rest`.
fn string_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_never_change_the_text() {
        for text in
            ["let x = \"a\\\"b\"; // 日本", "'a", "é'x'1.5", "# not", "\"open", "fn f<'a>(x: &'a str)"]
        {
            for language in ["", "rust", "python", "diff"] {
                assert_eq!(code_line(text, language).text(), format!("  {text}"));
            }
        }
    }

    #[test]
    fn keywords_have_a_colour() {
        let expect = Line::plain("  ").with(Style::color(Color::Blue), "let").with(Style::PLAIN, " x");
        assert_eq!(code_line("let x", "rust"), expect);
    }
}
