//! `!command`: commands of the person, which run while the screen is shown.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::join;
use ibeam_output::Catalogue;
use ibeam_tui::{Style, TuiLine, overwritten};
use rustix::process::{Pid, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use super::command_display::CommandDisplay;
use ibeam_agent::app::AppContext;
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run_error::RunError;

/// The bytes of the output of a command that the model receives, from its end.
const MAX_OUTPUT: usize = 16 << 10;
/// The number of bytes at the end of an output of a shell command that are kept at least.
const MAX_KEPT: usize = 1 << 20;
/// The lines of a long text that are shown, from its end.
const SHOWN_LINES: usize = 200;
/// The time in which the rest of the output is read after the end of a command.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The output of a command, and its end.
struct CommandOutput {
    stdout: String,
    stderr: String,
    /// The number of lines at the beginning that were not kept.
    lines_left_out: usize,
    ending: Ending,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    Exited(i32),
    /// The name or the number of a signal.
    Signalled(String),
    /// The person interrupted the command.
    Interrupted,
    /// The command could not be started or observed.
    Failed,
}

impl Ending {
    fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(number)) => {
                let signal = nix::sys::signal::Signal::try_from(number);
                Self::Signalled(signal.map_or_else(|_| number.to_string(), |signal| signal.to_string()))
            }
            (None, None) => Self::Failed,
        }
    }

    /// Returns the end for the person; `None` for a success, and where the output states it.
    fn line(&self, catalogue: &Catalogue) -> Option<String> {
        match self {
            Self::Exited(0) | Self::Failed => None,
            Self::Exited(code) => Some(catalogue.line(&TuiLine::ExitCode { text: &code.to_string() })),
            Self::Signalled(name) => Some(name.clone()),
            Self::Interrupted => Some(catalogue.line(&TuiLine::Interrupted)),
        }
    }

    /// Returns the end for the model.
    fn for_model(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit code {code}"),
            Self::Signalled(name) => format!("ended by {name}"),
            Self::Interrupted => "interrupted by the user before its end".to_owned(),
            Self::Failed => "it could not be executed".to_owned(),
        }
    }
}

impl CommandOutput {
    /// Returns the end of a command that the person ended.
    fn interrupted() -> Self {
        Self { stdout: String::new(), stderr: String::new(), lines_left_out: 0, ending: Ending::Interrupted }
    }

    /// Returns stdout, then stderr.
    fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns the end of the output for the model, in whole lines where they are not too long, after a heading that
    /// states what is left out.
    fn for_model(&self) -> String {
        let output = self.text();
        let mut start = output.len().saturating_sub(MAX_OUTPUT);
        while !output.is_char_boundary(start) {
            start += 1;
        }
        let line_end = output.get(start..).and_then(|rest| rest.find('\n')).map(|end| start + end + 1);
        if start > 0 {
            start = line_end.filter(|end| *end < output.len()).unwrap_or(start);
        }
        let (left_out, shown) = output.split_at(start);
        let lines = self.lines_left_out + left_out.lines().count();
        match lines {
            0 => format!("Its output:\n{shown}"),
            _ if left_out.is_empty() || left_out.ends_with('\n') => {
                format!("Its output, without its first {lines} lines:\n{shown}")
            }
            _ => format!("Its output, only the last {} bytes:\n{shown}", shown.len()),
        }
    }
}

/// Returns the last lines of a text, after the number of those that are left out, with `left_out` that the text does not
/// have.
pub(super) fn last_lines(text: &str, left_out: usize, catalogue: &Catalogue) -> String {
    let lines: Vec<&str> = text.lines().map(overwritten).collect();
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    let count = u64::try_from(left_out + hidden).unwrap_or(u64::MAX);
    let note = (count > 0).then(|| catalogue.line(&TuiLine::HiddenLines { count }));
    let shown = lines.into_iter().skip(hidden);
    note.as_deref().into_iter().chain(shown).collect::<Vec<_>>().join("\n")
}

/// Runs a command of the person with bash, prints its output, and returns it for the model.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn run_shell(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    text: &str,
) -> Result<Option<String>, RunError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let app: &AppContext = &process.app;
    screen.echo(Style::BOLD, &format!("! {text}"));
    // The command itself has the `PATH` of the person.
    let mut command = Command::new(app.programs.find("bash").unwrap_or_else(|| "/bin/bash".into()));
    command.arg("-c").arg(text);
    let output = run(process, screen, &format!("! {text}"), command)?;
    screen.print(Style::PLAIN, &last_lines(&output.text(), output.lines_left_out, &app.base.catalogue));
    let ending = &output.ending;
    if let Some(line) = ending.line(&app.base.catalogue) {
        screen.print(Style::DIM, &line);
    }
    let shown = output.for_model();
    let mut message = format!("The user ran this command ({}):\n{text}\n\n{shown}", ending.for_model());
    app.redactor().redact_value(&mut message);
    Ok(Some(message))
}

