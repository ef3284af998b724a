//! From a command line to a running bash.
//!
//! No code runs between fork and exec, so that the standard library takes its fast way (`posix_spawn`), which
//! does not copy page tables: the new session comes from the program `setsid`. Where that is missing the
//! command gets a process group only, and keeps the terminal.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::Pid;
use tokio::process::Child;

use super::group::Group;
use super::pipes::Pipes;
use crate::file_error::errno_name;

/// The variable by which processes of a run are known, even those that left their group.
pub(super) const MARK_VARIABLE: &str = "IBEAM_RUN";

/// Directories searched when `PATH` does not tell.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts commands: knows the programs and the environment.
pub(super) struct Launcher {
    bash: Option<PathBuf>,
    setsid: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

/// A command that was started.
#[derive(Debug)]
pub(super) struct Running {
    /// bash.
    pub(super) child: Child,
    /// bash and what it starts.
    pub(super) group: Group,
    /// What they say.
    pub(super) pipes: Pipes,
    /// Where they began.
    pub(super) directory: PathBuf,
    /// When they began.
    pub(super) started: Instant,
}

impl Launcher {
    /// Commands get `environment` without secrets and with every prompt switched off.
    pub(super) fn new(environment: Vec<(OsString, OsString)>, secrets: &[String], mark: &str) -> Self {
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let path = path.unwrap_or_else(|| OsString::from(USUAL_PATH));
        let mut environment = environment;
        environment.retain(|(name, _)| !is_withheld(name, secrets));
        let ours = QUIET.iter().copied().chain([(MARK_VARIABLE, mark)]);
        environment.extend(ours.map(|(name, value)| (OsString::from(name), OsString::from(value))));
        Self { bash: find(&path, "bash"), setsid: find(&path, "setsid"), environment }
    }

    /// Starts bash with `command` in `directory`, which exists. Must be called within an async runtime.
    ///
    /// # Errors
    /// One line for the model: no bash, or the system's refusal.
    pub(super) fn start(&self, command: &str, directory: &Path) -> Result<Running, String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and commands need it")?;
        let mut launch = match &self.setsid {
            Some(setsid) => {
                let mut launch = Command::new(setsid);
                launch.arg(bash);
                launch
            }
            None => {
                let mut launch = Command::new(bash);
                launch.process_group(0);
                launch
            }
        };
        launch.args(["--norc", "--noprofile", "-c", command]);
        launch.current_dir(directory).env_clear().envs(self.environment.iter().map(|(k, v)| (k, v)));
        // What `pwd` says; bash takes it over only when it names the directory it is in.
        launch.env("PWD", directory);
        launch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = tokio::process::Command::from(launch).spawn().map_err(|error| explain(&error))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let group = Group::new(pid.ok_or("the command could not be started: it has no process id")?);
        // When memory runs out, the command goes and not we.
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", group.pid()), "1000");
        let pipes = Pipes::new(child.stdout.take(), child.stderr.take());
        Ok(Running { child, group, pipes, directory: directory.to_owned(), started })
    }
}

/// Nobody answers a prompt, pages through text or edits a message.
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

/// Secrets, and the variables through which bash would read a start-up file.
fn is_withheld(name: &OsStr, secrets: &[String]) -> bool {
    let name = name.to_string_lossy();
    name.ends_with("_API_KEY")
        || name == "BASH_ENV"
        || name == "ENV"
        || secrets.iter().any(|secret| *secret == name)
}

fn find(path: &OsStr, program: &str) -> Option<PathBuf> {
    // Only absolute directories: the workspace must not name the shell.
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .chain(std::env::split_paths(USUAL_PATH))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

fn explain(error: &std::io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::TOOBIG) => {
            "the command is too long for the system (E2BIG); write it to a file and run that".to_owned()
        }
        Some(errno) => format!("the command could not be started: {}", errno_name(errno)),
        None => format!("the command could not be started: {error}"),
    }
}
