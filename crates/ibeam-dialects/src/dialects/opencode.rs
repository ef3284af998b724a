//! `opencode run --format json`.
//!
//! Payloads: the start of a run is empty. A call is `{"tool_use.part": {tool, state}}`, reported once it has ended. The
//! end of a run is `{"error": {error}}`, or `{"step_finish.part": {reason, cost, tokens}, "step_finish": N}` with the sums
//! of all N steps of opencode. Such a step is a model request and its calls.

mod calls;
mod decoder;
mod encoder;
mod session_events;

use serde_json::json;

use crate::dialect::{Dialect, Feature};
use crate::ids;
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// The output of opencode.
pub(crate) struct Opencode;

impl Dialect for Opencode {
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

    fn from_contract(&self, kind: PayloadKind, payload: Payload, _base: &str) -> Payload {
        match kind {
            PayloadKind::Init => json!({}),
            PayloadKind::Call => calls::from_contract(payload),
            PayloadKind::End => session_events::end_from_contract(&payload),
        }
    }

    fn feature_key(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Thought => Some("reasoning"),
            Feature::TextTime => Some("text.timestamp"),
            Feature::TextAnswerId => Some("text.part.messageID"),
            Feature::CallStartTime => Some("tool_use.part.state.time.start"),
            Feature::CallEndTime => Some("tool_use.part.state.time.end"),
            Feature::CallAnswerId => Some("tool_use.part.messageID"),
            Feature::Call => Some("tool_use"),
            Feature::TextPieces => Some("text"),
            Feature::Prompt | Feature::PromptBlocks => None,
        }
    }

    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str> {
        call.pointer("/tool_use.part/tool")?.as_str()
    }

    fn call_id_keys(&self) -> &'static [&'static str] {
        &["tool_use.part.callID"]
    }

    fn is_result_path(&self, _path: &str) -> bool {
        // A call is reported once, so there is nothing to compare its end with.
        false
    }

    fn session_id_key(&self) -> &'static str {
        "sessionID"
    }

    fn session_id(&self, id: &str) -> String {
        ids::to_opencode_id(id)
    }

    fn has_complete_texts(&self) -> bool {
        true
    }

    fn reports_only_call_end(&self, _call: &Payload) -> bool {
        true
    }
}
