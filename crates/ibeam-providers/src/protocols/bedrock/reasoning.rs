//! The request for reasoning in Converse: `additionalModelRequestFields`, whose content is that of the family of the model.
//!
//! Sources: the user guide of Amazon Bedrock, "Extended thinking" and "Adaptive thinking" (Claude); the user guide of Amazon
//! Nova 2, "Extended thinking"; the model parameters of OpenAI.

use serde_json::{Value, json};

use super::model_id::ModelFamily;
use crate::reasoning::Effort;
use crate::wire_protocol::RequestSettings;

/// The limit of an answer if the request has none.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// Returns the fields for a model; `None` if the user asked for nothing, or if there is no documented form.
pub(super) fn fields(
    settings: &RequestSettings<'_>,
    family: ModelFamily,
    max_tokens: Option<u32>,
) -> Option<Value> {
    let reasoning = settings.reasoning;
    match family {
        ModelFamily::Claude => {
            let settings = reasoning.of_claude(settings.model, max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))?;
            serde_json::to_value(settings).ok()
        }
        ModelFamily::LaterNova => {
            let config = match reasoning.level()? {
                Effort::None => json!({ "type": "disabled" }),
                level => json!({ "type": "enabled", "maxReasoningEffort": at_most_high(level) }),
            };
            Some(json!({ "reasoningConfig": config }))
        }
        ModelFamily::Other if is_openai(settings.model) => {
            Some(json!({ "reasoning_effort": at_most_high(reasoning.level()?) }))
        }
        ModelFamily::EarlyClaude | ModelFamily::Nova | ModelFamily::Separate | ModelFamily::Other => None,
    }
}

/// Whether these fields exclude a limit of the answer: Nova rejects one together with high effort.
pub(super) fn replaces_limit(fields: &Value) -> bool {
    fields.pointer("/reasoningConfig/maxReasoningEffort").is_some_and(|effort| effort == "high")
}

/// Whether there is a documented form for the model.
pub(super) fn is_documented(family: ModelFamily, model: &str) -> bool {
    match family {
        ModelFamily::Claude | ModelFamily::LaterNova => true,
        ModelFamily::Other => is_openai(model),
        ModelFamily::EarlyClaude | ModelFamily::Nova | ModelFamily::Separate => false,
    }
}

fn is_openai(model: &str) -> bool {
    model.contains("openai.")
}

/// Returns one of the three words that these models accept.
fn at_most_high(level: Effort) -> &'static str {
    match level {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max => "high",
    }
}
