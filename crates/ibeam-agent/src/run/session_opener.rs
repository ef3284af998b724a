//! The session of a run: its selection, and how it is opened, created, forked or only read.
//!
//! An ephemeral run (`session.ephemeral`) reads the session that it resumes, and writes nothing.

use std::path::{Path, PathBuf};

use ibeam_config::{Dirs, Setting};
use ibeam_core::{ResumedState, Stop};
use ibeam_protocol::{Environment, Event, EventKind, Failure, Reason, SessionId};
use ibeam_session::{CancelFlag, Damage, Durability, Session, SessionError, SessionOptions};
use ibeam_tools::PastFileAccess;
use tokio::sync::oneshot;

use super::{thread_error, trajectory_import};
use crate::app::AppContext;
use crate::session_name::find_session;

/// Which session the run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionTarget {
    /// A new session.
    #[default]
    New,
    /// The newest session of the workspace.
    Newest,
    /// A session by its UUID or the beginning of it, or by `-1`, `-2` … for the newest, the second newest, …
    Named(String),
    /// A copy of a session as it was before one of its runs, counted from 1.
    Before { session: String, run: u32 },
}

/// Everything that opening a session needs, so that another thread can do it.
pub(super) struct SessionOpener {
    dirs: Dirs,
    workspace: PathBuf,
    target: SessionTarget,
    /// The id of a session that is created.
    new_id: SessionId,
    forks: bool,
    /// Whether an unknown ID is an error: a person has mistyped it. A program may choose the ID of a new session.
    requires_known_id: bool,
    /// The history that a new session starts with.
    imported: Vec<Event>,
    /// The storage options of the session; `None` for an ephemeral run.
    options: Option<SessionOptions>,
    /// Whether the run continues the last run of the session.
    continues: bool,
    cancel: CancelFlag,
}

/// The session of a run, and its content before the run.
pub(super) struct OpenedSession {
    pub(super) id: SessionId,
    /// `None` for an ephemeral run.
    pub(super) session: Option<Session>,
    pub(super) past: ResumedState,
    pub(super) past_file_access: PastFileAccess,
    /// The session whose sub-agent the session belongs to.
    pub(super) parent: Option<SessionId>,
    /// The environment at the start of the session, if it was in this workspace.
    pub(super) environment: Option<Environment>,
}

/// The content of a stored session before this run.
#[derive(Default)]
struct StoredContent {
    past: ResumedState,
    past_file_access: PastFileAccess,
    /// The workspace of its last run.
    cwd: Option<PathBuf>,
    parent: Option<SessionId>,
    /// The environment at the start of the session.
    environment: Option<Environment>,
}

impl StoredContent {
    fn fold(&mut self, event: Event) {
        self.past.fold(&event);
        self.past_file_access.fold(&event);
        if let EventKind::RunStarted(head) = event.kind {
            self.cwd = Some(head.cwd);
            self.parent = head.parent;
            self.environment = head.environment.or_else(|| self.environment.take());
        }
    }
}

impl SessionOpener {
    /// Returns an opener of the session that `target`, the flags and the configuration describe.
    ///
    /// # Errors
    /// `BadConfig` for an unknown durability; the errors of [`trajectory_import::load`].
    pub(super) fn new(app: &AppContext, target: &SessionTarget) -> Result<Self, Reason> {
        let (cancel, new_id) = (CancelFlag::default(), SessionId::random());
        let options = (!is_ephemeral(app)).then(|| session_options(app)).transpose()?;
        Ok(Self {
            dirs: app.dirs.clone(),
            workspace: app.workspace.clone(),
            target: target.clone(),
            new_id,
            forks: app.base.options.fork || matches!(target, SessionTarget::Before { .. }),
            requires_known_id: !app.base.options.creates_named_session && is_person_present(),
            imported: match target {
                SessionTarget::New => trajectory_import::load(app, new_id)?,
                SessionTarget::Newest | SessionTarget::Named(_) | SessionTarget::Before { .. } => Vec::new(),
            },
            options: options.map(|options| SessionOptions { cancel: cancel.clone(), ..options }),
            continues: app.base.options.unpark,
            cancel,
        })
    }

    /// Returns an opener of the session `id` of a sub-agent, which is created if it does not exist.
    ///
    /// # Errors
    /// `BadConfig` for an unknown durability.
    pub(super) fn for_subagent(app: &AppContext, id: SessionId) -> Result<Self, Reason> {
        let opener = Self::new(app, &SessionTarget::Named(id.to_string()))?;
        Ok(Self { forks: false, requires_known_id: false, continues: false, ..opener })
    }

    /// Returns the id of the session, where it is known before the session is found.
    pub(super) fn expected_id(&self) -> Option<SessionId> {
        match &self.target {
            SessionTarget::New => Some(self.new_id),
            SessionTarget::Named(name) if !self.forks => name.parse().ok(),
            SessionTarget::Named(_) | SessionTarget::Newest | SessionTarget::Before { .. } => None,
        }
    }

