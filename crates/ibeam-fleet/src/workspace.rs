//! The workspace of a task: a clone of a repository or a copy of a directory; and what changed in it.
//!
//! Nothing is written to the source. A repository is copied once, to a mirror in the directory of the fleet, and cloned
//! from there: so all tasks start at the same commit, and a run that damages the objects of its clone, which are hard
//! links, does not damage the source. The changes are found with an index and objects outside of the workspace, so nothing
//! that a run left in the workspace's own repository is read. The index is that of the workspace before the run: git reads
//! only files that have changed since.

#[cfg(test)]
mod git_kill_test;
mod mirror;
mod restoration;
mod results;
mod workspace_error;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_git::{Git, GitError, Place, RemoteSettings, RepositoryLocation, RepositoryView, local_path};
use serde::{Deserialize, Serialize};

use crate::file_filter::FileFilter;
use crate::stop::StopFlag;
use crate::task::{ResultSource, WorkspaceSource};

pub(crate) use mirror::{has_committed, lacks_commit};
pub(crate) use restoration::recorded_base;
pub(crate) use workspace_error::WorkspaceError;

/// The kinds of bases of changes, in the file `base`.
const COMMIT: &str = "commit";
const TREE: &str = "tree";
/// The mode of a repository inside a work tree, in the index.
const REPOSITORY_MODE: &[u8] = b"160000 ";
/// The number of digits of a SHA-1 hash. Other hashes are longer.
const SHA1_DIGITS: usize = 40;
/// The time for which the git of a driver that was killed may go on; longer than the grace that it has to end.
const LOCK_TIME: Duration = Duration::from_secs(2);

/// The piece of a file that is copied before it is looked whether the copy should end.
const MAX_PIECE_BYTES: u64 = 16 << 20;

/// The size of the largest patch that is kept, in bytes.
const MAX_PATCH_BYTES: u64 = 64 << 20;

/// Prepares workspaces.
#[derive(Debug)]
pub(crate) struct Workspaces {
    git: Git,
    max_patch_bytes: u64,
    /// The directory of the fleet, which no copy includes.
    fleet: PathBuf,
    /// Secret files, which no copy includes, whatever their names there are.
    secrets: Vec<FileId>,
    /// The files that runs do not see.
    hidden: FileFilter,
    /// Ends copies.
    stop: StopFlag,
    /// The repositories that could not be copied, with the time and the reason. One is fetched at a time, and none is tried
    /// again soon.
    unavailable: Mutex<HashMap<String, (Instant, String)>>,
}

/// A workspace that is not at its place yet.
struct NewWorkspace {
    path: PathBuf,
    /// The base of the changes: its kind and its hash.
    base: String,
}

impl NewWorkspace {
    fn is_clone(&self) -> bool {
        self.base.starts_with(COMMIT)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    pub(crate) files: Vec<String>,
    /// Whether a patch was written.
    pub(crate) has_patch: bool,
    /// The size of a patch that is too large, and was not kept.
    #[serde(default)]
    pub(crate) omitted_bytes: Option<u64>,
}

impl Changes {
    /// Returns the reason for which there is no patch of these changes.
    pub(crate) fn omission(&self) -> Option<String> {
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        let (bytes, limit) = (mebibytes(self.omitted_bytes?), mebibytes(MAX_PATCH_BYTES));
        Some(format!("the patch has {bytes} MiB, and {limit} are allowed"))
    }
}

impl Workspaces {
    pub(crate) fn new(git: Git, fleet: PathBuf) -> Self {
        let (secrets, hidden) = (Vec::new(), FileFilter::default());
        Self {
            git,
            max_patch_bytes: MAX_PATCH_BYTES,
            fleet,
            secrets,
            hidden,
            stop: StopFlag::default(),
            unavailable: Mutex::default(),
        }
    }

    /// Ends copies when `stop` is requested.
    pub(crate) fn ended_by(self, stop: StopFlag) -> Self {
        Self { stop, ..self }
    }

