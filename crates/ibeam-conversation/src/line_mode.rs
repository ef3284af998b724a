//! Line mode: a plain prompt loop, which prints no control sequence, for screen readers and for terminals that cannot move
//! the cursor. An interrupt ends the run; two interrupts at the prompt end the program.

use std::collections::VecDeque;
use std::fs::File;
use std::future::pending;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{ApprovalRequest, Steering};
use ibeam_output::{
    ApprovalQuestion, Catalogue, EventWriter, Text, TextOptions, escape_invisible, printable_lines,
};
use ibeam_protocol::{Event, EventKind, Failure, Reason, ToolOutcome, ToolOutput, UserPrompt};
use ibeam_tui::{Choice, DialogGuard, DialogInput, DialogReply, Line, Reply, ShownChanges, Style, TuiLine};
use tokio::sync::{Mutex, mpsc};

use super::command_display::CommandDisplay;
use super::conversation::{Conversation, PersonScreen};
use super::person_approver::{PersonQuestion, Questioner};
use super::session_list::{self, ChosenSession};
use super::start_dialog::{LineDialog, StartDialog, StartQuestion};
use super::transcript_view::StoredConversation;
use super::typed_commands::with_typed_commands;
use super::{InteractiveStart, background_note, change_of, subject_of};
use ibeam_agent::app::AppContext;
use ibeam_agent::run::run_process::{NewWriter, RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run::{on_runtime, thread_error};
use ibeam_agent::run_error::RunError;
use ibeam_agent::{model, stderr};

/// The end of a turn, for screen readers.
const BELL: &str = "\u{7}";
/// The number of lines of a change that a question shows.
const MAX_CHANGE_LINES: usize = 60;
/// The time within which the lines of a paste follow each other.
const PASTE_PAUSE: Duration = Duration::from_millis(40);
/// The number of bytes at which a terminal cuts a line.
const MAX_LINE_BYTES: usize = 4095;
/// The number of sessions from which a person chooses by number.
const MAX_NUMBERED: usize = 20;

/// Runs `first`, where there is one, and then each line of the terminal, until the end of input.
///
/// # Errors
/// As [`Conversation::begin`].
pub(super) fn run_lines(
    app: &Arc<AppContext>,
    start: &InteractiveStart,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
    for_screen_reader: bool,
) -> Result<(), RunError> {
    let catalogue = &app.base.catalogue;
    let loading = catalogue.line(&TuiLine::LoadingModel);
    model::set_load_observer(Arc::new(move |is_loading| {
        if is_loading {
            stderr::write_line(&loading);
        }
    }));
    let shown_changes = SharedChanges::default();
    let new_writer: NewWriter<'_> = Box::new(|stdout| {
        let options =
            TextOptions { verbose: true, live: true, shows_details: true, ..TextOptions::default() };
        let writer: Box<dyn EventWriter + Send> = match for_screen_reader {
            true => Box::new(Text::new(WholeLines::new(stdout), Arc::clone(catalogue), options)),
            false => Box::new(Text::new(stdout, Arc::clone(catalogue), options)),
        };
        Box::new(ChangesOnce { writer, shown: shown_changes.clone() })
    });
    stderr::set_sink(Some(Arc::new(|text| {
        if rustix::termios::isatty(rustix::stdio::stderr()) {
            stderr::write(&format!("{}\n", escape_invisible(&with_typed_commands(text))));
        }
    })));
    on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Interactive, startup, stdout, new_writer)?;
        let screen = LineScreen {
            process: process.clone(),
            input: Arc::new(Mutex::new(TerminalInput::start().map_err(thread_error)?)),
            messages: LineMessages::default(),
            shown_changes: shown_changes.clone(),
            rings: for_screen_reader,
        };
        Conversation::new(process, screen, first).begin(start)
    })
}

/// Passes on whole lines only, so that a screen reader does not read parts of words.
struct WholeLines<W> {
    out: W,
    pending: Vec<u8>,
}

impl<W: Write> WholeLines<W> {
    fn new(out: W) -> Self {
        Self { out, pending: Vec::new() }
    }
}

