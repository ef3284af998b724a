//! Reads a configuration file in any format.
//!
//! Refuses what is not a regular file, what is too large, and a file that another program keeps changing.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ibeam_files::regular_file;

use crate::ConfigError;

/// The size limit of a configuration file in bytes, far above the size of a file that is written by hand.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// The mode bits that let the group and other users write to a file.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Returns the bytes of the file; `None` if there is no file.
///
/// # Errors
/// `Unreadable` if this user may not read the file; `Exhausted` if the system lacks descriptors or memory; `Invalid` for
/// all other errors.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    none_if_missing(path, regular_file::read_stable(path, true, MAX_BYTES, &|_| Ok(())))
}

/// Returns the bytes of a file of the administrator; `None` if there is no file.
///
/// # Errors
/// The errors of [`read`]; `Invalid` as well if a user other than root could change the file.
pub fn read_managed(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let read = || {
        let check = |file: &Metadata| {
            check_only_root_writes(file, "it")?;
            match path.parent() {
                // A user who may rename files in the directory can replace this file.
                Some(directory) => check_only_root_writes(&fs::metadata(directory)?, "its directory"),
                None => Ok(()),
            }
        };
        regular_file::read_stable(path, true, MAX_BYTES, &check).map_err(|error| {
            match path.symlink_metadata() {
                // A broken link means that there should be rules, so it does not count as a missing file.
                Ok(found) if found.is_symlink() && error.kind() == ErrorKind::NotFound => {
                    io::Error::other("it is a link to a file that does not exist")
                }
                Ok(_) | Err(_) => error,
            }
        })
    };
    none_if_missing(path, read())
}

fn check_only_root_writes(metadata: &Metadata, subject: &str) -> io::Result<()> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if owner != 0 {
        return Err(io::Error::other(format!("{subject} belongs to uid {owner}; it should belong to root")));
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        let mode = mode & 0o7777;
        let message = format!("users other than root may write {subject} (mode {mode:04o})");
        return Err(io::Error::other(message));
    }
    Ok(())
}

fn none_if_missing(path: &Path, read: io::Result<Vec<u8>>) -> Result<Option<Vec<u8>>, ConfigError> {
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(ConfigError::Unreadable { path: path.display().to_string(), message: error.to_string() })
        }
        Err(error) => Err(ConfigError::from_io(path, &error)),
    }
}
