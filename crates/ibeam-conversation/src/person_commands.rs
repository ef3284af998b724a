//! The `/` commands of a conversation, on the inline screen and in line mode.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::future::{BoxFuture, FutureExt as _};
use ibeam_output::{Catalogue, Explanation};
use ibeam_protocol::{Failure, Reason, Sentence, sentence};
use ibeam_session::SessionError;
use ibeam_tui::{Activity, Color, Line, PagerStart, PickerOptions, Style, TuiLine, diff_lines};
use serde::Serialize;
use tokio::sync::oneshot;

use super::command_table::{
    DEFAULT_EFFORT, conversation_commands, effort_names, help, is_built_in, mode_names, takes_value,
};
use super::conversation::INFORMATION;
use super::inline_screen::InlineScreen;
use super::own_commands::{CommandOutput, REDO_COMMAND, run_own};
use super::session_list::{self, ChosenSession};
use super::session_status::{StatusItem, status, status_line, status_value};
use super::transcript_view::StoredConversation;
use ibeam_agent::app::AppContext;
use ibeam_agent::checkpoint::{SessionChanges, UndoTarget};
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::session_opener::{SessionTarget, is_ephemeral};
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::{RunOptions, WorkMode};
use ibeam_agent::session_name::short_id;
use ibeam_agent::similar_names;

/// The commands that read the stored session.
const STORED_SESSION_COMMANDS: [&str; 4] = ["/cost", "/diff", "/export", "/transcript"];

/// The next step after a prompt that may be a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// The command was executed.
    Done,
    /// The person leaves.
    Leave,
    /// The text is a prompt, or a command of a file, skill or server.
    IsPrompt,
    /// The session is closed, and another one is opened, or the same with other options.
    Reopen(Reopening),
}

/// The session that is opened after the current one is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reopening {
    pub(super) target: SessionTarget,
    /// The directory of the session, if it is another one.
    pub(super) workspace: Option<PathBuf>,
    /// The sub-command that runs while no session is open.
    pub(super) command: Vec<String>,
    /// Whether the conversation of the session is shown.
    pub(super) shows_past: bool,
    /// Whether the session is another one than before.
    pub(super) is_other: bool,
    /// The value of the opened session that is printed.
    pub(super) printed: StatusItem,
}

impl Reopening {
    /// Returns the options of the session. Some options concern the first session only.
    pub(super) fn options(&self, before: &RunOptions) -> RunOptions {
        let workspace = self.workspace.clone().or_else(|| before.workspace.clone());
        RunOptions { fork: false, from_atif: None, file: Vec::new(), workspace, ..before.clone() }
    }
}

/// The place where a conversation shows what its commands print.
pub(super) trait CommandDisplay {
    /// Prints the lines of a text.
    fn print(&self, style: Style, text: &str);

    fn show_changes(&self, title: String, lines: Vec<Line>);

    /// Shows all turns of the session that is open.
    fn show_transcript(&self, conversation: &StoredConversation);

    /// Shows the model and the mode of the session that is open, if the display has a place for them.
    fn show_status(&self, _: &RunSession<'_>) {}

    /// Requests a shorter conversation before the next request to the model.
    fn request_compaction(&self);

    /// Lets the person choose a stored session; `None` if they choose none. `notice` states why the one that they chose
    /// before could not be opened.
    ///
    /// # Errors
    /// The errors of [`session_list::entries`]; the reason of a signal.
    fn pick_session(
        &self,
        process: &RunProcess<'_>,
        notice: Option<String>,
    ) -> Result<Option<ChosenSession>, RunError>;

    /// Returns the keys that help lists.
    fn keys(&self) -> &'static [TuiLine<'static>] {
        &[TuiLine::KeysIdle, TuiLine::KeysBusy]
    }

    /// Repeats what the person typed before its output, where the terminal does not.
    fn echo(&self, style: Style, text: &str);

    /// Shows the command of the person that runs, or that none does any more.
    fn set_running(&self, label: Option<&str>);