impl<W: Write> Write for WholeLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if let Some(end) = self.pending.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.pending.split_off(end + 1);
            let lines = std::mem::replace(&mut self.pending, rest);
            self.out.write_all(&lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The changes that questions have shown, for the questions and the writer.
#[derive(Clone, Default)]
struct SharedChanges(Arc<std::sync::Mutex<ShownChanges>>);

impl SharedChanges {
    fn lock(&self) -> std::sync::MutexGuard<'_, ShownChanges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Omits the changes that questions have shown.
struct ChangesOnce {
    writer: Box<dyn EventWriter + Send>,
    shown: SharedChanges,
}

impl EventWriter for ChangesOnce {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::ToolCallFinished { model_call_id, call, outcome }
                if self.shown.lock().remove(call, outcome) =>
            {
                let (model_call_id, call) = (model_call_id.clone(), call.clone());
                let outcome = Box::new(without_diff(outcome));
                let kind = EventKind::ToolCallFinished { model_call_id, call, outcome };
                self.writer.write(&Event { kind, ..*event })
            }
            kind => {
                if matches!(kind, EventKind::RunFinished(_)) {
                    self.shown.lock().clear();
                }
                self.writer.write(event)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.writer.end_line()
    }

    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        self.shown.lock().clear();
        self.writer.finish_incomplete_run()
    }
}

/// Returns the outcome without the change of a file.
fn without_diff(outcome: &ToolOutcome) -> ToolOutcome {
    let mut outcome = outcome.clone();
    if let ToolOutcome::Success { output, .. } = &mut outcome {
        if let ToolOutput::Edit(edit) = output {
            edit.diff.clear();
        }
        if let ToolOutput::Write(written) = output {
            written.diff.clear();
        }
    }
    outcome
}

/// The lines of a terminal.
struct LineScreen<'p> {
    /// Writes to stdout.
    process: RunProcess<'p>,
    input: Arc<Mutex<TerminalInput>>,
    messages: LineMessages,
    shown_changes: SharedChanges,
    /// Whether a bell rings at the end of a turn.
    rings: bool,
}

impl LineScreen<'_> {
    /// Prints lines. A failure of stdout ends the next run.
    fn print_lines(&self, lines: &[Line]) {
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        drop(self.process.print_text(&text));
    }
}

impl PersonScreen for LineScreen<'_> {
    type Questioner = LineQuestioner;
    type Dialog = LineDialog;

    fn display(&self) -> &dyn CommandDisplay {
        self
    }

    fn questioner(&self, catalogue: &Arc<Catalogue>) -> LineQuestioner {
        LineQuestioner {
            input: Arc::clone(&self.input),
            catalogue: Arc::clone(catalogue),
            messages: self.messages.clone(),
            shown_changes: self.shown_changes.clone(),
        }
    }

    fn dialog(&self, catalogue: &Arc<Catalogue>) -> LineDialog {
        LineDialog { input: Arc::clone(&self.input), catalogue: Arc::clone(catalogue) }
    }

    fn steering(&self, catalogue: &Arc<Catalogue>) -> Arc<dyn Steering> {
        Arc::new(LineSteering { messages: self.messages.clone(), catalogue: Arc::clone(catalogue) })
    }

    fn show_welcome(&self, catalogue: &Catalogue) {
        stderr::write_line(&catalogue.line(&TuiLine::WelcomeHelp));
    }

    fn next_prompt(&self) -> BoxFuture<'_, Result<Option<String>, Failure>> {
        let input = Arc::clone(&self.input);
        let catalogue = Arc::clone(&self.process.app.base.catalogue);
        Box::pin(async move { input.lock().await.next_prompt(&catalogue).await.map_err(Failure::from) })
    }

    fn wait_for_prompt(&self, session: &mut RunSession<'_>) -> Result<Option<String>, Failure> {
        let mut leaves_next = false;
        loop {
            if let Some(typed) = session.wait_interruptible(self.next_prompt())? {
                return Ok(typed);
            }
            // The terminal has shown `^C` on the line of the prompt.
            stderr::write("\n");
            if self.input.try_lock().is_ok_and(|mut input| input.discard_draft()) {
                leaves_next = false;
                continue;
            }
            if leaves_next {
                return Ok(None);
            }
            leaves_next = true;
            stderr::write_line(&self.process.app.base.catalogue.line(&TuiLine::PressAgain));
        }
    }

    fn show_past(&self, app: &AppContext, session: &RunSession<'_>) {
        drop(self.process.print_text(&StoredConversation::new(app, session.id()).last_turns_text()));
    }

    /// A person who hears the lines one by one is not asked after each plan.
    fn accepts_offers(&self) -> bool {
        false
    }

    fn on_turn_end(&self) {
        if self.rings {
            stderr::write(BELL);
        }
    }
}

