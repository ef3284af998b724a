//! The open journal of one session: a lease, and files that only grow.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_protocol::{Event, SessionId};

use crate::blob;
use crate::error::{SessionError, create, io};
use crate::layout::check_ours;
use crate::layout::{self, BLOBS};
use crate::lease::{self, Lease};
use crate::options::{Durability, SessionOptions};
use crate::private;
use crate::record::Header;
use crate::record::{BlobRef, Kind, frame};
use crate::segment::Segment;
use crate::sync::{Step, Syncer};
use crate::walk::LINE_LIMIT;

/// A session that this process, and no other, may append to. Dropping it ends the lease.
#[derive(Debug)]
pub struct Session {
    directory: PathBuf,
    header: Header,
    options: SessionOptions,
    segment: Segment,
    /// Framed records that are not written yet.
    waiting: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// One record, reused.
    payload: Vec<u8>,
    /// What was made since the last point and must be on the disk before the journal is.
    pub(crate) before: Vec<Step>,
    /// Directories with new entries.
    pub(crate) after: Vec<Step>,
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
        Self::begin(sessions, Header::new(id, cwd), options, |_, _| Ok(()))
    }

    /// Makes a session with `header` and whatever `fill` appends to its first segment.
    pub(crate) fn begin(
        sessions: &Path,
        header: Header,
        options: &SessionOptions,
        fill: impl FnOnce(&Path, &mut File) -> io::Result<()>,
    ) -> Result<Self, SessionError> {
        let directory = sessions.join(header.session_id.to_string());
        let mut changed = private::make_directory(&directory).map_err(create(&directory))?;
        check_ours(sessions, &directory)?;
        let lease = lease::take(&directory, options)?;
        let at = layout::segment(&directory, 1);
        if !layout::segments(&directory).map_err(create(&directory))?.is_empty() {
            return Err(create(&at.path)(ErrorKind::AlreadyExists.into()));
        }
        let segment =
            Segment::place(&directory, &header, options.reserve_bytes, |file| fill(&directory, file))
                .map_err(create(&at.path))?;
        changed.insert(0, directory.clone());
        let mut session = Self::of(directory, header, options, segment, lease);
        session.after.extend(changed.into_iter().map(Step::Entries));
        if options.durability == Durability::Synced {
            session.sync()?;
        }
        Ok(session)
    }

    pub(crate) fn of(
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
            waiting: Vec::new(),
            ends: Vec::new(),
            payload: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
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
        encoded.map_err(|error| self.io(error.into()))?;
        let mut kind = Kind::Event;
        if self.payload.len() > blob::INLINE_BYTES {
            match self.store(event) {
                Ok(reference) => {
                    kind = Kind::Blob;
                    self.payload.clear();
                    serde_json::to_writer(&mut self.payload, &reference)
                        .map_err(|error| self.io(error.into()))?;
                }
                // A full disk has no room for a file, but the journal may have room set aside.
                Err(_) if (self.payload.len() as u64) < LINE_LIMIT / 2 => {}
                Err(error) => return Err(error),
            }
        }
        frame(kind, &self.payload, &mut self.waiting);
        self.ends.push(self.waiting.len());
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
        let handed = self.hand_over();
        let synced = match self.options.durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.sync(),
        };
        self.unless_moved(handed.and(synced))
    }

    /// A durable point: flushes, and tells the disk to store what was flushed, without waiting for it.
    ///
    /// # Errors
    /// As `flush`, and `Removed`.
    pub fn checkpoint(&mut self) -> Result<(), SessionError> {
        let flushed = self.flush();
        let started = self.start_sync();
        let done = self.unless_moved(flushed.and(started));
        self.unless_removed(self.segment.is_removed()).and(done)
    }

    /// The end of a run: flushes, gives back the room set aside, and waits until everything survives a power
    /// cut. More may follow.
    ///
    /// # Errors
    /// `Io`, as `flush`, and `Removed`.
    pub fn sync_to_disk(&mut self) -> Result<(), SessionError> {
        let written = self.write();
        let given_back = self.segment.give_back().map_err(|source| self.io(source));
        let synced = self.sync();
        let is_replaced = self.segment.is_replaced();
        self.unless_removed(is_replaced).and(written).and(given_back).and(synced)
    }

    /// Begins the next segment, unless this one holds nothing yet. The closed one is on the disk then.
    ///
    /// # Errors
    /// As `flush`; the segment that was goes on.
    pub fn rotate(&mut self) -> Result<(), SessionError> {
        self.write()?;
        self.next_segment()
    }

    fn hand_over(&mut self) -> Result<(), SessionError> {
        let written = self.write().and_then(|()| self.roll_when_long());
        let renewed = self.segment.renew();
        written?;
        renewed.map_err(|source| SessionError::LowDiskSpace { path: self.segment.path.clone(), source })?;
        self.syncer.outcome().map_err(|source| self.io(source))
    }

    fn write(&mut self) -> Result<(), SessionError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.write_what_fits();
        self.waiting.clear();
        self.ends.clear();
        self.before
            .retain(|step| !matches!(step, Step::Content(file) if Arc::ptr_eq(file, &self.segment.file)));
        self.before.push(self.content());
        written.map_err(|source| self.io(source))
    }

    fn roll_when_long(&mut self) -> Result<(), SessionError> {
        if self.segment.len() >= self.options.segment_bytes { self.next_segment() } else { Ok(()) }
    }

    fn write_what_fits(&mut self) -> io::Result<()> {
        let Err(error) = self.segment.write(&self.waiting) else { return Ok(()) };
        if self.ends.len() < 2 {
            return Err(error);
        }
        // Small records tell the end, and there may be room for them.
        let (mut start, mut lost) = (0, None);
        for end in &self.ends {
            if let Err(error) = self.segment.write(self.waiting.get(start..*end).unwrap_or_default()) {
                lost.get_or_insert(error);
            }
            start = *end;
        }
        lost.map_or(Ok(()), Err)
    }

    fn next_segment(&mut self) -> Result<(), SessionError> {
        if self.segment.is_fresh() {
            return Ok(());
        }
        // Only the last segment may be torn, so this one is on the disk before there is another.
        self.sync()?;
        let header = Header { segment: self.segment.number + 1, ..self.header.clone() };
        let placed = Segment::place(&self.directory, &header, self.options.reserve_bytes, |_| Ok(()));
        let next = placed
            .map_err(|source| SessionError::LowDiskSpace { path: self.segment.path.clone(), source })?;
        let mut closed = std::mem::replace(&mut self.segment, next);
        self.after.push(Step::Entries(self.directory.clone()));
        self.sync()?;
        closed.give_back().map_err(|source| self.io(source))
    }

    /// Stores the kind of an event as a blob.
    fn store(&mut self, event: &Event) -> Result<BlobRef, SessionError> {
        let blobs = self.directory.join(BLOBS);
        let payload = serde_json::to_vec(&event.kind).map_err(|error| self.io(error.into()))?;
        let sha256 = blob::name(&payload);
        let file = blob::store(&self.directory, &sha256, &payload).map_err(io(&blobs))?;
        self.before.push(Step::Content(Arc::new(file)));
        self.before.push(Step::Entries(blobs));
        self.before.push(Step::Entries(self.directory.clone()));
        if self.options.durability == Durability::Synced {
            self.sync()?;
        }
        Ok(BlobRef { seq: event.seq, at_ms: event.at_ms, sha256, bytes: payload.len() as u64 })
    }

    fn start_sync(&mut self) -> Result<(), SessionError> {
        let mut steps = std::mem::take(&mut self.before);
        steps.append(&mut self.after);
        if steps.is_empty() {
            return Ok(());
        }
        self.syncer.start(steps).map_err(|source| self.io(source))
    }

    fn sync(&mut self) -> Result<(), SessionError> {
        self.start_sync()?;
        self.syncer.wait().map_err(|source| self.io(source))
    }

    pub(crate) fn content(&self) -> Step {
        Step::Content(Arc::clone(&self.segment.file))
    }

    /// The file that stands for the lease where the file system cannot lock.
    pub fn lease_file(&self) -> Option<&Path> {
        self.lease.file.as_ref().map(|lease| lease.path.as_path())
    }

    /// What fails after the session was moved away fails for that.
    fn unless_moved(&self, done: Result<(), SessionError>) -> Result<(), SessionError> {
        if matches!(done, Err(SessionError::Io { .. })) && self.segment.is_replaced().is_ok_and(|it| it) {
            return self.unless_removed(Ok(true));
        }
        done
    }

    fn unless_removed(&self, is_removed: io::Result<bool>) -> Result<(), SessionError> {
        match is_removed {
            Ok(false) => Ok(()),
            Ok(true) => Err(SessionError::Removed { path: self.segment.path.clone() }),
            Err(source) => Err(self.io(source)),
        }
    }

    fn io(&self, source: io::Error) -> SessionError {
        SessionError::Io { path: self.segment.path.clone(), source }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What stays allocated is given back by whoever opens the session next.
        drop(self.segment.give_back());
    }
}
