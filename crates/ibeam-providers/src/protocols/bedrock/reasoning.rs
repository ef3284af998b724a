//! The request for reasoning in Converse: `additionalModelRequestFields`, whose content is that of the family of the model.
//!
//! Sources: the user guide of Amazon Bedrock, "Extended thinking" and "Adaptive thinking" (Claude); the user guide of Amazon
//! Nova 2, "Extended thinking"; the model parameters of OpenAI.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::messages_thinking::MessagesThinking;
use crate::model_thinking::{ModelThinking, ThinkingForm};
use crate::reasoning::Effort;
use crate::wire_protocol::RequestSettings;

/// The limit of an answer if the request has none.
const DEFAULT_MAX_TOKENS: u32 = 4096;

#[derive(Serialize)]
struct ClaudeFields {
    #[serde(flatten)]
    thinking: MessagesThinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_beta: Option<[&'static str; 1]>,
}

/// Returns the fields for a model; `None` if the user asked for nothing, or if there is no documented form.
pub(super) fn fields(settings: &RequestSettings<'_>, max_tokens: Option<u32>) -> Option<Value> {
    let (reasoning, traits) = (settings.reasoning, &settings.traits);
    match traits.thinking.form? {
        ThinkingForm::Adaptive | ThinkingForm::Budget => {
            let max_tokens = max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
            let settings = MessagesThinking::new(reasoning, traits, max_tokens);
            let output_config = settings.effort.map(|effort| json!({ "effort": effort }));
            let anthropic_beta = settings.beta(traits).map(|beta| [beta]);
            let fields = ClaudeFields { thinking: settings, output_config, anthropic_beta };
            serde_json::to_value(fields).ok().filter(|fields| *fields != json!({}))
        }
        ThinkingForm::Nova => {
            let config = match reasoning.level()? {
                Effort::None => json!({ "type": "disabled" }),
                level => json!({ "type": "enabled", "maxReasoningEffort": level }),
            };
            Some(json!({ "reasoningConfig": config }))
        }
        ThinkingForm::Levels => Some(json!({ "reasoning_effort": reasoning.level()? })),
        ThinkingForm::Object => Some(json!({ "reasoning": { "effort": reasoning.level()? } })),
        ThinkingForm::Switch | ThinkingForm::Zai | ThinkingForm::Together | ThinkingForm::None => None,
    }
}

/// Whether these fields exclude a limit of the answer: Nova rejects one together with high effort.
pub(super) fn replaces_limit(fields: &Value) -> bool {
    fields.pointer("/reasoningConfig/maxReasoningEffort").is_some_and(|effort| effort == "high")
}

/// Whether there is a documented form for a model.
pub(super) fn is_documented(thinking: ModelThinking) -> bool {
    match thinking.form {
        Some(
            ThinkingForm::Adaptive
            | ThinkingForm::Budget
            | ThinkingForm::Nova
            | ThinkingForm::Levels
            | ThinkingForm::Object,
        ) => true,
        Some(ThinkingForm::Switch | ThinkingForm::Zai | ThinkingForm::Together | ThinkingForm::None)
        | None => false,
    }
}
