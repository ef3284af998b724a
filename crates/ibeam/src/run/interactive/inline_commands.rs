//! The `/` commands of the inline screen.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ValueEnum;
use ibeam_output::Catalogue;
use ibeam_protocol::{Failure, Reason, Sentence, sentence};
use ibeam_providers::Effort;
use ibeam_tui::{Candidate, Color, PagerStart, PickerOptions, Style, TuiLine, diff_lines};
use tokio::sync::oneshot;

use super::inline::INFORMATION;
use super::inline_screen::InlineScreen;
use super::own_commands::{CommandOutput, last_lines, run_own};
use super::session_list::{self, ChosenSession};
use crate::app::AppContext;
use crate::cli::{Flags, Mode};
use crate::exit::ExitFailure;
use crate::model;
use crate::run::run_process::RunProcess;
use crate::run::run_session::RunSession;
use crate::run::session_opener::{SessionTarget, is_ephemeral};
use crate::session_name::short_id;

/// The commands and their descriptions.
const COMMANDS: [(&str, TuiLine<'_>); 18] = [
    ("/help", TuiLine::CommandHelp),
    ("/model", TuiLine::CommandModel),
    ("/mode", TuiLine::CommandMode),
    ("/effort", TuiLine::CommandEffort),
    ("/resume", TuiLine::CommandResume),
    ("/new", TuiLine::CommandNew),
    ("/compact", TuiLine::CommandCompact),
    ("/undo", TuiLine::CommandUndo),
    ("/diff", TuiLine::CommandDiff),
    ("/transcript", TuiLine::CommandTranscript),
    ("/cost", TuiLine::CommandCost),
    ("/context", TuiLine::CommandContext),
    ("/permissions", TuiLine::CommandPermissions),
    ("/mcp", TuiLine::CommandMcp),
    ("/skills", TuiLine::CommandSkills),
    ("/status", TuiLine::CommandStatus),
    ("/export", TuiLine::CommandExport),
    ("/exit", TuiLine::CommandExit),
];

/// The next step after a prompt that may be a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// The command was executed.
    Done,
    /// The person leaves.
    Leave,
    /// The text is a prompt, or a command of a file, skill or server.
    IsPrompt,
    /// The session is closed, and another one is opened, or the same with other flags.
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
}

impl Reopening {
    /// Returns the next step after the choice of another session.
    fn of_chosen(chosen: ChosenSession) -> CommandEnd {
        let ChosenSession { target, workspace } = chosen;
        CommandEnd::Reopen(Self { target, workspace, command: Vec::new(), shows_past: true })
    }
}

/// The objects that a command uses and changes.
pub(super) struct CommandContext<'a, 'p> {
    pub(super) process: &'a RunProcess<'p>,
    pub(super) session: &'a mut RunSession<'p>,
    pub(super) screen: &'a InlineScreen,
    /// The flags with which sessions are opened.
    pub(super) flags: &'a mut Flags,
}

/// Lets the person choose a stored session; `None` if they choose none.
///
/// # Errors
/// The errors of [`session_list::entries`]; the reason of a signal.
pub(super) fn pick_session(
    process: &RunProcess<'_>,
    screen: &InlineScreen,
) -> Result<Option<ChosenSession>, ExitFailure> {
    let entries = Box::new(session_list::entries(&process.app)?);
    let (sender, chosen) = oneshot::channel();
    let reply = Box::new(move |entry| {
        // The program may end meanwhile.
        let _ = sender.send(entry);
    });
    screen.with(|ui| drop(ui.show_picker(PickerOptions { entries, reply }, Instant::now())));
    let chosen = process.wait(async { Ok(chosen.await.ok().flatten()) })?;
    Ok(chosen.map(ChosenSession::from_entry))
}

/// Returns the commands, and the words that may follow them, for the completion.
pub(super) fn candidates(catalogue: &Catalogue) -> Vec<Candidate> {
    let commands = COMMANDS
        .iter()
        .map(|(word, line)| Candidate { word: (*word).to_owned(), description: catalogue.line(line) });
    let with_word = |word: String| Candidate { word, description: String::new() };
    let modes = mode_names().map(|name| with_word(format!("/mode {name}")));
    let efforts = Effort::ALL.iter().map(|effort| with_word(format!("/effort {}", effort.as_str())));
    commands.chain(modes).chain(efforts).collect()
}

/// Executes `text` if it is one of the commands.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn execute(context: &mut CommandContext<'_, '_>, text: &str) -> Result<CommandEnd, ExitFailure> {
    let (name, argument) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let id = context.session.id().to_string();
    let catalogue = Arc::clone(&context.process.app.base.catalogue);
    match (name, argument) {
        ("/help", _) => context.screen.print(Style::PLAIN, &help(&catalogue)),
        ("/status", _) => context.screen.print(INFORMATION, &context.session.status()),
        ("/model", None) => context.print_own(&["models"])?,
        ("/model", Some(model)) => context.set_model(model),
        ("/mode", None) => context.screen.print(INFORMATION, &context.session.status()),
        ("/mode", Some(mode)) => return Ok(context.set_mode(mode)),
        ("/effort", None) => context.screen.print(INFORMATION, &context.session.status()),
        ("/effort", Some(effort)) => return Ok(context.set_effort(effort)),
        ("/resume", None) => return context.pick(),
        ("/resume", Some(name)) => return Ok(context.resume(name)),
        ("/new", _) => {
            return Ok(CommandEnd::Reopen(Reopening {
                target: SessionTarget::New,
                workspace: None,
                command: Vec::new(),
                shows_past: false,
            }));
        }
        ("/compact", _) => {
            context.screen.compacts.store(true, Ordering::Release);
            context.screen.print(INFORMATION, &catalogue.line(&TuiLine::CompactRequested));
        }
        ("/undo", turn) => {
            let to = turn.map(|turn| ["--to".to_owned(), turn.to_owned()]);
            let command = ["undo".to_owned(), id].into_iter().chain(to.into_iter().flatten());
            return Ok(context.reopen(command.collect()));
        }
        ("/diff", turn) => {
            let options = turn.map(|turn| ["--turn", turn]);
            let arguments: Vec<&str> =
                ["diff", &id].into_iter().chain(options.into_iter().flatten()).collect();
            let output = run_own(context.process, context.screen, &arguments)?;
            context.show_changes(&output);
        }
        ("/transcript", None) => context.screen.show_transcript(),
        ("/cost", _) => context.print_own(&["sessions", "show", &id])?,
        ("/context", _) => context.print_own(&["context"])?,
        ("/permissions", _) => context.print_own(&["policy", "list"])?,
        ("/mcp", _) => context.print_own(&["mcp", "list"])?,
        ("/skills", _) => context.list_skills(),
        ("/export", file) => context.export(file)?,
        ("/exit" | "/quit" | "exit" | "quit", None) => return Ok(CommandEnd::Leave),
        _ => return Ok(CommandEnd::IsPrompt),
    }
    Ok(CommandEnd::Done)
}

