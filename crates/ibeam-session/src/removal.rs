//! The removal of a session, and the size of its files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;

use crate::error::{SessionError, io_error};
use crate::layout::{BLOB_DIRECTORY, find_session_directory};
use crate::lease;
use crate::options::SessionOptions;

/// The start of the name of a session's directory while it is removed. No such directory is a session.
const REMOVED_PREFIX: &str = ".removed.";

/// Removes the session `id` with all its files, unless another process has its lease.
///
/// A process that is killed meanwhile leaves either the session, or a directory that the next removal deletes.
///
/// # Errors
/// `Unknown`, `Busy`, `Leased`, `Unusable`, `Cancelled`, `Io`.
pub fn remove(sessions: &Path, id: SessionId, options: &SessionOptions) -> Result<(), SessionError> {
    let directory = find_session_directory(sessions, id)?;
    remove_directory(sessions, id, &directory, options).map_err(|error| match error {
        // Another process has removed it meanwhile.
        SessionError::Io { source, .. } | SessionError::Unusable { source, .. }
            if source.kind() == ErrorKind::NotFound =>
        {
            SessionError::Unknown { path: directory }
        }
        error => error,
    })
}

fn remove_directory(
    sessions: &Path,
    id: SessionId,
    directory: &Path,
    options: &SessionOptions,
) -> Result<(), SessionError> {
    let lease = lease::acquire(directory, options)?;
    let removed = sessions.join(format!("{REMOVED_PREFIX}{id}"));
    delete(&removed)?;
    fs::rename(directory, &removed).map_err(io_error(directory))?;
    // The session does not exist any more. A lease file would be removed at its old path.
    drop(lease);
    for path in unfinished_removals(sessions) {
        delete(&path)?;
    }
    Ok(())
}

/// Returns the bytes of all files of the session `id`, payloads included.
///
/// # Errors
/// `Unknown`, `Unusable`, `Io`.
pub fn stored_bytes(sessions: &Path, id: SessionId) -> Result<u64, SessionError> {
    let directory = find_session_directory(sessions, id)?;
    Ok([directory.join(BLOB_DIRECTORY), directory].iter().map(|path| file_bytes(path)).sum())
}

/// Returns the bytes of the files directly in a directory; 0 if it cannot be read.
fn file_bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let found = entries.filter_map(|entry| entry.ok()?.metadata().ok()).filter(fs::Metadata::is_file);
    found.map(|file| file.len()).sum()
}

fn unfinished_removals(sessions: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sessions) else { return Vec::new() };
    let is_removed = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(REMOVED_PREFIX));
        id.is_some_and(|id| id.parse::<SessionId>().is_ok())
    };
    entries.flatten().filter(is_removed).map(|entry| entry.path()).collect()
}

/// Deletes a directory with its content, which may be missing. No link is followed.
fn delete(directory: &Path) -> Result<(), SessionError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(directory)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
