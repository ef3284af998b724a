//! The display of `/` commands in line mode, and the choice of a session by its number.

use std::future::pending;
use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;
use ibeam_tui::{Line, Style, TuiLine};
use tokio::sync::Mutex;

use super::person_commands::CommandDisplay;
use super::session_list::{self, ChosenSession};
use super::transcript_view::StoredConversation;
use super::{LineMessages, TerminalInput};
use crate::exit::ExitFailure;
use crate::run::run_process::RunProcess;

/// The number of sessions from which a person chooses by number.
const MAX_NUMBERED: usize = 20;

/// The place where commands print in line mode: stdout.
pub(super) struct LineDisplay<'a, 'p> {
    process: &'a RunProcess<'p>,
    input: &'a Mutex<TerminalInput>,
    messages: &'a LineMessages,
}

impl<'a, 'p> LineDisplay<'a, 'p> {
    pub(super) fn new(
        process: &'a RunProcess<'p>,
        input: &'a Mutex<TerminalInput>,
        messages: &'a LineMessages,
    ) -> Self {
        Self { process, input, messages }
    }

    /// Prints lines. A failure of stdout ends the next run.
    fn print_lines(&self, lines: &[Line]) {
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        drop(self.process.print_text(&text));
    }
}

impl CommandDisplay for LineDisplay<'_, '_> {
    fn print(&self, style: Style, text: &str) {
        self.print_lines(&Line::lines(style, text));
    }

    fn show_changes(&self, _: String, lines: Vec<Line>) {
        self.print_lines(&lines);
    }

    fn show_transcript(&self, conversation: &StoredConversation) {
        drop(self.process.print_text(&conversation.text()));
    }

    fn request_compaction(&self) {
        self.messages.compacts.store(true, Ordering::Release);
    }

    fn pick_session(&self, process: &RunProcess<'_>) -> Result<Option<ChosenSession>, ExitFailure> {
        choose_session(process, self.input)
    }

    fn set_running(&self, _: bool) {}

    /// An interrupt ends a command here.
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
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
