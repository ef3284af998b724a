//! The sessions of a person at a terminal, one after another. The inline screen and line mode differ in their
//! [`PersonScreen`].

use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Approver, OutputObserver, Steering};
use ibeam_output::Catalogue;
use ibeam_protocol::{Failure, PermissionMode, Reason, Signal, UserPrompt, sentence};
use ibeam_tui::{Color, DialogGuard, DialogReply, EscapeEffect, Style, TuiLine};

use super::command_display::{CommandDisplay, INFORMATION};
use super::person_approver::{GivenAnswers, PersonApprover, Questioner};
use super::person_commands::{CommandContext, CommandEnd, Reopening};
use super::report_commands::{changed_app, undo_between};
use super::session_list::ChosenSession;
use super::session_status::{StatusItem, status_line};
use super::shell_command::run_shell;
use super::start_dialog::StartDialog;
use super::{InteractiveStart, command_table, model_setup, trust_question};
use ibeam_agent::app::AppContext;
use ibeam_agent::git::repository_root;
use ibeam_agent::prompt::Prompt;
use ibeam_agent::run::MentionedFiles;
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::policy_rules::build_policy;
use ibeam_agent::run::prepare::permission_mode;
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::session_opener::{SessionTarget, is_ephemeral};
use ibeam_agent::run::subagents::SubagentObserver;
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::{RunOptions, WorkMode};
use ibeam_agent::session_name::short_id;
use ibeam_agent::{model, stderr};

/// The prompt that follows a plan which the person accepts. It is for the model.
const CARRY_OUT: &str = "Carry out the plan.";

/// The place where a person reads and types.
pub(super) trait PersonScreen {
    /// Asks about calls.
    type Questioner: Questioner + 'static;
    /// Asks the questions before a session.
    type Dialog: StartDialog;

    /// Returns the place where commands print.
    fn display(&self) -> &dyn CommandDisplay;

    /// Returns what asks about calls.
    fn questioner(&self, catalogue: &Arc<Catalogue>) -> Self::Questioner;

    /// Returns what asks the questions before a session.
    fn dialog(&self, catalogue: &Arc<Catalogue>) -> Self::Dialog;

    /// Returns the messages that the person adds while a turn runs.
    fn steering(&self, catalogue: &Arc<Catalogue>) -> Arc<dyn Steering>;

    /// Returns what receives the events of sub-agents while they run.
    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        None
    }

    /// Returns what receives the output of commands while they run.
    fn output_observer(&self, _: &Arc<AppContext>) -> Option<Arc<dyn OutputObserver>> {
        None
    }

    /// Waits for the next prompt; `None` if the person leaves. Cancel safe.
    ///
    /// # Errors
    /// `Io` when stdin cannot be read.
    fn next_prompt(&self) -> BoxFuture<'_, Result<Option<String>, Failure>>;

    /// Waits for the next prompt between the turns of `session`; `None` if the person leaves.
    ///
    /// # Errors
    /// The errors of `next_prompt`; the reason of a signal.
    fn wait_for_prompt(&self, session: &mut RunSession<'_>) -> Result<Option<String>, Failure> {
        session.wait(self.next_prompt())
    }

    /// Greets the person before the first session.
    fn show_welcome(&self, _: &Catalogue) {}

    /// Shows whether a session is being opened.
    fn set_opening(&self, _: bool) {}

    /// Receives each session that was opened.
    fn on_opened(&self, _: &AppContext, _: &RunSession<'_>) {}

    /// Shows the last turns of a session that is resumed.
    fn show_past(&self, _: &AppContext, _: &RunSession<'_>) {}

    /// Puts a text into the input, where the screen has one that can be edited.
    fn set_input(&self, _: &str) {}

    /// Shows whether a turn runs.
    fn set_busy(&self, _: bool) {}

    /// Receives the end of each turn, after its failure was printed.
    fn on_turn_end(&self) {}

    /// Whether an offer after a turn interrupts nothing: the person has not typed the next prompt already.
    fn accepts_offers(&self) -> bool;

    /// Whether the person has asked to leave during a turn.
    fn is_leaving(&self) -> bool {
        false
    }

    /// Gives the terminal back before the last session is closed.
    fn on_leave(&self) {}
}

/// The front end of a session with a person.
struct PersonFrontEnd<Q> {
    approver: Arc<PersonApprover<Q>>,
    steering: Arc<dyn Steering>,
    subagent_observer: Option<Arc<dyn SubagentObserver>>,
    output_observer: Option<Arc<dyn OutputObserver>>,
}

impl<Q: Questioner + 'static> FrontEnd for PersonFrontEnd<Q> {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
    }

    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        self.subagent_observer.clone()
    }

    fn output_observer(&self) -> Option<Arc<dyn OutputObserver>> {
        self.output_observer.clone()
    }

    fn steering(&self) -> Arc<dyn Steering> {
        Arc::clone(&self.steering)
    }
}

