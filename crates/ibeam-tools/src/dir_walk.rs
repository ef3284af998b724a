//! Directories read one after another, level by level and in the order of names, within bounds.
//!
//! Ignore files count ([`crate::ignore_rules`]); links are not followed; the stores of version control, and what may
//! not be read, are passed over.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::vec;

use crate::blocking::EndFlag;
use crate::files::ReadPolicy;
use crate::ignore_rules::{IgnoreNames, IgnoreRules, SkippedRules};

/// Entries of one walk. They are counted as they are read, ignored ones too.
const MAX_ENTRIES: usize = 2_000_000;
/// How many entries are read between two looks at the time.
const TIME_CHECK_INTERVAL: usize = 512;
/// The number of directories that were not read and are named.
const MAX_NAMED: usize = 5;

/// What a walk found.
pub(crate) struct Entry {
    /// Absolute.
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
}

/// A directory that was read, and the rules that hold in it.
pub(crate) struct Listing {
    pub(crate) rules: IgnoreRules,
    entries: vec::IntoIter<Entry>,
}

/// Reads directories; holds what all of a walk share.
pub(crate) struct DirReader<'a> {
    readable: &'a ReadPolicy,
    end: &'a EndFlag,
    remaining_entries: usize,
    /// Directories and entries that could not be read.
    pub(crate) skipped: u64,
    /// What of the ignore files does not count.
    pub(crate) skipped_rules: SkippedRules,
    /// Some directory was not read whole, for there were too many entries.
    pub(crate) is_truncated: bool,
    /// The directories that were not read, or not read whole, for want of time or because of too many entries.
    pub(crate) unread: Unread,
}

/// Directories that a walk did not read whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unread {
    pub(crate) count: u64,
    /// The first of them, absolute.
    pub(crate) first: Vec<PathBuf>,
}

impl Unread {
    /// Adds a directory.
    pub(crate) fn add(&mut self, directory: &Path) {
        self.count += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(directory.to_owned());
        }
    }
}

impl<'a> DirReader<'a> {
    pub(crate) fn new(readable: &'a ReadPolicy, end: &'a EndFlag) -> Self {
        Self {
            readable,
            end,
            remaining_entries: MAX_ENTRIES,
            skipped: 0,
            skipped_rules: SkippedRules::default(),
            is_truncated: false,
            unread: Unread::default(),
        }
    }

    /// Whether nothing more is to be read: the time or the entries are used up, or the run is ending.
    fn is_finished(&self) -> bool {
        self.remaining_entries == 0 || self.end.is_stopped() || self.end.is_out_of_time()
    }

    /// Reads `directory`, the first of a walk.
    pub(crate) fn read_first(&mut self, directory: &Path) -> Listing {
        let above = IgnoreRules::above(directory, &mut self.skipped_rules);
        self.read_below(directory, &above)
    }

    /// Reads `directory`, above which these rules hold.
    pub(crate) fn read_below(&mut self, directory: &Path, above: &IgnoreRules) -> Listing {
        let mut names = IgnoreNames::default();
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
                    names.add(&name);
                    found.push((name, kind));
                }
                Err(_) => self.skipped += 1,
            }
        }
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let rules = above.within(directory, names, &mut self.skipped_rules);
        let is_store = |name: &OsString| [".git", ".hg", ".jj", ".svn"].iter().any(|store| name == *store);
        let entries: Vec<Entry> = found
            .into_iter()
            .filter(|(name, _)| !is_store(name))
            .map(|(name, kind)| Entry { path: directory.join(name), kind })
            .collect();
        Listing { rules, entries: entries.into_iter() }
    }

    /// The next entry of a listing that is neither ignored nor denied.
    pub(crate) fn next_entry(&self, listing: &mut Listing) -> Option<Entry> {
        let Listing { rules, entries } = listing;
        entries.find(|entry| {
            !rules.is_ignored(&entry.path, entry.kind.is_dir()) && self.readable.may_read(&entry.path)
        })
    }
}

