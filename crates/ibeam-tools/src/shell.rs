//! `shell`: a command run by bash, in a session of its own, without terminal or input.
//!
//! Time and output are bounded, and nothing in the command's process group outlives the call unless it was
//! asked to. Refuses a login shell, start-up files, and to hand provider keys to commands. A process that
//! leaves the group is found by its mark at the end of the run; to hold it is the sandbox's work.

pub(crate) mod background;
mod capture;
mod group;
mod pipes;
mod report;
mod spawn;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Tool, ToolContext};
use ibeam_protocol::{ToolCall, ToolFailure, ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::ToolSettings;
use crate::arguments::{self, Arguments, lenient};
use crate::file_error::FileError;
use crate::tree::Start;
use crate::workspace::Workspace;
use background::BackgroundProcesses;
use report::{ended, output, status_parts, with_newline};
use spawn::{Launcher, Running};

/// Time a command gets when the call does not say, in milliseconds.
const TIMEOUT_MS: u64 = 120_000;
/// The longest time a call may ask for, in milliseconds.
const TIMEOUT_LIMIT_MS: u64 = 600_000;
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for after the command itself has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long a background command is watched for an early end.
const EARLY: Duration = Duration::from_secs(1);

/// Runs commands in the workspace.
pub(crate) struct Shell {
    workspace: Arc<Workspace>,
    launcher: Launcher,
    background: BackgroundProcesses,
    log_directory: Option<PathBuf>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShellArguments {
    #[serde(alias = "cmd", alias = "script")]
    command: String,
    #[serde(default, alias = "working_directory", alias = "cwd", alias = "workdir")]
    #[serde(deserialize_with = "directory")]
    working_directory: String,
    /// Milliseconds, default 120000
    #[serde(default = "default_timeout", alias = "timeout_ms", deserialize_with = "timeout")]
    timeout: u64,
    #[serde(default, alias = "is_background", alias = "run_in_background")]
    #[serde(deserialize_with = "lenient::switch", skip_serializing_if = "Option::is_none")]
    is_background: Option<bool>,
}

impl Arguments for ShellArguments {
    const TOOL: &'static str = "shell";
    const EXAMPLE: &'static str = r#"{"command": "cargo test", "timeout": 300000}"#;
}

impl Shell {
    pub(crate) fn new(workspace: &Arc<Workspace>, settings: ToolSettings) -> Self {
        let ToolSettings { environment, secret_variables, log_directory, background } = settings;
        let launcher = Launcher::new(environment, &secret_variables, background.mark());
        Self { workspace: Arc::clone(workspace), launcher, background, log_directory }
    }

    fn start(&self, wanted: &ShellArguments) -> Result<Running, Box<ToolOutcome>> {
        let asked = wanted.working_directory.as_str();
        let asked = if asked.is_empty() { "." } else { asked };
        let directory = Start::find_directory(&self.workspace, Some(asked)).map_err(|error| {
            Box::new(match error {
                FileError::NotFound { .. } if asked == "." => ToolOutcome::error(format!(
                    "the workspace `{}` is gone (ENOENT); nothing can run there",
                    self.workspace.root().display()
                )),
                FileError::NotFound { .. }
                | FileError::Denied { .. }
                | FileError::System { .. }
                | FileError::NotRegular { .. }
                | FileError::Refused { .. }
                | FileError::Path(_) => ToolOutcome::from(error),
            })
        })?;
        self.launcher.start(&wanted.command, &directory.path).map_err(|message| {
            Box::new(ToolOutcome::Failure {
                for_model: message.as_str().into(),
                failure: ToolFailure::SpawnFailed { message },
            })
        })
    }
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<ShellArguments>(include_str!("shell.md"))
    }

    fn canonical(&self, arguments: &Value) -> Result<Value, String> {
        arguments::canonical::<ShellArguments>(arguments)
    }

    fn access(&self, arguments: &Value) -> Access {
        // Unreadable arguments run nothing; an empty command is covered by no rule.
        Access::Command(
            arguments::parse::<ShellArguments>(arguments).map(|wanted| wanted.command).unwrap_or_default(),
        )
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let wanted = match arguments::parse::<ShellArguments>(&call.arguments) {
                Ok(wanted) => wanted,
                Err(message) => return ToolOutcome::error(message),
            };
            let running = match self.start(&wanted) {
                Ok(running) => running,
                Err(outcome) => return *outcome,
            };
            if wanted.is_background == Some(true) {
                self.in_background(&wanted, running, context).await
            } else {
                in_foreground(&wanted, running, context).await
            }
        })
    }
}

/// Why the command is no longer waited for.
enum End {
    Exited(std::io::Result<ExitStatus>),
    TimedOut,
    Stopped,
}

