//! The last segment of a journal: complete records are appended to it, into space that was reserved for them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::layout::{self, SegmentPath, UNFINISHED_SEGMENT};
use crate::private_files;
use crate::record::{Header, RecordKind, frame};

/// A segment open for appending.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
    pub(crate) number: u32,
    /// End of the last complete record, in bytes.
    end: u64,
    /// Bytes that are allocated on the disk, at least `end`.
    allocated: u64,
    /// Bytes that are reserved after `end`.
    reserve_bytes: u64,
    /// Whether a failed write left bytes after `end` that could not be removed.
    has_partial_write: bool,
    /// Whether nothing was appended since the segment was created.
    has_only_header: bool,
    /// Whether the file system can reserve space.
    can_reserve: bool,
}

impl Segment {
    /// Returns the segment in `file`, which is open for appending and ends at `end` after a complete record.
    pub(crate) fn new(file: File, location: SegmentPath, end: u64, reserve_bytes: u64) -> Self {
        let SegmentPath { number, path } = location;
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

    /// Creates a segment with `header` and what `fill` appends to it, completely or not at all.
    ///
    /// The content is synced before the file gets its name, so that a power cut cannot leave an empty segment. The
    /// caller syncs the directory. An existing segment is replaced, so the caller checks first that none exists.
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
        let location = layout::segment_path(directory, header.segment);
        let placed = file.write_all(&line).and_then(|()| fill(&mut file)).and_then(|()| {
            file.sync_data()?;
            fs::rename(&unfinished, &location.path)
        });
        if let Err(error) = placed {
            drop(fs::remove_file(&unfinished));
            return Err(error);
        }
        let end = file.metadata()?.len();
        Ok(Self {
            has_only_header: end == line.len() as u64,
            ..Self::new(file, location, end, reserve_bytes)
        })
    }

    /// Whether nothing was appended since the segment was created.
    pub(crate) fn has_only_header(&self) -> bool {
        self.has_only_header
    }

    /// Returns the length of all complete records in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.end
    }

    /// Appends complete records: all of `bytes`, or nothing.
    ///
    /// # Errors
    /// The errors of the file system, such as a full disk.
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
                // After a failure the next write truncates the file first.
                drop(self.truncate());
                Err(error)
            }
        }
    }

    /// Whether the file was deleted.
    pub(crate) fn is_removed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() == 0)
    }

    /// Whether the file was deleted or moved, or another file has its path.
    pub(crate) fn is_replaced(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(found) => Ok((found.dev(), found.ino()) != (own.dev(), own.ino())),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reserves space for further records, if less than half of the reserve is left.
    ///
    /// # Errors
    /// The errors of the file system, such as a full disk. After an error, the existing reserve remains.
    pub(crate) fn extend_reserve(&mut self) -> io::Result<()> {
        match self.allocated - self.end < self.reserve_bytes / 2 {
            true => self.allocate(self.end + self.reserve_bytes),
            false => Ok(()),
        }
    }

    /// Releases the reserved space.
    ///
    /// # Errors
    /// The errors of the file system. The space stays allocated until the session is opened and closed again.
    pub(crate) fn release_reserve(&mut self) -> io::Result<()> {
        if self.allocated > self.end { self.truncate() } else { Ok(()) }
    }

    /// Truncates the file and its reserved space at the end of the last complete record.
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
            // The file system cannot reserve space, so only a write will show whether the disk is full.
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

    /// Uses a file that is open for reading only, so that every write fails.
    #[test]
    fn f135_a_failed_write_leaves_complete_records_and_each_failure_is_returned() {
        let home = tempfile::tempdir().unwrap();
        let location = SegmentPath { number: 1, path: home.path().join("events.jsonl") };
        fs::write(&location.path, "record\n").unwrap();
        let mut segment = Segment::new(File::open(&location.path).unwrap(), location.clone(), 7, 1 << 20);
        for _ in 0..2 {
            assert!(segment.write(b"lost\n").is_err());
            assert_eq!(segment.len(), 7);
        }
        assert_eq!(fs::read(&location.path).unwrap(), b"record\n");
    }

    #[test]
    fn a_partial_write_is_truncated_before_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let location = SegmentPath { number: 1, path: home.path().join("events.jsonl") };
        fs::write(&location.path, "record\npartial").unwrap();
        let file = File::options().append(true).open(&location.path).unwrap();
        let mut segment = Segment { has_partial_write: true, ..Segment::new(file, location.clone(), 7, 0) };
        segment.write(b"next\n").unwrap();
        assert_eq!(fs::read(&location.path).unwrap(), b"record\nnext\n");
    }
}
