//! The `/` commands of line mode, which print. All others are texts for the model.

use std::process::Command;

use ibeam_protocol::Failure;
use ibeam_tui::TuiLine;
use tokio::sync::Mutex;

use super::TerminalInput;
use super::session_list::{self, ChosenSession};
use super::transcript_view::StoredConversation;
use crate::app::AppContext;
use crate::exit::ExitFailure;
use crate::run::run_process::RunProcess;
use crate::run::run_session::RunSession;
use crate::stderr;

/// The number of sessions from which a person chooses by number.
const MAX_NUMBERED: usize = 20;

/// The next step after a line that may be a command.
pub(super) enum LineEnd {
    /// The command was executed.
    Done,
    /// The line is a prompt.
    IsPrompt,
    /// The session is closed, and another one is opened.
    Resume(ChosenSession),
}

/// Executes `text` if it is one of the commands.
///
/// # Errors
/// A failure that no further line can follow.
pub(super) fn execute(
    process: &RunProcess<'_>,
    session: &RunSession<'_>,
    input: &Mutex<TerminalInput>,
    text: &str,
) -> Result<LineEnd, ExitFailure> {
    let app: &AppContext = &process.app;
    let (name, argument) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let chosen = match (name, argument) {
        ("/transcript", None) => {
            process.print_text(&StoredConversation::new(app, session.id()).text())?;
            return Ok(LineEnd::Done);
        }
        ("/diff", turn) => {
            print_diff(process, &session.id().to_string(), turn)?;
            return Ok(LineEnd::Done);
        }
        ("/resume", None) => choose_session(process, input),
        ("/resume", Some(name)) => ChosenSession::named(app, name).map(Some).map_err(ExitFailure::from),
        _ => return Ok(LineEnd::IsPrompt),
    };
    match chosen {
        Ok(Some(chosen)) => Ok(LineEnd::Resume(chosen)),
        Ok(None) => Ok(LineEnd::Done),
        Err(failed) if process.stop.reason().is_some() => Err(failed),
        Err(failed) => {
            session.report(&failed);
            Ok(LineEnd::Done)
        }
    }
}

/// Asks for one of the latest sessions by its number, those of this directory first; `None` if the person chooses none.
///
/// # Errors
/// The errors of [`session_list::entries`]; the reason of a signal.
pub(super) fn choose_session(
    process: &RunProcess<'_>,
    input: &Mutex<TerminalInput>,
) -> Result<Option<ChosenSession>, ExitFailure> {
    let mut entries: Vec<_> = session_list::entries(&process.app)?.take(MAX_NUMBERED).collect();
    entries.sort_by_key(|entry| !entry.is_here);
    let mut text = String::new();
    for (number, entry) in (1..).zip(&entries) {
        let directory = if entry.is_here { String::new() } else { format!("  [{}]", entry.directory) };
        text.push_str(&format!("{number}  {}  {}  {}{directory}\n", entry.age, entry.size, entry.title));
    }
    text.push_str(&format!("{}\n", process.app.base.catalogue.line(&TuiLine::PickNumber)));
    let answer = process.wait(async { Ok(input.lock().await.answer(&text).await) })?;
    let number: Option<usize> = answer.and_then(|answer| answer.trim().parse().ok());
    let at = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < entries.len());
    Ok(at.map(|at| ChosenSession::from_entry(entries.swap_remove(at))))
}

/// Prints the output of `ibeam diff`.
fn print_diff(process: &RunProcess<'_>, id: &str, turn: Option<&str>) -> Result<(), Failure> {
    let program = std::env::current_exe().unwrap_or_else(|_| "ibeam".into());
    let mut command = Command::new(program);
    command.current_dir(&process.app.workspace).args(["diff", id]);
    if let Some(turn) = turn {
        command.args(["--turn", turn]);
    }
    match command.output() {
        Ok(output) => {
            stderr::write(&String::from_utf8_lossy(&output.stderr));
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            match printed.is_empty() && output.stderr.is_empty() {
                true => process.print_text(&(process.app.base.catalogue.line(&TuiLine::NoChanges) + "\n")),
                false => process.print_text(&printed),
            }
        }
        Err(error) => {
            stderr::write_line(&error.to_string());
            Ok(())
        }
    }
}
