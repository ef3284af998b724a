//! Commands that run while the screen is shown: sub-commands of this program, and `!command` of the person.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use ibeam_output::Catalogue;
use ibeam_tui::{Color, Style, TuiLine, overwritten};
use rustix::process::{Pid, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::person_commands::CommandDisplay;
use crate::app::AppContext;
use crate::cli::Flags;
use crate::exit::ExitFailure;
use crate::run::run_process::RunProcess;

/// The bytes of the output of a command that the model receives, from its end.
const MAX_OUTPUT: usize = 16 << 10;
/// The option of `undo` with the command that takes it back. It is the last one.
pub(super) const REDO_COMMAND: &str = "--redo-command";
/// The lines of the output of a command that are shown, from its end.
const SHOWN_LINES: usize = 200;

/// The output of a command, and its end.
pub(super) struct CommandOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
    ending: Ending,
}

/// The end of a command.
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
        Self { stdout: String::new(), stderr: String::new(), ending: Ending::Interrupted }
    }

    /// Returns stdout, then stderr.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    pub(super) fn has_succeeded(&self) -> bool {
        self.ending == Ending::Exited(0)
    }
}

/// Runs a sub-command of this program to its end, with the flags of the conversation.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn run_own(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    flags: &Flags,
    arguments: &[&str],
) -> Result<CommandOutput, ExitFailure> {
    let program = std::env::current_exe().unwrap_or_else(|_| "ibeam".into());
    let mut command = Command::new(program);
    command.args(arguments).args(flags.for_commands());
    let name = arguments.first().copied().unwrap_or_default();
    run(process, screen, &format!("ibeam {name}"), command)
}

/// Runs a sub-command while no session is open, prints its output, and returns it for the model if it succeeded.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn run_between(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    flags: &Flags,
    command: &[String],
) -> Result<Option<String>, ExitFailure> {
    let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = run_own(process, screen, flags, &arguments)?;
    let color = if output.has_succeeded() { Color::Default } else { Color::Red };
    screen.print(Style::color(color), &output.text());
    let message = || {
        format!(
            "The user ran `ibeam {}`, which changed files of the workspace:\n{}",
            shown_words(&arguments).join(" "),
            output.stdout
        )
    };
    Ok(output.has_succeeded().then(message))
}

/// Returns the words of a command without those that only this program uses.
fn shown_words<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().take_while(|word| *word != REDO_COMMAND).collect()
}

/// Runs a command of the person with bash, prints its output, and returns it for the model.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn run_shell(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    text: &str,
) -> Result<Option<String>, ExitFailure> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let app: &AppContext = &process.app;
    screen.echo(Style::BOLD, &format!("! {text}"));
    let mut command = Command::new("bash");
    command.arg("-c").arg(text);
    let printed = run(process, screen, &format!("! {text}"), command)?;
    let (output, ending) = (printed.text(), &printed.ending);
    screen.print(Style::PLAIN, &last_lines(&output));
    if let Some(line) = ending.line(&app.base.catalogue) {
        screen.print(Style::DIM, &line);
    }
    let mut start = output.len().saturating_sub(MAX_OUTPUT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let shown = output.get(start..).unwrap_or_default();
    let mut message =
        format!("The user ran this command ({}):\n{text}\n\nIts output:\n{shown}", ending.for_model());
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
) -> Result<CommandOutput, ExitFailure> {
    command.current_dir(&process.app.workspace);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    screen.set_running(Some(label));
    let ended = process.wait_interruptible(async { Ok(run_to_end(command, screen).await) });
    screen.set_running(None);
    let ended = ended?.unwrap_or_else(|| Ok(CommandOutput::interrupted()));
    Ok(ended.unwrap_or_else(|error| CommandOutput {
        stdout: String::new(),
        stderr: error.to_string(),
        ending: Ending::Failed,
    }))
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

async fn run_to_end(mut command: Command, screen: &dyn CommandDisplay) -> std::io::Result<CommandOutput> {
    let mut child = command.spawn()?;
    let mut group =
        RunningGroup(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap_or_default())));
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (mut printed, mut errors) = (Vec::new(), Vec::new());
    let work = async {
        let read_stdout = async {
            match &mut stdout {
                Some(pipe) => pipe.read_to_end(&mut printed).await.map(drop),
                None => Ok(()),
            }
        };
        let read_stderr = async {
            match &mut stderr {
                Some(pipe) => pipe.read_to_end(&mut errors).await.map(drop),
                None => Ok(()),
            }
        };
        let (stdout, stderr) = futures_util::future::join(read_stdout, read_stderr).await;
        stdout.and(stderr)?;
        child.wait().await
    };
    let status = tokio::select! {
        status = work => Some(status?),
        () = screen.cancelled() => None,
    };
    if status.is_some() {
        group.0 = None;
    }
    Ok(CommandOutput {
        stdout: String::from_utf8_lossy(&printed).into_owned(),
        stderr: String::from_utf8_lossy(&errors).into_owned(),
        ending: status.map_or(Ending::Interrupted, Ending::from_status),
    })
}

/// Returns the lines that are shown of an output.
pub(super) fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(overwritten).collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
}
