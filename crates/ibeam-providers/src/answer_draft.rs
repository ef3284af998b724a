//! The parts of an answer that is still arriving, its token counts, and the rules for completing it.

use std::collections::{HashMap, HashSet};

use ibeam_protocol::{Answer, Block, CallId, OriginalBlock, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::lenient_json;
use crate::response_error::ResponseError;

/// A part of an answer, in the order of the stream.
#[derive(Debug)]
pub(crate) enum Part {
    Text(String),
    Thinking { text: String, original: Option<OriginalBlock> },
    Call(CallDraft),
    Opaque(OriginalBlock),
}

/// The prefix of the ids that this program generates for calls without an id. A number follows.
const GENERATED_ID_PREFIX: &str = "call";

/// A call whose arguments may still be arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallDraft {
    /// The id; empty until the service sends one.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) arguments: String,
    /// Whether the arguments had to be repaired. They differ from what the model wrote and must not be executed.
    pub(crate) repaired: bool,
}

/// Whether this program generated the id of a call, because the service gave none.
pub(crate) fn is_generated_id(id: &str) -> bool {
    let number = id.strip_prefix(GENERATED_ID_PREFIX).and_then(|rest| rest.strip_prefix('_'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The metadata at the end of an answer.
#[derive(Debug)]
pub(crate) struct AnswerEnd {
    pub(crate) stop: StopReason,
    pub(crate) usage: Option<Usage>,
    pub(crate) request_id: Option<String>,
    /// The number of calls in the conversation before this answer. Generated ids continue from there.
    pub(crate) calls_before: usize,
}

/// Builds the answer.
///
/// A call that arrives twice is one call. A different call with the same id gets a new id and arguments that no tool
/// accepts; they tell the model why.
///
/// # Errors
/// `Protocol` when a call has no name: executing it would be a guess.
pub(crate) fn build_answer(parts: Vec<Part>, end: AnswerEnd) -> Result<Answer, ResponseError> {
    let AnswerEnd { stop, usage, request_id, calls_before } = end;
    let cut = stop == StopReason::MaxTokens;
    let refused = stop == StopReason::Refusal;
    let mut blocks = Vec::with_capacity(parts.len());
    let mut ids = CallIds::from_parts(&parts);
    let mut calls: HashMap<CallId, ToolCall> = HashMap::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => blocks.push(Block::Text(text)),
            Part::Thinking { text, original } => blocks.push(Block::Thinking { text, original }),
            Part::Opaque(original) => blocks.push(Block::Opaque(original)),
            // A filter can cut a call anywhere, so no call of a refused answer is executed.
            Part::Call(_) if refused => {}
            Part::Call(draft) if cut && !is_complete(&draft) => {}
            Part::Call(draft) => {
                let mut call = draft.into_call(calls_before + calls.len(), &mut ids)?;
                match calls.get(&call.id) {
                    Some(same) if *same == call => continue,
                    Some(_) => invalidate(&mut call, &mut ids),
                    None => {}
                }
                calls.insert(call.id.clone(), call.clone());
                blocks.push(Block::ToolCall(call));
            }
        }
    }
    // Services differ in the stop reason of an answer with calls. Only the calls themselves are reliable.
    let stop = match (stop, calls.is_empty()) {
        (StopReason::EndTurn, false) => StopReason::ToolUse,
        (StopReason::ToolUse, true) => {
            return Err(ResponseError::Protocol("the answer ended for a call that it does not have".into()));
        }
        // Whether the model was done is not known.
        (StopReason::Unknown(word), true) => {
            let detail = format!("the answer ended for the unknown reason `{word}`");
            return Err(ResponseError::Protocol(detail));
        }
        (stop, _) => stop,
    };
    Ok(Answer { blocks, stop, refusal: None, usage, request_id })
}

/// Checks an answer that the service calls complete, of which a content block may be open.
///
/// # Errors
/// `Protocol` if one is.
pub(crate) fn check_blocks_ended(stop: &StopReason, is_open: bool) -> Result<(), ResponseError> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse if is_open => {
            Err(ResponseError::Protocol("the answer ended before one of its content blocks".into()))
        }
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::MaxTokens
        | StopReason::Paused
        | StopReason::Refusal
        | StopReason::Unknown(_) => Ok(()),
    }
}

/// Makes a call with a duplicate id invalid: which of the two calls the service means would be a guess.
fn invalidate(call: &mut ToolCall, ids: &mut CallIds) {
    let reason = format!("not executed: an earlier call of this answer has the id `{}` too", call.id);
    call.arguments = Value::String(format!("{reason}: {}", call.arguments));
    call.id = CallId(ids.generate(&call.id.0, 2));
}

