//! The rule files of one directory: `AGENTS.md` or `CLAUDE.md` with its imports, and the rules directories.

use std::path::{Path, PathBuf};

use super::imports::imported_paths;
use super::rule_file::{RuleFile, RuleForm};
use crate::text_sources::{CURSOR_RULES_FILE, MAX_TEXT_BYTES, TextOwner, TextSources, files_below};
use ibeam_protocol::Notice;

/// The names of instruction files. Only the first one that exists in a directory is read.
const FILE_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];
/// The rules directory of ibeam. Where it exists, those of other programs are not read.
const OWN_RULES: (&str, &[&str], RuleForm) = (".ibeam/rules", &["md", "mdc"], RuleForm::Markdown);
/// The rules directories of other programs.
const OTHER_RULES: [(&str, &[&str], RuleForm); 2] =
    [(".cursor/rules", &["mdc"], RuleForm::Cursor), (".claude/rules", &["md"], RuleForm::Markdown)];
/// The number of rule files of a directory that are read.
const MAX_RULE_FILES: usize = 64;
/// The number of files that a `CLAUDE.md` imports, directly and through other imports.
const MAX_IMPORTS: usize = 16;
/// The number of imports from file to file.
const MAX_IMPORT_DEPTH: usize = 4;

/// A text of a file that applies to everything below its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleText {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A rule that applies to some files only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionalRule {
    pub(super) name: String,
    /// The directory to which the patterns are relative.
    pub(super) base: PathBuf,
    pub(super) globs: Vec<String>,
    /// The description and the patterns, for the list that the model receives.
    pub(super) about: String,
    pub(super) text: String,
}

/// The rules of some directories, the outermost first.
#[derive(Debug, Default)]
pub(super) struct RuleCollector {
    pub(super) texts: Vec<RuleText>,
    pub(super) conditional: Vec<ConditionalRule>,
    /// The files whose text was cut.
    pub(super) cut: Vec<String>,
    /// Notices about files that are not used.
    pub(super) notices: Vec<Notice>,
    /// The real paths of the files that were read.
    visited: Vec<PathBuf>,
}

impl RuleCollector {
    /// Adds the rules of `directory`.
    pub(super) fn add_directory(&mut self, sources: &TextSources, owner: TextOwner, directory: &Path) {
        let names = match owner {
            TextOwner::User => FILE_NAMES.get(..1).unwrap_or_default(),
            TextOwner::Project => FILE_NAMES.as_slice(),
        };
        let found = names.iter().find_map(|name| {
            let path = directory.join(name);
            sources.read(owner, &path, MAX_TEXT_BYTES).map(|file| (path, file))
        });
        if let Some((path, file)) = found {
            let imports_files = path.file_name().is_some_and(|name| name == "CLAUDE.md");
            let imports = if imports_files {
                imported_paths(&file.text, path.parent().unwrap_or(directory))
            } else {
                Vec::new()
            };
            self.add_text(&path, file.real, file.text, file.is_cut);
            self.add_imports(sources, owner, imports);
        }
        if owner == TextOwner::User || self.add_rules(sources, directory, OWN_RULES) {
            return;
        }
        let path = directory.join(CURSOR_RULES_FILE);
        if let Some(file) = sources.read(owner, &path, MAX_TEXT_BYTES) {
            self.add_text(&path, file.real, file.text, file.is_cut);
        }
        for rules in OTHER_RULES {
            self.add_rules(sources, directory, rules);
        }
    }

    /// Adds the files that a file imports, and those that they import.
    fn add_imports(&mut self, sources: &TextSources, owner: TextOwner, imports: Vec<PathBuf>) {
        let mut pending: Vec<(PathBuf, usize)> = imports.into_iter().rev().map(|path| (path, 1)).collect();
        let mut count = 0;
        while let Some((path, depth)) = pending.pop() {
            let Some(file) = sources.read(owner, &path, MAX_TEXT_BYTES) else { continue };
            if self.visited.contains(&file.real) {
                continue;
            }
            if count == MAX_IMPORTS || depth > MAX_IMPORT_DEPTH {
                self.cut.push(path.display().to_string());
                continue;
            }
            count += 1;
            let inner = imported_paths(&file.text, path.parent().unwrap_or(&sources.root));
            pending.extend(inner.into_iter().rev().map(|path| (path, depth + 1)));
            self.add_text(&file.real.clone(), file.real, file.text, file.is_cut);
        }
    }

    /// Adds the files of a rules directory. Returns whether the directory exists.
    fn add_rules(
        &mut self,
        sources: &TextSources,
        directory: &Path,
        (name, endings, form): (&str, &[&str], RuleForm),
    ) -> bool {
        let rules = directory.join(name);
        let Some((paths, is_cut)) = files_below(&rules, endings, MAX_RULE_FILES) else { return false };
        if is_cut {
            self.cut.push(rules.display().to_string());
        }
        for path in paths {
            let Some(file) = sources.read(TextOwner::Project, &path, MAX_TEXT_BYTES) else { continue };
            let rule = RuleFile::parse(&file.text, form);
            self.notices.extend(rule.faults.iter().map(|fault| fault.notice(&path)));
            if rule.text.trim().is_empty() {
                continue;
            }
            if rule.is_always_applied {
                self.add_text(&path, file.real, rule.text, file.is_cut);
                continue;
            }
            let (name, about) = (path.display().to_string(), rule.about());
            let RuleFile { globs, text, .. } = rule;
            self.conditional.push(ConditionalRule { name, base: directory.to_owned(), globs, about, text });
        }
        true
    }

    /// Adds a text, unless the same file or the same text was added before.
    fn add_text(&mut self, path: &Path, real: PathBuf, text: String, is_cut: bool) {
        if self.visited.contains(&real) || self.texts.iter().any(|other| other.text.trim() == text.trim()) {
            return;
        }
        self.visited.push(real);
        let name = path.display().to_string();
        if is_cut {
            self.cut.push(name.clone());
        }
        let text = if is_cut { text + super::TRUNCATION_MARK } else { text };
        self.texts.push(RuleText { name, text });
    }
}
