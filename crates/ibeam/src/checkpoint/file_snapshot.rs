//! Saves the files of a workspace as a tree of git objects, and as a commit.
//!
//! The index of the repository, its branches and `HEAD` are not changed. This program keeps an index of its own, so that
//! the next snapshot reads only files that changed. A process that is killed leaves at most unreferenced objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join4;
use ibeam_protocol::SessionId;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::repository::{CheckpointError, GitSetup, Repository, line, paths};

/// The size of the largest file that is saved, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;
/// The largest total size of new and changed files, in bytes.
const MAX_TOTAL_BYTES: u64 = 2 << 30;
/// The largest number of new and changed files.
const MAX_FILES: usize = 500_000;
/// The largest number of files that a checkpoint leaves out.
const MAX_LEFT_OUT: usize = 1000;

/// The beginning of the names of temporary copies of the index.
const INDEX_COPY_PREFIX: &str = "index.";
/// The age of a copy that no process uses any more.
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

/// The changes of the index that a snapshot needs.
#[derive(Default)]
struct IndexChanges {
    removed: BTreeSet<PathBuf>,
    updated: BTreeSet<PathBuf>,
    left_out: BTreeSet<PathBuf>,
}

impl Repository {
    /// Saves the files of the workspace.
    ///
    /// # Errors
    /// `NoGit`, `Git`, `Io`, `TooLarge`.
    pub(super) async fn snapshot(&self, ignored: IgnoredFiles) -> Result<Snapshot, CheckpointError> {
        self.prepare()?;
        match self.snapshot_with(IndexCopy::new(&self.index())?, ignored).await {
            // The repository may have removed an object that the index names: without the index, all files are read again.
            Err(CheckpointError::Git { .. }) if self.index().exists() => {
                self.snapshot_with(IndexCopy::empty(&self.index()), ignored).await
            }
            done => done,
        }
    }

