//! Files and directories for the owner only, never through a link that somebody planted.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Makes a directory and its parents with mode 0700, whatever the umask; existing ones are left as they are.
///
/// Gives the directories that have a new entry, which a power cut could take back.
pub(crate) fn create_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
            Ok(path.parent().map(Path::to_owned).into_iter().collect())
        }
        // Anything else that stands there is for `check_owned_directory` to tell.
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

/// Refuses what is no directory, is a link to one, or belongs to somebody else.
///
/// # Errors
/// `NotFound`; `PermissionDenied` with words for the rest.
pub(crate) fn check_owned_directory(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let refuse = |reason: String| Err(io::Error::new(ErrorKind::PermissionDenied, reason));
    if found.is_symlink() {
        return refuse("it is a symbolic link, which is not followed here".to_owned());
    }
    if !found.is_dir() {
        return refuse("something that is no directory stands in its place".to_owned());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse(format!("it belongs to user {}", found.uid()));
    }
    Ok(())
}

/// SessionOptions that refuse a link as the last part of the path and never wait for the other end of a FIFO.
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

/// Opens a regular file for appending; it is made with mode 0600, whatever the umask.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    restrict_mode(open_options().append(true).create(true).open(path)?)
}

/// An empty regular file for appending, with mode 0600 whatever the umask; what stood there is gone.
pub(crate) fn create_empty(path: &Path) -> io::Result<File> {
    let file = append(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Gives the file mode 0600, which an odd umask may have kept it from.
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
