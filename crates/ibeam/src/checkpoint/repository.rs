//! The repository of a workspace, and git commands that run no program of the repository.
//!
//! Commands run in a git directory of this program, `<data>/checkpoints/<hash>`, which shares only the objects of the
//! repository. So git reads neither the configuration of the repository nor its hooks, filters, remotes and index. The
//! attributes of the files are without effect: what is saved are the bytes of the files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_config::Dirs;
use ibeam_files::{private_file, regular_file};
use ibeam_policy::PathPolicy;
use sha2::{Digest as _, Sha256};

use crate::git;
use crate::helper_process;
use crate::programs::Programs;

/// The size limit of a file with ignore rules, and of the configuration of a repository, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The attributes that switch every conversion of file contents off.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding -eol -crlf\n";
/// Settings that override the configuration of the user.
const SETTINGS: [&str; 16] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
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
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The reason why files could not be saved, compared or restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error("`git` is not installed")]
    NoGit,
    #[error("`git {command}` failed: {detail}")]
    Git { command: String, detail: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{0}")]
    Unsafe(String),
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

/// The repository of a workspace.
pub(crate) struct Repository {
    programs: Programs,
    /// The root of the work tree.
    pub(super) top: PathBuf,
    /// The workspace relative to `top`; empty if it is `top`.
    pub(super) prefix: PathBuf,
    /// The git directory of the work tree.
    git_dir: PathBuf,
    /// The directory of the objects and references.
    common_dir: PathBuf,
    /// The git directory of this program.
    own_dir: PathBuf,
    /// The directory of the stored sessions.
    pub(super) sessions: PathBuf,
    /// The directories of this program, which are never saved.
    own_directories: Vec<PathBuf>,
    /// The rules that deny to read files, which are then not saved.
    path_policy: PathPolicy,
}

/// The git directory and index of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum GitSetup<'a> {
    /// The git directory of this program with this index.
    Own(Option<&'a Path>),
    /// The git directory of this program with the index of the repository, for reading.
    UserIndex,
    /// The git directory of the repository, for its references.
    References,
}

impl Repository {
    /// Returns the repository of `workspace`, a real path; `None` if it is in none, or in one whose `.git` cannot be
    /// trusted.
    pub(crate) fn find(
        workspace: &Path,
        dirs: &Dirs,
        programs: &Programs,
        path_policy: PathPolicy,
    ) -> Option<Self> {
        let top = git::repository_root(workspace)?;
        let git_dir = git::git_dir(top)?;
        let common_dir = git::common_dir(&git_dir)?;
        let is_own_directory = |path: &Path| {
            let found = path.symlink_metadata();
            found.is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
        };
        let parts = [common_dir.clone(), common_dir.join("objects"), common_dir.join("refs")];
        if !parts.iter().all(|path| is_own_directory(path)) {
            return None;
        }
        let mut hash = Sha256::new();
        for path in [&common_dir, workspace] {
            hash.update(path.as_os_str().as_bytes());
            hash.update([0]);
        }
        let name: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let own = [&dirs.data, &dirs.cache, dirs.config_directory()];
        Some(Self {
            programs: programs.clone(),
            top: top.to_owned(),
            prefix: workspace.strip_prefix(top).ok()?.to_owned(),
            git_dir,
            common_dir,
            own_dir: dirs.data.join("checkpoints").join(name),
            sessions: dirs.sessions(),
            own_directories: own
                .into_iter()
                .filter_map(|path| path.canonicalize().ok())
                // A worktree of this program lies in its data directory.
                .filter(|own| own.starts_with(top))
                .collect(),
            path_policy,
        })
    }

    /// Whether the repository may have references of checkpoints.
    pub(crate) fn has_references(&self) -> bool {
        let has_file = |name| self.common_dir.join(name).exists();
        self.own_dir.exists() && (has_file("refs/ibeam") || has_file("packed-refs"))
    }

    /// Returns the name of the hash of this repository's objects.
    pub(super) fn uses_sha256(&self) -> bool {
        let config = regular_file::read(&self.common_dir.join("config"), MAX_FILE_BYTES).unwrap_or_default();
        let text: String = String::from_utf8_lossy(&config).to_lowercase().split_whitespace().collect();
        text.contains("objectformat=sha256")
    }

    /// Whether the file at `path`, absolute, is never saved.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.own_directories.iter().any(|own| path.starts_with(own)) || self.path_policy.denies_read(path)
    }

    /// Whether some files are never saved.
    pub(super) fn has_exclusions(&self) -> bool {
        self.path_policy.has_read_denials() || !self.own_directories.is_empty()
    }

    /// Returns the path of the index that this program keeps.
    pub(super) fn index(&self) -> PathBuf {
        self.own_dir.join("index")
    }

    /// Creates the git directory of this program, and updates its copy of the ignore rules.
    ///
    /// # Errors
    /// `Io`; `Unsafe` for a link among the directories of the repository that are written.
    pub(super) fn prepare(&self) -> Result<(), CheckpointError> {
        self.reject_links()?;
        for directory in [self.own_dir.join("refs"), self.own_dir.join("objects"), self.own_dir.join("info")]
        {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(CheckpointError::io(&directory))?;
        }
        let config = match self.uses_sha256() {
            true => "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
            false => "[core]\n\trepositoryformatversion = 0\n",
        };
        let excluded = regular_file::read(&self.common_dir.join("info/exclude"), MAX_FILE_BYTES);
        let excluded = excluded.unwrap_or_default();
        let files: [(&str, &[u8]); 4] = [
            ("HEAD", b"ref: refs/heads/none\n"),
            ("config", config.as_bytes()),
            ("info/attributes", ATTRIBUTES.as_bytes()),
            ("info/exclude", &excluded),
        ];
        for (name, content) in files {
            let path = self.own_dir.join(name);
            if fs::read(&path).ok().as_deref() != Some(content) {
                private_file::replace(&path, content).map_err(CheckpointError::io(&path))?;
            }
        }
        Ok(())
    }

    /// Refuses links at which git would leave the repository while it writes objects and references.
    fn reject_links(&self) -> Result<(), CheckpointError> {
        let objects = self.common_dir.join("objects");
        let mut entries = fs::read_dir(&objects).map_err(CheckpointError::io(&objects))?.flatten();
        let link = entries.find(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let references = self.common_dir.join("refs/ibeam");
        let is_link = references.symlink_metadata().is_ok_and(|found| found.is_symlink());
        match link.map(|entry| entry.path()).or_else(|| is_link.then_some(references)) {
            Some(path) => Err(CheckpointError::Unsafe(format!("`{}` is a symbolic link", path.display()))),
            None => Ok(()),
        }
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
        let mut command = self.programs.command("git").ok_or(CheckpointError::NoGit)?;
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(&self.top).envs([
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ADVICE", "0"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C"),
        ]);
        match setup {
            GitSetup::Own(index) => {
                command.env("GIT_DIR", &self.own_dir).env("GIT_WORK_TREE", &self.top);
                command.env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"));
                command
                    .env("GIT_INDEX_FILE", index.map_or_else(|| self.own_dir.join("none"), Path::to_owned));
            }
            GitSetup::UserIndex => {
                command.env("GIT_DIR", &self.own_dir).env("GIT_WORK_TREE", &self.top);
                command.env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"));
                command.env("GIT_INDEX_FILE", self.git_dir.join("index"));
            }
            GitSetup::References => {
                command.env("GIT_DIR", &self.common_dir).current_dir("/");
            }
        }
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
    let output = helper_process::run(command, input).await?;
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
