//! Reads directories level by level, in the order of names, within limits.
//!
//! Ignore files apply ([`crate::ignore_rules`]). Links are not followed. The directories of version control and paths
//! that may not be read are skipped.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::vec;

use crate::blocking::EndFlag;
use crate::files::ReadPolicy;
use crate::ignore_rules::{IgnoreFilePresence, IgnoreRules, RuleCounts};

/// The number of entries that one walk reads, including ignored ones.
const MAX_ENTRIES: usize = 2_000_000;
/// The number of entries that are read between two checks of the time.
const TIME_CHECK_INTERVAL: usize = 512;
/// The number of unread directories that are named.
const MAX_NAMED: usize = 5;

/// An entry that a walk found.
pub(crate) struct WalkEntry {
    /// Absolute path.
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
}

/// A directory that was read, and the ignore rules that apply in it.
pub(crate) struct Listing {
    pub(crate) rules: IgnoreRules,
    entries: vec::IntoIter<WalkEntry>,
}

/// Reads directories, and holds the state that a whole walk shares.
pub(crate) struct DirReader<'a> {
    read_policy: &'a ReadPolicy,
    end: &'a EndFlag,
    remaining_entries: usize,
    applies_ignore_files: bool,
    /// Directories and entries that could not be read.
    pub(crate) skipped: u64,
    /// The ignore files and rules that apply or are skipped.
    pub(crate) rule_counts: RuleCounts,
    /// Some directory was read in part, because the limit of entries was reached.
    pub(crate) is_truncated: bool,
    /// The directories that were not read, or read in part, because the time or the entries ran out.
    pub(crate) unread: UnreadDirectories,
}

/// Directories that a walk did not read completely.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnreadDirectories {
    pub(crate) count: u64,
    /// The first ones, absolute.
    pub(crate) first: Vec<PathBuf>,
}

impl UnreadDirectories {
    pub(crate) fn add(&mut self, directory: &Path) {
        self.count += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(directory.to_owned());
        }
    }
}

impl<'a> DirReader<'a> {
    pub(crate) fn new(read_policy: &'a ReadPolicy, end: &'a EndFlag) -> Self {
        Self {
            read_policy,
            end,
            remaining_entries: MAX_ENTRIES,
            applies_ignore_files: true,
            skipped: 0,
            rule_counts: RuleCounts::default(),
            is_truncated: false,
            unread: UnreadDirectories::default(),
        }
    }

    /// Returns a reader that reads ignored entries too.
    pub(crate) fn without_ignore_files(read_policy: &'a ReadPolicy, end: &'a EndFlag) -> Self {
        Self { applies_ignore_files: false, ..Self::new(read_policy, end) }
    }

    /// Whether the time or the entries ran out, or the run is ending.
    fn is_finished(&self) -> bool {
        self.remaining_entries == 0 || self.end.is_stopped() || self.end.is_out_of_time()
    }

    /// Reads `directory`, where a walk starts.
    pub(crate) fn read_start(&mut self, directory: &Path) -> Listing {
        if !self.applies_ignore_files {
            return self.read_subdirectory(directory, &IgnoreRules::default());
        }
        let users = IgnoreRules::for_user(self.read_policy.home(), &mut self.rule_counts);
        let above = users.for_parents_of(directory, &mut self.rule_counts);
        self.read_subdirectory(directory, &above)
    }

    /// Reads `directory`, to which the rules of its parent apply.
    pub(crate) fn read_subdirectory(&mut self, directory: &Path, above: &IgnoreRules) -> Listing {
        let mut presence = IgnoreFilePresence::default();
        let mut found: Vec<(OsString, FileType)> = Vec::new();
        let Ok(entries) = std::fs::read_dir(directory) else {
            self.skipped += 1;
            return Listing { rules: above.clone(), entries: Vec::new().into_iter() };
        };
        for (count, entry) in entries.enumerate() {
            if self.remaining_entries == 0 || (count % TIME_CHECK_INTERVAL == 0 && self.is_finished()) {
                self.is_truncated |= self.remaining_entries == 0;
                self.unread.add(directory);
                break;
            }
            self.remaining_entries -= 1;
            match entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))) {
                Ok((name, kind)) => {
                    presence.add(&name);
                    found.push((name, kind));
                }
                Err(_) => self.skipped += 1,
            }
        }
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let rules = match self.applies_ignore_files {
            true => above.for_subdirectory(directory, presence, &mut self.rule_counts),
            false => above.clone(),
        };
        let is_version_control =
            |name: &OsString| [".git", ".hg", ".jj", ".svn"].iter().any(|directory| name == *directory);
        let entries: Vec<WalkEntry> = found
            .into_iter()
            .filter(|(name, _)| !is_version_control(name))
            .map(|(name, kind)| WalkEntry { path: directory.join(name), kind })
            .collect();
        Listing { rules, entries: entries.into_iter() }
    }

    /// Returns the next entry of a listing that is neither ignored nor denied.
    pub(crate) fn next_entry(&self, listing: &mut Listing) -> Option<WalkEntry> {
        let Listing { rules, entries } = listing;
        entries.find(|entry| {
            !rules.is_ignored(&entry.path, entry.kind.is_dir()) && self.read_policy.allows_read(&entry.path)
        })
    }
}

