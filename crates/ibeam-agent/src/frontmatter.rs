//! The header of a Markdown file: settings in a subset of YAML between two lines `---`.
//!
//! Rule files, skills and slash commands have such headers. They are written for programs with different parsers, and
//! many are not valid YAML: `globs: *.ts` is an alias without an anchor. So this parser reads line by line and takes
//! what has one meaning: texts (plain, quoted, `|` and `>`), lists (`[a, b]` and `- a`), true and false. Nested
//! mappings are skipped, because no setting here is one. A line of other YAML (a tab as indentation, a quote without its
//! end, two values of one key) is a fault that names the line; the other lines count.

mod scalar;

use std::fmt;
use std::path::Path;

use ibeam_protocol::Notice;

use scalar::scalar;

/// The settings of a header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontmatter {
    fields: Vec<(String, Field)>,
    faults: Vec<FrontmatterFault>,
}

/// The value of a setting.
#[derive(Debug, PartialEq, Eq)]
enum Field {
    Text(String),
    /// A list, with its source if it is on the line of its key.
    List {
        items: Vec<String>,
        source: Option<String>,
    },
    /// A mapping, which is not read.
    Nested,
}

/// A line of a header that is not valid. Its setting does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontmatterFault {
    /// The line of the file, from 1.
    line: usize,
    /// The setting; `None` if the line names none.
    key: Option<String>,
    detail: &'static str,
}

impl FrontmatterFault {
    /// Returns the notice that the line of the file at `path` is not used.
    pub(crate) fn notice(&self, path: &Path) -> Notice {
        Notice::part_ignored(path, &format!("line {} of its header", self.line), self.detail.to_owned())
    }
}

impl fmt::Display for FrontmatterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of its header: {}", self.line, self.detail)
    }
}

impl Frontmatter {
    /// Splits a file into its header and the text after it. A file without a header has no settings.
    pub(crate) fn split(file: &str) -> (Self, &str) {
        let file = file.trim_start_matches('\u{feff}');
        match header_and_text(file) {
            Some((header, text)) => (Self::parse(header), text),
            None => (Self::default(), file),
        }
    }

    /// Returns the lines that are not valid.
    pub(crate) fn faults(&self) -> &[FrontmatterFault] {
        &self.faults
    }

    /// Whether there is any setting.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns a text that is not empty.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        let text = match self.field(key)? {
            Field::Text(text) => text,
            Field::List { source, .. } => source.as_ref()?,
            Field::Nested => return None,
        };
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    /// Returns the items of a list, or of a text with commas between them. Commas within braces separate nothing.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        let items = match self.field(key) {
            Some(Field::Text(text)) => split_outside(text, '{', '}'),
            Some(Field::List { items, .. }) => items.clone(),
            Some(Field::Nested) | None => Vec::new(),
        };
        items.into_iter().filter(|item| !item.is_empty()).collect()
    }

    /// Returns a value that is true or false.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        }
    }

    /// Returns a flag that narrows what is allowed if it is `narrow`. A value that cannot be read narrows.
    pub(crate) fn guard(&self, key: &str, narrow: bool) -> Option<bool> {
        let is_unreadable = self.faults.iter().any(|fault| fault.key.as_deref() == Some(key))
            || self.field(key).is_some_and(|field| *field != Field::Text(String::new()));
        self.flag(key).or_else(|| is_unreadable.then_some(narrow))
    }

    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }

    fn parse(header: &str) -> Self {
        let lines: Vec<&str> = header.lines().collect();
        let mut found = Self::default();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            // The header starts in the second line of the file.
            let line_number = at + 2;
            at += 1;
            if is_blank(line) {
                continue;
            }
            let start = at;
            while lines.get(at).is_some_and(|next| is_continuation(next)) {
                at += 1;
            }
            if let Err((key, detail)) = found.add(line, lines.get(start..at).unwrap_or_default()) {
                found.faults.push(FrontmatterFault { line: line_number, key, detail });
            }
        }
        found
    }

    /// Adds the setting of a line and the lines below it that belong to it.
    ///
    /// # Errors
    /// The name of the setting, if there is one, and the reason why it does not count.
    fn add(&mut self, line: &str, below: &[&str]) -> Result<(), (Option<String>, &'static str)> {
        if line.starts_with('\t') {
            return Err((None, "tabs do not indent; use spaces"));
        }
        let key_and_value = line.split_once(':').map(|(key, value)| (unquoted(key.trim_end()), value.trim()));
        let Some((key, value)) = key_and_value.filter(|(key, _)| is_name(key)) else {
            return Err((None, "it should be `name: value`"));
        };
        let fault = |detail| (Some(key.to_owned()), detail);
        if self.field(key).is_some() {
            return Err(fault("this name has a value already"));
        }
        let field = parse_value(value, below).map_err(fault)?;
        self.fields.push((key.to_owned(), field));
        Ok(())
    }
}

