//! Interactive mode, without `--print` on a terminal.
//!
//! One session, one run for each prompt. On most terminals the display is the inline screen (`interactive/inline.rs`).
//! Here is the line mode, a plain prompt loop over the same events, which prints no control sequence: for screen readers
//! and for terminals that cannot move the cursor. In it, an interrupt ends the run, and at an empty prompt the program.

mod file_index;
mod inline;
mod inline_approver;
mod inline_input;
mod inline_screen;
mod line_commands;
mod model_setup;
mod own_commands;
mod person_approver;
mod person_commands;
mod session_list;
mod start_dialog;
mod transcript_view;
mod trust_question;

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::future::pending;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, ApprovalRequest, Approver, Steering};
use ibeam_output::{ApprovalQuestion, Catalogue, Text, TextOptions};
use ibeam_protocol::{Failure, Reason, ToolCall, UserPrompt};
use ibeam_tui::{Choice, Reply, Style, TuiLine, proposed_change};
use tokio::sync::{Mutex, mpsc};

use self::line_commands::LineDisplay;
use self::own_commands::{run_between, run_shell};
use self::person_approver::{GivenAnswers, PersonApprover, PersonQuestion, Questioner};
use self::person_commands::{CommandContext, CommandDisplay, CommandEnd, Reopening};
use self::session_list::ChosenSession;
use self::start_dialog::LineDialog;
use super::front_end::FrontEnd;
use super::policy_rules::build_policy;
use super::prepare::permission_mode;
use super::run_process::{NewWriter, RunKind, RunProcess};
use super::run_session::RunSession;
use super::sandbox::RunSandbox;
use super::session_opener::SessionTarget;
use super::watchdog::StartupWatchdog;
use super::{on_runtime, thread_error};
use crate::app::{AppContext, ConfigUse};
use crate::cli::Flags;
use crate::environment::variable;
use crate::exit::ExitFailure;
use crate::prompt::Prompt;
use crate::{model, stderr};

/// The end of a turn, for screen readers.
const BELL: &str = "\u{7}";
/// The number of lines of a change that a question shows in line mode.
const MAX_CHANGE_LINES: usize = 60;

/// Whether `--screen-reader` or `ACCESSIBLE` asks for lines only.
fn is_for_screen_reader(app: &AppContext) -> bool {
    app.base.flags.screen_reader || variable("ACCESSIBLE").is_some_and(|value| value != "0")
}

/// Whether the terminal can move the cursor, as far as `TERM` states it.
fn can_move_cursor() -> bool {
    variable("TERM").is_some_and(|name| name != "dumb")
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

/// Returns the exact command of a call, or its tool and what it would touch.
fn subject_of(call: &ToolCall, access: &Access) -> String {
    match access {
        Access::Command { text, directory: None } => text.clone(),
        Access::Command { text, directory: Some(directory) } => format!("{}$ {text}", directory.display()),
        Access::Read(path) | Access::Write(path) => format!("{} {}", call.name, path.display()),
        Access::Fetch { url } => format!("{} {url}", call.name),
        Access::Mcp { server, tool, .. } => {
            let arguments = call.arguments.get("args").map(ToString::to_string).unwrap_or_default();
            format!("{server}:{tool} {arguments}")
        }
        Access::Nothing | Access::Task { .. } => call.name.clone(),
    }
}

/// The session with which interactive mode starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InteractiveStart {
    /// A new or a stored session.
    Session(SessionTarget),
    /// The stored session that the person chooses.
    Choice,
}

/// The front end of interactive mode.
struct TerminalFrontEnd {
    approver: Arc<PersonApprover<LineQuestioner>>,
    messages: LineMessages,
}

impl FrontEnd for TerminalFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
    }

    fn steering(&self) -> Arc<dyn Steering> {
        Arc::new(self.messages.clone())
    }
}

