//! The open journal of one session: a lease, and files that only grow.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_protocol::{Event, SessionId};

use crate::blob;
use crate::error::{SessionError, create_error, io_error};
use crate::layout::check_owner;
use crate::layout::{self, BLOB_DIRECTORY};
use crate::lease::{self, Lease};
use crate::options::{Durability, SessionOptions};
use crate::private_files;
use crate::record::Header;
use crate::record::{BlobRef, RecordKind, frame};
use crate::segment::Segment;
use crate::sync::{SyncStep, Syncer};
use crate::walk::MAX_LINE_BYTES;

/// A session that this process, and no other, may append to. Dropping it ends the lease.
#[derive(Debug)]
pub struct Session {
    directory: PathBuf,
    header: Header,
    options: SessionOptions,
    segment: Segment,
    /// Framed records that are not written yet.
    pending: Vec<u8>,
    /// Where each of them ends.
    record_ends: Vec<usize>,
    /// One record, reused.
    payload: Vec<u8>,
    /// What was made since the last point and must be on the disk before the journal is.
    pub(crate) sync_before: Vec<SyncStep>,
    /// Directories with new entries.
    pub(crate) sync_after: Vec<SyncStep>,
    syncer: Syncer,
    /// Last, so that nobody else may write before this is done.
    lease: Lease,
}

impl Session {
    /// Makes the session `id` for the workspace `cwd` and takes its lease.
    ///
    /// Killed at any moment, it leaves a session with its header or none.
    ///
    /// # Errors
    /// `Create` when it cannot be made or something stands in its place, `Busy`.
    pub fn create(
        sessions: &Path,
        id: SessionId,
        cwd: &Path,
        options: &SessionOptions,
    ) -> Result<Self, SessionError> {
        Self::create_with(sessions, Header::new(id, cwd), options, |_, _| Ok(()))
    }

