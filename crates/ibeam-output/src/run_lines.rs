//! Converts events into the objects of the contract about a complete run.

use std::borrow::Cow;
use std::path::Path;

use ibeam_protocol::{
    BackgroundEnd, ClassCosts, Failure, FailureCode, KeySource, Limits, McpStatus, ModelCallId,
    ModelFallback, ModelTotals, Notice, PermissionMode, RunFinished, RunStarted, RunTotals, Sandbox,
    SandboxMode, ToolCall, ToolOutcome, Usage,
};
use ibeam_wire::{
    ApiKeySource, BackgroundEndEntry, CallPhase, Contract, DenialEntry, ErrorEvent, FallbackEntry,
    FallbackSubtype, InitEvent, InitExtras, InitSubtype, LimitValues, ModelCosts, ModelFallbackEvent,
    ModelTokens, ModelUsage, ResultEvent, ResultSubtype, RunSummary, SandboxEntry, ServerEntry, TokenUsage,
    ToolCallEvent,
};

use serde::Serialize;

use crate::json_line::write_line;
use crate::tool_call_line::CallBody;

/// Returns a path as text. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn path_text(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

pub(crate) fn borrowed(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Returns the first event of a run.
pub fn init_event<'a>(
    started: &'a RunStarted,
    session_id: &'a str,
    contract: Contract,
) -> InitEvent<Cow<'a, str>> {
    let server = |server: &'a ibeam_protocol::McpServer| {
        let status = match server.status {
            McpStatus::Connected => "connected",
            McpStatus::Failed => "failed",
            McpStatus::Untrusted => "untrusted",
            McpStatus::Unsupported => "unsupported",
            McpStatus::Disabled => "disabled",
        };
        ServerEntry { name: borrowed(&server.name), status: borrowed(status) }
    };
    InitEvent {
        subtype: InitSubtype::Init,
        api_key_source: borrowed(published_key_source(started.key_source)),
        cwd: path_text(&started.cwd),
        session_id: borrowed(session_id),
        model: borrowed(&started.model.display),
        permission_mode: borrowed(permission_mode_name(started.permission_mode)),
        tools: texts(&started.tools),
        mcp_servers: started.mcp_servers.iter().map(server).collect(),
        ibeam: Some(init_extras(started, contract)),
    }
}

fn texts(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| borrowed(text)).collect()
}

/// Returns the value of `apiKeySource`. Strict clients drop an event with another value, so a model without a key has `env`.
fn published_key_source(source: KeySource) -> &'static str {
    match source {
        KeySource::Env | KeySource::None => "env",
        KeySource::Flag => "flag",
        KeySource::Login => "login",
    }
}

/// Returns the value of `permissionMode`.
pub fn permission_mode_name(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "default",
        PermissionMode::Force => "force",
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
    }
}

fn init_extras(started: &RunStarted, contract: Contract) -> InitExtras<Cow<'_, str>> {
    let Limits { max_turns, max_tokens, max_cost_micros, max_tool_calls, timeout_ms } = started.limits;
    InitExtras {
        version: borrowed(&started.version),
        contract: borrowed(contract.as_str()),
        api_key: match started.key_source {
            KeySource::Env => ApiKeySource::Env,
            KeySource::Flag => ApiKeySource::Flag,
            KeySource::Login => ApiKeySource::Login,
            KeySource::None => ApiKeySource::None,
        },
        sandbox: sandbox_entry(&started.sandbox),
        limits: LimitValues {
            max_turns: max_turns.into(),
            max_tokens,
            max_cost_usd: max_cost_micros.map(dollars),
            max_tool_calls: max_tool_calls.map(Into::into),
            timeout_ms,
        },
        journal_gaps: started.journal_gaps,
        ephemeral: started.ephemeral,
        input: None,
    }
}

fn sandbox_entry(sandbox: &Sandbox) -> SandboxEntry<Cow<'_, str>> {
    let Sandbox { mode, layers, network, writable, reason } = sandbox;
    let mode = match mode {
        SandboxMode::Off => "off",
        SandboxMode::Namespaces => "namespaces",
        SandboxMode::Landlock => "landlock",
    };
    SandboxEntry {
        mode: borrowed(mode),
        layers: texts(layers),
        network: *network,
        writable: texts(writable),
        reason: borrowed(reason),
    }
}

/// Converts millionths to dollars, exact to the sixth place.
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

pub(crate) fn token_usage(usage: Usage) -> TokenUsage {
    let Usage { input, output, cache_read, cache_write, reasoning: _ } = usage;
    TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
    }
}

