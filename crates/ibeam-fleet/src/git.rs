//! The user's git, without hooks, without prompts, and without the variables that lead it to another repository.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// The number of bytes of git's message that an error shows.
const MAX_MESSAGE_BYTES: usize = 400;

/// Variables with which the environment would replace the arguments.
const VARIABLES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
];

/// Runs a command without input to its end, with a limit of time.
type CommandRunner = Arc<dyn Fn(&Command) -> io::Result<Output> + Send + Sync>;

/// The program git.
#[derive(Clone)]
pub struct Git {
    program: PathBuf,
    runner: CommandRunner,
}

impl fmt::Debug for Git {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Git").field(&self.program).finish()
    }
}

impl Git {
    /// Returns the git at this path, whose commands `runner` runs: it ends them and what they started when the fleet is
    /// stopped, when they take too long, and when this process dies.
    pub fn new(
        program: PathBuf,
        runner: impl Fn(&Command) -> io::Result<Output> + Send + Sync + 'static,
    ) -> Self {
        Self { program, runner: Arc::new(runner) }
    }

    /// Returns the git of the system.
    #[cfg(test)]
    pub(crate) fn of_system() -> Self {
        Self::new("git".into(), |command| {
            let mut copy = Command::new(command.get_program());
            copy.args(command.get_args()).current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => copy.env(name, value),
                    None => copy.env_remove(name),
                };
            }
            copy.stdin(std::process::Stdio::null()).output()
        })
    }

    /// Runs git in a directory and returns its output.
    ///
    /// # Errors
    /// Its message.
    pub(crate) fn run(&self, directory: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = Command::new(&self.program);
        for name in VARIABLES {
            command.env_remove(name);
        }
        for setting in [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "submodule.recurse=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "advice.detachedHead=false",
        ] {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(directory).env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        let output = (self.runner)(&command).map_err(|error| format!("git: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = output.stderr.get(..MAX_MESSAGE_BYTES).unwrap_or(&output.stderr);
        let message = String::from_utf8_lossy(message).split_whitespace().collect::<Vec<_>>().join(" ");
        Err(format!("git: {}", if message.is_empty() { output.status.to_string() } else { message }))
    }

    /// Like [`Self::run`], for output of one line of text.
    ///
    /// # Errors
    /// Its message.
    pub(crate) fn line(&self, directory: &Path, arguments: &[&str]) -> Result<String, String> {
        let output = self.run(directory, arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }
}
