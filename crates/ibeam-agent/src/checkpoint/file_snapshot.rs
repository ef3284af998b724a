//! Saves the files of a workspace as a tree of git objects.
//!
//! Git lists the files that the ignore rules do not cover: one process for a snapshot. Everything else is done here: the
//! files are compared with an index that this program keeps, so that only changed ones are read, and objects, trees and
//! the index are written as git writes them ([`SnapshotBuilder`]).
//!
//! The index of the repository, its branches and `HEAD` are not changed. A process that is killed leaves at most
//! unreferenced objects.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join;
use ibeam_files::regular_file;

use super::index_file;
use super::repository::{CheckpointError, GitSetup, Repository};
use super::snapshot_builder::{INDEX_COPY_PREFIX, SnapshotBuilder};

/// The size limit of an index, in bytes.
pub(super) const MAX_INDEX_BYTES: u64 = 256 << 20;
/// The age of a temporary index that no process uses any more.
const INDEX_COPY_AGE: Duration = Duration::from_secs(60 * 60);

/// The saved files of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The hash of the tree of the work tree's root.
    pub(super) tree: String,
    /// The files that were too large or could not be read, relative to the work tree.
    pub(super) left_out: Vec<String>,
}

/// The ignored files that a snapshot contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IgnoredFiles {
    /// No ignored files: files that are ignored now are no longer saved.
    Drop,
    /// The ignored files that the snapshot before contains: the run itself may have changed the ignore rules.
    Keep,
}

/// Ends the work on another thread when the future that waits for it is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Repository {
    /// Saves the files of the workspace.
    ///
    /// # Errors
    /// `NoGit`, `Git`, `Io`, `TooLarge`.
    pub(super) async fn snapshot(&self, ignored: IgnoredFiles) -> Result<Snapshot, CheckpointError> {
        self.prepare()?;
        // Without an index, git lists all files that are not ignored.
        let listed = self.list(GitSetup::Own(None), &["-o", "--exclude-standard"]);
        let (listed, tracked) = join(listed, self.tracked_files()).await;
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let _cancel = CancelOnDrop(Arc::clone(&is_cancelled));
        let builder =
            SnapshotBuilder { repository: self.clone(), ignored, listed: listed?, tracked, is_cancelled };
        let built = tokio::task::spawn_blocking(move || builder.build()).await;
        built.map_err(|error| CheckpointError::Io {
            path: self.own_dir().display().to_string(),
            source: error.into(),
        })?
    }

    /// Returns the arguments that limit a listing to the workspace.
    fn workspace_paths(&self) -> Vec<&std::ffi::OsStr> {
        match self.prefix.as_os_str() {
            prefix if prefix.is_empty() => Vec::new(),
            prefix => vec!["--".as_ref(), prefix],
        }
    }

    /// Lists files with `git ls-files`.
    async fn list(&self, setup: GitSetup<'_>, options: &[&str]) -> Result<Vec<u8>, CheckpointError> {
        let arguments = ["ls-files", "-z"].iter().chain(options).map(|option| option.as_ref());
        self.run(setup, arguments.chain(self.workspace_paths()), b"").await
    }

    /// Returns the files of the workspace that the repository tracks, each with a zero byte after it. Those that are not
    /// ignored may be missing. An index that cannot be read has none.
    async fn tracked_files(&self) -> Vec<u8> {
        let path = self.location.git_dir.join("index");
        let Ok(content) = regular_file::read(&path, MAX_INDEX_BYTES) else { return Vec::new() };
        let Some(entries) = index_file::parse(&content, self.hash_algorithm()) else {
            let ignored = ["-c", "-i", "--exclude-standard"];
            return self.list(GitSetup::UserIndex, &ignored).await.unwrap_or_default();
        };
        let is_in_workspace = |path: &[u8]| {
            let rest = path.strip_prefix(self.prefix.as_os_str().as_bytes());
            self.prefix.as_os_str().is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        let files = entries.iter().filter(|entry| entry.mode.is_some() && is_in_workspace(entry.path));
        files.flat_map(|entry| entry.path.iter().copied().chain([0])).collect()
    }

    /// Deletes the temporary indexes that killed processes left.
    pub(super) fn remove_index_copies(&self) {
        let Ok(entries) = fs::read_dir(self.own_dir()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_copy = Path::new(&name).as_os_str().as_bytes().starts_with(INDEX_COPY_PREFIX.as_bytes());
            let changed_at = entry.metadata().and_then(|found| found.modified()).ok();
            let age = changed_at.and_then(|time| time.elapsed().ok()).unwrap_or_default();
            if is_copy && age > INDEX_COPY_AGE {
                // The next session tries again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
