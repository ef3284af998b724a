//! The record of the files that commands created, removed, renamed or opened for writing.
//!
//! Supervisors add to it while commands run, in memory that they share with the client. The client asks it whether a
//! command, or something else on this machine, may have made a change that it has found.
//!
//! The record is a Bloom filter of a fixed size: no number of changes makes it forget one. After a million of them, the
//! chance that it takes a change of another program for one of a command is below one to a million; it grows after
//! several millions.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::Stat;
use rustix::io::Errno;

use crate::raw;

/// Number of blocks; with 64 bytes each they have 16 MiB.
const BLOCKS: u64 = 1 << 18;
/// Words of a block, which is one cache line.
const BLOCK_WORDS: u64 = 8;
/// Number of bits that are set for each key, all in one block.
const BITS: u32 = 8;
/// Words before the blocks.
const HEADER_WORDS: u64 = BLOCK_WORDS;
/// Index of the word that is not zero if something was recorded.
const HAS_ENTRIES: usize = 0;
/// Index of the word that is not zero if a command ran whose changes were not recorded.
const HAS_GAPS: usize = 1;

/// Device and inode.
pub type FileId = (u64, u64);

/// Returns device and inode of a file.
pub(crate) fn file_id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

/// The files that commands of one launcher may have changed, since the record was cleared.
#[derive(Clone, Copy)]
pub struct ChangeRecord(&'static [AtomicU64]);

impl std::fmt::Debug for ChangeRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeRecord")
            .field("is_empty", &self.is_empty())
            .field("is_complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}

/// A fact of the record.
#[derive(Clone, Copy)]
enum Key<'a> {
    /// A name in a directory was created, removed, replaced or opened for writing.
    Name(FileId, &'a [u8]),
    /// Some name in this directory was.
    Directory(FileId),
    /// This file was opened for writing, or this directory was renamed.
    File(FileId),
}

impl ChangeRecord {
    pub(crate) fn new() -> Result<Self, Errno> {
        let words = HEADER_WORDS + BLOCKS * BLOCK_WORDS;
        usize::try_from(words).map_err(|_small| Errno::NOMEM).and_then(raw::shared_words).map(Self)
    }

    pub(crate) fn add_name(self, directory: FileId, name: &[u8]) {
        self.add(Key::Name(directory, name));
        self.add(Key::Directory(directory));
    }

    pub(crate) fn add_file(self, file: FileId) {
        self.add(Key::File(file));
    }

    /// Notes that a command runs whose changes are not recorded.
    pub(crate) fn add_gap(self) {
        self.set(HAS_GAPS);
    }

    /// Whether nothing was recorded: no command has changed anything.
    pub fn is_empty(self) -> bool {
        !self.is_set(HAS_ENTRIES)
    }

    /// Whether the changes of every command were recorded.
    pub fn is_complete(self) -> bool {
        !self.is_set(HAS_GAPS)
    }

    /// Whether a command may have created, removed, replaced or changed the entry `name` of a directory.
    pub fn has_name(self, directory: FileId, name: &[u8]) -> bool {
        self.has(Key::Name(directory, name))
    }

    /// Whether [`Self::has_name`] holds for some name in the directory.
    pub fn has_directory(self, directory: FileId) -> bool {
        self.has(Key::Directory(directory))
    }

    /// Whether a command may have opened this file for writing, or renamed this directory.
    pub fn has_file(self, file: FileId) -> bool {
        self.has(Key::File(file))
    }

    /// Forgets everything. No command may run meanwhile.
    pub fn clear(self) {
        if !self.is_empty() || !self.is_complete() {
            raw::clear_words(self.0);
        }
    }

    fn add(self, key: Key<'_>) {
        for (place, mask) in places(key) {
            if let Some(word) = self.0.get(place)
                && word.load(Ordering::Relaxed) & mask == 0
            {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        }
        self.set(HAS_ENTRIES);
    }

    fn has(self, key: Key<'_>) -> bool {
        places(key).all(|(place, mask)| {
            self.0.get(place).is_some_and(|word| word.load(Ordering::Relaxed) & mask != 0)
        })
    }

    fn set(self, place: usize) {
        if let Some(word) = self.0.get(place) {
            word.store(1, Ordering::Release);
        }
    }

    fn is_set(self, place: usize) -> bool {
        self.0.get(place).is_some_and(|word| word.load(Ordering::Acquire) != 0)
    }
}

/// Returns the words of a key, and the bit in each.
fn places(key: Key<'_>) -> impl Iterator<Item = (usize, u64)> {
    let hash = hash(key);
    let block = HEADER_WORDS + hash % BLOCKS * BLOCK_WORDS;
    let mut bits = mix(hash);
    (0..BITS).map(move |_| {
        let (word, bit) = (bits % BLOCK_WORDS, bits / BLOCK_WORDS % 64);
        bits = mix(bits);
        // The number of words fits, because they were allocated.
        ((block + word) as usize, 1 << bit)
    })
}

/// FNV-1a. A command that searches for collisions gains nothing: it can only be taken for the author of more changes.
fn hash(key: Key<'_>) -> u64 {
    let (kind, (device, inode), name): (u8, _, &[u8]) = match key {
        Key::Name(directory, name) => (1, directory, name),
        Key::Directory(directory) => (2, directory, b""),
        Key::File(file) => (3, file, b""),
    };
    let head = [kind].into_iter().chain(device.to_ne_bytes()).chain(inode.to_ne_bytes());
    // Some file systems ignore the case of names.
    let name = name.iter().map(u8::to_ascii_lowercase);
    let hash = head.chain(name).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// Spreads each bit over all bits (the finalizer of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_nothing_else_until_it_is_cleared() {
        let record = ChangeRecord::new().unwrap();
        assert!(record.is_empty() && record.is_complete());
        record.add_name((1, 2), b".envrc");
        record.add_file((1, 7));
        record.add_gap();
        assert!(!record.is_empty() && !record.is_complete());
        assert!(record.has_name((1, 2), b".envrc") && record.has_name((1, 2), b".EnvRC"));
        assert!(record.has_directory((1, 2)) && record.has_file((1, 7)));
        for (directory, name) in [((1, 3), b".envrc"), ((2, 2), b".envrc"), ((1, 2), b".envrd")] {
            assert!(!record.has_name(directory, name), "{directory:?} {name:?}");
        }
        assert!(!record.has_directory((1, 7)) && !record.has_file((1, 2)));
        record.clear();
        assert!(record.is_empty() && record.is_complete() && !record.has_name((1, 2), b".envrc"));
    }

    #[test]
    fn a_hundred_thousand_changes_hide_no_other() {
        let record = ChangeRecord::new().unwrap();
        for number in 0..100_000_u64 {
            record.add_name((7, number % 50), &number.to_ne_bytes());
        }
        assert!((0..100_000_u64).all(|number| record.has_name((7, number % 50), &number.to_ne_bytes())));
        let wrong = (100_000..200_000_u64).filter(|number| record.has_name((7, 1), &number.to_ne_bytes()));
        assert_eq!(wrong.count(), 0);
    }
}
