//! The calls and resources of the server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, join_all, ready};
use ibeam_core::Stop;
use ibeam_mcp_server::{
    Progress, ResourceContent, ResourceError, ResourcePage, ResourceTemplate, Service, Tool, ToolResult,
};
use ibeam_protocol::{Reason, Signal};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::run_request::{RunArguments, ServerSettings};
use super::served_run;
use super::served_sessions::{MAX_RESULT_BYTES, ServedSessions, TRANSCRIPT_TYPE};
use super::tool_list::{self, INSTRUCTIONS, LIST_SESSIONS, MAX_LISTED, RUN, SHOW_SESSION};
use ibeam_agent::run::system_error;

/// Maximum number of runs at once.
const MAX_RUNS: usize = 8;
/// The number of sessions that `list_sessions` returns by default.
const DEFAULT_LISTED: usize = 20;

/// Runs tasks and shows sessions.
pub(super) struct AgentService {
    settings: Arc<ServerSettings>,
    sessions: ServedSessions,
    tools: Vec<Tool>,
    templates: Vec<ResourceTemplate>,
    runs: Mutex<Vec<OpenRun>>,
}

/// A run that has not ended.
struct OpenRun {
    stop: Stop,
    /// Completes when the thread has ended.
    ended: oneshot::Receiver<()>,
}

/// Cancels the run when the client cancels its call.
struct CancelOnDrop(Stop);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.request(Reason::Signalled(Signal::Int));
    }
}

impl AgentService {
    pub(super) fn new(settings: ServerSettings) -> Self {
        Self {
            sessions: ServedSessions::new(&settings),
            settings: Arc::new(settings),
            tools: tool_list::tools(),
            templates: tool_list::resource_templates(),
            runs: Mutex::default(),
        }
    }

    /// Ends all runs for `reason`, within `budget`.
    pub(super) async fn end_runs(&self, reason: &Reason, budget: Duration) {
        let runs = std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner));
        runs.iter().for_each(|run| run.stop.request(reason.clone()));
        let ends = runs.into_iter().map(|run| run.ended);
        drop(tokio::time::timeout(budget, join_all(ends)).await);
    }

    /// Starts the thread of a run.
    fn start_run(
        &self,
        arguments: Map<String, Value>,
        progress: Progress,
    ) -> Result<BoxFuture<'static, ToolResult>, Reason> {
        let arguments = RunArguments::parse(arguments)?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain_mut(|run| matches!(run.ended.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        if runs.len() >= MAX_RUNS {
            let detail = format!("{MAX_RUNS} runs are running already; wait until one of them has ended");
            return Err(Reason::Usage { detail: detail.into() });
        }
        let (stop, (ending, ended), (sender, result)) =
            (Stop::default(), oneshot::channel(), oneshot::channel());
        let (settings, run_stop) = (Arc::clone(&self.settings), stop.clone());
        let thread = thread::Builder::new().name("run".to_owned());
        thread
            .spawn(move || {
                // The receiver is gone after a cancellation.
                let _ = sender.send(served_run::run(&settings, &arguments, &run_stop, &progress));
                drop(ending);
            })
            .map_err(|error| system_error("thread", &error))?;
        let cancel = CancelOnDrop(stop.clone());
        runs.push(OpenRun { stop, ended });
        let catalogue = Arc::clone(&self.settings.catalogue);
        Ok(async move {
            let result = result.await;
            drop(cancel);
            result.unwrap_or_else(|_| {
                served_run::refusal(&catalogue, Reason::Internal { detail: "the run was lost".to_owned() })
            })
        }
        .boxed())
    }

    /// Reads sessions on a thread for blocking work.
    fn read<T: Send + 'static>(
        &self,
        lost: impl FnOnce() -> T + Send + 'static,
        read: impl FnOnce(&ServedSessions) -> T + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let sessions = self.sessions.clone();
        let task = tokio::task::spawn_blocking(move || read(&sessions));
        async move { task.await.unwrap_or_else(|_| lost()) }.boxed()
    }

    /// Calls a tool that reads sessions.
    fn read_result(
        &self,
        read: impl FnOnce(&ServedSessions) -> Result<ToolResult, Reason> + Send + 'static,
    ) -> BoxFuture<'static, ToolResult> {
        let catalogue = Arc::clone(&self.settings.catalogue);
        let lost = || Err(Reason::Internal { detail: "the call was lost".to_owned() });
        self.read(lost, read)
            .map(move |result| result.unwrap_or_else(|reason| refusal_without_object(&catalogue, &reason)))
            .boxed()
    }
}

/// Returns the result of a failed call of a tool whose results are not those of runs.
fn refusal_without_object(catalogue: &ibeam_output::Catalogue, reason: &Reason) -> ToolResult {
    ToolResult { texts: vec![catalogue.reason(reason).to_string()], structured: None, is_error: true }
}

impl Service for AgentService {
    fn instructions(&self) -> &str {
        INSTRUCTIONS
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: Progress,
    ) -> BoxFuture<'static, ToolResult> {
        match tool {
            RUN => self.start_run(arguments, progress).unwrap_or_else(|reason| {
                ready(served_run::refusal(&self.settings.catalogue, reason)).boxed()
            }),
            LIST_SESSIONS => self.read_result(move |sessions| {
                let ListArguments { workspace, limit } = parse(LIST_SESSIONS, arguments)?;
                let limit = limit.unwrap_or(DEFAULT_LISTED).clamp(1, MAX_LISTED);
                let found = sessions.newest(workspace.as_deref(), limit)?;
                let lines: Vec<String> = found.iter().map(Value::to_string).collect();
                let structured = Some(json!({ "sessions": found }));
                Ok(ToolResult { texts: vec![lines.join("\n")], structured, is_error: false })
            }),
            SHOW_SESSION => self.read_result(move |sessions| {
                let ShowArguments { session_id } = parse(SHOW_SESSION, arguments)?;
                let session = sessions.find(&session_id)?;
                let transcript = sessions.transcript(session.id, MAX_RESULT_BYTES)?;
                Ok(ToolResult { texts: vec![transcript], structured: None, is_error: false })
            }),
            other => {
                let reason = Reason::Internal { detail: format!("there is no tool `{other}`") };
                ready(refusal_without_object(&self.settings.catalogue, &reason)).boxed()
            }
        }
    }

    fn resource_templates(&self) -> &[ResourceTemplate] {
        &self.templates
    }

    fn list_resources(
        &self,
        cursor: Option<String>,
    ) -> BoxFuture<'static, Result<ResourcePage, ResourceError>> {
        let lost = || Err(ResourceError::Failed("the request was lost".to_owned()));
        self.read(lost, move |sessions| sessions.resources(cursor.as_deref()))
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'static, Result<ResourceContent, ResourceError>> {
        let uri = uri.to_owned();
        let lost = || Err(ResourceError::Failed("the request was lost".to_owned()));
        self.read(lost, move |sessions| {
            Ok(ResourceContent { mime_type: TRANSCRIPT_TYPE, text: sessions.read(&uri)? })
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    workspace: Option<PathBuf>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShowArguments {
    session_id: String,
}

/// Returns the parsed arguments of a call.
fn parse<T: for<'de> Deserialize<'de>>(tool: &str, arguments: Map<String, Value>) -> Result<T, Reason> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| Reason::Usage {
        detail: format!("the arguments of `{tool}` are not valid: {error}").into(),
    })
}
