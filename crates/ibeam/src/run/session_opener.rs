//! The session of a run: which one it is, and how it is opened, made, forked or only read.
//!
//! A run that keeps no session (`session.ephemeral`) reads what it resumes, and writes nothing.

use std::path::{Path, PathBuf};

use ibeam_config::Dirs;
use ibeam_core::{ResumedState, Stop};
use ibeam_protocol::{Event, EventKind, Failure, Reason, SessionId};
use ibeam_session::{Cancel, Damage, Durability, Options, Session, SessionError};
use ibeam_tools::PastContents;
use tokio::sync::oneshot;

use super::no_thread;
use crate::app::AppContext;

/// Which session the run belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionTarget {
    /// A new one.
    New,
    /// The newest of the workspace.
    Newest,
    /// This one: a UUID, or `-1`, `-2` … for the newest, the one before.
    Named(String),
}

impl SessionTarget {
    /// What the flags say.
    pub(crate) fn from_flags(flags: &crate::cli::Flags) -> Self {
        match (&flags.resume, flags.continue_) {
            (Some(name), _) if name == "-1" => Self::Newest,
            (Some(name), _) => Self::Named(name.clone()),
            (None, true) => Self::Newest,
            (None, false) => Self::New,
        }
    }
}

/// A session that can be opened without the rest of the program.
pub(super) struct SessionOpener {
    dirs: Dirs,
    workspace: PathBuf,
    target: SessionTarget,
    /// The id of a session that is made.
    new_id: SessionId,
    forks: bool,
    /// How the session is kept; `None` for a run that keeps none.
    options: Option<Options>,
    cancel: Cancel,
}

/// The session of a run, and what it held before.
pub(super) struct OpenedSession {
    pub(super) id: SessionId,
    /// `None` for a run that keeps no session.
    pub(super) session: Option<Session>,
    pub(super) past: ResumedState,
    pub(super) past_contents: PastContents,
}

/// What a stored session held before this run.
#[derive(Default)]
struct Stored {
    past: ResumedState,
    past_contents: PastContents,
    /// The workspace it last worked in.
    cwd: Option<PathBuf>,
}

impl Stored {
    fn fold(&mut self, event: Event) {
        self.past.fold(&event);
        self.past_contents.fold(&event);
        if let EventKind::SessionStarted(head) = event.kind {
            self.cwd = Some(head.cwd);
        }
    }
}

impl SessionOpener {
    /// Takes what the flags and the configuration say of the session.
    ///
    /// # Errors
    /// `BadConfig` for a durability that does not exist.
    pub(super) fn new(app: &AppContext, target: &SessionTarget) -> Result<Self, Reason> {
        let cancel = Cancel::default();
        let options = (!is_ephemeral(app)).then(|| session_options(app)).transpose()?;
        Ok(Self {
            dirs: app.dirs.clone(),
            workspace: app.workspace.clone(),
            target: target.clone(),
            new_id: SessionId::random(),
            forks: app.base.flags.fork,
            options: options.map(|options| Options { cancel: cancel.clone(), ..options }),
            cancel,
        })
    }

    /// The id of the session, where it is known before any is looked for.
    pub(super) fn expected_id(&self) -> Option<SessionId> {
        match &self.target {
            SessionTarget::New => Some(self.new_id),
            SessionTarget::Named(name) if !self.forks => name.parse().ok(),
            SessionTarget::Named(_) | SessionTarget::Newest => None,
        }
    }

    /// Whether the run resumes a session that should be there already.
    pub(super) fn is_of_stored(&self) -> bool {
        self.target != SessionTarget::New && !self.forks
    }

    /// Opens the session on a thread of its own. A stop ends the wait for the lease and the reading at once; a disk that
    /// does not answer is not waited for.
    ///
    /// # Errors
    /// The reason of the stop; `System` when no thread can be started; as `open`.
    pub(super) async fn open_unless_stopped(self, stop: &Stop) -> Result<OpenedSession, Failure> {
        let cancel = self.cancel.clone();
        let (sender, opened) = oneshot::channel();
        let work = move || {
            // After a stop nobody receives it.
            let _ = sender.send(self.open());
        };
        std::thread::Builder::new().name("session".to_owned()).spawn(work).map_err(no_thread)?;
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

    /// Opens, makes or forks the session. Without `options` it is only read.
    ///
    /// # Errors
    /// `UnknownSession`, `NoSessionToContinue`, `SessionElsewhere`, `SessionBusy`, `SessionDamaged`, `CannotCreate`,
    /// `Io`.
    pub(super) fn open(self) -> Result<OpenedSession, Failure> {
        let sessions = self.dirs.sessions();
        match self.options {
            Some(_) => self.dirs.create_sessions_dir()?,
            None => self.dirs.check()?,
        }
        let (id, is_stored) = match &self.target {
            SessionTarget::New => (self.new_id, false),
            SessionTarget::Newest => (nth_newest(&sessions, &self.workspace, 1)?, true),
            SessionTarget::Named(name) => self.named(name)?,
        };
        if self.forks && !is_stored {
            return Err(Reason::UnknownSession { session: id.to_string() }.into());
        }
        let failed = |error| Failure::from(reason_of(&error, id));
        let mut stored = Stored::default();
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
                let forked = Session::fork(&sessions, id, run_id, &self.workspace, options, &mut each);
                Some(forked.map_err(failed)?.0)
            }
            (Some(options), true) => {
                Some(Session::open(&sessions, id, options, &mut each).map_err(failed)?.0)
            }
        };
        let Stored { past, past_contents, cwd } = stored;
        if !self.forks
            && let Some(cwd) = cwd.filter(|cwd| self.is_other_workspace(cwd))
        {
            let session = id.to_string();
            return Err(Reason::SessionElsewhere { session, cwd: cwd.display().to_string() }.into());
        }
        Ok(OpenedSession { id: run_id, session, past, past_contents })
    }

    /// The session of that name; a UUID not seen before is claimed.
    fn named(&self, name: &str) -> Result<(SessionId, bool), Failure> {
        let sessions = self.dirs.sessions();
        if let Some(position) = name.strip_prefix('-').and_then(|number| number.parse().ok()) {
            return Ok((nth_newest(&sessions, &self.workspace, position)?, true));
        }
        let unknown = || Reason::UnknownSession { session: name.to_owned() };
        let id: SessionId = name.parse().map_err(|_| unknown())?;
        Ok((id, ibeam_session::exists(&sessions, id)))
    }

    /// Whether the session last worked in another directory that still exists: its files are not meant.
    fn is_other_workspace(&self, cwd: &Path) -> bool {
        let ours = self.workspace.to_string_lossy();
        cwd != self.workspace && cwd != Path::new(&*ours) && cwd.is_dir()
    }
}

