//! What ignore files say: `.ignore`, `.gitignore` and `.git/info/exclude`, from the directory of a file upwards.
//!
//! They come with the repository, so they are read like any text of others: regular files only, never waited
//! for, bounded in size, lines and nesting before anything is compiled. What is over a bound is left out and counted.
//! Precedence is ripgrep's: the innermost file of a kind decides, `.ignore` before `.gitignore` before `exclude`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_files::regular_file;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::git_directory::GitDirectories;
use crate::glob_bounds;

/// Bytes of one ignore file.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Rules of one ignore file.
const MAX_RULES: usize = 5000;
/// Wildcards, classes and alternatives in the rules of all ignore files of one walk: what is compiled for each takes
/// about a kilobyte.
const MAX_WILDCARDS_PER_WALK: usize = 100_000;
/// Rules in all ignore files of one walk.
const MAX_RULES_PER_WALK: usize = 200_000;

/// The names in a directory that matter here.
#[derive(Clone, Copy, Default)]
pub(crate) struct IgnoreNames {
    ignore: bool,
    git_ignore: bool,
    git: bool,
}

impl IgnoreNames {
    /// All of them may be there.
    pub(crate) const UNKNOWN: Self = Self { ignore: true, git_ignore: true, git: true };

    /// Takes note of one name of the directory.
    pub(crate) fn add(&mut self, name: &OsStr) {
        self.ignore |= name == ".ignore";
        self.git_ignore |= name == ".gitignore";
        self.git |= name == ".git";
    }
}

/// The rules that hold in a directory: its own, and those of the directories it lies in. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<RuleLevel>>);

struct RuleLevel {
    parent: IgnoreRules,
    ignore: Option<Gitignore>,
    git_ignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
}

/// What of the ignore files of one walk was left out, because it was over a bound or no regular file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SkippedRules {
    pub(crate) files: u64,
    pub(crate) rules: u64,
    /// Wildcards of the rules that count.
    wildcards: usize,
    /// Rules that count.
    counted_rules: usize,
}

impl SkippedRules {
    /// Takes `rule` into account; false where it is over a bound, and left out.
    fn count(&mut self, rule: &str, rules_in_file: usize) -> bool {
        let wildcards = self.wildcards + glob_bounds::count_wildcards(rule);
        let counts = rules_in_file < MAX_RULES
            && self.counted_rules < MAX_RULES_PER_WALK
            && wildcards <= MAX_WILDCARDS_PER_WALK
            && glob_bounds::check(rule).is_ok();
        if counts {
            (self.wildcards, self.counted_rules) = (wildcards, self.counted_rules + 1);
        } else {
            self.rules += 1;
        }
        counts
    }
}

impl IgnoreRules {
    /// The rules that hold above `directory`, which is absolute.
    pub(crate) fn above(directory: &Path, skipped: &mut SkippedRules) -> Self {
        let mut parents: Vec<&Path> = directory.ancestors().skip(1).collect();
        parents.reverse();
        parents
            .into_iter()
            .fold(Self::default(), |rules, parent| rules.within(parent, IgnoreNames::UNKNOWN, skipped))
    }

    /// The rules that hold in `directory`, given those above it and the names in it.
    pub(crate) fn within(&self, directory: &Path, names: IgnoreNames, skipped: &mut SkippedRules) -> Self {
        let mut read = |is_there: bool, path: &dyn Fn() -> Option<PathBuf>| {
            is_there.then(path).flatten().and_then(|path| matcher(directory, &path, skipped))
        };
        let ignore = read(names.ignore, &|| Some(directory.join(".ignore")));
        let git_ignore = read(names.git_ignore, &|| Some(directory.join(".gitignore")));
        let exclude = read(names.git, &|| exclude_path(directory));
        if ignore.is_none() && git_ignore.is_none() && exclude.is_none() {
            return self.clone();
        }
        Self(Some(Arc::new(RuleLevel { parent: self.clone(), ignore, git_ignore, exclude })))
    }

    /// Whether the rules leave out `path`, which is absolute and below their directory.
    pub(crate) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        type File = fn(&RuleLevel) -> Option<&Gitignore>;
        let kinds: [File; 3] = [
            |level| level.ignore.as_ref(),
            |level| level.git_ignore.as_ref(),
            |level| level.exclude.as_ref(),
        ];
        kinds.into_iter().find_map(|kind| self.decision(kind, path, is_dir)).unwrap_or_default()
    }

    /// What the innermost file of one kind that has a rule for `path` says.
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

/// Where git keeps what is excluded in this copy of the repository alone.
fn exclude_path(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let kind = git.symlink_metadata().ok()?.file_type();
    let git = match kind.is_file() {
        true => GitDirectories::find(directory, None).repositories.into_iter().next()?,
        false => git,
    };
    Some(git.join("info/exclude"))
}

/// The rules of the file at `path` for what is in `directory`; `None` where it has none.
fn matcher(directory: &Path, path: &Path, skipped: &mut SkippedRules) -> Option<Gitignore> {
    let bytes = match regular_file::read(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(error.kind()) => return None,
        Err(_) => {
            skipped.files += 1;
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let mut builder = GitignoreBuilder::new(directory);
    let mut counted_rules = 0usize;
    for rule in text.lines().filter(is_rule) {
        if !skipped.count(rule, counted_rules) {
            continue;
        }
        counted_rules += 1;
        // Git too passes over a rule that is none.
        let _ = builder.add_line(None, rule);
    }
    match builder.build() {
        Ok(rules) => (!rules.is_empty()).then_some(rules),
        // All of them together make too large a program.
        Err(_) => {
            skipped.files += 1;
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
