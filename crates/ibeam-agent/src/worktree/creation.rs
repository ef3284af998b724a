//! Creates a worktree with the user's git, which reads nothing of the repository's configuration but how its files are
//! stored: see `ibeam_git`.
//!
//! One process at a time creates the worktree of a name; the others wait for it. What a killed process has left of one is
//! removed first.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_core::Stop;
use ibeam_files::file_lock;
use ibeam_git::{Git, NewWorktree, RemoteSettings, RepositoryLocation, RepositoryView, create_branch};
use ibeam_protocol::{Reason, sentence};

use crate::helper_process;
use crate::programs::Programs;

/// The time for one command of git, and for the wait for another process that creates the worktree.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The time between two attempts to lock a name.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// A worktree to create.
pub(super) struct WorktreeSpec<'a> {
    pub(super) programs: &'a Programs,
    /// The directory of the views of repositories.
    pub(super) views: PathBuf,
    pub(super) location: &'a RepositoryLocation,
    pub(super) path: &'a Path,
    pub(super) branch: &'a str,
    /// The commit at which a new branch begins, instead of `HEAD`.
    pub(super) base: Option<&'a str>,
    /// Set until the set-up commands have run.
    pub(super) marker: &'a Path,
    /// Whether the user trusts the repository.
    pub(super) is_trusted: &'a dyn Fn() -> bool,
    pub(super) stop: &'a Stop,
}

impl WorktreeSpec<'_> {
    /// Creates the worktree unless it exists.
    ///
    /// # Errors
    /// `Usage` for an invalid base, `CannotCreate` for a failure of git; the reason of a stop.
    pub(super) fn create(&self) -> Result<(), Reason> {
        let incomplete = self.sibling("incomplete");
        if self.is_complete(&incomplete) {
            return Ok(());
        }
        let remotes =
            if (self.is_trusted)() { RemoteSettings::Addresses } else { RemoteSettings::References };
        let git = self.git(remotes).map_err(|detail| self.failed(detail))?;
        let view = RepositoryView::open(&git, self.location, remotes);
        let view = view.map_err(|detail| self.failed(detail.into()))?;
        let commit = self.find_base(&git, &view)?;
        let parent = self.path.parent().unwrap_or(self.path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|error| self.failed(error.to_string()))?;
        let _lock = self.lock()?;
        // Another process may have created it meanwhile.
        if self.is_complete(&incomplete) {
            return Ok(());
        }
        if incomplete.exists() {
            // The branch stays.
            let _ = fs::remove_dir_all(self.path);
        }
        let written = fs::write(self.marker, "").and_then(|()| fs::write(&incomplete, ""));
        written.map_err(|error| self.failed(error.to_string()))?;
        self.add(&git, &view, &commit).map_err(|detail| self.failed(detail))?;
        fs::remove_file(&incomplete).map_err(|error| self.failed(error.to_string()))
    }

    /// Returns git, whose commands end with the run. Where the repository is not trusted, Git LFS fetches nothing.
    fn git(&self, remotes: RemoteSettings) -> Result<Git, String> {
        let program = self.programs.find("git").ok_or("`git` is not installed")?;
        let stop = self.stop.clone();
        let run = move |command: &Command, input: &[u8]| {
            helper_process::run_blocking(command, input, &stop, TIMEOUT)
        };
        let git = Git::new(program, self.views.clone(), run).with_variable("PATH", self.programs.path());
        Ok(match remotes {
            RemoteSettings::Addresses => git,
            RemoteSettings::References => git.with_variable("GIT_LFS_SKIP_SMUDGE", "1"),
        })
    }

    /// Returns the path of a file about this worktree. No name begins with a dot.
    fn sibling(&self, kind: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{kind}"))
    }

    fn is_complete(&self, incomplete: &Path) -> bool {
        self.path.join(".git").is_file() && !incomplete.exists()
    }

    /// Returns the failure to create the worktree; the reason of a stop, if one was requested.
    fn failed(&self, detail: String) -> Reason {
        let path = self.path.display().to_string();
        self.stop.reason().cloned().unwrap_or(Reason::CannotCreate { path, detail })
    }

    /// Waits until no other process creates the worktree.
    fn lock(&self) -> Result<File, Reason> {
        let path = self.sibling("lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| self.failed(error.to_string()))?;
        let since = Instant::now();
        loop {
            match file_lock::try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if since.elapsed() < TIMEOUT => {}
                Err(error) => return Err(self.failed(error.to_string())),
            }
            if let Some(reason) = self.stop.reason() {
                return Err(reason.clone());
            }
            std::thread::sleep(LOCK_INTERVAL);
        }
    }

    /// Returns the hash of the commit at which a new branch begins; refuses a base that is not a commit.
    fn find_base(&self, git: &Git, view: &RepositoryView) -> Result<String, Reason> {
        let commit = format!("{}^{{commit}}", self.base.unwrap_or("HEAD"));
        let arguments = ["rev-parse", "--quiet", "--verify", "--end-of-options", &commit];
        let detail = match (git.find(view.place(), &arguments), self.base) {
            (Ok(Some(found)), _) => return Ok(found),
            (Err(error), _) => return Err(self.failed(error.into())),
            (Ok(None), Some(base)) => sentence!("`--worktree-base {base}` is not a branch or commit", base),
            (Ok(None), None) => {
                sentence!("`--worktree` needs a commit to start from, but the repository has none")
            }
        };
        Err(Reason::Usage { detail })
    }

    /// Adds the worktree with its branch, which is created at `commit`, if it does not exist.
    fn add(&self, git: &Git, view: &RepositoryView, commit: &str) -> Result<(), String> {
        let reference = format!("refs/heads/{}", self.branch);
        if git.find(view.place(), &["show-ref", "--quiet", "--verify", &reference])?.is_none() {
            create_branch(git, view, self.location, self.branch, commit)?;
        }
        NewWorktree { location: self.location, path: self.path, branch: self.branch }.create(git, view)
    }
}