/// Reads a stored session and leaves it as it is.
///
/// # Errors
/// As `SessionOpener::open`.
fn read(sessions: &Path, id: SessionId, cancel: &Cancel, each: &mut dyn FnMut(Event)) -> Result<(), Failure> {
    let mut each = |event| {
        cancel.check()?;
        each(event);
        Ok(())
    };
    let recorded = ibeam_session::read::<SessionError>(sessions, id, &mut each);
    match recorded.map_err(|error| reason_of(&error, id))?.damage {
        Some(Damage { path, line, said }) => Err(damaged(id, &path, line, &said).into()),
        None => Ok(()),
    }
}

/// Whether the run keeps no session.
pub(crate) fn is_ephemeral(app: &AppContext) -> bool {
    app.base.config.is_enabled(&["session", "ephemeral"])
}

/// How sessions are kept here.
///
/// # Errors
/// `BadConfig` for a durability that there is not.
pub(crate) fn session_options(app: &AppContext) -> Result<Options, Reason> {
    let durability = match app.base.config.text(&["session", "durability"]) {
        None | Some("default") => Durability::Written,
        Some("strict") => Durability::Synced,
        Some(other) => {
            let detail = format!("`session.durability` should be \"default\" or \"strict\", not {other:?}");
            let origin =
                app.base.config.get(&["session", "durability"]).map(|setting| setting.origin.to_string());
            return Err(Reason::BadConfig {
                path: origin.unwrap_or_default(),
                line: None,
                column: None,
                detail,
            });
        }
    };
    let wait = app.base.config.time(&["timeouts", "lock"]).unwrap_or_default();
    Ok(Options { durability, wait, ..Options::default() })
}

/// The session of `workspace` in that position, 1 for the newest.
///
/// # Errors
/// `NoSessionToContinue` when there is none, `UnknownSession` when there are not so many; `Io`.
pub(crate) fn nth_newest(sessions: &Path, workspace: &Path, position: usize) -> Result<SessionId, Failure> {
    let sessions = ibeam_session::list(sessions, Some(workspace)).map_err(|error| session_io(&error))?;
    let found = position.checked_sub(1).and_then(|index| sessions.get(index));
    let none = || match position {
        1 => Reason::NoSessionToContinue { cwd: workspace.display().to_string() },
        position => Reason::UnknownSession { session: format!("-{position}") },
    };
    Ok(found.ok_or_else(none)?.id)
}

/// What a failure of the store means for a run.
pub(crate) fn reason_of(error: &SessionError, id: SessionId) -> Reason {
    let session = id.to_string();
    match error {
        SessionError::Unknown { .. } => Reason::UnknownSession { session },
        SessionError::Busy { holder, .. } => Reason::SessionBusy { session, holder: holder.clone() },
        SessionError::Leased { holder, path } => {
            Reason::SessionLeased { session, holder: holder.clone(), path: path.display().to_string() }
        }
        SessionError::Damaged { path, line, said } => damaged(id, path, *line, said),
        SessionError::Create { path, source } => {
            Reason::CannotCreate { path: path.display().to_string(), detail: source.to_string() }
        }
        SessionError::Low { .. } | SessionError::Io { .. } | SessionError::Cancelled => session_io(error),
        SessionError::Removed { .. } => unwritten(error),
    }
}

/// Damage, with the file where it is not the first of the journal.
pub(crate) fn damaged(id: SessionId, path: &Path, line: u64, detail: &str) -> Reason {
    let detail = match path.file_name().and_then(|name| name.to_str()) {
        Some("events.jsonl") | None => detail.to_owned(),
        Some(name) => format!("{detail} (in `{name}`)"),
    };
    Reason::SessionDamaged { session: id.to_string(), line, detail }
}

/// What it means for a run that its session cannot be written.
pub(crate) fn unwritten(error: &SessionError) -> Reason {
    match error {
        SessionError::Removed { path } => Reason::SessionRemoved { path: path.display().to_string() },
        error => Reason::Io { what: "session".to_owned(), detail: error.to_string() },
    }
}

/// The same where no session is named.
pub(crate) fn session_io(error: &SessionError) -> Reason {
    Reason::Io { what: "sessions".to_owned(), detail: error.to_string() }
}
