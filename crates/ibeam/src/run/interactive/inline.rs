//! The driver of a session on the inline screen: prompts, commands of the person, and the runs.

use std::collections::VecDeque;
use std::fs::File;
use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ibeam_core::{Approver, Steering};
use ibeam_output::Catalogue;
use ibeam_protocol::{Event, EventKind, Reason, UserPrompt};
use ibeam_session::SessionError;
use ibeam_tui::{
    Activity, Candidate, Color, ListFiles, RawTerminal, Screen, Style, TerminalTraits, TuiLine, Ui,
    UiOptions, terminal_size,
};

use super::file_index::FileIndex;
use super::inline_approver::InlineQuestioner;
use super::inline_input::{InputThread, PromptHistory};
use super::inline_screen::{InlineScreen, InlineSteering, InlineWriter, SharedStdout};
use super::own_commands::{run_between, run_shell};
use super::person_approver::{GivenAnswers, PersonApprover};
use super::person_commands::{self, CommandContext, CommandEnd, Reopening, pick_session};
use super::session_list::ChosenSession;
use super::start_dialog::InlineDialog;
use super::transcript_view::StoredConversation;
use super::{InteractiveStart, changed_app, model_setup, trust_question};
use crate::app::AppContext;
use crate::cli::Flags;
use crate::environment::variable;
use crate::exit::ExitFailure;
use crate::model;
use crate::prompt::Prompt;
use crate::run::front_end::FrontEnd;
use crate::run::policy_rules::build_policy;
use crate::run::prepare::permission_mode;
use crate::run::run_process::{NewWriter, RunKind, RunProcess};
use crate::run::run_session::RunSession;
use crate::run::sandbox::RunSandbox;
use crate::run::session_opener::SessionTarget;
use crate::run::subagents::SubagentObserver;
use crate::run::watchdog::StartupWatchdog;
use crate::run::{on_runtime, thread_error};
use crate::stderr;

/// The number of turns that are shown of a session that is resumed.
const SHOWN_TURNS: usize = 10;

/// The front end of a session on the inline screen.
struct InlineFrontEnd {
    approver: Arc<PersonApprover<InlineQuestioner>>,
    screen: Arc<InlineScreen>,
}

impl FrontEnd for InlineFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
    }

    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        Some(Arc::clone(&self.screen) as _)
    }

    fn steering(&self) -> Arc<dyn Steering> {
        Arc::new(InlineSteering(Arc::clone(&self.screen)))
    }
}

/// Runs `first`, where there is one, and then each prompt, until the person leaves.
///
/// # Errors
/// A failure before the first run, or one that no further run can follow. Other failed runs are printed.
pub(super) fn run_inline(
    app: &Arc<AppContext>,
    start: &InteractiveStart,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), ExitFailure> {
    let out = SharedStdout::default();
    let history = PromptHistory::for_workspace(app);
    let (width, height) = terminal_size();
    let options = UiOptions {
        catalogue: Arc::clone(&app.base.catalogue),
        history: history.load(),
        commands: Vec::new(),
        list_files: list_files(app),
    };
    let ui = Ui::new(Screen::new(out.clone(), terminal_traits(), width, height), options);
    let screen = Arc::new(InlineScreen::new(ui));
    let terminal = stdout.try_clone().ok();
    let new_writer: NewWriter<'_> = Box::new(|stdout| {
        out.set(stdout);
        Box::new(InlineWriter(Arc::clone(&screen)))
    });
    on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Interactive, startup, stdout, new_writer)?;
        let mut conversation = Conversation {
            process,
            screen: Arc::clone(&screen),
            flags: app.base.flags.clone(),
            answers: GivenAnswers::default(),
            waiting: first,
            outputs: Vec::new(),
        };
        show_loading(&screen, Arc::clone(&app.base.catalogue));
        screen.take_over(terminal.as_ref().and_then(|terminal| terminal.try_clone().ok()));
        let outcome = match RawTerminal::start().map_err(thread_error) {
            Ok(_raw) => start_input(&conversation.process, &screen, history, terminal)
                .and_then(|()| conversation.begin(start)),
            Err(failure) => Err(failure.into()),
        };
        screen.hand_back();
        outcome
    })
}

/// Shows from now on that the embedded model is being loaded.
fn show_loading(screen: &Arc<InlineScreen>, catalogue: Arc<Catalogue>) {
    let screen = Arc::clone(screen);
    model::set_load_observer(Arc::new(move |is_loading| {
        let text = is_loading.then(|| catalogue.line(&TuiLine::LoadingModel));
        // The end of the turn does not end the loading.
        let activity = text.map(|text| Activity { text, is_cancellable: false });
        screen.with(|ui| drop(ui.set_activity(activity, Instant::now())));
    }));
}

