//! `undo` and `diff`: what a session changed in the files of its workspace.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::checkpoint::UndoTarget;
use ibeam_agent::reports::file_changes::{self, UndoOptions, UndoOutput};
use ibeam_agent::run::run_git_command;
use ibeam_agent::{session_name, stderr};
use ibeam_protocol::{Failure, SessionId};

use super::compare::compare;
use super::facts::CommandFacts;
use super::printing::{print_text, stdout_error};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Show what a session changed in files
///
/// (as a unified diff; or compare two sessions)
#[derive(Args, Clone, Debug)]
#[command(after_help = "Changes of files: `ibeam help checkpoints`. Two sessions: `ibeam help trace`")]
pub(crate) struct DiffArgs {
    /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` … [default: -1]; with OTHER also a file with the stream of any agent
    #[arg(value_name = "SESSION", allow_negative_numbers = true)]
    id: Option<OsString>,
    /// The session or file to compare it with
    #[arg(value_name = "OTHER", allow_negative_numbers = true, conflicts_with_all = ["stat", "turn"])]
    other: Option<OsString>,
    /// Print the comparison of two as one JSON object
    #[arg(long, requires = "other")]
    json: bool,
    /// Print how many lines of each file changed instead
    #[arg(long)]
    stat: bool,
    /// Only the changes of this turn, counted from 1 [default: all]
    #[arg(long, value_name = "N")]
    turn: Option<NonZeroU32>,
}

impl SubCommand for DiffArgs {
    const FACTS: CommandFacts = CommandFacts::new("diff")
        .uses(&["timeout", "workspace"])
        .with_examples(&["ibeam diff", "ibeam diff -2 --stat"]);

    fn config_use(&self) -> ConfigUse {
        match self.other {
            Some(_) => ConfigUse::Incidental,
            None => ConfigUse::Needed,
        }
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        match (&self.id, &self.other) {
            (Some(first), Some(second)) => compare(app, [first, second], self.json, call.stdout),
            (id, _) => {
                let id = id.as_ref().map(|id| id.to_string_lossy());
                diff(app, id.as_deref(), self.stat, self.turn, call.stdout)
            }
        }
        .map(success)
    }
}

/// Restore the files of the workspace as they were before a turn
#[derive(Args, Clone, Debug)]
#[command(after_help = "Files that somebody else changed since are not overwritten without `--force`.\n\
                  Exit codes: 0 done, 1 files were changed since, 66 nothing to undo. More: `ibeam help checkpoints`")]
pub(crate) struct UndoArgs {
    /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` … [default: -1]
    #[arg(value_name = "SESSION", allow_negative_numbers = true)]
    id: Option<String>,
    /// Restore the state before this turn, counted from 1 [default: the last turn that changed files]
    #[arg(long, value_name = "N", conflicts_with = "redo")]
    to: Option<NonZeroU32>,
    /// Take back the last undo
    #[arg(long)]
    redo: bool,
    /// Show what would be restored, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl SubCommand for UndoArgs {
    const FACTS: CommandFacts = CommandFacts::new("undo")
        .uses(&["force", "timeout", "workspace"])
        .with_flag_help(&[("force", "Overwrite files that somebody else has changed since")])
        .with_examples(&["ibeam undo --dry-run", "ibeam undo --redo"]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        let target = match (self.to, self.redo) {
            (Some(turn), _) => UndoTarget::Turn(turn.get()),
            (None, true) => UndoTarget::LastUndo,
            (None, false) => UndoTarget::LastTurn,
        };
        undo(app, self.id.as_deref(), target, self.dry_run, call.stdout).map(success)
    }
}

fn undo(
    app: &AppContext,
    name: Option<&str>,
    target: UndoTarget,
    dry_run: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find_session(app, name)?;
    let options = UndoOptions { target, dry_run, force: app.base.options.force, redo_command: None };
    let mut output = UndoOutput { out: stdout, warn: &mut stderr::write_line };
    Ok(run_git_command(app, file_changes::undo(app, id, options, &mut output))?)
}

fn diff(
    app: &AppContext,
    name: Option<&str>,
    stat: bool,
    turn: Option<NonZeroU32>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find_session(app, name)?;
    let diff = run_git_command(app, file_changes::diff(app, id, stat, turn.map(NonZeroU32::get)))?;
    match rustix::termios::isatty(stdout.as_fd()) {
        // The files may contain characters that control a terminal.
        true => print_text(stdout, &String::from_utf8_lossy(&diff)),
        false => stdout.write_all(&diff).map_err(|error| stdout_error(&error)),
    }
}

/// Returns the session of this name; the newest of the workspace without one.
///
/// # Errors
/// The errors of [`session_name::find_session`].
fn find_session(app: &AppContext, name: Option<&str>) -> Result<SessionId, Failure> {
    session_name::find_session(&app.dirs.sessions(), &app.workspace, name.unwrap_or("-1"))
}
