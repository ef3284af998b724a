//! Reads and writes index files of git: the list of the files of a work tree, with what `stat` returned for each and the
//! hash of its content.
//!
//! Versions 2 and 3 are read, and version 2 is written. Extensions are left out. An index that refers to another one, or
//! that has directories in place of their files, is not read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use super::object_id::{HashAlgorithm, Hasher, ObjectId};
use super::objects::FileMode;

const SIGNATURE: &[u8] = b"DIRC";
/// The bits of the flags with the length of the path.
const LENGTH_BITS: u16 = 0x0fff;
/// The bits of the flags with the side of a conflict.
const STAGE_BITS: u16 = 0x3000;
/// The bit of the flags that says that more flags follow.
const EXTENDED_BIT: u16 = 0x4000;
/// Extensions without which the list of files is not complete: a shared index, and directories without their files.
const INCOMPLETE: [&[u8]; 2] = [b"link", b"sdir"];

/// The metadata by which a changed file is recognised. Numbers are cut to 32 bits, as in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileStat {
    /// The time of the last change of the metadata, in seconds and nanoseconds.
    changed: (u32, u32),
    /// The time of the last change of the content.
    modified: (u32, u32),
    inode: u32,
    user: u32,
    group: u32,
    size: u32,
}

impl FileStat {
    pub(super) fn new(found: &Metadata) -> Self {
        Self {
            changed: time(found.ctime(), found.ctime_nsec()),
            modified: time(found.mtime(), found.mtime_nsec()),
            inode: low_bits(found.ino()),
            user: found.uid(),
            group: found.gid(),
            size: low_bits(found.size()),
        }
    }

    /// Whether the content was changed at `time` or later.
    pub(super) fn is_modified_since(&self, time: (u32, u32)) -> bool {
        self.modified >= time
    }
}

/// Returns the time of the last change of a file's content as an index has it.
pub(super) fn modified(found: &Metadata) -> (u32, u32) {
    time(found.mtime(), found.mtime_nsec())
}

fn time(seconds: i64, nanoseconds: i64) -> (u32, u32) {
    (low_bits(seconds.cast_unsigned()), low_bits(nanoseconds.cast_unsigned()))
}

fn low_bits(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}

/// A file or a submodule of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry<'a> {
    /// The path relative to the work tree.
    pub(super) path: &'a [u8],
    pub(super) stat: FileStat,
    /// `None` for a submodule.
    pub(super) mode: Option<FileMode>,
    pub(super) id: ObjectId,
    /// Whether the entry is one side of a conflict.
    pub(super) is_conflict: bool,
}

/// Returns the entries of an index file; `None` if this module cannot read it.
pub(super) fn parse(content: &[u8], algorithm: HashAlgorithm) -> Option<Vec<IndexEntry<'_>>> {
    let mut rest = content.get(..content.len().checked_sub(algorithm.bytes())?)?;
    if take(&mut rest, SIGNATURE.len())? != SIGNATURE {
        return None;
    }
    let version = number(&mut rest)?;
    if !(2..=3).contains(&version) {
        return None;
    }
    let count = number(&mut rest)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(entry(&mut rest, algorithm)?);
    }
    while !rest.is_empty() {
        let name = take(&mut rest, 4)?;
        let size = number(&mut rest)?;
        if INCOMPLETE.contains(&name) {
            return None;
        }
        take(&mut rest, usize::try_from(size).ok()?)?;
    }
    Some(entries)
}

fn entry<'a>(rest: &mut &'a [u8], algorithm: HashAlgorithm) -> Option<IndexEntry<'a>> {
    let before = rest.len();
    let changed = (number(rest)?, number(rest)?);
    let modified = (number(rest)?, number(rest)?);
    let (_device, inode, mode) = (number(rest)?, number(rest)?, number(rest)?);
    let stat =
        FileStat { changed, modified, inode, user: number(rest)?, group: number(rest)?, size: number(rest)? };
    let id = ObjectId::new(take(rest, algorithm.bytes())?)?;
    let flags = u16::from_be_bytes(take(rest, 2)?.try_into().ok()?);
    if flags & EXTENDED_BIT != 0 {
        take(rest, 2)?;
    }
    let length = rest.iter().position(|byte| *byte == 0)?;
    let path = take(rest, length)?;
    let is_of_length = usize::from(flags & LENGTH_BITS) == length.min(LENGTH_BITS.into());
    take(rest, padding(before - rest.len()))?;
    let mode = match mode {
        0o100_644 => Some(FileMode::Regular),
        0o100_755 => Some(FileMode::Executable),
        0o120_000 => Some(FileMode::Link),
        0o160_000 => None,
        _ => return None,
    };
    let is_conflict = flags & STAGE_BITS != 0;
    is_of_length.then_some(IndexEntry { path, stat, mode, id, is_conflict })
}