async fn in_foreground(wanted: &ShellArguments, mut running: Running, context: &ToolContext) -> ToolOutcome {
    let timeout = Duration::from_millis(wanted.timeout);
    match watch(&mut running, timeout, context).await {
        End::Exited(status) => {
            running.drain(LAST_WORDS).await;
            running.group.kill();
            ended(&wanted.command, running, status)
        }
        End::TimedOut => {
            let status = stop(&mut running).await;
            let partial = output(&wanted.command, &mut running, status_parts(&status));
            let for_model = format!(
                "{}(timed out after {} ms and was ended; ask for a longer `timeout`, or set `isBackground`)\n",
                with_newline(&partial.interleaved),
                wanted.timeout
            );
            ToolOutcome::Failure {
                failure: ToolFailure::TimedOut { timeout_ms: wanted.timeout, partial },
                for_model: for_model.into(),
            }
        }
        End::Stopped => {
            let status = stop(&mut running).await;
            ended(&wanted.command, running, status)
        }
    }
}

/// Reads output until the command ends, its time is up, or the run is asked to stop.
async fn watch(running: &mut Running, time: Duration, context: &ToolContext) -> End {
    let time_up = tokio::time::sleep(time);
    tokio::pin!(time_up);
    loop {
        tokio::select! {
            status = running.child.wait() => return End::Exited(status),
            () = &mut time_up => return End::TimedOut,
            _ = context.stop.wait() => return End::Stopped,
            () = running.pipes.read(), if running.pipes.open() => {}
        }
    }
}

/// TERM, then after a while KILL, to the whole group; gives the end of the command itself.
async fn stop(running: &mut Running) -> std::io::Result<ExitStatus> {
    running.group.terminate();
    let grace = tokio::time::sleep(GRACE);
    tokio::pin!(grace);
    loop {
        tokio::select! {
            _ = running.child.wait() => break,
            () = &mut grace => break,
            () = running.pipes.read(), if running.pipes.open() => {}
        }
    }
    // The command may be gone while others of its group use their time.
    while running.group.is_alive() && !grace.is_elapsed() {
        tokio::select! {
            () = &mut grace => {}
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
            () = running.pipes.read(), if running.pipes.open() => {}
        }
    }
    running.group.kill();
    running.drain(LAST_WORDS).await;
    running.child.wait().await
}

impl Shell {
    async fn in_background(
        &self,
        wanted: &ShellArguments,
        mut running: Running,
        context: &ToolContext,
    ) -> ToolOutcome {
        let log = self.log_directory.as_deref().and_then(|directory| running.keep_log(directory));
        match watch(&mut running, EARLY, context).await {
            End::Stopped => {
                let status = stop(&mut running).await;
                return ended(&wanted.command, running, status);
            }
            // `server &` ends at once and leaves the server; a failure is a failure at once.
            End::Exited(status) => {
                running.drain(LAST_WORDS).await;
                let succeeded = status.as_ref().is_ok_and(ExitStatus::success);
                if !succeeded || !running.group.is_alive() {
                    running.group.kill();
                    return ended(&wanted.command, running, status);
                }
            }
            End::TimedOut => {}
        }
        let pid = running.group.pid();
        let mut output = output(&wanted.command, &mut running, (0, None));
        output.is_background = true;
        let place = log.map_or(String::new(), |log| format!("; its output goes to `{}`", log.display()));
        let for_model = format!(
            "{}(runs in the background with pid {pid}{place}; `kill -- -{pid}` ends it)\n",
            with_newline(&output.interleaved)
        );
        self.background.keep(running);
        ToolOutcome::Success { output: ToolOutput::Shell(output), for_model: for_model.into() }
    }
}

fn default_timeout() -> u64 {
    TIMEOUT_MS
}

fn timeout<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let asked = lenient::number(from)?.filter(|ms| *ms > 0);
    Ok(asked.unwrap_or(TIMEOUT_MS).min(TIMEOUT_LIMIT_MS))
}

fn directory<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    lenient::text(from).map(Option::unwrap_or_default)
}

impl Running {
    /// Reads what is still on its way, for at most `time`, however much it is.
    async fn drain(&mut self, time: Duration) {
        let time_up = tokio::time::sleep(time);
        tokio::pin!(time_up);
        while self.pipes.open() {
            tokio::select! {
                () = &mut time_up => return,
                () = self.pipes.read() => {}
            }
        }
    }

    /// A log of all output from here on, where one can be made.
    fn keep_log(&mut self, directory: &Path) -> Option<PathBuf> {
        let path = directory.join(format!("shell-{}.log", self.group.pid()));
        self.pipes.log_to(&path).ok()?;
        Some(path)
    }
}

#[cfg(test)]
#[path = "shell_test.rs"]
mod tests;
