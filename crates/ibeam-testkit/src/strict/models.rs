//! The models of the services of today, and the lists in which the services name them.

use serde_json::{Map, Value, json};

const ALL_LEVELS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// A model of a service, with what requests to it may contain.
#[derive(Clone, Copy, Debug)]
pub struct ServiceModel {
    /// The id for requests.
    pub id: &'static str,
    /// The line of the family, which Anthropic lists.
    pub line: Option<&'static str>,
    /// `active`, `deprecated` or `retired`. The service lists a retired model but does not serve it.
    pub lifecycle: &'static str,
    /// The date and time of the retirement.
    pub retires_at: Option<&'static str>,
    /// The maximum size of the prompt, in tokens.
    pub max_input_tokens: u64,
    /// The largest `max_tokens`.
    pub max_tokens: u64,
    /// The accepted values of `thinking.type`.
    pub thinking_types: &'static [&'static str],
    /// The accepted levels of reasoning.
    pub efforts: &'static [&'static str],
    /// Whether thinking is bound to what comes before it, over Messages.
    pub binds_thinking: bool,
    /// Whether a message with the role `system` may follow a message of the user, over Messages.
    pub has_later_system: bool,
    /// Whether the model has tools over Chat Completions.
    pub has_chat_tools: bool,
}

impl ServiceModel {
    /// Claude Sonnet 5.5.
    pub const SONNET_5_5: Self = Self {
        id: "claude-sonnet-5-5",
        line: Some("sonnet"),
        lifecycle: "active",
        retires_at: None,
        max_input_tokens: 1_000_000,
        max_tokens: 128_000,
        thinking_types: &["adaptive", "between_tools"],
        efforts: ALL_LEVELS,
        binds_thinking: true,
        has_later_system: true,
        has_chat_tools: true,
    };
    /// Claude Opus 5.5, whose thinking cannot be switched off.
    pub const OPUS_5_5: Self =
        Self { id: "claude-opus-5-5", line: Some("opus"), thinking_types: &["adaptive"], ..Self::SONNET_5_5 };
    /// Claude Haiku 5.5.
    pub const HAIKU_5_5: Self = Self {
        id: "claude-haiku-5-5",
        line: Some("haiku"),
        thinking_types: &["adaptive", "disabled"],
        ..Self::SONNET_5_5
    };
    /// Claude Haiku 4.5, which thinks within a number of tokens.
    pub const HAIKU_4_5: Self = Self {
        id: "claude-haiku-4-5",
        line: Some("haiku"),
        max_input_tokens: 200_000,
        max_tokens: 64_000,
        thinking_types: &["enabled", "disabled"],
        efforts: &[],
        binds_thinking: false,
        has_later_system: false,
        ..Self::SONNET_5_5
    };
    /// Claude Sonnet 4, which is retired.
    pub const SONNET_4: Self = Self {
        id: "claude-sonnet-4",
        line: Some("sonnet"),
        lifecycle: "retired",
        retires_at: Some("2026-06-15T17:00:00Z"),
        ..Self::HAIKU_4_5
    };
    /// GPT-6.2 Sol, which has tools over Responses only.
    pub const GPT_6_2_SOL: Self = Self {
        id: "gpt-6.2-sol",
        line: None,
        thinking_types: &[],
        binds_thinking: false,
        has_chat_tools: false,
        ..Self::SONNET_5_5
    };
    /// GPT-5.
    pub const GPT_5: Self = Self {
        id: "gpt-5",
        efforts: &["minimal", "low", "medium", "high"],
        has_chat_tools: true,
        ..Self::GPT_6_2_SOL
    };
    /// Grok 4.7.
    pub const GROK_4_7: Self = Self {
        id: "grok-4.7",
        max_tokens: 500_000,
        efforts: &["low", "medium", "high", "xhigh"],
        has_chat_tools: true,
        ..Self::GPT_6_2_SOL
    };

    /// Returns the model with another id, such as a later model or a deployment of the user.
    #[must_use]
    pub const fn with_id(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// Returns the element of Anthropic's list.
    pub(super) fn anthropic_element(&self) -> Value {
        json!({
            "type": "model", "id": self.id, "display_name": self.id, "created_at": "2026-10-01T00:00:00Z",
            "line": self.line, "lifecycle": self.lifecycle, "retires_at": self.retires_at,
            "max_input_tokens": self.max_input_tokens, "max_tokens": self.max_tokens,
            "capabilities": {
                "image_input": { "supported": true }, "pdf_input": { "supported": true },
                "effort": supported(&["low", "medium", "high", "xhigh", "max"], self.efforts),
                "thinking": {
                    "supported": !self.thinking_types.is_empty(),
                    "types": supported(&["adaptive", "between_tools", "disabled", "enabled"], self.thinking_types),
                },
            },
        })
    }

    /// Returns the element of OpenAI's list.
    pub(super) fn openai_element(&self) -> Value {
        json!({ "id": self.id, "object": "model", "created": 1_790_000_000, "owned_by": "system" })
    }
}

/// Returns which of `all` are among the accepted words, in the form of Anthropic's list.
fn supported(all: &[&str], accepted: &[&str]) -> Value {
    let flag = |name: &&str| ((*name).to_owned(), json!({ "supported": accepted.contains(name) }));
    let flags: Map<String, Value> = all.iter().map(flag).collect();
    let mut flags = Value::Object(flags);
    flags["supported"] = (!accepted.is_empty()).into();
    flags
}
