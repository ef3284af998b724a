//! `undo` and `diff`: what a session changed in the files of its workspace.
//!
//! Both read the checkpoints from the journal. `undo` holds the lease of the session, so no run changes files meanwhile, and
//! records the state before and after itself.

use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::os::fd::AsFd as _;
use std::path::Path;

use ibeam_output::UndoLine;
use ibeam_protocol::{Checkpoint, Event, EventKind, Failure, Reason, SessionId};
use ibeam_session::{Damage, ReadReport, Session, SessionError};

use super::{print_text, write};
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::checkpoint::{
    CheckpointError, Repository, SessionChanges, UndoAction, UndoPlan, UndoTarget,
};
use ibeam_agent::clock::now_ms;
use ibeam_agent::run::{
    damaged_session_reason, journal_write_reason, policy_rules, run_git_command, session_error_reason,
    session_options,
};
use ibeam_agent::{session_name, stderr};

/// The largest number of conflicts that are listed.
const MAX_LISTED_CONFLICTS: usize = 20;

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
    redo_command: Option<&str>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find_session(app, name)?;
    let failed = |error: SessionError| match error {
        SessionError::Busy { holder, .. } => CliError::SessionHeld { session: id.to_string(), holder },
        error => session_error_reason(&error, id).into(),
    };
    let mut changes = SessionChanges::default();
    let opened =
        Session::open(&app.dirs.sessions(), id, &session_options(app)?, &mut |event| changes.fold(event));
    let (mut session, _) = opened.map_err(failed)?;
    let repository = find_repository(app, &changes, id)?;
    if let UndoTarget::Turn(turn) = target {
        check_turn(&changes, id, turn)?;
    }
    let nothing = || {
        let session = id.to_string();
        let has_undo = changes.resolve(UndoTarget::LastUndo).is_some();
        match target {
            UndoTarget::LastTurn if has_undo => CliError::AlreadyUndone { session },
            UndoTarget::LastTurn | UndoTarget::Turn(_) => CliError::NothingToUndo { session },
            UndoTarget::LastUndo => CliError::NothingToRedo { session },
        }
    };
    let (first, turn) = changes.resolve(target).ok_or_else(nothing)?;
    // What was interrupted is recorded as done, even if it had restored all files.
    let is_interrupted = changes.is_interrupted();
    run_git_command(app, async {
        let plan = repository.plan_undo(&changes, first).await?;
        let may_overwrite = app.base.options.force || plan.changes_nothing();
        if !dry_run && !may_overwrite {
            check_conflicts(app, &plan, target)?;
        }
        show(app, &plan, stdout)?;
        if plan.changes_nothing() && (dry_run || !is_interrupted) {
            return print_line(app, &UndoLine::Unchanged, stdout);
        }
        if dry_run {
            return if may_overwrite { Ok(()) } else { check_conflicts(app, &plan, target) };
        }
        let mut record = |checkpoint: Checkpoint| {
            let kind = EventKind::CheckpointTaken(checkpoint);
            let event = Event { seq: changes.next_seq, at_ms: now_ms(), kind };
            changes.next_seq += 1;
            let written = session.append(&event).and_then(|()| session.flush());
            written.map_err(|error| CliError::from(journal_write_reason(&error)))
        };
        let before = repository.save_before_undo(&plan, id, turn, now_ms()).await?;
        let commit = before.commit.clone();
        record(before)?;
        // Without the record of its end, it can be repeated.
        repository.restore(&plan).await?;
        record(repository.save_after_undo(id, now_ms()).await?)?;
        let count = plan.actions().filter(|(_, action)| *action != UndoAction::Keep).count() as u64;
        let command = redo_command.map_or_else(|| format!("ibeam undo {id} --redo"), str::to_owned);
        match turn {
            Some(_) => print_line(app, &UndoLine::Done { count, command: &command }, stdout),
            None => {
                report_overwritten(app, &repository, &plan, &commit);
                print_line(app, &UndoLine::Redone { count }, stdout)
            }
        }
    })
}

