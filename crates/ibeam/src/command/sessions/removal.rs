//! `sessions rm` and `sessions prune`: sessions are removed with their checkpoints, and nothing else is.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use ibeam_output::SessionLine;
use ibeam_protocol::{Failure, Reason, SessionId, sentence};
use ibeam_session::{SessionError, SessionOptions, SessionSummary};
use rustix::termios::isatty;

use super::super::printing::print_text;
use super::find;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::checkpoint::{CheckpointError, Repository};
use ibeam_agent::clock::now_ms;
use ibeam_agent::reports::session_report::stored_sessions;
use ibeam_agent::run::{policy_rules, run_git_command, session_error_reason, session_options};
use ibeam_agent::session_name::short_id;
use ibeam_agent::session_texts::{size_text, title_text, utc_time_text};
use ibeam_agent::stderr;

const MS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// The options of `prune`.
pub(super) struct PruneOptions {
    /// The age of the sessions, in days since the last write.
    pub(super) days: u64,
    pub(super) all: bool,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
}

pub(super) fn remove(
    app: &AppContext,
    names: &[String],
    yes: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut ids = Vec::new();
    for name in names {
        let id = find(app, name)?;
        if !ibeam_session::exists(&app.dirs.sessions(), id) {
            return Err(Reason::UnknownSession { session: name.clone() }.into());
        }
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let known = stored_sessions(app, true)?;
    let find = |id: &SessionId| known.iter().find(|session| session.id == *id);
    let text: String = ids.iter().map(|id| line(app, *id, find(id))).collect();
    if !confirm(app, &text, ids.len(), yes)? {
        return Ok(());
    }
    let directories = ids.iter().filter_map(find).map(|session| session.cwd.clone()).collect();
    // A session that a person named and that stays is an error.
    let kept = remove_all(app, &ids, &directories, stdout)?;
    match kept.into_iter().next() {
        None => Ok(()),
        Some((id, error)) => Err(session_error_reason(&error, id).into()),
    }
}

pub(super) fn prune(app: &AppContext, options: &PruneOptions, stdout: &mut File) -> Result<(), CliError> {
    let oldest = now_ms().saturating_sub(options.days.saturating_mul(MS_PER_DAY));
    let mut sessions = stored_sessions(app, options.all)?;
    sessions.retain(|session| session.updated_ms < oldest);
    if sessions.is_empty() {
        return print_line(app, &SessionLine::NothingToRemove, stdout);
    }
    let text: String = sessions.iter().map(|session| line(app, session.id, Some(session))).collect();
    if options.dry_run {
        return print_text(stdout, &text);
    }
    if !confirm(app, &text, sessions.len(), options.yes)? {
        return Ok(());
    }
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
    let directories = sessions.into_iter().map(|session| session.cwd).collect();
    for (id, error) in remove_all(app, &ids, &directories, stdout)? {
        let holder = match &error {
            SessionError::Busy { holder } | SessionError::Leased { holder, .. } => holder,
            SessionError::Unknown { .. }
            | SessionError::Cancelled
            | SessionError::Damaged { .. }
            | SessionError::Unusable { .. }
            | SessionError::Removed { .. }
            | SessionError::LowDiskSpace { .. }
            | SessionError::Io { .. } => return Err(session_error_reason(&error, id).into()),
        };
        warn(app, &SessionLine::InUse { session: &id.to_string(), holder });
    }
    Ok(())
}

/// Removes sessions and the checkpoints in their workspaces. Returns the sessions that stay, with the reasons.
fn remove_all(
    app: &AppContext,
    ids: &[SessionId],
    directories: &BTreeSet<PathBuf>,
    stdout: &mut File,
) -> Result<Vec<(SessionId, SessionError)>, CliError> {
    let options: SessionOptions = session_options(app)?;
    let mut kept = Vec::new();
    for id in ids {
        match ibeam_session::remove(&app.dirs.sessions(), *id, &options) {
            Ok(()) => print_line(app, &SessionLine::Removed { session: &id.to_string() }, stdout)?,
            // Another process has removed it first.
            Err(SessionError::Unknown { .. }) => {}
            Err(error) => kept.push((*id, error)),
        }
    }
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        if let Err(error) = remove_checkpoints(app, directory)? {
            let (path, detail) = (directory.to_string_lossy(), error.to_string());
            warn(app, &SessionLine::CheckpointsLeft { path: &path, detail: &detail });
        }
    }
    Ok(kept)
}

/// Removes the references of sessions that do not exist any more from the repository of a workspace.
///
/// # Errors
/// The reason of a signal and of a time limit.
fn remove_checkpoints(app: &AppContext, directory: &Path) -> Result<Result<(), CheckpointError>, Failure> {
    let policy = policy_rules::build_policy(app, ibeam_agent::run::permission_mode(app));
    let Ok(path_policy) = policy.map(|policy| policy.path_policy()) else { return Ok(Ok(())) };
    let Some(repository) = Repository::find(directory, &app.dirs, &app.programs, path_policy) else {
        return Ok(Ok(()));
    };
    if !repository.has_references() {
        return Ok(Ok(()));
    }
    run_git_command(app, async { Ok(repository.prune_references().await) })
}

/// Asks a person at the terminal. Without one, `--yes` is required. Returns whether the person agrees.
fn confirm(app: &AppContext, sessions: &str, count: usize, yes: bool) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    let stdin = io::stdin();
    if !isatty(stdin.as_fd()) || !isatty(rustix::stdio::stderr()) {
        let detail = sentence!("removing sessions needs `--yes` where nobody can be asked");
        return Err(Reason::Usage { detail }.into());
    }
    let question = app.base.catalogue.line(&SessionLine::ConfirmRemoval { count: count as u64 });
    stderr::write_line(sessions.trim_end());
    stderr::write(&format!("{question} "));
    let mut answer = String::new();
    let is_read = stdin.lock().read_line(&mut answer).is_ok();
    let is_confirmed = is_read && matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_confirmed {
        stderr::write_line(&app.base.catalogue.sentence(&sentence!("nothing was removed")));
    }
    Ok(is_confirmed)
}

fn line(app: &AppContext, id: SessionId, session: Option<&SessionSummary>) -> String {
    let size = ibeam_session::stored_bytes(&app.dirs.sessions(), id).unwrap_or_default();
    let (id, size) = (short_id(id), size_text(size));
    match session {
        // The header of the session is damaged.
        None => format!("{id}  {size}\n"),
        Some(session) => {
            let (updated, title) =
                (utc_time_text(session.updated_ms), title_text(&app.base.catalogue, session));
            format!("{id}  {updated}  {size:>8}  {title}\n")
        }
    }
}

fn print_line(app: &AppContext, line: &SessionLine<'_>, stdout: &mut File) -> Result<(), CliError> {
    print_text(stdout, &format!("{}\n", app.base.catalogue.line(line)))
}

fn warn(app: &AppContext, line: &SessionLine<'_>) {
    stderr::write_line(&format!("warning: {}", app.base.catalogue.line(line)));
}