/// The sessions of a person, one after another.
pub(super) struct Conversation<'a, S> {
    process: RunProcess<'a>,
    screen: S,
    /// The options with which sessions are opened. Commands change them.
    options: RunOptions,
    answers: GivenAnswers,
    /// The prompt of the command line.
    waiting: Option<String>,
    /// The output of commands of the person, for the next prompt.
    outputs: Vec<String>,
    is_welcomed: bool,
}

impl<'a, S: PersonScreen> Conversation<'a, S> {
    /// Returns a conversation that begins with the prompt `first`, where there is one.
    pub(super) fn new(process: RunProcess<'a>, screen: S, first: Option<String>) -> Self {
        let options = process.app.base.options.clone();
        let (answers, outputs) = (GivenAnswers::default(), Vec::new());
        Self { process, screen, options, answers, waiting: first, outputs, is_welcomed: false }
    }

    /// Opens the first session, and runs prompts until the person leaves.
    ///
    /// # Errors
    /// The failure of the first opening, or one that no further run can follow. Other failed runs are printed.
    pub(super) fn begin(&mut self, start: &InteractiveStart) -> Result<(), RunError> {
        let target = match start {
            InteractiveStart::Session(target) => target.clone(),
            InteractiveStart::Choice => return self.begin_with_choice(),
        };
        self.begin_with(&target)
    }

    /// Lets the person choose a session, again if it cannot be opened, for example because another process holds it.
    fn begin_with_choice(&mut self) -> Result<(), RunError> {
        let (app, options) = (Arc::clone(&self.process.app), self.options.clone());
        let mut notice = None;
        loop {
            let chosen = self.screen.display().pick_session(&self.process, notice.take())?;
            let Some(ChosenSession { target, workspace }) = chosen else { return Ok(()) };
            if workspace.is_some() {
                self.options.workspace = workspace;
                self.process.app = changed_app(&self.process.app, &self.options)?;
            }
            match self.begin_with(&target) {
                Err(failed) if self.is_other_choice_possible(&failed) => {
                    let explained = failed.explained(&app.base.catalogue).to_string();
                    notice = explained.lines().next().map(str::to_owned);
                    (self.process.app, self.options) = (Arc::clone(&app), options.clone());
                }
                ended => return ended,
            }
        }
    }

    /// Whether another session may be opened after a failed opening.
    fn is_other_choice_possible(&self, failed: &RunError) -> bool {
        self.process.stop.reason().is_none()
            && matches!(
                failed.failure.reason,
                Reason::SessionBusy { .. } | Reason::SessionLeased { .. } | Reason::SessionDamaged { .. }
            )
    }

    /// Opens the first session, and runs prompts until the person leaves.
    fn begin_with(&mut self, target: &SessionTarget) -> Result<(), RunError> {
        // After a failed opening, the person chooses another session.
        if !std::mem::replace(&mut self.is_welcomed, true) {
            let (app, screen) = (&self.process.app, &self.screen);
            screen.show_welcome(&app.base.catalogue);
            if repository_root(&app.workspace).is_none() {
                let line = app.base.catalogue.line(&TuiLine::WithoutUndo);
                screen.display().print(Style::DIM, &line);
            }
        }
        let dialog = self.dialog();
        if !trust_question::ask(&mut self.process, &self.options, &dialog, EscapeEffect::Leaves)?
            || !model_setup::ensure_model(&mut self.process, &self.options, &dialog)?
        {
            return Ok(());
        }
        let session = self.open(target)?;
        if *target != SessionTarget::New {
            self.screen.show_past(&self.process.app, &session);
        }
        self.run(session)
    }

    fn dialog(&self) -> S::Dialog {
        self.screen.dialog(&self.process.app.base.catalogue)
    }

