//! The rules of ignore files: `.ignore`, `.gitignore` and `.git/info/exclude`, from the directory of a file upwards, and the
//! user's own for all repositories.
//!
//! The files come with the repository and are not trusted: only regular files are read, without waiting, and size,
//! lines and nesting are limited before anything is compiled. What exceeds a limit is skipped and counted. Precedence
//! is ripgrep's: the innermost file of a kind decides, `.ignore` before `.gitignore` before `exclude`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_files::regular_file;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::git_config;
use crate::git_directory::GitDirectories;
use crate::glob_bounds;

/// Maximum bytes of an ignore file.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Maximum rules of an ignore file.
const MAX_RULES: usize = 5000;
/// Maximum wildcards, classes and alternatives in the rules of all ignore files of a walk: each takes about a kilobyte
/// when compiled.
const MAX_WILDCARDS_PER_WALK: usize = 100_000;
/// Maximum rules in all ignore files of a walk.
const MAX_RULES_PER_WALK: usize = 200_000;

/// The ignore files that a directory may have.
#[derive(Clone, Copy, Default)]
pub(crate) struct IgnoreFilePresence {
    has_ignore: bool,
    has_git_ignore: bool,
    /// `.git` exists, so `.git/info/exclude` may exist.
    has_git: bool,
}

impl IgnoreFilePresence {
    /// Any of the files may exist.
    pub(crate) const UNKNOWN: Self = Self { has_ignore: true, has_git_ignore: true, has_git: true };

    /// Records one name of the directory.
    pub(crate) fn add(&mut self, name: &OsStr) {
        self.has_ignore |= name == ".ignore";
        self.has_git_ignore |= name == ".gitignore";
        self.has_git |= name == ".git";
    }
}

/// The rules that apply in a directory: its own, and those of its parents. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<RuleLevel>>);

/// The rules of the ignore files of one directory, and those of its parents.
struct RuleLevel {
    parent: IgnoreRules,
    ignore: Option<Gitignore>,
    git_ignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
}

/// The number of ignore files and rules of a walk that apply or are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RuleCounts {
    /// Ignore files that are too large, too complex or not regular files.
    pub(crate) skipped_files: u64,
    /// Rules that exceed a limit.
    pub(crate) skipped_rules: u64,
    /// Wildcards of the rules that apply.
    wildcards: usize,
    /// Rules that apply.
    rules: usize,
}

impl RuleCounts {
    /// Counts `rule`. Returns whether it applies, which it does unless it exceeds a limit.
    fn add_rule(&mut self, rule: &str, rules_in_file: usize) -> bool {
        let wildcards = self.wildcards + glob_bounds::count_wildcards(rule);
        let applies = rules_in_file < MAX_RULES
            && self.rules < MAX_RULES_PER_WALK
            && wildcards <= MAX_WILDCARDS_PER_WALK
            && glob_bounds::check(rule).is_ok();
        if applies {
            (self.wildcards, self.rules) = (wildcards, self.rules + 1);
        } else {
            self.skipped_rules += 1;
        }
        applies
    }
}

impl IgnoreRules {
    /// Returns the rules of the user for all repositories: git's `core.excludesFile`.
    pub(crate) fn for_user(home: Option<&Path>, counts: &mut RuleCounts) -> Self {
        let rules = home.and_then(|home| read_rules(Path::new("/"), &users_ignore_file(home), counts));
        Self(rules.map(|rules| {
            let parent = Self::default();
            Arc::new(RuleLevel { parent, ignore: None, git_ignore: None, exclude: Some(rules) })
        }))
    }

    /// Returns these rules with those of the parents of `directory`, which is absolute.
    pub(crate) fn for_parents_of(&self, directory: &Path, counts: &mut RuleCounts) -> Self {
        let mut parents: Vec<&Path> = directory.ancestors().skip(1).collect();
        parents.reverse();
        parents.into_iter().fold(self.clone(), |rules, parent| {
            rules.for_subdirectory(parent, IgnoreFilePresence::UNKNOWN, counts)
        })
    }