    /// Makes a session with `header` and whatever `fill` appends to its first segment.
    pub(crate) fn create_with(
        sessions: &Path,
        header: Header,
        options: &SessionOptions,
        fill: impl FnOnce(&Path, &mut File) -> io::Result<()>,
    ) -> Result<Self, SessionError> {
        let directory = sessions.join(header.session_id.to_string());
        let mut changed = private_files::create_directory(&directory).map_err(create_error(&directory))?;
        check_owner(sessions, &directory)?;
        let lease = lease::acquire(&directory, options)?;
        let at = layout::segment_path(&directory, 1);
        if !layout::list_segments(&directory).map_err(create_error(&directory))?.is_empty() {
            return Err(create_error(&at.path)(ErrorKind::AlreadyExists.into()));
        }
        let segment =
            Segment::create(&directory, &header, options.reserve_bytes, |file| fill(&directory, file))
                .map_err(create_error(&at.path))?;
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

    /// Takes the next event; it is on its way to the disk after `flush`.
    ///
    /// # Errors
    /// `Io` when its payload is too large for a record and cannot be stored beside the journal; then the event
    /// is left out.
    pub fn append(&mut self, event: &Event) -> Result<(), SessionError> {
        self.payload.clear();
        let encoded = serde_json::to_writer(&mut self.payload, event);
        encoded.map_err(|error| self.io_error(error.into()))?;
        let mut kind = RecordKind::Event;
        if self.payload.len() > blob::INLINE_BYTES {
            match self.store_blob(event) {
                Ok(reference) => {
                    kind = RecordKind::Blob;
                    self.payload.clear();
                    serde_json::to_writer(&mut self.payload, &reference)
                        .map_err(|error| self.io_error(error.into()))?;
                }
                // A full disk has no room for a file, but the journal may have room set aside.
                Err(_) if (self.payload.len() as u64) < MAX_LINE_BYTES / 2 => {}
                Err(error) => return Err(error),
            }
        }
        frame(kind, &self.payload, &mut self.pending);
        self.record_ends.push(self.pending.len());
        Ok(())
    }

    /// Hands all waiting records to the system in one write: they survive the end of this process, however it
    /// comes. With `Durability::Synced` waits for the disk too: whatever may be shown survives a power cut.
    ///
    /// # Errors
    /// `LowDiskSpace` when the room for the next records cannot be renewed; `Io`, for which records that do not fit are
    /// left out whole, or when the disk did not take what was handed to it earlier. Call it again all the same:
    /// a later record may fit.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let handed = self.write_and_reserve();
        let synced = match self.options.durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.sync(),
        };
        self.or_removed(handed.and(synced))
    }

    /// A durable point: flushes, and tells the disk to store what was flushed, without waiting for it.
    ///
    /// # Errors
    /// As `flush`, and `Removed`.
    pub fn checkpoint(&mut self) -> Result<(), SessionError> {
        let flushed = self.flush();
        let started = self.start_sync();
        let done = self.or_removed(flushed.and(started));
        self.check_removed(self.segment.is_removed()).and(done)
    }

    /// The end of a run: flushes, gives back the room set aside, and waits until everything survives a power
    /// cut. More may follow.
    ///
    /// # Errors
    /// `Io`, as `flush`, and `Removed`.
    pub fn sync_to_disk(&mut self) -> Result<(), SessionError> {
        let written = self.write();
        let given_back = self.segment.release_reserve().map_err(|source| self.io_error(source));
        let synced = self.sync();
        let is_replaced = self.segment.is_replaced();
        self.check_removed(is_replaced).and(written).and(given_back).and(synced)
    }

    /// Begins the next segment, unless this one holds nothing yet. The closed one is on the disk then.
    ///
    /// # Errors
    /// As `flush`; the segment that was goes on.
    pub fn rotate(&mut self) -> Result<(), SessionError> {
        self.write()?;
        self.next_segment()
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
        let written = self.write_what_fits();
        self.pending.clear();
        self.record_ends.clear();
        self.sync_before.retain(
            |step| !matches!(step, SyncStep::FileData(file) if Arc::ptr_eq(file, &self.segment.file)),
        );
        self.sync_before.push(self.file_data_step());
        written.map_err(|source| self.io_error(source))
    }

    fn rotate_if_long(&mut self) -> Result<(), SessionError> {
        if self.segment.len() >= self.options.segment_bytes { self.next_segment() } else { Ok(()) }
    }

    fn write_what_fits(&mut self) -> io::Result<()> {
        let Err(error) = self.segment.write(&self.pending) else { return Ok(()) };
        if self.record_ends.len() < 2 {
            return Err(error);
        }
        // Small records tell the end, and there may be room for them.
        let (mut start, mut lost) = (0, None);
        for end in &self.record_ends {
            if let Err(error) = self.segment.write(self.pending.get(start..*end).unwrap_or_default()) {
                lost.get_or_insert(error);
            }
            start = *end;
        }
        lost.map_or(Ok(()), Err)
    }

    fn next_segment(&mut self) -> Result<(), SessionError> {
        if self.segment.has_only_header() {
            return Ok(());
        }
        // Only the last segment may be torn, so this one is on the disk before there is another.
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

    /// The file that stands for the lease where the file system cannot lock.
    pub fn lease_file(&self) -> Option<&Path> {
        self.lease.file.as_ref().map(|lease| lease.path.as_path())
    }

    /// What fails after the session was moved away fails for that.
    fn or_removed(&self, done: Result<(), SessionError>) -> Result<(), SessionError> {
        if matches!(done, Err(SessionError::Io { .. })) && self.segment.is_replaced().is_ok_and(|it| it) {
            return self.check_removed(Ok(true));
        }
        done
    }

    fn check_removed(&self, is_removed: io::Result<bool>) -> Result<(), SessionError> {
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
        // What stays allocated is given back by whoever opens the session next.
        drop(self.segment.release_reserve());
    }
}
