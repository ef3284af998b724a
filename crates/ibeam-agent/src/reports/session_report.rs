//! `sessions show`: what a stored session has used and changed.

use std::collections::BTreeSet;
use std::path::Path;

use ibeam_output::SessionLine;
use ibeam_protocol::{Event, EventKind, Reason, SessionId, Usage};
use ibeam_session::{SessionError, SessionSummary};
use serde_json::{Value, json};

use super::Report;
use crate::app::AppContext;
use crate::run::{session_error_reason, session_store_reason};
use crate::session_texts::{size_text, title_text, utc_time_text};

/// Returns the totals of a stored session: its runs, tokens, costs and changed files.
///
/// # Errors
/// `UnknownSession`; the reason why the session cannot be read.
pub fn session_report(app: &AppContext, id: SessionId) -> Result<Report, Reason> {
    let sessions = stored_sessions(app, true)?;
    let unknown = || Reason::UnknownSession { session: id.to_string() };
    let session = sessions.iter().find(|session| session.id == id).ok_or_else(unknown)?;
    let bytes = stored_bytes(app, id)?;
    let mut totals = Totals::default();
    read_events(app, id, &mut |event| totals.fold(&event))?;
    let (full_id, title) = (id.to_string(), title_text(&app.base.catalogue, session));
    let (created, updated) = (utc_time_text(session.created_ms), utc_time_text(session.updated_ms));
    let (path, size) = (session.cwd.to_string_lossy(), size_text(bytes));
    let Totals { runs, requests, calls, .. } = totals;
    let mut lines = vec![
        SessionLine::Title { session: &full_id, title: &title },
        SessionLine::Directory { path: &path },
        SessionLine::Times { created: &created, updated: &updated },
        SessionLine::Stored { size: &size },
        SessionLine::Runs { count: runs, requests, calls },
        SessionLine::Tokens { read: totals.read_tokens(), written: totals.usage.output },
    ];
    let models = totals.models.iter().map(|model| format!("`{model}`")).collect::<Vec<_>>().join(", ");
    lines.extend(match totals.cost_micros {
        Some(cost_micros) => Some(SessionLine::Cost { cost_micros }),
        None => (requests > 0).then_some(SessionLine::NoPrice { models: &models }),
    });
    lines.push(SessionLine::ChangedFiles { count: totals.files.len() as u64 });
    let text: String = lines.iter().map(|line| app.base.catalogue.line(line) + "\n").collect();
    let mut object = summary_json(session, bytes);
    if let Some(object) = object.as_object_mut() {
        object.insert("runs".to_owned(), runs.into());
        object.insert("turns".to_owned(), requests.into());
        object.insert("tool_calls".to_owned(), calls.into());
        object.insert("tokens_read".to_owned(), totals.read_tokens().into());
        object.insert("tokens_written".to_owned(), totals.usage.output.into());
        object.insert("cost_micros".to_owned(), json!(totals.cost_micros));
        object.insert("files_changed".to_owned(), json!(totals.files));
    }
    Ok(Report { text, json: object, warnings: Vec::new() })
}

/// Returns the sessions of the workspace without those of sub-agents, or all sessions.
pub fn stored_sessions(app: &AppContext, all: bool) -> Result<Vec<SessionSummary>, Reason> {
    let cwd = (!all).then_some(app.workspace.as_path());
    let mut sessions =
        ibeam_session::list(&app.dirs.sessions(), cwd).map_err(|error| session_store_reason(&error))?;
    sessions.retain(|session| all || session.parent.is_none());
    Ok(sessions)
}

/// The totals of all runs of a session.
#[derive(Default)]
struct Totals {
    runs: u64,
    requests: u64,
    calls: u64,
    usage: Usage,
    cost_micros: Option<u64>,
    files: BTreeSet<String>,
    models: BTreeSet<String>,
}

impl Totals {
    fn fold(&mut self, event: &Event) {
        if let EventKind::RunStarted(head) = &event.kind {
            self.runs += 1;
            self.models.insert(format!("{}/{}", head.model.provider, head.model.id));
        }
        let EventKind::RunFinished(run) = &event.kind else { return };
        let totals = &run.totals;
        self.requests += u64::from(totals.turns);
        self.calls += u64::from(totals.tool_calls);
        self.usage = self.usage.plus(totals.usage.unwrap_or_default());
        if let Some(cost) = totals.cost_micros {
            self.cost_micros = Some(self.cost_micros.unwrap_or_default() + cost);
        }
        self.files.extend(totals.files_changed.iter().map(|path| lossy(path)));
    }

    fn read_tokens(&self) -> u64 {
        self.usage.input + self.usage.cache_read + self.usage.cache_write
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Passes the events of a session until the end or the first damage.
pub fn read_events(app: &AppContext, id: SessionId, each: &mut dyn FnMut(Event)) -> Result<(), Reason> {
    let read = ibeam_session::read(&app.dirs.sessions(), id, &mut |event| {
        each(event);
        Ok::<_, SessionError>(())
    });
    read.map(drop).map_err(|error| session_error_reason(&error, id))
}

/// Returns the bytes of a session on disk.
pub fn stored_bytes(app: &AppContext, id: SessionId) -> Result<u64, Reason> {
    ibeam_session::stored_bytes(&app.dirs.sessions(), id).map_err(|error| session_error_reason(&error, id))
}

/// Returns the value of a session in lists for programs.
pub fn summary_json(session: &SessionSummary, bytes: u64) -> Value {
    json!({
        "session_id": session.id,
        "cwd": session.cwd,
        "created_ms": session.created_ms,
        "updated_ms": session.updated_ms,
        "title": session.title,
        "parent": session.parent,
        "bytes": bytes,
    })
}