/// Runs `first`, where there is one, and then each line of the terminal, until the end of input.
///
/// # Errors
/// A failure before the first run, or one that no further run can follow. Other failed runs are printed, and the loop
/// continues.
pub(crate) fn run_interactive(
    app: &Arc<AppContext>,
    start: &InteractiveStart,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), ExitFailure> {
    let for_screen_reader = is_for_screen_reader(app);
    if !for_screen_reader && can_move_cursor() {
        return inline::run_inline(app, start, first, stdout, startup);
    }
    let catalogue = &app.base.catalogue;
    let loading = catalogue.line(&TuiLine::LoadingModel);
    model::set_load_observer(Arc::new(move |is_loading| {
        if is_loading {
            stderr::write_line(&loading);
        }
    }));
    let new_writer: NewWriter<'_> = Box::new(|stdout| {
        let options =
            TextOptions { verbose: true, live: true, shows_reasons: true, ..TextOptions::default() };
        match for_screen_reader {
            true => Box::new(Text::new(WholeLines::new(stdout), Arc::clone(catalogue), options)),
            false => Box::new(Text::new(stdout, Arc::clone(catalogue), options)),
        }
    });
    on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Interactive, startup, stdout, new_writer)?;
        let input = Arc::new(Mutex::new(TerminalInput::start().map_err(thread_error)?));
        let first_session = match start {
            InteractiveStart::Session(target) => {
                Some(ChosenSession { target: target.clone(), workspace: None })
            }
            InteractiveStart::Choice => line_commands::choose_session(&process, &input)?,
        };
        let Some(first_session) = first_session else { return Ok(()) };
        let mut conversation = LineConversation {
            process,
            input,
            messages: LineMessages::default(),
            flags: app.base.flags.clone(),
            waiting: first,
            answers: GivenAnswers::default(),
            outputs: Vec::new(),
            rings: for_screen_reader,
        };
        conversation.run(first_session)
    })
}

/// The sessions of a person in line mode, one after another.
struct LineConversation<'a> {
    process: RunProcess<'a>,
    input: Arc<Mutex<TerminalInput>>,
    messages: LineMessages,
    /// The flags with which sessions are opened. Commands change them.
    flags: Flags,
    /// The prompt of the command line.
    waiting: Option<String>,
    answers: GivenAnswers,
    /// The output of commands of the person, for the next prompt.
    outputs: Vec<String>,
    /// Whether a bell rings at the end of a turn.
    rings: bool,
}

impl<'a> LineConversation<'a> {
    /// Opens sessions and runs prompts until the person leaves.
    ///
    /// # Errors
    /// The failure of the first opening, or one that no further run can follow.
    fn run(&mut self, first: ChosenSession) -> Result<(), ExitFailure> {
        if first.workspace.is_some() {
            self.flags.workspace = first.workspace;
            self.process.app = changed_app(&self.process.app, &self.flags)?;
        }
        let dialog = self.dialog();
        if !trust_question::ask(&mut self.process, &self.flags, &dialog)?
            || !model_setup::ensure_model(&mut self.process, &self.flags, &dialog)?
        {
            return Ok(());
        }
        let mut session = self.open(&first.target)?;
        loop {
            let next = match self.run_lines(&mut session) {
                Ok(Some(next)) => next,
                Ok(None) => return session.close(Ok(())),
                Err(failed) => return session.close(Err(failed)),
            };
            let previous = session.reopening_target();
            session.close(Ok(()))?;
            if !next.command.is_empty() {
                let display = LineDisplay::new(&self.process, &self.input, &self.messages);
                self.outputs.extend(run_between(&self.process, &display, &next.command)?);
            }
            session = self.reopen(&next, &previous)?;
        }
    }