/// Returns the cost of a run in millionths; `None` if the price of some of its tokens is unknown.
fn known_cost(totals: &RunTotals) -> Option<u64> {
    let is_unknown = |model: &ModelTotals| model.usage.is_some() && model.cost_micros.is_none();
    totals.cost_micros.filter(|_| !totals.models.iter().any(is_unknown))
}

/// Returns a change of the model.
fn fallback_entry(fallback: &ModelFallback) -> FallbackEntry<Cow<'_, str>> {
    FallbackEntry {
        from_model: borrowed(&fallback.from),
        to_model: borrowed(&fallback.to),
        code: borrowed(fallback.reason.code().as_str()),
        message: crate::catalogue::english().reason(&fallback.reason).message.into(),
    }
}

/// Returns the event of a change of the model; `None` for another notice.
pub(crate) fn fallback_event<'a>(
    notice: &'a Notice,
    session_id: &'a str,
    timestamp_ms: u64,
) -> Option<ModelFallbackEvent<Cow<'a, str>>> {
    let Notice::ModelFallback { from, to, reason } = notice else { return None };
    Some(ModelFallbackEvent {
        subtype: FallbackSubtype::ModelFallback,
        from_model: borrowed(from),
        to_model: borrowed(to),
        code: borrowed(reason.code().as_str()),
        message: crate::catalogue::english().reason(reason).message.into(),
        session_id: borrowed(session_id),
        timestamp_ms,
    })
}

/// Returns the tokens and the cost of one model.
fn model_usage(totals: &ModelTotals) -> ModelUsage<Cow<'_, str>> {
    let tokens = |usage: Usage| ModelTokens {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
        reasoning_tokens: usage.reasoning,
    };
    // Exact to the twelfth place.
    let exact_dollars = |cost: u64| cost as f64 / 1e12;
    let costs = |costs: ClassCosts| ModelCosts {
        input_usd: exact_dollars(costs.input),
        output_usd: exact_dollars(costs.output),
        cache_read_usd: exact_dollars(costs.cache_read),
        cache_write_usd: exact_dollars(costs.cache_write),
        reasoning_usd: exact_dollars(costs.reasoning),
    };
    ModelUsage {
        model: borrowed(&totals.model),
        requests: totals.requests.into(),
        failed_requests: totals.failed_requests.into(),
        uncounted_requests: totals.uncounted_requests.into(),
        usage: totals.usage.map(tokens),
        cost_usd: totals.cost_micros.map(dollars),
        cost_by_class: totals.costs.map(costs),
    }
}

fn background_end(end: &BackgroundEnd) -> BackgroundEndEntry<Cow<'_, str>> {
    BackgroundEndEntry {
        call_id: borrowed(end.call_id.as_str()),
        command: borrowed(&end.command),
        exit_code: end.exit_code,
    }
}

/// Returns the totals of a run. `final_message` is the text after the last call of a successful run.
pub(crate) fn run_summary<'a>(
    totals: &'a RunTotals,
    final_message: Option<&'a str>,
) -> RunSummary<Cow<'a, str>> {
    let denial = |denial: &'a ibeam_protocol::run::Denial| DenialEntry {
        call_id: borrowed(denial.call_id.as_str()),
        tool: borrowed(&denial.tool),
        rule: borrowed(&denial.rule),
    };
    RunSummary {
        turns: totals.turns.into(),
        api_ms: totals.api_ms,
        cost_usd: known_cost(totals).map(dollars),
        permission_denials: totals.denials.iter().map(denial).collect(),
        failed_tool_calls: totals.failed_tool_calls.into(),
        files_changed: totals.files_changed.iter().map(|path| path_text(path)).collect(),
        retries: totals.retries.into(),
        continuations: totals.continuations.into(),
        compactions: totals.compactions.into(),
        tool_calls: totals.tool_calls.into(),
        background_stopped: totals.background_stopped.into(),
        background_ended: totals.background_ended.iter().map(background_end).collect(),
        final_message: final_message.map(borrowed),
        structured: None,
        unsynced: totals.unsynced,
        models: totals.models.iter().map(model_usage).collect(),
        fallbacks: totals.fallbacks.iter().map(fallback_entry).collect(),
        effort_used: totals.effort_used.as_deref().map(borrowed),
    }
}

