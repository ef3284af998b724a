//! One run for a client, on the thread that calls [`run`].

use std::future::pending;
use std::sync::Arc;

use ibeam_core::{Approver, NoApprover, Stop};
use ibeam_mcp_server::{Progress, ToolResult};
use ibeam_output::{Catalogue, error_object};
use ibeam_protocol::{Reason, UserPrompt};
use serde_json::Value;

use super::run_progress::{RunObject, RunWriter};
use super::run_request::{AcceptedRun, RunArguments, ServerSettings};
use ibeam_agent::model;
use ibeam_agent::prompt::Prompt;
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::on_runtime;
use ibeam_agent::run::run_process::{RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run_error::RunError;

/// The front end of a run for a client. Nobody is there to approve calls, as in print mode.
struct ServedFrontEnd;

impl FrontEnd for ServedFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(NoApprover)
    }
}

/// Runs a prompt until it ends or `stop` is requested.
pub(super) fn run(
    settings: &ServerSettings,
    arguments: &RunArguments,
    stop: &Stop,
    progress: &Progress,
) -> ToolResult {
    let object = RunObject::default();
    let outcome = arguments
        .accept(settings)
        .map_err(RunError::from)
        .and_then(|accepted| run_prompt(&accepted, &arguments.prompt, stop, progress, &object));
    match outcome {
        Ok(()) => success(object.parse()),
        Err(failed) => failure(&settings.catalogue, &failed),
    }
}

/// # Errors
/// The failure of the run, or the reason why it did not start.
fn run_prompt(
    accepted: &AcceptedRun,
    prompt: &str,
    stop: &Stop,
    progress: &Progress,
    object: &RunObject,
) -> Result<(), RunError> {
    let AcceptedRun { app, target } = accepted;
    on_runtime(|runtime| {
        let (object, progress) = (object.clone(), progress.clone());
        let new_writer = move || Box::new(RunWriter::new(object.clone(), progress.clone())) as _;
        let process =
            RunProcess::for_connection(runtime, app, RunKind::Served, stop.clone(), Box::new(new_writer));
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn(app)?;
        let no_prompt = Prompt { blocks: Vec::new(), notice: None };
        let mut session = RunSession::open(process, target, model, sandbox, &no_prompt, &ServedFrontEnd)?;
        let prompt = UserPrompt { texts: vec![prompt.to_owned()], ..UserPrompt::default() };
        let outcome = session.run_prompt(prompt, Some(stop.clone()), pending());
        session.close(outcome)
    })
}

/// Returns the result of a completed run.
fn success(object: Option<Value>) -> ToolResult {
    let text = |pointer| object.as_ref()?.pointer(pointer)?.as_str().map(str::to_owned);
    let answer = text("/ibeam/final").or_else(|| text("/result")).unwrap_or_default();
    let session = text("/session_id").map(|id| format!("session_id: {id}"));
    ToolResult {
        texts: std::iter::once(answer).chain(session).collect(),
        structured: object,
        is_error: false,
    }
}

/// Returns the result of a run that failed or did not start.
pub(super) fn failure(catalogue: &Catalogue, failed: &RunError) -> ToolResult {
    let session = failed.run.as_ref().map(|run| format!("session_id: {}", run.session_id));
    let message = failed.explained(catalogue).to_string();
    let structured = serde_json::from_str(&error_object(&failed.failure, failed.run.as_deref())).ok();
    ToolResult { texts: std::iter::once(message).chain(session).collect(), structured, is_error: true }
}

/// Returns the result of a call that failed for `reason`.
pub(super) fn refusal(catalogue: &Catalogue, reason: Reason) -> ToolResult {
    failure(catalogue, &reason.into())
}