    /// Waits until a key ends the command of the person.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
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
        self.with(|ui| ui.set_status(model, mode));
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

/// The objects that a command uses and changes.
pub(super) struct CommandContext<'a, 'p> {
    pub(super) process: &'a RunProcess<'p>,
    pub(super) session: &'a mut RunSession<'p>,
    pub(super) screen: &'a dyn CommandDisplay,
    /// The options with which sessions are opened.
    pub(super) options: &'a mut RunOptions,
}

/// Lets the person choose a stored session; `None` if they choose none.
///
/// # Errors
/// The errors of [`session_list::entries`]; the reason of a signal.
pub(super) fn pick_session(
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

/// Executes `text` if it is one of the commands.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn execute(context: &mut CommandContext<'_, '_>, text: &str) -> Result<CommandEnd, RunError> {
    let (name, argument) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let id = context.session.id().to_string();
    let catalogue = Arc::clone(&context.process.app.base.catalogue);
    if is_built_in(name, argument.is_some()) {
        context.echo(text);
        if argument.is_some() && !takes_value(name) {
            context.print_error(&TuiLine::NoArgument { name });
            return Ok(CommandEnd::Done);
        }
    }
    if STORED_SESSION_COMMANDS.contains(&name) && is_ephemeral(context.app()) {
        context.report_usage(sentence!(
            "with `--ephemeral` no session is stored, so `{name}` has nothing to read",
            name,
        ));
        return Ok(CommandEnd::Done);
    }
    match (name, argument) {
        ("/help", _) | ("help" | "?", None) => {
            context.screen.print(Style::PLAIN, &help(&catalogue, context.screen.keys()))
        }
        ("/status", _) => context.screen.print(INFORMATION, &status(context.session)),
        ("/model", None) => context.list_models()?,
        ("/model", Some(model)) => context.set_model(model),
        ("/mode", None) => context.show_choices(StatusItem::Mode, &mode_names()),
        ("/mode", Some(mode)) => return Ok(context.set_mode(mode)),
        ("/effort", None) => context.show_choices(StatusItem::Effort, &effort_names()),
        ("/effort", Some(effort)) => return Ok(context.set_effort(effort)),
        ("/resume", None) => return context.pick(),
        ("/resume", Some(name)) => return Ok(context.resume(name)),
        ("/new" | "/clear", _) => {
            return Ok(CommandEnd::Reopen(Reopening {
                target: SessionTarget::New,
                workspace: None,
                command: Vec::new(),
                shows_past: false,
                is_other: true,
                printed: StatusItem::Session,
            }));
        }
        ("/compact", _) if context.session.is_unused() => {
            context.screen.print(INFORMATION, &catalogue.line(&TuiLine::NothingToCompact));
        }
        ("/compact", _) => {
            context.screen.request_compaction();
            context.screen.print(INFORMATION, &catalogue.line(&TuiLine::CompactRequested));
        }
        ("/undo" | "/diff", Some(turn)) if turn.parse::<NonZeroU32>().is_err() => {
            context.print_error(&TuiLine::NotATurn { name: turn });
        }
        ("/undo", turn) => {
            let mut command = vec!["undo", &id];
            command.extend(turn.iter().flat_map(|turn| ["--to", *turn]));
            command.extend([REDO_COMMAND, "/redo"]);
            let number = turn.and_then(|turn| turn.parse().ok());
            let target = number.map_or(UndoTarget::LastTurn, UndoTarget::Turn);
            return Ok(context.reopen_after_undo(&command, target));
        }
        ("/redo", _) => {
            let command = ["undo", &id, "--redo"];
            return Ok(context.reopen_after_undo(&command, UndoTarget::LastUndo));
        }
        ("/diff", turn) => {
            let options = turn.map(|turn| ["--turn", turn]);
            let arguments: Vec<&str> =
                ["diff", &id].into_iter().chain(options.into_iter().flatten()).collect();
            let output = run_own(context.process, context.screen, context.options, &arguments)?;
            context.show_changes(&output);
        }
        ("/transcript", _) => {
            let conversation = StoredConversation::new(context.app(), context.session.id());
            context.screen.show_transcript(&conversation);
        }
        ("/cost", _) => context.print_own(&["sessions", "show", &id])?,
        ("/context", _) => context.print_context(&id)?,
        ("/permissions", _) => context.print_own(&["policy", "list"])?,
        ("/mcp", _) => context.print_own(&["mcp", "list"])?,
        ("/skills", _) => context.list_skills(),
        ("/export", file) => context.export(file)?,
        ("/exit" | "/quit", _) | ("exit" | "quit", None) => return Ok(CommandEnd::Leave),
        (name, _) if looks_like_command(text) => return context.check_command(name, text),
        _ => return Ok(CommandEnd::IsPrompt),
    }
    Ok(CommandEnd::Done)
}

impl CommandContext<'_, '_> {
    pub(super) fn app(&self) -> &AppContext {
        &self.process.app
    }

