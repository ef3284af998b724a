//! Writes the commits and references of checkpoints as files of git, without a process for each.
//!
//! Only the git directory of this program is written. As with git itself, neither is synced to the disk.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::object_store::temporary_path;
use super::repository::{CheckpointError, Repository};

impl Repository {
    /// Writes a commit with this tree and without a parent, and returns its hash.
    pub(super) fn write_commit(
        &self,
        tree: &str,
        message: &str,
        unix_ms: u64,
    ) -> Result<String, CheckpointError> {
        let person = format!("ibeam <ibeam> {} +0000", unix_ms / 1000);
        let content = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\n{message}");
        let written = self.object_store().write("commit", content.as_bytes());
        written.map(|id| id.hex()).map_err(CheckpointError::io(self.own_dir()))
    }

    pub(super) fn set_reference(&self, name: &str, commit: &str) -> Result<(), CheckpointError> {
        let path = self.own_dir().join(name);
        write_new(&path, |mut file| writeln!(file, "{commit}")).map_err(CheckpointError::io(&path))
    }

    /// Deletes a reference that this process has set.
    pub(super) fn delete_reference(&self, name: &str) -> Result<(), CheckpointError> {
        let path = self.own_dir().join(name);
        fs::remove_file(&path).map_err(CheckpointError::io(&path))
    }
}

/// Writes a file under a temporary name and renames it to `path`. Creates its directory.
fn write_new(path: &Path, write: impl FnOnce(&fs::File) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let temporary = temporary_path(directory);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    write(&file).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // The error that is returned matters more.
        let _ = fs::remove_file(&temporary);
    })
}
