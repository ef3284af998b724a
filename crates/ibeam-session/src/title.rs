//! The title that the user gave to a session: the file `title` in its directory.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use ibeam_protocol::SessionId;

use crate::error::{SessionError, io_error};
use crate::layout::find_session_directory;
use crate::private_files;

/// The name of the file with the title.
pub(crate) const TITLE_FILE: &str = "title";
/// The name of the file while it is written.
const UNFINISHED: &str = "title.new";
/// The maximum length of a title, in bytes.
pub(crate) const MAX_TITLE_BYTES: u64 = 4096;

/// Sets the title of a session. Without a title, the session has its first prompt as title again. Needs no lease.
///
/// # Errors
/// `Unknown`, `Unusable`, `Io`.
pub fn set_title(sessions: &Path, id: SessionId, title: Option<&str>) -> Result<(), SessionError> {
    let directory = find_session_directory(sessions, id)?;
    let path = directory.join(TITLE_FILE);
    let Some(title) = title else {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error(&path)(error)),
            Ok(()) | Err(_) => Ok(()),
        };
    };
    let new = directory.join(UNFINISHED);
    private_files::create_empty(&new)
        .and_then(|mut file| file.write_all(title.as_bytes()))
        .and_then(|()| fs::rename(&new, &path))
        .map_err(io_error(&path))
}

/// Returns the title that the user gave to a session; `None` if it has none, or cannot be read.
pub fn given_title(sessions: &Path, id: SessionId) -> Option<String> {
    stored_title(&find_session_directory(sessions, id).ok()?)
}

/// Returns the title that the user gave to the session in `directory`.
pub(crate) fn stored_title(directory: &Path) -> Option<String> {
    let file = private_files::open(&directory.join(TITLE_FILE)).ok()?;
    let mut title = String::new();
    file.take(MAX_TITLE_BYTES).read_to_string(&mut title).ok()?;
    (!title.trim().is_empty()).then_some(title)
}