    /// Returns the questions of the start, as lines.
    fn dialog(&self) -> LineDialog {
        LineDialog { input: Arc::clone(&self.input), catalogue: Arc::clone(&self.process.app.base.catalogue) }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// The errors of [`RunSession::open`] and of what it needs.
    fn open(&self, target: &SessionTarget) -> Result<RunSession<'a>, ExitFailure> {
        let app = &self.process.app;
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn_for_terminal(app)?;
        let questioner = LineQuestioner {
            input: Arc::clone(&self.input),
            catalogue: Arc::clone(&app.base.catalogue),
            messages: self.messages.clone(),
        };
        let policy = build_policy(app, permission_mode(app))?;
        let approver = PersonApprover::new(app, questioner, policy, self.answers.clone());
        let front_end = TerminalFrontEnd { approver: Arc::new(approver), messages: self.messages.clone() };
        let prompt = Prompt { blocks: self.waiting.iter().cloned().collect(), notice: None };
        RunSession::open(self.process.clone(), target, model, sandbox, &prompt, &front_end)
    }

    /// Opens the next session with the flags as they are now, or the previous one if that fails.
    ///
    /// # Errors
    /// The reason of a signal; the failure of the opening of the previous session.
    fn reopen(&mut self, next: &Reopening, previous: &SessionTarget) -> Result<RunSession<'a>, ExitFailure> {
        let before = Arc::clone(&self.process.app);
        self.flags = next.flags(&self.flags);
        let opened = match changed_app(&before, &self.flags) {
            Ok(app) => {
                self.process.app = app;
                let dialog = self.dialog();
                if !trust_question::ask(&mut self.process, &self.flags, &dialog)? {
                    self.flags = before.base.flags.clone();
                    self.process.app = before;
                    return self.open(previous);
                }
                self.open(&next.target)
            }
            Err(reason) => Err(reason.into()),
        };
        match opened {
            Ok(session) => {
                let display = LineDisplay::new(&self.process, &self.input, &self.messages);
                display.print(Style::PLAIN, &session.status_line(next.printed));
                Ok(session)
            }
            Err(failed) if self.process.stop.reason().is_some() => Err(failed),
            Err(failed) => {
                stderr::write_line(&failed.explained(&before.base.catalogue).to_string());
                self.flags = before.base.flags.clone();
                self.process.app = before;
                self.open(previous)
            }
        }
    }

    /// Runs each line, until the end of input or the choice of another session.
    ///
    /// # Errors
    /// A failure that no further line can follow.
    fn run_lines(&mut self, session: &mut RunSession<'a>) -> Result<Option<Reopening>, ExitFailure> {
        loop {
            let next_line = async { self.input.lock().await.next_prompt().await.map_err(Failure::from) };
            let text = match self.waiting.take() {
                Some(text) => text,
                None => match session.wait(next_line)? {
                    Some(text) => text,
                    None => return Ok(None),
                },
            };
            if text.trim().is_empty() {
                continue;
            }
            let display = LineDisplay::new(&self.process, &self.input, &self.messages);
            if let Some(command) = text.strip_prefix('!') {
                self.outputs.extend(run_shell(&self.process, &display, command)?);
                continue;
            }
            let mut context =
                CommandContext { process: &self.process, session, screen: &display, flags: &mut self.flags };
            match person_commands::execute(&mut context, &text)? {
                CommandEnd::Leave => return Ok(None),
                CommandEnd::Reopen(next) => return Ok(Some(next)),
                CommandEnd::Done => continue,
                CommandEnd::IsPrompt => {}
            }
            let mut prompt = UserPrompt::from(vec![text]);
            match session.attach_mentioned(&mut prompt) {
                Ok(()) => {}
                Err(failure) if matches!(failure.reason, Reason::Usage { .. }) => {
                    session.report(&failure.into());
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            }
            prompt.texts.append(&mut self.outputs);
            match session.run_prompt(prompt, None, pending()) {
                Ok(()) => {}
                Err(failed) if session.must_close(&failed) => return Err(failed),
                Err(failed) => session.report_ended(&failed),
            }
            if self.rings {
                stderr::write(BELL);
            }
        }
    }
}

