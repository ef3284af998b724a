//! An answer in the making, and the rules under which it becomes a complete one.

use std::collections::HashSet;

use ibeam_protocol::{Answer, Block, CallId, Provenance, StopReason, ToolCall, Usage};
use serde_json::Value;

use crate::lenient;
use crate::wire::WireFault;

/// A part of an answer, in the order of the wire.
#[derive(Debug)]
pub(crate) enum Part {
    Text(String),
    Thinking { text: String, provenance: Option<Provenance> },
    Call(CallDraft),
}

/// A call whose arguments may still be arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallDraft {
    /// Empty until the service gives one.
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON text.
    pub(crate) arguments: String,
    /// The text had to be repaired: it is not what the model wrote and must not be executed.
    pub(crate) repaired: bool,
}

/// What the wire told at the end.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) stop: StopReason,
    pub(crate) usage: Option<Usage>,
    pub(crate) request_id: Option<String>,
    /// Calls of the conversation before this answer: made-up ids count on from there.
    pub(crate) calls_before: usize,
}

/// Makes the answer.
///
/// # Errors
/// `Protocol` when two calls have one id, or a call has no name: executing either would be a guess.
pub(crate) fn finish(parts: Vec<Part>, ending: Ending) -> Result<Answer, WireFault> {
    let Ending { stop, usage, request_id, calls_before } = ending;
    let cut = stop == StopReason::MaxTokens;
    let refused = stop == StopReason::Refusal;
    let mut blocks = Vec::with_capacity(parts.len());
    let mut ids = HashSet::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => blocks.push(Block::Text(text)),
            Part::Thinking { text, provenance } => blocks.push(Block::Thinking { text, provenance }),
            // A filter cuts where it strikes: nothing of a refused answer is to be acted upon.
            Part::Call(_) if refused => {}
            Part::Call(draft) if cut && !is_whole(&draft) => {}
            Part::Call(draft) => {
                let call = draft.into_call(calls_before + ids.len())?;
                if !ids.insert(call.id.clone()) {
                    return Err(WireFault::Protocol(format!("two calls have the id `{}`", call.id)));
                }
                blocks.push(Block::ToolCall(call));
            }
        }
    }
    // Services differ in the word they end an answer with calls by; the calls themselves are the fact.
    let stop = match (stop, ids.is_empty()) {
        (StopReason::EndTurn, false) => StopReason::ToolUse,
        (StopReason::ToolUse, true) => StopReason::EndTurn,
        (stop, _) => stop,
    };
    Ok(Answer { blocks, stop, usage, request_id })
}

fn is_whole(draft: &CallDraft) -> bool {
    !draft.name.is_empty() && !draft.repaired && serde_json::from_str::<Value>(&draft.arguments).is_ok()
}

impl CallDraft {
    fn into_call(self, calls_before: usize) -> Result<ToolCall, WireFault> {
        if self.name.is_empty() {
            return Err(WireFault::Protocol("a call has no name".into()));
        }
        let id = if self.id.is_empty() { format!("call_{}", calls_before + 1) } else { self.id };
        let arguments =
            if self.repaired { Value::String(self.arguments) } else { lenient::arguments(&self.arguments) };
        Ok(ToolCall { id: CallId(id), name: self.name, arguments })
    }
}