/// Runs a command to its end, or until the person interrupts it. `label` names it meanwhile.
///
/// # Errors
/// A failure that no further prompt can follow.
fn run(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    label: &str,
    mut command: Command,
) -> Result<CommandOutput, RunError> {
    command.current_dir(&process.app.workspace);
    command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let ended = wait_labelled(process, screen, label, run_to_end(command, screen))?;
    Ok(ended.unwrap_or_else(|| Ok(CommandOutput::interrupted())).unwrap_or_else(|error| CommandOutput {
        stdout: String::new(),
        stderr: error.to_string(),
        lines_left_out: 0,
        ending: Ending::Failed,
    }))
}

/// Waits for work of a command, which `label` names meanwhile; `None` if an interrupt of the process ended it.
///
/// # Errors
/// A failure that no further prompt can follow.
fn wait_labelled<T>(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    label: &str,
    work: impl Future<Output = T>,
) -> Result<Option<T>, RunError> {
    screen.set_running(Some(label));
    let ended = process.wait_interruptible(async { Ok(work.await) });
    screen.set_running(None);
    Ok(ended?)
}

/// Waits for work of a command, which `label` names meanwhile; `None` if the person interrupted it.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn wait_for_work<T>(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    label: &str,
    work: impl Future<Output = T>,
) -> Result<Option<T>, RunError> {
    let until_cancelled = async {
        tokio::select! {
            ended = work => Some(ended),
            () = screen.cancelled() => None,
        }
    };
    Ok(wait_labelled(process, screen, label, until_cancelled)?.flatten())
}

/// The processes of a command, which end when nobody waits for them any more.
struct RunningGroup(Option<Pid>);

impl Drop for RunningGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may have ended meanwhile.
            let _ = kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// An output of a command, and the end of what was read of it.
struct OutputReader {
    pipe: Receiver,
    bytes: Vec<u8>,
    lines_left_out: usize,
}

impl OutputReader {
    /// # Errors
    /// The system's error if the pipe cannot be read asynchronously.
    fn new(pipe: OwnedFd) -> std::io::Result<Self> {
        Ok(Self { pipe: Receiver::from_owned_fd(pipe)?, bytes: Vec::new(), lines_left_out: 0 })
    }

    /// Reads until the last process with the other end has closed it. Cancel safe.
    async fn read_to_end(&mut self) {
        while let Ok(1..) = self.pipe.read_buf(&mut self.bytes).await {
            // Not with each read, because the rest is moved.
            if self.bytes.len() / 2 >= MAX_KEPT {
                self.leave_out_beginning();
            }
        }
    }

    /// Removes the beginning of what was read, in whole lines if they are not too long.
    fn leave_out_beginning(&mut self) {
        let end = self.bytes.len().saturating_sub(MAX_KEPT);
        let (beginning, _) = self.bytes.split_at(end);
        let end = beginning.iter().rposition(|byte| *byte == b'\n').map_or(end, |newline| newline + 1);
        let left_out = self.bytes.drain(..end);
        self.lines_left_out += left_out.filter(|byte| *byte == b'\n').count();
    }

    /// Returns what was kept. Later output is discarded, so that it does not end a process in the background.
    fn finish(mut self) -> String {
        tokio::spawn(async move { tokio::io::copy(&mut self.pipe, &mut tokio::io::sink()).await });
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

async fn run_to_end(mut command: Command, screen: &dyn CommandDisplay) -> std::io::Result<CommandOutput> {
    let (stdout, process_stdout) = std::io::pipe()?;
    let (stderr, process_stderr) = std::io::pipe()?;
    let mut stdout = OutputReader::new(stdout.into())?;
    let mut stderr = OutputReader::new(stderr.into())?;
    command.stdout(process_stdout).stderr(process_stderr);
    let mut child = command.spawn()?;
    // It has the other ends of the pipes too.
    drop(command);
    let mut group =
        RunningGroup(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap_or_default())));
    let ended = {
        let mut reading = pin!(join(stdout.read_to_end(), stderr.read_to_end()));
        let work = async {
            tokio::select! {
                _ = &mut reading => child.wait().await,
                // What the command has left in the background may keep the pipes open.
                status = child.wait() => {
                    // At the end of the time, all that the command itself has written was read.
                    let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut reading).await;
                    status
                }
            }
        };
        tokio::select! {
            status = work => Some(status?),
            () = screen.cancelled() => None,
        }
    };
    if ended.is_some() {
        group.0 = None;
    }
    Ok(CommandOutput {
        lines_left_out: stdout.lines_left_out + stderr.lines_left_out,
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        ending: ended.map_or(Ending::Interrupted, Ending::from_status),
    })
}
