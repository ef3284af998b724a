//! The screen of a session at a terminal, shared by the pump, the thread that reads keys, and the driver of the runs.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt as _};
use ibeam_core::Steering;
use ibeam_output::{Catalogue, EventWriter};
use ibeam_protocol::{Event, EventKind, SessionId, UserPrompt};
use ibeam_tui::{
    Activity, Color, DialogGuard, DialogInput, DialogOptions, DialogReply, EscapeEffect, Line, PagerStart,
    PickerOptions, RawTerminal, Style, TuiLine, Ui,
};
use tokio::sync::{Notify, oneshot};

use super::command_display::{CommandDisplay, INFORMATION};
use super::session_list::{self, ChosenSession};
use super::transcript_view::StoredConversation;
use super::typed_commands::with_typed_commands;
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::subagents::SubagentObserver;
use ibeam_agent::run_error::RunError;
use ibeam_agent::stderr;
use ibeam_agent::stdout::BackpressuredStdout;

/// The time between two attempts to lock the display.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// stdout, which is opened again for each writer of the process.
#[derive(Clone, Default)]
pub(super) struct SharedStdout(Arc<Mutex<Option<BackpressuredStdout>>>);

impl SharedStdout {
    pub(super) fn set(&self, stdout: BackpressuredStdout) {
        *self.lock() = Some(stdout);
    }

    fn lock(&self) -> MutexGuard<'_, Option<BackpressuredStdout>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for SharedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().as_mut().map_or(Err(io::ErrorKind::NotConnected.into()), |stdout| stdout.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().as_mut().map_or(Ok(()), Write::flush)
    }
}

/// The display, and what wakes those who wait for its input.
pub(super) struct InlineScreen {
    ui: Mutex<Ui<SharedStdout>>,
    /// Notified when a prompt was typed, and when the person leaves.
    pub(super) input: Notify,
    /// Notified when the person ends a command of their own.
    pub(super) cancel: Notify,
    /// Whether a command of the person runs, which an interrupt ends instead of a turn.
    pub(super) runs_command: AtomicBool,
    /// The session that is open.
    pub(super) conversation: Mutex<Option<StoredConversation>>,
    /// Whether the person has asked for a shorter conversation.
    pub(super) compacts: AtomicBool,
    pub(super) is_leaving: AtomicBool,
    /// Set at a forced exit, where nothing may wait for the display.
    is_exiting: AtomicBool,
    /// Whether the terminal shows the alternate screen.
    is_full_screen: Arc<AtomicBool>,
}

impl InlineScreen {
    pub(super) fn new(ui: Ui<SharedStdout>) -> Self {
        Self {
            is_full_screen: ui.full_screen_flag(),
            conversation: Mutex::new(None),
            ui: Mutex::new(ui),
            input: Notify::new(),
            cancel: Notify::new(),
            runs_command: AtomicBool::new(false),
            compacts: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            is_exiting: AtomicBool::new(false),
        }
    }

    /// Calls `work` with the display; returns `None` at a forced exit that another thread holds up.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Ui<SharedStdout>) -> T) -> Option<T> {
        loop {
            match self.ui.try_lock() {
                Ok(mut ui) => return Some(work(&mut ui)),
                Err(TryLockError::Poisoned(poisoned)) => return Some(work(&mut poisoned.into_inner())),
                Err(TryLockError::WouldBlock) if self.is_exiting.load(Ordering::Acquire) => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_INTERVAL),
            }
        }
    }

    /// Whether a turn or a command of the person runs, or a session is being opened.
    pub(super) fn is_busy(&self) -> bool {
        self.with(|ui| ui.is_busy()).unwrap_or(false)
    }

    /// Prints the lines of a text. A failure of the terminal shows in the next event.
    pub(super) fn print(&self, style: Style, text: &str) {
        self.with(|ui| drop(ui.print(Line::lines(style, text), Instant::now())));
    }

    /// Waits for the next prompt; `None` when the person leaves. Cancel safe.
    pub(super) async fn next_prompt(&self) -> Option<String> {
        loop {
            if self.is_leaving.load(Ordering::Acquire) {
                return None;
            }
            if let Some(prompt) = self.with(Ui::next_prompt).flatten() {
                return Some(prompt);
            }
            self.input.notified().await;
        }
    }

    /// Sends the lines of stderr to the display, and restores the terminal at a forced exit.
    ///
    /// `terminal` is the terminal for the case that another thread holds the display.
    pub(super) fn take_over(self: &Arc<Self>, terminal: Option<File>) {
        let screen = Arc::clone(self);
        stderr::set_sink(Some(Arc::new(move |text| {
            let color = if text.starts_with("error: ") { Color::Red } else { Color::Yellow };
            screen.print(Style::color(color), &with_typed_commands(text));
        })));
        let screen = Arc::clone(self);
        ibeam_agent::process_end::set_terminal_restorer(Box::new(move || {
            screen.is_exiting.store(true, Ordering::Release);
            stderr::set_sink(None);
            match screen.ui.try_lock() {
                Ok(mut ui) => drop(ui.stop()),
                Err(TryLockError::Poisoned(poisoned)) => drop(poisoned.into_inner().stop()),
                Err(TryLockError::WouldBlock) => {
                    if let Some(mut terminal) = terminal.as_ref().filter(|_| screen.is_full_screen()) {
                        drop(terminal.write_all(RawTerminal::leave_full_screen_bytes()));
                    }
                }
            }
            RawTerminal::restore();
        }));
    }

    /// Asks in the live rows, with the protection of the question and the effect of Esc, and returns the answer.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn ask(
        &self,
        process: &RunProcess<'_>,
        title: String,
        input: DialogInput,
        (guard, escape): (DialogGuard, EscapeEffect),
    ) -> Result<DialogReply, RunError> {
        if self.is_leaving.load(Ordering::Acquire) {
            return Ok(DialogReply::Leave);
        }
        let (sender, answer) = oneshot::channel();
        let reply = Box::new(move |reply| {
            // The program may end meanwhile.
            let _ = sender.send(reply);
        });
        let options = DialogOptions { title, input, guard, escape, reply };
        self.with(|ui| drop(ui.show_dialog(options, Instant::now())));
        Ok(process.wait(async { Ok(answer.await.unwrap_or(DialogReply::Leave)) })?)
    }

    fn is_full_screen(&self) -> bool {
        self.is_full_screen.load(Ordering::Acquire)
    }

    /// Shows the whole conversation of the session that is open.
    pub(super) fn show_transcript(&self) {
        let conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(conversation) = conversation {
            conversation.show(self);
        }
    }

    /// Removes the live rows, and gives stderr and the terminal back.
    pub(super) fn hand_back(&self) {
        stderr::set_sink(None);
        self.with(|ui| drop(ui.stop()));
        RawTerminal::restore();
    }
}

