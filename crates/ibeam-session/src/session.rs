//! An open session: its lease and its journal, to which records are only appended.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_protocol::{Event, SessionId};

use crate::blob;
use crate::error::{SessionError, io_error, unusable_error};
use crate::layout::{self, BLOB_DIRECTORY, check_owner};
use crate::lease::{self, Lease};
use crate::options::{Durability, SessionOptions};
use crate::private_files;
use crate::record::{BlobRef, Header, RecordKind, frame};
use crate::segment::Segment;
use crate::sync::{SyncStep, Syncer};
use crate::walk::MAX_LINE_BYTES;

/// A session that only this process may append to. Dropping it releases the lease.
#[derive(Debug)]
pub struct Session {
    directory: PathBuf,
    header: Header,
    options: SessionOptions,
    segment: Segment,
    /// Framed records that are not written yet.
    pending: Vec<u8>,
    /// End offsets of the records in `pending`.
    record_ends: Vec<usize>,
    /// Buffer for one record, reused.
    payload: Vec<u8>,
    /// Files and directories that changed since the last checkpoint, and are synced before `sync_after`.
    pub(crate) sync_before: Vec<SyncStep>,
    /// Directories with new entries, synced last.
    pub(crate) sync_after: Vec<SyncStep>,
    syncer: Syncer,
    /// The last field, because it is dropped last: no other process may write before the journal is closed.
    lease: Lease,
}

impl Session {
    /// Creates the session `id` for the workspace `cwd` and acquires its lease.
    ///
    /// A process that is killed during the creation leaves either a session with its header or no session.
    ///
    /// # Errors
    /// `Unusable` if the session cannot be created or exists already; `Busy`, `Leased`, `Cancelled`, `Io`.
    pub fn create(
        sessions: &Path,
        id: SessionId,
        cwd: &Path,
        options: &SessionOptions,
    ) -> Result<Self, SessionError> {
        Self::create_with(sessions, Header::new(id, cwd), options, |_, _| Ok(()))
    }

    /// Creates a session with `header` and the records that `fill` appends to its first segment.
    pub(crate) fn create_with(
        sessions: &Path,
        header: Header,
        options: &SessionOptions,
        fill: impl FnOnce(&Path, &mut File) -> io::Result<()>,
    ) -> Result<Self, SessionError> {
        let directory = sessions.join(header.session_id.to_string());
        let mut changed = private_files::create_directory(&directory).map_err(unusable_error(&directory))?;
        check_owner(sessions, &directory)?;
        let lease = lease::acquire(&directory, options)?;
        let first = layout::segment_path(&directory, 1);
        if !layout::list_segments(&directory).map_err(unusable_error(&directory))?.is_empty() {
            return Err(unusable_error(&first.path)(ErrorKind::AlreadyExists.into()));
        }
        let segment =
            Segment::create(&directory, &header, options.reserve_bytes, |file| fill(&directory, file))
                .map_err(unusable_error(&first.path))?;
        changed.insert(0, directory.clone());
        let mut session = Self::from_parts(directory, header, options, segment, lease);
        session.sync_after.extend(changed.into_iter().map(SyncStep::DirectoryEntries));
        if options.durability == Durability::Synced {
            session.sync()?;
        }
        Ok(session)
    }

    pub(crate) fn from_parts(
        directory: PathBuf,
        header: Header,
        options: &SessionOptions,
        segment: Segment,
        lease: Lease,
    ) -> Self {
        Self {
            directory,
            header,
            options: options.clone(),
            segment,
            pending: Vec::new(),
            record_ends: Vec::new(),
            payload: Vec::new(),
            sync_before: Vec::new(),
            sync_after: Vec::new(),
            syncer: Syncer::default(),
            lease,
        }
    }

