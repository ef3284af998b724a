//! `gemini --output-format stream-json`.
//!
//! Payloads: the start of a run is `{"init": {model}}`, a call `{"tool_use": {tool_name, parameters}, "tool_result":
//! {status, output, error}}`, the end of a run `{"result": {status, stats, error}}`.

mod calls;
mod decoder;
mod encoder;
mod session_events;

use crate::dialect::{Dialect, Feature};
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// The output of Gemini CLI.
pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn decoder(&self) -> Box<dyn StepDecoder + Send> {
        Box::new(decoder::Decoder::default())
    }

    fn encoder(&self) -> Box<dyn StepEncoder + Send> {
        Box::new(encoder::Encoder::default())
    }

    fn to_contract(&self, kind: PayloadKind, payload: Payload, cwd: &str) -> Payload {
        match kind {
            PayloadKind::Init => session_events::init_to_contract(payload),
            PayloadKind::Call => calls::to_contract(payload, cwd),
            PayloadKind::End => session_events::end_to_contract(&payload),
        }
    }

    fn from_contract(&self, kind: PayloadKind, payload: Payload, _base: &str) -> Payload {
        match kind {
            PayloadKind::Init => session_events::init_from_contract(&payload),
            PayloadKind::Call => calls::from_contract(payload),
            PayloadKind::End => session_events::end_from_contract(&payload),
        }
    }

    fn feature_key(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Prompt => Some("message/user"),
            Feature::TextTime => Some("message.timestamp"),
            Feature::CallStartTime => Some("tool_use.timestamp"),
            Feature::CallEndTime => Some("tool_result.timestamp"),
            Feature::Call => Some("tool_use"),
            Feature::TextPieces => Some("message/assistant"),
            Feature::PromptBlocks | Feature::Thought | Feature::TextAnswerId | Feature::CallAnswerId => None,
        }
    }

    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str> {
        call.pointer("/tool_use/tool_name")?.as_str()
    }

    fn call_id_keys(&self) -> &'static [&'static str] {
        &["tool_use.tool_id", "tool_result.tool_id"]
    }

    fn is_result_path(&self, path: &str) -> bool {
        path.starts_with("tool_result")
    }

    fn session_id_key(&self) -> &'static str {
        "init.session_id"
    }
}
