//! The instructions for agents: `AGENTS.md`, `CLAUDE.md` and rule files.
//!
//! Those from the root of the repository down to the workspace are read at the start, and those of the directories of
//! `--add-dir`. In a trusted workspace they are part of the system prompt. In any other workspace, and in an added
//! directory that is not trusted itself, they are text of an unknown author: the model receives them next to the user's
//! prompt, marked as repository content. Invisible characters are escaped in both cases.
//! [`WorkspaceRules`] has the rules for parts of the workspace, which the model receives once it uses a file there.

mod directory_rules;
mod imports;
mod rule_file;
mod workspace_rules;

use std::path::Path;

use ibeam_output::{escape_invisible, escape_to_one_line};
use ibeam_protocol::Notice;

use crate::text_sources::{TextOwner, TextSources};
pub(crate) use directory_rules::RuleText;
use directory_rules::{ConditionalRule, RuleCollector};
pub(crate) use rule_file::shorten_description;
pub(crate) use workspace_rules::WorkspaceRules;

/// The number of bytes of all files that the model receives.
const MAX_TOTAL_BYTES: usize = 128 * 1024;
/// The number of bytes of the list of rules that apply to some files only.
const MAX_LIST_BYTES: usize = 16 * 1024;

const TRUNCATION_MARK: &str = "\n… the rest of this file is left out; read it when you need it.";

/// The instructions that apply to the workspace, those of the outermost directory first.
#[derive(Debug, Default)]
pub struct Instructions {
    user_texts: Vec<RuleText>,
    /// The instructions of the project.
    texts: Vec<RuleText>,
    /// The rules that apply to some files only.
    conditional: Vec<ConditionalRule>,
    /// A line about each of these rules of the workspace: its path and its description.
    list: Vec<String>,
    /// The instructions of the directories of `--add-dir`.
    added: Vec<AddedInstructions>,
    /// Notices about files that are not used, or only in part.
    notices: Vec<Notice>,
}

/// The instructions of one directory of `--add-dir`.
#[derive(Debug)]
struct AddedInstructions {
    is_trusted: bool,
    texts: Vec<RuleText>,
    /// A line about each rule that applies to some files only.
    list: Vec<String>,
}

impl Instructions {
    /// Reads the instructions of the user, those from the root of the repository down to the workspace, and those of the
    /// directories of `--add-dir`.
    pub fn load(sources: &TextSources) -> Self {
        let mut user = RuleCollector::default();
        if let Some(directory) = sources.user_directories.first() {
            user.add_directory(sources, TextOwner::User, directory);
        }
        let mut project = RuleCollector::default();
        for directory in sources.directories() {
            project.add_directory(sources, TextOwner::Project, directory);
        }
        let (count, conditional_count) = (project.texts.len(), project.conditional.len());
        for directory in &sources.added_directories {
            project.add_directory(sources, TextOwner::Project, &directory.path);
        }
        let RuleCollector { mut texts, conditional, mut cut, mut notices, .. } = project;
        cut.extend(user.cut);
        // The texts of the workspace are cut last.
        texts.rotate_left(count);
        cut.extend(truncate(&mut texts));
        let texts_of_workspace = texts.split_off(texts.len() - count);
        let (of_workspace, of_added) = conditional.split_at(conditional_count);
        let (list, mut is_list_cut) = list_of(of_workspace.iter());
        let added = sources.added_directories.iter().map(|directory| {
            let is_below =
                |path: &str| sources.directory_with(Path::new(path)) == Some(directory.path.as_path());
            let (list, is_cut) = list_of(of_added.iter().filter(|rule| is_below(&rule.name)));
            is_list_cut |= is_cut;
            let texts = texts.iter().filter(|text| is_below(&text.name)).cloned().collect();
            AddedInstructions { is_trusted: directory.is_trusted, texts, list }
        });
        let added = added.collect();
        cut.extend(is_list_cut.then(|| "the list of rules for some files".to_owned()));
        notices.extend(user.notices);
        notices.extend(Notice::texts_cut(&cut));
        Self { user_texts: user.texts, texts: texts_of_workspace, conditional, list, added, notices }
    }

