//! `shell`: a command that bash runs, in a new session, without terminal or input.
//!
//! Time and output are limited, and no process of the command outlives the call unless the call requests that. There is
//! no login shell and no start-up file, and commands get only the environment that they need.

pub(crate) mod background;
pub(crate) mod environment;
mod output_capture;
mod path_monitor;
mod recorded_launcher;
mod refused_write;
mod report;
mod sandbox_hints;
pub(crate) mod spawn;
mod working_directory;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_policy::PathPolicy;
use ibeam_protocol::{Sentence, ToolFailure, ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};
use crate::blocking;
use crate::descriptors::{acquire_descriptors, end_run_if_exhausted};
use crate::editor_files::EditorFiles;
use crate::editor_lock::CommandPermit;
use crate::file_error::FileError;
use crate::files::TargetPath;
use crate::offload::run_within_time_limit;
use crate::tool_settings::ToolSettings;
use crate::tree_search::SearchRoot;
use crate::workspace::Workspace;
use background::{BackgroundProcesses, CommandTimeouts, KILL_TIMEOUT};
use output_capture::CallOutput;
pub use path_monitor::QuarantinedFile;
use path_monitor::{ProtectedPathMonitor, incomplete_scan_note};
use refused_write::reports_refused_write;
use report::{add_findings, finished_outcome, shell_output, status_parts, with_newline, with_note};
use sandbox_hints::SandboxHints;
use spawn::{BashLauncher, RunningCommand};

/// The time limit for reading output after the command itself has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// The time in which a background command may end early.
const EARLY_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs commands in the workspace.
pub(crate) struct Shell {
    runner: Arc<CommandRunner>,
}

/// The parts that all commands of a run share.
struct CommandRunner {
    workspace: Arc<Workspace>,
    launcher: BashLauncher,
    monitor: ProtectedPathMonitor,
    background: BackgroundProcesses,
    log_directory: Option<PathBuf>,
    path_policy: PathPolicy,
    hints: SandboxHints,
    /// The editor that opens files of the workspace by their names.
    editor: Option<Arc<dyn EditorFiles>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellArguments {
    #[serde(alias = "cmd", alias = "script")]
    command: String,
    #[serde(default, alias = "working_directory", alias = "cwd", alias = "workdir")]
    #[serde(deserialize_with = "directory_argument")]
    working_directory: String,
    /// Milliseconds
    #[serde(default, alias = "timeout_ms", deserialize_with = "lenient::number")]
    timeout: Option<u64>,
    #[serde(default, alias = "is_background", alias = "run_in_background")]
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    is_background: Option<bool>,
}

impl Arguments for ShellArguments {
    const TOOL: &'static str = "shell";
    const EXAMPLE: &'static str = r#"{"command": "cargo test", "timeout": 300000}"#;
}

impl ShellArguments {
    /// Returns the path of the directory in which the command starts.
    fn directory_path(&self) -> &str {
        if self.working_directory.is_empty() { "." } else { &self.working_directory }
    }
}

impl Shell {
    pub(crate) fn new(workspace: &Arc<Workspace>, settings: ToolSettings) -> Self {
        let launcher = BashLauncher::new(workspace, &settings);
        let monitor = ProtectedPathMonitor::new(workspace, &settings);
        let ToolSettings { background, log_directory, path_policy, editor_files: editor, .. } = settings;
        let hints = SandboxHints::new(background.launcher().is_confined(), workspace.root());
        let workspace = Arc::clone(workspace);
        let runner = CommandRunner {
            workspace,
            launcher,
            monitor,
            background,
            log_directory,
            path_policy,
            hints,
            editor,
        };
        Self { runner: Arc::new(runner) }
    }
}

impl CommandRunner {
    /// Whether the output of a command reports a write that Landlock refused where no mounts make files read-only.
    fn is_refused_write(&self, output: &str) -> bool {
        let layers = self.background.launcher().layers();
        if layers.is_empty() || layers.contains(&"mount-namespace") {
            return false;
        }
        let (root, policy) = (self.workspace.root().to_owned(), self.path_policy.clone());
        let output = output.to_owned();
        run_within_time_limit(move || reports_refused_write(&output, &root, &policy)).unwrap_or(false)
    }