    /// Returns what [`Self::open_cancellable`] will return for a new session without content, except for the session on the
    /// disk; `None` for any other one.
    pub(super) fn expected_session(&self) -> Option<OpenedSession> {
        let is_empty = self.target == SessionTarget::New && self.imported.is_empty() && !self.continues;
        is_empty.then(|| OpenedSession {
            id: self.new_id,
            session: None,
            past: ResumedState::default(),
            past_file_access: PastFileAccess::default(),
            parent: None,
            environment: None,
        })
    }

    /// Whether the run resumes a session that should exist already.
    pub(super) fn resumes(&self) -> bool {
        self.target != SessionTarget::New && !self.forks
    }

    /// Opens the session on another thread. A stop ends the wait for the lease and for the disk at once.
    ///
    /// # Errors
    /// The reason of the stop; `System` if no thread can be started; the errors of `open`.
    pub(super) async fn open_cancellable(self, stop: &Stop) -> Result<OpenedSession, Failure> {
        let cancel = self.cancel.clone();
        let (sender, opened) = oneshot::channel();
        let work = move || {
            // After a stop the receiver is gone.
            let _ = sender.send(self.open());
        };
        std::thread::Builder::new().name("session".to_owned()).spawn(work).map_err(thread_error)?;
        tokio::select! {
            biased;
            reason = stop.wait() => {
                cancel.cancel();
                Err(reason.into())
            }
            opened = opened => opened.unwrap_or_else(|_| {
                Err(Reason::Internal { detail: "the session was lost".to_owned() }.into())
            }),
        }
    }

    /// Opens, creates or forks the session. Without `options` it is only read.
    ///
    /// # Errors
    /// `UnknownSession`, `NoSessionToContinue`, `SessionElsewhere`, `SessionBusy`, `SessionDamaged`, `CannotCreate`,
    /// `Io`.
    fn open(self) -> Result<OpenedSession, Failure> {
        let sessions = self.dirs.sessions();
        match self.options {
            Some(_) => self.dirs.create_sessions_dir()?,
            None => self.dirs.check_directories()?,
        }
        let (id, is_stored) = match &self.target {
            SessionTarget::New => (self.new_id, false),
            SessionTarget::Newest => (nth_newest(&sessions, &self.workspace, 1)?, true),
            SessionTarget::Named(name) | SessionTarget::Before { session: name, .. } => {
                self.resolve_name(name)?
            }
        };
        let before_run = match self.target {
            SessionTarget::Before { run, .. } => Some(run),
            SessionTarget::New | SessionTarget::Newest | SessionTarget::Named(_) => None,
        };
        if (self.forks || self.continues) && !is_stored {
            return Err(Reason::UnknownSession { session: id.to_string() }.into());
        }
        let failed = |error| Failure::from(session_error_reason(&error, id));
        let past = if self.continues { ResumedState::for_continuation() } else { ResumedState::default() };
        let mut stored = StoredContent { past, ..StoredContent::default() };
        let mut each = |event| stored.fold(event);
        let run_id = if self.forks { SessionId::random() } else { id };
        let session = match (&self.options, is_stored) {
            (None, false) => None,
            (None, true) => {
                read(&sessions, id, &self.cancel, &mut each)?;
                None
            }
            (Some(options), false) => {
                Some(Session::create(&sessions, id, &self.workspace, options).map_err(failed)?)
            }
            (Some(options), true) if self.forks => {
                let forked =
                    Session::fork(&sessions, id, run_id, &self.workspace, before_run, options, &mut each);
                Some(forked.map_err(failed)?.0)
            }
            (Some(options), true) => {
                Some(Session::open(&sessions, id, options, &mut each).map_err(failed)?.0)
            }
        };
        let mut session = session;
        for event in self.imported.iter().cloned() {
            if let Some(session) = &mut session {
                session.append(&event).map_err(failed)?;
            }
            stored.fold(event);
        }
        let StoredContent { past, past_file_access, cwd, parent, environment } = stored;
        let environment = environment.filter(|_| cwd.as_ref() == Some(&self.workspace));
        if !self.forks
            && let Some(cwd) = cwd.filter(|cwd| is_other_workspace(&self.workspace, cwd))
        {
            let session = id.to_string();
            return Err(Reason::SessionElsewhere { session, cwd: cwd.display().to_string() }.into());
        }
        // A fork is a session of the user.
        let parent = parent.filter(|_| !self.forks);
        Ok(OpenedSession { id: run_id, session, past, past_file_access, parent, environment })
    }

    /// Returns the id of the session `name`, and whether the session exists. An unknown UUID is that of a new session,
    /// unless a person typed it.
    fn resolve_name(&self, name: &str) -> Result<(SessionId, bool), Failure> {
        let sessions = self.dirs.sessions();
        let id = find_session(&sessions, &self.workspace, name)?;
        let exists = ibeam_session::exists(&sessions, id);
        if self.requires_known_id && !exists {
            return Err(Reason::UnknownSession { session: name.to_owned() }.into());
        }
        Ok((id, exists))
    }
}

