//! The driver of a session on the inline screen: prompts, commands of the person, and the runs.

use std::collections::HashSet;
use std::fs::File;
use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ibeam_core::{Approver, Steering};
use ibeam_protocol::{Reason, UserPrompt};
use ibeam_tui::{
    Candidate, Color, RawTerminal, Screen, Style, TerminalTraits, TuiLine, Ui, UiOptions, terminal_size,
};

use super::inline_approver::InlineApprover;
use super::inline_commands::{self, CommandEnd};
use super::inline_input::{InputThread, PromptHistory, list_files};
use super::inline_screen::{InlineScreen, InlineSteering, InlineWriter, SharedStdout};
use crate::app::AppContext;
use crate::environment::variable;
use crate::exit::ExitFailure;
use crate::model;
use crate::prompt::Prompt;
use crate::run::policy_rules::build_policy;
use crate::run::prepare::permission_mode;
use crate::run::run_process::{NewWriter, RunKind, RunProcess};
use crate::run::run_session::{FrontEnd, RunSession};
use crate::run::sandbox::RunSandbox;
use crate::run::session_opener::SessionTarget;
use crate::run::watchdog::StartupWatchdog;
use crate::run::{on_runtime, thread_error};

/// The front end of a session on the inline screen.
struct InlineFrontEnd {
    approver: Arc<InlineApprover>,
    screen: Arc<InlineScreen>,
}

impl FrontEnd for InlineFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
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
    target: &SessionTarget,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), ExitFailure> {
    let out = SharedStdout::default();
    let history = PromptHistory::for_workspace(app);
    let (width, height) = terminal_size();
    let workspace = app.workspace.clone();
    let options = UiOptions {
        catalogue: Arc::clone(&app.base.catalogue),
        history: history.load(),
        commands: inline_commands::candidates(&app.base.catalogue),
        list_files: Box::new(move |prefix| list_files(&workspace, prefix)),
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
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn_for_terminal(app)?;
        let approver = InlineApprover {
            app: Arc::clone(app),
            screen: Arc::clone(&screen),
            policy: build_policy(app, permission_mode(app))?,
            added: Mutex::new(Vec::new()),
            allowed: Mutex::new(HashSet::new()),
            asking: tokio::sync::Mutex::new(()),
        };
        let front_end = InlineFrontEnd { approver: Arc::new(approver), screen: Arc::clone(&screen) };
        let prompt = Prompt { blocks: first.iter().cloned().collect(), notice: None };
        let current_stop = process.current_stop.clone();
        let mut session = RunSession::open(process, target, model, sandbox, &prompt, &front_end)?;
        let commands = session.slash_commands().into_iter().map(|command| Candidate {
            word: format!("/{}", command.name),
            description: command.description,
        });
        screen.with(|ui| ui.add_commands(commands.collect()));
        screen.take_over();
        let raw = RawTerminal::start().map_err(thread_error);
        let outcome = raw.map_err(ExitFailure::from).and_then(|_raw| {
            screen.with(|ui| ui.start(Instant::now())).unwrap_or(Ok(())).map_err(thread_error)?;
            let welcome = app.base.catalogue.line(&TuiLine::WelcomeHelp);
            screen.print(Style::DIM, &welcome);
            let input = InputThread { screen: Arc::clone(&screen), stop: current_stop, history, terminal };
            input.start().map_err(thread_error)?;
            run_prompts(app, &mut session, &screen, first)
        });
        screen.hand_back();
        session.close(outcome)
    })
}

/// Runs prompts and commands until the person leaves.
///
/// # Errors
/// A failure that no further run can follow.
fn run_prompts(
    app: &Arc<AppContext>,
    session: &mut RunSession<'_>,
    screen: &Arc<InlineScreen>,
    first: Option<String>,
) -> Result<(), ExitFailure> {
    let mut waiting = first;
    // The output of commands of the person, for the next prompt.
    let mut outputs = Vec::new();
    loop {
        let text = match waiting.take() {
            Some(text) => text,
            None => match session.wait(async { Ok(screen.next_prompt().await) })? {
                Some(text) => text,
                None => return Ok(()),
            },
        };
        if text.trim().is_empty() {
            continue;
        }
        if let Some(command) = text.strip_prefix('!') {
            outputs.extend(inline_commands::run_shell(app, session, screen, command)?);
            continue;
        }
        match inline_commands::execute(app, session, screen, &text)? {
            CommandEnd::Leave => return Ok(()),
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
        prompt.texts.append(&mut outputs);
        set_busy(screen, true);
        let ended = session.run_prompt(prompt, None, pending());
        set_busy(screen, false);
        match ended {
            Ok(()) => {}
            Err(failed) if session.must_close(&failed) => return Err(failed),
            Err(failed) => session.report(&failed),
        }
        if screen.is_leaving.load(Ordering::Acquire) {
            return Ok(());
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
