//! Explicit cache breakpoints in OpenAI's APIs: up to a breakpoint, a service may serve the prompt from its cache.
//!
//! Sources: the guides "Prompt caching" of OpenAI (`prompt_cache_breakpoint`) and OpenRouter (`cache_control`). Other
//! services, and other models, cache without breakpoints or reject them.

use std::sync::Arc;

use ibeam_protocol::Message;
use serde::Serialize;

use crate::model_traits::CacheForm;
use crate::wire_protocol::RequestSettings;

/// The number of breakpoints that move with the conversation. Anthropic accepts four; one is after the system prompt.
const MOVING: usize = 2;

/// A breakpoint after a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheMarker {
    /// The form of Anthropic. A request may have four, so they are at the end of the conversation.
    CacheControl(Ephemeral),
    /// The form of OpenAI. It stays where it was set: the service uses the latest ones of any number.
    PromptCacheBreakpoint(Explicit),
}

/// The value of `cache_control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
pub(crate) struct Ephemeral {}

/// The value of `prompt_cache_breakpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename = "explicit")]
pub(crate) struct Explicit {}

impl CacheMarker {
    /// Returns the breakpoint that the service accepts for the model.
    pub(crate) fn new(settings: &RequestSettings<'_>) -> Option<Self> {
        match settings.traits.cache.filter(|_| settings.quirks.cache_breakpoints)? {
            CacheForm::CacheControl => Some(Self::CacheControl(Ephemeral {})),
            CacheForm::Breakpoints => Some(Self::PromptCacheBreakpoint(Explicit {})),
            CacheForm::Points | CacheForm::SystemPoints => None,
        }
    }

    /// Returns the breakpoint if it stays where it was set.
    pub(crate) fn fixed(settings: &RequestSettings<'_>) -> Option<Self> {
        Self::new(settings).filter(|marker| !marker.moves())
    }

    /// Returns the index of the first message with a breakpoint that moves.
    pub(crate) fn first_moving(self, messages: &[Arc<Message>]) -> Option<usize> {
        let inputs = messages.iter().enumerate().rev().filter(|(_, message)| is_input(message));
        inputs.take(MOVING).last().map(|(index, _)| index).filter(|_| self.moves())
    }

    /// Whether the message at `index` ends in a breakpoint.
    pub(crate) fn is_set(self, message: &Message, index: usize, first_moving: Option<usize>) -> bool {
        match self {
            Self::CacheControl(_) => is_input(message) && first_moving.is_some_and(|first| index >= first),
            Self::PromptCacheBreakpoint(_) => matches!(message, Message::User(_)),
        }
    }

    fn moves(self) -> bool {
        match self {
            Self::CacheControl(_) => true,
            Self::PromptCacheBreakpoint(_) => false,
        }
    }
}

fn is_input(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::ToolResults(_) => true,
        Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_table::traits_of;
    use crate::wire_protocol::Quirks;

    #[test]
    fn only_documented_models_get_breakpoints() {
        for (provider, model, expect) in [
            ("openrouter", "anthropic/claude-sonnet-5.5", true),
            ("openrouter", "~anthropic/claude-sonnet-latest", true),
            ("openrouter", "openai/gpt-6.1-sol", false),
            ("openai", "gpt-5.6-sol", true),
            ("openai", "gpt-6.2-sol", true),
            ("openai", "gpt-7-sol", true),
            ("openai", "gpt-5.5", false),
            ("openai", "gpt-4o", false),
            ("openai", "o3", false),
        ] {
            let traits = traits_of(provider, model);
            for cache_breakpoints in [true, false] {
                let quirks = Quirks { cache_breakpoints, ..Quirks::DEFAULT };
                let settings = RequestSettings::for_unknown_model(model);
                let marker = CacheMarker::new(&RequestSettings { quirks, traits, ..settings });
                assert_eq!(marker.is_some(), expect && cache_breakpoints, "{provider} {model}");
            }
        }
    }
}
