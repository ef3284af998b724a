//! Converts the events of a stream to events of the journal, for the writers of other formats.
//!
//! Some content is lost: a stream does not contain whether `write` replaced a file, nor retries and notices.

use ibeam_protocol::run::Denial;
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{
    Attachment, BackgroundEnd, ClassCosts, EventKind, KeySource, Limits, ModelFallback, ModelInfo,
    ModelTotals, Notice, PermissionMode, Reason, RunFinished, RunOutcome, RunStarted, RunTotals, Sandbox,
    SessionId, ToolCall, ToolFailure, ToolOutcome, ToolOutput, Usage,
};
use ibeam_wire::tool::{self, CallArm, Tool};
use ibeam_wire::{
    AttachmentEntry, BackgroundEndEntry, CallPhase, ErrorEvent, Event, FallbackEntry, InitEvent, Message,
    ModelUsage, NewText, ResultEvent, RunSummary, ToolCallBody,
};
use serde_json::{Value, json};

/// Returns the time of an event in milliseconds since the Unix epoch; `None` if the event has none.
pub(super) fn time_of(event: &Event) -> Option<u64> {
    match event {
        Event::Assistant(delta) => delta.timestamp_ms,
        Event::ToolCall(call) => call.timestamp_ms,
        Event::ModelFallback(event) => Some(event.timestamp_ms),
        _ => None,
    }
}

/// Converts an event; `None` for an event outside of the contracts, and for text that was already converted.
///
/// # Errors
/// A message that describes what is wrong with the event.
pub(super) fn to_event(event: Event, new_text: &mut NewText) -> Result<Option<EventKind>, String> {
    Ok(Some(match event {
        Event::Init(init) => EventKind::RunStarted(Box::new(run_started(*init)?)),
        Event::User(user) => {
            let entries = user.ibeam.map(|ibeam| ibeam.attachments).unwrap_or_default();
            let attachment =
                |entry: AttachmentEntry| Attachment::without_content(entry.name, &entry.media_type);
            EventKind::UserMessage {
                content: message_texts(user.message),
                attachments: entries.into_iter().map(attachment).collect(),
            }
        }
        Event::Assistant(message) => {
            return Ok(new_text.extract(&message).map(|text| EventKind::TextDelta { text }));
        }
        Event::ToolCall(event) => {
            let model_call_id = event.model_call_id.as_deref().unwrap_or_default().into();
            let call = tool_call(&event.call_id, &event.tool_call);
            match event.phase {
                CallPhase::Started => EventKind::ToolCallStarted { model_call_id, call },
                CallPhase::Completed => {
                    let outcome = tool_outcome(&event.tool_call);
                    EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) }
                }
            }
        }
        Event::ModelFallback(event) => EventKind::Notice(Notice::ModelFallback {
            from: event.from_model,
            to: event.to_model,
            reason: Box::new(Reason::ReplayedFailure { detail: event.message }),
        }),
        Event::Result(end) => EventKind::RunFinished(Box::new(run_succeeded(*end)?)),
        Event::Error(end) => EventKind::RunFinished(Box::new(run_failed(*end)?)),
        _ => return Ok(None),
    }))
}

/// Returns the start of a run. The stream has only a part of its fields; the others have default values.
fn run_started(init: InitEvent) -> Result<RunStarted, String> {
    let InitEvent { api_key_source, cwd, session_id, model, permission_mode, tools, ibeam, .. } = init;
    Ok(RunStarted {
        session_id: parse_session_id(&session_id)?,
        cwd: cwd.into(),
        model: ModelInfo { provider: String::new(), id: String::new(), display: model },
        key_source: match api_key_source.as_str() {
            "flag" => KeySource::Flag,
            "login" => KeySource::Login,
            _ => KeySource::Env,
        },
        permission_mode: match permission_mode.as_str() {
            "force" => PermissionMode::Force,
            "plan" => PermissionMode::Plan,
            "ask" => PermissionMode::Ask,
            _ => PermissionMode::Default,
        },
        tools,
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        ephemeral: ibeam.as_ref().is_some_and(|ibeam| ibeam.ephemeral),
        environment: None,
        version: ibeam.map(|ibeam| ibeam.version).unwrap_or_default(),
        limits: Limits::NONE,
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
    })
}

