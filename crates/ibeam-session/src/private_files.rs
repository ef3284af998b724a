//! Files and directories that only their owner may access. Refuses to follow symbolic links.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Creates a directory and its missing parents with mode 0700, independent of the umask.
///
/// Returns the directories with a new entry, which a power cut would remove unless they are synced.
pub(crate) fn create_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
            Ok(path.parent().map(Path::to_owned).into_iter().collect())
        }
        // `check_owned_directory` reports what exists there instead of a directory.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().ok_or(error)?;
            let mut changed = create_directory(parent)?;
            changed.extend(create_directory(path)?);
            Ok(changed)
        }
        Err(error) => Err(error),
    }
}

/// Checks that a path is a directory of this user, and not a link.
///
/// # Errors
/// `NotFound`; `PermissionDenied` with a description of every other case.
pub(crate) fn check_owned_directory(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let refuse = |reason: String| Err(io::Error::new(ErrorKind::PermissionDenied, reason));
    if found.is_symlink() {
        return refuse("it is a symbolic link, which is not followed".to_owned());
    }
    if !found.is_dir() {
        return refuse("it is not a directory".to_owned());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse(format!("it belongs to user {}", found.uid()));
    }
    Ok(())
}

/// Returns options that refuse a link as the last component of the path and do not block on a FIFO.
pub(crate) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    options.custom_flags(flags).mode(0o600);
    options
}

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    require_regular(open_options().read(true).open(path)?)
}

/// Opens or creates a regular file for appending, with mode 0600 independent of the umask.
pub(crate) fn open_for_append(path: &Path) -> io::Result<File> {
    restrict_mode(open_options().append(true).create(true).open(path)?)
}

/// Creates or truncates a regular file for appending, with mode 0600 independent of the umask.
pub(crate) fn create_empty(path: &Path) -> io::Result<File> {
    let file = open_for_append(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Sets mode 0600, in case the umask prevented it.
pub(crate) fn restrict_mode(file: File) -> io::Result<File> {
    let file = require_regular(file)?;
    if file.metadata()?.mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn require_regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}