/// A walk through a tree, level by level: when it is cut, the directories near its start were read.
pub(crate) struct DirWalk<'a> {
    pub(crate) reader: DirReader<'a>,
    current: Option<(Listing, usize)>,
    /// Directories to be read, with the rules above them and their depth.
    queue: VecDeque<(PathBuf, IgnoreRules, usize)>,
    /// Directories in each other that are read.
    max_depth: usize,
    /// Names that begin with a dot are passed over.
    skips_hidden: bool,
}

/// The first `most` files below `root`, relative to it, with `deepest` directories in each other: what a person would
/// see of it, within `time`.
pub fn list_files(root: &Path, max_depth: usize, max_files: usize, time: Duration) -> Vec<PathBuf> {
    let (readable, end) = (ReadPolicy::default(), EndFlag::after(time));
    let walk = DirWalk { max_depth, skips_hidden: true, ..DirWalk::new(root, &readable, &end) };
    walk.filter(|entry| entry.kind.is_file())
        .filter_map(|entry| Some(entry.path.strip_prefix(root).ok()?.to_owned()))
        .take(max_files)
        .collect()
}

impl<'a> DirWalk<'a> {
    pub(crate) fn new(start: &Path, readable: &'a ReadPolicy, end: &'a EndFlag) -> Self {
        let mut reader = DirReader::new(readable, end);
        let current = Some((reader.read_first(start), 1));
        Self { reader, current, queue: VecDeque::new(), max_depth: usize::MAX, skips_hidden: false }
    }

    /// Ends the walk here and returns its reader, which knows what was not read.
    pub(crate) fn finish(mut self) -> DirReader<'a> {
        self.reader.is_truncated |= self.reader.remaining_entries == 0 && !self.queue.is_empty();
        self.queue.iter().for_each(|(directory, ..)| self.reader.unread.add(directory));
        self.reader
    }
}

impl Iterator for DirWalk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let Some((listing, depth)) = &mut self.current else {
                if self.reader.is_finished() {
                    return None;
                }
                let (directory, above, depth) = self.queue.pop_front()?;
                self.current = Some((self.reader.read_below(&directory, &above), depth));
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
    fn the_files_that_a_person_would_see_are_listed_within_bounds() {
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
    fn a_walk_goes_level_by_level_and_names_what_it_leaves_out() {
        let fixture = Fixture::new();
        for file in ["a/1/x", "a/2/x", "b/1/x", "c/x"] {
            fixture.put(file, "");
        }
        let (readable, end) = (ReadPolicy::default(), EndFlag::after(Duration::from_secs(60)));
        let walk = |entries: usize| {
            let mut walk = DirWalk::new(&fixture.root(), &readable, &end);
            walk.reader.remaining_entries = entries;
            let relative = |path: &Path| path.strip_prefix(fixture.root()).unwrap().display().to_string();
            let found: Vec<String> = walk.by_ref().map(|entry| relative(&entry.path)).collect();
            let reader = walk.finish();
            let unread: Vec<String> = reader.unread.first.iter().map(|path| relative(path)).collect();
            (found.join(" "), unread.join(" "), reader.is_truncated)
        };
        assert_eq!(walk(100), ("a b c a/1 a/2 b/1 c/x a/1/x a/2/x b/1/x".to_owned(), String::new(), false));
        // The root was read before: with three entries more, `a` and `b`.
        assert_eq!(walk(3), ("a b c a/1 a/2 b/1".to_owned(), "c a/1 a/2 b/1".to_owned(), true));
        // Which of the two names in `a` is read first is up to the system.
        let (found, unread, is_truncated) = walk(1);
        assert!(
            found.starts_with("a b c a/") && unread.starts_with("a b c a/") && is_truncated,
            "{found}; {unread}"
        );
    }
}