    /// Saves the files with this copy of the index.
    async fn snapshot_with(
        &self,
        index: IndexCopy,
        ignored: IgnoredFiles,
    ) -> Result<Snapshot, CheckpointError> {
        let own = GitSetup::Own(Some(&index.path));
        let changes = self.index_changes(own, ignored).await?;
        let IndexChanges { removed, updated, left_out } = changes;
        if !removed.is_empty() {
            let zeros = if self.uses_sha256() { "0".repeat(64) } else { "0".repeat(40) };
            let mut input = Vec::new();
            for path in &removed {
                input.extend_from_slice(format!("0 {zeros}\t").as_bytes());
                input.extend_from_slice(path.as_os_str().as_bytes());
                input.push(0);
            }
            self.run(own, ["update-index", "-z", "--index-info"], &input).await?;
        }
        if !updated.is_empty() {
            let input: Vec<u8> =
                updated.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
            let arguments = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.run(own, arguments, &input).await?;
        }
        let tree = line(&self.run(own, ["write-tree"], b"").await?);
        if !removed.is_empty() || !updated.is_empty() {
            index.keep()?;
        }
        let left_out = left_out.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Ok(Snapshot { tree, left_out })
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

    /// Determines what changed since the last snapshot.
    async fn index_changes(
        &self,
        own: GitSetup<'_>,
        ignored: IgnoredFiles,
    ) -> Result<IndexChanges, CheckpointError> {
        let has_exclusions = self.has_exclusions();
        let list_if = async |is_needed: bool, options: &[&str]| match is_needed {
            true => self.list(own, options).await,
            false => Ok(Vec::new()),
        };
        let (tracked, ignored, saved, changed) = join4(
            self.list(GitSetup::UserIndex, &["-c", "-i", "--exclude-standard"]),
            list_if(ignored == IgnoredFiles::Drop, &["-c", "-i", "--exclude-standard"]),
            list_if(has_exclusions, &["-c"]),
            self.list(own, &["-m", "-d", "-o", "--exclude-standard"]),
        )
        .await;
        // Files that the repository tracks although they are ignored. An index that cannot be read has none.
        let tracked = tracked.unwrap_or_default();
        let tracked: BTreeSet<&Path> = paths(&tracked).collect();
        let (ignored, saved, changed) = (ignored?, saved?, changed?);
        let dropped = paths(&ignored).filter(|path| !tracked.contains(path));
        let denied = paths(&saved).filter(|path| self.is_excluded(&self.top.join(path)));
        let removed = dropped.chain(denied).map(Path::to_owned).collect();
        let mut changes = IndexChanges { removed, ..IndexChanges::default() };
        let mut classifier =
            Classifier { repository: self, has_exclusions, parents: BTreeMap::new(), bytes: 0 };
        for path in paths(&changed).chain(tracked.iter().copied()) {
            // A directory is a repository of its own.
            if !path.as_os_str().as_bytes().ends_with(b"/") && !changes.removed.contains(path) {
                classifier.add(path, &mut changes)?;
            }
        }
        Ok(changes)
    }

    /// Deletes the copies of the index that killed processes left.
    pub(super) fn remove_index_copies(&self) {
        let Ok(entries) = fs::read_dir(self.index().with_file_name("")) else { return };
        for entry in entries.flatten() {
            let is_copy = entry.file_name().as_bytes().starts_with(INDEX_COPY_PREFIX.as_bytes());
            let changed_at = entry.metadata().and_then(|found| found.modified()).ok();
            let age = changed_at.and_then(|time| time.elapsed().ok()).unwrap_or_default();
            if is_copy && age > INDEX_COPY_AGE {
                // The next session tries again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Decides for each path how the index changes.
struct Classifier<'a> {
    repository: &'a Repository,
    /// Whether some files of the work tree are never saved.
    has_exclusions: bool,
    /// Whether each parent directory is a directory and not a link.
    parents: BTreeMap<PathBuf, bool>,
    /// The size of all files that are saved.
    bytes: u64,
}

impl Classifier<'_> {
    /// Adds a path that may have changed.
    fn add(&mut self, path: &Path, changes: &mut IndexChanges) -> Result<(), CheckpointError> {
        let full = self.repository.top.join(path);
        if self.has_exclusions && self.repository.is_excluded(&full) {
            changes.removed.insert(path.to_owned());
            return Ok(());
        }
        let found = match self.is_below_directories(path) {
            true => full.symlink_metadata(),
            false => Err(io::ErrorKind::NotFound.into()),
        };
        let Ok(found) = found else {
            changes.removed.insert(path.to_owned());
            return Ok(());
        };
        if self.repository.is_hidden_by_another_name(&found) {
            changes.removed.insert(path.to_owned());
            return Ok(());
        }
        if found.is_file() {
            let is_readable = accessat(CWD, &full, Access::READ_OK, AtFlags::EACCESS).is_ok();
            if found.size() > MAX_FILE_BYTES || !is_readable {
                changes.removed.insert(path.to_owned());
                changes.left_out.insert(path.to_owned());
                return match changes.left_out.len() > MAX_LEFT_OUT {
                    true => Err(too_large(MAX_LEFT_OUT as u64, "files that cannot be saved")),
                    false => Ok(()),
                };
            }
            self.bytes += found.size();
        } else if !found.is_symlink() {
            changes.removed.insert(path.to_owned());
            return Ok(());
        }
        changes.updated.insert(path.to_owned());
        if changes.updated.len() > MAX_FILES {
            return Err(too_large(MAX_FILES as u64, "files"));
        }
        match self.bytes > MAX_TOTAL_BYTES {
            true => Err(too_large(MAX_TOTAL_BYTES, "bytes")),
            false => Ok(()),
        }
    }

    fn is_below_directories(&mut self, path: &Path) -> bool {
        let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return true };
        if let Some(known) = self.parents.get(parent) {
            return *known;
        }
        let is_directory = self.is_below_directories(parent)
            && self.repository.top.join(parent).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.parents.insert(parent.to_owned(), is_directory);
        is_directory
    }
}

fn too_large(limit: u64, unit: &'static str) -> CheckpointError {
    CheckpointError::TooLarge { limit, unit }
}

/// A temporary copy of the index that this program keeps, deleted with the value.
struct IndexCopy {
    path: PathBuf,
    original: PathBuf,
}

impl IndexCopy {
    /// Returns an index without files.
    fn empty(original: &Path) -> Self {
        let path = original.with_file_name(format!("{INDEX_COPY_PREFIX}{}", SessionId::random()));
        Self { path, original: original.to_owned() }
    }

    /// Copies the index, with its time: git compares the time with those of the files.
    fn new(original: &Path) -> Result<Self, CheckpointError> {
        let copy = Self::empty(original);
        match fs::copy(original, &copy.path) {
            Ok(_) => {
                let times = fs::metadata(original).and_then(|found| found.modified());
                let set = |time| fs::File::options().write(true).open(&copy.path)?.set_modified(time);
                times.and_then(set).map_err(CheckpointError::io(&copy.path))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(CheckpointError::io(original)(error)),
        }
        Ok(copy)
    }

    /// Makes the copy the index for the next snapshot.
    fn keep(&self) -> Result<(), CheckpointError> {
        fs::rename(&self.path, &self.original).map_err(CheckpointError::io(&self.original))
    }
}

impl Drop for IndexCopy {
    fn drop(&mut self) {
        // After `keep` it is gone.
        let _ = fs::remove_file(&self.path);
    }
}
