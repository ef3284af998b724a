//! What the stream of Claude Code carries and contract 1 does not: the id of the model, the permission mode, the tokens
//! of each answer, and the sums of the whole process.
//!
//! The facts come from the events of a run. An event that changes a fact is observed after every line of the events
//! before it is out, so a line never carries the facts of a later answer.

use std::collections::BTreeMap;

use ibeam_protocol::{Event, EventKind, RunFinished, Usage};
use serde_json::{Value, json};

use crate::dialect::control_protocol::at;

/// The context window that Claude Code reports for a model it does not know, in tokens.
const USUAL_WINDOW: u64 = 200_000;
/// The longest answer that Claude Code reports for such a model, in tokens.
const USUAL_OUTPUT: u64 = 32_000;

/// The facts of the run at hand and of the runs before it in this process.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The permission mode in the words of Claude Code.
    mode: String,
    /// The id of the model.
    model: String,
    window: Option<u64>,
    longest_output: Option<u64>,
    /// The tokens of the last complete answer.
    answer: Usage,
    /// Whether the last answer is complete, so that a further text begins another.
    is_complete: bool,
    /// The end of the run, once it is known.
    ended: Option<Ended>,
    /// The sums of the process, by the id of the model.
    used: BTreeMap<String, ModelUse>,
    api_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    usage: Usage,
    duration_ms: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ModelUse {
    usage: Usage,
    cost_micros: u64,
    window: Option<u64>,
    longest_output: Option<u64>,
}

impl Facts {
    /// Returns the facts before the first run, under the permission mode `mode`.
    pub(crate) fn new(mode: &str) -> Self {
        Self { mode: mode.to_owned(), ..Self::default() }
    }

    /// Sets the limits of the model, where they are known.
    pub(crate) fn set_limits(&mut self, window: Option<u64>, longest_output: Option<u64>) {
        (self.window, self.longest_output) = (window, longest_output);
    }

    /// Whether `event` changes a fact.
    pub(crate) fn is_changed_by(&self, event: &Event) -> bool {
        match &event.kind {
            EventKind::SessionStarted(_)
            | EventKind::ModelRequestFinished { .. }
            | EventKind::RunFinished(_) => true,
            EventKind::TextDelta { .. } => self.is_complete,
            EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_) => false,
        }
    }

    /// Arity an event that [`Facts::is_changed_by`] names; any other changes nothing.
    pub(crate) fn observe(&mut self, event: &Event) {
        if let EventKind::SessionStarted(head) = &event.kind {
            self.model.clone_from(&head.model.id);
            (self.answer, self.is_complete, self.ended) = (Usage::default(), false, None);
        } else if let EventKind::ModelRequestFinished { answer, .. } = &event.kind {
            (self.answer, self.is_complete) = (answer.usage.unwrap_or_default(), true);
        } else if let EventKind::RunFinished(run) = &event.kind {
            self.end(run);
        } else if self.is_changed_by(event) {
            (self.answer, self.is_complete) = (Usage::default(), false);
        }
    }

    fn end(&mut self, run: &RunFinished) {
        let usage = run.totals.usage.unwrap_or_default();
        self.ended = Some(Ended { usage, duration_ms: run.duration_ms });
        self.api_ms = self.api_ms.saturating_add(run.totals.api_ms);
        if run.totals.turns == 0 && run.totals.usage.is_none() {
            return;
        }
        let used = self.used.entry(self.model.clone()).or_default();
        used.usage = Usage {
            input: used.usage.input.saturating_add(usage.input),
            output: used.usage.output.saturating_add(usage.output),
            cache_read: used.usage.cache_read.saturating_add(usage.cache_read),
            cache_write: used.usage.cache_write.saturating_add(usage.cache_write),
        };
        used.cost_micros = used.cost_micros.saturating_add(run.totals.cost_micros.unwrap_or_default());
        (used.window, used.longest_output) = (self.window, self.longest_output);
    }

    /// Completes lines of Claude Code, each with its end.
    pub(crate) fn complete(&self, lines: &[u8]) -> Vec<u8> {
        let mut completed = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Value>(line) {
                Ok(mut event) => {
                    self.complete_event(&mut event);
                    completed.extend_from_slice(format!("{event}\n").as_bytes());
                }
                Err(_) => completed.extend_from_slice(line),
            }
        }
        completed
    }

    fn complete_event(&self, event: &mut Value) {
        match at(event, "/type").as_str().unwrap_or_default() {
            "system" => {
                set(event, "/permissionMode", self.mode.as_str().into());
                name_tools(event);
                self.set_model(event, "/model");
            }
            "assistant" => {
                self.set_model(event, "/message/model");
                set(event, "/message/usage", tokens(self.answer));
            }
            "stream_event" => {
                self.set_model(event, "/event/message/model");
                if *at(event, "/event/type") == "message_delta" {
                    set(event, "/event/usage", tokens(self.answer));
                }
            }
            "result" => self.complete_result(event),
            _ => {}
        }
    }

    fn complete_result(&self, event: &mut Value) {
        if let Some(Ended { usage, duration_ms }) = self.ended {
            set(event, "/usage", tokens(usage));
            set(event, "/duration_ms", duration_ms.into());
        }
        let cost = self.used.values().fold(0_u64, |sum, used| sum.saturating_add(used.cost_micros));
        set(event, "/total_cost_usd", dollars(cost));
        set(event, "/duration_api_ms", self.api_ms.into());
        let used = self.used.iter().map(|(model, used)| (model.clone(), used.report()));
        set(event, "/modelUsage", Value::Object(used.collect()));
    }

    fn set_model(&self, event: &mut Value, pointer: &str) {
        if !self.model.is_empty() {
            set(event, pointer, self.model.as_str().into());
        }
    }
}

impl ModelUse {
    fn report(&self) -> Value {
        json!({
            "inputTokens": self.usage.input,
            "outputTokens": self.usage.output,
            "cacheReadInputTokens": self.usage.cache_read,
            "cacheCreationInputTokens": self.usage.cache_write,
            "webSearchRequests": 0,
            "costUSD": dollars(self.cost_micros),
            "contextWindow": self.window.unwrap_or(USUAL_WINDOW),
            "maxOutputTokens": self.longest_output.unwrap_or(USUAL_OUTPUT),
        })
    }
}

fn tokens(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

/// Returns the dollars of millionths; a whole zero where there is no cost.
fn dollars(micros: u64) -> Value {
    match micros {
        0 => 0.into(),
        micros => json!(micros as f64 / 1e6),
    }
}

/// Gives tools of MCP servers, `mcp_SERVER_TOOL` here, the names that their calls have: `mcp__SERVER__TOOL`.
fn name_tools(event: &mut Value) {
    let servers = at(event, "/mcp_servers").as_array().cloned().unwrap_or_default();
    let servers: Vec<&str> = servers.iter().filter_map(|server| at(server, "/name").as_str()).collect();
    let named = |tool: &str| {
        let rest = tool.strip_prefix("mcp_")?;
        let mut pairs = servers.iter().filter_map(|server| {
            Some((server, rest.strip_prefix(server)?.strip_prefix('_').filter(|tool| !tool.is_empty())?))
        });
        pairs.next().map(|(server, tool)| format!("mcp__{server}__{tool}"))
    };
    let Some(Value::Array(tools)) = event.pointer_mut("/tools") else { return };
    for tool in tools {
        if let Some(name) = tool.as_str().and_then(named) {
            *tool = name.into();
        }
    }
}

/// Replaces the value at `pointer`, where there is one.
fn set(event: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = event.pointer_mut(pointer) {
        *place = value;
    }
}