    /// Prints what the person typed, before the output of the command.
    fn echo(&self, text: &str) {
        self.screen.echo(Style::DIM, &format!("❯ {}", text.trim()));
    }

    pub(super) fn report_usage(&self, detail: Sentence) {
        self.session.report(&Failure::from(Reason::Usage { detail }).into());
    }

    /// Runs a sub-command of this program, and prints its output.
    pub(super) fn print_own(&self, arguments: &[&str]) -> Result<(), RunError> {
        let output = run_own(self.process, self.screen, self.options, arguments)?;
        self.screen.print(Style::PLAIN, &output.last_lines(&self.app().base.catalogue));
        Ok(())
    }

    /// Opens the same session again, with the options as they are then.
    fn reopen(&self, command: Vec<String>, printed: StatusItem) -> CommandEnd {
        if is_ephemeral(self.app()) {
            self.report_usage(sentence!(
                "with `--ephemeral` no session is stored, so it cannot be opened again"
            ));
            return CommandEnd::Done;
        }
        let target = self.session.reopening_target();
        CommandEnd::Reopen(Reopening {
            target,
            workspace: None,
            command,
            shows_past: false,
            is_other: false,
            printed,
        })
    }

    /// Runs `ibeam undo` while the session is closed, if there is something to take back.
    fn reopen_after_undo(&self, command: &[&str], target: UndoTarget) -> CommandEnd {
        if let Some(line) = self.nothing_to_undo(target) {
            self.screen.print(Style::DIM, &self.app().base.catalogue.line(&line));
            return CommandEnd::Done;
        }
        self.reopen(command.iter().map(|word| (*word).to_owned()).collect(), StatusItem::Session)
    }

    /// Returns the reason why an undo would change nothing; `None` where `ibeam undo` decides.
    fn nothing_to_undo(&self, target: UndoTarget) -> Option<TuiLine<'static>> {
        let mut changes = SessionChanges::default();
        let sessions = self.app().dirs.sessions();
        let read = ibeam_session::read::<SessionError>(&sessions, self.session.id(), &mut |event| {
            changes.fold(event);
            Ok(())
        });
        // Changes that have no checkpoint are an error with hints.
        let has_unsaved = changes.is_empty() && changes.has_changed_files;
        let has_undo = changes.resolve(UndoTarget::LastUndo).is_some();
        if read.is_err() {
            return None;
        }
        match target {
            UndoTarget::LastUndo => (!has_undo).then_some(TuiLine::NothingToRedo),
            UndoTarget::LastTurn if changes.resolve(target).is_some() || has_unsaved => None,
            UndoTarget::LastTurn if has_undo => Some(TuiLine::AlreadyUndone),
            UndoTarget::LastTurn => Some(TuiLine::NothingToUndo),
            UndoTarget::Turn(_) => (changes.turns == 0).then_some(TuiLine::NothingToUndo),
        }
    }

    /// Prints the reason why a command did nothing.
    fn print_error(&self, line: &TuiLine<'_>) {
        self.screen.print(Style::color(Color::Red), &self.app().base.catalogue.line(line));
    }

