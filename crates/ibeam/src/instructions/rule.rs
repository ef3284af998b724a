//! One rule of the original: a head between two lines `---`, then text.

/// A rule, as far as it matters here.
pub(super) struct Rule {
    /// It applies to everything.
    pub(super) always: bool,
    /// `: DESCRIPTION (GLOBS)`, or as much of it as there is.
    pub(super) about: String,
    /// What it says.
    pub(super) text: String,
}

impl Rule {
    /// The rule in the text of a file; one without a head says nothing of when it applies, so always.
    pub(super) fn of(file: &str) -> Self {
        let file = file.trim_start_matches('\u{feff}');
        let Some((head, text)) = parts(file) else {
            return Self { always: true, about: String::new(), text: file.to_owned() };
        };
        let value = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            let found = lines.rfind(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
            let bare = found.map(|value| value.trim_matches(['"', '\'']).trim());
            bare.filter(|value| !value.is_empty())
        };
        let mut about = value("description").map_or(String::new(), |said| format!(": {said}"));
        if let Some(globs) = value("globs") {
            about.push_str(&format!(" ({globs})"));
        }
        Self { always: value("alwaysApply") == Some("true"), about, text: text.to_owned() }
    }
}

fn parts(file: &str) -> Option<(&str, &str)> {
    let (first, rest) = file.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut begin = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..begin)?, rest.get(begin + line.len()..)?));
        }
        begin += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, always: bool, about: &str, text: &str) {
        let rule = Rule::of(file);
        assert_eq!((rule.always, rule.about.as_str(), rule.text.as_str()), (always, about, text), "{file:?}");
    }

    #[test]
    fn the_head_says_when_a_rule_applies() {
        check("---\nalwaysApply: true\n---\ntext\n", true, "", "text\n");
        check("---\r\ndescription: \"a: b\"\r\nalwaysApply: false\r\n---\r\ntext", false, ": a: b", "text");
        check("---\nglobs: *.ts,*.tsx\n---\n", false, " (*.ts,*.tsx)", "");
        check("---\ndescription:\nglobs:\nalwaysApply: true\n---\nx", true, "", "x");
        check("no head", true, "", "no head");
        check("---\nnever closed\n", true, "", "---\nnever closed\n");
    }
}
