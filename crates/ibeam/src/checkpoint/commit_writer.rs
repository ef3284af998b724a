//! Writes the commits and references of checkpoints as files of git, without a process for each.
//!
//! A commit is a loose object; a reference is a file with a hash. Only the git directory of this program is written. As
//! with git itself, neither is synced to the disk.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use ibeam_protocol::SessionId;

use super::objects::object_hash;
use super::repository::{CheckpointError, Repository};

impl Repository {
    /// Writes a commit with this tree and without a parent, and returns its hash.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn write_commit(
        &self,
        tree: &str,
        message: &str,
        unix_ms: u64,
    ) -> Result<String, CheckpointError> {
        let person = format!("ibeam <ibeam> {} +0000", unix_ms / 1000);
        let content = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\n{message}");
        let hash = object_hash("commit", content.as_bytes(), tree.len());
        let (directory, name) = hash.split_at(2);
        let path = self.own_dir().join("objects").join(directory).join(name);
        // An object that exists has this content.
        if !path.exists() {
            let object = [format!("commit {}\0", content.len()).as_bytes(), content.as_bytes()].concat();
            write_new(&path, 0o444, |mut file| file.write_all(&zlib_stream(&object)))
                .map_err(CheckpointError::io(&path))?;
        }
        Ok(hash)
    }

    /// Sets a reference to a commit.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn set_reference(&self, name: &str, commit: &str) -> Result<(), CheckpointError> {
        let path = self.own_dir().join(name);
        write_new(&path, 0o600, |mut file| writeln!(file, "{commit}")).map_err(CheckpointError::io(&path))
    }

    /// Deletes a reference that this process has set.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn delete_reference(&self, name: &str) -> Result<(), CheckpointError> {
        let path = self.own_dir().join(name);
        fs::remove_file(&path).map_err(CheckpointError::io(&path))
    }
}

/// Returns a zlib stream with this text in one stored block (RFC 1950, RFC 1951 section 3.2.4). A compressor would add much
/// to the program and save a few bytes of a commit.
fn zlib_stream(text: &[u8]) -> Vec<u8> {
    // A commit has some hundred bytes; a block has at most 65,535.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(text.iter().take(length.into()));
    let (low, high) = text.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65521;
        (low, (high + low) % 65521)
    });
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

/// Writes a file under a temporary name and renames it to `path`. Creates its directory.
fn write_new(path: &Path, mode: u32, write: impl FnOnce(&fs::File) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // `git prune` removes old files with this prefix, which killed processes leave.
    let temporary = directory.join(format!("tmp_obj_{}", SessionId::random()));
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    write(&file).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // The error that is returned matters more.
        let _ = fs::remove_file(&temporary);
    })
}
