//! Where a session is, and that nobody else has put it there.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;

use crate::error::{SessionError, create, io};
use crate::layout;
use crate::private;

/// The directory of a session that is there and ours.
///
/// # Errors
/// `Unknown`, `Create`, `Io`.
pub(crate) fn directory_of(sessions: &Path, id: SessionId) -> Result<PathBuf, SessionError> {
    let directory = sessions.join(id.to_string());
    match check_ours(sessions, &directory) {
        Err(SessionError::Create { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Err(SessionError::Unknown { path: directory });
        }
        checked => checked?,
    }
    match layout::segments(&directory).map_err(io(&directory))?.is_empty() {
        true => Err(SessionError::Unknown { path: directory }),
        false => Ok(directory),
    }
}

/// Refuses directories that are links or somebody else's.
///
/// # Errors
/// `Create`.
pub(crate) fn check_ours(sessions: &Path, directory: &Path) -> Result<(), SessionError> {
    private::check_ours(sessions).map_err(create(sessions))?;
    private::check_ours(directory).map_err(create(directory))
}
