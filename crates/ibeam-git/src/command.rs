//! The one form in which this program starts git.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// The number of bytes of git's message that an error shows.
const MAX_MESSAGE_BYTES: usize = 400;

/// Settings that come before those of the user: git starts nothing that the command does not need.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.submodule=short",
    "advice.detachedHead=false",
];

/// Variables of every command.
const VARIABLES: [(&str, &str); 5] = [
    // A missing object is never fetched: the repository names the program that would fetch it.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// The directories of a command, all made by this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The git directory; `None` for a command that creates one.
    pub git_dir: Option<&'a Path>,
    /// The work tree, which is then the working directory.
    pub work_tree: Option<&'a Path>,
}

impl<'a> Place<'a> {
    /// Returns a git directory without a work tree.
    pub fn bare(git_dir: &'a Path) -> Self {
        Self { git_dir: Some(git_dir), work_tree: None }
    }

    /// Returns a git directory and its work tree.
    pub fn with_work_tree(git_dir: &'a Path, work_tree: &'a Path) -> Self {
        Self { git_dir: Some(git_dir), work_tree: Some(work_tree) }
    }
}

/// Returns the command `program`, which is git, at a place. It inherits no variable with which the environment would change
/// its configuration, its directories or its programs. The caller appends the arguments.
pub fn command(program: &Path, place: Place<'_>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command.envs(VARIABLES).current_dir(place.work_tree.unwrap_or(Path::new("/")));
    match place.git_dir {
        Some(git_dir) => command.env("GIT_DIR", git_dir),
        // A command without a git directory searches none.
        None => command.env("GIT_CEILING_DIRECTORIES", "/").env("GIT_DIR", "/dev/null/none"),
    };
    if let Some(work_tree) = place.work_tree {
        command.env("GIT_WORK_TREE", work_tree).args(["-c", "core.bare=false"]);
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

/// Runs a command with input to its end, within a limit of time.
type CommandRunner = Arc<dyn Fn(&Command, &[u8]) -> io::Result<Output> + Send + Sync>;

/// The program git, with a way to run it.
#[derive(Clone)]
pub struct Git {
    program: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    views: PathBuf,
    runner: CommandRunner,
}

impl fmt::Debug for Git {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Git").field(&self.program).finish()
    }
}

impl Git {
    /// Returns the git at this path, whose commands `runner` runs: it ends them and what they started when the work is
    /// stopped, when they take too long, and when this process dies. Views of repositories are made in the directory
    /// `views`, which commands of models cannot change.
    pub fn new(
        program: PathBuf,
        views: PathBuf,
        runner: impl Fn(&Command, &[u8]) -> io::Result<Output> + Send + Sync + 'static,
    ) -> Self {
        Self { program, variables: Vec::new(), views, runner: Arc::new(runner) }
    }

    /// Sets a variable for git and its programs.
    #[must_use]
    pub fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Returns the git of the system, for tests.
    pub fn of_system(views: PathBuf) -> Self {
        Self::new("git".into(), views, |command, input| {
            let mut copy = Command::new(command.get_program());
            copy.args(command.get_args()).current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => copy.env(name, value),
                    None => copy.env_remove(name),
                };
            }
            let piped = std::process::Stdio::piped;
            let mut child = copy.stdin(piped()).stdout(piped()).stderr(piped()).spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                io::Write::write_all(&mut stdin, input)?;
            }
            child.wait_with_output()
        })
    }

    /// Returns the directory of views.
    pub(crate) fn views(&self) -> &Path {
        &self.views
    }

    /// Runs git with `input` on stdin, and returns its stdout.
    ///
    /// # Errors
    /// Its message; only its exit status, if it printed none.
    pub fn run_with_input(
        &self,
        place: Place<'_>,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let mut command = command(&self.program, place);
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).args(arguments);
        let output = (self.runner)(&command, input).map_err(|error| format!("git: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = output.stderr.get(..MAX_MESSAGE_BYTES).unwrap_or(&output.stderr);
        let message = String::from_utf8_lossy(message).split_whitespace().collect::<Vec<_>>().join(" ");
        Err(format!("git: {}", if message.is_empty() { output.status.to_string() } else { message }))
    }

    /// Runs git without input, and returns its stdout.
    ///
    /// # Errors
    /// As [`Self::run_with_input`].
    pub fn run(&self, place: Place<'_>, arguments: &[&str]) -> Result<Vec<u8>, String> {
        self.run_with_input(place, arguments, b"")
    }

    /// Like [`Self::run`], for output of one line of text.
    ///
    /// # Errors
    /// As [`Self::run_with_input`].
    pub fn line(&self, place: Place<'_>, arguments: &[&str]) -> Result<String, String> {
        let output = self.run(place, arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }
}
