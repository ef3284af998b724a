//! A file of the configuration, in whatever language: its bytes, and errors that name the place in it.
//!
//! A missing file is none. Anything that is no regular file or too large is an error, at once.

use std::io::ErrorKind;
use std::path::Path;

use ibeam_protocol::Reason;

use crate::{regular_file, shortage};

/// No configuration written by hand comes near it.
const LARGEST: u64 = 1024 * 1024;

/// The bytes of the file; `None` where there is none.
///
/// # Errors
/// `BadConfig`, or `System` where it is the system that has too little.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Reason> {
    match regular_file::read(path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) => Err(shortage::behind(&error).unwrap_or_else(|| bad(path, error.to_string()))),
    }
}

/// The reason that names the file.
pub(crate) fn bad(path: &Path, said: String) -> Reason {
    Reason::BadConfig { path: path.display().to_string(), line: None, column: None, said }
}

/// The reason that names the line and column in the file too, from 1.
pub(crate) fn bad_at<N: TryInto<u64>>(path: &Path, line: N, column: N, said: String) -> Reason {
    let (line, column) = (line.try_into().ok(), column.try_into().ok());
    Reason::BadConfig { path: path.display().to_string(), line, column, said }
}
