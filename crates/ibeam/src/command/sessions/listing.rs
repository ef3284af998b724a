//! `sessions list`, `show`, `search` and `rename`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use ibeam_output::SessionLine;
use ibeam_protocol::{Block, Event, EventKind, Reason, SessionId, Usage, sentence};
use ibeam_session::{SessionError, SessionSummary};
use serde_json::{Value, json};

use super::super::report;
use super::{find, report_none, time_text};
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::run::{session_error_reason, session_store_reason};
use ibeam_agent::session_name::short_id;
use ibeam_agent::session_texts::{size_text, title_text};
use ibeam_agent::stderr;

/// The number of characters around a match that are printed.
const CONTEXT_CHARACTERS: usize = 40;
/// The maximum length of a title, in characters.
const MAX_TITLE_CHARACTERS: usize = 500;

pub(super) fn list(app: &AppContext, all: bool, json: bool, stdout: &mut File) -> Result<(), CliError> {
    let (mut text, mut rows) = (String::new(), Vec::new());
    let sessions = stored_sessions(app, all)?;
    for session in &sessions {
        let bytes = stored_bytes(app, session.id)?;
        let (id, updated) = (short_id(session.id), time_text(session.updated_ms));
        let (size, title) = (size_text(bytes), title_text(&app.base.catalogue, session));
        let directory = if all { format!("  [{}]", session.cwd.display()) } else { String::new() };
        text.push_str(&format!("{id}  {updated}  {size:>8}  {title}{directory}\n"));
        rows.push(summary_json(session, bytes));
    }
    report(stdout, format(json), &text, &json!(rows))?;
    if sessions.is_empty() && !json {
        report_none(app, all);
    }
    Ok(())
}

pub(super) fn show(app: &AppContext, name: &str, json: bool, stdout: &mut File) -> Result<(), CliError> {
    let id = find(app, name)?;
    let sessions = stored_sessions(app, true)?;
    let unknown = || Reason::UnknownSession { session: name.to_owned() };
    let session = sessions.iter().find(|session| session.id == id).ok_or_else(unknown)?;
    let bytes = stored_bytes(app, id)?;
    let mut totals = Totals::default();
    read(app, id, &mut |event| totals.fold(&event))?;
    let (full_id, title) = (id.to_string(), title_text(&app.base.catalogue, session));
    let (created, updated) = (time_text(session.created_ms), time_text(session.updated_ms));
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
    lines.extend(totals.cost_micros.map(|cost_micros| SessionLine::Cost { cost_micros }));
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
    report(stdout, format(json), &text, &object)
}

pub(super) fn search(
    app: &AppContext,
    words: &str,
    all: bool,
    json: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let wanted = words.to_lowercase();
    let (mut text, mut rows) = (String::new(), Vec::new());
    for session in &stored_sessions(app, all)? {
        let mut excerpt = None;
        let found = read(app, session.id, &mut |event| {
            if excerpt.is_none() {
                excerpt = texts(&event).into_iter().find_map(|text| excerpt_around(text, &wanted));
            }
        });
        // The part of a damaged session before the damage was searched.
        drop(found);
        let Some(excerpt) = excerpt.or_else(|| excerpt_around(session.title.as_deref()?, &wanted)) else {
            continue;
        };
        let (id, updated) = (short_id(session.id), time_text(session.updated_ms));
        text.push_str(&format!(
            "{id}  {updated}  {}\n    {excerpt}\n",
            title_text(&app.base.catalogue, session)
        ));
        rows.push(json!({ "session_id": session.id, "cwd": session.cwd, "title": session.title, "excerpt": excerpt }));
    }
    report(stdout, format(json), &text, &json!(rows))?;
    if rows.is_empty() && !json {
        let line = if all { SessionLine::NoMatch { words } } else { SessionLine::NoMatchHere { words } };
        stderr::write_line(&app.base.catalogue.line(&line));
    }
    Ok(())
}

pub(super) fn rename(app: &AppContext, name: &str, title: &str) -> Result<(), CliError> {
    let id = find(app, name)?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > MAX_TITLE_CHARACTERS {
        let detail = sentence!("the title is longer than {count} characters", count = MAX_TITLE_CHARACTERS);
        return Err(Reason::Usage { detail }.into());
    }
    let title = Some(title.as_str()).filter(|title| !title.is_empty());
    let renamed = ibeam_session::set_title(&app.dirs.sessions(), id, title);
    renamed.map_err(|error| session_error_reason(&error, id))?;
    let sessions = stored_sessions(app, true)?;
    let renamed = sessions.iter().find(|session| session.id == id);
    let title = renamed.map(|session| title_text(&app.base.catalogue, session)).unwrap_or_default();
    let line = SessionLine::Renamed { session: &id.to_string(), title: &title };
    stderr::write_line(&app.base.catalogue.line(&line));
    Ok(())
}

/// Returns the sessions of the workspace without those of sub-agents, or all sessions.
pub(super) fn stored_sessions(app: &AppContext, all: bool) -> Result<Vec<SessionSummary>, Reason> {
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
}

impl Totals {
    fn fold(&mut self, event: &Event) {
        if let EventKind::SessionStarted(_) = event.kind {
            self.runs += 1;
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
fn read(app: &AppContext, id: SessionId, each: &mut dyn FnMut(Event)) -> Result<(), Reason> {
    let read = ibeam_session::read(&app.dirs.sessions(), id, &mut |event| {
        each(event);
        Ok::<_, SessionError>(())
    });
    read.map(drop).map_err(|error| session_error_reason(&error, id))
}

fn stored_bytes(app: &AppContext, id: SessionId) -> Result<u64, Reason> {
    ibeam_session::stored_bytes(&app.dirs.sessions(), id).map_err(|error| session_error_reason(&error, id))
}

/// Returns the prompts and the visible texts of an event.
fn texts(event: &Event) -> Vec<&str> {
    if let EventKind::UserMessage { content, .. } = &event.kind {
        return content.iter().map(String::as_str).collect();
    }
    let EventKind::ModelRequestFinished { answer, .. } = &event.kind else { return Vec::new() };
    let visible = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    visible.collect()
}

/// Returns the text around the first occurrence of `wanted`, which is lower case, on one line.
fn excerpt_around(text: &str, wanted: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let start = lower.get(..lower.find(wanted)?)?.chars().count();
    let first = start.saturating_sub(CONTEXT_CHARACTERS);
    let length = start - first + wanted.chars().count() + CONTEXT_CHARACTERS;
    let excerpt: String = text.chars().skip(first).take(length).collect();
    Some(excerpt.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn summary_json(session: &SessionSummary, bytes: u64) -> Value {
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

fn format(json: bool) -> ReportFormat {
    if json { ReportFormat::Json } else { ReportFormat::Text }
}
