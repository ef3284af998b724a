//! `codex exec --json`, as of Codex 0.169.
//!
//! Payloads: the start of a run is empty, a call is `{"item": {type, …}}` without its id, the end of a run is
//! `{"turn.completed": …}`, `{"turn.failed": …}` or `{"error": …}`.

mod calls;
mod decoder;
mod encoder;
mod lookup_commands;
mod session_events;

use serde_json::json;

use crate::dialect::{Dialect, Feature};
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// The output of Codex.
pub(crate) struct Codex;

impl Dialect for Codex {
    fn decoder(&self) -> Box<dyn StepDecoder + Send> {
        Box::new(decoder::Decoder::default())
    }

    fn encoder(&self) -> Box<dyn StepEncoder + Send> {
        Box::new(encoder::Encoder::default())
    }

    fn to_contract(&self, kind: PayloadKind, payload: Payload, cwd: &str) -> Payload {
        match kind {
            PayloadKind::Init => json!({ "system/init": {} }),
            PayloadKind::Call => calls::to_contract(payload, cwd),
            PayloadKind::End => session_events::end_to_contract(&payload),
        }
    }

    fn from_contract(&self, kind: PayloadKind, payload: Payload, base: &str) -> Payload {
        match kind {
            PayloadKind::Init => json!({}),
            PayloadKind::Call => calls::from_contract(payload, base),
            PayloadKind::End => session_events::end_from_contract(&payload),
        }
    }

    fn has_turns(&self) -> bool {
        true
    }

    fn has_one_start(&self) -> bool {
        true
    }

    fn feature_key(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Thought => Some("item/reasoning"),
            Feature::Call => Some("item"),
            Feature::TextPieces => Some("item/agent_message"),
            Feature::Prompt
            | Feature::PromptBlocks
            | Feature::TextTime
            | Feature::TextAnswerId
            | Feature::CallStartTime
            | Feature::CallEndTime
            | Feature::CallAnswerId => None,
        }
    }

    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str> {
        call.pointer("/item/type")?.as_str()
    }

    fn call_id_keys(&self) -> &'static [&'static str] {
        &["item.id"]
    }

    fn is_result_path(&self, path: &str) -> bool {
        let key = path.split('.').nth(1).unwrap_or_default();
        ["aggregated_output", "exit_code", "status", "result", "error"].contains(&key)
    }

    fn session_id_key(&self) -> &'static str {
        "thread.started.thread_id"
    }

    fn has_complete_texts(&self) -> bool {
        true
    }

    fn shares_call_id(&self, call: &Payload) -> bool {
        self.tool_name(call) == Some("todo_list")
    }
}