/// A walk through a tree, level by level: when it ends early, the directories near its start were read.
pub(crate) struct DirWalk<'a> {
    pub(crate) reader: DirReader<'a>,
    current: Option<(Listing, usize)>,
    /// Directories to read, with the rules of their parent and their depth.
    queue: VecDeque<(PathBuf, IgnoreRules, usize)>,
    /// The depth down to which directories are read.
    max_depth: usize,
    /// Skips names that begin with a dot.
    skips_hidden: bool,
}

/// Returns at most `max_files` visible files below `root`, relative to it, at most `max_depth` directories deep, found
/// within `time`.
pub fn list_files(root: &Path, max_depth: usize, max_files: usize, time: Duration) -> Vec<PathBuf> {
    let (read_policy, end) = (ReadPolicy::default(), EndFlag::after(time));
    let walk = DirWalk { max_depth, skips_hidden: true, ..DirWalk::new(root, &read_policy, &end) };
    walk.filter(|entry| entry.kind.is_file())
        .filter_map(|entry| Some(entry.path.strip_prefix(root).ok()?.to_owned()))
        .take(max_files)
        .collect()
}

impl<'a> DirWalk<'a> {
    pub(crate) fn new(start: &Path, read_policy: &'a ReadPolicy, end: &'a EndFlag) -> Self {
        Self::with_reader(start, DirReader::new(read_policy, end))
    }

    /// Returns a walk with the limits and the rules of `reader`.
    pub(crate) fn with_reader(start: &Path, mut reader: DirReader<'a>) -> Self {
        let current = Some((reader.read_start(start), 1));
        Self { reader, current, queue: VecDeque::new(), max_depth: usize::MAX, skips_hidden: false }
    }

    /// Ends the walk and returns its reader, which has the unread directories.
    pub(crate) fn finish(mut self) -> DirReader<'a> {
        self.reader.is_truncated |= self.reader.remaining_entries == 0 && !self.queue.is_empty();
        self.queue.iter().for_each(|(directory, ..)| self.reader.unread.add(directory));
        self.reader
    }
}

impl Iterator for DirWalk<'_> {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        loop {
            let Some((listing, depth)) = &mut self.current else {
                if self.reader.is_finished() {
                    return None;
                }
                let (directory, above, depth) = self.queue.pop_front()?;
                self.current = Some((self.reader.read_subdirectory(&directory, &above), depth));
                continue;
            };
            match self.reader.next_entry(listing) {
                Some(entry) if self.skips_hidden && is_hidden(&entry.path) => {}
                Some(entry) => {
                    if entry.kind.is_dir() && *depth < self.max_depth {
                        self.queue.push_back((entry.path.clone(), listing.rules.clone(), *depth + 1));
                    }
                    return Some(entry);
                }
                None => self.current = None,
            }
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn files_that_are_not_ignored_are_listed_within_limits() {
        let fixture = Fixture::with("a", "");
        for file in ["b/c", "b/d/e", "b/d/f/g", ".hidden", ".git/config", ".dir/x", "ignored"] {
            fixture.put(file, "");
        }
        fixture.put(".gitignore", "ignored");
        fixture.fifo(".ignore");
        let listed =
            |max_depth, max_files| list_files(&fixture.root(), max_depth, max_files, Duration::from_secs(60));
        assert_eq!(listed(3, 10), ["a", "b/c", "b/d/e"].map(PathBuf::from));
        assert_eq!(listed(9, 2), ["a", "b/c"].map(PathBuf::from));
        assert!(list_files(&fixture.root(), 9, 9, Duration::ZERO).len() <= 1, "its time is up at once");
    }

    #[test]
    fn a_walk_reads_level_by_level_and_names_unread_directories() {
        let fixture = Fixture::new();
        for file in ["a/1/x", "a/2/x", "b/1/x", "c/x"] {
            fixture.put(file, "");
        }
        let (read_policy, end) = (ReadPolicy::default(), EndFlag::after(Duration::from_secs(60)));
        let walk = |entries: usize| {
            let mut walk = DirWalk::new(&fixture.root(), &read_policy, &end);
            walk.reader.remaining_entries = entries;
            let relative = |path: &Path| path.strip_prefix(fixture.root()).unwrap().display().to_string();
            let found: Vec<String> = walk.by_ref().map(|entry| relative(&entry.path)).collect();
            let reader = walk.finish();
            let unread: Vec<String> = reader.unread.first.iter().map(|path| relative(path)).collect();
            (found.join(" "), unread.join(" "), reader.is_truncated)
        };
        assert_eq!(walk(100), ("a b c a/1 a/2 b/1 c/x a/1/x a/2/x b/1/x".to_owned(), String::new(), false));
        // The root was read before: three more entries are `a` and `b`.
        assert_eq!(walk(3), ("a b c a/1 a/2 b/1".to_owned(), "c a/1 a/2 b/1".to_owned(), true));
        // The system decides which of the two names in `a` is read first.
        let (found, unread, is_truncated) = walk(1);
        assert!(
            found.starts_with("a b c a/") && unread.starts_with("a b c a/") && is_truncated,
            "{found}; {unread}"
        );
    }
}
