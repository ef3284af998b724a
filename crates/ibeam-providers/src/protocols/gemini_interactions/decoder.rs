//! Decoder for Interactions streams.
//!
//! Pure state machine. Ignores unknown events and fields, and keeps unknown steps. Rejects deltas without a step, because
//! it would have to guess the step to which they belong.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::gemini::errors;
use super::request::{NAME, SIGNATURE};
use crate::answer_draft::{CallDraft, Part, TokenCount, TokenCounts};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum EventName {
    #[serde(rename = "interaction.completed")]
    Completed,
    #[serde(rename = "step.start")]
    StepStart,
    #[serde(rename = "step.delta")]
    StepDelta,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamEvent<'a> {
    event_type: EventName,
    index: u64,
    #[serde(borrow)]
    step: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    interaction: Option<Interaction<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interaction<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    steps: Option<Vec<&'a RawValue>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    total_input_tokens: TokenCount,
    total_output_tokens: TokenCount,
    total_thought_tokens: TokenCount,
    total_cached_tokens: TokenCount,
}

/// A delta of a known step. Each kind has a field of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    content: Option<Value>,
}

#[derive(Debug)]
struct StepState {
    index: u64,
    content: StepContent,
}

#[derive(Debug)]
enum StepContent {
    Output(String),
    Thought { summary: Vec<Value>, signature: String },
    Call { draft: CallDraft, signature: String },
    Other(Map<String, Value>),
}

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The tokens of an answer that failed.
    failed_usage: Option<Usage>,
    steps: Vec<StepState>,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        if frame.event == "error" {
            let value = serde_json::from_str(&frame.data).unwrap_or_default();
            return Err(ResponseError::Reported(errors::parse(&value)));
        }
        let mut buffer = String::new();
        let (event, repaired) = lenient_json::parse::<StreamEvent<'_>>(&frame.data, &mut buffer)
            .map_err(|error| parse_failure(&frame.data, &error))?;
        if let Some(error) = event.error.and_then(|error| errors::recognise(error.get())) {
            return Err(ResponseError::Reported(error));
        }
        match event.event_type {
            EventName::Other => Ok(()),
            EventName::StepStart => self.start_step(event.index, event.step, repaired, out),
            EventName::StepDelta => match event.delta {
                Some(delta) => self.add_delta(event.index, delta.get(), repaired, out),
                None => Ok(()),
            },
            EventName::Completed => self.finish(event.interaction.unwrap_or_default(), out),
        }
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.failed_usage
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        let (mut interaction, repaired) = lenient_json::parse::<Interaction<'_>>(body, &mut buffer)
            .map_err(|error| parse_failure(body, &error))?;
        for (index, step) in (0..).zip(interaction.steps.take().unwrap_or_default()) {
            self.start_step(index, Some(step), repaired, out)?;
        }
        self.finish(interaction, out)
    }
}

impl Decoder {
    pub(super) fn new(calls_before: usize) -> Self {
        Self { failed_usage: None, steps: Vec::new(), state: AnswerState::new(calls_before) }
    }

