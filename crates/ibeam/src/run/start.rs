//! The head of a run: its session, its model, its limits.

use std::path::Path;
use std::sync::Arc;

use ibeam_core::{Past, Provider};
use ibeam_protocol::{
    Event, EventKind, Failure, Limits, Notice, PermissionMode, Reason, Sandbox, SessionId, SessionStarted,
};
use ibeam_session::{Durability, Options, Session, SessionError};

use super::rule_markers;
use crate::app::App;
use crate::cli::Mode;
use crate::model::Choice;

/// Which session the run belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A new one.
    New,
    /// The newest of the workspace.
    Newest,
    /// This one: a UUID, or `-1`, `-2` … for the newest, the one before.
    Named(String),
}

impl Target {
    /// What the flags say.
    pub(crate) fn of(flags: &crate::cli::Flags) -> Self {
        match (&flags.resume, flags.continue_) {
            (Some(name), _) if name == "-1" => Self::Newest,
            (Some(name), _) => Self::Named(name.clone()),
            (None, true) => Self::Newest,
            (None, false) => Self::New,
        }
    }
}

/// A run about to begin.
pub(super) struct Started {
    pub(super) head: SessionStarted,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) session: Session,
    pub(super) past: Past,
    pub(super) notices: Vec<Notice>,
}

/// Opens or makes the session and connects the model.
pub(super) fn start(app: &App, target: &Target, model: Choice) -> Result<Started, Failure> {
    app.places.prepare()?;
    let directory = app.places.sessions();
    let cwd = &app.workspace;
    let (id, known) = match target {
        Target::New => (SessionId::random(), false),
        Target::Newest => (nth_newest(&directory, cwd, 1)?, true),
        Target::Named(name) => named(app, name)?,
    };
    let options = session_options(app)?;
    let failed = |error| reason_of(&error, id);
    let (mut past, mut last_cwd) = (Past::default(), None);
    let mut take = |event: Event| {
        past.fold(&event);
        if let EventKind::SessionStarted(head) = event.kind {
            last_cwd = Some(head.cwd);
        }
    };
    let (id, session) = match (known, app.flags.fork) {
        (true, false) => {
            let (session, _) = Session::open(&directory, id, &options, &mut take).map_err(failed)?;
            if let Some(cwd) = last_cwd.filter(|cwd| is_other_workspace(app, cwd)) {
                let session = id.to_string();
                return Err(Reason::SessionElsewhere { session, cwd: cwd.display().to_string() }.into());
            }
            (id, session)
        }
        (true, true) => {
            let new = SessionId::random();
            let (session, _) =
                Session::fork(&directory, id, new, cwd, &options, &mut take).map_err(failed)?;
            (new, session)
        }
        (false, false) => (id, Session::create(&directory, id, cwd, &options).map_err(failed)?),
        (false, true) => return Err(Reason::UnknownSession { session: id.to_string() }.into()),
    };
    let mut notices = app.config.notices.clone();
    notices.extend(rule_markers::update(app));
    notices.extend(model.notice());
    let (provider, info, key_source) = model.connect(app)?;
    let head = SessionStarted {
        session_id: id,
        cwd: cwd.clone(),
        model: info,
        key_source,
        permission_mode: permission_mode(app),
        tools: Vec::new(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits {
            max_turns: app
                .config
                .number(&["limits", "max_turns"])
                .and_then(|turns| u32::try_from(turns).ok())
                .unwrap_or(u32::MAX),
            max_tokens: app.config.number(&["limits", "max_tokens"]),
            max_cost_micros: app.config.money(&["limits", "max_cost"]),
            max_tool_calls: app
                .config
                .number(&["limits", "max_tool_calls"])
                .map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)),
            timeout_ms: app
                .config
                .time(&["limits", "timeout"])
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        },
        resumed: !past.is_empty(),
    };
    Ok(Started { head, provider, session, past, notices })
}

/// How sessions are kept here.
///
/// # Errors
/// `BadConfig` for a durability that there is not.
pub(crate) fn session_options(app: &App) -> Result<Options, Reason> {
    let durability = match app.config.text(&["session", "durability"]) {
        None | Some("default") => Durability::Written,
        Some("strict") => Durability::Synced,
        Some(other) => {
            let said = format!("`session.durability` should be \"default\" or \"strict\", not {other:?}");
            let origin = app.config.get(&["session", "durability"]).map(|setting| setting.origin.to_string());
            return Err(Reason::BadConfig {
                path: origin.unwrap_or_default(),
                line: None,
                column: None,
                said,
            });
        }
    };
    let wait = app.config.time(&["timeouts", "lock"]).unwrap_or_default();
    Ok(Options { durability, wait, ..Options::default() })
}

/// The workspace that the session last worked in, when that is there and is not ours: its files are not meant.
fn is_other_workspace(app: &App, cwd: &Path) -> bool {
    let ours = app.workspace.to_string_lossy();
    cwd != app.workspace && cwd != Path::new(&*ours) && cwd.is_dir()
}

/// The mode of the flags; plan and ask beat force.
pub(crate) fn permission_mode(app: &App) -> PermissionMode {
    match (app.flags.mode, app.flags.plan, app.flags.force) {
        (Some(Mode::Plan), _, _) | (_, true, _) => PermissionMode::Plan,
        (Some(Mode::Ask), _, _) => PermissionMode::Ask,
        (Some(Mode::Agent) | None, false, true) => PermissionMode::Force,
        (Some(Mode::Agent) | None, false, false) => PermissionMode::Default,
    }
}

/// The session of that name; a UUID not seen before is claimed.
fn named(app: &App, name: &str) -> Result<(SessionId, bool), Failure> {
    if let Some(position) = name.strip_prefix('-').and_then(|number| number.parse().ok()) {
        return Ok((nth_newest(&app.places.sessions(), &app.workspace, position)?, true));
    }
    let unknown = || Reason::UnknownSession { session: name.to_owned() };
    let id: SessionId = name.parse().map_err(|_| unknown())?;
    Ok((id, ibeam_session::exists(&app.places.sessions(), id)))
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
        SessionError::Damaged { path, line, said } => damaged(id, path, *line, said),
        SessionError::Create { path, source } => {
            Reason::CannotCreate { path: path.display().to_string(), said: source.to_string() }
        }
        SessionError::Low { .. } | SessionError::Io { .. } => session_io(error),
    }
}

/// Damage, with the file where it is not the first of the journal.
pub(crate) fn damaged(id: SessionId, path: &Path, line: u64, said: &str) -> Reason {
    let said = match path.file_name().and_then(|name| name.to_str()) {
        Some("events.jsonl") | None => said.to_owned(),
        Some(name) => format!("{said} (in `{name}`)"),
    };
    Reason::SessionDamaged { session: id.to_string(), line, said }
}

/// The same where no session is named.
pub(crate) fn session_io(error: &SessionError) -> Reason {
    Reason::Io { what: "sessions".to_owned(), said: error.to_string() }
}
