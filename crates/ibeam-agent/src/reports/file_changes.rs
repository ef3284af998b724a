//! `undo` and `diff`: what a session changed in the files of its workspace.
//!
//! Both read the checkpoints from the journal. `undo` holds the lease of the session, so no run changes files meanwhile, and
//! records the state before and after itself.

use std::io::{self, Write};
use std::path::Path;

use ibeam_output::{Catalogue, Explanation, UndoLine, escape_invisible};
use ibeam_protocol::{Checkpoint, Event, EventKind, Failure, FailureCode, Reason, SessionId};
use ibeam_session::{Damage, ReadReport, Session, SessionError};
use serde::Serialize;

use crate::app::AppContext;
use crate::checkpoint::{CheckpointError, Repository, SessionChanges, UndoAction, UndoPlan, UndoTarget};
use crate::clock::now_ms;
use crate::run::{
    damaged_session_reason, journal_write_reason, permission_mode, policy_rules, session_error_reason,
    session_options,
};
use crate::run_error::RunError;
use crate::stdout;

/// The largest number of conflicts that are listed.
const MAX_LISTED_CONFLICTS: usize = 20;

/// An error of `undo` and `diff`. The message id of a variant is `cli-` and the tag of the variant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangesError {
    #[serde(skip)]
    Run(RunError),
    /// A session has no checkpoint that an undo could restore.
    NothingToUndo { session: String },
    /// A session has no undo that is not taken back.
    NothingToRedo { session: String },
    /// Every turn of a session that changed files is undone.
    AlreadyUndone { session: String },
    /// The session of an undo is held by another process.
    SessionHeld { session: String, holder: String },
    /// A session changed files, but has no checkpoint to compare with.
    NoCheckpoints { session: String },
    /// `--to` or `--turn` names a turn that does not exist.
    UnknownTurn { session: String, turn: u32, turns: u32 },
    /// The workspace of a session is in no repository that can be used.
    NoRepository { path: String },
    /// Somebody else changed files that an undo would overwrite.
    FilesChangedSince { count: u64, path: String },
    /// Somebody else changed files that a redo would overwrite.
    FilesChangedSinceUndo { count: u64, path: String },
    /// Files could not be compared or restored.
    CheckpointFailed { detail: String },
}

impl ChangesError {
    /// Returns the class of the failure, which has the exit code.
    pub fn code(&self) -> FailureCode {
        match self {
            Self::Run(failed) => failed.failure.reason.code(),
            Self::NothingToUndo { .. }
            | Self::NothingToRedo { .. }
            | Self::AlreadyUndone { .. }
            | Self::NoCheckpoints { .. }
            | Self::UnknownTurn { .. }
            | Self::NoRepository { .. } => FailureCode::NoInput,
            Self::FilesChangedSince { .. } | Self::FilesChangedSinceUndo { .. } => FailureCode::Failed,
            Self::SessionHeld { .. } => FailureCode::Busy,
            Self::CheckpointFailed { .. } => FailureCode::Io,
        }
    }

    /// Returns the sentence and the hints for people.
    pub fn explain(&self, catalogue: &Catalogue) -> Explanation {
        if let Self::Run(failed) = self { failed.explained(catalogue) } else { catalogue.cli_error(self) }
    }
}

impl From<Failure> for ChangesError {
    fn from(failure: Failure) -> Self {
        Self::Run(failure.into())
    }
}

impl From<Reason> for ChangesError {
    fn from(reason: Reason) -> Self {
        Self::Run(reason.into())
    }
}

impl From<CheckpointError> for ChangesError {
    fn from(error: CheckpointError) -> Self {
        Self::CheckpointFailed { detail: error.to_string() }
    }
}

/// The parameters of an undo.
#[derive(Clone, Copy, Debug)]
pub struct UndoOptions<'a> {
    pub target: UndoTarget,
    /// List what would be restored, and change nothing.
    pub dry_run: bool,
    /// Overwrite files that somebody else changed.
    pub force: bool,
    /// The command that the output names for taking this undo back; `ibeam undo` if it is `None`.
    pub redo_command: Option<&'a str>,
}

/// The output of an undo while it works.
pub struct UndoOutput<'a> {
    pub out: &'a mut dyn Write,
    /// Receives each line of a warning.
    pub warn: &'a mut dyn FnMut(&str),
}

/// Restores the files of a session, as `options` describe.
///
/// # Errors
/// The reason why nothing was restored, or not all.
pub async fn undo(
    app: &AppContext,
    id: SessionId,
    options: UndoOptions<'_>,
    output: &mut UndoOutput<'_>,
) -> Result<(), ChangesError> {
    let UndoOptions { target, dry_run, force, redo_command } = options;
    let catalogue = &app.base.catalogue;
    let failed = |error: SessionError| match error {
        SessionError::Busy { holder, .. } => ChangesError::SessionHeld { session: id.to_string(), holder },
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
            UndoTarget::LastTurn if has_undo => ChangesError::AlreadyUndone { session },
            UndoTarget::LastTurn | UndoTarget::Turn(_) => ChangesError::NothingToUndo { session },
            UndoTarget::LastUndo => ChangesError::NothingToRedo { session },
        }
    };
    let (first, turn) = changes.resolve(target).ok_or_else(nothing)?;
    // What was interrupted is recorded as done, even if it had restored all files.
    let is_interrupted = changes.is_interrupted();
    let plan = repository.plan_undo(&changes, first).await?;
    let may_overwrite = force || plan.changes_nothing();
    if !dry_run && !may_overwrite {
        check_conflicts(catalogue, &plan, target, output)?;
    }
    show(catalogue, &plan, output)?;
    if plan.changes_nothing() && (dry_run || !is_interrupted) {
        return print_line(catalogue, &UndoLine::Unchanged, output);
    }
    if dry_run {
        return if may_overwrite { Ok(()) } else { check_conflicts(catalogue, &plan, target, output) };
    }
    let mut record = |checkpoint: Checkpoint| {
        let kind = EventKind::CheckpointTaken(checkpoint);
        let event = Event { seq: changes.next_seq, at_ms: now_ms(), kind };
        changes.next_seq += 1;
        let written = session.append(&event).and_then(|()| session.flush());
        written.map_err(|error| ChangesError::from(journal_write_reason(&error)))
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
        Some(_) => print_line(catalogue, &UndoLine::Done { count, command: &command }, output),
        None => {
            report_overwritten(catalogue, &repository, &plan, &commit, output);
            print_line(catalogue, &UndoLine::Redone { count }, output)
        }
    }
}