impl CommandDisplay for LineScreen<'_> {
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

    fn pick_session(
        &self,
        process: &RunProcess<'_>,
        notice: Option<String>,
    ) -> Result<Option<ChosenSession>, RunError> {
        notice.iter().for_each(|notice| stderr::write_line(notice));
        choose_session(process, &self.input)
    }

    fn choose(
        &self,
        process: &RunProcess<'_>,
        title: String,
        choices: Vec<String>,
        _: DialogGuard,
    ) -> Result<DialogReply, RunError> {
        let question = StartQuestion::following(title, DialogInput::Choice(choices));
        self.dialog(&process.app.base.catalogue).ask(process, question)
    }

    fn keys(&self) -> &'static [TuiLine<'static>] {
        &[TuiLine::KeysLines]
    }

    /// The terminal has echoed the line.
    fn echo(&self, _: Style, _: &str) {}

    fn set_running(&self, _: Option<&str>) {}

    /// An interrupt ends a command here.
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }
}

/// Asks for one of the latest sessions by its number, those of this directory first; `None` if the person chooses none.
///
/// # Errors
/// The errors of [`session_list::entries`]; the reason of a signal.
fn choose_session(
    process: &RunProcess<'_>,
    input: &Mutex<TerminalInput>,
) -> Result<Option<ChosenSession>, RunError> {
    let mut entries: Vec<_> = session_list::entries(&process.app)?.take(MAX_NUMBERED).collect();
    entries.sort_by_key(|entry| !entry.is_here);
    let mut text = String::new();
    for (number, entry) in (1..).zip(&entries) {
        let directory = if entry.is_here { String::new() } else { format!("  [{}]", entry.directory) };
        text.push_str(&format!("{number}  {}  {}  {}{directory}\n", entry.age, entry.size, entry.title));
    }
    text.push_str(&format!("{}\n", process.app.base.catalogue.line(&TuiLine::PickNumber)));
    loop {
        let answer = process.wait(async { Ok(input.lock().await.answer(&text).await) })?;
        let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) else { return Ok(None) };
        let number: Option<usize> = answer.trim().parse().ok();
        if let Some(at) = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < entries.len()) {
            return Ok(Some(ChosenSession::from_entry(entries.swap_remove(at))));
        }
    }
}

/// Returns the text of a change of a file, with at most [`MAX_CHANGE_LINES`] lines.
fn proposed_lines(catalogue: &Catalogue, lines: &[Line]) -> String {
    let hidden = lines.len().saturating_sub(MAX_CHANGE_LINES);
    let mut text: String = lines.iter().take(MAX_CHANGE_LINES).map(|line| line.text() + "\n").collect();
    if hidden > 0 {
        let count = u64::try_from(hidden).unwrap_or(u64::MAX);
        text.push_str(&format!("  {}\n", catalogue.line(&TuiLine::HiddenLines { count })));
    }
    text
}

/// Asks the person at the terminal, again after an answer that is not a choice. An empty line refuses the call.
struct LineQuestioner {
    input: Arc<Mutex<TerminalInput>>,
    catalogue: Arc<Catalogue>,
    messages: LineMessages,
    shown_changes: SharedChanges,
}

impl Questioner for LineQuestioner {
    fn ask<'a>(&'a self, question: PersonQuestion<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let subject = subject_of(question.call, question.access);
            let ApprovalRequest { rule, reason, diff } = question.request;
            let choices = question.lasting.choices();
            let change = change_of(question.call, question.access, diff);
            self.shown_changes.lock().add(question.call.id.clone(), &change);
            let mut text = proposed_lines(&self.catalogue, &change);
            let mut question_at = text.len();
            text.push_str(&self.catalogue.question(&ApprovalQuestion { subject: &subject, rule, reason }));
            text.push('\n');
            if let Some(note) = background_note(&self.catalogue, question.call) {
                text.push_str(&format!("{note}\n"));
            }
            for (number, choice) in (1..).zip(&choices) {
                let line = choice.line(question.lasting.rule.as_deref());
                text.push_str(&format!("{number} {}\n", self.catalogue.line(&line)));
            }
            let mut input = self.input.lock().await;
            let choice = loop {
                let answer = input.answer(&text).await.unwrap_or_default();
                let choice = Choice::from_answer(answer.trim(), &choices);
                if choice.is_some() || answer.trim().is_empty() {
                    break choice;
                }
                // The change has been read; the choices are repeated.
                text = text.split_off(question_at);
                question_at = 0;
            };
            match choice {
                Some(Choice::Once) => Reply::Once,
                Some(Choice::ForSession) => Reply::ForSession,
                Some(Choice::AllEdits) => Reply::AllEdits,
                Some(Choice::AlwaysHere) => Reply::AlwaysHere,
                Some(Choice::Always) => Reply::Always,
                Some(Choice::RefuseAndExplain) => {
                    let text = format!("{}\n", self.catalogue.line(&TuiLine::ExplainInLine));
                    Reply::RefuseAndExplain(input.answer(&text).await.unwrap_or_default())
                }
                Some(Choice::Refuse) | None => Reply::Refuse,
            }
        })
    }

    fn print(&self, _: bool, text: &str) {
        stderr::write_line(text.trim_start());
    }

    fn send(&self, message: String) {
        self.messages.lock().push_back(message);
    }
}

