//! Interactive mode on the inline screen: its start, and what a conversation shows on it.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibeam_core::{OutputObserver, Steering};
use ibeam_output::Catalogue;
use ibeam_protocol::Failure;
use ibeam_tui::{
    Activity, Candidate, ListFiles, RawTerminal, Screen, Style, TerminalEvent, TerminalTraits, TuiLine, Ui,
    UiOptions, terminal_size,
};

use super::InteractiveStart;
use super::command_display::CommandDisplay;
use super::command_table;
use super::conversation::{Conversation, PersonScreen};
use super::file_index::FileIndex;
use super::inline_approver::InlineQuestioner;
use super::inline_input::{InputThread, PromptHistory};
use super::inline_screen::{InlineScreen, InlineSteering, InlineWriter, SharedStdout};
use super::output_line::OutputLines;
use super::start_dialog::InlineDialog;
use super::transcript_view::StoredConversation;
use crate::terminal_palette::{asked_palette, stated_palette};
use ibeam_agent::app::AppContext;
use ibeam_agent::environment::variable;
use ibeam_agent::model;
use ibeam_agent::run::run_process::{NewWriter, RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::subagents::SubagentObserver;
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run::{on_runtime, thread_error};
use ibeam_agent::run_error::RunError;

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
) -> Result<(), RunError> {
    let out = SharedStdout::default();
    let history = PromptHistory::for_workspace(app);
    let (width, height) = terminal_size();
    let options = UiOptions {
        catalogue: Arc::clone(&app.base.catalogue),
        history: history.load(),
        commands: Vec::new(),
        list_files: list_files(app),
        title: terminal_title(app),
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
        let mut conversation = Conversation::new(process.clone(), Arc::clone(&screen), first);
        show_loading(&screen, Arc::clone(&app.base.catalogue));
        screen.take_over(terminal.as_ref().and_then(|terminal| terminal.try_clone().ok()));
        let outcome = match RawTerminal::start().map_err(thread_error) {
            Ok(_raw) => {
                if let Some(terminal) = &terminal {
                    choose_colors(&screen, terminal);
                }
                start_input(&process, &screen, history, terminal).and_then(|()| conversation.begin(start))
            }
            Err(failure) => Err(failure.into()),
        };
        screen.hand_back();
        outcome
    })
}

/// Sets the colours for the background of the terminal, before anything is drawn.
fn choose_colors(screen: &InlineScreen, terminal: &File) {
    let (palette, typed) = asked_palette(terminal);
    screen.with(|ui| {
        ui.set_palette(palette);
        if !typed.is_empty() {
            drop(ui.handle(TerminalEvent::Paste(typed), Instant::now()));
        }
    });
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
) -> Result<(), RunError> {
    screen.with(|ui| ui.start(Instant::now())).unwrap_or(Ok(())).map_err(thread_error)?;
    let stop = process.current_stop.clone();
    let catalogue = Arc::clone(&process.app.base.catalogue);
    let input = InputThread { screen: Arc::clone(screen), catalogue, stop, history, terminal };
    input.start().map_err(|error| thread_error(error).into())
}

/// Returns the completion of paths of the workspace.
fn list_files(app: &AppContext) -> ListFiles {
    let files = FileIndex::new(app.workspace.clone());
    Box::new(move |query| files.search(query))
}

impl PersonScreen for Arc<InlineScreen> {
    type Questioner = InlineQuestioner;
    type Dialog = InlineDialog;

    fn display(&self) -> &dyn CommandDisplay {
        &**self
    }

    fn questioner(&self, catalogue: &Arc<Catalogue>) -> InlineQuestioner {
        InlineQuestioner { catalogue: Arc::clone(catalogue), screen: Arc::clone(self) }
    }

    fn dialog(&self, _: &Arc<Catalogue>) -> InlineDialog {
        InlineDialog(Arc::clone(self))
    }

    fn steering(&self, catalogue: &Arc<Catalogue>) -> Arc<dyn Steering> {
        Arc::new(InlineSteering { screen: Arc::clone(self), catalogue: Arc::clone(catalogue) })
    }

    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        Some(Arc::clone(self) as _)
    }

    fn output_observer(&self, app: &Arc<AppContext>) -> Option<Arc<dyn OutputObserver>> {
        Some(Arc::new(OutputLines::new(Self::clone(self), Arc::clone(app))))
    }

    fn next_prompt(&self) -> BoxFuture<'_, Result<Option<String>, Failure>> {
        Box::pin(async { Ok(InlineScreen::next_prompt(self).await) })
    }

    fn show_welcome(&self, catalogue: &Catalogue) {
        self.print(Style::DIM, &catalogue.line(&TuiLine::WelcomeHelp));
    }

    fn set_opening(&self, is_opening: bool) {
        self.with(|ui| drop(ui.set_opening(is_opening, Instant::now())));
    }

    /// Offers the commands and the files of the session for completion.
    fn on_opened(&self, app: &AppContext, session: &RunSession<'_>) {
        let of_files = session.slash_commands().into_iter().map(|command| Candidate {
            word: format!("/{}", command.name),
            description: command.description,
        });
        let built_in = command_table::candidates(&app.base.catalogue);
        self.with(|ui| {
            ui.set_commands(built_in.into_iter().chain(of_files).collect());
            ui.set_list_files(list_files(app));
        });
        let conversation = StoredConversation::new(app, session.id());
        *self.conversation.lock().unwrap_or_else(PoisonError::into_inner) = Some(conversation);
    }

    fn show_past(&self, app: &AppContext, session: &RunSession<'_>) {
        let (events, hidden) = StoredConversation::new(app, session.id()).last_turns();
        self.with(|ui| drop(ui.show_past(&events, hidden, Instant::now())));
    }

    fn set_input(&self, text: &str) {
        self.with(|ui| {
            ui.set_input(text);
            drop(ui.draw(Instant::now()));
        });
    }

    fn set_busy(&self, is_busy: bool) {
        set_busy(self, is_busy);
    }

    fn accepts_offers(&self) -> bool {
        self.with(|ui| !ui.has_waiting_prompt()).unwrap_or(false)
    }

    fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Acquire)
    }

    fn on_leave(&self) {
        self.hand_back();
    }
}

/// Shows whether something runs. A failure of the terminal shows in the next event.
pub(super) fn set_busy(screen: &InlineScreen, is_busy: bool) {
    screen.with(|ui| drop(ui.set_busy(is_busy, Instant::now())));
}

/// Returns the title of the terminal: the program and the directory. The console of Linux has none.
fn terminal_title(app: &AppContext) -> Option<String> {
    let directory = app.workspace.file_name().unwrap_or(app.workspace.as_os_str()).to_string_lossy();
    (variable("TERM").as_deref() != Some("linux")).then(|| format!("ibeam · {directory}"))
}

/// Returns what the variables state about the terminal. xterm and the console of Linux cut rows when they become
/// narrower; other terminals wrap them.
fn terminal_traits() -> TerminalTraits {
    let cuts = variable("XTERM_VERSION").is_some() || variable("TERM").as_deref() == Some("linux");
    TerminalTraits { palette: stated_palette(), reflows: !cuts }
}