/// Draws the first rows, and starts to read keys.
fn start_input(
    process: &RunProcess<'_>,
    screen: &Arc<InlineScreen>,
    history: PromptHistory,
    terminal: Option<File>,
) -> Result<(), ExitFailure> {
    screen.with(|ui| ui.start(Instant::now())).unwrap_or(Ok(())).map_err(thread_error)?;
    let stop = process.current_stop.clone();
    let input = InputThread { screen: Arc::clone(screen), stop, history, terminal };
    input.start().map_err(|error| thread_error(error).into())
}

/// Returns the completion of paths of the workspace.
fn list_files(app: &AppContext) -> ListFiles {
    let files = FileIndex::new(app.workspace.clone());
    Box::new(move |query| files.search(query))
}

/// The sessions of a person at the terminal, one after another.
struct Conversation<'a> {
    process: RunProcess<'a>,
    screen: Arc<InlineScreen>,
    /// The flags with which sessions are opened. Commands change them.
    flags: Flags,
    answers: GivenAnswers,
    /// The prompt of the command line.
    waiting: Option<String>,
    /// The output of commands of the person, for the next prompt.
    outputs: Vec<String>,
}

impl<'a> Conversation<'a> {
    /// Opens the first session, and runs prompts until the person leaves.
    ///
    /// # Errors
    /// The failure of the first opening, or one that no further run can follow.
    fn begin(&mut self, start: &InteractiveStart) -> Result<(), ExitFailure> {
        let target = match start {
            InteractiveStart::Session(target) => target.clone(),
            InteractiveStart::Choice => match pick_session(&self.process, &self.screen)? {
                Some(ChosenSession { target, workspace }) => {
                    if workspace.is_some() {
                        self.flags.workspace = workspace;
                        self.process.app = changed_app(&self.process.app, &self.flags)?;
                    }
                    target
                }
                None => return Ok(()),
            },
        };
        let welcome = self.process.app.base.catalogue.line(&TuiLine::WelcomeHelp);
        self.screen.print(Style::DIM, &welcome);
        let dialog = InlineDialog(Arc::clone(&self.screen));
        if !trust_question::ask(&mut self.process, &self.flags, &dialog)?
            || !model_setup::ensure_model(&mut self.process, &self.flags, &dialog)?
        {
            return Ok(());
        }
        let session = self.open(&target)?;
        if target != SessionTarget::New {
            self.show_past(&session);
        }
        self.run(session)
    }

