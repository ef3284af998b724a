//! A trajectory of any agent as the history of a session.
//!
//! The prompts, answers, calls and results become messages. Steps of the system, such as the instructions of the other
//! agent, are left out, as are its thinking and sub-agents: a run has instructions of its own. Nothing is executed.

use ibeam_protocol::{
    Answer, Block, EventKind, StopReason, ToolCall, ToolFailure, ToolOutcome, ToolOutput, Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// A reason why a trajectory cannot be read.
#[derive(Debug, Error)]
pub enum AtifError {
    /// The text is not JSON, or a field has another type than the format says.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The document is of another format.
    #[error("`schema_version` is `{0}`, not `ATIF-v1.0` to `ATIF-v1.8`")]
    Version(String),
    /// The trajectory has no step of the user or the agent.
    #[error("it has no step of the user or the agent")]
    Empty,
    /// A step has an unknown source.
    #[error("step {step}: `source` is `{source_name}`, not `user`, `agent` or `system`")]
    Source {
        /// The number of the step, from 1.
        step: usize,
        source_name: String,
    },
    /// Two calls have one id.
    #[error("step {step}: the id `{id}` of a call is not unique")]
    CallId {
        /// The number of the step, from 1.
        step: usize,
        id: String,
    },
}

/// The history that a trajectory contains.
#[derive(Debug)]
pub struct AtifHistory {
    /// The name of the agent and its version.
    pub agent: String,
    pub model: String,
    /// The events of the conversation, in order.
    pub events: Vec<EventKind>,
    /// The number of steps that became messages.
    pub steps: usize,
    /// The number of steps of the system, which were left out.
    pub system_steps: usize,
}

#[derive(Deserialize)]
struct Trajectory {
    schema_version: String,
    #[serde(default)]
    agent: Agent,
    steps: Vec<Step>,
}

#[derive(Default, Deserialize)]
struct Agent {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    model_name: Option<String>,
}

#[derive(Deserialize)]
struct Step {
    source: String,
    #[serde(default)]
    message: Content,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    observation: Option<Observation>,
    #[serde(default)]
    metrics: Option<Metrics>,
}

#[derive(Deserialize)]
struct Call {
    tool_call_id: String,
    function_name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
struct Observation {
    #[serde(default)]
    results: Vec<ObservationResult>,
}

#[derive(Deserialize)]
struct ObservationResult {
    #[serde(default)]
    source_call_id: Option<String>,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Metrics {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// A text, or a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    source: Option<PartSource>,
}

#[derive(Deserialize)]
struct PartSource {
    #[serde(default)]
    path: String,
}

impl Content {
    /// Returns the text. A file is named, because a trajectory does not contain it.
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().map(|part| match (part.text, part.source) {
                    (Some(text), _) => text,
                    (None, Some(source)) => format!("[{}: {}]", part.kind, source.path),
                    (None, None) => format!("[{}]", part.kind),
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl AtifHistory {
    /// Parses a trajectory of version 1.0 to 1.8.
    pub fn parse(text: &str) -> Result<Self, AtifError> {
        let Trajectory { schema_version, agent, steps } = serde_json::from_str(text)?;
        let is_known = schema_version
            .strip_prefix("ATIF-v1.")
            .and_then(|minor| minor.parse::<u32>().ok())
            .is_some_and(|minor| minor <= 8);
        if !is_known {
            return Err(AtifError::Version(schema_version));
        }
        let model = agent.model_name.unwrap_or_else(|| "unknown".to_owned());
        let agent = match (agent.name.as_str(), agent.version.as_str()) {
            ("", _) => "unknown".to_owned(),
            (name, "") => name.to_owned(),
            (name, version) => format!("{name} {version}"),
        };
        let mut history = Self { agent, model, events: Vec::new(), steps: 0, system_steps: 0 };
        let mut ids = std::collections::BTreeSet::new();
        for (index, step) in steps.into_iter().enumerate() {
            match step.source.as_str() {
                "system" => history.system_steps += 1,
                "user" => {
                    history.steps += 1;
                    history.push_user(step.message.into_text());
                }
                "agent" => {
                    let calls = step.tool_calls.as_deref().unwrap_or_default();
                    if let Some(twice) = calls.iter().find(|call| !ids.insert(call.tool_call_id.clone())) {
                        let id = twice.tool_call_id.clone();
                        return Err(AtifError::CallId { step: index + 1, id });
                    }
                    history.steps += 1;
                    history.push_agent(index + 1, step);
                }
                _ => return Err(AtifError::Source { step: index + 1, source_name: step.source }),
            }
        }
        if history.steps == 0 { Err(AtifError::Empty) } else { Ok(history) }
    }

    fn push_user(&mut self, text: String) {
        if !text.is_empty() {
            self.events.push(EventKind::UserMessage { content: vec![text], attachments: Vec::new() });
        }
    }

    fn push_agent(&mut self, number: usize, step: Step) {
        let text = step.message.into_text();
        let calls: Vec<ToolCall> = step.tool_calls.into_iter().flatten().map(tool_call).collect();
        let mut results: Vec<_> = step.observation.map(|observation| observation.results).unwrap_or_default();
        let mut blocks: Vec<_> = (!text.is_empty()).then_some(Block::Text(text)).into_iter().collect();
        blocks.extend(calls.iter().cloned().map(Block::ToolCall));
        let model_call_id: ibeam_protocol::ModelCallId = format!("atif-{number}").as_str().into();
        if !blocks.is_empty() {
            let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
            let usage = step.metrics.map(usage);
            self.events.push(EventKind::ModelRequestFinished {
                model_call_id: model_call_id.clone(),
                answer: Box::new(Answer { blocks, stop, refusal: None, usage, request_id: None }),
                api_ms: 0,
                cost_micros: None,
                costs: None,
                prefix: None,
            });
        }
        let count = calls.len();
        for (index, call) in calls.into_iter().enumerate() {
            let is_last = index + 1 == count;
            // A result without an id belongs to the calls of its step; the last one gets what is left.
            let (own, others): (Vec<_>, Vec<_>) =
                results.into_iter().partition(|result| match &result.source_call_id {
                    Some(id) => id == call.id.as_str(),
                    None => is_last,
                });
            results = others;
            let outcome = outcome(own);
            self.events.push(EventKind::ToolCallStarted {
                model_call_id: model_call_id.clone(),
                call: call.clone(),
            });
            let (model_call_id, outcome) = (model_call_id.clone(), Box::new(outcome));
            self.events.push(EventKind::ToolCallFinished { model_call_id, call, outcome });
        }
        let rest = results.into_iter().filter_map(|result| result.content).map(Content::into_text);
        let rest = rest.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        self.push_user(rest);
    }
}

fn tool_call(call: Call) -> ToolCall {
    ToolCall {
        id: call.tool_call_id.as_str().into(),
        name: call.function_name,
        arguments: Value::Object(call.arguments),
    }
}

/// Returns the outcome of a call from its results; a call without one was interrupted.
fn outcome(results: Vec<ObservationResult>) -> ToolOutcome {
    let contents: Vec<_> =
        results.into_iter().map(|result| result.content.unwrap_or_default().into_text()).collect();
    if contents.is_empty() {
        return ToolOutcome::Failure {
            failure: ToolFailure::Interrupted,
            for_model: "The trajectory has no result of this call.".into(),
        };
    }
    let text = contents.join("\n");
    ToolOutcome::Success { for_model: text.as_str().into(), output: ToolOutput::Other(Value::from(text)) }
}

fn usage(metrics: Metrics) -> Usage {
    let cache_read = metrics.cached_tokens.unwrap_or_default();
    Usage {
        input: metrics.prompt_tokens.unwrap_or_default().saturating_sub(cache_read),
        output: metrics.completion_tokens.unwrap_or_default(),
        cache_read,
        ..Usage::default()
    }
}