/// Whether a run in `cwd` was in another directory than `workspace` that still exists. Its files have other contents.
pub fn is_other_workspace(workspace: &Path, cwd: &Path) -> bool {
    let own = workspace.to_string_lossy();
    cwd != workspace && cwd != Path::new(&*own) && cwd.is_dir()
}

/// Whether a person started the run at a terminal.
fn is_person_present() -> bool {
    use rustix::stdio::{stderr, stdin};
    rustix::termios::isatty(stdin()) && rustix::termios::isatty(stderr())
}

/// Reads a stored session without changing it.
///
/// # Errors
/// The errors of `SessionOpener::open`.
pub(super) fn read(
    sessions: &Path,
    id: SessionId,
    cancel: &CancelFlag,
    each: &mut dyn FnMut(Event),
) -> Result<(), Failure> {
    let mut each = |event| {
        cancel.check()?;
        each(event);
        Ok(())
    };
    let recorded = ibeam_session::read::<SessionError>(sessions, id, &mut each);
    match recorded.map_err(|error| session_error_reason(&error, id))?.damage {
        Some(Damage { path, line, detail }) => Err(damaged_session_reason(id, &path, line, &detail).into()),
        None => Ok(()),
    }
}

/// Whether runs store no session.
pub fn is_ephemeral(app: &AppContext) -> bool {
    app.base.settings.session.ephemeral.value
}

/// Returns the configured options of stored sessions.
///
/// # Errors
/// `BadConfig` for an unknown durability.
pub fn session_options(app: &AppContext) -> Result<SessionOptions, Reason> {
    let Setting { value, origin } = &app.base.settings.session.durability;
    let durability = match value.as_str() {
        "default" => Durability::Written,
        "strict" => Durability::Synced,
        other => {
            let detail = format!("`session.durability` should be \"default\" or \"strict\", not {other:?}");
            let (path, detail) = (origin.to_string(), detail.into());
            return Err(Reason::BadConfig { path, line: None, column: None, detail });
        }
    };
    let wait = app.base.settings.timeouts.lock.value;
    Ok(SessionOptions { durability, wait, ..SessionOptions::default() })
}

/// Returns the session of `workspace` at `position`, where 1 is the newest.
///
/// # Errors
/// `NoSessionToContinue` when there is no session, `UnknownSession` when there are fewer than `position`; `Io`.
pub fn nth_newest(sessions: &Path, workspace: &Path, position: usize) -> Result<SessionId, Failure> {
    let sessions =
        ibeam_session::list(sessions, Some(workspace)).map_err(|error| session_store_reason(&error))?;
    // The session of a sub-agent, and one that was never used, are resumed by their id only.
    let mut sessions = sessions.iter().filter(|session| session.parent.is_none() && !session.is_empty());
    let found = position.checked_sub(1).and_then(|index| sessions.nth(index));
    let none = || match position {
        1 => Reason::NoSessionToContinue { cwd: workspace.display().to_string() },
        position => Reason::UnknownSession { session: format!("-{position}") },
    };
    Ok(found.ok_or_else(none)?.id)
}

/// Returns the reason for a run that fails with an error of the session store.
pub fn session_error_reason(error: &SessionError, id: SessionId) -> Reason {
    let session = id.to_string();
    match error {
        SessionError::Unknown { .. } => Reason::UnknownSession { session },
        SessionError::Busy { holder, .. } => Reason::SessionBusy { session, holder: holder.clone() },
        SessionError::Leased { holder, path } => {
            Reason::SessionLeased { session, holder: holder.clone(), path: path.display().to_string() }
        }
        SessionError::Damaged { path, line, detail } => damaged_session_reason(id, path, *line, detail),
        SessionError::Unusable { path, source } => {
            Reason::CannotCreate { path: path.display().to_string(), detail: source.to_string() }
        }
        SessionError::LowDiskSpace { .. } | SessionError::Io { .. } | SessionError::Cancelled => {
            session_store_reason(error)
        }
        SessionError::Removed { .. } => journal_write_reason(error),
    }
}

/// Returns the reason for a damaged session. Names the file unless it is the first one of the journal.
pub fn damaged_session_reason(id: SessionId, path: &Path, line: u64, detail: &str) -> Reason {
    let detail = match path.file_name().and_then(|name| name.to_str()) {
        Some("events.jsonl") | None => detail.to_owned(),
        Some(name) => format!("{detail} (in `{name}`)"),
    };
    Reason::SessionDamaged { session: id.to_string(), line, detail }
}

/// Returns the reason for a run whose journal cannot be written.
pub fn journal_write_reason(error: &SessionError) -> Reason {
    match error {
        SessionError::Removed { path } => Reason::SessionRemoved { path: path.display().to_string() },
        error => Reason::Io { what: "session".to_owned(), detail: error.to_string() },
    }
}

/// Returns the reason for a failure that concerns all sessions.
pub fn session_store_reason(error: &SessionError) -> Reason {
    Reason::Io { what: "sessions".to_owned(), detail: error.to_string() }
}
