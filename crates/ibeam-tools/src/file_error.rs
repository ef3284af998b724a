//! Errors of file tools: one line that names the file, the errno and what to do.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use ibeam_protocol::{Sentence, ToolFailure, ToolOutcome, sentence};
use rustix::io::Errno;

use crate::workspace::PathError;

/// A failure at one path. `path` is the path as the model wrote it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub(crate) enum FileError {
    /// `similar` are existing files that the path may mean.
    NotFound {
        path: String,
        similar: Vec<String>,
    },
    NotPermitted {
        action: FileAction,
        path: String,
        errno: Errno,
    },
    System {
        action: FileAction,
        path: String,
        errno: Errno,
    },
    /// The policy denies the access. `reason` is the whole message.
    DeniedByPolicy {
        path: String,
        reason: Sentence,
    },
    /// An error of ibeam itself: the whole message.
    Refused(Sentence),
    Path(PathError),
}

/// The action of a tool on a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FileAction {
    Read,
    Write,
    Delete,
    LookAt,
    Search,
    Reach,
}

impl FileError {
    fn sentence(&self) -> Sentence {
        match self {
            Self::NotFound { path, similar } if similar.is_empty() => {
                sentence!("`{path}` does not exist (ENOENT); `ls` or `glob` shows what does", path)
            }
            Self::NotFound { path, similar } => {
                format!("`{path}` does not exist (ENOENT); there is `{}`", similar.join("`, `")).into()
            }
            Self::NotPermitted { action, path, errno } => {
                let errno = errno_name(*errno);
                action.failure(path, sentence!("not permitted by the system ({errno})", errno))
            }
            Self::System { action, path, errno } => action.failure(path, meaning(*errno)),
            Self::DeniedByPolicy { path: _, reason } | Self::Refused(reason) => reason.clone(),
            Self::Path(error) => error.to_string().into(),
        }
    }

    /// Returns the error of `action` for a path that does not resolve.
    pub(crate) fn unreachable(action: FileAction, path: &str, error: PathError) -> Self {
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
    pub(crate) fn system(action: FileAction, path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::not_found(path),
            Errno::ACCESS | Errno::PERM => Self::NotPermitted { action, path, errno },
            errno => Self::System { action, path, errno },
        }
    }

    /// Like [`Self::system`], for an operation on a resolved path: `ELOOP` means that a symbolic link was created since.
    pub(crate) fn for_resolved_path(action: FileAction, path: &str, errno: Errno) -> Self {
        match errno {
            Errno::LOOP => {
                Self::refused(path, "has a symbolic link in its path that was put there just now; try again")
            }
            errno => Self::system(action, path, errno),
        }
    }

    /// Like [`Self::system`], for an error of the standard library.
    pub(crate) fn io(action: FileAction, path: &str, error: &io::Error) -> Self {
        Self::system(action, path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// Returns an error of ibeam itself, in English; `reason` completes the sentence that begins with the path.
    pub(crate) fn refused(path: &str, reason: impl Display) -> Self {
        Self::Refused(format!("`{path}` {reason}").into())
    }
}

impl From<FileError> for ToolOutcome {
    fn from(error: FileError) -> Self {
        let message = error.sentence();
        let for_model = message.clone();
        let failure = match error {
            FileError::NotFound { path, .. } => ToolFailure::FileNotFound { path: PathBuf::from(path) },
            FileError::NotPermitted { path, .. } | FileError::DeniedByPolicy { path, .. } => {
                ToolFailure::PermissionDenied { path: PathBuf::from(path), error: message }
            }
            FileError::System { .. } | FileError::Refused(_) | FileError::Path(_) => {
                ToolFailure::Error { message }
            }
        };
        Self::Failure { failure, for_model }
    }
}

impl FileAction {
    /// Returns the sentence that the action failed on the file at `path`.
    fn failure(self, path: &str, reason: Sentence) -> Sentence {
        match self {
            Self::Read => sentence!("cannot read `{path}`: {reason}", path, reason),
            Self::Write => sentence!("cannot write `{path}`: {reason}", path, reason),
            Self::Delete => sentence!("cannot delete `{path}`: {reason}", path, reason),
            Self::LookAt => sentence!("cannot look at `{path}`: {reason}", path, reason),
            Self::Search => sentence!("cannot search `{path}`: {reason}", path, reason),
            Self::Reach => sentence!("cannot reach `{path}`: {reason}", path, reason),
        }
    }
}

/// Returns the meaning and the name of an errno, in words that fit after a colon.
fn meaning(errno: Errno) -> Sentence {
    let name = errno_name(errno);
    match errno {
        Errno::LOOP => sentence!("its symbolic links form a loop ({errno})", errno = name),
        Errno::NAMETOOLONG => sentence!("the name is too long ({errno})", errno = name),
        Errno::NOTDIR => sentence!("a part of the path is a file, not a directory ({errno})", errno = name),
        Errno::NOSPC => sentence!("the disk is full ({errno})", errno = name),
        Errno::ROFS => sentence!("the file system is read-only ({errno})", errno = name),
        other => {
            let text = io::Error::from(other).to_string();
            let words = text.split(" (os error").next().unwrap_or_default();
            format!("{} ({name})", words.to_lowercase()).into()
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
