//! The processes of runs and checks.
//!
//! Each leads a process group of its own, so a signal to the driver's group does not reach it, and the driver decides
//! how it ends. A killed driver leaves its runs alive; the next one waits for them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::budget::ExtraLimits;
use crate::file_filter::FileFilter;
use crate::parking::Parking;
use crate::task::Task;
use crate::task_files;
use crate::task_totals::TotalsScope;
use crate::workspace::hidden_file;
use ibeam_git::Git;
use ibeam_governor::{
    DIRECTORY_VARIABLE, GOVERNOR_VARIABLE, HIDDEN_FILES_VARIABLE, KEY_FILE_VARIABLE, TASK_VARIABLE,
    task_directory,
};

/// The program that executes runs, and git.
#[derive(Clone, Debug)]
pub struct RunProgram {
    /// The path of the program: ibeam itself. Commands name it `ibeam`.
    pub program: PathBuf,
    pub git: Git,
    /// The flags of runs and checks: what they may do.
    pub sandbox_flags: Vec<OsString>,
    /// Further flags of every run, before those of the task.
    pub run_flags: Vec<OsString>,
    /// The file with the key of this process, which neither runs nor copies of workspaces get.
    pub key_file: Option<PathBuf>,
    /// The files that runs do not see, and that copies of workspaces do not have.
    pub hidden: FileFilter,
    /// The place where the requests of runs wait for batches; `None` if they are sent directly.
    pub parking: Option<Arc<Parking>>,
}

/// The beginning of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunStart<'a> {
    New {
        prompt: &'a str,
    },
    /// A new run in a session.
    Resumed {
        session: &'a str,
        prompt: &'a str,
    },
    /// A new run in a copy of a session, which came from another machine.
    Copied {
        session: &'a str,
        prompt: &'a str,
    },
    /// The run of a session goes on.
    Continued {
        session: &'a str,
    },
}

impl<'a> RunStart<'a> {
    pub(crate) fn prompt(self) -> Option<&'a str> {
        match self {
            Self::New { prompt } | Self::Resumed { prompt, .. } | Self::Copied { prompt, .. } => Some(prompt),
            Self::Continued { .. } => None,
        }
    }
}

/// The inputs of a run of a task, besides the task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskRunInputs<'a> {
    pub(crate) start: RunStart<'a>,
    /// The directory in which the run parks its requests.
    pub(crate) parking: Option<&'a Path>,
    pub(crate) extra: ExtraLimits,
    /// The file for the failure of the run.
    pub(crate) error_file: &'a Path,
    /// The socket of the governor.
    pub(crate) governor: &'a Path,
}

impl RunProgram {
    /// Returns what the totals of a process count. With parked requests, each process continues the run of the task.
    pub(crate) fn totals_scope(&self) -> TotalsScope {
        if self.parking.is_some() { TotalsScope::Run } else { TotalsScope::Process }
    }

    pub(crate) fn run(&self, task: &Task, workspace: &Path, inputs: &TaskRunInputs<'_>) -> Command {
        let TaskRunInputs { start, parking, extra, error_file, governor } = *inputs;
        let mut command = self.command(task, workspace, governor.parent());
        command.args(&self.run_flags);
        command.env(GOVERNOR_VARIABLE, governor).env(TASK_VARIABLE, &task.id);
        if let Some(model) = &task.model {
            command.arg("--model").arg(model);
        }
        if let Some(mode) = task.mode {
            command.args(["--mode", mode.as_str()]);
        }
        command.arg("--error-file").arg(error_file);
        command.args(["--print", "--output-format", "stream-json", "--contract", "1"]);
        let limits = task.limits;
        let cost = [limits.max_cost_micros, extra.cost_micros].into_iter().flatten().min();
        let tokens = [limits.max_tokens, extra.tokens].into_iter().flatten().min();
        let mut flag = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command.arg(format!("--{name}")).arg(value);
            }
        };
        flag("max-turns", limits.max_turns.map(|number| number.to_string()));
        flag("max-tokens", tokens.map(|number| number.to_string()));
        flag("max-cost", cost.map(|micros| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)));
        flag("max-tool-calls", limits.max_tool_calls.map(|number| number.to_string()));
        flag("timeout", limits.timeout_s.map(|seconds| format!("{seconds}s")));
        match start {
            RunStart::New { .. } => task.files.iter().for_each(|file| {
                command.arg("--file").arg(file);
            }),
            RunStart::Resumed { session, .. } => {
                command.arg(format!("--resume={session}"));
            }
            RunStart::Copied { session, .. } => {
                command.arg(format!("--resume={session}")).arg("--fork");
            }
            RunStart::Continued { session } => {
                command.arg(format!("--resume={session}")).arg("--unpark");
            }
        }
        if let Some(directory) = parking {
            command.arg("--park-requests").arg(directory);
        }
        // Every user of the machine can read arguments.
        command.args(["--stdin", if start.prompt().is_some() { "read" } else { "ignore" }]);
        command
    }

    /// Returns the command that runs the check of a task in the sandbox of a run. The check itself is on its stdin, where no
    /// other process sees it.
    pub(crate) fn check(&self, task: &Task, workspace: &Path, fleet: Option<&Path>) -> Command {
        let mut command = self.command(task, workspace, fleet);
        command.args(["fleet", "run-check"]);
        if let Some(seconds) = task.limits.check_timeout_s {
            command.arg("--timeout-s").arg(seconds.to_string());
        }
        command
    }

    /// Returns the command that writes a session to a new file.
    pub(crate) fn export_session(&self, session: &str, file: &Path) -> Command {
        self.session_command(["export".as_ref(), session.as_ref(), file.as_os_str()])
    }

    /// Returns the command that stores the session in a file.
    pub(crate) fn import_session(&self, file: &Path) -> Command {
        self.session_command(["import".as_ref(), file.as_os_str()])
    }

    /// Returns the command that checks whether a session is intact.
    pub(crate) fn check_session(&self, session: &str) -> Command {
        self.session_command(["check", session])
    }

    fn session_command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.own_command();
        command.arg("sessions").args(arguments).stdin(Stdio::null()).process_group(0);
        command
    }

    /// Returns the command that prints what the journal of a session says.
    pub(crate) fn replay(&self, session: &str) -> Command {
        let mut command = self.own_command();
        command.args(["replay", "--output-format", "stream-json", "--contract", "1", session]);
        command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command
    }

    fn own_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0("ibeam");
        command
    }

    fn command(&self, task: &Task, workspace: &Path, fleet: Option<&Path>) -> Command {
        let mut command = self.own_command();
        command.args(&self.sandbox_flags).arg("--workspace").arg(workspace);
        command.envs(task.env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
        if let Some(path) = &self.key_file {
            command.env(KEY_FILE_VARIABLE, path);
        }
        if let Some(fleet) = fleet {
            let task = task_directory(&fleet.join("tasks"), &task.id).join("workspace");
            let hidden = fs::read_to_string(hidden_file(&task)).unwrap_or_default();
            let hidden = task_files::recorded_lines(fleet) + &hidden;
            command.env(DIRECTORY_VARIABLE, fleet).env(HIDDEN_FILES_VARIABLE, hidden);
        }
        // The directory stays that of the driver, where relative paths in flags start.
        command.stdin(Stdio::null()).process_group(0);
        command
    }
}

