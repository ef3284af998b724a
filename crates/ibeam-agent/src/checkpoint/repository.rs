//! The repository of a workspace, and the one of this program with its checkpoints.
//!
//! Commands run in a git directory of this program, `<data>/checkpoints/<hash>.git`, which borrows the objects of the
//! repository and has its own objects and references. So git reads neither the configuration of the repository nor its
//! hooks, filters, remotes and index, nothing is written to the repository, and commands of models, which cannot see the
//! data directory, can neither read nor change what was saved. The attributes of the files are without effect: what is
//! saved are the bytes of the files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ibeam_config::Dirs;
use ibeam_files::{private_file, regular_file};
use ibeam_git::{Place, RepositoryLocation};
use ibeam_policy::PathPolicy;
use ibeam_tools::HiddenFiles;
use sha2::{Digest as _, Sha256};

use super::object_id::HashAlgorithm;
use super::object_store::ObjectStore;
use crate::git;
use crate::helper_process;
use crate::programs::Programs;

/// The size limit of a file with ignore rules, and of the configuration of a repository, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The size limit of the file of packed references, in bytes.
const MAX_PACKED_BYTES: u64 = 64 << 20;
/// The attributes that switch every conversion of file contents off.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding -eol -crlf\n";
/// Settings that override the configuration of the user, besides those of every command.
const SETTINGS: [&str; 12] = [
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.quotePath=true",
    "core.logAllRefUpdates=false",
    "core.fsyncMethod=batch",
    "index.version=2",
];