    /// Leaves files out of copies of directories, whatever their names there are.
    pub(crate) fn without_files(self, paths: impl Iterator<Item = PathBuf>) -> Self {
        let files = paths.filter_map(|path| fs::metadata(path).ok());
        Self { secrets: files.map(|file| file_id(&file)).collect(), ..self }
    }

    /// Leaves the files that runs do not see out of copies of directories.
    pub(crate) fn without_hidden(self, hidden: FileFilter) -> Self {
        Self { hidden, ..self }
    }

    /// Creates the workspace at `path`, unless it exists, and returns the directory in which the run starts.
    ///
    /// # Errors
    /// `NoCommit`, `Unavailable`, `Undecided`.
    pub(crate) fn prepare(&self, source: &WorkspaceSource, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let result = match source {
            WorkspaceSource::Result(result) => Some(result),
            WorkspaceSource::Path(_) | WorkspaceSource::Git(_) => None,
        };
        let (repository, reference, prefix) = match source.start() {
            WorkspaceSource::Git(source) => (source.git.clone(), source.reference.as_str(), PathBuf::new()),
            WorkspaceSource::Path(directory) => match self.repository(directory)? {
                Some((top, prefix)) => (top, "HEAD", prefix),
                None => {
                    if !path.exists() {
                        self.complete(self.copy(directory, path)?, result, path)?;
                    }
                    return Ok(path.to_owned());
                }
            },
            WorkspaceSource::Result(_) => {
                return Err(WorkspaceError::NoStart("the start of the workspace is unknown".to_owned()));
            }
        };
        if !path.exists() {
            let first = result.map(|result| self.first_commit(result)).transpose()?.flatten();
            let reference = first.as_deref().unwrap_or(reference);
            let mirror = self.mirror(&repository, reference)?;
            self.complete(self.clone_commit(&mirror, &repository, reference, path)?, result, path)?;
        }
        let inner = path.join(prefix);
        Ok(if inner.is_dir() { inner } else { path.to_owned() })
    }

    /// Adds the results of other tasks to a new workspace, and moves it to `path`.
    fn complete(
        &self,
        mut new: NewWorkspace,
        result: Option<&ResultSource>,
        path: &Path,
    ) -> Result<(), WorkspaceError> {
        if let Some(result) = result {
            self.apply_results(result, &mut new, path)?;
        }
        fs::write(base_file(path), &new.base)?;
        Ok(fs::rename(&new.path, path)?)
    }

    /// Returns the repository that a directory is in, if it has a commit, and the path of the directory within.
    ///
    /// A repository that cannot be read is an error: without the repository, files that git ignores would be copied too.
    fn repository(&self, directory: &Path) -> Result<Option<(String, PathBuf)>, WorkspaceError> {
        let directory = directory.canonicalize()?;
        let mut found = None;
        for above in directory.ancestors() {
            if is_top(above)? {
                found = Some(above);
                break;
            }
        }
        let Some(top) = found else { return Ok(None) };
        let location = RepositoryLocation::for_source(top)
            .ok_or_else(|| format!("the repository `{}` is damaged", top.display()))?;
        let view = RepositoryView::open(&self.git, &location, RemoteSettings::References)?;
        if self.git.find(view.place(), &find_commit("HEAD"))?.is_none() {
            return Ok(None);
        }
        let prefix = directory.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
        Ok(Some((utf8(top)?.to_owned(), prefix)))
    }