    /// Returns the rules that apply in `directory`, given those of its parent and the names in it.
    pub(crate) fn for_subdirectory(
        &self,
        directory: &Path,
        presence: IgnoreFilePresence,
        counts: &mut RuleCounts,
    ) -> Self {
        let mut read = |is_there: bool, path: &dyn Fn() -> Option<PathBuf>| {
            is_there.then(path).flatten().and_then(|path| read_rules(directory, &path, counts))
        };
        let ignore = read(presence.has_ignore, &|| Some(directory.join(".ignore")));
        let git_ignore = read(presence.has_git_ignore, &|| Some(directory.join(".gitignore")));
        let exclude = read(presence.has_git, &|| exclude_path(directory));
        if ignore.is_none() && git_ignore.is_none() && exclude.is_none() {
            return self.clone();
        }
        Self(Some(Arc::new(RuleLevel { parent: self.clone(), ignore, git_ignore, exclude })))
    }

    /// Whether the rules ignore `path`, which is absolute and below their directory.
    pub(crate) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        type RulesOfKind = fn(&RuleLevel) -> Option<&Gitignore>;
        let kinds: [RulesOfKind; 3] = [
            |level| level.ignore.as_ref(),
            |level| level.git_ignore.as_ref(),
            |level| level.exclude.as_ref(),
        ];
        kinds.into_iter().find_map(|kind| self.decision(kind, path, is_dir)).unwrap_or_default()
    }

    /// Returns the decision of the innermost file of one kind that has a rule for `path`.
    fn decision(
        &self,
        kind: fn(&RuleLevel) -> Option<&Gitignore>,
        path: &Path,
        is_dir: bool,
    ) -> Option<bool> {
        let mut level = self.0.as_deref();
        while let Some(current) = level {
            match kind(current).map(|file| file.matched(path, is_dir)) {
                Some(Match::Ignore(_)) => return Some(true),
                Some(Match::Whitelist(_)) => return Some(false),
                Some(Match::None) | None => level = current.parent.0.as_deref(),
            }
        }
        None
    }
}

/// Returns the ignore file of the user: the one that git's configuration names, else git's own default.
fn users_ignore_file(home: &Path) -> PathBuf {
    let configured = [".gitconfig", ".config/git/config"].into_iter().find_map(|name| {
        let text = regular_file::read(&home.join(name), MAX_FILE_BYTES).ok()?;
        git_config::value(&text, "core.excludesfile").filter(|path| !path.is_empty())
    });
    match configured {
        Some(path) => home.join(path.strip_prefix("~/").unwrap_or(&path)),
        None => home.join(".config/git/ignore"),
    }
}

/// Returns the file of exclusions that apply to this clone only.
fn exclude_path(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let kind = git.symlink_metadata().ok()?.file_type();
    let git = match kind.is_file() {
        true => GitDirectories::find(directory, None).repositories.into_iter().next()?,
        false => git,
    };
    Some(git.join("info/exclude"))
}

/// Returns the rules of the file at `path` for the entries of `directory`; `None` where it has none.
fn read_rules(directory: &Path, path: &Path, counts: &mut RuleCounts) -> Option<Gitignore> {
    let bytes = match regular_file::read(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(error.kind()) => return None,
        Err(_) => {
            counts.skipped_files += 1;
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let mut builder = GitignoreBuilder::new(directory);
    let mut rules_in_file = 0usize;
    for rule in text.lines().filter(is_rule) {
        if !counts.add_rule(rule, rules_in_file) {
            continue;
        }
        rules_in_file += 1;
        // Git also skips an invalid rule.
        let _ = builder.add_line(None, rule);
    }
    match builder.build() {
        Ok(rules) => (!rules.is_empty()).then_some(rules),
        // The rules compile to a program that is too large.
        Err(_) => {
            counts.skipped_files += 1;
            None
        }
    }
}

fn is_absent(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "ignore_rules_test.rs"]
mod tests;
