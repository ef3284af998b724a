//! The commands that show what a session or its configuration is, and those that restore files.
//!
//! They call the functions of the sub-commands. The configuration is read anew, so that a change of a file is shown.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use ibeam_output::{Catalogue, Explanation, escape_invisible};
use ibeam_protocol::{Failure, Reason, SessionId};
use ibeam_tui::{Color, Style, TuiLine, diff_lines};
use serde::Serialize;

use super::command_display::{CommandDisplay, INFORMATION};
use super::person_commands::{CommandContext, RequestedUndo};
use super::shell_command::{last_lines, wait_for_work};
use super::typed_commands::with_typed_commands;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::checkpoint::UndoTarget;
use ibeam_agent::reports::context_report::{ContextOptions, context_report};
use ibeam_agent::reports::file_changes::{self, ChangesError, UndoOptions, UndoOutput};
use ibeam_agent::reports::model_list::ModelList;
use ibeam_agent::reports::rule_list::rule_list;
use ibeam_agent::reports::server_list::server_list;
use ibeam_agent::reports::session_page::write_session_page;
use ibeam_agent::reports::session_report::session_report;
use ibeam_agent::reports::{Report, text_with_warnings};
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::session_error_reason;
use ibeam_agent::run::session_opener::{SessionTarget, is_ephemeral};
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::RunOptions;
use ibeam_agent::session_name::short_id;

/// Returns the context of sessions with other options.
///
/// # Errors
/// The errors of [`AppContext::new`].
pub(super) fn changed_app(app: &AppContext, options: &RunOptions) -> Result<Arc<AppContext>, Reason> {
    AppContext::new(options.clone(), ConfigUse::Needed, app.started_at).map(Arc::new)
}

impl CommandContext<'_, '_> {
    /// Returns the context of a report about `session`, with the options of the conversation.
    fn report_app(&self, session: SessionTarget) -> Result<Arc<AppContext>, Reason> {
        // The files belong to the first prompt. Trust would be given to what has changed since.
        let options = RunOptions {
            session,
            file: Vec::new(),
            trust: false,
            record: None,
            from_recording: None,
            ..self.options.clone()
        };
        changed_app(self.app(), &options)
    }

    /// Prints a report, or why there is none.
    fn print_report<E: Into<RunError>>(&self, report: Result<Report, E>) {
        let text = report
            .map(|report| text_with_warnings(&report.text, &report.warnings))
            .unwrap_or_else(|error| error_text(&error.into().explained(&self.app().base.catalogue)));
        self.screen.print(Style::PLAIN, &last_lines(&text, 0, &self.app().base.catalogue));
    }

    /// Prints the totals of the session.
    pub(super) fn print_cost(&self) {
        self.print_report(session_report(self.app(), self.session.id()));
    }

    /// Prints the rules in force.
    pub(super) fn print_rules(&self) {
        self.print_report(self.report_app(SessionTarget::New).and_then(|app| rule_list(&app)));
    }

    /// Prints the declared MCP servers.
    pub(super) fn print_servers(&self) {
        self.print_report(self.report_app(SessionTarget::New).and_then(|app| server_list(&app)));
    }

    /// Prints the parts of the next request. A session that is not stored has no conversation to read.
    pub(super) fn print_context(&self) {
        let target = match is_ephemeral(self.app()) {
            true => SessionTarget::New,
            false => SessionTarget::Named(self.session.id().to_string()),
        };
        let options = ContextOptions { conversation: true, ..ContextOptions::default() };
        let app = self.report_app(target).map_err(Failure::from);
        self.print_report(app.and_then(|app| context_report(&app, &[], options)));
    }

    /// Returns the name of the current model and those that runs can use, and prints warnings about services; `None` if the
    /// person interrupted the search, and after the report of a failure.
    ///
    /// # Errors
    /// A failure that no further prompt can follow.
    pub(super) fn usable_models(&self) -> Result<Option<(String, Vec<String>)>, RunError> {
        let catalogue = &self.app().base.catalogue;
        let loaded = match self.report_app(SessionTarget::New).map_err(Failure::from) {
            Ok(app) => {
                let work = ModelList::load(&app, false);
                wait_for_work(self.process, self.screen, "ibeam models", work)?
            }
            Err(failure) => Some(Err(failure)),
        };
        match loaded {
            None => Ok(None),
            Some(Ok(list)) => {
                let warnings = text_with_warnings("", &list.warnings);
                if !warnings.is_empty() {
                    self.screen.print(Style::color(Color::Yellow), &warnings);
                }
                let model = &self.session.head().model;
                Ok(Some((format!("{}/{}", model.provider, model.id), list.names())))
            }
            Some(Err(failure)) => {
                self.print_failure(&RunError::from(failure).explained(catalogue));
                Ok(None)
            }
        }
    }

