//! An answer in the making, and the rules under which it becomes a complete one.

use std::collections::{HashMap, HashSet};

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

/// Makes the answer. A call that came twice is one; another call under the same id gets an id of its own and
/// arguments that nobody executes, which tell the model why.
///
/// # Errors
/// `Protocol` when a call has no name: executing it would be a guess.
pub(crate) fn finish(parts: Vec<Part>, ending: Ending) -> Result<Answer, WireFault> {
    let Ending { stop, usage, request_id, calls_before } = ending;
    let cut = stop == StopReason::MaxTokens;
    let refused = stop == StopReason::Refusal;
    let mut blocks = Vec::with_capacity(parts.len());
    let mut ids = Ids::given(&parts);
    let mut calls: HashMap<CallId, ToolCall> = HashMap::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => blocks.push(Block::Text(text)),
            Part::Thinking { text, provenance } => blocks.push(Block::Thinking { text, provenance }),
            // A filter cuts where it strikes: nothing of a refused answer is to be acted upon.
            Part::Call(_) if refused => {}
            Part::Call(draft) if cut && !is_whole(&draft) => {}
            Part::Call(draft) => {
                let mut call = draft.into_call(calls_before + calls.len(), &mut ids)?;
                match calls.get(&call.id) {
                    Some(same) if *same == call => continue,
                    Some(_) => refuse(&mut call, &mut ids),
                    None => {}
                }
                calls.insert(call.id.clone(), call.clone());
                blocks.push(Block::ToolCall(call));
            }
        }
    }
    // Services differ in the word they end an answer with calls by; the calls themselves are the fact.
    let stop = match (stop, calls.is_empty()) {
        (StopReason::EndTurn, false) => StopReason::ToolUse,
        (StopReason::ToolUse, true) => StopReason::EndTurn,
        (stop, _) => stop,
    };
    Ok(Answer { blocks, stop, usage, request_id })
}

/// Makes a call that nobody executes of one whose id is another's: which of the two the service means is a guess.
fn refuse(call: &mut ToolCall, ids: &mut Ids) {
    let why = format!("not executed: an earlier call of this answer has the id `{}` too", call.id);
    call.arguments = Value::String(format!("{why}: {}", call.arguments));
    call.id = CallId(ids.free(&call.id.0, 2));
}

/// The ids of an answer, given and made up.
struct Ids(HashSet<String>);

impl Ids {
    fn given(parts: &[Part]) -> Self {
        let ids = parts.iter().filter_map(|part| match part {
            Part::Call(draft) => Some(draft.id.clone()),
            Part::Text(_) | Part::Thinking { .. } => None,
        });
        Self(ids.collect())
    }

    /// An id that nobody has: the base and the first number from `from` on that is free.
    fn free(&mut self, base: &str, from: usize) -> String {
        let separator = if base == "call" { '_' } else { '-' };
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

fn is_whole(draft: &CallDraft) -> bool {
    !draft.name.is_empty() && !draft.repaired && serde_json::from_str::<Value>(&draft.arguments).is_ok()
}

impl CallDraft {
    fn into_call(self, calls_before: usize, ids: &mut Ids) -> Result<ToolCall, WireFault> {
        if self.name.is_empty() {
            return Err(WireFault::Protocol("a call has no name".into()));
        }
        let id = if self.id.is_empty() { ids.free("call", calls_before + 1) } else { self.id };
        let arguments =
            if self.repaired { Value::String(self.arguments) } else { lenient::arguments(&self.arguments) };
        Ok(ToolCall { id: CallId(id), name: self.name, arguments })
    }
}