/// Returns the totals of a successful run, with its final message if it is given.
pub(crate) fn completed_summary<'a>(
    run: &'a RunFinished,
    final_message: Option<&'a str>,
) -> RunSummary<Cow<'a, str>> {
    RunSummary { structured: run.structured.clone(), ..run_summary(&run.totals, final_message) }
}

/// Returns the object of a failure. `message` is the English sentence, and `text` is the answer up to the failure. Without a
/// run, the object has neither a session nor a summary.
pub(crate) fn error_event<'a>(
    failure: &'a Failure,
    message: &'a str,
    run: Option<&'a RunFinished>,
    text: Option<&'a str>,
) -> ErrorEvent<Cow<'a, str>> {
    let Failure { reason, http_status, request_id, retry_after_ms } = failure;
    ErrorEvent {
        retry_after_ms: *retry_after_ms,
        http_status: *http_status,
        request_id: request_id.as_deref().map(borrowed),
        session_id: run.map(|run| run.session_id.to_string().into()),
        ibeam: run.map(|run| run_summary(&run.totals, None)),
        resumable: run.map(|run| reason.is_resumable() && !run.ephemeral),
        result: text.filter(|text| !text.is_empty()).map(borrowed),
        ..error_without_run(reason.code(), message)
    }
}

/// Returns the object of a failure without a provider and a run.
fn error_without_run(code: FailureCode, message: &str) -> ErrorEvent<Cow<'_, str>> {
    ErrorEvent {
        code: borrowed(code.as_str()),
        message: borrowed(message),
        exit_code: code.exit_code(),
        retryable: code.is_retryable(),
        ..ErrorEvent::default()
    }
}

/// Returns the start or, with an outcome, the end of a call.
pub fn call_event<'a>(
    session_id: &'a str,
    model_call_id: &'a ModelCallId,
    timestamp_ms: u64,
    call: &'a ToolCall,
    outcome: Option<&'a ToolOutcome>,
) -> ToolCallEvent<&'a str, CallBody<'a>> {
    ToolCallEvent {
        phase: if outcome.is_some() { CallPhase::Completed } else { CallPhase::Started },
        call_id: call.id.as_str(),
        tool_call: CallBody { call, outcome },
        session_id,
        model_call_id: Some(model_call_id.as_str()),
        timestamp_ms: Some(timestamp_ms),
    }
}

/// Returns the end of a successful run, without the text of the answer.
pub fn result_event(run: &RunFinished) -> ResultEvent<Cow<'_, str>> {
    ResultEvent {
        subtype: ResultSubtype::Success,
        duration_ms: run.duration_ms,
        duration_api_ms: run.duration_ms,
        is_error: false,
        result: Cow::default(),
        session_id: run.session_id.to_string().into(),
        request_id: run.totals.request_id.as_deref().map(borrowed),
        usage: run.totals.usage.map(token_usage),
        ibeam: Some(completed_summary(run, None)),
    }
}

/// Returns the end of a failed run, or a failure without a run, without the text of the answer.
pub fn failure_event<'a>(failure: &'a Failure, run: Option<&'a RunFinished>) -> ErrorEvent<Cow<'a, str>> {
    let message = crate::catalogue::english().failure(failure).message;
    ErrorEvent { message: message.into(), ..error_event(failure, "", run, None) }
}

/// Returns the event of an error that only sub-commands report.
pub fn cli_error_event(code: FailureCode, error: &impl Serialize) -> ErrorEvent<Cow<'static, str>> {
    let message = crate::catalogue::english().cli_error(error).message;
    ErrorEvent { message: message.into(), ..error_without_run(code, "") }
}

/// Returns the `error` object as one line without its line end, for `--error-format json`.
///
/// Without a run, the object has neither `session_id` nor `ibeam`. The message is English in every locale.
pub fn error_object(failure: &Failure, run: Option<&RunFinished>) -> String {
    let message = crate::catalogue::english().failure(failure).message;
    let text = run.and_then(|run| run.partial.as_deref());
    serialize_error(&error_event(failure, &message, run, text))
}

/// Returns the `error` object of an error that only sub-commands report, in the form of [`error_object`].
pub fn cli_error_object(code: FailureCode, error: &impl Serialize) -> String {
    let message = crate::catalogue::english().cli_error(error).message;
    serialize_error(&error_without_run(code, &message))
}

fn serialize_error(error: &ErrorEvent<Cow<'_, str>>) -> String {
    let mut bytes = Vec::new();
    match write_line(&mut bytes, error) {
        Ok(()) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
        // Serialization of strings and integers cannot fail.
        Err(_) => "{}".to_owned(),
    }
}