/// Passes events to the display.
pub(super) struct InlineWriter(pub(super) Arc<InlineScreen>);

impl EventWriter for InlineWriter {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.0.with(|ui| ui.on_event(event, Instant::now()));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.with(|ui| ui.draw(Instant::now())).unwrap_or(Ok(()))
    }
}

/// Shows what sub-agents do.
impl SubagentObserver for InlineScreen {
    fn on_event(&self, session: SessionId, event: &Event) {
        // The text of sub-agents is not shown, so most events need no display.
        if matches!(event.kind, EventKind::ToolCallStarted { .. }) {
            self.with(|ui| drop(ui.on_subagent_event(&session.to_string(), event, Instant::now())));
        }
    }
}

/// The messages that are typed while a turn runs.
pub(super) struct InlineSteering {
    pub(super) screen: Arc<InlineScreen>,
    pub(super) catalogue: Arc<Catalogue>,
}

impl Steering for InlineSteering {
    fn next_message(&self) -> Option<UserPrompt> {
        self.screen.with(Ui::next_steering).flatten().map(|text| vec![text].into())
    }

    fn take_compaction(&self) -> bool {
        self.screen.compacts.swap(false, Ordering::AcqRel)
    }

    fn on_nothing_to_compact(&self) {
        self.screen.print(INFORMATION, &self.catalogue.line(&TuiLine::NothingToCompact));
    }
}

impl CommandDisplay for InlineScreen {
    fn print(&self, style: Style, text: &str) {
        Self::print(self, style, text);
    }

    fn show_changes(&self, title: String, lines: Vec<Line>) {
        self.with(|ui| drop(ui.show_pager(title, lines, PagerStart::Top, Instant::now())));
    }

    fn show_transcript(&self, conversation: &StoredConversation) {
        conversation.show(self);
    }

    fn show_status(&self, session: &RunSession<'_>) {
        let (model, mode) = session.model_and_mode();
        self.with(|ui| ui.set_status(model, mode, session.context_window()));
    }

    fn request_compaction(&self) {
        self.compacts.store(true, Ordering::Release);
    }

    fn pick_session(
        &self,
        process: &RunProcess<'_>,
        notice: Option<String>,
    ) -> Result<Option<ChosenSession>, RunError> {
        pick_session(process, self, notice)
    }

    fn choose(
        &self,
        process: &RunProcess<'_>,
        title: String,
        choices: Vec<String>,
        guard: DialogGuard,
    ) -> Result<DialogReply, RunError> {
        self.ask(process, title, DialogInput::Choice(choices), (guard, EscapeEffect::GoesBack))
    }

    fn echo(&self, style: Style, text: &str) {
        self.with(|ui| drop(ui.echo(&Line::new(style, text), Instant::now())));
    }

    fn set_running(&self, label: Option<&str>) {
        // An interrupt that came too late for the command before is not one of this command.
        let _ = self.cancel.notified().now_or_never();
        self.runs_command.store(label.is_some(), Ordering::Release);
        let activity = label.map(|text| Activity { text: text.to_owned(), is_cancellable: true });
        self.with(|ui| drop(ui.set_activity(activity, Instant::now())));
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.cancel.notified())
    }
}

/// Lets the person choose a stored session; `None` if they choose none.
///
/// # Errors
/// The errors of [`session_list::entries`]; the reason of a signal.
fn pick_session(
    process: &RunProcess<'_>,
    screen: &InlineScreen,
    notice: Option<String>,
) -> Result<Option<ChosenSession>, RunError> {
    let entries = Box::new(session_list::entries(&process.app)?);
    let (sender, chosen) = oneshot::channel();
    let reply = Box::new(move |entry| {
        // The program may end meanwhile.
        let _ = sender.send(entry);
    });
    screen.with(|ui| drop(ui.show_picker(PickerOptions { entries, notice, reply }, Instant::now())));
    let chosen = process.wait(async { Ok(chosen.await.ok().flatten()) })?;
    Ok(chosen.map(ChosenSession::from_entry))
}
