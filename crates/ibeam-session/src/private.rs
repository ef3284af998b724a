//! Files and directories for the owner only, never through a link that somebody planted.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Makes a directory and its parents with mode 0700; existing ones are left as they are.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Options that refuse a link as the last part of the path; new files get mode 0600 whatever the umask.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    options.custom_flags(flags).mode(0o600);
    options
}

/// Opens for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    options().read(true).open(path)
}