    fn start(
        &self,
        args: &ShellArguments,
        target: TargetPath,
        editor_permit: Option<CommandPermit>,
    ) -> Result<RunningCommand, Box<ToolOutcome>> {
        let path = args.directory_path();
        let (workspace, own_path) = (Arc::clone(&self.workspace), path.to_owned());
        let found = run_within_time_limit(move || SearchRoot::for_command(&workspace, &own_path, target))
            .ok_or_else(|| {
                let message = format!("the directory `{path}` does not respond; work in another one");
                Box::new(ToolOutcome::error(message))
            })?;
        let directory = found.map_err(|error| {
            Box::new(match error {
                FileError::NotFound { .. } if path == "." => ToolOutcome::error(format!(
                    "the workspace `{}` is gone (ENOENT); nothing can run there",
                    self.workspace.root().display()
                )),
                FileError::NotFound { .. }
                | FileError::NotPermitted { .. }
                | FileError::System { .. }
                | FileError::DeniedByPolicy { .. }
                | FileError::Refused(_)
                | FileError::Path(_) => ToolOutcome::from(error),
            })
        })?;
        let access = working_directory::access(&self.workspace, &args.command, &directory.path);
        working_directory::check(&self.path_policy, &access, &directory.path)?;
        let started = self.launcher.start(&args.command, &directory.path, &self.background, editor_permit);
        started.map_err(|message| {
            let message = Sentence::from(message);
            Box::new(ToolOutcome::Failure {
                for_model: message.clone(),
                failure: ToolFailure::SpawnFailed { message },
            })
        })
    }
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        let mut spec = arguments::spec::<ShellArguments>(include_str!("shell.md"));
        if let Some(text) = Arc::make_mut(&mut spec.parameters).pointer_mut("/properties/timeout/description")
        {
            *text =
                format!("Milliseconds, default {}", self.runner.background.timeouts().default.as_millis())
                    .into();
        }
        spec
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let runner = Arc::clone(&self.runner);
        let mut args = arguments::parse::<ShellArguments>(arguments)?;
        args.timeout = Some(runner.timeout_ms(&args));
        let target = TargetPath::new(&runner.workspace, args.directory_path(), Workspace::resolve);
        let access = working_directory::access(&runner.workspace, &args.command, target.checked_path());
        let canonical = arguments::to_canonical_json(&args)?;
        Ok(PreparedCall::new(canonical, access, async move |context| {
            runner.run(&args, target, &context).await
        }))
    }
}

/// The reason why the wait for a command ended.
enum CommandEnd {
    Exited(ExitStatus),
    TimedOut,
    RunStopped,
}

impl CommandRunner {
    async fn run(&self, args: &ShellArguments, target: TargetPath, context: &ToolContext) -> ToolOutcome {
        let Some(permit) = acquire_descriptors(context).await else { return blocking::interrupted_outcome() };
        let editor_permit = match &self.editor {
            Some(editor) => tokio::select! {
                biased;
                _ = context.stop.wait() => return blocking::interrupted_outcome(),
                permit = editor.lock().begin_command() => Some(permit),
            },
            None => None,
        };
        self.monitor.scan_before().await;
        let started = self.start(args, target, editor_permit);
        drop(permit);
        if let Err(outcome) = &started {
            end_run_if_exhausted(context, outcome);
        }
        let (outcome, keeps_running) = match started {
            Ok(running) if args.is_background == Some(true) => {
                self.run_in_background(args, running, context).await
            }
            Ok(running) => (self.run_in_foreground(args, running, context).await, false),
            Err(outcome) => (*outcome, false),
        };
        let mut report = self.monitor.take_pending();
        if !keeps_running {
            report.extend(self.monitor.scan_after().await);
        }
        report.notices().for_each(|notice| context.notices.add(notice));
        let outcome = self.hints.add_to(outcome, &context.notices, |output| self.is_refused_write(output));
        let outcome = add_findings(outcome, &report.findings);
        if self.monitor.take_incomplete_scan() { with_note(outcome, incomplete_scan_note()) } else { outcome }
    }

    /// Returns the time that a command gets, in milliseconds.
    fn timeout_ms(&self, args: &ShellArguments) -> u64 {
        let CommandTimeouts { default, max: longest, .. } = *self.background.timeouts();
        let requested = args.timeout.filter(|ms| *ms > 0).map_or(default, Duration::from_millis);
        u64::try_from(requested.min(longest).as_millis()).unwrap_or(u64::MAX)
    }

    async fn run_in_foreground(
        &self,
        args: &ShellArguments,
        mut running: RunningCommand,
        context: &ToolContext,
    ) -> ToolOutcome {
        let timeout_ms = self.timeout_ms(args);
        let grace = self.background.timeouts().grace;
        if let Some(observer) = context.output_observer.clone() {
            running.output.observe(CallOutput { call: context.call_id.clone(), observer });
        }
        match wait_for_end(&mut running, Duration::from_millis(timeout_ms), context).await {
            CommandEnd::Exited(status) => {
                running.drain(DRAIN_TIMEOUT).await;
                running.kill_and_drain().await;
                finished_outcome(&args.command, running, status)
            }
            CommandEnd::TimedOut => {
                let status = running.stop(grace).await;
                let partial = shell_output(&args.command, &mut running, status_parts(status));
                let for_model = format!(
                    "{}(timed out after {timeout_ms} ms and was ended; ask for a longer `timeout`, or set `isBackground`)\n",
                    with_newline(&partial.interleaved),
                );
                ToolOutcome::Failure {
                    failure: ToolFailure::TimedOut { timeout_ms, partial },
                    for_model: for_model.into(),
                }
            }
            CommandEnd::RunStopped => {
                let status = running.stop(grace).await;
                finished_outcome(&args.command, running, status)
            }
        }
    }

