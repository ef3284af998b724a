//! Reading a stored session, and opening it to append to it.
//!
//! `Session::open` takes the lease and repairs a torn end. `read` takes no lease and changes nothing.

use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use ibeam_protocol::{Event, SessionId};

use crate::error::{SessionError, io_error};
use crate::layout::{self, TORN_RECORDS_FILE, find_session_directory};
use crate::lease;
use crate::options::{CancelFlag, SessionOptions};
use crate::private_files;
use crate::record::Header;
use crate::segment::Segment;
use crate::session::Session;
use crate::sync::SyncStep;
use crate::walk::{Damage, WalkResult, walk};

/// The header of the opened session, and the size of the torn record at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenReport {
    /// The header of the first segment.
    pub header: Header,
    /// Size in bytes of the torn record, which was left out; 0 if there is none.
    pub torn_bytes: u64,
}

/// The extent to which a session could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReport {
    /// Size in bytes of an incomplete last record; 0 if there is none. The writer of the record was killed, or is
    /// writing it now.
    pub torn_bytes: u64,
    /// The first damage. The records after it were not read.
    pub damage: Option<Damage>,
}

impl Session {
    /// Opens the session `id` for appending, and passes each of its events to `on_event`, in order.
    ///
    /// No event is retained, so the memory used does not grow with the session. A torn last record is moved to
    /// `events.torn`.
    ///
    /// # Errors
    /// `Unknown`, `Busy`, `Leased`, `Cancelled`, `Damaged` with the line, `Unusable` for a directory that is a link or
    /// belongs to another user, `Io`. Events may have been passed to `on_event` before the error.
    pub fn open(
        sessions: &Path,
        id: SessionId,
        options: &SessionOptions,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(Self, OpenReport), SessionError> {
        let directory = find_session_directory(sessions, id)?;
        let lease = lease::acquire(&directory, options)?;
        let (header, walked) = load(&directory, &options.cancel, on_event)?;
        let segment = reopen_last_segment(&directory, &walked, options)?;
        let mut session = Self::from_parts(directory.clone(), header.clone(), options, segment, lease);
        if walked.torn_bytes > 0 {
            session.sync_before.push(session.file_data_step());
            session.sync_after.push(SyncStep::DirectoryEntries(directory));
        }
        Ok((session, OpenReport { header, torn_bytes: walked.torn_bytes }))
    }
}

/// Passes each event of the session `id` to `on_event`, in order, until the end, the first damage, or an error of
/// `on_event`.
///
/// Takes no lease. If another process is writing the session, only the events that are stored so far are read. No event
/// is retained.
///
/// # Errors
/// `Unknown`; `Unusable` for a directory that is a link or belongs to another user; `Io`; the errors of `on_event`.
/// Damage is part of the report, not an error.
pub fn read<E: From<SessionError>>(
    sessions: &Path,
    id: SessionId,
    on_event: &mut dyn FnMut(Event) -> Result<(), E>,
) -> Result<ReadReport, E> {
    let directory = find_session_directory(sessions, id)?;
    let WalkResult { torn_bytes, damage, .. } = walk(&directory, |entry| on_event(entry.event))?;
    Ok(ReadReport { torn_bytes, damage })
}

/// Passes each event of the journal in `directory` to `on_event`, in order, and retains none.
///
/// # Errors
/// The errors of `walk`, `Cancelled` and `Damaged`.
fn load(
    directory: &Path,
    cancel: &CancelFlag,
    on_event: &mut dyn FnMut(Event),
) -> Result<(Header, WalkResult), SessionError> {
    let walked = walk::<SessionError>(directory, |entry| {
        cancel.check()?;
        on_event(entry.event);
        Ok(())
    })?;
    if let Some(Damage { path, line, detail }) = walked.damage {
        return Err(SessionError::Damaged { path, line, detail });
    }
    let Some(header) = walked.header.clone() else {
        return Err(SessionError::Unknown { path: directory.to_owned() });
    };
    Ok((header, walked))
}

/// Returns the last segment, open for appending after its valid records, and moves a torn record to `events.torn`.
fn reopen_last_segment(
    directory: &Path,
    walked: &WalkResult,
    options: &SessionOptions,
) -> Result<Segment, SessionError> {
    let last =
        walked.segments.get(walked.last_index).cloned().unwrap_or_else(|| layout::segment_path(directory, 1));
    let file = private_files::open_for_append(&last.path).map_err(io_error(&last.path))?;
    if walked.torn_bytes > 0 {
        back_up(&last.path, walked.valid_bytes, &directory.join(TORN_RECORDS_FILE))?;
    }
    // This also releases the space that a killed process had reserved.
    file.set_len(walked.valid_bytes).map_err(io_error(&last.path))?;
    Ok(Segment::new(file, last, walked.valid_bytes, options.reserve_bytes))
}

/// Appends the bytes of the file `path` from `offset` on to the file `backup`, and syncs `backup`.
///
/// # Errors
/// `Io`. No byte is lost; after a further attempt, `backup` may hold some bytes twice.
pub(crate) fn back_up(path: &Path, offset: u64, backup: &Path) -> Result<(), SessionError> {
    let mut source = private_files::open(path).map_err(io_error(path))?;
    source.seek(SeekFrom::Start(offset)).map_err(io_error(path))?;
    let mut target = private_files::open_for_append(backup).map_err(io_error(backup))?;
    io::copy(&mut source, &mut target).and_then(|_| target.sync_data()).map_err(io_error(backup))
}
