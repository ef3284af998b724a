//! Errors of file tools: one line that names the file, the errno and what to do.

use std::io;
use std::path::PathBuf;

use ibeam_protocol::{ToolFailure, ToolOutcome};
use rustix::io::Errno;

use crate::workspace::PathError;

/// A failure at one path. `path` is the path as the model wrote it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// `similar` are existing files that the path may mean.
    #[error("`{path}` does not exist (ENOENT); {}", not_found_hint(similar))]
    NotFound { path: String, similar: Vec<String> },
    #[error("cannot {action} `{path}`: not permitted by the system ({})", errno_name(*errno))]
    NotPermitted { action: &'static str, path: String, errno: Errno },
    #[error("cannot {action} `{path}`: {} ({})", meaning(*errno), errno_name(*errno))]
    System { action: &'static str, path: String, errno: Errno },
    #[error("`{path}` is {kind}, not a regular file; {suggestion}")]
    NotRegular { path: String, kind: &'static str, suggestion: &'static str },
    /// The policy denies the access. `reason` is the whole message.
    #[error("{reason}")]
    DeniedByPolicy { path: String, reason: String },
    #[error("`{path}` {reason}")]
    Refused { path: String, reason: String },
    #[error(transparent)]
    Path(PathError),
}

impl FileError {
    /// Returns the error of `action` for a path that does not resolve.
    pub(crate) fn unreachable(action: &'static str, path: &str, error: PathError) -> Self {
        match error {
            PathError::Unreachable(errno) => Self::system(action, path, errno),
            PathError::Empty | PathError::Nul => Self::Path(error),
        }
    }

    /// Returns the error for a file that does not exist.
    pub(crate) fn not_found(path: String) -> Self {
        Self::NotFound { path, similar: Vec::new() }
    }

    /// Returns the error of `action` on `path` for an errno.
    pub(crate) fn system(action: &'static str, path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::not_found(path),
            Errno::ACCESS | Errno::PERM => Self::NotPermitted { action, path, errno },
            errno => Self::System { action, path, errno },
        }
    }

    /// Like [`Self::system`], for an operation on a resolved path: `ELOOP` means that a symbolic link was created since.
    pub(crate) fn for_resolved_path(action: &'static str, path: &str, errno: Errno) -> Self {
        match errno {
            Errno::LOOP => {
                Self::refused(path, "has a symbolic link in its path that was put there just now; try again")
            }
            errno => Self::system(action, path, errno),
        }
    }

    /// Like [`Self::system`], for an error of the standard library.
    pub(crate) fn io(action: &'static str, path: &str, error: &io::Error) -> Self {
        Self::system(action, path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// Returns an error of ibeam itself; `reason` completes the sentence that begins with the path.
    pub(crate) fn refused(path: &str, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }
}

impl From<FileError> for ToolOutcome {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        let for_model = message.as_str().into();
        let failure = match error {
            FileError::NotFound { path, .. } => ToolFailure::FileNotFound { path: PathBuf::from(path) },
            FileError::NotPermitted { path, .. } | FileError::DeniedByPolicy { path, .. } => {
                ToolFailure::PermissionDenied { path: PathBuf::from(path), error: message }
            }
            FileError::System { .. }
            | FileError::NotRegular { .. }
            | FileError::Refused { .. }
            | FileError::Path(_) => ToolFailure::Error { message },
        };
        Self::Failure { failure, for_model }
    }
}

/// Returns what exists instead.
fn not_found_hint(similar: &[String]) -> String {
    match similar {
        [] => "`ls` or `glob` shows what does".to_owned(),
        files => format!("there is `{}`", files.join("`, `")),
    }
}

/// Returns the meaning of an errno, in words that fit after a colon.
fn meaning(errno: Errno) -> String {
    match errno {
        Errno::LOOP => "its symbolic links form a loop".to_owned(),
        Errno::NAMETOOLONG => "the name is too long".to_owned(),
        Errno::NOTDIR => "a part of the path is a file, not a directory".to_owned(),
        Errno::NOSPC => "the disk is full".to_owned(),
        Errno::ROFS => "the file system is read-only".to_owned(),
        other => {
            let text = io::Error::from(other).to_string();
            let words = text.split(" (os error").next().unwrap_or_default();
            words.to_lowercase()
        }
    }
}

/// Returns the symbolic name of an errno, or its number where it has no name here.
pub(crate) fn errno_name(errno: Errno) -> String {
    let named = [
        (Errno::ACCESS, "EACCES"),
        (Errno::AGAIN, "EAGAIN"),
        (Errno::BUSY, "EBUSY"),
        (Errno::DQUOT, "EDQUOT"),
        (Errno::EXIST, "EEXIST"),
        (Errno::FBIG, "EFBIG"),
        (Errno::INVAL, "EINVAL"),
        (Errno::IO, "EIO"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::LOOP, "ELOOP"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::NFILE, "ENFILE"),
        (Errno::NODEV, "ENODEV"),
        (Errno::NOENT, "ENOENT"),
        (Errno::NOEXEC, "ENOEXEC"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::NOTEMPTY, "ENOTEMPTY"),
        (Errno::NXIO, "ENXIO"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
        (Errno::PERM, "EPERM"),
        (Errno::ROFS, "EROFS"),
        (Errno::STALE, "ESTALE"),
        (Errno::TXTBSY, "ETXTBSY"),
        (Errno::XDEV, "EXDEV"),
        (Errno::TOOBIG, "E2BIG"),
    ];
    named
        .iter()
        .find(|(known, _)| *known == errno)
        .map_or_else(|| format!("errno {}", errno.raw_os_error()), |(_, name)| (*name).to_owned())
}