    /// Returns the outcome, and whether the command keeps running.
    async fn run_in_background(
        &self,
        args: &ShellArguments,
        mut running: RunningCommand,
        context: &ToolContext,
    ) -> (ToolOutcome, bool) {
        let log = self.log_directory.as_deref().and_then(|directory| running.log_output(directory));
        match wait_for_end(&mut running, EARLY_EXIT_TIMEOUT, context).await {
            CommandEnd::RunStopped => {
                let status = running.stop(self.background.timeouts().grace).await;
                return (finished_outcome(&args.command, running, status), false);
            }
            // `server &` exits at once and leaves the server running; a failure is reported at once.
            CommandEnd::Exited(status) => {
                running.read_until_gone(DRAIN_TIMEOUT).await;
                if !status.success() || running.tree.is_gone() {
                    running.kill_and_drain().await;
                    return (finished_outcome(&args.command, running, status), false);
                }
            }
            CommandEnd::TimedOut => {}
        }
        let pid = running.tree.pid();
        let mut output = shell_output(&args.command, &mut running, (0, None));
        output.is_background = true;
        let place = log.map_or(String::new(), |log| format!("; its output goes to `{}`", log.display()));
        let for_model = format!(
            "{}(runs in the background with pid {pid}{place}; `kill -- -{pid}` ends it)\n",
            with_newline(&output.interleaved)
        );
        let call = (context.call_id.clone(), args.command.clone());
        self.background.adopt(running, call, self.monitor.clone());
        (ToolOutcome::Success { output: ToolOutput::Shell(output), for_model: for_model.into() }, true)
    }
}

/// Reads output until the command ends, its time is up, or the run is asked to stop.
async fn wait_for_end(running: &mut RunningCommand, time: Duration, context: &ToolContext) -> CommandEnd {
    let time_up = tokio::time::sleep(time);
    tokio::pin!(time_up);
    loop {
        tokio::select! {
            status = running.tree.wait_for_exit() => return CommandEnd::Exited(status),
            () = &mut time_up => return CommandEnd::TimedOut,
            _ = context.stop.wait() => return CommandEnd::RunStopped,
            () = running.output.read(), if running.output.is_open() => {}
        }
    }
}

fn directory_argument<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    lenient::text(from).map(Option::unwrap_or_default)
}

impl RunningCommand {
    /// Reads the remaining output for at most `time`.
    async fn drain(&mut self, time: Duration) {
        let time_up = tokio::time::sleep(time);
        tokio::pin!(time_up);
        while self.output.is_open() {
            tokio::select! {
                () = &mut time_up => return,
                () = self.output.read() => {}
            }
        }
    }

    /// Reads output until no process of the tree is left, for at most `time`.
    async fn read_until_gone(&mut self, time: Duration) {
        let time_up = tokio::time::sleep(time);
        tokio::pin!(time_up);
        while !self.tree.is_gone() {
            tokio::select! {
                () = self.tree.wait_until_gone() => {}
                () = &mut time_up => return,
                () = self.output.read(), if self.output.is_open() => {}
            }
        }
    }

    /// Kills the remaining processes, and reads their last output.
    async fn kill_and_drain(&mut self) {
        self.tree.kill();
        self.read_until_gone(KILL_TIMEOUT).await;
        self.drain(DRAIN_TIMEOUT).await;
    }

    /// Sends TERM, and KILL after `grace`, to the whole tree; returns the exit status of the command itself. A command
    /// that cannot be killed, because the system holds it, counts as killed.
    async fn stop(&mut self, grace: Duration) -> ExitStatus {
        self.tree.terminate();
        self.read_until_gone(grace).await;
        self.kill_and_drain().await;
        self.tree.status().unwrap_or_else(|| ExitStatus::from_raw(rustix::process::Signal::KILL.as_raw()))
    }

    /// Writes the output from now on to a log, if one can be created.
    fn log_output(&mut self, directory: &Path) -> Option<PathBuf> {
        let path = directory.join(format!("shell-{}.log", self.tree.pid()));
        self.output.log_to(&path).ok()?;
        Some(path)
    }
}

#[cfg(test)]
mod attribution_test;
#[cfg(test)]
#[path = "shell_test.rs"]
mod tests;