fn parse_session_id(text: &str) -> Result<SessionId, String> {
    text.parse().map_err(|_| format!("its `session_id` is not a UUID: `{text}`"))
}

fn message_texts(message: Message) -> Vec<String> {
    message.content.into_iter().map(|block| block.text).collect()
}

/// Returns the call with the name and arguments of the tool of ibeam.
fn tool_call(call_id: &str, body: &ToolCallBody) -> ToolCall {
    let name = match (&body.name, Tool::with_key(&body.key)) {
        (Some(name), _) => name.clone(),
        (None, Some(tool)) if tool.key == tool::mcp::TOOL.key => "mcp_".to_owned(),
        (None, tool) => tool.and_then(|tool| tool.name).unwrap_or(body.tool()).to_owned(),
    };
    let mut arguments = match (&body.name, body.args.as_str()) {
        // The model wrote this text, which may not be JSON.
        (Some(_), Some(text)) => serde_json::from_str(text).unwrap_or_else(|_| body.args.clone()),
        _ => body.args.clone(),
    };
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.shift_remove(tool::CALL_ID);
    }
    ToolCall { id: call_id.into(), name, arguments }
}

fn tool_outcome(body: &ToolCallBody) -> ToolOutcome {
    let success = |value: &Value| ToolOutcome::Success {
        output: ToolOutput::Other(value.clone()),
        for_model: "".into(),
    };
    let Some((name, payload)) = body.arm() else {
        return success(body.result.as_ref().unwrap_or(&Value::Null));
    };
    let arm: Result<CallArm, _> = serde_json::from_value(json!({ name: payload }));
    let failure = match arm {
        // A failure that an MCP server returned is in the arm `success`.
        Ok(CallArm::Success(payload)) if payload.get("isError") == Some(&Value::Bool(true)) => {
            ToolFailure::Error { message: payload.to_string().into() }
        }
        Ok(CallArm::Success(payload)) => return success(&payload),
        Ok(CallArm::Rejected(rejected)) => return ToolOutcome::Rejected { reason: rejected.reason.into() },
        Ok(CallArm::Failure(output)) => ToolFailure::CommandFailed(shell_output(output)),
        Ok(CallArm::Timeout(timeout)) => {
            ToolFailure::TimedOut { timeout_ms: timeout.timeout_ms, partial: ShellOutput::default() }
        }
        Ok(CallArm::SpawnError(error)) => ToolFailure::SpawnFailed { message: error.error_message.into() },
        Ok(CallArm::FileNotFound(file)) => ToolFailure::FileNotFound { path: file.path.into() },
        Ok(CallArm::PermissionDenied(denied)) => {
            ToolFailure::PermissionDenied { path: denied.path.into(), error: denied.error.into() }
        }
        Ok(CallArm::Error(error)) => ToolFailure::Error { message: error.error_message.into() },
        // An unknown arm, or the result of a tool without a key of its own.
        Err(_) if body.name.is_some() => return success(body.result.as_ref().unwrap_or(payload)),
        Err(_) => ToolFailure::Error { message: format!("{name}: {payload}").into() },
    };
    ToolOutcome::Failure { failure, for_model: "".into() }
}

fn shell_output(output: tool::shell::ShellOutput) -> ShellOutput {
    ShellOutput {
        command: output.command,
        working_directory: output.working_directory.into(),
        exit_code: output.exit_code,
        signal: output.signal,
        stdout: output.stdout,
        stderr: output.stderr,
        interleaved: output.interleaved_output,
        execution_ms: output.execution_time,
        is_background: false,
    }
}

