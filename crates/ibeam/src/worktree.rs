//! `--worktree`: a run in a git worktree of its own, with a branch of its own.
//!
//! The worktree lies in the state directory, `$XDG_STATE_HOME/ibeam/worktrees/REPOSITORY-HASH/NAME`, and stays after the
//! run: commands must not see the data directory. The user's git creates it without hooks and without programs that the
//! configuration of the repository names. The set-up commands of a new worktree run later, with the tools of the run.

mod setup_commands;

use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ibeam_config::{Trust, TrustRequest};
use ibeam_protocol::{Notice, Reason, SessionId, sentence};
use sha2::{Digest as _, Sha256};

use crate::app::resolve_workspace;
use crate::cli::Flags;
use crate::environment::variable;
use crate::git;
use crate::programs::Programs;

use setup_commands::SetupOrigin;
pub(crate) use setup_commands::WorktreeSetup;

/// The number of characters of the longest name.
const MAX_NAME_CHARS: usize = 64;
/// The number of bytes of git's message that an error shows.
const MAX_MESSAGE_BYTES: usize = 400;

/// The worktree that is the workspace of a run.
#[derive(Clone, Debug)]
pub(crate) struct Worktree {
    /// The notices about it.
    pub(crate) notices: Vec<Notice>,
    /// The set-up that it still needs.
    pub(crate) setup: Option<WorktreeSetup>,
    /// The origin of a set-up that was left out because the directory where the user started is not trusted.
    untrusted: Option<SetupOrigin>,
}

impl Worktree {
    /// Loads the set-up that was left out, from the files of the worktree `workspace`, which is trusted now.
    ///
    /// # Errors
    /// `BadConfig` for an invalid file with set-up commands.
    pub(crate) fn load_setup(&mut self, workspace: &Path, trust: &Trust) -> Result<(), Reason> {
        let Some(origin) = &self.untrusted else { return Ok(()) };
        if let Ok(setup @ Some(_)) = WorktreeSetup::load(workspace, trust, origin)? {
            self.setup = setup;
            self.untrusted = None;
            self.notices.retain(|notice| !matches!(notice, Notice::WorktreeSetupUntrusted { .. }));
        }
        Ok(())
    }
}

/// Creates the worktree that the flags ask for, or finds it, and makes it the workspace.
///
/// # Errors
/// `Usage` for an invalid name or base and outside of a repository, `CannotCreate` for a failure of git, `BadConfig` for an
/// invalid file with set-up commands; the errors of [`resolve_workspace`].
pub(crate) fn enter(flags: &mut Flags) -> Result<Option<Worktree>, Reason> {
    let Some(name) = flags.worktree.clone() else { return Ok(None) };
    let name = match name.is_empty() {
        true => format!("run-{:.8}", SessionId::random().to_string()),
        false => checked_name(name)?,
    };
    let (workspace, dirs) = resolve_workspace(flags)?;
    let no_repository = || Reason::Usage {
        detail: sentence!(
            "`--worktree` needs a git repository, but `{path}` is not in one; `git init` creates one",
            path = workspace.display(),
        ),
    };
    let top = git::repository_root(&workspace).ok_or_else(no_repository)?;
    let common = git::git_dir(top).and_then(|found| git::common_dir(&found)).ok_or_else(no_repository)?;
    let programs = Programs::new(std::env::var_os("PATH").as_deref(), vec![workspace.clone()]);
    let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.unwrap_or_else(|| dirs.home.join(".local/state")).join("ibeam");
    let (path, branch) = (worktree_path(&state, &common, &name), format!("ibeam/{name}"));
    let failed = |detail: String| Reason::CannotCreate { path: path.display().to_string(), detail };
    // No name begins with a dot.
    let marker = path.with_file_name(format!(".{name}.not-set-up"));
    if !path.join(".git").is_file() {
        check_base(&programs, top, flags.worktree_base.as_deref())?;
        let parent = path.parent().unwrap_or(&path);
        let created = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        created.and_then(|()| fs::write(&marker, "")).map_err(|error| failed(error.to_string()))?;
        add(&programs, top, &path, &branch, flags.worktree_base.as_deref()).map_err(failed)?;
    }
    let mut notices = vec![Notice::WorktreeUsed { path: path.display().to_string(), branch }];
    let (mut setup, mut untrusted) = (None, None);
    if !flags.skip_worktree_setup && marker.exists() {
        // `--trust` trusts the worktree, for whose run the commands are.
        let request = match flags.trust_request() {
            TrustRequest::Remember => TrustRequest::ThisRun,
            request @ (TrustRequest::UseStored | TrustRequest::ThisRun) => request,
        };
        let trust = Trust::evaluate(request, &dirs, &workspace);
        let origin = SetupOrigin { root: workspace.clone(), marker };
        match WorktreeSetup::load(&workspace, &trust, &origin)? {
            Ok(found) => setup = found,
            Err(notice) => {
                notices.push(notice);
                untrusted = Some(origin);
            }
        }
    }
    let prefix = workspace.strip_prefix(top).unwrap_or(Path::new(""));
    let inner = path.join(prefix);
    flags.workspace = Some(if inner.is_dir() { inner } else { path.clone() });
    Ok(Some(Worktree { notices, setup, untrusted }))
}