/// All call ids of an answer, from the service and generated.
struct CallIds(HashSet<String>);

impl CallIds {
    fn from_parts(parts: &[Part]) -> Self {
        let ids = parts.iter().filter_map(|part| match part {
            Part::Call(draft) => Some(draft.id.clone()),
            Part::Text(_) | Part::Thinking { .. } | Part::Opaque(_) => None,
        });
        Self(ids.collect())
    }

    /// Returns an unused id: `base` and the first free number from `from` on.
    fn generate(&mut self, base: &str, from: usize) -> String {
        let separator = if base == GENERATED_ID_PREFIX { '_' } else { '-' };
        let mut number = from;
        loop {
            let id = format!("{base}{separator}{number}");
            if self.0.insert(id.clone()) {
                return id;
            }
            number += 1;
        }
    }
}

fn is_complete(draft: &CallDraft) -> bool {
    !draft.name.is_empty() && !draft.repaired && serde_json::from_str::<Value>(&draft.arguments).is_ok()
}

impl CallDraft {
    fn into_call(self, calls_before: usize, ids: &mut CallIds) -> Result<ToolCall, ResponseError> {
        if self.name.is_empty() {
            return Err(ResponseError::Protocol("a call has no name".into()));
        }
        let id =
            if self.id.is_empty() { ids.generate(GENERATED_ID_PREFIX, calls_before + 1) } else { self.id };
        let arguments = if self.repaired {
            Value::String(self.arguments)
        } else {
            lenient_json::parse_arguments(&self.arguments)
        };
        Ok(ToolCall { id: CallId(id), name: self.name, arguments })
    }
}

/// The maximum plausible count: no model accepts or generates more tokens at once. A larger count is a defect of the
/// service, and would make the agent loop compact the conversation.
const MAX_TOKEN_COUNT: u64 = 10_000_000;

/// A count that may be missing, negative, fractional or absurd.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct TokenCount(Value);

impl TokenCount {
    /// Returns the count at `pointer` (RFC 6901) in `usage`.
    pub(crate) fn at(usage: &Value, pointer: &str) -> Self {
        Self(usage.pointer(pointer).cloned().unwrap_or_default())
    }

    /// Returns the count if the service gave one; an error if it is not plausible.
    fn get(&self) -> Result<Option<u64>, ()> {
        match &self.0 {
            Value::Null => Ok(None),
            value => match value.as_u64() {
                Some(count) if count <= MAX_TOKEN_COUNT => Ok(Some(count)),
                Some(_) | None => Err(()),
            },
        }
    }

    /// Returns the sum of two counts, for services that report parts of a class. A missing count is zero; the sum with a
    /// count that is not plausible is not plausible.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self.get(), other.get()) {
            (Ok(one), Ok(two)) => Self(one.unwrap_or(0).saturating_add(two.unwrap_or(0)).into()),
            (Err(()), _) => self.clone(),
            (Ok(_), Err(())) => other.clone(),
        }
    }

    /// Replaces the count by `newer` if that has a value.
    pub(crate) fn update(&mut self, newer: Self) {
        if !newer.0.is_null() {
            *self = newer;
        }
    }
}

/// The token counts of an answer, as the service reports them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenCounts {
    pub(crate) input: TokenCount,
    pub(crate) output: TokenCount,
    pub(crate) cache_read: TokenCount,
    pub(crate) cache_write: TokenCount,
    pub(crate) reasoning: TokenCount,
}

impl TokenCounts {
    /// Returns the usage, for a service whose input count excludes cached tokens and whose output count includes
    /// reasoning; `None` if input or output is missing or any count is not plausible.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Some(Usage {
            input: self.input.get().ok()??,
            output: self.output.get().ok()??,
            cache_read: self.cache_read.get().ok()?.unwrap_or(0),
            cache_write: self.cache_write.get().ok()?.unwrap_or(0),
            reasoning: self.reasoning.get().ok()?.unwrap_or(0),
        })
    }

    /// Returns the usage, for a service whose input count includes cached tokens. A service may report more cached
    /// tokens than input tokens: then no input is left, and the cached tokens count as reported.
    pub(crate) fn usage_with_cache_in_input(&self) -> Option<Usage> {
        let reported = self.usage()?;
        let input = reported.input.saturating_sub(reported.cache_read).saturating_sub(reported.cache_write);
        Some(Usage { input, ..reported })
    }
}
