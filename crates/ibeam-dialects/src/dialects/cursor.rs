//! Contract 1, and the output of later releases of the Cursor CLI. All conversions go through payloads of contract 1.

mod decoder;
mod encoder;

use crate::dialect::{Dialect, Feature};
use crate::ids;
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// Contract 1.
pub(crate) struct Cursor;

impl Dialect for Cursor {
    fn decoder(&self) -> Box<dyn StepDecoder + Send> {
        Box::new(decoder::Decoder::default())
    }

    fn encoder(&self) -> Box<dyn StepEncoder + Send> {
        Box::new(encoder::Encoder::default())
    }

    fn to_contract(&self, _kind: PayloadKind, payload: Payload, _cwd: &str) -> Payload {
        payload
    }

    fn from_contract(&self, _kind: PayloadKind, payload: Payload, _base: &str) -> Payload {
        payload
    }

    fn has_turns(&self) -> bool {
        true
    }

    fn has_one_start(&self) -> bool {
        true
    }

    fn feature_key(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Prompt | Feature::PromptBlocks => Some("user"),
            Feature::Thought => None,
            Feature::TextTime => Some("assistant.timestamp_ms"),
            // Contract 1 does not have this id. Contract 2 has it, and the decoder reports its loss.
            Feature::TextAnswerId => None,
            Feature::CallStartTime => Some("tool_call/started.timestamp_ms"),
            Feature::CallEndTime => Some("tool_call/completed.timestamp_ms"),
            Feature::CallAnswerId => Some("tool_call.model_call_id"),
            Feature::Call => Some("tool_call"),
            Feature::TextPieces => Some("assistant"),
        }
    }

    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str> {
        call.get("tool_call")?.as_object()?.keys().next().map(String::as_str)
    }

    fn call_id_keys(&self) -> &'static [&'static str] {
        &["tool_call.call_id"]
    }

    fn is_result_path(&self, path: &str) -> bool {
        path.split('.').nth(2) == Some("result")
    }

    fn session_id(&self, id: &str) -> String {
        ids::to_uuid(id)
    }

    fn has_prompt_first(&self) -> bool {
        true
    }
}
