//! Starts bash for a command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ibeam_process::{CommandSpec, PipedProcess, ProcessTree, SpawnError, StartProcessError, bash_arguments};
use rustix::io::Errno;

use super::background::BackgroundProcesses;
use super::environment::{self, find_bash};
use super::output_capture::OutputCapture;
use crate::editor_lock::CommandPermit;
use crate::file_error::errno_name;
use crate::tool_settings::ToolSettings;
use crate::workspace::Workspace;

/// Starts commands with bash and the filtered environment.
pub(super) struct BashLauncher {
    bash: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

#[derive(Debug)]
pub(super) struct RunningCommand {
    /// bash and all processes that it starts.
    pub(super) tree: ProcessTree,
    pub(super) output: OutputCapture,
    /// The directory in which the command started.
    pub(super) directory: PathBuf,
    /// When the command started.
    pub(super) started: Instant,
    /// Keeps an editor from opening files while the command runs.
    _editor_permit: Option<CommandPermit>,
}

impl BashLauncher {
    /// Returns a launcher whose commands get the filtered environment, without interactive prompts.
    pub(super) fn new(workspace: &Workspace, settings: &ToolSettings) -> Self {
        let roots: Vec<&Path> = workspace.directories().collect();
        let own_environment = &settings.environment;
        let mut environment = environment::filter_environment(
            own_environment.clone(),
            &settings.extra_variables,
            &settings.secret_variables,
            &roots,
        );
        let non_interactive =
            NON_INTERACTIVE_VARIABLES.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        for (name, value) in non_interactive.into_iter().chain(settings.command_environment.iter().cloned()) {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        }
        environment::add_git_settings(&mut environment);
        let has_proxy = settings.command_environment.iter().any(|(name, _)| name == "HTTPS_PROXY");
        if settings.background.launcher().is_confined() && !has_proxy {
            environment::add_offline_settings(&mut environment);
        }
        Self { bash: find_bash(own_environment, &roots), environment }
    }

    /// Starts bash with `command` in `directory`, which exists. `editor_permit` is kept as long as the command runs. Must be
    /// called within an async runtime.
    ///
    /// # Errors
    /// One line for the model: bash is missing, or the system's error.
    pub(super) fn start(
        &self,
        command: &str,
        directory: &Path,
        processes: &BackgroundProcesses,
        editor_permit: Option<CommandPermit>,
    ) -> Result<RunningCommand, String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and commands need it")?;
        let mut environment = self.environment.clone();
        // `pwd` prints it; bash uses it only if it names the current directory.
        environment.push(("PWD".into(), directory.into()));
        let started = Instant::now();
        let arguments = bash_arguments(command);
        let command =
            CommandSpec { program: bash, arguments: &arguments, environment: &environment, directory };
        let PipedProcess { tree, stdout, stderr } =
            processes.spawn(&command).map_err(|error| error_text(&error))?;
        let output = OutputCapture::new(stdout, stderr);
        Ok(RunningCommand {
            tree,
            output,
            directory: directory.to_owned(),
            started,
            _editor_permit: editor_permit,
        })
    }
}

/// Commands have no input, so nothing may prompt, page or open an editor.
const NON_INTERACTIVE_VARIABLES: [(&str, &str); 9] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Returns the error as a line for the model.
fn error_text(error: &StartProcessError) -> String {
    let errno = match error {
        StartProcessError::Spawn(SpawnError::System(Errno::TOOBIG)) => {
            return "the command is too long for the system (E2BIG); write it to a file and run that"
                .to_owned();
        }
        StartProcessError::Spawn(SpawnError::System(errno)) => Some(*errno),
        StartProcessError::Spawn(SpawnError::NulByte | SpawnError::ServerLost | SpawnError::Sandbox(_)) => {
            None
        }
        StartProcessError::Pipe(error) => Errno::from_io_error(error),
    };
    let detail = errno.map_or_else(|| error.to_string(), errno_name);
    format!("the command could not be started: {detail}")
}