    /// Returns the paths of the rule files of the project.
    pub fn project_names(&self) -> impl Iterator<Item = &str> {
        let conditional = self.conditional.iter().map(|rule| rule.name.as_str());
        self.texts.iter().map(|text| text.name.as_str()).chain(conditional)
    }

    /// Returns the notices about files that are not used, or only in part.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns the user's instructions as parts of the system prompt: the path and the text of each.
    pub(crate) fn user_parts(&self) -> impl Iterator<Item = (&str, String)> {
        self.user_texts.iter().map(|text| (text.name.as_str(), section("user", text)))
    }

    /// Returns the project's instructions as parts of the system prompt: the path and the text of each, and last, with
    /// an empty path, the list of the rules that apply to some files only.
    pub(crate) fn project_parts(&self) -> impl Iterator<Item = (&str, String)> {
        parts_of(&self.texts, &self.list)
    }

    /// Returns the instructions of the directories of `--add-dir` that are trusted, or of those that are not, in the form of
    /// [`Self::project_parts`].
    pub(crate) fn added_parts(&self, is_trusted: bool) -> impl Iterator<Item = (&str, String)> {
        let added = self.added.iter().filter(move |added| added.is_trusted == is_trusted);
        added.flat_map(|added| parts_of(&added.texts, &added.list))
    }

    /// Returns the texts that the model receives at the start.
    fn initial_texts(&self) -> impl Iterator<Item = &RuleText> {
        self.texts.iter().chain(self.added.iter().flat_map(|added| &added.texts))
    }
}

