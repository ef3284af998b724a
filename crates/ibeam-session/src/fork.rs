//! A new session that starts with the history of another session.
//!
//! The source session is only read, so another process may be writing to it. A record that is not completely written is
//! left out.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ibeam_protocol::{Event, EventKind, SessionId};

use crate::blob;
use crate::error::{SessionError, io_error, unusable_error};
use crate::layout::{BLOB_DIRECTORY, find_session_directory};
use crate::open::OpenReport;
use crate::options::{CancelFlag, SessionOptions};
use crate::private_files;
use crate::record::Header;
use crate::session::Session;
use crate::sync::sync_entries;
use crate::walk::{Damage, walk};

impl Session {
    /// Creates the session `id` for the workspace `cwd` with the current events of the session `from`, or with those before
    /// its run `before_run`, counted from 1, and acquires the lease of `id`. The lease of `from` is not needed.
    ///
    /// Passes each copied event to `on_event`, in order, and retains none. A process that is killed during the copy
    /// leaves either a complete session or no session.
    ///
    /// # Errors
    /// `Unknown` and `Damaged` for `from`; `Cancelled`; `Unusable`, `Busy` and `Io` as for a new session. Events may have
    /// been passed to `on_event` before the error.
    pub fn fork(
        sessions: &Path,
        from: SessionId,
        id: SessionId,
        cwd: &Path,
        before_run: Option<u32>,
        options: &SessionOptions,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(Self, OpenReport), SessionError> {
        let source = find_session_directory(sessions, from)?;
        let header = Header { forked_from: Some(from), ..Header::new(id, cwd) };
        let mut failed = None;
        let created = Self::create_with(sessions, header.clone(), options, |directory, file| {
            let place = CopyPlace { directory, file, before_run };
            copy_records(&source, place, &options.cancel, on_event).map_err(|error| {
                let copy_error = io::Error::other(error.to_string());
                failed = Some(error);
                copy_error
            })
        });
        // The error of the source session is the cause, so it is returned instead of the failed creation.
        let session = created.map_err(|error| failed.unwrap_or(error))?;
        Ok((session, OpenReport { header, torn_bytes: 0 }))
    }
}

/// The place of copied records, and where they end.
struct CopyPlace<'a> {
    directory: &'a Path,
    file: &'a mut File,
    /// The first run that is not copied, counted from 1.
    before_run: Option<u32>,
}

/// Copies the valid records of `source` to the file of `place`, and their blobs to its directory.
fn copy_records(
    source: &Path,
    place: CopyPlace<'_>,
    cancel: &CancelFlag,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), SessionError> {
    let CopyPlace { directory, file, before_run } = place;
    let blobs = directory.join(BLOB_DIRECTORY);
    let (mut has_blobs, mut runs) = (false, 0);
    let mut journal = BufWriter::with_capacity(64 << 10, file);
    let walked = walk::<SessionError>(source, |entry| {
        cancel.check()?;
        runs += u32::from(matches!(entry.event.kind, EventKind::RunStarted(_)));
        if before_run.is_some_and(|first| runs >= first) {
            return Ok(());
        }
        if let Some(blob) = &entry.blob {
            private_files::create_directory(&blobs).map_err(unusable_error(&blobs))?;
            link_or_copy(&blob::path(source, &blob.sha256), &blob::path(directory, &blob.sha256))
                .map_err(io_error(&blobs))?;
            has_blobs = true;
        }
        journal.write_all(entry.line).map_err(io_error(directory))?;
        on_event(entry.event);
        Ok(())
    })?;
    if let Some(Damage { path, line, detail }) = walked.damage {
        return Err(SessionError::Damaged { path, line, detail });
    }
    if has_blobs {
        // Every blob is synced before a record that refers to it.
        sync_entries(&blobs).and_then(|()| sync_entries(directory)).map_err(io_error(&blobs))?;
    }
    journal.flush().map_err(io_error(directory))
}

/// Creates `to` as a hard link to the blob `from`, or a copy of it. Sessions may share the file because blobs never change.
fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => {
            let mut copy = private_files::create_empty(to)?;
            io::copy(&mut private_files::open(from)?, &mut copy)?;
            copy.sync_data()
        }
        linked => linked,
    }
}