/// Returns a name that may be part of a path and of a branch.
fn checked_name(name: String) -> Result<String, Reason> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_valid = name.chars().all(is_allowed)
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.starts_with(['-', '.'])
        && !name.ends_with('.')
        && !name.ends_with(".lock")
        && !name.contains("..");
    match is_valid {
        true => Ok(name),
        false => Err(Reason::Usage {
            detail: sentence!(
                "`--worktree={name}`: a name has at most {count} letters, digits, `-`, `_` and `.`",
                name,
                count = MAX_NAME_CHARS
            ),
        }),
    }
}

/// Returns the directory of a worktree of the repository with this git directory.
fn worktree_path(state: &Path, common: &Path, name: &str) -> PathBuf {
    let hash: String = Sha256::digest(common.as_os_str().as_bytes())
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // `.git` lies in the work tree; a bare repository has a name of its own.
    let named = if common.ends_with(".git") { common.parent() } else { Some(common) };
    let repository = named.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    state.join("worktrees").join(format!("{repository}-{hash}")).join(name)
}

/// Refuses a base that is no commit of the repository.
fn check_base(programs: &Programs, top: &Path, base: Option<&str>) -> Result<(), Reason> {
    let commit = format!("{}^{{commit}}", base.unwrap_or("HEAD"));
    let found = run(programs, top, &[], &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit]);
    let detail = match (found, base) {
        (Ok(_), _) => return Ok(()),
        (Err(_), Some(base)) => sentence!("`--worktree-base {base}` is not a branch or commit", base),
        (Err(_), None) => sentence!("`--worktree` needs a commit to start from, but the repository has none"),
    };
    Err(Reason::Usage { detail })
}

/// Adds a worktree at `path` with `branch`, which is created at `base`, else at `HEAD`, if it does not exist.
fn add(programs: &Programs, top: &Path, path: &Path, branch: &str, base: Option<&str>) -> Result<(), String> {
    let mut settings = Vec::new();
    for filter in repository_filters(programs, top)? {
        for key in ["clean=", "smudge=", "process=", "required=false"] {
            settings.push(format!("filter.{filter}.{key}"));
        }
    }
    let reference = format!("refs/heads/{branch}");
    let exists = run(programs, top, &[], &["show-ref", "--quiet", "--verify", &reference]).is_ok();
    let path = path.to_str().ok_or("the path is not UTF-8")?;
    let arguments: &[&str] = match exists {
        true => &["worktree", "add", "--quiet", "--", path, branch],
        false => {
            &["worktree", "add", "--quiet", "--no-track", "-b", branch, "--", path, base.unwrap_or("HEAD")]
        }
    };
    run(programs, top, &settings, arguments).map(drop)
}

/// Returns the names of the filters that the configuration of the repository defines. Those of the user are their own
/// programs.
fn repository_filters(programs: &Programs, top: &Path) -> Result<Vec<String>, String> {
    let arguments = ["config", "--show-scope", "-z", "--name-only", "--get-regexp", "^filter\\."];
    // Without a filter the exit code is 1, and there is no message.
    let listed = match run(programs, top, &[], &arguments) {
        Ok(listed) => listed,
        Err(message) if message == "exit status: 1" => String::new(),
        Err(message) => return Err(message),
    };
    let mut names = Vec::new();
    let mut words = listed.split('\0');
    while let (Some(scope), Some(key)) = (words.next(), words.next()) {
        let name = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')).map(|(name, _)| name);
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

/// Runs git in the work tree `top` and returns its stdout.
fn run(programs: &Programs, top: &Path, settings: &[String], arguments: &[&str]) -> Result<String, String> {
    let mut command: Command = programs.command("git").ok_or("`git` is not installed")?;
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    let fixed = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
    for setting in fixed.into_iter().chain(settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command
        .args(arguments)
        .current_dir(top)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = output.stderr.get(..MAX_MESSAGE_BYTES).unwrap_or(&output.stderr);
    let message = String::from_utf8_lossy(message).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(if message.is_empty() { output.status.to_string() } else { format!("git: {message}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_safe_in_paths_and_branches_are_accepted() {
        for name in ["fix", "fix-1", "A.b_c"] {
            assert_eq!(checked_name(name.to_owned()).as_deref(), Ok(name));
        }
        for name in ["-x", ".x", "a/b", "..", "a..b", "x.lock", "x.", "a b", "ä", &"x".repeat(65)] {
            assert!(checked_name(name.to_owned()).is_err(), "{name}");
        }
    }
}