/// Returns the lines between the first two lines `---`, if the file starts with one, and the text after them.
fn header_and_text(file: &str) -> Option<(&str, &str)> {
    let (first, rest) = file.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..start)?, rest.get(start + line.len()..)?));
        }
        start += line.len();
    }
    None
}

/// Whether the line has only white space or a comment.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Returns a key without the quotes around it.
fn unquoted(key: &str) -> &str {
    let within = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(key)
}

/// Whether a text is the name of a setting: words that are keys.
fn is_name(text: &str) -> bool {
    text.starts_with(is_key_character) && text.split(' ').all(is_key)
}

fn is_key_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_key_character)
}

/// Whether the line belongs to the value of the key before it.
fn is_continuation(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with([' ', '\t'])
        || line.starts_with("- ")
        || line.trim_end() == "-"
}

/// Parses the value after a key, and the lines below it that belong to it.
fn parse_value(value: &str, below: &[&str]) -> Result<Field, &'static str> {
    if let Some(style) = value.strip_prefix(['|', '>']) {
        let style = style.split('#').next().unwrap_or_default().trim();
        if style.chars().all(|c| matches!(c, '-' | '+' | '1'..='9')) {
            return Ok(Field::Text(block_text(below, value.starts_with('>'))));
        }
    }
    let mut rows = below.iter().map(|line| line.trim()).filter(|line| !is_blank(line)).peekable();
    let value = if value.starts_with('#') { "" } else { value };
    if value.is_empty() {
        return match rows.peek() {
            None => Ok(Field::Text(String::new())),
            Some(first) if first.starts_with("- ") || *first == "-" => {
                let items = rows.map(|row| match row.strip_prefix('-') {
                    Some(item) => scalar(item.trim()),
                    // An item that is a mapping or has several lines.
                    None => Ok(String::new()),
                });
                Ok(Field::List { items: items.collect::<Result<_, _>>()?, source: None })
            }
            Some(first) if first.split_once(':').is_some_and(|(key, _)| is_key(key)) => Ok(Field::Nested),
            Some(_) => Ok(Field::Text(scalar(&rows.collect::<Vec<_>>().join(" "))?)),
        };
    }
    let folded = std::iter::once(value).chain(rows).collect::<Vec<_>>().join(" ");
    if folded.starts_with('{') {
        return Ok(Field::Nested);
    }
    let list = folded.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    match list.filter(|list| !list.contains(['[', ']'])) {
        Some(list) => {
            let items = split_outside(list, '{', '}');
            let items = items.iter().map(|item| scalar(item)).collect::<Result<_, _>>()?;
            Ok(Field::List { items, source: Some(folded) })
        }
        // Texts such as `[file] [line]` are common, although they are not YAML.
        None => Ok(Field::Text(scalar(&folded)?)),
    }
}

/// Returns the text of a block: its lines without their common indentation. In a folded block, lines are joined and an
/// empty line ends a paragraph.
fn block_text(below: &[&str], is_folded: bool) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = below.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or_default();
    let lines: Vec<&str> =
        below.iter().map(|line| line.get(common..).unwrap_or_default().trim_end()).collect();
    let text = match is_folded {
        false => lines.join("\n"),
        true => {
            lines.split(|line| line.is_empty()).map(|lines| lines.join(" ")).collect::<Vec<_>>().join("\n")
        }
    };
    text.trim_end().to_owned()
}

