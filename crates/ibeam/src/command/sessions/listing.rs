//! `sessions list`, `search` and `rename`.

use std::fs::File;

use ibeam_output::SessionLine;
use ibeam_protocol::{Block, Event, EventKind, Reason, sentence};
use serde_json::json;

use super::super::printing::report;
use super::{find, report_none};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;
use ibeam_agent::app::AppContext;
use ibeam_agent::reports::session_report::{read_events, stored_bytes, stored_sessions, summary_json};
use ibeam_agent::run::session_error_reason;
use ibeam_agent::session_name::short_id;
use ibeam_agent::session_texts::{size_text, title_text, utc_time_text};
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
        let (id, updated) = (short_id(session.id), utc_time_text(session.updated_ms));
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
        let found = read_events(app, session.id, &mut |event| {
            if excerpt.is_none() {
                excerpt = texts(&event).into_iter().find_map(|text| excerpt_around(text, &wanted));
            }
        });
        // The part of a damaged session before the damage was searched.
        drop(found);
        let Some(excerpt) = excerpt.or_else(|| excerpt_around(session.title.as_deref()?, &wanted)) else {
            continue;
        };
        let (id, updated) = (short_id(session.id), utc_time_text(session.updated_ms));
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

pub(super) fn format(json: bool) -> ReportFormat {
    if json { ReportFormat::Json } else { ReportFormat::Text }
}