    /// Opens a session, and shows that it is being opened. Keys go to the input meanwhile.
    ///
    /// # Errors
    /// The errors of [`RunSession::open`] and of what it needs.
    fn open(&self, target: &SessionTarget) -> Result<RunSession<'a>, ExitFailure> {
        // An interrupt ends the opening, and the program with it.
        self.process.current_stop.set(self.process.stop.clone());
        self.screen.with(|ui| drop(ui.set_opening(true, Instant::now())));
        let opened = self.open_now(target);
        self.screen.with(|ui| drop(ui.set_opening(false, Instant::now())));
        let session = opened?;
        let conversation = StoredConversation::new(&self.process.app, session.id());
        *self.screen.conversation.lock().unwrap_or_else(PoisonError::into_inner) = Some(conversation);
        Ok(session)
    }

    /// Opens a session.
    fn open_now(&self, target: &SessionTarget) -> Result<RunSession<'a>, ExitFailure> {
        let app = &self.process.app;
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn_for_terminal(app)?;
        let questioner =
            InlineQuestioner { catalogue: Arc::clone(&app.base.catalogue), screen: Arc::clone(&self.screen) };
        let policy = build_policy(app, permission_mode(app))?;
        let approver = PersonApprover::new(app, questioner, policy, self.answers.clone());
        let front_end = InlineFrontEnd { approver: Arc::new(approver), screen: Arc::clone(&self.screen) };
        let prompt = Prompt { blocks: self.waiting.iter().cloned().collect(), notice: None };
        let session = RunSession::open(self.process.clone(), target, model, sandbox, &prompt, &front_end)?;
        let of_files = session.slash_commands().into_iter().map(|command| Candidate {
            word: format!("/{}", command.name),
            description: command.description,
        });
        let built_in = person_commands::candidates(&app.base.catalogue);
        self.screen.with(|ui| {
            ui.set_commands(built_in.into_iter().chain(of_files).collect());
            ui.set_list_files(list_files(app));
        });
        Ok(session)
    }

    /// Runs prompts in `session`, and in the sessions that follow it, until the person leaves.
    ///
    /// # Errors
    /// A failure that no further run can follow.
    fn run(&mut self, mut session: RunSession<'a>) -> Result<(), ExitFailure> {
        loop {
            let next = match self.run_prompts(&mut session) {
                Ok(Some(next)) => next,
                Ok(None) => return self.leave(session, Ok(())),
                Err(failed) => return self.leave(session, Err(failed)),
            };
            let previous = session.reopening_target();
            session.close(Ok(()))?;
            if !next.command.is_empty() {
                self.outputs.extend(run_between(&self.process, &*self.screen, &next.command)?);
            }
            session = self.reopen(&next, &previous)?;
        }
    }

    /// Gives the terminal back, and closes the last session.
    fn leave(&self, session: RunSession<'_>, outcome: Result<(), ExitFailure>) -> Result<(), ExitFailure> {
        self.screen.hand_back();
        session.close(outcome)
    }

    /// Opens the next session with the flags as they are now, or the previous one if that fails.
    fn reopen(&mut self, next: &Reopening, previous: &SessionTarget) -> Result<RunSession<'a>, ExitFailure> {
        let before = Arc::clone(&self.process.app);
        self.flags = next.flags(&self.flags);
        let opened = match changed_app(&before, &self.flags) {
            Ok(app) => {
                self.process.app = app;
                let dialog = InlineDialog(Arc::clone(&self.screen));
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
                if next.shows_past {
                    self.show_past(&session);
                }
                self.screen.print(INFORMATION, &session.status_line(next.printed));
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

    /// Shows the last turns of a session that is resumed. A session that cannot be read was not opened.
    fn show_past(&self, session: &RunSession<'_>) {
        let (mut turns, mut hidden) = (VecDeque::from([Vec::new()]), 0);
        let sessions = self.process.app.dirs.sessions();
        let read = ibeam_session::read::<SessionError>(&sessions, session.id(), &mut |event| {
            if matches!(event.kind, EventKind::SessionStarted(_)) {
                turns.push_back(Vec::new());
                if turns.len() > SHOWN_TURNS {
                    turns.pop_front();
                    hidden += 1;
                }
            }
            turns.back_mut().into_iter().for_each(|turn: &mut Vec<_>| turn.push(event.clone()));
            Ok(())
        });
        drop(read);
        let events: Vec<Event> = turns.into_iter().flatten().collect();
        self.screen.with(|ui| drop(ui.show_past(&events, hidden, Instant::now())));
    }

    /// Runs prompts and commands until the person leaves, or opens another session.
    ///
    /// # Errors
    /// A failure that no further run can follow.
    fn run_prompts(&mut self, session: &mut RunSession<'a>) -> Result<Option<Reopening>, ExitFailure> {
        let screen = Arc::clone(&self.screen);
        loop {
            let text = match self.waiting.take() {
                Some(text) => text,
                None => match session.wait(async { Ok(screen.next_prompt().await) })? {
                    Some(text) => text,
                    None => return Ok(None),
                },
            };
            if text.trim().is_empty() {
                continue;
            }
            if let Some(command) = text.strip_prefix('!') {
                self.outputs.extend(run_shell(&self.process, &*screen, command)?);
                continue;
            }
            let mut context =
                CommandContext { process: &self.process, session, screen: &*screen, flags: &mut self.flags };
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
            set_busy(&screen, true);
            let ended = session.run_prompt(prompt, None, pending());
            set_busy(&screen, false);
            match ended {
                Ok(()) => {}
                Err(failed) if session.must_close(&failed) => return Err(failed),
                Err(failed) => session.report_ended(&failed),
            }
            if screen.is_leaving.load(Ordering::Acquire) {
                return Ok(None);
            }
        }
    }
}

/// Shows whether something runs. A failure of the terminal shows in the next event.
pub(super) fn set_busy(screen: &InlineScreen, is_busy: bool) {
    screen.with(|ui| drop(ui.set_busy(is_busy, Instant::now())));
}

/// Returns what the variables state about the terminal. xterm and the console of Linux cut rows when they become
/// narrower; other terminals wrap them.
fn terminal_traits() -> TerminalTraits {
    let cuts = variable("XTERM_VERSION").is_some() || variable("TERM").as_deref() == Some("linux");
    TerminalTraits { has_colors: variable("NO_COLOR").is_none(), reflows: !cuts }
}

/// The style of lines about the session.
pub(super) const INFORMATION: Style = Style::color(Color::Cyan);
