//! The `/` commands of the inline screen, and `!command`, which runs a command of the person.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ibeam_output::Catalogue;
use ibeam_protocol::Failure;
use ibeam_tui::{Candidate, Style, TuiLine};
use rustix::process::{Pid, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::inline::{INFORMATION, set_busy};
use super::inline_screen::InlineScreen;
use crate::app::AppContext;
use crate::exit::ExitFailure;
use crate::model;
use crate::run::run_session::RunSession;

/// The bytes of the output of a command that the model receives, from its end.
const MAX_OUTPUT: usize = 16 << 10;
/// The lines of the output of a command that are shown, from its end.
const SHOWN_LINES: usize = 200;

/// The commands and their descriptions.
const COMMANDS: [(&str, TuiLine<'_>); 7] = [
    ("/help", TuiLine::CommandHelp),
    ("/status", TuiLine::CommandStatus),
    ("/model", TuiLine::CommandModel),
    ("/context", TuiLine::CommandContext),
    ("/permissions", TuiLine::CommandPermissions),
    ("/mcp", TuiLine::CommandMcp),
    ("/exit", TuiLine::CommandExit),
];

/// The result of a prompt that may be a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// The command was executed.
    Done,
    /// The person leaves.
    Leave,
    /// The text is a prompt, or a command of a file, skill or server.
    IsPrompt,
}

/// Returns the commands for the completion.
pub(super) fn candidates(catalogue: &Catalogue) -> Vec<Candidate> {
    let candidate = |(word, line): &(&str, TuiLine<'_>)| Candidate {
        word: (*word).to_owned(),
        description: catalogue.line(line),
    };
    COMMANDS.iter().map(candidate).collect()
}

/// Executes `text` if it is one of the commands.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn execute(
    app: &Arc<AppContext>,
    session: &mut RunSession<'_>,
    screen: &InlineScreen,
    text: &str,
) -> Result<CommandEnd, ExitFailure> {
    let (name, argument) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    match name {
        "/help" => screen.print(Style::PLAIN, &help(&app.base.catalogue)),
        "/status" => screen.print(INFORMATION, &session.status()),
        "/model" if argument.is_empty() => run_own(app, session, screen, &["models"])?,
        "/model" => {
            let choice = model::choose_model_named(app, argument.trim(), "/model").map_err(Failure::from);
            match choice.and_then(|choice| session.set_model(choice)) {
                Ok(()) => screen.print(INFORMATION, &session.status()),
                Err(failure) => session.report(&failure.into()),
            }
        }
        "/context" => run_own(app, session, screen, &["context"])?,
        "/permissions" => run_own(app, session, screen, &["policy", "list"])?,
        "/mcp" => run_own(app, session, screen, &["mcp", "list"])?,
        "/exit" | "/quit" | "exit" | "quit" => return Ok(CommandEnd::Leave),
        _ => return Ok(CommandEnd::IsPrompt),
    }
    Ok(CommandEnd::Done)
}

/// Returns the commands and the keys.
fn help(catalogue: &Catalogue) -> String {
    let commands = COMMANDS.iter().map(|(word, line)| format!("{word:<14}{}\n", catalogue.line(line)));
    let keys = [TuiLine::KeysIdle, TuiLine::KeysBusy].map(|line| catalogue.line(&line));
    format!("{}\n{}:\n{}", commands.collect::<String>(), catalogue.line(&TuiLine::Keys), keys.join("\n"))
}

/// Runs a sub-command of this program, and prints its output.
///
/// # Errors
/// A failure that no further prompt can follow.
fn run_own(
    app: &Arc<AppContext>,
    session: &mut RunSession<'_>,
    screen: &InlineScreen,
    arguments: &[&str],
) -> Result<(), ExitFailure> {
    let program = std::env::current_exe().unwrap_or_else(|_| "ibeam".into());
    let mut command = Command::new(program);
    command.args(arguments);
    let (output, _) = run(app, session, screen, command)?;
    screen.print(Style::PLAIN, &last_lines(&output));
    Ok(())
}

/// Runs a command of the person with bash, prints its output, and returns it for the model.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn run_shell(
    app: &Arc<AppContext>,
    session: &mut RunSession<'_>,
    screen: &InlineScreen,
    text: &str,
) -> Result<Option<String>, ExitFailure> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    screen.print(Style::BOLD, &format!("! {text}"));
    let mut command = Command::new("bash");
    command.arg("-c").arg(text);
    let (output, ending) = run(app, session, screen, command)?;
    screen.print(Style::PLAIN, &last_lines(&output));
    screen.print(Style::DIM, &app.base.catalogue.line(&TuiLine::ExitCode { text: &ending }));
    let mut start = output.len().saturating_sub(MAX_OUTPUT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let shown = output.get(start..).unwrap_or_default();
    let mut message =
        format!("The user ran this command (exit code {ending}):\n{text}\n\nIts output:\n{shown}");
    app.redactor().redact_value(&mut message);
    Ok(Some(message))
}

/// Runs a command to its end, or until the person interrupts it. Returns its output, and its exit code or signal.
///
/// # Errors
/// A failure that no further prompt can follow.
fn run(
    app: &Arc<AppContext>,
    session: &mut RunSession<'_>,
    screen: &InlineScreen,
    mut command: Command,
) -> Result<(String, String), ExitFailure> {
    command.current_dir(&app.workspace).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    screen.runs_command.store(true, Ordering::Release);
    set_busy(screen, true);
    let ended = session.wait(async { Ok(run_to_end(command, screen).await) });
    set_busy(screen, false);
    screen.runs_command.store(false, Ordering::Release);
    Ok(ended?.unwrap_or_else(|error| (error.to_string(), "-".to_owned())))
}

async fn run_to_end(mut command: Command, screen: &InlineScreen) -> std::io::Result<(String, String)> {
    let mut child = command.spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap_or_default()));
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
        () = screen.cancel.notified() => None,
    };
    if let (None, Some(group)) = (status, group) {
        // The group may have ended meanwhile.
        let _ = kill_process_group(group, rustix::process::Signal::KILL);
    }
    let code =
        status.and_then(|status| status.code()).map_or_else(|| "-".to_owned(), |code| code.to_string());
    let output = format!("{}{}", String::from_utf8_lossy(&printed), String::from_utf8_lossy(&errors));
    Ok((output, code))
}

/// Returns the lines that are shown of an output.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
}