/// Returns parts of a prompt: the path and the text of each file, then the list of the rules for some files.
fn parts_of<'a>(texts: &'a [RuleText], list: &[String]) -> impl Iterator<Item = (&'a str, String)> + use<'a> {
    let list = (!list.is_empty()).then(|| {
        let list = list.join("\n");
        let title = "Rules of the project for some files; read one before you work on what it is about";
        ("", format!("\n# {title}\n\n{list}\n"))
    });
    texts.iter().map(|text| (text.name.as_str(), section("project", text))).chain(list)
}

/// Returns a text with its heading.
fn section(owner: &str, RuleText { name, text }: &RuleText) -> String {
    let (name, text) = (escape_to_one_line(name), escape_invisible(text.trim()));
    format!("\n# Instructions of the {owner}, from {name}\n\n{text}\n")
}

/// Cuts the texts to the limit. The innermost files, which are the most specific, are cut last. Returns the files that
/// were cut.
fn truncate(texts: &mut [RuleText]) -> Vec<String> {
    let mut budget = MAX_TOTAL_BYTES;
    let mut cut = Vec::new();
    for RuleText { name, text } in texts.iter_mut().rev() {
        if text.len() > budget {
            text.truncate(text.floor_char_boundary(budget));
            text.push_str(TRUNCATION_MARK);
            cut.push(name.clone());
        }
        budget = budget.saturating_sub(text.len());
    }
    cut
}

/// Returns the lines about rules, and whether some are left out.
fn list_of<'a>(rules: impl Iterator<Item = &'a ConditionalRule>) -> (Vec<String>, bool) {
    let mut budget = MAX_LIST_BYTES;
    let mut list = Vec::new();
    for rule in rules {
        let line = escape_to_one_line(&format!("- {}{}", rule.name, rule.about));
        let Some(left) = budget.checked_sub(line.len()) else { return (list, true) };
        budget = left;
        list.push(line);
    }
    (list, false)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::text_sources::{AddedDirectory, MAX_TEXT_BYTES};

    fn sources(workspace: &Path, root: &Path) -> TextSources {
        let (workspace, root) = (workspace.to_owned(), root.to_owned());
        TextSources { workspace, root, ..TextSources::default() }
    }

    fn project_text(sources: &TextSources) -> String {
        Instructions::load(sources).project_parts().map(|(_, text)| text).collect()
    }

    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("repository");
        fs::create_dir(&root).unwrap();
        for (name, text) in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        (outer, root)
    }

    #[test]
    fn instructions_come_from_the_repository_root_down_to_the_workspace() {
        let files = [
            ("CLAUDE.md", "outer"),
            ("inner/AGENTS.md", "inner"),
            ("inner/CLAUDE.md", "not this"),
            ("inner/.cursorrules", "old rules"),
        ];
        let (_outer, root) = repository(&files);
        let found = Instructions::load(&sources(&root.join("inner"), &root));
        let texts: Vec<&str> = found.texts.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(texts, ["outer", "inner", "old rules"]);
    }

    #[test]
    fn rules_that_always_apply_are_complete_and_others_are_named() {
        let (_outer, root) = repository(&[
            (".cursor/rules/b.mdc", "---\nalwaysApply: true\n---\nUse tabs."),
            (".cursor/rules/a.mdc", "---\ndescription: How to test\nglobs: \"*.rs\"\n---\nSecretly long."),
            (".cursor/rules/c.md", "no rule"),
        ]);
        let prompt = project_text(&sources(&root, &root));
        assert!(
            prompt.contains("b.mdc\n\nUse tabs.\n") && prompt.contains("a.mdc: How to test (*.rs)\n"),
            "{prompt}"
        );
        assert!(!prompt.contains("Secretly") && !prompt.contains("no rule"), "{prompt}");
    }

    #[test]
    fn links_are_followed_only_to_instruction_files_of_the_repository() {
        let (outer, root) = repository(&[("docs/guide.md", "the guide"), (".env", "SECRET")]);
        fs::write(outer.path().join("outside.md"), "OUTSIDE").unwrap();
        for (target, expect) in [
            ("docs/guide.md", Some("the guide")),
            ("../outside.md", None),
            (".env", None),
            ("/proc/self/environ", None),
            ("missing.md", None),
        ] {
            symlink(target, root.join("AGENTS.md")).unwrap();
            let found = Instructions::load(&sources(&root, &root));
            assert_eq!(found.texts.first().map(|found| found.text.as_str()), expect, "{target}");
            fs::remove_file(root.join("AGENTS.md")).unwrap();
        }
        symlink(outer.path(), root.join(".cursor")).unwrap();
        fs::create_dir(outer.path().join("rules")).unwrap();
        fs::write(outer.path().join("rules/x.mdc"), "---\nalwaysApply: true\n---\nOUTSIDE").unwrap();
        assert_eq!(project_text(&sources(&root, &root)), "");
    }

    #[test]
    fn long_instructions_are_cut() {
        let (_outer, root) = repository(&[("AGENTS.md", &"é".repeat(40_000))]);
        let prompt = project_text(&sources(&root, &root));
        assert!(prompt.len() < MAX_TEXT_BYTES + 500 && prompt.contains("left out"), "{}", prompt.len());
        let many: Vec<(String, String)> = (0..9)
            .map(|at| {
                (
                    format!(".cursor/rules/{at}.mdc"),
                    format!("---\nalwaysApply: true\n---\n{}", "x".repeat(30_000)),
                )
            })
            .collect();
        let many: Vec<(&str, &str)> =
            many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (_outer, root) = repository(&many);
        assert!(project_text(&sources(&root, &root)).len() < MAX_TOTAL_BYTES + 9 * 300);
    }

    #[test]
    fn rules_of_ibeam_replace_those_of_other_programs_in_their_directory() {
        let files = [
            (".ibeam/rules/own.md", "own rule"),
            (".cursor/rules/other.mdc", "other rule"),
            (".cursorrules", "old rules"),
            ("inner/.claude/rules/always.md", "always"),
            ("inner/.claude/rules/some.md", "---\npaths: [\"src/**\"]\n---\nconditional text"),
            ("inner/.cursor/rules/deep/below.mdc", "---\nalwaysApply: true\n---\nin a folder"),
        ];
        let (_outer, root) = repository(&files);
        let prompt = project_text(&sources(&root.join("inner"), &root));
        for text in ["own rule", "always\n", "in a folder", "some.md (src/**)\n"] {
            assert!(prompt.contains(text), "{text}: {prompt}");
        }
        for text in ["other rule", "old rules", "conditional text"] {
            assert!(!prompt.contains(text), "{text}: {prompt}");
        }
    }

    #[test]
    fn a_file_and_a_text_count_once() {
        let (_outer, root) = repository(&[
            ("AGENTS.md", "the same"),
            ("inner/deep/AGENTS.md", "the same\n"),
            ("inner/.claude/CLAUDE.md", "See @../shared.md."),
            ("inner/shared.md", "shared, and @.claude/CLAUDE.md again @shared.md"),
        ]);
        let found = Instructions::load(&sources(&root.join("inner/deep"), &root));
        let texts: Vec<&str> = found.texts.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(
            texts,
            ["the same", "See @../shared.md.", "shared, and @.claude/CLAUDE.md again @shared.md"]
        );
        fs::remove_file(root.join("inner/.claude/CLAUDE.md")).unwrap();
        symlink("../AGENTS.md", root.join("inner/CLAUDE.md")).unwrap();
        assert_eq!(Instructions::load(&sources(&root.join("inner"), &root)).texts.len(), 1);
    }

    #[test]
    fn imports_stay_in_the_repository_and_end() {
        let chain: Vec<(String, String)> =
            (0..40).map(|at| (format!("{at}.md"), format!("text {at} @{}.md", at + 1))).collect();
        let mut files: Vec<(&str, &str)> =
            chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        files.push(("CLAUDE.md", "@0.md @../outside.md @.env @config.json"));
        let (outer, root) = repository(&files);
        fs::write(outer.path().join("outside.md"), "OUTSIDE").unwrap();
        fs::write(root.join("config.json"), "JSON").unwrap();
        let found = Instructions::load(&sources(&root, &root));
        let text: String = found.project_parts().map(|(_, text)| text).collect();
        assert!(text.contains("text 3 ") && !text.contains("text 4 "), "{text}");
        assert!(!text.contains("OUTSIDE") && !text.contains("JSON"), "{text}");
        assert!(matches!(found.notices(), [Notice::TextsCut { .. }]), "{:?}", found.notices());
    }

    #[test]
    fn a_rule_with_an_invalid_header_is_named() {
        let (_outer, root) = repository(&[(".cursor/rules/a.mdc", "---\nglobs: \"*.ts\n---\ntext")]);
        let found = Instructions::load(&sources(&root, &root));
        let [Notice::TextFileIgnored { path, detail }] = found.notices() else {
            panic!("{:?}", found.notices())
        };
        assert!(path.ends_with("a.mdc: line 2 of its header") && detail == "a quote has no end", "{path}");
    }

    #[test]
    fn an_added_directory_has_instructions_with_a_trust_of_its_own() {
        let (_outer, root) = repository(&[
            ("work/AGENTS.md", "of the workspace"),
            ("lib/AGENTS.md", "of the library"),
            (
                "lib/.cursor/rules/some.mdc",
                "---\ndescription: How to test\nglobs: \"*.rs\"\n---\nconditional",
            ),
            ("lib/.cursor/rules/out.mdc", "placeholder"),
        ]);
        let out = root.join("lib/.cursor/rules/out.mdc");
        fs::remove_file(&out).unwrap();
        symlink(root.join("work/AGENTS.md"), &out).unwrap();
        for is_trusted in [true, false] {
            let added_directories = vec![AddedDirectory { path: root.join("lib"), is_trusted }];
            let work = root.join("work");
            let sources = TextSources { added_directories, is_trusted: true, ..sources(&work, &work) };
            let found = Instructions::load(&sources);
            let workspace: String = found.project_parts().map(|(_, text)| text).collect();
            assert!(workspace.contains("of the workspace") && !workspace.contains("library"), "{workspace}");
            let added: String = found.added_parts(is_trusted).map(|(_, text)| text).collect();
            assert!(added.contains("of the library") && added.contains("some.mdc: How to test"), "{added}");
            assert!(!added.contains("of the workspace"), "a link out of the directory: {added}");
            assert_eq!(found.added_parts(!is_trusted).count(), 0);
        }
    }

    #[test]
    fn the_instructions_of_the_user_come_from_the_own_directory() {
        let (outer, root) = repository(&[]);
        fs::write(outer.path().join("AGENTS.md"), "I like tabs.").unwrap();
        let user_directories = vec![outer.path().to_owned()];
        let found = Instructions::load(&TextSources { user_directories, ..sources(&root, &root) });
        let parts: Vec<String> = found.user_parts().map(|(_, text)| text).collect();
        assert!(matches!(parts.as_slice(), [text] if text.contains("I like tabs.")), "{parts:?}");
        assert_eq!(found.project_parts().count(), 0);
    }
}