/// The messages of a person to a run: texts about refusals, and the request for a shorter conversation.
#[derive(Clone, Default)]
struct LineMessages {
    waiting: Arc<std::sync::Mutex<VecDeque<String>>>,
    compacts: Arc<AtomicBool>,
}

impl LineMessages {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes the messages to a run.
struct LineSteering {
    messages: LineMessages,
    catalogue: Arc<Catalogue>,
}

impl Steering for LineSteering {
    fn next_message(&self) -> Option<UserPrompt> {
        self.messages.lock().pop_front().map(|text| vec![text].into())
    }

    fn take_compaction(&self) -> bool {
        self.messages.compacts.swap(false, Ordering::AcqRel)
    }

    fn on_nothing_to_compact(&self) {
        stderr::write_line(&self.catalogue.line(&TuiLine::NothingToCompact));
    }
}

/// Lines that a person types. They are read on another thread, so that the wait for one can be cancelled.
///
/// A line that was typed before a question is not its answer; it becomes the next prompt.
pub(super) struct TerminalInput {
    arriving: mpsc::UnboundedReceiver<io::Result<String>>,
    /// Lines that were typed before a question.
    early: VecDeque<io::Result<String>>,
    /// The lines of a message that is not complete.
    draft: String,
}

impl TerminalInput {
    /// Starts to read stdin. The thread ends with stdin, or with the process.
    ///
    /// # Errors
    /// The system's error when no thread can be started.
    fn start() -> io::Result<Self> {
        let (lines, arriving) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("typed-lines".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                if lines.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { arriving, early: VecDeque::new(), draft: String::new() })
    }

    /// Prints the prompt sign and returns the next message; `None` at the end of input. Cancel safe.
    ///
    /// A message has more than one line if lines end with `\`, or if they arrive together, as pasted lines do. Commands
    /// are lines of their own.
    ///
    /// # Errors
    /// `Io` when stdin cannot be read.
    async fn next_prompt(&mut self, catalogue: &Catalogue) -> Result<Option<String>, Reason> {
        let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
        let mut is_continued = false;
        loop {
            if self.draft.is_empty() || is_continued {
                stderr::write(if is_continued { ". " } else { "> " });
            }
            let next = match self.early.pop_front() {
                Some(line) => Some(line),
                None if self.draft.is_empty() || is_continued => self.arriving.recv().await,
                None => match tokio::time::timeout(PASTE_PAUSE, self.arriving.recv()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(Some(std::mem::take(&mut self.draft))),
                },
            };
            let Some(line) = next.transpose().map_err(failed)? else {
                let draft = std::mem::take(&mut self.draft);
                return Ok(Some(draft).filter(|draft| !draft.is_empty()));
            };
            if line.len() >= MAX_LINE_BYTES {
                stderr::write_line(&catalogue.line(&TuiLine::LineCut));
            }
            let is_command = |text: &str| text.starts_with(['/', '!']);
            if self.draft.is_empty() && (line.trim().is_empty() || is_command(&line)) {
                return Ok(Some(line));
            }
            if is_command(&line) && !is_continued {
                self.early.push_front(Ok(line));
                return Ok(Some(std::mem::take(&mut self.draft)));
            }
            if !self.draft.is_empty() && !is_continued {
                self.draft.push('\n');
            }
            is_continued = line.ends_with('\\');
            self.draft.push_str(line.strip_suffix('\\').unwrap_or(&line));
            if is_continued {
                self.draft.push('\n');
            }
        }
    }

    /// Discards the lines of a message that is not complete. Returns whether there were any.
    fn discard_draft(&mut self) -> bool {
        !std::mem::take(&mut self.draft).is_empty()
    }

    /// Prints `question` and returns the line after it; `None` when stdin has ended or fails. Cancel safe.
    pub(super) async fn answer(&mut self, question: &str) -> Option<String> {
        while let Ok(line) = self.arriving.try_recv() {
            self.early.push_back(line);
        }
        // Titles of sessions and changes of files are in it.
        stderr::write(&printable_lines(question));
        self.arriving.recv().await?.ok()
    }
}