/// Returns the end of a run that succeeded.
fn run_succeeded(end: ResultEvent) -> Result<RunFinished, String> {
    let usage = end.usage.map(|usage| Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cache_read_tokens,
        cache_write: usage.cache_write_tokens,
        ..Usage::default()
    });
    let structured = end.ibeam.as_ref().and_then(|ibeam| ibeam.structured.clone());
    Ok(RunFinished {
        session_id: parse_session_id(&end.session_id)?,
        outcome: RunOutcome::Completed,
        duration_ms: end.duration_ms,
        totals: RunTotals { usage, request_id: end.request_id, ..run_totals(end.ibeam) },
        partial: None,
        structured,
        // The line of a success does not state whether the run was ephemeral.
        ephemeral: false,
    })
}

/// Returns the end of a run that failed.
fn run_failed(end: ErrorEvent) -> Result<RunFinished, String> {
    Ok(RunFinished {
        session_id: parse_session_id(&end.session_id.unwrap_or_default())?,
        outcome: RunOutcome::Failed(Reason::ReplayedFailure { detail: end.message }.into()),
        // The line of a failure has no duration.
        duration_ms: 0,
        totals: run_totals(end.ibeam),
        partial: end.result,
        structured: None,
        ephemeral: end.resumable == Some(false),
    })
}

fn model_fallback(entry: FallbackEntry) -> ModelFallback {
    let reason = Box::new(Reason::ReplayedFailure { detail: entry.message });
    ModelFallback { from: entry.from_model, to: entry.to_model, reason }
}

/// Returns dollars in millionths.
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

fn model_totals(model: ModelUsage) -> ModelTotals {
    let saturated = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let exact = |dollars: f64| (dollars * 1e12).round() as u64;
    ModelTotals {
        model: model.model,
        requests: saturated(model.requests),
        failed_requests: saturated(model.failed_requests),
        uncounted_requests: saturated(model.uncounted_requests),
        usage: model.usage.map(|usage| Usage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            reasoning: usage.reasoning_tokens,
        }),
        cost_micros: model.cost_usd.map(micros),
        costs: model.cost_by_class.map(|costs| ClassCosts {
            input: exact(costs.input_usd),
            output: exact(costs.output_usd),
            cache_read: exact(costs.cache_read_usd),
            cache_write: exact(costs.cache_write_usd),
            reasoning: exact(costs.reasoning_usd),
        }),
    }
}

fn background_end(end: BackgroundEndEntry) -> BackgroundEnd {
    BackgroundEnd { call_id: end.call_id.as_str().into(), command: end.command, exit_code: end.exit_code }
}

fn run_totals(summary: Option<RunSummary>) -> RunTotals {
    let Some(summary) = summary else { return RunTotals::default() };
    let saturated = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let denials = summary.permission_denials.into_iter();
    RunTotals {
        turns: saturated(summary.turns),
        api_ms: summary.api_ms,
        usage: None,
        cost_micros: summary.cost_usd.map(micros),
        fallbacks: summary.fallbacks.into_iter().map(model_fallback).collect(),
        models: summary.models.into_iter().map(model_totals).collect(),
        tool_calls: saturated(summary.tool_calls),
        denials: denials
            .map(|denial| Denial {
                call_id: denial.call_id.as_str().into(),
                tool: denial.tool,
                rule: denial.rule,
            })
            .collect(),
        failed_tool_calls: saturated(summary.failed_tool_calls),
        files_changed: summary.files_changed.into_iter().map(Into::into).collect(),
        retries: saturated(summary.retries),
        continuations: saturated(summary.continuations),
        compactions: saturated(summary.compactions),
        background_stopped: saturated(summary.background_stopped),
        background_ended: summary.background_ended.into_iter().map(background_end).collect(),
        unsynced: summary.unsynced,
        effort_used: summary.effort_used,
        request_id: None,
    }
}
