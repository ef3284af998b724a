//! The steps of a run, between a decoder and an encoder.

use std::borrow::Cow;

use ibeam_wire::tool::CALL_ID;
use ibeam_wire::{ErrorEvent, InitEvent, ResultEvent, ToolCallEvent};
use serde::Serialize;
use serde_json::{Value, json};

use crate::contract::repeats_call_id;
use crate::json::{Object, into_object, text};
use crate::losses::{LossKind, LossLog, is_empty_value};

/// The data of the start of a run, of a call or of the end of a run, in the form of one dialect: an object whose keys
/// name the events that contain the data.
pub type Payload = Value;

/// The part of a run that a payload describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadKind {
    Init,
    Call,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The run starts. Occurs once, as the first step.
    Init {
        session: String,
        /// The data of the start. In contract 1 `{"system/init": {…}}`.
        payload: Payload,
    },
    /// The prompt, in blocks.
    Prompt(Vec<String>),
    /// A piece of the answer.
    Text(TextStep),
    Thought(String),
    /// A call starts; its payload has no result.
    CallStarted(CallStep),
    /// A call has ended; its payload has a result.
    CallEnded(CallStep),
    /// The run has ended. Occurs once, as the last step. In contract 1 `{"result/success": {…}}` or `{"error": {…}}`.
    End(Payload),
}

impl Step {
    /// Returns the start of a run.
    pub fn from_init(event: &InitEvent<Cow<'_, str>>) -> Self {
        Self::Init {
            session: event.session_id.to_string(),
            payload: json!({ "system/init": body_of(event) }),
        }
    }

    pub fn from_call_start(event: &ToolCallEvent<&str, impl Serialize>) -> Self {
        Self::CallStarted(CallStep::from_event(event))
    }

    pub fn from_call_end(event: &ToolCallEvent<&str, impl Serialize>) -> Self {
        Self::CallEnded(CallStep::from_event(event))
    }

    /// Returns the end of a run that succeeded.
    pub fn from_result(event: &ResultEvent<Cow<'_, str>>) -> Self {
        Self::End(json!({ "result/success": body_of(event) }))
    }

    /// Returns the end of a run that failed.
    pub fn from_error(event: &ErrorEvent<Cow<'_, str>>) -> Self {
        Self::End(json!({ "error": body_of(event) }))
    }
}

/// Returns an event without `type`, `subtype` and `session_id`.
fn body_of(event: &impl Serialize) -> Object {
    let mut event = into_object(to_value(event));
    for key in ["type", "subtype", "session_id"] {
        event.shift_remove(key);
    }
    event
}

fn to_value(part: &impl Serialize) -> Value {
    // The keys of events are texts, so serialization cannot fail.
    serde_json::to_value(part).unwrap_or_default()
}

/// A piece of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextStep {
    pub text: String,
    /// The time, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// The id of the model's answer that contains the text.
    pub answer_id: Option<String>,
}

/// The start or the end of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStep {
    pub id: String,
    /// The id of the model's answer that contains the call.
    pub answer_id: Option<String>,
    /// The time, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// The data of the call. In contract 1 `{"tool_call": {"readToolCall": {…}}}`, without a repeated id of the call.
    pub payload: Payload,
}

impl CallStep {
    fn from_event(event: &ToolCallEvent<&str, impl Serialize>) -> Self {
        Self::from_contract(
            event.call_id.to_owned(),
            event.model_call_id.map(str::to_owned),
            event.timestamp_ms,
            to_value(&event.tool_call),
        )
    }

    /// Returns a step from the object `tool_call` of contract 1.
    pub(crate) fn from_contract(
        id: String,
        answer_id: Option<String>,
        at_ms: Option<u64>,
        mut tool_call: Value,
    ) -> Self {
        if let Some((key, body)) = tool_call.as_object_mut().and_then(|call| call.iter_mut().next())
            && repeats_call_id(key)
            && let Some(args) = body.get_mut("args").and_then(Value::as_object_mut)
            && text(args, CALL_ID) == Some(&id)
        {
            args.shift_remove(CALL_ID);
        }
        Self { id, answer_id, at_ms, payload: json!({ "tool_call": tool_call }) }
    }
}

/// Turns events of a dialect into steps.
pub(crate) trait StepDecoder {
    /// Adds the steps of one event to `sink`. Returns `false` for an event that the dialect does not have.
    fn decode_event(&mut self, event: Object, sink: &mut StepSink<'_>) -> bool;
    /// Adds the steps that were held back until the end of the source.
    fn finish(&mut self, _sink: &mut StepSink<'_>) {}
}

/// Writes steps, whose payloads are in the form of its dialect, as lines.
pub(crate) trait StepEncoder {
    /// Prepares for a run in progress. `run` is unique to the run; the run started at `started_ms`.
    fn start_live(&mut self, _run: &str, _started_ms: u64) {}
    /// Sets the present time of a run in progress, in milliseconds since 1970.
    fn set_time(&mut self, _now_ms: u64) {}
    /// Starts a further turn of the session and appends the lines of its start. `init` is the start of the run.
    fn start_turn(&mut self, _init: Payload, _out: &mut Vec<Value>) {}
    /// Appends the lines of a step.
    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>);
    /// Appends the lines that were held back until the end of the source.
    fn finish(&mut self, _out: &mut Vec<Value>) {}
}

/// Collects the steps of one line of the source, and the parts of the line that no step can represent.
pub(crate) struct StepSink<'a> {
    steps: Vec<Step>,
    losses: &'a mut LossLog,
}

impl<'a> StepSink<'a> {
    pub(crate) fn new(losses: &'a mut LossLog) -> Self {
        Self { steps: Vec::new(), losses }
    }

    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Records the loss of an event or a key that no step can represent.
    pub(crate) fn record_loss(&mut self, key: &str) {
        self.losses.add(key, None, LossKind::Dropped);
    }

    /// Records that several events became one.
    pub(crate) fn record_joined(&mut self, key: &str) {
        self.losses.add(key, None, LossKind::Joined);
    }

    /// Records the loss of the remaining keys of an event. Empty values are not losses.
    pub(crate) fn record_rest_as_lost(&mut self, event: &str, rest: &Object) {
        for (key, _) in rest.iter().filter(|(_, value)| !is_empty_value(value)) {
            self.losses.add(&format!("{event}.{key}"), None, LossKind::Dropped);
        }
    }
}
