//! The open journal of one session: a lease, and a file that only grows.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_protocol::{Event, SessionId};

use crate::error::SessionError;
use crate::load::{self, Loaded};
use crate::private;
use crate::record::{FORMAT, Header, Kind, frame};

pub(crate) const EVENTS: &str = "events.jsonl";
const TORN: &str = "events.torn";
const LOCK: &str = "lock";

/// A session that this process, and no other, may append to. Dropping it ends the lease.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    file: File,
    /// Holds the lease: the lock goes with the descriptor, so a killed process leaves none.
    _lease: File,
    /// Framed records that are not written yet.
    waiting: Vec<u8>,
    /// One record, reused.
    payload: Vec<u8>,
}

impl Session {
    /// Makes the session `id` for the workspace `cwd` and takes its lease.
    ///
    /// # Errors
    /// `Create` when it cannot be made or something stands in its place, `Busy`.
    pub fn create(sessions: &Path, id: SessionId, cwd: &Path) -> Result<Self, SessionError> {
        let directory = sessions.join(id.to_string());
        let create = |path: &Path| {
            let path = path.to_owned();
            move |source| SessionError::Create { path, source }
        };
        private::make_directory(&directory).map_err(create(&directory))?;
        let lease = take_lease(&directory)?;
        let path = directory.join(EVENTS);
        let file = private::options().append(true).create_new(true).open(&path).map_err(create(&path))?;
        let mut session = Self { path, file, _lease: lease, waiting: Vec::new(), payload: Vec::new() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let header = Header {
            format: FORMAT,
            session_id: id,
            cwd: cwd.to_owned(),
            created_ms: u64::try_from(now).unwrap_or(u64::MAX),
        };
        session.put(Kind::Header, &header)?;
        session.flush()?;
        Ok(session)
    }

    /// Opens the session `id` to go on with it, and loads what it holds.
    ///
    /// A torn last record is kept aside in `events.torn` and cut off.
    ///
    /// # Errors
    /// `Unknown`, `Busy`, `Damaged` with the line, `Io`.
    pub fn open(sessions: &Path, id: SessionId) -> Result<(Self, Loaded), SessionError> {
        let directory = sessions.join(id.to_string());
        let path = directory.join(EVENTS);
        let io = |source| SessionError::Io { path: path.clone(), source };
        if !path.exists() {
            return Err(SessionError::Unknown { path });
        }
        let lease = take_lease(&directory)?;
        let mut bytes = Vec::new();
        private::open(&path).map_err(io)?.read_to_end(&mut bytes).map_err(io)?;
        let (loaded, whole) = load::load(&bytes).map_err(|damage| SessionError::Damaged {
            path: path.clone(),
            line: damage.line,
            said: damage.said,
        })?;
        let file = private::options().append(true).open(&path).map_err(io)?;
        if let Some(torn) = bytes.get(whole..).filter(|torn| !torn.is_empty()) {
            let aside = directory.join(TORN);
            let keep = private::options().append(true).create(true).open(&aside);
            keep.and_then(|mut keep| keep.write_all(torn))
                .map_err(|source| SessionError::Io { path: aside, source })?;
            file.set_len(u64::try_from(whole).unwrap_or(u64::MAX)).map_err(io)?;
        }
        Ok((Self { path, file, _lease: lease, waiting: Vec::new(), payload: Vec::new() }, loaded))
    }

    /// Takes the next event; it is on its way to the disk after `flush`.
    ///
    /// # Errors
    /// `Io` when the event cannot be put into bytes.
    pub fn append(&mut self, event: &Event) -> Result<(), SessionError> {
        self.put(Kind::Event, event)
    }

    /// Hands all waiting records to the system in one write: they survive the end of this process, however it
    /// comes.
    ///
    /// # Errors
    /// `Io`, e.g. when the disk is full; what was written of the batch is then a torn tail.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let written = self.file.write_all(&self.waiting);
        self.waiting.clear();
        written.map_err(|source| self.io(source))
    }

    /// Waits until what was flushed survives a power cut too.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        self.file.sync_data().map_err(|source| self.io(source))
    }

    fn put(&mut self, kind: Kind, value: &impl serde::Serialize) -> Result<(), SessionError> {
        self.payload.clear();
        serde_json::to_writer(&mut self.payload, value).map_err(|error| self.io(error.into()))?;
        frame(kind, &self.payload, &mut self.waiting);
        Ok(())
    }

    fn io(&self, source: io::Error) -> SessionError {
        SessionError::Io { path: self.path.clone(), source }
    }
}

/// Takes the lock of the directory and says in it who holds it.
fn take_lease(directory: &Path) -> Result<File, SessionError> {
    let path = directory.join(LOCK);
    let io = |source| SessionError::Io { path: path.clone(), source };
    let mut lease =
        private::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
    match lease.try_lock() {
        Ok(()) => {
            lease.set_len(0).map_err(io)?;
            lease.write_all(format!("process {}", std::process::id()).as_bytes()).map_err(io)?;
            Ok(lease)
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Whoever holds it may be about to write its name.
            drop(lease.read_to_string(&mut holder));
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            Err(SessionError::Busy { holder })
        }
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}
