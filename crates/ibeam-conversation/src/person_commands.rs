//! The work of the `/` commands of a conversation, which `command_table.rs` lists.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ibeam_protocol::{Failure, Reason, Sentence, sentence};
use ibeam_session::SessionError;
use ibeam_tui::{Color, DialogGuard, DialogReply, Style, TuiLine};

use super::command_display::{CommandDisplay, INFORMATION};
use super::command_table::{DEFAULT_EFFORT, conversation_commands, effort_names, mode_names};
use super::session_list::ChosenSession;
use super::session_status::{StatusItem, status_line, status_value};
use ibeam_agent::app::AppContext;
use ibeam_agent::checkpoint::{SessionChanges, UndoTarget};
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::session_opener::{SessionTarget, is_ephemeral};
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::{RunOptions, WorkMode};
use ibeam_agent::similar_names;

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

/// The state of the files of a session that is restored while no session is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestedUndo {
    pub(super) target: UndoTarget,
    /// Whether changes that ibeam did not make are overwritten.
    pub(super) force: bool,
}

/// The session that is opened after the current one is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reopening {
    pub(super) target: SessionTarget,
    /// The directory of the session, if it is another one.
    pub(super) workspace: Option<PathBuf>,
    pub(super) undo: Option<RequestedUndo>,
    /// Whether the conversation of the session is shown.
    pub(super) shows_past: bool,
    /// Whether the session is another one than before.
    pub(super) is_other: bool,
    /// The text with which the input begins.
    pub(super) input: Option<String>,
    /// The first prompt.
    pub(super) prompt: Option<String>,
    /// The value of the opened session that is printed.
    pub(super) printed: StatusItem,
}

impl Reopening {
    pub(super) fn of_new_session() -> Self {
        Self {
            target: SessionTarget::New,
            workspace: None,
            undo: None,
            shows_past: false,
            is_other: true,
            input: None,
            prompt: None,
            printed: StatusItem::Session,
        }
    }

    /// Returns the options of the session. Some options concern the first session only.
    pub(super) fn options(&self, before: &RunOptions) -> RunOptions {
        let workspace = self.workspace.clone().or_else(|| before.workspace.clone());
        RunOptions { fork: false, from_atif: None, file: Vec::new(), workspace, ..before.clone() }
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

impl CommandContext<'_, '_> {
    pub(super) fn app(&self) -> &AppContext {
        &self.process.app
    }

    /// Prints what the person typed, before the output of the command.
    pub(super) fn echo(&self, text: &str) {
        self.screen.echo(Style::DIM, &format!("❯ {}", text.trim()));
    }

    pub(super) fn report_usage(&self, detail: Sentence) {
        self.session.report(&Failure::from(Reason::Usage { detail }).into());
    }

    /// Opens the same session again, with the options as they are then.
    fn reopen(&self, undo: Option<RequestedUndo>, printed: StatusItem) -> CommandEnd {
        if is_ephemeral(self.app()) {
            self.report_usage(sentence!(
                "with `--ephemeral` no session is stored, so it cannot be opened again"
            ));
            return CommandEnd::Done;
        }
        let target = self.session.reopening_target();
        CommandEnd::Reopen(Reopening {
            target,
            undo,
            is_other: false,
            printed,
            ..Reopening::of_new_session()
        })
    }

    /// Restores files while the session is closed, if there is something to take back.
    pub(super) fn reopen_after_undo(&self, undo: RequestedUndo) -> CommandEnd {
        if let Some(line) = self.nothing_to_undo(undo.target) {
            self.screen.print(Style::DIM, &self.app().base.catalogue.line(&line));
            return CommandEnd::Done;
        }
        self.reopen(Some(undo), StatusItem::Session)
    }

    /// Returns the reason why an undo would change nothing; `None` where the undo decides.
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
    pub(super) fn print_error(&self, line: &TuiLine<'_>) {
        self.screen.print(Style::color(Color::Red), &self.app().base.catalogue.line(line));
    }

    /// Lets the person choose a value, of which the current one comes first; `None` if they keep it.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn choose_value(
        &self,
        item: StatusItem,
        current: &str,
        names: Vec<String>,
    ) -> Result<Option<String>, RunError> {
        let (mut choices, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name == current);
        choices.extend(others);
        let title = status_line(self.session, item);
        let reply = self.screen.choose(self.process, title, choices.clone(), DialogGuard::None)?;
        let chosen = match reply {
            DialogReply::Choice(at) => choices.into_iter().nth(at),
            DialogReply::Text(_) | DialogReply::Back | DialogReply::Leave => None,
        };
        Ok(chosen.filter(|name| name != current))
    }

    /// Reports a value that a command does not accept.
    fn report_choice(&self, name: &str, names: &[String]) {
        let list = names.join(", ");
        self.print_error(&TuiLine::UnknownChoice { name, list: &list });
    }

    /// Returns the undo that a person has described as `[TURN] [--force]`; `None` after the report of what is neither.
    pub(super) fn requested_undo(&self, described: Option<&str>) -> Option<RequestedUndo> {
        let words: Vec<&str> = described.unwrap_or_default().split_whitespace().collect();
        let force = words.contains(&"--force");
        let turn: Vec<&str> = words.into_iter().filter(|word| *word != "--force").collect();
        let turn = self.turn(Some(turn.join(" ").as_str()).filter(|turn| !turn.is_empty()))?;
        let target = turn.map_or(UndoTarget::LastTurn, |turn| UndoTarget::Turn(turn.get()));
        Some(RequestedUndo { target, force })
    }

    /// Returns the turn that a person has named, if any; `None` after the report of an invalid one.
    pub(super) fn turn(&self, named: Option<&str>) -> Option<Option<NonZeroU32>> {
        let Some(named) = named else { return Some(None) };
        match named.parse::<NonZeroU32>() {
            Ok(turn) => Some(Some(turn)),
            Err(_) => {
                self.print_error(&TuiLine::NotATurn { name: named });
                None
            }
        }
    }

    pub(super) fn compact(&self) {
        let line = match self.session.is_unused() {
            true => TuiLine::NothingToCompact,
            false => {
                self.screen.request_compaction();
                TuiLine::CompactRequested
            }
        };
        self.screen.print(INFORMATION, &self.app().base.catalogue.line(&line));
    }

    /// Reports a command that does not exist. Other texts, and commands of files, skills and servers, are prompts.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn check_command(&self, name: &str, text: &str) -> Result<CommandEnd, RunError> {
        if !looks_like_command(text) {
            return Ok(CommandEnd::IsPrompt);
        }
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

    /// Sets the mode of the session; without a name, lets the person choose it.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn set_mode(&mut self, name: Option<&str>) -> Result<CommandEnd, RunError> {
        let Some(name) = self.named_or_chosen(StatusItem::Mode, name, mode_names())? else {
            return Ok(CommandEnd::Done);
        };
        self.options.mode = WorkMode::from_name(&name).unwrap_or_default();
        Ok(self.reopen(None, StatusItem::Mode))
    }

