//! `ls`: the sessions there are.

use std::fs::File;

use serde_json::json;

use super::report;
use crate::app::AppContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use crate::run::session_io;

/// Characters of a title in a line.
const TITLE: usize = 72;

pub(super) fn ls(
    app: &AppContext,
    all: bool,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let cwd = (!all).then_some(app.workspace.as_path());
    let sessions = ibeam_session::list(&app.dirs.sessions(), cwd).map_err(|error| session_io(&error))?;
    let mut text = String::new();
    for session in &sessions {
        let title: String = session.title.as_deref().unwrap_or("(empty)").chars().take(TITLE).collect();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let updated = time_of(session.updated_ms);
        text.push_str(&format!("{}  {updated}  {title}\n", session.id));
    }
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            json!({
                "session_id": session.id,
                "cwd": session.cwd,
                "created_ms": session.created_ms,
                "updated_ms": session.updated_ms,
                "title": session.title,
            })
        })
        .collect();
    report(stdout, format, &text, &json!(rows))
}

fn time_of(ms: u64) -> String {
    let at =
        i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