    /// Adds an event to the records that the next `flush` writes.
    ///
    /// # Errors
    /// `Io` if the payload is too large for a record and cannot be stored as a blob. The event is left out.
    pub fn append(&mut self, event: &Event) -> Result<(), SessionError> {
        self.payload.clear();
        let encoded = serde_json::to_writer(&mut self.payload, event);
        encoded.map_err(|error| self.io_error(error.into()))?;
        let mut kind = RecordKind::Event;
        if self.payload.len() > blob::MAX_INLINE_BYTES {
            match self.store_blob(event) {
                Ok(reference) => {
                    kind = RecordKind::Blob;
                    self.payload.clear();
                    serde_json::to_writer(&mut self.payload, &reference)
                        .map_err(|error| self.io_error(error.into()))?;
                }
                // A full disk has no space for another file, but the journal may have reserved space.
                Err(_) if (self.payload.len() as u64) < MAX_LINE_BYTES / 2 => {}
                Err(error) => return Err(error),
            }
        }
        frame(kind, &self.payload, &mut self.pending);
        self.record_ends.push(self.pending.len());
        Ok(())
    }

    /// Writes all pending records in one write, so that they survive the end of this process. With `Durability::Synced`
    /// also waits for the disk, so that they survive a power cut.
    ///
    /// # Errors
    /// `LowDiskSpace` if no space can be reserved for further records. `Io` if a record does not fit, which is then
    /// left out completely, or if an earlier sync failed. Later calls may succeed, because a smaller record may fit.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let written = self.write_and_reserve();
        let synced = match self.options.durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.sync(),
        };
        self.prefer_removed_error(written.and(synced))
    }

    /// Flushes, and starts to sync what was flushed, without waiting for the disk.
    ///
    /// # Errors
    /// The errors of `flush`, and `Removed`.
    pub fn begin_sync(&mut self) -> Result<(), SessionError> {
        let flushed = self.flush();
        let started = self.start_sync();
        let done = self.prefer_removed_error(flushed.and(started));
        self.check_not_removed(self.segment.is_removed()).and(done)
    }

    /// Flushes, releases the reserved space, and waits until all records survive a power cut. Called at the end of a
    /// run; more records may follow.
    ///
    /// # Errors
    /// `Io`, as for `flush`, and `Removed`.
    pub fn sync_to_disk(&mut self) -> Result<(), SessionError> {
        let written = self.write();
        let reserve_released = self.segment.release_reserve().map_err(|source| self.io_error(source));
        let synced = self.sync();
        let is_replaced = self.segment.is_replaced();
        self.check_not_removed(is_replaced).and(written).and(reserve_released).and(synced)
    }

    /// Closes and syncs the current segment and creates the next one, unless the current one has no records.
    ///
    /// # Errors
    /// The errors of `flush`. After an error, the current segment stays open.
    pub fn rotate(&mut self) -> Result<(), SessionError> {
        self.write()?;
        self.start_next_segment()
    }

    fn write_and_reserve(&mut self) -> Result<(), SessionError> {
        let written = self.write().and_then(|()| self.rotate_if_long());
        let renewed = self.segment.extend_reserve();
        written?;
        renewed.map_err(|source| SessionError::LowDiskSpace { path: self.segment.path.clone(), source })?;
        self.syncer.check().map_err(|source| self.io_error(source))
    }

    fn write(&mut self) -> Result<(), SessionError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.write_records_that_fit();
        self.pending.clear();
        self.record_ends.clear();
        self.sync_before.retain(
            |step| !matches!(step, SyncStep::FileData(file) if Arc::ptr_eq(file, &self.segment.file)),
        );
        self.sync_before.push(self.file_data_step());
        written.map_err(|source| self.io_error(source))
    }

    fn rotate_if_long(&mut self) -> Result<(), SessionError> {
        if self.segment.len() >= self.options.segment_bytes { self.start_next_segment() } else { Ok(()) }
    }

    fn write_records_that_fit(&mut self) -> io::Result<()> {
        let Err(error) = self.segment.write(&self.pending) else { return Ok(()) };
        if self.record_ends.len() < 2 {
            return Err(error);
        }
        // The records of the end of a run are small, so they may fit.
        let (mut start, mut lost) = (0, None);
        for end in &self.record_ends {
            if let Err(error) = self.segment.write(self.pending.get(start..*end).unwrap_or_default()) {
                lost.get_or_insert(error);
            }
            start = *end;
        }
        lost.map_or(Ok(()), Err)
    }

    fn start_next_segment(&mut self) -> Result<(), SessionError> {
        if self.segment.has_only_header() {
            return Ok(());
        }
        // Only the last segment may be torn, so this one is synced before the next one exists.
        self.sync()?;
        let header = Header { segment: self.segment.number + 1, ..self.header.clone() };
        let placed = Segment::create(&self.directory, &header, self.options.reserve_bytes, |_| Ok(()));
        let next = placed
            .map_err(|source| SessionError::LowDiskSpace { path: self.segment.path.clone(), source })?;
        let mut closed = std::mem::replace(&mut self.segment, next);
        self.sync_after.push(SyncStep::DirectoryEntries(self.directory.clone()));
        self.sync()?;
        closed.release_reserve().map_err(|source| self.io_error(source))
    }

    /// Stores the kind of an event as a blob.
    fn store_blob(&mut self, event: &Event) -> Result<BlobRef, SessionError> {
        let blobs = self.directory.join(BLOB_DIRECTORY);
        let payload = serde_json::to_vec(&event.kind).map_err(|error| self.io_error(error.into()))?;
        let sha256 = blob::digest(&payload);
        let file = blob::store(&self.directory, &sha256, &payload).map_err(io_error(&blobs))?;
        self.sync_before.push(SyncStep::FileData(Arc::new(file)));
        self.sync_before.push(SyncStep::DirectoryEntries(blobs));
        self.sync_before.push(SyncStep::DirectoryEntries(self.directory.clone()));
        if self.options.durability == Durability::Synced {
            self.sync()?;
        }
        Ok(BlobRef { seq: event.seq, at_ms: event.at_ms, sha256, bytes: payload.len() as u64 })
    }

    fn start_sync(&mut self) -> Result<(), SessionError> {
        let mut steps = std::mem::take(&mut self.sync_before);
        steps.append(&mut self.sync_after);
        if steps.is_empty() {
            return Ok(());
        }
        self.syncer.submit(steps).map_err(|source| self.io_error(source))
    }

    fn sync(&mut self) -> Result<(), SessionError> {
        self.start_sync()?;
        self.syncer.wait().map_err(|source| self.io_error(source))
    }

    pub(crate) fn file_data_step(&self) -> SyncStep {
        SyncStep::FileData(Arc::clone(&self.segment.file))
    }

    /// Returns the lease file, if the file system does not support locks.
    pub fn lease_file(&self) -> Option<&Path> {
        self.lease.file.as_ref().map(|lease| lease.path.as_path())
    }

    /// Returns `Removed` instead of an `Io` error if the session was moved or removed, because that is the cause.
    fn prefer_removed_error(&self, done: Result<(), SessionError>) -> Result<(), SessionError> {
        if matches!(done, Err(SessionError::Io { .. })) && self.segment.is_replaced().is_ok_and(|it| it) {
            return self.check_not_removed(Ok(true));
        }
        done
    }

    fn check_not_removed(&self, is_removed: io::Result<bool>) -> Result<(), SessionError> {
        match is_removed {
            Ok(false) => Ok(()),
            Ok(true) => Err(SessionError::Removed { path: self.segment.path.clone() }),
            Err(source) => Err(self.io_error(source)),
        }
    }

    fn io_error(&self, source: io::Error) -> SessionError {
        SessionError::Io { path: self.segment.path.clone(), source }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Space that stays allocated is released when the session is opened again.
        drop(self.segment.release_reserve());
    }
}