    fn start_step(
        &mut self,
        index: u64,
        step: Option<&RawValue>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if self.steps.iter().any(|step| step.index == index) {
            return Err(out_of_order("a second `step.start` of one index"));
        }
        let step = step.map_or("{}", RawValue::get);
        self.state.limits.count_part()?;
        self.state.limits.count(step)?;
        let mut fields: Map<String, Value> =
            serde_json::from_str(step).map_err(|error| parse_failure(step, &error))?;
        let text = |fields: &Map<String, Value>, key: &str| {
            fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let content = match text(&fields, "type").as_str() {
            "model_output" => StepContent::Output(texts(fields.get("content"))),
            "thought" => StepContent::Thought {
                signature: text(&fields, SIGNATURE),
                summary: match fields.remove("summary") {
                    Some(Value::Array(summary)) => summary,
                    _ => Vec::new(),
                },
            },
            "function_call" => {
                let arguments = initial_arguments(fields.get("arguments"));
                let (id, name) = (text(&fields, "id"), text(&fields, "name"));
                let draft = CallDraft { id, name, arguments, repaired };
                StepContent::Call { draft, signature: text(&fields, SIGNATURE) }
            }
            _ => StepContent::Other(fields),
        };
        match &content {
            StepContent::Output(text) => push_event(text.clone(), ModelEvent::TextDelta, out),
            StepContent::Thought { summary, .. } => {
                summary.iter().for_each(|item| push_event(text_of(item), ModelEvent::ThinkingDelta, out));
            }
            StepContent::Call { .. } => out.push(ModelEvent::ToolCallAnnounced),
            StepContent::Other(_) => {}
        }
        self.steps.push(StepState { index, content });
        Ok(())
    }

    fn add_delta(
        &mut self,
        index: u64,
        raw: &str,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        self.state.limits.count(raw)?;
        // Deltas belong to the newest step, so the search starts at the end.
        let step = self.steps.iter_mut().rev().find(|step| step.index == index);
        let step = step.ok_or_else(|| out_of_order("a `step.delta` without its step"))?;
        if let StepContent::Other(fields) = &mut step.content {
            return merge(fields, raw);
        }
        let delta: Delta<'_> = serde_json::from_str(raw).map_err(|error| parse_failure(raw, &error))?;
        match &mut step.content {
            StepContent::Output(text) => {
                if let Some(delta) = delta.text {
                    text.push_str(delta.as_str());
                    push_event(delta.into_string(), ModelEvent::TextDelta, out);
                }
            }
            StepContent::Thought { summary, signature } => {
                signature.push_str(&string_or_empty(delta.signature));
                if let Some(content) = delta.content {
                    push_event(text_of(&content), ModelEvent::ThinkingDelta, out);
                    summary.push(content);
                }
            }
            StepContent::Call { draft, signature } => {
                signature.push_str(&string_or_empty(delta.signature));
                if let Some(arguments) = delta.arguments {
                    // A piece of the JSON text, or the object itself.
                    let text = serde_json::from_str::<String>(arguments.get());
                    draft.arguments.push_str(text.as_deref().unwrap_or(arguments.get()));
                    draft.repaired |= repaired;
                }
            }
            StepContent::Other(_) => {}
        }
        Ok(())
    }

    fn finish(
        &mut self,
        interaction: Interaction<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if let Some(error) = interaction.error.and_then(|error| errors::recognise(error.get())) {
            return Err(ResponseError::Reported(error));
        }
        let counts = interaction.usage.unwrap_or_default();
        let usage = TokenCounts {
            input: counts.total_input_tokens,
            output: counts.total_output_tokens.plus(&counts.total_thought_tokens),
            cache_read: counts.total_cached_tokens,
            cache_write: TokenCount::default(),
            reasoning: counts.total_thought_tokens,
        }
        .usage_with_cache_in_input();
        let stop = match string_or_empty(interaction.status).as_str() {
            "completed" => StopReason::EndTurn,
            "requires_action" => StopReason::ToolUse,
            "incomplete" => StopReason::MaxTokens,
            status @ ("failed" | "cancelled") => {
                self.failed_usage = usage;
                let message = format!("the interaction ended with the status `{status}`");
                return Err(ResponseError::Reported(ReportedError { message, ..ReportedError::default() }));
            }
            "" | "in_progress" => {
                return Err(ResponseError::Protocol("the document holds no complete interaction".into()));
            }
            status => StopReason::Unknown(status.to_owned()),
        };
        self.state.id = interaction.id.map(Text::into_string).filter(|id| !id.is_empty());
        let parts = std::mem::take(&mut self.steps).into_iter().flat_map(|step| parts(step.content));
        self.state.finish(parts.collect(), stop, usage, out)
    }
}

fn parts(content: StepContent) -> Vec<Part> {
    match content {
        StepContent::Output(text) => vec![Part::Text(text)],
        StepContent::Thought { summary, signature } => {
            let text = summary.iter().map(text_of).collect();
            let raw = match summary.is_empty() {
                true => json!({ "type": "thought", SIGNATURE: signature }),
                false => json!({ "type": "thought", SIGNATURE: signature, "summary": summary }),
            };
            // The service rejects a thought without its signature, so it is not sent in later requests.
            vec![Part::Thinking { text, original: (!signature.is_empty()).then(|| original_block(raw)) }]
        }
        StepContent::Call { draft, signature } if signature.is_empty() => vec![Part::Call(draft)],
        StepContent::Call { draft, signature } => {
            vec![Part::Opaque(original_block(json!({ SIGNATURE: signature }))), Part::Call(draft)]
        }
        StepContent::Other(fields) => vec![Part::Opaque(original_block(Value::Object(fields)))],
    }
}

fn original_block(raw: Value) -> OriginalBlock {
    OriginalBlock { wire: NAME.to_owned(), raw }
}

/// Adds the fields of a delta to a step that this program does not interpret. Strings are pieces; other values are complete.
fn merge(step: &mut Map<String, Value>, delta: &str) -> Result<(), ResponseError> {
    let delta: Map<String, Value> =
        serde_json::from_str(delta).map_err(|error| parse_failure(delta, &error))?;
    for (name, value) in delta.into_iter().filter(|(name, _)| name != "type") {
        match (step.get_mut(&name), value) {
            (Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
            (_, value) => drop(step.insert(name, value)),
        }
    }
    Ok(())
}

/// Returns the arguments in the start of a call. The stream sends `{}` there and the arguments in deltas.
fn initial_arguments(arguments: Option<&Value>) -> String {
    match arguments {
        Some(Value::Object(fields)) if fields.is_empty() => String::new(),
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(arguments) => arguments.to_string(),
    }
}

/// Returns the texts in a list of contents.
fn texts(content: Option<&Value>) -> String {
    content.and_then(Value::as_array).into_iter().flatten().map(text_of).collect()
}

fn text_of(content: &Value) -> String {
    content.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn push_event(text: String, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(event(text));
    }
}

fn out_of_order(what: &str) -> ResponseError {
    ResponseError::Protocol(format!("events out of order: {what}"))
}