/// Splits at each comma that is not between `open` and `close`.
fn split_outside(text: &str, open: char, close: char) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        } else if c == ',' && depth == 0 {
            items.push(String::new());
            continue;
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items.iter().map(|item| item.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(lines: &str) -> Frontmatter {
        Frontmatter::split(&format!("---\n{lines}\n---\ntext")).0
    }

    #[test]
    fn texts_are_plain_quoted_folded_or_in_a_block() {
        for (lines, expect) in [
            ("d: a plain text", "a plain text"),
            ("d: Use when: always", "Use when: always"),
            ("d: text # comment", "text"),
            ("d: \"a: \\\"b\\\" # c\" # d", "a: \"b\" # c"),
            ("d: 'it''s'", "it's"),
            ("d: \"Quick\" fix for things", "\"Quick\" fix for things"),
            ("d: one\n  two\n  three", "one two three"),
            ("d:\n  one\n  two", "one two"),
            ("d: >-\n  one\n  two\n\n  three\ne: x", "one two\nthree"),
            ("d: |\n  one\n    two\n", "one\n  two"),
            ("d: [pr-number] [priority]", "[pr-number] [priority]"),
            ("d: [message]", "[message]"),
        ] {
            assert_eq!(header(lines).text("d"), Some(expect), "{lines}");
        }
        assert_eq!(header("d:\nother: x").text("d"), None);
        assert_eq!(header("d: {a: b}").text("d"), None);
    }

    #[test]
    fn lists_are_flow_block_or_text_with_commas() {
        for lines in [
            "globs: *.ts,src/*.{js,jsx}",
            "globs: [\"*.ts\", src/*.{js,jsx}]",
            "globs:\n  - \"*.ts\"\n  - 'src/*.{js,jsx}' # both\nalwaysApply: false",
            "globs:\n- *.ts\n- src/*.{js,jsx}",
        ] {
            assert_eq!(header(lines).list("globs"), ["*.ts", "src/*.{js,jsx}"], "{lines}");
        }
        assert!(header("globs:").list("globs").is_empty());
        assert!(header("globs: []").list("globs").is_empty());
    }

    #[test]
    fn nested_mappings_are_skipped_and_flags_have_two_values() {
        let found = header("metadata:\n  author: me\n  version: \"1.0\"\nalwaysApply: True\nother: maybe");
        assert_eq!((found.flag("alwaysApply"), found.flag("other")), (Some(true), None));
        assert_eq!(found.text("metadata"), None);
    }

    #[test]
    fn a_line_that_is_not_valid_is_named_and_the_others_count() {
        for (lines, line, key) in [
            ("description: x\nnot a setting\nlast: y", 3, None),
            ("\tdescription: x\nlast: y", 2, None),
            ("a: \"open\nlast: y", 2, Some("a")),
            ("a: 1\nb: 2\na: 3\nlast: y", 4, Some("a")),
        ] {
            let found = header(lines);
            let [fault] = found.faults() else { panic!("{lines}: {found:?}") };
            assert_eq!((fault.line, fault.key.as_deref()), (line, key), "{lines}: {fault}");
            assert_eq!(found.text("last"), Some("y"), "{lines}");
        }
        for (lines, expect) in [
            ("a: \"open", Some(true)),
            ("a: maybe", Some(true)),
            ("a: no", Some(false)),
            ("a:", None),
            ("b: no", None),
        ] {
            assert_eq!(header(lines).guard("a", true), expect, "{lines}");
        }
    }

    #[test]
    fn names_are_quoted_or_several_words() {
        let found = header("\"name\": a\n'description': b\nshort description: c\nspaced : d");
        for (key, expect) in
            [("name", "a"), ("description", "b"), ("short description", "c"), ("spaced", "d")]
        {
            assert_eq!(found.text(key), Some(expect), "{found:?}");
        }
    }

    #[test]
    fn a_file_without_a_complete_header_is_text() {
        for file in ["no header", "---\nnever: closed\n", "text\n---\na: b\n---\n", ""] {
            assert_eq!(Frontmatter::split(file), (Frontmatter::default(), file));
        }
        let (header, text) = Frontmatter::split("\u{feff}---\r\na: b\r\n---\r\ntext\r\n");
        assert_eq!((header.text("a"), text), (Some("b"), "text\r\n"));
    }
}