    /// Shows what the session changed in files: in one turn, or until now.
    ///
    /// # Errors
    /// A failure that no further prompt can follow.
    pub(super) fn show_diff(&self, turn: Option<NonZeroU32>) -> Result<(), RunError> {
        let app = self.app();
        let work = file_changes::diff(app, self.session.id(), false, turn.map(NonZeroU32::get));
        let Some(diff) = wait_for_git(self.process, self.screen, "ibeam diff", work)? else { return Ok(()) };
        let catalogue = &app.base.catalogue;
        match diff.map(|diff| diff_lines(&String::from_utf8_lossy(&diff))) {
            Ok(lines) if lines.is_empty() => {
                self.screen.print(Style::DIM, &catalogue.line(&TuiLine::NoChanges));
            }
            Ok(lines) => self.screen.show_changes(catalogue.line(&TuiLine::ChangesTitle), lines),
            Err(error) => self.print_failure(&error.explain(catalogue)),
        }
        Ok(())
    }

    /// Writes the session to a new file: a page to read if its name ends with `.html`, else an archive to import.
    pub(super) fn export(&self, file: Option<&str>) {
        let catalogue = &self.app().base.catalogue;
        if self.session.is_unused() {
            return self.screen.print(Style::DIM, &catalogue.line(&TuiLine::NoTranscript));
        }
        let id = self.session.id();
        let name = file.map_or_else(|| format!("ibeam-{}.html", short_id(id)), str::to_owned);
        let path = match name.strip_prefix("~/") {
            Some(below) => self.app().dirs.home.join(below),
            None => self.app().workspace.join(&name),
        };
        let mut exported = Vec::new();
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        let ended = match is_page {
            true => write_session_page(self.app(), id, &mut exported),
            false => ibeam_session::export(&self.app().dirs.sessions(), id, &mut exported)
                .map_err(|error| session_error_reason(&error, id).into()),
        };
        let written = ended.map_err(|failure| RunError::from(failure).explained(catalogue)).and_then(|()| {
            write_new(&path, &exported).map_err(|error| creation_failure(&path, &error, catalogue))
        });
        match written {
            Ok(()) => {
                let line = TuiLine::Exported { path: &path.display().to_string() };
                self.screen.print(INFORMATION, &catalogue.line(&line));
            }
            Err(explained) => self.print_failure(&explained),
        }
    }

    fn print_failure(&self, explained: &Explanation) {
        self.screen.print(Style::color(Color::Red), &error_text(explained));
    }
}

/// Restores files of the session `id`, which is not open, and prints what was done. Returns it for the model if all files
/// were restored.
///
/// # Errors
/// A failure that no further prompt can follow.
pub(super) fn undo_between(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    id: SessionId,
    undo: RequestedUndo,
) -> Result<Option<String>, RunError> {
    let RequestedUndo { target, force } = undo;
    let (mut out, mut warnings) = (Vec::new(), String::new());
    let redo_command = (target != UndoTarget::LastUndo).then_some("/redo");
    let options = UndoOptions { target, dry_run: false, force, redo_command };
    let mut warn = |line: &str| warnings.push_str(&format!("{}\n", escape_invisible(line)));
    let mut output = UndoOutput { out: &mut out, warn: &mut warn };
    let work = file_changes::undo(&process.app, id, options, &mut output);
    let Some(ended) = wait_for_git(process, screen, "ibeam undo", work)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&out).into_owned();
    if let Err(error) = ended {
        let explained = error_text(&error.explain(&process.app.base.catalogue));
        let forced = match target {
            UndoTarget::LastTurn => "`/undo --force`".to_owned(),
            UndoTarget::Turn(turn) => format!("`/undo {turn} --force`"),
            UndoTarget::LastUndo => "`/redo --force`".to_owned(),
        };
        let explained = explained.replace("`--force`", &forced).replace("`--redo`", "`/redo`");
        screen.print(Style::color(Color::Red), &format!("{text}{warnings}{explained}"));
        return Ok(None);
    }
    screen.print(Style::color(Color::Default), &format!("{text}{warnings}"));
    let arguments = match target {
        UndoTarget::LastTurn => String::new(),
        UndoTarget::Turn(turn) => format!(" --to {turn}"),
        UndoTarget::LastUndo => " --redo".to_owned(),
    };
    Ok(Some(format!(
        "The user ran `ibeam undo {id}{arguments}`, which changed files of the workspace:\n{text}"
    )))
}

/// Waits for work with git, at most for `timeouts.git`; `None` if the person interrupted it.
///
/// # Errors
/// A failure that no further prompt can follow.
fn wait_for_git<T>(
    process: &RunProcess<'_>,
    screen: &dyn CommandDisplay,
    label: &str,
    work: impl Future<Output = Result<T, ChangesError>>,
) -> Result<Option<Result<T, ChangesError>>, RunError> {
    let limit = process.app.base.settings.timeouts.git.value;
    let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    wait_for_work(process, screen, label, async {
        let ended = tokio::time::timeout(limit, work).await;
        ended.unwrap_or_else(|_| Err(Reason::TimedOut { timeout_ms }.into()))
    })
}

/// Returns the lines of a failure.
fn error_text(explained: &Explanation) -> String {
    format!("{}\n", with_typed_commands(&escape_invisible(&explained.to_string())))
}

/// Writes a file that only the user can read. An existing file is not changed.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
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