/// Returns the changes of a session in the form of `git diff`, which may contain any bytes: of one turn, or of all until
/// now. With `stat`, only the number of lines in each file.
///
/// # Errors
/// The reason why the changes are not known.
pub async fn diff(
    app: &AppContext,
    id: SessionId,
    stat: bool,
    turn: Option<u32>,
) -> Result<Vec<u8>, ChangesError> {
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
            check_turn(&changes, id, turn)?;
            match changes.find_turn(turn) {
                Some(index) => Some(index),
                None => return Ok(Vec::new()),
            }
        }
    };
    if changes.is_empty() {
        let no_checkpoints = ChangesError::NoCheckpoints { session: id.to_string() };
        return if changes.has_changed_files { Err(no_checkpoints) } else { Ok(Vec::new()) };
    }
    let repository = find_repository(app, &changes, id)?;
    Ok(repository.diff(&changes, only, stat).await?)
}

/// Returns the repository of the session's workspace, which must be that of the command.
///
/// # Errors
/// `SessionElsewhere`, `NoRepository`; the errors of the rules.
fn find_repository(
    app: &AppContext,
    changes: &SessionChanges,
    id: SessionId,
) -> Result<Repository, ChangesError> {
    if changes.cwd != app.workspace && !changes.cwd.as_os_str().is_empty() {
        let cwd = changes.cwd.display().to_string();
        return Err(Reason::SessionElsewhere { session: id.to_string(), cwd }.into());
    }
    let path_policy = policy_rules::build_policy(app, permission_mode(app))?.path_policy();
    let no_repository = || ChangesError::NoRepository { path: app.workspace.display().to_string() };
    Repository::find(&app.workspace, &app.dirs, &app.programs, path_policy).ok_or_else(no_repository)
}

fn check_turn(changes: &SessionChanges, id: SessionId, turn: u32) -> Result<(), ChangesError> {
    match changes.turns {
        turns if turn > turns => Err(ChangesError::UnknownTurn { session: id.to_string(), turn, turns }),
        _ => Ok(()),
    }
}

/// Lists what the undo changes.
fn show(catalogue: &Catalogue, plan: &UndoPlan, output: &mut UndoOutput<'_>) -> Result<(), ChangesError> {
    let mut text = String::new();
    for (path, action) in plan.actions() {
        let path = path.to_string_lossy();
        let line = match action {
            UndoAction::Restore => UndoLine::Restores { path: &path },
            UndoAction::Remove => UndoLine::Removes { path: &path },
            UndoAction::Keep => UndoLine::Keeps { path: &path },
        };
        text.push_str(&catalogue.line(&line));
        text.push('\n');
    }
    write(output, &escape_invisible(&text))
}

/// Refuses to overwrite files that somebody else changed, and warns about each.
fn check_conflicts(
    catalogue: &Catalogue,
    plan: &UndoPlan,
    target: UndoTarget,
    output: &mut UndoOutput<'_>,
) -> Result<(), ChangesError> {
    let Some(first) = plan.conflicts.first() else { return Ok(()) };
    for path in plan.conflicts.iter().take(MAX_LISTED_CONFLICTS) {
        let line = UndoLine::ChangedSince { path: &path.to_string_lossy() };
        (output.warn)(&format!("warning: {}", catalogue.line(&line)));
    }
    let (count, path) = (plan.conflicts.len() as u64, lossy(first));
    Err(match target {
        UndoTarget::LastTurn | UndoTarget::Turn(_) => ChangesError::FilesChangedSince { count, path },
        UndoTarget::LastUndo => ChangesError::FilesChangedSinceUndo { count, path },
    })
}

/// Warns where the content of files is that a redo has overwritten: no command of this program restores it.
fn report_overwritten(
    catalogue: &Catalogue,
    repository: &Repository,
    plan: &UndoPlan,
    commit: &str,
    output: &mut UndoOutput<'_>,
) {
    let directory = repository.own_dir().to_string_lossy();
    for path in plan.conflicts.iter().take(MAX_LISTED_CONFLICTS) {
        let line = UndoLine::Overwritten { path: &path.to_string_lossy(), commit, directory: &directory };
        (output.warn)(&catalogue.line(&line));
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn print_line(
    catalogue: &Catalogue,
    line: &UndoLine<'_>,
    output: &mut UndoOutput<'_>,
) -> Result<(), ChangesError> {
    write(output, &format!("{}\n", catalogue.line(line)))
}

fn write(output: &mut UndoOutput<'_>, text: &str) -> Result<(), ChangesError> {
    output.out.write_all(text.as_bytes()).map_err(|error: io::Error| stdout::write_reason(&error).into())
}
