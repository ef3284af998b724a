//! `--from-atif`: a trajectory of any agent becomes the history of a new session.
//!
//! The history is recorded as a run that has ended, so that the session can be resumed, replayed and exported like any
//! other. Nothing of the trajectory is executed.

use std::fs;

use ibeam_protocol::{
    Event, EventKind, KeySource, Limits, ModelInfo, PermissionMode, Reason, RunFinished, RunOutcome,
    RunStarted, RunTotals, Sandbox, SessionId,
};
use ibeam_trace::AtifHistory;

use crate::app::AppContext;
use crate::clock::now_ms;

/// Returns the events of the trajectory that the flags name, as those of the session `id`; none without the flag.
///
/// # Errors
/// `NoInput`, `InvalidTrajectory`.
pub(super) fn load(app: &AppContext, id: SessionId) -> Result<Vec<Event>, Reason> {
    let Some(path) = &app.base.options.from_atif else { return Ok(Vec::new()) };
    let name = || path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Reason::NoInput { path: name(), detail: error.to_string() })?;
    let history = AtifHistory::parse(&text)
        .map_err(|error| Reason::InvalidTrajectory { path: name(), detail: error.to_string() })?;
    let at_ms = now_ms();
    let head = RunStarted {
        session_id: id,
        cwd: app.workspace.clone(),
        model: ModelInfo { provider: String::new(), id: history.model.clone(), display: history.model },
        key_source: KeySource::None,
        permission_mode: PermissionMode::Ask,
        tools: Vec::new(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: history.agent,
        limits: Limits::NONE,
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        ephemeral: false,
        parent: None,
        environment: None,
    };
    let end = RunFinished {
        session_id: id,
        outcome: RunOutcome::Completed,
        duration_ms: 0,
        totals: RunTotals::default(),
        partial: None,
        structured: None,
        ephemeral: false,
    };
    let kinds = std::iter::once(EventKind::RunStarted(Box::new(head)))
        .chain(history.events)
        .chain(std::iter::once(EventKind::RunFinished(Box::new(end))));
    Ok((0..).zip(kinds).map(|(seq, kind)| Event { seq, at_ms, kind }).collect())
}
