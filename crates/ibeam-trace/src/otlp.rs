//! `otlp`: the runs of a session as spans of OpenTelemetry, in the JSON form of OTLP, with the names of the semantic
//! conventions for generative AI.
//!
//! A run is a span `invoke_agent`; its model requests are spans `chat` and its calls spans `execute_tool` below it. The
//! spans contain texts of the session only on request. The ids are derived from the trace, so that a second export of
//! the same session has the same ids.

mod attributes;
mod context;
mod messages;

use std::io::{self, Write};

use ibeam_output::EventWriter;
use ibeam_protocol::event::HookRequest;
use ibeam_protocol::{
    Answer, ClassCosts, Compacted, Event, EventKind, Failure, ModelCallId, Reason, RunFinished, RunOutcome,
    RunStarted, StopReason, ToolCall, ToolFailure, ToolOutcome, Usage,
};
use serde_json::{Value, json};

use self::attributes::{Attributes, name};
pub use self::context::{SpanId, TraceContext, TraceId};
use self::messages::Messages;

/// The maximum number of spans of an export. The root span states how many were left out.
const MAX_SPANS: usize = 20_000;
/// The name of a tool that does not exist, as the conventions name other values.
const UNKNOWN_TOOL: &str = "_OTHER";
/// An ID that is not exported.
const UNKNOWN_ID: &str = "_OTHER";
/// The number of characters of the longest ID of a call; the IDs of services have at most 64.
const MAX_ID_CHARS: usize = 128;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT` of OTLP.
const INTERNAL: u32 = 1;
const CLIENT: u32 = 3;
/// `STATUS_CODE_ERROR` of OTLP.
const ERROR: u32 = 2;

/// The options of an export.
#[derive(Clone, Debug, Default)]
pub struct OtlpOptions {
    /// The trace and the span that the runs belong to; `None` for a trace of its own for each run.
    pub context: Option<TraceContext>,
    /// The span of the first run, if another process knows it already.
    pub first_span: Option<SpanId>,
    /// Whether the spans contain prompts, answers, arguments and results.
    pub has_content: bool,
    /// Further attributes of the resource, e.g. `deployment.environment.name`.
    pub resource: Vec<(String, String)>,
}

/// Collects the spans of runs.
pub struct OtlpSpans {
    options: OtlpOptions,
    /// The spans of runs that have ended.
    spans: Vec<Value>,
    run: Option<OpenRun>,
    left_out: usize,
}

/// A run that has not ended.
struct OpenRun {
    trace: TraceId,
    span: SpanId,
    head: Box<RunStarted>,
    /// The time of the start; 0 in a stream, where the start has none.
    head_ms: u64,
    /// The time of the first event that has one; 0 before that. Some events of streams have no time.
    started_ms: u64,
    /// The time since which the run waits for the model.
    waiting_since_ms: u64,
    last_ms: u64,
    calls: Vec<OpenCall>,
    messages: Messages,
}

struct OpenCall {
    model_call_id: ModelCallId,
    call: ToolCall,
    seq: u64,
    at_ms: u64,
}

/// A span without its ids.
struct Span {
    name: String,
    kind: u32,
    seq: u64,
    started_ms: u64,
    ended_ms: u64,
    attributes: Attributes,
    /// The class and the message of a failure.
    error: Option<(String, String)>,
}

impl OtlpSpans {
    /// Returns a collector without spans.
    pub fn new(options: OtlpOptions) -> Self {
        Self { options, spans: Vec::new(), run: None, left_out: 0 }
    }

    /// Adds an event of a run.
    pub fn push(&mut self, event: &Event) {
        let (seq, at_ms) = (event.seq, event.at_ms);
        if let EventKind::RunStarted(head) = &event.kind {
            self.end_run(None, at_ms);
            let trace = self.options.context.map_or_else(
                || TraceId::derive(&head.session_id.to_string(), at_ms),
                |context| context.trace,
            );
            self.run = Some(OpenRun {
                trace,
                span: (self.options.first_span.take())
                    .unwrap_or_else(|| SpanId::for_run(trace, &head.session_id.to_string(), (at_ms, seq))),
                head: head.clone(),
                head_ms: at_ms,
                started_ms: at_ms,
                waiting_since_ms: at_ms,
                last_ms: at_ms,
                calls: Vec::new(),
                messages: Messages::default(),
            });
            return;
        }
        let has_content = self.options.has_content;
        let Some(run) = &mut self.run else { return };
        run.last_ms = run.last_ms.max(at_ms);
        if run.started_ms == 0 {
            (run.started_ms, run.waiting_since_ms) = (at_ms, at_ms);
        }
        match &event.kind {
            EventKind::UserMessage { content, .. } => {
                run.waiting_since_ms = at_ms;
                if has_content {
                    run.messages.push_prompt(content);
                }
            }
            EventKind::ModelRequestFinished { answer, api_ms, cost_micros, model_call_id, .. } => {
                let span = run.chat(seq, at_ms, (*api_ms, *cost_micros), answer, model_call_id, has_content);
                self.add(span);
            }
            EventKind::ModelRequestFailed { reason, usage } => {
                let span = run.failed_chat(seq, at_ms, reason, usage.as_ref().map(|failed| failed.usage));
                self.add(span);
            }
            EventKind::Retrying { reason, usage, delay_ms, .. } => {
                let span = run.failed_chat(seq, at_ms, reason, usage.as_ref().map(|failed| failed.usage));
                run.waiting_since_ms = at_ms.saturating_add(*delay_ms);
                self.add(span);
            }
            EventKind::ToolCallStarted { model_call_id, call } => run.calls.push(OpenCall {
                model_call_id: model_call_id.clone(),
                call: call.clone(),
                seq,
                at_ms,
            }),
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                let is_same =
                    |open: &OpenCall| open.call.id == call.id && open.model_call_id == *model_call_id;
                let open = run.calls.iter().position(is_same).map(|index| run.calls.remove(index));
                let (seq, started_ms) =
                    open.map_or((seq, at_ms), |open| (open.seq, open.at_ms.max(run.started_ms)));
                run.waiting_since_ms = at_ms;
                if has_content {
                    run.messages.push_result(call, outcome);
                }
                let call = &run.exported_call(call, Some(outcome), has_content);
                let span = execute_tool(seq, (started_ms, at_ms), call, Some(outcome), has_content);
                self.add(span);
            }
            EventKind::Compacted(compacted) => {
                let span = run.compaction(seq, at_ms, compacted);
                run.waiting_since_ms = at_ms;
                self.add(span);
            }
            EventKind::HookRequestFinished(request) => {
                let span = run.hook_request(seq, at_ms, request);
                run.waiting_since_ms = at_ms;
                self.add(span);
            }
            EventKind::RunFinished(finished) => self.end_run(Some(finished), at_ms),
            EventKind::RunStarted(_)
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::Notice(_) => {}
        }
    }

    /// Adds a span below that of the current run.
    fn add(&mut self, span: Span) {
        let Some(run) = &self.run else { return };
        if self.spans.len() >= MAX_SPANS {
            self.left_out += 1;
            return;
        }
        let id = SpanId::derive(run.span, span.seq);
        self.spans.push(span.into_json(run.trace, id, Some(run.span)));
    }

    /// Ends the current run. Without its last event, the run ends as an error.
    fn end_run(&mut self, finished: Option<&RunFinished>, at_ms: u64) {
        let Some(mut run) = self.run.take() else { return };
        let has_content = self.options.has_content;
        let ended_ms = match finished {
            Some(finished) if run.head_ms == 0 => run.set_times_of_stream(finished.duration_ms),
            Some(_) => at_ms,
            None => run.last_ms,
        };
        let started_ms = run.started_ms;
        let mut open = std::mem::take(&mut run.calls);
        for OpenCall { call, .. } in &mut open {
            *call = run.exported_call(call, None, has_content);
        }
        self.run = Some(run);
        for OpenCall { call, seq, at_ms, .. } in open {
            self.add(execute_tool(seq, (at_ms.max(started_ms), ended_ms), &call, None, has_content));
        }
        let Some(run) = self.run.take() else { return };
        let parent = self.options.context.and_then(|context| context.parent);
        let (trace, id) = (run.trace, run.span);
        let span = run.invoke_agent(finished, ended_ms, std::mem::take(&mut self.left_out));
        self.spans.push(span.into_json(trace, id, parent));
    }

    /// Whether there is nothing to export.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.run.is_none()
    }

    /// Ends an open run and returns the spans as one request of OTLP.
    pub fn finish(&mut self) -> Value {
        self.end_run(None, 0);
        let mut resource = Attributes::default();
        if !self.options.resource.iter().any(|(key, _)| key == name::SERVICE_NAME) {
            resource.text(name::SERVICE_NAME, "ibeam");
        }
        for (key, value) in &self.options.resource {
            resource.text(key, value);
        }
        let version = env!("CARGO_PKG_VERSION");
        resource.text(name::SERVICE_VERSION, version);
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource.into_json() },
            "scopeSpans": [{
                "scope": { "name": "ibeam", "version": version },
                "spans": std::mem::take(&mut self.spans),
            }],
        }] })
    }
}

impl OpenRun {
    /// Sets the start of a run of a stream so that the run has the duration that its end states. Returns the time of the
    /// end. Without any time in the stream, the run starts at 0.
    fn set_times_of_stream(&mut self, duration_ms: u64) -> u64 {
        let ended_ms = self.last_ms.max(duration_ms);
        self.started_ms = self.started_ms.min(ended_ms.saturating_sub(duration_ms));
        ended_ms
    }

    /// Returns a call as it is exported. Without content, nothing that the model invents is: neither the name of a tool
    /// that does not exist nor an ID that is a text.
    fn exported_call(&self, call: &ToolCall, outcome: Option<&ToolOutcome>, has_content: bool) -> ToolCall {
        let mut exported = call.clone();
        let is_offered = self.head.tools.contains(&call.name);
        if !has_content && !is_offered && !matches!(outcome, Some(ToolOutcome::Success { .. })) {
            exported.name = UNKNOWN_TOOL.to_owned();
        }
        let is_id = |c: char| c.is_ascii_alphanumeric() || "-_.:|=+/".contains(c);
        let id = call.id.as_str();
        let is_usual = id.len() <= MAX_ID_CHARS && id.chars().all(is_id);
        if !has_content && !is_usual {
            exported.id = UNKNOWN_ID.into();
        }
        exported
    }

    fn common(&self, operation: &str) -> Attributes {
        self.common_of_model(operation, &self.head.model.provider, self.model())
    }

    fn common_of_model(&self, operation: &str, provider: &str, model: &str) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.text(name::OPERATION, operation);
        if !provider.is_empty() {
            attributes.text(name::PROVIDER, provider_name(provider));
        }
        attributes.text(name::CONVERSATION, &self.head.session_id.to_string());
        attributes.text(name::REQUEST_MODEL, model);
        attributes
    }

    fn model(&self) -> &str {
        if self.head.model.id.is_empty() { &self.head.model.display } else { &self.head.model.id }
    }

    fn chat(
        &mut self,
        seq: u64,
        ended_ms: u64,
        (api_ms, cost_micros): (u64, Option<u64>),
        answer: &Answer,
        model_call_id: &ModelCallId,
        has_content: bool,
    ) -> Span {
        let mut attributes = self.common("chat");
        attributes.text(name::RESPONSE_ID, answer.request_id.as_deref().unwrap_or(model_call_id.as_str()));
        attributes.texts(name::FINISH_REASONS, &[finish_reason(&answer.stop)]);
        attributes.usage(answer.usage);
        attributes.cost(cost_micros);
        if has_content {
            attributes.text(name::INPUT_MESSAGES, &self.messages.take().to_string());
            let output = messages::answer(answer, finish_reason(&answer.stop));
            attributes.text(name::OUTPUT_MESSAGES, &json!([output]).to_string());
        }
        Span {
            name: format!("chat {}", self.model()),
            kind: CLIENT,
            seq,
            started_ms: ended_ms.saturating_sub(api_ms),
            ended_ms,
            attributes,
            error: None,
        }
    }

    fn failed_chat(&self, seq: u64, ended_ms: u64, reason: &Reason, usage: Option<Usage>) -> Span {
        let mut attributes = self.common("chat");
        attributes.usage(usage);
        Span {
            name: format!("chat {}", self.model()),
            kind: CLIENT,
            seq,
            started_ms: self.waiting_since_ms.min(ended_ms),
            ended_ms,
            attributes,
            error: Some((reason.code().as_str().to_owned(), String::new())),
        }
    }

    fn compaction(&self, seq: u64, ended_ms: u64, compacted: &Compacted) -> Span {
        let mut attributes = self.common("chat");
        attributes.usage(compacted.usage);
        attributes.cost(compacted.cost_micros);
        attributes.text(name::PURPOSE, "compaction");
        Span {
            name: format!("chat {}", self.model()),
            kind: CLIENT,
            seq,
            started_ms: ended_ms.saturating_sub(compacted.api_ms),
            ended_ms,
            attributes,
            error: None,
        }
    }

    fn hook_request(&self, seq: u64, ended_ms: u64, request: &HookRequest) -> Span {
        let (provider, model) = request.model.split_once('/').unwrap_or(("", &request.model));
        let mut attributes = self.common_of_model("chat", provider, model);
        attributes.usage(request.usage);
        attributes.cost(request.costs.map(ClassCosts::micros));
        attributes.text(name::PURPOSE, "hook");
        Span {
            name: format!("chat {model}"),
            kind: CLIENT,
            seq,
            started_ms: ended_ms.saturating_sub(request.api_ms),
            ended_ms,
            attributes,
            error: request.is_failed.then(|| ("hook_request_failed".to_owned(), String::new())),
        }
    }

    fn invoke_agent(self, finished: Option<&RunFinished>, ended_ms: u64, left_out: usize) -> Span {
        let mut attributes = self.common("invoke_agent");
        attributes.text(name::AGENT_NAME, "ibeam");
        if !self.head.version.is_empty() {
            attributes.text(name::AGENT_VERSION, &self.head.version);
        }
        if let Some(parent) = self.head.parent {
            attributes.text(name::PARENT_SESSION, &parent.to_string());
        }
        if left_out > 0 {
            attributes.number(name::LEFT_OUT, left_out as u64);
        }
        let mut error = None;
        match finished {
            None => error = Some(("incomplete".to_owned(), "the record has no end of this run".to_owned())),
            Some(finished) => {
                attributes.usage(finished.totals.usage);
                attributes.cost(finished.totals.cost_micros);
                attributes.number(name::TURNS, finished.totals.turns.into());
                attributes.number(name::TOOL_CALLS, finished.totals.tool_calls.into());
                attributes.number(name::FILES_CHANGED, finished.totals.files_changed.len() as u64);
                if let RunOutcome::Failed(Failure { reason, .. }) = &finished.outcome {
                    error = Some((reason.code().as_str().to_owned(), String::new()));
                }
            }
        }
        Span {
            name: "invoke_agent ibeam".to_owned(),
            kind: INTERNAL,
            seq: 0,
            started_ms: self.started_ms,
            ended_ms,
            attributes,
            error,
        }
    }
}

impl Span {
    fn into_json(mut self, trace: TraceId, id: SpanId, parent: Option<SpanId>) -> Value {
        if let Some((class, _)) = &self.error {
            self.attributes.text(name::ERROR_TYPE, class);
        }
        let mut span = json!({
            "traceId": trace.to_string(),
            "spanId": id.to_string(),
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": nanoseconds(self.started_ms),
            "endTimeUnixNano": nanoseconds(self.ended_ms.max(self.started_ms)),
            "attributes": self.attributes.into_json(),
            "flags": 0x101,
        });
        if let Value::Object(keys) = &mut span {
            if let Some(parent) = parent {
                keys.insert("parentSpanId".to_owned(), Value::from(parent.to_string()));
            }
            if let Some((_, message)) = self.error {
                keys.insert("status".to_owned(), json!({ "code": ERROR, "message": message }));
            }
        }
        span
    }
}

/// Returns a time in nanoseconds since the Unix epoch. The JSON form of OTLP has 64-bit integers as strings.
fn nanoseconds(ms: u64) -> String {
    ms.saturating_mul(1_000_000).to_string()
}

/// Returns the span of a call; `outcome` is `None` if its run ended before the call did.
fn execute_tool(
    seq: u64,
    (started_ms, ended_ms): (u64, u64),
    call: &ToolCall,
    outcome: Option<&ToolOutcome>,
    has_content: bool,
) -> Span {
    let mut attributes = Attributes::default();
    attributes.text(name::OPERATION, "execute_tool");
    attributes.text(name::TOOL_NAME, &call.name);
    attributes.text(name::TOOL_TYPE, "function");
    attributes.text(name::TOOL_CALL_ID, call.id.as_str());
    if has_content {
        attributes.text(name::TOOL_ARGUMENTS, &call.arguments.to_string());
        if let Some(outcome) = outcome {
            attributes.text(name::TOOL_RESULT, &outcome.for_model());
        }
    }
    let error = match outcome {
        None => Some("incomplete"),
        Some(ToolOutcome::Success { .. }) => None,
        Some(ToolOutcome::Rejected { .. }) => Some("rejected"),
        Some(ToolOutcome::Failure { failure, .. }) => Some(match failure {
            ToolFailure::FileNotFound { .. } => "file_not_found",
            ToolFailure::PermissionDenied { .. } => "permission_denied",
            ToolFailure::CommandFailed(_) => "command_failed",
            ToolFailure::TimedOut { .. } => "timeout",
            ToolFailure::SpawnFailed { .. } => "spawn_failed",
            ToolFailure::McpError(_) => "mcp_error",
            ToolFailure::TaskFailed { .. } => "task_failed",
            ToolFailure::Interrupted => "interrupted",
            ToolFailure::Error { .. } => "tool_error",
        }),
    };
    Span {
        name: format!("execute_tool {}", call.name),
        kind: INTERNAL,
        seq,
        started_ms,
        ended_ms,
        attributes,
        error: error.map(|class| (class.to_owned(), String::new())),
    }
}

/// Returns the name of a provider in the conventions; a provider that they do not list keeps its name.
fn provider_name(provider: &str) -> &str {
    match provider {
        "google" | "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Returns the reason of the end of an answer in the conventions.
fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::Paused => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Unknown(reason) => reason,
    }
}

/// Writes the spans of all runs as one request of OTLP on one line: the form of the file exporter.
pub struct OtlpWriter<W> {
    out: W,
    spans: OtlpSpans,
}

impl<W: Write> OtlpWriter<W> {
    /// Returns a writer that prints the spans at the end of the document.
    pub fn new(out: W, options: OtlpOptions) -> Self {
        Self { out, spans: OtlpSpans::new(options) }
    }
}

impl<W: Write> EventWriter for OtlpWriter<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.spans.push(event);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end_document(&mut self) -> io::Result<()> {
        if !self.spans.is_empty() {
            writeln!(self.out, "{}", self.spans.finish())?;
        }
        self.flush()
    }
}