    /// Creates a clone with the files of a commit, next to `path`.
    fn clone_commit(
        &self,
        mirror: &Path,
        repository: &str,
        reference: &str,
        path: &Path,
    ) -> Result<NewWorkspace, WorkspaceError> {
        let commit = self.git.find(Place::bare(mirror), &find_commit(&peeled(reference)))?;
        let commit = commit.ok_or_else(|| WorkspaceError::NoCommit {
            repository: repository.to_owned(),
            reference: reference.to_owned(),
        })?;
        let new = fresh_sibling(path)?;
        let clone = ["clone", "--quiet", "--no-checkout", "--template=", "--", utf8(mirror)?, utf8(&new)?];
        self.git.run(Place::default(), &clone)?;
        let place = new.join(".git");
        self.git.run(Place::with_work_tree(&place, &new), &["checkout", "--quiet", "--detach", &commit])?;
        let source = repository;
        let repository = fresh_repository(&index_repository(path), &commit)?;
        borrow_objects(&repository, &mirror.join("objects"))?;
        fs::copy(new.join(".git/index"), repository.join("index"))?;
        self.record_hidden(source, Place::with_work_tree(&place, &new), path)?;
        Ok(NewWorkspace { path: new, base: format!("{COMMIT} {commit}") })
    }

    /// Records the files of a clone that are hidden where they are in the source: the clone has them under other paths.
    fn record_hidden(&self, source: &str, clone: Place<'_>, path: &Path) -> Result<(), WorkspaceError> {
        let Some(top) = local_path(source).and_then(|top| top.canonicalize().ok()) else { return Ok(()) };
        let listed = self.git.run(clone, &["ls-files", "-z"])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let is_hidden = |name: &&[u8]| {
            let file = top.join(OsStr::from_bytes(name));
            file.symlink_metadata().is_ok_and(|metadata| {
                self.secrets.contains(&file_id(&metadata)) || self.hidden.hides(&file, &metadata)
            })
        };
        let paths = names.filter(is_hidden).map(|name| path.join(OsStr::from_bytes(name)));
        let lines: String = paths
            .filter_map(|path| Some(format!("{}\n", path.to_str().filter(|path| !path.contains('\n'))?)))
            .collect();
        Ok(fs::write(hidden_file(path), lines)?)
    }

    /// Creates a copy of a directory next to `path`; its files are the base of the changes.
    fn copy(&self, directory: &Path, path: &Path) -> Result<NewWorkspace, WorkspaceError> {
        let new = fresh_sibling(path)?;
        self.copy_directory(&directory.canonicalize()?, &new)?;
        let repository = fresh_repository(&index_repository(path), "")?;
        self.add_files(&repository, &new)?;
        let tree = self.git.line(Place::bare(&repository), &["write-tree"])?;
        Ok(NewWorkspace { path: new, base: format!("{TREE} {tree}") })
    }

    /// Copies a directory, a real path, with its links and permissions, without the directory of the fleet, secret and hidden
    /// files, devices and sockets.
    fn copy_directory(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (path, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
            if kind.is_symlink() {
                symlink(fs::read_link(&path)?, &target)?;
            } else if kind.is_dir() {
                if path != self.fleet && !self.hidden.hides(&path, &entry.metadata()?) {
                    self.copy_directory(&path, &target)?;
                }
            } else if kind.is_file() {
                let metadata = entry.metadata()?;
                let is_secret = self.secrets.contains(&file_id(&metadata));
                if !is_secret && !self.hidden.hides(&path, &metadata) {
                    self.copy_file(&path, &target, metadata.permissions())?;
                }
            }
        }
        fs::set_permissions(to, fs::metadata(from)?.permissions())
    }

    /// Copies a file in pieces, between which the copy can end.
    fn copy_file(&self, from: &Path, to: &Path, permissions: fs::Permissions) -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut target = File::create_new(to)?;
        target.set_permissions(permissions)?;
        while io::copy(&mut (&mut source).take(MAX_PIECE_BYTES), &mut target)? > 0 {
            if self.stop.is_requested() {
                return Err(io::Error::other("the fleet was stopped"));
            }
        }
        Ok(())
    }