    /// Opens a session. What the person types meanwhile is the next prompt.
    ///
    /// # Errors
    /// The errors of [`RunSession::open`] and of what it needs.
    fn open(&self, target: &SessionTarget) -> Result<RunSession<'a>, RunError> {
        // An interrupt ends the opening, and the program with it.
        self.process.current_stop.set(self.process.stop.clone());
        self.screen.set_opening(true);
        let opened = self.open_now(target);
        self.screen.set_opening(false);
        let session = opened?;
        self.screen.on_opened(&self.process.app, &session);
        let app = &self.process.app;
        let warnings = model::choose_model(app).map(|choice| choice.age_warnings(app)).unwrap_or_default();
        for warning in warnings {
            let text = app.base.catalogue.sentence(&warning);
            self.screen.display().print(Style::color(Color::Yellow), &text);
        }
        self.screen.display().show_status(&session);
        Ok(session)
    }

    fn open_now(&self, target: &SessionTarget) -> Result<RunSession<'a>, RunError> {
        let app = &self.process.app;
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn_for_person(app)?;
        let policy = build_policy(app, permission_mode(app))?;
        let questioner = self.screen.questioner(&app.base.catalogue);
        let front_end = PersonFrontEnd {
            approver: Arc::new(PersonApprover::new(app, questioner, policy, self.answers.clone())),
            steering: self.screen.steering(&app.base.catalogue),
            subagent_observer: self.screen.subagent_observer(),
            output_observer: self.screen.output_observer(app),
        };
        let prompt = Prompt { blocks: self.waiting.iter().cloned().collect(), notice: None };
        RunSession::open(self.process.clone(), target, model, sandbox, &prompt, &front_end)
    }

    /// Runs prompts in `session`, and in the sessions that follow it, until the person leaves.
    fn run(&mut self, mut session: RunSession<'a>) -> Result<(), RunError> {
        loop {
            let next = match self.run_prompts(&mut session) {
                Ok(Some(next)) => next,
                Ok(None) => return self.leave(session, Ok(())),
                Err(failed) => return self.leave(session, Err(failed)),
            };
            let (id, previous) = (session.id(), session.reopening_target());
            session.close(Ok(()))?;
            session = match next.undo {
                None => self.reopen(&next, &previous)?,
                Some(undo) => match undo_between(&self.process, self.screen.display(), id, undo)? {
                    Some(output) => {
                        self.outputs.push(output);
                        self.reopen(&next, &previous)?
                    }
                    // The conversation stays with its files.
                    None => self.open_previous(Arc::clone(&self.process.app), &previous)?,
                },
            };
        }
    }

    fn leave(&self, session: RunSession<'_>, outcome: Result<(), RunError>) -> Result<(), RunError> {
        self.screen.on_leave();
        let app = &self.process.app;
        if !session.is_unused() && !is_ephemeral(app) {
            let command = format!("ibeam resume {}", short_id(session.id()));
            stderr::write_line(&app.base.catalogue.line(&TuiLine::ResumeWith { command: &command }));
        }
        session.close(outcome)
    }

    /// Opens the next session with the options as they are now, or the previous one if that fails.
    ///
    /// # Errors
    /// The reason of a signal; the failure of the opening of the previous session.
    fn reopen(&mut self, next: &Reopening, previous: &SessionTarget) -> Result<RunSession<'a>, RunError> {
        let before = Arc::clone(&self.process.app);
        self.options = next.options(&self.options);
        let opened = match changed_app(&before, &self.options) {
            Ok(app) => {
                self.process.app = app;
                let dialog = self.dialog();
                if !trust_question::ask(&mut self.process, &self.options, &dialog, EscapeEffect::GoesBack)? {
                    let line = sentence!("the session was not opened");
                    self.screen.display().print(INFORMATION, &before.base.catalogue.sentence(&line));
                    return self.open_previous(before, previous);
                }
                self.open(&next.target)
            }
            Err(reason) => Err(reason.into()),
        };
        match opened {
            Ok(session) => {
                if next.is_other {
                    // They belong to the session that was left.
                    self.outputs.clear();
                    self.screen.steering(&self.process.app.base.catalogue).take_compaction();
                }
                if next.shows_past {
                    self.screen.show_past(&self.process.app, &session);
                }
                if let Some(text) = &next.input {
                    self.screen.set_input(text);
                }
                self.waiting = self.waiting.take().or_else(|| next.prompt.clone());
                self.screen.display().print(INFORMATION, &status_line(&session, next.printed));
                Ok(session)
            }
            Err(failed) if self.process.stop.reason().is_some() => Err(failed),
            Err(failed) => {
                stderr::write_line(&failed.explained(&before.base.catalogue).to_string());
                self.open_previous(before, previous)
            }
        }
    }

    /// Opens the previous session with its context.
    fn open_previous(
        &mut self,
        app: Arc<AppContext>,
        previous: &SessionTarget,
    ) -> Result<RunSession<'a>, RunError> {
        self.options = app.base.options.clone();
        self.process.app = app;
        self.open(previous)
    }

    /// Offers to carry out the plan of the turn that has ended; `None` if the person goes on planning.
    ///
    /// # Errors
    /// The reason of a signal.
    fn offer_to_carry_out(&mut self, session: &RunSession<'a>) -> Result<Option<Reopening>, RunError> {
        if is_ephemeral(&self.process.app) || !self.screen.accepts_offers() {
            return Ok(None);
        }
        let catalogue = &self.process.app.base.catalogue;
        let question = catalogue.line(&TuiLine::PlanQuestion);
        let choices =
            [TuiLine::PlanContinue, TuiLine::PlanCarryOut].map(|line| catalogue.line(&line)).to_vec();
        let reply = self.screen.display().choose(&self.process, question, choices, DialogGuard::GivesWay)?;
        if reply != DialogReply::Choice(1) {
            return Ok(None);
        }
        self.options.mode = WorkMode::Agent;
        Ok(Some(Reopening {
            target: session.reopening_target(),
            is_other: false,
            prompt: Some(CARRY_OUT.to_owned()),
            printed: StatusItem::Mode,
            ..Reopening::of_new_session()
        }))
    }

    /// Runs prompts and commands until the person leaves, or opens another session.
    ///
    /// # Errors
    /// A failure that no further run can follow.
    fn run_prompts(&mut self, session: &mut RunSession<'a>) -> Result<Option<Reopening>, RunError> {
        loop {
            let text = match self.waiting.take() {
                Some(text) => text,
                None => match self.screen.wait_for_prompt(session)? {
                    Some(text) => text,
                    None => return Ok(None),
                },
            };
            if text.trim().is_empty() {
                continue;
            }
            let display = self.screen.display();
            if let Some(command) = text.strip_prefix('!') {
                self.outputs.extend(run_shell(&self.process, display, command)?);
                continue;
            }
            let mut context = CommandContext {
                process: &self.process,
                session,
                screen: display,
                options: &mut self.options,
            };
            match command_table::execute(&mut context, &text)? {
                CommandEnd::Leave => return Ok(None),
                CommandEnd::Reopen(next) => return Ok(Some(next)),
                CommandEnd::Done => continue,
                CommandEnd::IsPrompt => {}
            }
            let mut prompt = UserPrompt::from(vec![text]);
            match session.attach_mentioned(&mut prompt) {
                Ok(mentions) => print_mentions(display, session.app(), &mentions),
                Err(failure) if matches!(failure.reason, Reason::Usage { .. }) => {
                    session.report(&failure.into());
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            }
            prompt.texts.append(&mut self.outputs);
            self.screen.set_busy(true);
            let ended = session.run_prompt(prompt, None, pending());
            self.screen.set_busy(false);
            match ended {
                Ok(()) => {
                    self.screen.on_turn_end();
                    if session.head().permission_mode == PermissionMode::Plan
                        && !self.screen.is_leaving()
                        && let Some(next) = self.offer_to_carry_out(session)?
                    {
                        return Ok(Some(next));
                    }
                }
                Err(failed) if session.must_close(&failed) => return Err(failed),
                Err(failed) => {
                    report_ended(session, &failed);
                    self.screen.on_turn_end();
                }
            }
            if self.screen.is_leaving() {
                return Ok(None);
            }
        }
    }
}

/// Prints the files that a prompt names as `@PATH`: those that the model gets, and those that do not exist.
fn print_mentions(screen: &dyn CommandDisplay, app: &AppContext, mentions: &MentionedFiles) {
    let catalogue = &app.base.catalogue;
    let names = |names: &[String]| names.iter().map(|name| format!("@{name}")).collect::<Vec<_>>().join(", ");
    if !mentions.attached.is_empty() {
        let line = TuiLine::Attached { names: &names(&mentions.attached) };
        screen.print(Style::DIM, &catalogue.line(&line));
    }
    if !mentions.missing.is_empty() {
        let line = TuiLine::NotAttached { names: &names(&mentions.missing) };
        screen.print(Style::color(Color::Yellow), &catalogue.line(&line));
    }
}

/// Prints how a run ended that did not succeed. The person knows what an interrupt is.
fn report_ended(session: &RunSession<'_>, failed: &RunError) {
    if matches!(failed.failure.reason, Reason::Signalled(Signal::Int)) {
        stderr::write_line(&session.app().base.catalogue.line(&TuiLine::Interrupted));
    } else {
        session.report(failed);
    }
}