/// The reason why files could not be saved, compared or restored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("`git` is not installed")]
    NoGit,
    #[error("`git {command}` failed: {detail}")]
    Git { command: String, detail: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{0}")]
    Earlier(String),
    #[error("the workspace has more than {limit} new or changed {unit}")]
    TooLarge { limit: u64, unit: &'static str },
    #[error("it took longer than {0:?}")]
    TimedOut(std::time::Duration),
    #[error("object {0} of the checkpoint is missing or damaged")]
    Damaged(String),
}

impl CheckpointError {
    /// Returns the error of an operation on `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }
}

#[derive(Clone)]
pub struct Repository {
    pub(super) programs: Programs,
    /// The root of the work tree.
    pub(super) top: PathBuf,
    /// The workspace relative to `top`; empty if it is `top`.
    pub(super) prefix: PathBuf,
    /// The directories of the repository.
    pub(super) location: RepositoryLocation,
    /// The git directory of this program.
    own_dir: PathBuf,
    pub(super) views: PathBuf,
    /// The directory of the stored sessions.
    pub(super) sessions: PathBuf,
    /// The directories of this program, which are never saved.
    own_directories: Vec<PathBuf>,
    /// The files that commands do not see, which are not saved.
    hidden: Arc<HiddenFiles>,
    /// The number of bytes of objects that were written without compression.
    pub(super) written: Arc<AtomicU64>,
}

/// The git directory and index of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum GitSetup<'a> {
    /// The git directory of this program with this index.
    Own(Option<&'a Path>),
    /// The git directory of this program with the index of the repository, for reading.
    UserIndex,
}

impl Repository {
    /// Returns the repository of `workspace`, a real path; `None` if it is in none, or in one whose `.git` cannot be
    /// trusted.
    pub fn find(workspace: &Path, dirs: &Dirs, programs: &Programs, path_policy: PathPolicy) -> Option<Self> {
        let top = git::repository_root(workspace)?;
        let location = RepositoryLocation::for_work_tree(top)?;
        let is_own_directory = |path: &Path| {
            let found = path.symlink_metadata();
            found.is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
        };
        let objects = location.common_dir.join("objects");
        let is_usable = is_own_directory(&location.common_dir) && is_own_directory(&objects);
        // Git reads the path as a line of a file.
        if !is_usable || objects.as_os_str().as_bytes().contains(&b'\n') {
            return None;
        }
        let mut hash = Sha256::new();
        for path in [&location.common_dir, workspace] {
            hash.update(path.as_os_str().as_bytes());
            hash.update([0]);
        }
        let name: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let own = [&dirs.data, &dirs.cache, dirs.config_directory()];
        Some(Self {
            programs: programs.clone(),
            top: top.to_owned(),
            prefix: workspace.strip_prefix(top).ok()?.to_owned(),
            location,
            own_dir: dirs.data.join("checkpoints").join(format!("{name}.git")),
            views: dirs.git_views(),
            sessions: dirs.sessions(),
            own_directories: own
                .into_iter()
                .filter_map(|path| path.canonicalize().ok())
                // A worktree of this program lies in its data directory.
                .filter(|own| own.starts_with(top))
                .collect(),
            hidden: Arc::new(HiddenFiles::new(path_policy)),
            written: Arc::default(),
        })
    }

    /// Whether there may be checkpoints of the workspace.
    pub fn has_references(&self) -> bool {
        self.own_dir.join("refs/ibeam").exists() || self.has_earlier_references()
    }

    /// Whether the repository may have the references of an earlier version, which kept checkpoints there.
    pub(super) fn has_earlier_references(&self) -> bool {
        let packed = regular_file::read(&self.location.common_dir.join("packed-refs"), MAX_PACKED_BYTES);
        let is_packed = packed.is_ok_and(|lines| {
            lines
                .split(|byte| *byte == b'\n')
                .any(|line| line.windows(12).any(|part| part == b" refs/ibeam/"))
        });
        is_packed || self.location.common_dir.join("refs/ibeam").exists()
    }

    /// Returns the git directory of this program.
    pub fn own_dir(&self) -> &Path {
        &self.own_dir
    }

    /// Returns the program git and its `PATH`.
    ///
    /// # Errors
    /// `NoGit`.
    pub(super) fn program(&self) -> Result<(PathBuf, OsString), CheckpointError> {
        let program = self.programs.find("git").ok_or(CheckpointError::NoGit)?;
        Ok((program, self.programs.path()))
    }

    /// Returns the objects of checkpoints, with those of the repository.
    pub(super) fn object_store(&self) -> ObjectStore {
        let borrowed = self.location.common_dir.join("objects");
        let own = self.own_dir.join("objects");
        ObjectStore::open(own, &borrowed, self.hash_algorithm(), Arc::clone(&self.written))
    }

    /// Returns the hash function of this repository's objects.
    pub(super) fn hash_algorithm(&self) -> HashAlgorithm {
        let config =
            regular_file::read(&self.location.common_dir.join("config"), MAX_FILE_BYTES).unwrap_or_default();
        let text: String = String::from_utf8_lossy(&config).to_lowercase().split_whitespace().collect();
        match text.contains("objectformat=sha256") {
            true => HashAlgorithm::Sha256,
            false => HashAlgorithm::Sha1,
        }
    }

    /// Whether the file at `path`, absolute, is never saved and never restored: it is hidden from commands, or one of this
    /// program.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.own_directories.iter().any(|own| path.starts_with(own)) || self.hidden.contains(path)
    }

    /// Whether a file with this metadata is another name of a hidden one.
    pub(super) fn is_hidden_by_another_name(&self, metadata: &fs::Metadata) -> bool {
        self.hidden.has_other_name(metadata)
    }

    /// Whether some files of the work tree are never saved.
    pub(super) fn has_exclusions(&self) -> bool {
        !self.own_directories.is_empty() || self.hidden.may_be_below(&self.top)
    }

    /// Returns the path of the index that this program keeps.
    pub(super) fn index(&self) -> PathBuf {
        self.own_dir.join("index")
    }

    /// Creates the git directory of this program, and updates its copy of the ignore rules.
    pub(super) fn prepare(&self) -> Result<(), CheckpointError> {
        for directory in ["refs", "objects/info", "info"].map(|name| self.own_dir.join(name)) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(CheckpointError::io(&directory))?;
        }
        let config = match self.hash_algorithm() {
            HashAlgorithm::Sha256 => {
                "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
            }
            HashAlgorithm::Sha1 => "[core]\n\trepositoryformatversion = 0\n",
        };
        let excluded = regular_file::read(&self.location.common_dir.join("info/exclude"), MAX_FILE_BYTES);
        let excluded = excluded.unwrap_or_default();
        let borrowed = self.location.common_dir.join("objects");
        let borrowed = [borrowed.as_os_str().as_bytes(), b"\n"].concat();
        let files: [(&str, &[u8]); 5] = [
            ("HEAD", b"ref: refs/heads/none\n"),
            ("config", config.as_bytes()),
            ("info/attributes", ATTRIBUTES.as_bytes()),
            ("info/exclude", &excluded),
            ("objects/info/alternates", &borrowed),
        ];
        for (name, content) in files {
            let path = self.own_dir.join(name);
            if fs::read(&path).ok().as_deref() != Some(content) {
                private_file::replace(&path, content).map_err(CheckpointError::io(&path))?;
            }
        }
        Ok(())
    }

    /// Returns a git command with these arguments.
    ///
    /// # Errors
    /// `NoGit`.
    pub(super) fn command<A: AsRef<OsStr>>(
        &self,
        setup: GitSetup<'_>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Command, CheckpointError> {
        let (program, search_path) = self.program()?;
        let mut command = ibeam_git::command(&program, Place::with_work_tree(&self.own_dir, &self.top));
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).env("PATH", search_path).envs([
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_ADVICE", "0"),
        ]);
        let index = match setup {
            GitSetup::Own(index) => index.map_or_else(|| self.own_dir.join("none"), Path::to_owned),
            GitSetup::UserIndex => self.location.git_dir.join("index"),
        };
        command.env("GIT_INDEX_FILE", index);
        Ok(command)
    }

    /// Runs a git command with `input` on stdin, and returns its stdout.
    ///
    /// # Errors
    /// `NoGit`; `Git` if it cannot be started or fails.
    pub(super) async fn run<A: AsRef<OsStr>>(
        &self,
        setup: GitSetup<'_>,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, CheckpointError> {
        let arguments: Vec<OsString> =
            arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |detail: String| CheckpointError::Git { command: name.clone(), detail };
        let command = self.command(setup, &arguments)?;
        run_command(&command, input).await.map_err(failed)
    }
}

/// Runs a command with `input` on stdin, and returns its stdout.
///
/// # Errors
/// The message of the command or of the system.
pub(super) async fn run_command(command: &Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let output = helper_process::run(command, input).await.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(helper_process::failure_message(output.status, &output.stderr)),
    }
}

/// Returns the text of a line that git printed.
pub(super) fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

/// Returns the paths of a list that git printed with `-z`.
pub(super) fn paths(output: &[u8]) -> impl Iterator<Item = &Path> {
    output
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| Path::new(OsStr::from_bytes(path)))
}