    /// Writes the changes since the workspace was created to `patch`.
    ///
    /// # Errors
    /// `Unavailable`, `Undecided`.
    pub(crate) fn changes(
        &self,
        source: &WorkspaceSource,
        path: &Path,
        patch: &Path,
    ) -> Result<Changes, WorkspaceError> {
        let recorded = fs::read_to_string(base_file(path))?;
        let (_, base) = recorded.split_once(' ').ok_or_else(|| "the file `base` is damaged".to_owned())?;
        let repository = index_repository(path);
        if !repository.join("index").exists() {
            // A clone of an earlier version.
            fresh_repository(&repository, base)?;
            borrow_objects(&repository, &self.source_objects(source)?)?;
            self.read_base(&repository, base)?;
        }
        self.add_files(&repository, path)?;
        let names = self.diff(&repository, base, &["--name-only", "-z"])?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if files.is_empty() {
            return Ok(Changes::default());
        }
        let bytes = self.write_diff(&repository, base, patch)?;
        let has_patch = bytes <= self.max_patch_bytes;
        if !has_patch {
            fs::remove_file(patch)?;
        }
        Ok(Changes { files, has_patch, omitted_bytes: (!has_patch).then_some(bytes) })
    }

    /// Writes the differences from a commit or tree to the index of a repository to `patch`. Returns its size. Git writes it,
    /// because it may be larger than the memory.
    fn write_diff(&self, repository: &Path, base: &str, patch: &Path) -> Result<u64, WorkspaceError> {
        let output = format!("--output={}", utf8(patch)?);
        self.diff(repository, base, &["--patch", "--binary", &output])?;
        Ok(fs::metadata(patch)?.len())
    }

