//! The last file of a journal: it only grows, by whole records, into room that was set aside for it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::layout::{self, SegmentPath, UNFINISHED_SEGMENT};
use crate::private_files;
use crate::record::Header;
use crate::record::{RecordKind, frame};

/// A segment open for appending.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
    pub(crate) number: u32,
    /// Bytes of whole records.
    end: u64,
    /// Bytes that have room on the disk for sure, at least `end`.
    allocated: u64,
    /// How far ahead of the end room is set aside.
    reserve_bytes: u64,
    /// A write broke off and what it left could not be cut.
    has_partial_write: bool,
    /// Nothing was appended since it was made.
    has_only_header: bool,
    /// Whether the file system can set room aside.
    can_reserve: bool,
}

impl Segment {
    /// The segment in `file`, opened for appending, whose whole records end at `end`, its end.
    pub(crate) fn new(file: File, at: SegmentPath, end: u64, reserve_bytes: u64) -> Self {
        let SegmentPath { number, path } = at;
        let file = Arc::new(file);
        Self {
            file,
            path,
            number,
            end,
            allocated: end,
            reserve_bytes,
            has_partial_write: false,
            has_only_header: false,
            can_reserve: true,
        }
    }

    /// Puts a new segment with `header`, and what `fill` appends to it, in its place: whole or not at all.
    ///
    /// Its content is on the disk before it has its name, so that a power cut cannot leave a name without content;
    /// the name is the caller's to sync.
    ///
    /// # Errors
    /// The system's. What stands in the place is replaced, so look first.
    pub(crate) fn create(
        directory: &Path,
        header: &Header,
        reserve_bytes: u64,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Self> {
        let unfinished = directory.join(UNFINISHED_SEGMENT);
        let mut file = private_files::create_empty(&unfinished)?;
        let mut line = Vec::new();
        frame(RecordKind::Header, &serde_json::to_vec(header)?, &mut line);
        let at = layout::segment_path(directory, header.segment);
        let placed = file.write_all(&line).and_then(|()| fill(&mut file)).and_then(|()| {
            file.sync_data()?;
            fs::rename(&unfinished, &at.path)
        });
        if let Err(error) = placed {
            drop(fs::remove_file(&unfinished));
            return Err(error);
        }
        let end = file.metadata()?.len();
        Ok(Self { has_only_header: end == line.len() as u64, ..Self::new(file, at, end, reserve_bytes) })
    }

    /// Whether it holds nothing but the header it was made with.
    pub(crate) fn has_only_header(&self) -> bool {
        self.has_only_header
    }

    /// Bytes of whole records.
    pub(crate) fn len(&self) -> u64 {
        self.end
    }

    /// Appends whole records: all of `bytes`, or nothing.
    ///
    /// # Errors
    /// The system's, e.g. when they do not fit into the room there is.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.has_partial_write {
            self.truncate()?;
        }
        let end = self.end + bytes.len() as u64;
        if end > self.allocated {
            self.allocate(end)?;
        }
        match (&*self.file).write_all(bytes) {
            Ok(()) => {
                self.end = end;
                self.has_only_header = false;
                self.allocated = self.allocated.max(end);
                Ok(())
            }
            Err(error) => {
                self.has_partial_write = true;
                // Tried again before the next write.
                drop(self.truncate());
                Err(error)
            }
        }
    }

    /// Whether the file has lost its name.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn is_removed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() == 0)
    }

    /// Whether the file has lost its name, or another file or directory has taken it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn is_replaced(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(found) => Ok((found.dev(), found.ino()) != (own.dev(), own.ino())),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Sets room aside for what comes next, where little is left of it.
    ///
    /// # Errors
    /// The system's, e.g. when the disk is full; the room that was there stays.
    pub(crate) fn extend_reserve(&mut self) -> io::Result<()> {
        match self.allocated - self.end < self.reserve_bytes / 2 {
            true => self.allocate(self.end + self.reserve_bytes),
            false => Ok(()),
        }
    }

    /// Gives back the room set aside.
    ///
    /// # Errors
    /// The system's; then it stays with the file until that is opened and closed again.
    pub(crate) fn release_reserve(&mut self) -> io::Result<()> {
        if self.allocated > self.end { self.truncate() } else { Ok(()) }
    }

    /// Cuts the file, and the room behind it, at the end of its whole records.
    fn truncate(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.allocated = self.end;
        self.has_partial_write = false;
        Ok(())
    }

    fn allocate(&mut self, to: u64) -> io::Result<()> {
        if !self.can_reserve {
            return Ok(());
        }
        match rustix::io::retry_on_intr(|| preallocate(&self.file, self.end, to - self.end)) {
            Ok(()) => {
                self.allocated = to;
                Ok(())
            }
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS)) => Err(error.into()),
            // This file system, or this file, knows no such thing: then a write finds out.
            Err(_) => {
                self.can_reserve = false;
                Ok(())
            }
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn preallocate(file: &File, from: u64, bytes: u64) -> rustix::io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, bytes)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn preallocate(_: &File, _: u64, _: u64) -> rustix::io::Result<()> {
    Err(Errno::NOTSUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every write to it fails for, as on a device that broke.
    #[test]
    fn f135_a_write_that_fails_leaves_whole_records_and_is_told_every_time() {
        let home = tempfile::tempdir().unwrap();
        let at = SegmentPath { number: 1, path: home.path().join("events.jsonl") };
        fs::write(&at.path, "whole\n").unwrap();
        let mut segment = Segment::new(File::open(&at.path).unwrap(), at.clone(), 6, 1 << 20);
        for _ in 0..2 {
            assert!(segment.write(b"lost\n").is_err());
            assert_eq!(segment.len(), 6);
        }
        assert_eq!(fs::read(&at.path).unwrap(), b"whole\n");
    }

    #[test]
    fn a_write_that_broke_off_is_cut_before_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let at = SegmentPath { number: 1, path: home.path().join("events.jsonl") };
        fs::write(&at.path, "whole\nbroke o").unwrap();
        let file = File::options().append(true).open(&at.path).unwrap();
        let mut segment = Segment { has_partial_write: true, ..Segment::new(file, at.clone(), 6, 0) };
        segment.write(b"next\n").unwrap();
        assert_eq!(fs::read(&at.path).unwrap(), b"whole\nnext\n");
    }
}
