//! A new session that begins with the history of another one.
//!
//! The other is only read, so somebody may be writing to it; what they have not finished writing is left out.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ibeam_protocol::{Event, SessionId};

use crate::blob;
use crate::error::{SessionError, create, io};
use crate::journal::Session;
use crate::layout::BLOBS;
use crate::layout::directory_of;
use crate::open::LoadReport;
use crate::options::{CancelFlag, SessionOptions};
use crate::private;
use crate::record::Header;
use crate::sync::sync_entries;
use crate::walk::{Damage, walk};

impl Session {
    /// Makes the session `id` for the workspace `cwd`, with the events of the session `from` so far, and takes
    /// its lease. The one of `from` is not needed.
    ///
    /// Gives `each` of them as it is copied, in order, and keeps none. Killed at any moment, it leaves a whole session
    /// or none.
    ///
    /// # Errors
    /// `Unknown` and `Damaged` for `from`; `Create`, `Busy` and `Io` as for a new session. What was given before
    /// stands.
    pub fn fork(
        sessions: &Path,
        from: SessionId,
        id: SessionId,
        cwd: &Path,
        options: &SessionOptions,
        each: &mut dyn FnMut(Event),
    ) -> Result<(Self, LoadReport), SessionError> {
        let source = directory_of(sessions, from)?;
        let header = Header { forked_from: Some(from), ..Header::new(id, cwd) };
        let mut failed = None;
        let begun = Self::begin(sessions, header.clone(), options, |directory, file| {
            copy(&source, directory, file, &options.cancel, each).map_err(|error| {
                let told = io::Error::other(error.to_string());
                failed = Some(error);
                told
            })
        });
        // What went wrong with the old one says more than that there is no new one.
        let session = begun.map_err(|error| failed.unwrap_or(error))?;
        Ok((session, LoadReport { header, torn_bytes: 0 }))
    }
}

/// Copies every whole record of `source` to `file`, and its blobs to `directory`.
fn copy(
    source: &Path,
    directory: &Path,
    file: &mut File,
    cancel: &CancelFlag,
    each: &mut dyn FnMut(Event),
) -> Result<(), SessionError> {
    let blobs = directory.join(BLOBS);
    let mut shares = false;
    let mut journal = BufWriter::with_capacity(64 << 10, file);
    let walked = walk::<SessionError>(source, |entry| {
        cancel.check()?;
        if let Some(blob) = &entry.blob {
            private::make_directory(&blobs).map_err(create(&blobs))?;
            share(&blob::path(source, &blob.sha256), &blob::path(directory, &blob.sha256))
                .map_err(io(&blobs))?;
            shares = true;
        }
        journal.write_all(entry.line).map_err(io(directory))?;
        each(entry.event);
        Ok(())
    })?;
    if let Some(Damage { path, line, detail }) = walked.damage {
        return Err(SessionError::Damaged { path, line, detail });
    }
    if shares {
        // As for any blob: on the disk before a record names it.
        sync_entries(&blobs).and_then(|()| sync_entries(directory)).map_err(io(&blobs))?;
    }
    journal.flush().map_err(io(directory))
}

/// A blob is never written to again, so both sessions may have the same file.
fn share(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => {
            let mut copy = private::anew(to)?;
            io::copy(&mut private::open(from)?, &mut copy)?;
            copy.sync_data()
        }
        linked => linked,
    }
}
