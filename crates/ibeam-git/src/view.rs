//! A view of a repository: a git directory of this program with the objects and references of the repository, and with
//! nothing of its configuration that could name a program.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ibeam_files::regular_file;

use crate::blocking_files::{OBJECT_FILES, blocks};
use crate::command::{Git, GitError, Place};
use crate::location::RepositoryLocation;
use crate::settings::{self, Format, Setting};

pub use crate::settings::RemoteSettings;

/// The size limit of a configuration and of the other small files, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Files of the git directory that commits can be named by.
const NAMING_FILES: [&str; 4] = ["FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"];

/// The age of a view that no process uses any more: commands of git may take ten minutes.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of views that this process has made.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A view of a repository, deleted with the value.
#[derive(Debug)]
pub struct RepositoryView {
    path: PathBuf,
    format: Format,
}

impl Drop for RepositoryView {
    fn drop(&mut self) {
        // Links are removed, and what they lead to stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl RepositoryView {
    /// Makes a view of a repository.
    ///
    /// # Errors
    /// `Failed` for a file that cannot be read and for an unknown format, `Undecided`.
    pub fn open(git: &Git, location: &RepositoryLocation, remotes: RemoteSettings) -> Result<Self, GitError> {
        let path =
            create_directory(git.views()).map_err(|error| format!("`{}`: {error}", git.views().display()))?;
        let mut view = Self { path, format: Format::default() };
        view.link(location).map_err(|error| format!("`{}`: {error}", location.git_dir.display()))?;
        view.write("config", "[core]\n\trepositoryformatversion = 0\n")?;
        let shared = view.list(git, &location.common_dir.join("config"))?;
        view.format = settings::format(&shared)?;
        view.write("config", &settings::render(view.format, &shared, remotes))?;
        if view.format.has_worktree_config {
            let own = view.list(git, &location.git_dir.join("config.worktree"))?;
            view.write("config.worktree", &settings::render_needed(&own, remotes))?;
        }
        Ok(view)
    }

    /// Returns the git directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the place of commands.
    pub fn place(&self) -> Place<'_> {
        Place::bare(&self.path)
    }

    /// Whether the hashes are SHA-256.
    pub fn is_sha256(&self) -> bool {
        self.format.is_sha256
    }

    /// Whether the references are in tables, and not in files.
    pub(crate) fn has_reftable(&self) -> bool {
        self.format.has_reftable
    }

    /// Whether each work tree has a configuration of its own.
    pub(crate) fn has_worktree_config(&self) -> bool {
        self.format.has_worktree_config
    }

    /// Creates the links to the repository, and copies of its small files.
    fn link(&self, location: &RepositoryLocation) -> io::Result<()> {
        let RepositoryLocation { git_dir, common_dir } = location;
        for name in ["objects", "refs", "reftable", "lfs"] {
            let target = common_dir.join(name);
            if target.is_dir() {
                symlink(target, self.path.join(name))?;
            }
        }
        if let Some(name) = OBJECT_FILES.iter().find(|name| blocks(common_dir.join(name)).is_some()) {
            return Err(io::Error::other(format!("`{name}` is not a regular file")));
        }
        let packed = common_dir.join("packed-refs");
        match packed.symlink_metadata() {
            Ok(found) if found.is_file() => symlink(packed, self.path.join("packed-refs"))?,
            Ok(_) => return Err(io::Error::other("`packed-refs` is not a regular file")),
            Err(_) => {}
        }
        for name in ["info", "logs"] {
            fs::create_dir(self.path.join(name))?;
        }
        symlink(git_dir.join("logs/HEAD"), self.path.join("logs/HEAD"))?;
        symlink(common_dir.join("logs/refs"), self.path.join("logs/refs"))?;
        fs::write(self.path.join("HEAD"), read(&git_dir.join("HEAD"))?)?;
        let shared = ["info/attributes", "shallow"].map(|name| (common_dir, name));
        let own = NAMING_FILES.iter().chain(&["info/sparse-checkout"]).map(|name| (git_dir, *name));
        for (directory, name) in shared.into_iter().chain(own) {
            match read(&directory.join(name)) {
                Ok(content) => fs::write(self.path.join(name), content)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("`{name}`: {error}"))),
            }
        }
        Ok(())
    }

    /// Returns the settings of a file, without those of files that it includes.
    fn list(&self, git: &Git, path: &Path) -> Result<Vec<Setting>, GitError> {
        let content = match regular_file::read(path, MAX_FILE_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| format!("`{}`: {error}", path.display()))?,
        };
        let arguments = ["config", "--file", "-", "--no-includes", "-z", "--list"];
        Ok(settings::parse(&git.run_with_input(self.place(), &arguments, &content)?))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write(self.path.join(name), text).map_err(|error| format!("`{}`: {error}", self.path.display()))
    }
}

/// Reads a small file that is not a link.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read_all(&regular_file::open(path, false)?, MAX_FILE_BYTES)
}

/// Creates a directory for a view, and removes what killed processes have left.
fn create_directory(parent: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    for entry in fs::read_dir(parent)?.flatten() {
        let created_at = entry.metadata().and_then(|found| found.modified()).ok();
        if created_at.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LEFT_AFTER) {
            // The next view tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    loop {
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
}