    /// Sets the level of reasoning; without a name, lets the person choose it.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn set_effort(&mut self, name: Option<&str>) -> Result<CommandEnd, RunError> {
        let Some(name) = self.named_or_chosen(StatusItem::Effort, name, effort_names())? else {
            return Ok(CommandEnd::Done);
        };
        self.options.effort = (name != DEFAULT_EFFORT).then_some(name);
        Ok(self.reopen(None, StatusItem::Effort))
    }

    /// Returns the value that the person named, or else chooses; `None` if it stays, or after the report of an unknown one.
    fn named_or_chosen(
        &self,
        item: StatusItem,
        named: Option<&str>,
        names: Vec<String>,
    ) -> Result<Option<String>, RunError> {
        match named {
            Some(name) if names.iter().any(|known| known == name) => Ok(Some(name.to_owned())),
            Some(unknown) => {
                self.report_choice(unknown, &names);
                Ok(None)
            }
            None => self.choose_value(item, &status_value(self.session, item), names),
        }
    }

    /// Returns the next step after the choice of a session. The one that is open stays open.
    fn open_chosen(&self, chosen: ChosenSession) -> CommandEnd {
        let ChosenSession { target, workspace } = chosen;
        if target == SessionTarget::Named(self.session.id().to_string()) {
            self.screen.print(INFORMATION, &status_line(self.session, StatusItem::Session));
            return CommandEnd::Done;
        }
        CommandEnd::Reopen(Reopening { target, workspace, shows_past: true, ..Reopening::of_new_session() })
    }

    /// Opens another session, which must exist.
    pub(super) fn resume(&self, name: &str) -> CommandEnd {
        match ChosenSession::named(self.app(), name) {
            Ok(chosen) => self.open_chosen(chosen),
            Err(failure) => {
                self.session.report(&failure.into());
                CommandEnd::Done
            }
        }
    }

    /// Lets the person choose another session.
    pub(super) fn pick(&self) -> Result<CommandEnd, RunError> {
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

    pub(super) fn list_skills(&self) {
        let skills: Vec<_> = self.session.skills().iter().collect();
        if skills.is_empty() {
            self.screen.print(Style::DIM, &self.app().base.catalogue.line(&TuiLine::NoSkills));
        }
        for skill in skills {
            self.screen.print(Style::PLAIN, &format!("{}  {}", skill.name, skill.description));
        }
    }
}

/// Whether a text is one line that starts with a word like `/name`. The path of a file has more than one `/`.
fn looks_like_command(text: &str) -> bool {
    let text = text.trim();
    let word = text.split_whitespace().next().and_then(|word| word.strip_prefix('/'));
    !text.contains('\n') && word.is_some_and(|word| !word.contains('/'))
}
