//! `claude -p --output-format stream-json --verbose`, as of Claude Code 2.1.
//!
//! Payloads: the start of a run is `{"system/init": …}`, a call `{"assistant/tool_use": {name, input},
//! "user/tool_result": {content, …}}`, the end of a run `{"result": …}`.

mod calls;
mod decoder;
mod encoder;
mod session_events;
mod tool_results;

use crate::dialect::{Dialect, Feature};
use crate::step::{Payload, PayloadKind, StepDecoder, StepEncoder};

/// The version of Claude Code whose forms are written.
pub const VERSION: &str = "2.1.0";

/// The context window that Claude Code reports for a model it does not know, in tokens.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 200_000;
/// The longest answer that Claude Code reports for a model it does not know, in tokens.
pub const DEFAULT_MAX_OUTPUT: u64 = 32_000;

/// The output of Claude Code.
pub(crate) struct Claude;

impl Dialect for Claude {
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
            PayloadKind::End => session_events::end_to_contract(payload),
        }
    }

    fn from_contract(&self, kind: PayloadKind, payload: Payload, _base: &str) -> Payload {
        match kind {
            PayloadKind::Init => session_events::init_from_contract(payload),
            PayloadKind::Call => calls::from_contract(payload),
            PayloadKind::End => session_events::end_from_contract(payload),
        }
    }

    fn has_turns(&self) -> bool {
        true
    }

    fn feature_key(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Prompt | Feature::PromptBlocks => Some("user/text"),
            Feature::Thought => Some("assistant/thinking"),
            Feature::TextTime | Feature::CallStartTime => None,
            Feature::TextAnswerId => Some("assistant/text.message.id"),
            Feature::CallEndTime => Some("user/tool_result.timestamp"),
            Feature::CallAnswerId => Some("assistant/tool_use.message.id"),
            Feature::Call => Some("assistant/tool_use"),
            Feature::TextPieces => Some("assistant/text"),
        }
    }

    fn tool_name<'a>(&self, call: &'a Payload) -> Option<&'a str> {
        call.pointer("/assistant~1tool_use/name")?.as_str()
    }

    fn call_id_keys(&self) -> &'static [&'static str] {
        &["assistant/tool_use.id", "user/tool_result.tool_use_id"]
    }

    fn is_result_path(&self, path: &str) -> bool {
        path.starts_with("user/tool_result")
    }

    fn has_complete_texts(&self) -> bool {
        true
    }
}
