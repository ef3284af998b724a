//! Creates a worktree with the user's git: without hooks, and without programs that the configuration of the repository
//! names.
//!
//! One process at a time creates the worktree of a name; the others wait for it. What a killed process has left of one is
//! removed first.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibeam_core::Stop;
use ibeam_files::file_lock;
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
    /// The work tree of the repository.
    pub(super) top: &'a Path,
    pub(super) path: &'a Path,
    pub(super) branch: &'a str,
    /// The commit at which a new branch begins, instead of `HEAD`.
    pub(super) base: Option<&'a str>,
    /// Set until the set-up commands have run.
    pub(super) marker: &'a Path,
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
        self.check_base()?;
        let parent = self.path.parent().unwrap_or(self.path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|error| self.failed(error.to_string()))?;
        let _lock = self.lock()?;
        // Another process may have created it meanwhile.
        if self.is_complete(&incomplete) {
            return Ok(());
        }
        let is_left = incomplete.exists();
        if is_left {
            self.remove_rest();
        }
        let written = fs::write(self.marker, "").and_then(|()| fs::write(&incomplete, ""));
        written.map_err(|error| self.failed(error.to_string()))?;
        self.add(is_left).map_err(|detail| self.failed(detail))?;
        fs::remove_file(&incomplete).map_err(|error| self.failed(error.to_string()))
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

    /// Removes what a killed process has left. The branch stays.
    fn remove_rest(&self) {
        if let Some(path) = self.path.to_str() {
            // It may not be registered yet.
            let _ = self.git(&[], &["worktree", "remove", "--force", "--force", "--", path]);
        }
        let _ = fs::remove_dir_all(self.path);
    }

    /// Refuses a base that is no commit of the repository.
    fn check_base(&self) -> Result<(), Reason> {
        let commit = format!("{}^{{commit}}", self.base.unwrap_or("HEAD"));
        let found = self.git(&[], &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit]);
        let detail = match (found, self.base) {
            (Ok(_), _) => return Ok(()),
            (Err(_), _) if self.stop.reason().is_some() => return Err(self.failed(String::new())),
            (Err(_), Some(base)) => sentence!("`--worktree-base {base}` is not a branch or commit", base),
            (Err(_), None) => {
                sentence!("`--worktree` needs a commit to start from, but the repository has none")
            }
        };
        Err(Reason::Usage { detail })
    }

    /// Adds the worktree with its branch, which is created at the base, if it does not exist. With `is_left`, its path
    /// may still be registered.
    fn add(&self, is_left: bool) -> Result<(), String> {
        let mut settings = Vec::new();
        for filter in self.repository_filters()? {
            for key in ["clean=", "smudge=", "process=", "required=false"] {
                settings.push(format!("filter.{filter}.{key}"));
            }
        }
        let reference = format!("refs/heads/{}", self.branch);
        let exists = self.git(&[], &["show-ref", "--quiet", "--verify", &reference]).is_ok();
        let path = self.path.to_str().ok_or("the path is not UTF-8")?;
        let force: &[&str] = if is_left { &["--force", "--force"] } else { &[] };
        let mut arguments = [&["worktree", "add", "--quiet"], force].concat();
        match exists {
            true => arguments.extend(["--", path, self.branch]),
            false => {
                arguments.extend(["--no-track", "-b", self.branch, "--", path, self.base.unwrap_or("HEAD")])
            }
        }
        self.git(&settings, &arguments).map(drop)
    }

    /// Returns the names of the filters that the configuration of the repository defines. Those of the user are their own
    /// programs.
    fn repository_filters(&self) -> Result<Vec<String>, String> {
        let arguments = ["config", "--show-scope", "-z", "--name-only", "--get-regexp", "^filter\\."];
        // Without a filter the exit code is 1, and there is no message.
        let listed = match self.git(&[], &arguments) {
            Ok(listed) => listed,
            Err(message) if message == "git: exit status: 1" => String::new(),
            Err(message) => return Err(message),
        };
        let mut names = Vec::new();
        let mut words = listed.split('\0');
        while let (Some(scope), Some(key)) = (words.next(), words.next()) {
            let name =
                key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')).map(|(name, _)| name);
            if !["system", "global"].contains(&scope)
                && let Some(name) = name
                && !names.iter().any(|found| found == name)
            {
                if name.contains('=') {
                    return Err(format!("the configuration of the repository has a filter `{name}`"));
                }
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Runs git in the work tree and returns its stdout.
    fn git(&self, settings: &[String], arguments: &[&str]) -> Result<String, String> {
        let mut command = self.programs.command("git").ok_or("`git` is not installed")?;
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        let fixed =
            ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
        for setting in fixed.into_iter().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(self.top)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
        let output = helper_process::run_blocking(&command, self.stop, TIMEOUT);
        let output = output.map_err(|error| format!("git: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("git: {}", helper_process::failure_message(output.status, &output.stderr))),
        }
    }
}