pub(super) fn diff(
    app: &AppContext,
    name: Option<&str>,
    stat: bool,
    turn: Option<NonZeroU32>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find_session(app, name)?;
    let mut changes = SessionChanges::default();
    let read = ibeam_session::read(&app.dirs.sessions(), id, &mut |event| {
        changes.fold(event);
        Ok::<_, SessionError>(())
    });
    let ReadReport { damage, .. } = read.map_err(|error| session_error_reason(&error, id))?;
    if let Some(Damage { path, line, detail }) = damage {
        return Err(damaged_session_reason(id, &path, line, &detail).into());
    }
    let only = match turn {
        None => None,
        Some(turn) => {
            check_turn(&changes, id, turn.get())?;
            match changes.find_turn(turn.get()) {
                Some(index) => Some(index),
                None => return Ok(()),
            }
        }
    };
    if changes.is_empty() {
        let no_checkpoints = CliError::NoCheckpoints { session: id.to_string() };
        return if changes.has_changed_files { Err(no_checkpoints) } else { Ok(()) };
    }
    let repository = find_repository(app, &changes, id)?;
    let work = async { repository.diff(&changes, only, stat).await.map_err(CliError::from) };
    let diff = run_git_command(app, work)?;
    match rustix::termios::isatty(stdout.as_fd()) {
        // The files may contain characters that control a terminal.
        true => print_text(stdout, &String::from_utf8_lossy(&diff)),
        false => stdout.write_all(&diff).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Reason::OutputClosed.into(),
            _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() }.into(),
        }),
    }
}

/// Returns the session of this name; the newest of the workspace without one.
///
/// # Errors
/// The errors of [`session_name::find_session`].
fn find_session(app: &AppContext, name: Option<&str>) -> Result<SessionId, Failure> {
    session_name::find_session(&app.dirs.sessions(), &app.workspace, name.unwrap_or("-1"))
}

/// Returns the repository of the session's workspace, which must be that of the command.
///
/// # Errors
/// `SessionElsewhere`, `NoRepository`; the errors of the rules.
fn find_repository(
    app: &AppContext,
    changes: &SessionChanges,
    id: SessionId,
) -> Result<Repository, CliError> {
    if changes.cwd != app.workspace && !changes.cwd.as_os_str().is_empty() {
        let cwd = changes.cwd.display().to_string();
        return Err(Reason::SessionElsewhere { session: id.to_string(), cwd }.into());
    }
    let path_policy = policy_rules::build_policy(app, ibeam_agent::run::permission_mode(app))?.path_policy();
    let no_repository = || CliError::NoRepository { path: app.workspace.display().to_string() };
    Repository::find(&app.workspace, &app.dirs, &app.programs, path_policy).ok_or_else(no_repository)
}

fn check_turn(changes: &SessionChanges, id: SessionId, turn: u32) -> Result<(), CliError> {
    match changes.turns {
        turns if turn > turns => Err(CliError::UnknownTurn { session: id.to_string(), turn, turns }),
        _ => Ok(()),
    }
}

/// Lists what the undo changes.
fn show(app: &AppContext, plan: &UndoPlan, stdout: &mut File) -> Result<(), CliError> {
    let mut text = String::new();
    for (path, action) in plan.actions() {
        let path = path.to_string_lossy();
        let line = match action {
            UndoAction::Restore => UndoLine::Restores { path: &path },
            UndoAction::Remove => UndoLine::Removes { path: &path },
            UndoAction::Keep => UndoLine::Keeps { path: &path },
        };
        text.push_str(&app.base.catalogue.line(&line));
        text.push('\n');
    }
    print_text(stdout, &text)
}

/// Refuses to overwrite files that somebody else changed, and lists them on stderr.
fn check_conflicts(app: &AppContext, plan: &UndoPlan, target: UndoTarget) -> Result<(), CliError> {
    let Some(first) = plan.conflicts.first() else { return Ok(()) };
    for path in plan.conflicts.iter().take(MAX_LISTED_CONFLICTS) {
        let line = UndoLine::ChangedSince { path: &path.to_string_lossy() };
        stderr::write_line(&format!("warning: {}", app.base.catalogue.line(&line)));
    }
    let (count, path) = (plan.conflicts.len() as u64, lossy(first));
    Err(match target {
        UndoTarget::LastTurn | UndoTarget::Turn(_) => CliError::FilesChangedSince { count, path },
        UndoTarget::LastUndo => CliError::FilesChangedSinceUndo { count, path },
    })
}

/// States on stderr where the content of files is that a redo has overwritten: no command of this program restores it.
fn report_overwritten(app: &AppContext, repository: &Repository, plan: &UndoPlan, commit: &str) {
    let directory = repository.own_dir().to_string_lossy();
    for path in plan.conflicts.iter().take(MAX_LISTED_CONFLICTS) {
        let line = UndoLine::Overwritten { path: &path.to_string_lossy(), commit, directory: &directory };
        stderr::write_line(&app.base.catalogue.line(&line));
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn print_line(app: &AppContext, line: &UndoLine<'_>, stdout: &mut File) -> Result<(), CliError> {
    write(stdout, &format!("{}\n", app.base.catalogue.line(line)))
}

impl From<CheckpointError> for CliError {
    fn from(error: CheckpointError) -> Self {
        Self::CheckpointFailed { detail: error.to_string() }
    }
}
