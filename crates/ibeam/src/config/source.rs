//! A file of the configuration, in whatever language: its bytes, and errors that name the place in it.
//!
//! A missing file is none. Anything that is no regular file or too large is an error, at once; so is, after a moment,
//! a file that another program keeps changing.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ibeam_protocol::Reason;

use crate::{regular_file, resource_exhaustion};

/// In bytes; no configuration written by hand comes near it.
pub(crate) const LARGEST: u64 = 1024 * 1024;

/// The bytes of the file; `None` where there is none.
///
/// # Errors
/// `BadConfig`; `UnreadableConfig` where this user may not read it; `System` where it is the system that has too little.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Reason> {
    found(path, regular_file::read_whole(path, true, LARGEST, &|_| Ok(())))
}

/// The same of a file by which whoever administers this machine rules: nobody but root may have written it.
///
/// # Errors
/// `BadConfig` for one that somebody else could change, too.
pub(crate) fn read_managed(path: &Path) -> Result<Option<Vec<u8>>, Reason> {
    let read = || {
        let check = |file: &Metadata| {
            check_managed(file, "it")?;
            match path.parent() {
                // Who may rename in it may put another file there.
                Some(directory) => check_managed(&fs::metadata(directory)?, "its directory"),
                None => Ok(()),
            }
        };
        regular_file::read_whole(path, true, LARGEST, &check).map_err(|error| match path.symlink_metadata() {
            // Rules were meant to be here; a broken link is not taken for none.
            Ok(found) if found.is_symlink() && error.kind() == ErrorKind::NotFound => {
                io::Error::other("it is a link that leads nowhere")
            }
            Ok(_) | Err(_) => error,
        })
    };
    found(path, read())
}

/// `0o022`: group and others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

fn check_managed(metadata: &Metadata, what: &str) -> io::Result<()> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if owner != 0 {
        return Err(io::Error::other(format!("{what} belongs to uid {owner}; it should belong to root")));
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        let mode = mode & 0o7777;
        return Err(io::Error::other(format!("others than root may write {what} (mode {mode:04o})")));
    }
    Ok(())
}

fn found(path: &Path, read: io::Result<Vec<u8>>) -> Result<Option<Vec<u8>>, Reason> {
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(Reason::UnreadableConfig { path: path.display().to_string(), detail: error.to_string() })
        }
        Err(error) => {
            Err(resource_exhaustion::from_io_error(&error).unwrap_or_else(|| bad(path, error.to_string())))
        }
    }
}

/// The reason that names the file.
pub(crate) fn bad(path: &Path, detail: String) -> Reason {
    Reason::BadConfig { path: path.display().to_string(), line: None, column: None, detail }
}

/// The reason that names the line and column in the file too, from 1.
pub(crate) fn bad_at<N: TryInto<u64>>(path: &Path, line: N, column: N, detail: String) -> Reason {
    let (line, column) = (line.try_into().ok(), column.try_into().ok());
    Reason::BadConfig { path: path.display().to_string(), line, column, detail }
}
