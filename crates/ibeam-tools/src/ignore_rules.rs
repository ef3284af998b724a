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
const LARGEST: u64 = 256 << 10;
/// Rules of one ignore file.
const RULES: usize = 5000;
/// Wildcards, classes and alternatives in the rules of all ignore files of one walk: what is compiled for each takes
/// about a kilobyte.
const WILDCARDS: usize = 100_000;
/// Rules in all ignore files of one walk.
const RULES_OF_WALK: usize = 200_000;

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
    pub(crate) fn note(&mut self, name: &OsStr) {
        self.ignore |= name == ".ignore";
        self.git_ignore |= name == ".gitignore";
        self.git |= name == ".git";
    }
}

/// The rules that hold in a directory: its own, and those of the directories it lies in. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<Level>>);

struct Level {
    above: IgnoreRules,
    ignore: Option<Gitignore>,
    git_ignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
}

/// What of the ignore files of one walk was left out, because it was over a bound or no regular file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LeftOut {
    pub(crate) files: u64,
    pub(crate) rules: u64,
    /// Wildcards of the rules that count.
    wildcards: usize,
    /// Rules that count.
    taken: usize,
}

impl LeftOut {
    /// Takes `rule` into account; false where it is over a bound, and left out.
    fn takes(&mut self, rule: &str, taken_of_file: usize) -> bool {
        let wildcards = self.wildcards + glob_bounds::wildcards(rule);
        let counts = taken_of_file < RULES
            && self.taken < RULES_OF_WALK
            && wildcards <= WILDCARDS
            && glob_bounds::check(rule).is_ok();
        if counts {
            (self.wildcards, self.taken) = (wildcards, self.taken + 1);
        } else {
            self.rules += 1;
        }
        counts
    }
}

impl IgnoreRules {
    /// The rules that hold above `directory`, which is absolute.
    pub(crate) fn above(directory: &Path, left_out: &mut LeftOut) -> Self {
        let mut parents: Vec<&Path> = directory.ancestors().skip(1).collect();
        parents.reverse();
        parents
            .into_iter()
            .fold(Self::default(), |rules, parent| rules.within(parent, IgnoreNames::UNKNOWN, left_out))
    }

    /// The rules that hold in `directory`, given those above it and the names in it.
    pub(crate) fn within(&self, directory: &Path, names: IgnoreNames, left_out: &mut LeftOut) -> Self {
        let mut read = |is_there: bool, path: &dyn Fn() -> Option<PathBuf>| {
            is_there.then(path).flatten().and_then(|path| matcher(directory, &path, left_out))
        };
        let ignore = read(names.ignore, &|| Some(directory.join(".ignore")));
        let git_ignore = read(names.git_ignore, &|| Some(directory.join(".gitignore")));
        let exclude = read(names.git, &|| exclude_of(directory));
        if ignore.is_none() && git_ignore.is_none() && exclude.is_none() {
            return self.clone();
        }
        Self(Some(Arc::new(Level { above: self.clone(), ignore, git_ignore, exclude })))
    }

    /// Whether the rules leave out `path`, which is absolute and below their directory.
    pub(crate) fn leave_out(&self, path: &Path, is_dir: bool) -> bool {
        type File = fn(&Level) -> Option<&Gitignore>;
        let kinds: [File; 3] = [
            |level| level.ignore.as_ref(),
            |level| level.git_ignore.as_ref(),
            |level| level.exclude.as_ref(),
        ];
        kinds.into_iter().find_map(|kind| self.decision(kind, path, is_dir)).unwrap_or_default()
    }

    /// What the innermost file of one kind that has a rule for `path` says.
    fn decision(&self, kind: fn(&Level) -> Option<&Gitignore>, path: &Path, is_dir: bool) -> Option<bool> {
        let mut level = self.0.as_deref();
        while let Some(current) = level {
            match kind(current).map(|file| file.matched(path, is_dir)) {
                Some(Match::Ignore(_)) => return Some(true),
                Some(Match::Whitelist(_)) => return Some(false),
                Some(Match::None) | None => level = current.above.0.as_deref(),
            }
        }
        None
    }
}

/// Where git keeps what is excluded in this copy of the repository alone.
fn exclude_of(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let kind = git.symlink_metadata().ok()?.file_type();
    let git = match kind.is_file() {
        true => GitDirectories::of(directory, None).whole.into_iter().next()?,
        false => git,
    };
    Some(git.join("info/exclude"))
}

/// The rules of the file at `path` for what is in `directory`; `None` where it has none.
fn matcher(directory: &Path, path: &Path, left_out: &mut LeftOut) -> Option<Gitignore> {
    let bytes = match regular_file::read(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(error.kind()) => return None,
        Err(_) => {
            left_out.files += 1;
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let mut builder = GitignoreBuilder::new(directory);
    let mut taken = 0usize;
    for rule in text.lines().filter(is_rule) {
        if !left_out.takes(rule, taken) {
            continue;
        }
        taken += 1;
        // Git too passes over a rule that is none.
        let _ = builder.add_line(None, rule);
    }
    match builder.build() {
        Ok(rules) => (!rules.is_empty()).then_some(rules),
        // All of them together make too large a program.
        Err(_) => {
            left_out.files += 1;
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