    /// Prints the parts of the next request. A session that is not stored has no conversation to read.
    fn print_context(&self, id: &str) -> Result<(), RunError> {
        let mut arguments = vec!["context".to_owned(), "--conversation".to_owned()];
        if !is_ephemeral(self.app()) {
            arguments.push(format!("--resume={id}"));
        }
        arguments.extend(self.options.for_context());
        self.print_own(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Prints a value and those that could replace it.
    fn show_choices(&self, item: StatusItem, names: &[String]) {
        let current = status_value(self.session, item);
        let mark = |name: &String| if *name == current { format!("[{name}]") } else { name.clone() };
        let list = names.iter().map(mark).collect::<Vec<_>>().join(", ");
        let choices = self.app().base.catalogue.line(&TuiLine::Choices { list: &list });
        self.screen.print(INFORMATION, &format!("{}\n{choices}", status_line(self.session, item)));
    }

    /// Reports a value that a command does not accept.
    fn report_choice(&self, name: &str, names: &[String]) {
        let list = names.join(", ");
        self.print_error(&TuiLine::UnknownChoice { name, list: &list });
    }

    /// Reports a command that does not exist. Commands of files, skills and servers are prompts.
    ///
    /// # Errors
    /// The reason of a signal.
    fn check_command(&self, name: &str, text: &str) -> Result<CommandEnd, RunError> {
        let mut known: Vec<String> = conversation_commands().map(str::to_owned).collect();
        let prompts = self.session.slash_commands().into_iter().map(|command| format!("/{}", command.name));
        let prompts: Vec<String> = prompts.collect();
        let is_prompt = |known: &[String]| known.iter().any(|known| known == name);
        if is_prompt(&prompts) || Path::new(name).exists() {
            return Ok(CommandEnd::IsPrompt);
        }
        if let Some(commands) = self.session.server_commands() {
            let commands = self.process.wait(async { Ok(commands.await) })?;
            let of_servers: Vec<String> =
                commands.into_iter().map(|command| format!("/{}", command.name)).collect();
            if is_prompt(&of_servers) {
                return Ok(CommandEnd::IsPrompt);
            }
            known.extend(of_servers);
        }
        known.extend(prompts);
        self.echo(text);
        let nearest = similar_names::closest(name, known.iter().map(String::as_str));
        self.print_error(&match nearest {
            Some(nearest) => TuiLine::UnknownCommandNear { name, nearest },
            None => TuiLine::UnknownCommand { name },
        });
        Ok(CommandEnd::Done)
    }

    fn set_mode(&mut self, name: &str) -> CommandEnd {
        match WorkMode::from_name(name) {
            Some(mode) => {
                self.options.mode = mode;
                self.reopen(Vec::new(), StatusItem::Mode)
            }
            None => {
                self.report_choice(name, &mode_names());
                CommandEnd::Done
            }
        }
    }

    fn set_effort(&mut self, name: &str) -> CommandEnd {
        if !effort_names().iter().any(|known| known == name) {
            self.report_choice(name, &effort_names());
            return CommandEnd::Done;
        }
        self.options.effort = (name != DEFAULT_EFFORT).then(|| name.to_owned());
        self.reopen(Vec::new(), StatusItem::Effort)
    }

    /// Returns the next step after the choice of a session. The one that is open stays open.
    fn open_chosen(&self, chosen: ChosenSession) -> CommandEnd {
        let ChosenSession { target, workspace } = chosen;
        if target == SessionTarget::Named(self.session.id().to_string()) {
            self.screen.print(INFORMATION, &status_line(self.session, StatusItem::Session));
            return CommandEnd::Done;
        }
        CommandEnd::Reopen(Reopening {
            target,
            workspace,
            command: Vec::new(),
            shows_past: true,
            is_other: true,
            printed: StatusItem::Session,
        })
    }

    /// Opens another session, which must exist.
    fn resume(&self, name: &str) -> CommandEnd {
        match ChosenSession::named(self.app(), name) {
            Ok(chosen) => self.open_chosen(chosen),
            Err(failure) => {
                self.session.report(&failure.into());
                CommandEnd::Done
            }
        }
    }

    /// Lets the person choose another session.
    fn pick(&self) -> Result<CommandEnd, RunError> {
        match self.screen.pick_session(self.process, None) {
            Ok(chosen) => Ok(chosen.map_or(CommandEnd::Done, |chosen| self.open_chosen(chosen))),
            Err(failed) if self.process.stop.reason().is_some() => Err(failed),
            Err(failed) if matches!(failed.failure.reason, Reason::NoSessionToContinue { .. }) => {
                let line = sentence!("no other session is stored yet");
                self.screen.print(INFORMATION, &self.app().base.catalogue.sentence(&line));
                Ok(CommandEnd::Done)
            }
            Err(failed) => {
                self.session.report(&failed);
                Ok(CommandEnd::Done)
            }
        }
    }

    /// Shows the output of `ibeam diff`.
    fn show_changes(&self, output: &CommandOutput) {
        let catalogue = &self.app().base.catalogue;
        let lines = diff_lines(&output.stdout);
        if !output.stderr.is_empty() {
            self.screen.print(Style::color(Color::Red), &output.stderr);
        } else if lines.is_empty() {
            self.screen.print(Style::DIM, &catalogue.line(&TuiLine::NoChanges));
        }
        if !lines.is_empty() {
            let title = catalogue.line(&TuiLine::ChangesTitle);
            self.screen.show_changes(title, lines);
        }
    }

    fn list_skills(&self) {
        let skills: Vec<_> = self.session.skills().iter().collect();
        if skills.is_empty() {
            self.screen.print(Style::DIM, &self.app().base.catalogue.line(&TuiLine::NoSkills));
        }
        for skill in skills {
            self.screen.print(Style::PLAIN, &format!("{}  {}", skill.name, skill.description));
        }
    }

    /// Writes the session to a new file: a page to read if its name ends with `.html`, else an archive to import.
    fn export(&self, file: Option<&str>) -> Result<(), RunError> {
        if self.session.is_unused() {
            self.screen.print(Style::DIM, &self.app().base.catalogue.line(&TuiLine::NoTranscript));
            return Ok(());
        }
        let id = self.session.id();
        let name = file.map_or_else(|| format!("ibeam-{}.html", short_id(id)), str::to_owned);
        let path = match name.strip_prefix("~/") {
            Some(below) => self.app().dirs.home.join(below),
            None => self.app().workspace.join(&name),
        };
        let id = id.to_string();
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        let arguments = match is_page {
            true => vec!["replay", &id, "--output-format", "html"],
            false => vec!["sessions", "export", &id],
        };
        let output = run_own(self.process, self.screen, self.options, &arguments)?;
        if !output.has_succeeded() {
            self.screen.print(Style::color(Color::Red), &output.stderr);
            return Ok(());
        }
        let shown = path.display().to_string();
        match write_new(&path, output.stdout.as_bytes()) {
            Ok(()) => {
                let line = TuiLine::Exported { path: &shown };
                self.screen.print(INFORMATION, &self.app().base.catalogue.line(&line));
            }
            Err(error) => {
                let explained = creation_failure(&path, &error, &self.app().base.catalogue);
                self.screen.print(Style::color(Color::Red), &explained.to_string());
            }
        }
        Ok(())
    }
}

/// Writes a file that only the user can read. An existing file is not changed.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Whether a text is one line that starts with a word like `/name`. The path of a file has more than one `/`.
fn looks_like_command(text: &str) -> bool {
    let text = text.trim();
    let word = text.split_whitespace().next().and_then(|word| word.strip_prefix('/'));
    !text.contains('\n') && word.is_some_and(|word| !word.contains('/'))
}

/// Returns the failure to create a new file, for people.
fn creation_failure(path: &Path, error: &io::Error, catalogue: &Catalogue) -> Explanation {
    /// The failure of a command of the program that creates a file, whose sentence this is.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum CreationError {
        FileExists { path: String },
    }
    let (path, detail) = (path.display().to_string(), error.to_string());
    match error.kind() {
        io::ErrorKind::AlreadyExists => catalogue.cli_error(&CreationError::FileExists { path }),
        _ => catalogue.reason(&Reason::CannotCreate { path, detail }),
    }
}