/// The running processes, so that all of them can be ended.
#[derive(Debug, Default)]
pub(crate) struct Children(Mutex<RunningSet>);

#[derive(Debug, Default)]
struct RunningSet {
    pids: BTreeSet<i32>,
    /// Whether they were asked to end, so that no further one starts.
    is_ending: bool,
}

impl Children {
    /// Starts a process.
    ///
    /// # Errors
    /// The system's error; `Interrupted` after [`Self::end_all`].
    pub(crate) fn start(&self, command: &mut Command) -> std::io::Result<Child> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_ending {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let child = command.spawn()?;
        running.pids.insert(Pid::from_child(&child).as_raw_nonzero().get());
        Ok(child)
    }

    /// Waits for the end of a process, and ends what is left of its group.
    pub(crate) fn wait(&self, mut child: Child) -> std::io::Result<ExitStatus> {
        let pid = Pid::from_child(&child);
        // The number stays taken until the status is read, so no other process is signalled.
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pids.remove(&pid.as_raw_nonzero().get());
        // The group is empty, unless the process was killed.
        let _ = kill_process_group(pid, Signal::KILL);
        child.wait()
    }

    /// Asks every process to end, and starts no further one.
    pub(crate) fn end_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_ending = true;
        // A process that has ended meanwhile is waited for.
        self.signal(|pid| {
            let _ = kill_process(pid, Signal::INT);
        });
    }

    /// Kills every process and its group.
    pub(crate) fn kill_all(&self) {
        self.signal(|pid| {
            let _ = kill_process_group(pid, Signal::KILL);
        });
    }

    fn signal(&self, send: impl Fn(Pid)) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.pids.iter().filter_map(|pid| Pid::from_raw(*pid)).for_each(send);
    }
}

/// Returns the exit code as a shell shows it.
pub(crate) fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| signal + 128))
}

/// Returns a file as the stdin of a process.
pub(crate) fn stdin_from(path: &Path) -> std::io::Result<Stdio> {
    File::open(path).map(Stdio::from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::task::{TaskLimits, WorkspaceSource};

    #[test]
    fn neither_the_prompt_nor_the_variables_of_a_task_are_arguments() {
        let program = RunProgram {
            program: "ibeam".into(),
            git: Git::new("git".into(), "views".into(), |_, _| Err(std::io::ErrorKind::Unsupported.into())),
            sandbox_flags: Vec::new(),
            run_flags: Vec::new(),
            key_file: None,
            hidden: FileFilter::default(),
            parking: None,
        };
        let task = Task {
            id: "t".to_owned(),
            prompt: "the prompt".to_owned(),
            workspace: WorkspaceSource::Path("w".into()),
            model: None,
            mode: None,
            limits: TaskLimits::default(),
            env: BTreeMap::from([("KEY".to_owned(), "the value".to_owned())]),
            files: Vec::new(),
            check: None,
            check_files: BTreeMap::new(),
            check_dir: None,
            needs: Vec::new(),
        };
        let prompt = task.prompt.as_str();
        for start in [RunStart::New { prompt }, RunStart::Resumed { session: "s", prompt }] {
            let inputs = TaskRunInputs {
                start,
                parking: None,
                extra: ExtraLimits::default(),
                error_file: Path::new("e"),
                governor: Path::new("g"),
            };
            let command = program.run(&task, Path::new("w"), &inputs);
            let arguments: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
            assert!(!arguments.iter().any(|argument| argument.contains("the ")), "{arguments:?}");
            assert!(arguments.ends_with(&["--stdin", "read"]), "{arguments:?}");
        }
    }
}
