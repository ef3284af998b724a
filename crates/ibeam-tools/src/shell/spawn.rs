//! Starts bash for a command line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ibeam_sandbox::{LaunchSpec, SpawnError};
use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;

use super::background::BackgroundProcesses;
use super::environment::{self, find_bash};
use super::pipes::Pipes;
use super::process_tree::ProcessTree;
use crate::ToolSettings;
use crate::file_error::errno_name;
use crate::workspace::Workspace;

/// Starts commands with bash and the filtered environment.
pub(super) struct Launcher {
    bash: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

/// A running command.
#[derive(Debug)]
pub(super) struct Running {
    /// bash and all processes that it starts.
    pub(super) tree: ProcessTree,
    /// Their output.
    pub(super) pipes: Pipes,
    /// The directory in which the command started.
    pub(super) directory: PathBuf,
    /// When the command started.
    pub(super) started: Instant,
}

impl Launcher {
    /// Returns a launcher whose commands get the filtered environment, without interactive prompts.
    pub(super) fn new(workspace: &Workspace, settings: &ToolSettings) -> Self {
        let roots: Vec<&Path> = workspace.directories().collect();
        let own_environment = &settings.environment;
        let mut environment = environment::passed(
            own_environment.clone(),
            &settings.extra_environment,
            &settings.secret_variables,
            &roots,
        );
        let quiet = QUIET.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        for (name, value) in quiet.into_iter().chain(settings.command_environment.iter().cloned()) {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        }
        environment::add_git_settings(&mut environment);
        Self { bash: find_bash(own_environment, &roots), environment }
    }

    /// Starts bash with `command` in `directory`, which exists. Must be called within an async runtime.
    ///
    /// # Errors
    /// One line for the model: bash is missing, or the system's error.
    pub(super) fn start(
        &self,
        command: &str,
        directory: &Path,
        processes: &BackgroundProcesses,
    ) -> Result<Running, String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and commands need it")?;
        let mut environment = self.environment.clone();
        // `pwd` prints it; bash uses it only if it names the current directory.
        environment.push(("PWD".into(), directory.into()));
        let started = Instant::now();
        let stdin = File::open("/dev/null").map_err(|error| failed(&error))?;
        let (stdout, stdout_writer) = pipe().map_err(|error| failed(&error))?;
        let (stderr, stderr_writer) = pipe().map_err(|error| failed(&error))?;
        let launch = LaunchSpec {
            program: bash,
            arguments: &["bash", "--norc", "--noprofile", "-c", command].map(OsStr::new),
            environment: &environment,
            directory,
            stdio: [stdin.as_fd(), stdout_writer.as_fd(), stderr_writer.as_fd()],
        };
        let tree = processes.spawn(&launch).map_err(|error| explain(&error))?;
        let tree = ProcessTree::new(tree).map_err(|error| failed(&error))?;
        let pipes = Pipes::new(stdout, stderr);
        Ok(Running { tree, pipes, directory: directory.to_owned(), started })
    }
}

/// Returns the read end of a pipe, in non-blocking mode, and its write end.
fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Commands have no input, so nothing may prompt, page or open an editor.
const QUIET: [(&str, &str); 9] = [
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

fn explain(error: &SpawnError) -> String {
    match error {
        SpawnError::Refused(Errno::TOOBIG) => {
            "the command is too long for the system (E2BIG); write it to a file and run that".to_owned()
        }
        SpawnError::Refused(errno) => format!("the command could not be started: {}", errno_name(*errno)),
        SpawnError::NulByte | SpawnError::ServerLost | SpawnError::Sandbox(_) => {
            format!("the command could not be started: {error}")
        }
    }
}

fn failed(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(errno) => format!("the command could not be started: {}", errno_name(errno)),
        None => format!("the command could not be started: {error}"),
    }
}
