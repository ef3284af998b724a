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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitError {
    /// Git ended with an exit code. The message is git's.
    Failed(String),
    /// Git was killed, was ended at a limit of time, or could not be run. So it has answered nothing.
    Undecided(String),
}

impl fmt::Display for GitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Undecided(message) => formatter.write_str(message),
        }
    }
}

impl From<String> for GitError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<GitError> for String {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Failed(message) | GitError::Undecided(message) => message,
        }
    }
}

/// The exit code with which a command of git answers "no".
const NO: i32 = 1;
/// The lowest exit code with which a shell around git reports that a signal ended git. Git itself ends with 129 at most.
const FIRST_SIGNAL_CODE: i32 = 130;

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
    pub fn from_system(views: PathBuf) -> Self {
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

    pub(crate) fn views(&self) -> &Path {
        &self.views
    }

    /// Runs git with `input` on stdin, and returns its stdout.
    ///
    /// # Errors
    /// `Failed`, `Undecided`.
    pub fn run_with_input(
        &self,
        place: Place<'_>,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.output(place, arguments, input)?;
        if output.status.success() { Ok(output.stdout) } else { Err(failure(&output)) }
    }

    /// Runs git without input, and returns its stdout.
    ///
    /// # Errors
    /// As [`Self::run_with_input`].
    pub fn run(&self, place: Place<'_>, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.run_with_input(place, arguments, b"")
    }

    /// Like [`Self::run`], for output of one line of text.
    ///
    /// # Errors
    /// As [`Self::run_with_input`].
    pub fn line(&self, place: Place<'_>, arguments: &[&str]) -> Result<String, GitError> {
        let output = self.run(place, arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// Like [`Self::line`], for a command that searches for something and says with its exit code whether it exists. Returns
    /// `None` only if git has answered that it does not.
    ///
    /// # Errors
    /// As [`Self::run_with_input`].
    pub fn find(&self, place: Place<'_>, arguments: &[&str]) -> Result<Option<String>, GitError> {
        let output = self.output(place, arguments, b"")?;
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())),
            Some(NO) => Ok(None),
            Some(_) | None => Err(failure(&output)),
        }
    }

    fn output(&self, place: Place<'_>, arguments: &[&str], input: &[u8]) -> Result<Output, GitError> {
        let mut command = command(&self.program, place);
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).args(arguments);
        (self.runner)(&command, input).map_err(|error| {
            let message = format!("git: {error}");
            // The runner has refused a file of the work tree, as git does.
            let is_refused = error.kind() == io::ErrorKind::InvalidData;
            if is_refused { GitError::Failed(message) } else { GitError::Undecided(message) }
        })
    }
}

/// Returns the failure of a command that ended without success.
fn failure(output: &Output) -> GitError {
    let message = output.stderr.get(..MAX_MESSAGE_BYTES).unwrap_or(&output.stderr);
    let message = String::from_utf8_lossy(message).split_whitespace().collect::<Vec<_>>().join(" ");
    let message = format!("git: {}", if message.is_empty() { output.status.to_string() } else { message });
    match output.status.code() {
        Some(code) if code < FIRST_SIGNAL_CODE => GitError::Failed(message),
        Some(_) | None => GitError::Undecided(message),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    /// Returns a git whose commands end with this result of `wait`, or with this error.
    fn git(result: Result<i32, io::ErrorKind>) -> Git {
        Git::new("git".into(), "/views".into(), move |_, _| {
            let raw = result.map_err(io::Error::from)?;
            let (stdout, stderr) = (b"abc\n".to_vec(), b"fatal:\n  no".to_vec());
            Ok(Output { status: ExitStatus::from_raw(raw), stdout, stderr })
        })
    }

    #[test]
    fn only_an_exit_code_of_git_is_an_answer() {
        const KILLED: i32 = 9;
        let failed = || GitError::Failed("git: fatal: no".to_owned());
        let undecided = || GitError::Undecided("git: fatal: no".to_owned());
        for (result, found, run) in [
            (Ok(0), Ok(Some("abc".to_owned())), Ok("abc".to_owned())),
            (Ok(1 << 8), Ok(None), Err(failed())),
            (Ok(128 << 8), Err(failed()), Err(failed())),
            (Ok(KILLED), Err(undecided()), Err(undecided())),
            (Ok(137 << 8), Err(undecided()), Err(undecided())),
        ] {
            let git = git(result);
            assert_eq!(git.find(Place::default(), &["x"]), found, "{result:?}");
            assert_eq!(git.line(Place::default(), &["x"]), run, "{result:?}");
        }
        for (kind, is_refused) in [
            (io::ErrorKind::TimedOut, false),
            (io::ErrorKind::Interrupted, false),
            (io::ErrorKind::Other, false),
            (io::ErrorKind::InvalidData, true),
        ] {
            let error = git(Err(kind)).find(Place::default(), &["x"]).unwrap_err();
            assert_eq!(matches!(error, GitError::Failed(_)), is_refused, "{kind:?}");
        }
    }
}