impl CommandContext<'_, '_> {
    fn app(&self) -> &AppContext {
        &self.process.app
    }

    fn report_usage(&self, detail: Sentence) {
        self.session.report(&Failure::from(Reason::Usage { detail }).into());
    }

    /// Runs a sub-command of this program, and prints its output.
    fn print_own(&self, arguments: &[&str]) -> Result<(), ExitFailure> {
        let output = run_own(self.process, self.screen, arguments)?;
        self.screen.print(Style::PLAIN, &last_lines(&output.text()));
        Ok(())
    }

    /// Opens the same session again, with the flags as they are then.
    fn reopen(&self, command: Vec<String>) -> CommandEnd {
        if is_ephemeral(self.app()) {
            self.report_usage(sentence!(
                "with `--ephemeral` no session is stored, so it cannot be opened again"
            ));
            return CommandEnd::Done;
        }
        let target = SessionTarget::Named(self.session.id().to_string());
        CommandEnd::Reopen(Reopening { target, workspace: None, command, shows_past: false })
    }

    fn set_model(&mut self, name: &str) {
        let choice = model::choose_model_named(self.app(), name, "/model").map_err(Failure::from);
        match choice.and_then(|choice| self.session.set_model(choice)) {
            Ok(()) => {
                self.flags.model = Some(name.to_owned());
                self.screen.print(INFORMATION, &self.session.status());
            }
            Err(failure) => self.session.report(&failure.into()),
        }
    }

    fn set_mode(&mut self, name: &str) -> CommandEnd {
        match Mode::from_str(name, false) {
            Ok(mode) => {
                (self.flags.mode, self.flags.plan) = (Some(mode), false);
                self.reopen(Vec::new())
            }
            Err(_) => {
                let known = mode_names().collect::<Vec<_>>().join(", ");
                self.report_usage(sentence!("unknown mode `{name}`; use one of: {known}", name, known));
                CommandEnd::Done
            }
        }
    }

    fn set_effort(&mut self, name: &str) -> CommandEnd {
        if Effort::from_name(name).is_none() {
            let known = Effort::ALL.map(Effort::as_str).join(", ");
            self.report_usage(sentence!("unknown effort `{name}`; use one of: {known}", name, known));
            return CommandEnd::Done;
        }
        self.flags.effort = Some(name.to_owned());
        self.reopen(Vec::new())
    }

    /// Opens another session, which must exist.
    fn resume(&self, name: &str) -> CommandEnd {
        match ChosenSession::named(self.app(), name) {
            Ok(chosen) => Reopening::of_chosen(chosen),
            Err(failure) => {
                self.session.report(&failure.into());
                CommandEnd::Done
            }
        }
    }

    /// Lets the person choose another session.
    fn pick(&self) -> Result<CommandEnd, ExitFailure> {
        match pick_session(self.process, self.screen) {
            Ok(chosen) => Ok(chosen.map_or(CommandEnd::Done, Reopening::of_chosen)),
            Err(failed) if self.process.stop.reason().is_some() => Err(failed),
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
            self.screen.with(|ui| drop(ui.show_pager(title, lines, PagerStart::Top, Instant::now())));
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
    fn export(&self, file: Option<&str>) -> Result<(), ExitFailure> {
        let id = self.session.id();
        let name = file.map_or_else(|| format!("ibeam-{}.html", short_id(id)), str::to_owned);
        let path = self.app().workspace.join(&name);
        let id = id.to_string();
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        let arguments = match is_page {
            true => vec!["replay", &id, "--output-format", "html"],
            false => vec!["sessions", "export", &id],
        };
        let output = run_own(self.process, self.screen, &arguments)?;
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
                let failure = Failure::from(Reason::CannotCreate { path: shown, detail: error.to_string() });
                self.session.report(&failure.into());
            }
        }
        Ok(())
    }
}

/// Writes a file that only the user can read. An existing file is not changed.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

fn mode_names() -> impl Iterator<Item = String> {
    let values = Mode::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned())
}

/// Returns the commands and the keys.
fn help(catalogue: &Catalogue) -> String {
    let commands = COMMANDS.iter().map(|(word, line)| format!("{word:<14}{}\n", catalogue.line(line)));
    let keys = [TuiLine::KeysIdle, TuiLine::KeysBusy].map(|line| catalogue.line(&line));
    format!("{}\n{}:\n{}", commands.collect::<String>(), catalogue.line(&TuiLine::Keys), keys.join("\n"))
}
