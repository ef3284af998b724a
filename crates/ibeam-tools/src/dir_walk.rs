//! Directories read one after another, in the order of names, without recursion and within bounds.
//!
//! Ignore files count ([`crate::ignore_rules`]); links are not followed; the stores of version control, and what may
//! not be read, are passed over.

use std::ffi::OsString;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::vec;

use crate::blocking::EndFlag;
use crate::files::Readable;
use crate::ignore_rules::{IgnoreNames, IgnoreRules, LeftOut};

/// Entries of one walk. They are counted as they are read, ignored ones too.
const ENTRIES: usize = 2_000_000;
/// How many entries are read between two looks at the time.
const STEP: usize = 512;

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
    readable: &'a Readable,
    end: &'a EndFlag,
    entries_left: usize,
    /// Directories and entries that could not be read.
    pub(crate) skipped: u64,
    /// What of the ignore files does not count.
    pub(crate) left_out: LeftOut,
    /// Some directory was not read whole, for there were too many entries.
    pub(crate) is_cut: bool,
}

impl<'a> DirReader<'a> {
    pub(crate) fn new(readable: &'a Readable, end: &'a EndFlag) -> Self {
        Self { readable, end, entries_left: ENTRIES, skipped: 0, left_out: LeftOut::default(), is_cut: false }
    }

    /// Reads `directory`, the first of a walk.
    pub(crate) fn first(&mut self, directory: &Path) -> Listing {
        let above = IgnoreRules::above(directory, &mut self.left_out);
        self.below(directory, &above)
    }

    /// Reads `directory`, above which these rules hold.
    pub(crate) fn below(&mut self, directory: &Path, above: &IgnoreRules) -> Listing {
        let mut names = IgnoreNames::default();
        let mut found: Vec<(OsString, FileType)> = Vec::new();
        let Ok(entries) = std::fs::read_dir(directory) else {
            self.skipped += 1;
            return Listing { rules: above.clone(), entries: Vec::new().into_iter() };
        };
        for (count, entry) in entries.enumerate() {
            if self.entries_left == 0 {
                self.is_cut = true;
                break;
            }
            if count % STEP == 0 && (self.end.stopped() || self.end.out_of_time()) {
                break;
            }
            self.entries_left -= 1;
            match entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))) {
                Ok((name, kind)) => {
                    names.note(&name);
                    found.push((name, kind));
                }
                Err(_) => self.skipped += 1,
            }
        }
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let rules = above.within(directory, names, &mut self.left_out);
        let is_store = |name: &OsString| [".git", ".hg", ".jj", ".svn"].iter().any(|store| name == *store);
        let entries: Vec<Entry> = found
            .into_iter()
            .filter(|(name, _)| !is_store(name))
            .map(|(name, kind)| Entry { path: directory.join(name), kind })
            .collect();
        Listing { rules, entries: entries.into_iter() }
    }

    /// The next entry of a listing that is neither ignored nor denied.
    pub(crate) fn next_of(&self, listing: &mut Listing) -> Option<Entry> {
        let Listing { rules, entries } = listing;
        entries.find(|entry| {
            !rules.leave_out(&entry.path, entry.kind.is_dir()) && self.readable.may_read(&entry.path)
        })
    }
}

/// A walk through a tree: what is in a directory follows the directory.
pub(crate) struct DirWalk<'a> {
    pub(crate) reader: DirReader<'a>,
    open: Vec<Listing>,
    /// Directories in each other that are read.
    deepest: usize,
    /// Names that begin with a dot are passed over.
    skips_hidden: bool,
}

/// The first `most` files below `root`, relative to it, with `deepest` directories in each other: what a person would
/// see of it, within `time`.
pub fn list_files(root: &Path, deepest: usize, most: usize, time: Duration) -> Vec<PathBuf> {
    let (readable, end) = (Readable::default(), EndFlag::after(time));
    let walk = DirWalk { deepest, skips_hidden: true, ..DirWalk::new(root, &readable, &end) };
    walk.filter(|entry| entry.kind.is_file())
        .filter_map(|entry| Some(entry.path.strip_prefix(root).ok()?.to_owned()))
        .take(most)
        .collect()
}

impl<'a> DirWalk<'a> {
    pub(crate) fn new(start: &Path, readable: &'a Readable, end: &'a EndFlag) -> Self {
        let mut reader = DirReader::new(readable, end);
        let open = vec![reader.first(start)];
        Self { reader, open, deepest: usize::MAX, skips_hidden: false }
    }
}

impl Iterator for DirWalk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let depth = self.open.len();
            let innermost = self.open.last_mut()?;
            match self.reader.next_of(innermost) {
                Some(entry) if self.skips_hidden && is_hidden(&entry.path) => {}
                Some(entry) => {
                    if entry.kind.is_dir() && depth < self.deepest {
                        let below = self.reader.below(&entry.path, &innermost.rules);
                        self.open.push(below);
                    }
                    return Some(entry);
                }
                None => drop(self.open.pop()),
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
        let listed = |deepest, most| list_files(&fixture.root(), deepest, most, Duration::from_secs(60));
        assert_eq!(listed(3, 10), ["a", "b/c", "b/d/e"].map(PathBuf::from));
        assert_eq!(listed(9, 2), ["a", "b/c"].map(PathBuf::from));
        assert!(list_files(&fixture.root(), 9, 9, Duration::ZERO).len() <= 1, "its time is up at once");
    }
}