/// Writes a file that only the user can read, with its directory. The file is a convenience, so a disk that cannot be
/// written is ignored.
fn write_private(path: &Path, bytes: &[u8]) {
    let Some(directory) = path.parent() else { return };
    drop(DirBuilder::new().recursive(true).mode(0o700).create(directory));
    drop(ibeam_files::private_file::replace(path, bytes));
}

/// Returns the context of sessions with other flags.
///
/// # Errors
/// The errors of [`AppContext::new`].
fn changed_app(app: &AppContext, flags: &Flags) -> Result<Arc<AppContext>, Reason> {
    let writer = app.dialect_writer.clone();
    AppContext::new(flags.clone(), writer, ConfigUse::Needed, app.started_at).map(Arc::new)
}

/// Returns the change of a file that a call would make, with at most [`MAX_CHANGE_LINES`] lines.
fn proposed_lines(catalogue: &Catalogue, call: &ToolCall) -> String {
    let lines = proposed_change(call);
    let hidden = lines.len().saturating_sub(MAX_CHANGE_LINES);
    let mut text: String = lines.iter().take(MAX_CHANGE_LINES).map(|line| line.text() + "\n").collect();
    if hidden > 0 {
        let count = u64::try_from(hidden).unwrap_or(u64::MAX);
        text.push_str(&format!("  {}\n", catalogue.line(&TuiLine::HiddenLines { count })));
    }
    text
}

/// Asks the person at the terminal. Every answer that is not a choice refuses the call.
struct LineQuestioner {
    input: Arc<Mutex<TerminalInput>>,
    catalogue: Arc<Catalogue>,
    messages: LineMessages,
}

impl Questioner for LineQuestioner {
    fn ask<'a>(&'a self, question: PersonQuestion<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let subject = subject_of(question.call, question.access);
            let ApprovalRequest { rule, reason } = question.request;
            let choices = Choice::offered(question.may_last, question.rule.is_some());
            let mut text = proposed_lines(&self.catalogue, question.call);
            text.push_str(&self.catalogue.question(&ApprovalQuestion { subject: &subject, rule, reason }));
            text.push('\n');
            for (number, choice) in (1..).zip(&choices) {
                let line = choice.line(question.rule.as_deref());
                text.push_str(&format!("{number} {}\n", self.catalogue.line(&line)));
            }
            let mut input = self.input.lock().await;
            let answer = input.answer(&text).await.unwrap_or_default();
            match Choice::from_answer(answer.trim(), &choices) {
                Some(Choice::Once) => Reply::Once,
                Some(Choice::ForSession) => Reply::ForSession,
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

impl Steering for LineMessages {
    fn next_message(&self) -> Option<UserPrompt> {
        self.lock().pop_front().map(|text| vec![text].into())
    }

    fn take_compaction(&self) -> bool {
        self.compacts.swap(false, Ordering::AcqRel)
    }
}

/// Lines that a person types. They are read on another thread, so that the wait for one can be cancelled.
///
/// A line that was typed before a question is not its answer; it becomes the next prompt.
struct TerminalInput {
    arriving: mpsc::UnboundedReceiver<io::Result<String>>,
    /// Lines that were typed before a question.
    early: VecDeque<io::Result<String>>,
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
        Ok(Self { arriving, early: VecDeque::new() })
    }

    /// Prints the prompt sign and returns the next line; `None` at the end of input. Cancel safe.
    ///
    /// # Errors
    /// `Io` when stdin cannot be read.
    async fn next_prompt(&mut self) -> Result<Option<String>, Reason> {
        stderr::write("> ");
        let line = match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.arriving.recv().await,
        };
        let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
        line.transpose().map_err(failed)
    }

    /// Prints `question` and returns the line after it; `None` when stdin has ended or fails. Cancel safe.
    async fn answer(&mut self, question: &str) -> Option<String> {
        while let Ok(line) = self.arriving.try_recv() {
            self.early.push_back(line);
        }
        stderr::write(question);
        self.arriving.recv().await?.ok()
    }
}