    /// Returns the differences from a commit or tree to the index of a repository, in the form that `options` ask for.
    fn diff(&self, repository: &Path, base: &str, options: &[&str]) -> Result<Vec<u8>, GitError> {
        let fixed = ["diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let arguments: Vec<&str> =
            fixed.into_iter().chain(options.iter().copied()).chain([base, "--"]).collect();
        self.git.run(Place::bare(repository), &arguments)
    }

    /// Returns the directory of the objects from which a workspace was cloned.
    fn source_objects(&self, source: &WorkspaceSource) -> Result<PathBuf, WorkspaceError> {
        let gone = || "the repository of the workspace is gone".to_owned();
        let repository = match source.start() {
            WorkspaceSource::Git(source) => source.git.clone(),
            WorkspaceSource::Path(directory) => {
                self.repository(directory)?.map(|(top, _)| top).ok_or_else(gone)?
            }
            WorkspaceSource::Result(_) => return Err(gone().into()),
        };
        Ok(self.mirror_path(&repository).join("objects"))
    }

    /// Sets the index of a repository to a commit or tree.
    fn read_base(&self, repository: &Path, base: &str) -> Result<(), GitError> {
        self.git.run(Place::bare(repository), &["read-tree", base]).map(drop)
    }

    /// Sets the index of a repository to the files in `work_tree`. Of the files that git ignores, it has only those that it
    /// had before.
    ///
    /// In a repository inside the work tree, `git add` would run `git status` with the configuration of that repository. So
    /// such repositories are left out of it, and only their commits are recorded.
    fn add_files(&self, repository: &Path, work_tree: &Path) -> Result<(), GitError> {
        let place = Place::with_work_tree(repository, work_tree);
        release_index(repository);
        let listed = self.git.run(place, &["ls-files", "--stage", "-z"])?;
        let entries = listed.split(|byte| *byte == 0);
        let inner: Vec<&[u8]> = entries
            .filter(|entry| entry.starts_with(REPOSITORY_MODE))
            .filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1))
            .collect();
        let mut paths = b".\0".to_vec();
        for path in &inner {
            paths.extend_from_slice(&[b":(top,exclude,literal)", *path, b"\0"].concat());
        }
        let from_stdin = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let arguments: Vec<&str> = ["add", "--all"].into_iter().chain(from_stdin).collect();
        self.git.run_with_input(place, &arguments, &paths)?;
        for path in inner {
            let input = [path, b"\0"].concat();
            let arguments = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            match self.git.run_with_input(place, &arguments, &input) {
                // One that cannot be recorded stays as it was.
                Ok(_) | Err(GitError::Failed(_)) => {}
                Err(error @ GitError::Undecided(_)) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Deletes what is of no use once the changes of a workspace are recorded, and the workspace if `with_files`.
pub(crate) fn discard(path: &Path, with_files: bool) {
    // What cannot be deleted stays; the result does not depend on it.
    drop(fs::remove_dir_all(index_repository(path)));
    drop(fs::remove_dir_all(restoration::repository(path)));
    if with_files {
        drop(fs::remove_dir_all(path));
    }
}

/// Whether a directory is the top of a repository, also of a damaged one. Like git, does not count an empty `.git`.
fn is_top(directory: &Path) -> io::Result<bool> {
    let dot_git = directory.join(".git");
    Ok(match metadata_if_exists(&dot_git)? {
        Some(found) if found.is_dir() => metadata_if_exists(&dot_git.join("HEAD"))?.is_some(),
        Some(_) => true,
        None => false,
    })
}

fn metadata_if_exists(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match path.metadata() {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// Returns the revision that is the commit of a reference.
fn peeled(reference: &str) -> String {
    format!("{reference}^{{commit}}")
}

/// Returns the arguments with which git prints the hash of a revision.
fn find_commit(revision: &str) -> [&str; 5] {
    ["rev-parse", "--verify", "--quiet", "--end-of-options", revision]
}

/// Returns the file with the commit or tree with which a workspace was created.
fn base_file(workspace: &Path) -> PathBuf {
    workspace.with_file_name("base")
}

/// Returns the file with the paths in a workspace that its run does not see, a line each.
pub(crate) fn hidden_file(workspace: &Path) -> PathBuf {
    workspace.with_file_name("hidden")
}

/// Returns the repository with the index and the objects for the changes of a workspace.
fn index_repository(workspace: &Path) -> PathBuf {
    workspace.with_file_name("base.git")
}

/// Removes the lock of the index that the git of a killed driver has left. That git ends soon after its driver, and only
/// the driver of a task changes its index.
fn release_index(repository: &Path) {
    let (lock, started) = (repository.join("index.lock"), Instant::now());
    while lock.exists() && started.elapsed() < LOCK_TIME {
        thread::sleep(Duration::from_millis(50));
    }
    // It is missing nearly always; if it cannot be removed, git reports that.
    let _ = fs::remove_file(lock);
}

/// Creates an empty repository instead of what is at `path`, for hashes like `hash`.
fn fresh_repository(path: &Path, hash: &str) -> Result<PathBuf, String> {
    remove_if_exists(path)?;
    let config = match hash.len() > SHA1_DIGITS {
        true => {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
        }
        false => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    };
    fs::create_dir_all(path.join("objects/info"))
        .and_then(|()| fs::create_dir(path.join("refs")))
        .and_then(|()| fs::write(path.join("config"), config))
        .and_then(|()| fs::write(path.join("HEAD"), "ref: refs/heads/none\n"))
        .map_err(|error| error.to_string())?;
    Ok(path.to_owned())
}

/// Lets a repository use the objects in another directory.
fn borrow_objects(repository: &Path, objects: &Path) -> Result<(), String> {
    let line = format!("{}\n", utf8(objects)?);
    fs::write(repository.join("objects/info/alternates"), line).map_err(|error| error.to_string())
}

/// Returns a path next to `path` at which nothing exists, and whose parent exists.
fn fresh_sibling(path: &Path) -> Result<PathBuf, String> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let parent = new.parent().unwrap_or(&new);
    fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    remove_if_exists(&new)?;
    Ok(new)
}

fn remove_if_exists(path: &Path) -> Result<(), String> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The numbers of a file: of its device and its inode.
type FileId = (u64, u64);

fn file_id(metadata: &fs::Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

fn utf8(path: &Path) -> Result<&str, String> {
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    path.to_str().filter(|_| is_plain).ok_or_else(|| format!("`{}` is not UTF-8", path.display()))
}

#[cfg(test)]
#[path = "workspace_test.rs"]
pub(crate) mod tests;
