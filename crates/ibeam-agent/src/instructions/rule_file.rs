//! A rule file: a header that states for which files the rule applies, then text.

use crate::frontmatter::{Frontmatter, FrontmatterFault};

/// The number of characters of a description that the model receives.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The kinds of rule files. They differ in the rules without a statement about where they apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleForm {
    /// The rules of Cursor: a rule with a header applies always only if the header states it.
    Cursor,
    /// Other rules: they apply always, unless the header names files.
    Markdown,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleFile {
    /// Whether the rule applies to all files.
    pub(super) is_always_applied: bool,
    /// A sentence about the rule.
    pub(super) description: Option<String>,
    /// The patterns of the files for which the rule applies.
    pub(super) globs: Vec<String>,
    /// The text after the header.
    pub(super) text: String,
    /// The lines of the header that are not valid.
    pub(super) faults: Vec<FrontmatterFault>,
}

impl RuleFile {
    /// Parses the text of a file. A rule without a header always applies.
    pub(super) fn parse(file: &str, form: RuleForm) -> Self {
        let (header, text) = Frontmatter::split(file);
        let mut globs = header.list("globs");
        globs.extend(header.list("paths"));
        let is_always_applied = match (header.flag("alwaysApply"), form) {
            (Some(stated), _) => stated,
            (None, RuleForm::Cursor) => header.is_empty(),
            (None, RuleForm::Markdown) => globs.is_empty(),
        };
        let description = header.text("description").map(shorten_description);
        let faults = header.faults().to_vec();
        Self { is_always_applied, description, globs, text: text.to_owned(), faults }
    }

    /// Returns `: DESCRIPTION (GLOBS)`, without the parts that the header lacks.
    pub(super) fn about(&self) -> String {
        let description = self.description.as_ref().map(|text| format!(": {text}"));
        let globs = (!self.globs.is_empty()).then(|| format!(" ({})", self.globs.join(",")));
        description.into_iter().chain(globs).collect()
    }
}

/// Returns the description with a limited number of characters.
pub(crate) fn shorten_description(text: &str) -> String {
    match text.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, always: bool, about: &str, text: &str) {
        let rule = RuleFile::parse(file, RuleForm::Cursor);
        assert_eq!(
            (rule.is_always_applied, rule.about().as_str(), rule.text.as_str()),
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

    #[test]
    fn a_rule_without_files_always_applies_except_in_the_form_of_cursor() {
        for (header, markdown, cursor) in [
            ("description: d", true, false),
            ("paths:\n  - src/**", false, false),
            ("globs: *.ts\nalwaysApply: true", true, true),
        ] {
            let file = format!("---\n{header}\n---\ntext");
            let always = |form| RuleFile::parse(&file, form).is_always_applied;
            assert_eq!(
                (always(RuleForm::Markdown), always(RuleForm::Cursor)),
                (markdown, cursor),
                "{header}"
            );
        }
    }
}