/// Returns the number of zeros after an entry of this length: at least one, up to a multiple of eight bytes.
fn padding(length: usize) -> usize {
    8 - length % 8
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?))
}

/// Returns the content of an index file with these files, sorted by their paths.
pub(super) fn serialize<'a>(
    files: impl ExactSizeIterator<Item = (&'a [u8], FileStat, FileMode, ObjectId)>,
    algorithm: HashAlgorithm,
) -> Vec<u8> {
    let mut content = SIGNATURE.to_vec();
    let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
    content.extend([2, count].iter().flat_map(|number: &u32| number.to_be_bytes()));
    for (path, stat, mode, id) in files {
        let before = content.len();
        let FileStat { changed, modified, inode, user, group, size } = stat;
        let device = 0;
        let numbers =
            [changed.0, changed.1, modified.0, modified.1, device, inode, mode.number(), user, group, size];
        content.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        content.extend(id.as_bytes());
        let length = u16::try_from(path.len()).unwrap_or(u16::MAX).min(LENGTH_BITS);
        content.extend(length.to_be_bytes());
        content.extend(path);
        content.resize(content.len() + padding(content.len() - before), 0);
    }
    let mut hasher = Hasher::new(algorithm);
    hasher.update(&content);
    content.extend(hasher.finish().as_bytes());
    content
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::Sha1;

    /// Returns an index with files of these names.
    fn index(names: &[Vec<u8>]) -> Vec<u8> {
        let id = ALGORITHM.object("blob", b"");
        let stat = FileStat { size: 7, modified: (1, 2), ..FileStat::default() };
        serialize(names.iter().map(|name| (name.as_slice(), stat, FileMode::Executable, id)), ALGORITHM)
    }

    fn name() -> impl Strategy<Value = Vec<u8>> {
        let byte = any::<u8>().prop_map(|byte| byte.max(1));
        prop_oneof![4 => vec(byte.clone(), 1..40), 1 => vec(byte, 4090..4100)]
    }

    proptest! {
        #[test]
        fn an_index_is_read_as_it_was_written(names in vec(name(), 0..8)) {
            let content = index(&names);
            let entries = parse(&content, ALGORITHM).unwrap();
            let read: Vec<_> = entries.iter().map(|entry| entry.path.to_vec()).collect();
            prop_assert_eq!(read, names);
            let is_same = |entry: &IndexEntry<'_>| entry.stat.size == 7 && entry.mode == Some(FileMode::Executable);
            prop_assert!(entries.iter().all(is_same));
        }

        #[test]
        fn a_damaged_index_has_no_more_than_its_bytes(
            names in vec(name(), 0..4),
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            length in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut content = index(&names);
            for (position, byte) in changes {
                let position = position.index(content.len());
                content[position] = byte;
            }
            if is_cut {
                content.truncate(length.index(content.len()));
            }
            let bytes: usize = parse(&content, ALGORITHM).into_iter().flatten().map(|entry| entry.path.len()).sum();
            prop_assert!(bytes <= content.len());
        }
    }

    #[test]
    fn an_index_without_all_its_files_is_not_read() {
        let names = [b"a".to_vec()];
        let content = index(&names);
        let with = |name: &[u8]| {
            let (files, checksum) = content.split_at(content.len() - ALGORITHM.bytes());
            [files, name, &[0, 0, 0, 2], b"xy", checksum].concat()
        };
        for (name, count) in [(&b"TREE"[..], Some(1)), (b"link", None), (b"sdir", None)] {
            assert_eq!(parse(&with(name), ALGORITHM).map(|entries| entries.len()), count, "{name:?}");
        }
        let mut later = content.clone();
        later[7] = 4;
        assert_eq!(parse(&later, ALGORITHM), None, "version 4 has shortened paths");
        assert_eq!(parse(&content, HashAlgorithm::Sha256), None);
    }
}
