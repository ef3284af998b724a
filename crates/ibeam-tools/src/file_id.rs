//! Files by what stays when they get another name.

use std::collections::HashSet;

use ibeam_sandbox::FileId;
use rustix::fs::Stat;

/// Files by device and inode.
pub(crate) type FileIds = HashSet<FileId>;

/// Returns the device and inode of a file.
pub(crate) fn file_id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}
