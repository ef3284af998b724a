//! A rule file of Cursor: a header between two lines `---`, then text.

/// A rule.
pub(super) struct CursorRule {
    /// Whether the rule applies to all files.
    pub(super) is_always_applied: bool,
    /// `: DESCRIPTION (GLOBS)`, without the parts that the header lacks.
    pub(super) about: String,
    /// The text after the header.
    pub(super) text: String,
}

impl CursorRule {
    /// Parses the text of a file. A rule without a header always applies.
    pub(super) fn parse(file: &str) -> Self {
        let file = file.trim_start_matches('\u{feff}');
        let Some((header, text)) = split_header(file) else {
            return Self { is_always_applied: true, about: String::new(), text: file.to_owned() };
        };
        let value = |name: &str| {
            let mut lines = header.lines().filter_map(|line| line.split_once(':'));
            let found = lines.rfind(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
            let bare = found.map(|value| value.trim_matches(['"', '\'']).trim());
            bare.filter(|value| !value.is_empty())
        };
        let mut about = value("description").map_or(String::new(), |description| format!(": {description}"));
        if let Some(globs) = value("globs") {
            about.push_str(&format!(" ({globs})"));
        }
        Self { is_always_applied: value("alwaysApply") == Some("true"), about, text: text.to_owned() }
    }
}

fn split_header(file: &str) -> Option<(&str, &str)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, always: bool, about: &str, text: &str) {
        let rule = CursorRule::parse(file);
        assert_eq!(
            (rule.is_always_applied, rule.about.as_str(), rule.text.as_str()),
            (always, about, text),
            "{file:?}"
        );
    }

    #[test]
    fn the_header_defines_when_a_rule_applies() {
        check("---\nalwaysApply: true\n---\ntext\n", true, "", "text\n");
        check("---\r\ndescription: \"a: b\"\r\nalwaysApply: false\r\n---\r\ntext", false, ": a: b", "text");
        check("---\nglobs: *.ts,*.tsx\n---\n", false, " (*.ts,*.tsx)", "");
        check("---\ndescription:\nglobs:\nalwaysApply: true\n---\nx", true, "", "x");
        check("no head", true, "", "no head");
        check("---\nnever closed\n", true, "", "---\nnever closed\n");
    }
}
