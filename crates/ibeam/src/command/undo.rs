//! `undo` and `diff`: what a session changed in the files of its workspace.

use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::os::fd::AsFd as _;

use ibeam_agent::app::AppContext;
use ibeam_agent::checkpoint::UndoTarget;
use ibeam_agent::reports::file_changes::{self, UndoOptions, UndoOutput};
use ibeam_agent::run::run_git_command;
use ibeam_agent::{session_name, stderr};
use ibeam_protocol::{Failure, SessionId};

use super::printing::{print_text, stdout_error};
use crate::cli_error::CliError;

/// Returns the state that the flags ask for.
pub(super) fn target(to: Option<NonZeroU32>, redo: bool) -> UndoTarget {
    match (to, redo) {
        (Some(turn), _) => UndoTarget::Turn(turn.get()),
        (None, true) => UndoTarget::LastUndo,
        (None, false) => UndoTarget::LastTurn,
    }
}

pub(super) fn undo(
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

pub(super) fn diff(
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
