//! The thinking of a Gemini model, as a request asks for it.
//!
//! Source: the guide "Gemini thinking". The models from Gemini 3 on have levels, earlier ones a number of tokens; a request
//! may have only one of them. A model without thinking rejects both.

use serde::Serialize;

use super::request::summarises_thinking;
use crate::reasoning::{Effort, Reasoning, family_version};

/// `thinkingConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

impl ThinkingConfig {
    /// Returns the settings; `None` if there is nothing to set.
    pub(super) fn new(model: &str, reasoning: Reasoning) -> Option<Self> {
        let thinks = reasoning.level() != Some(Effort::None);
        let has_levels = reasoning.budget.is_none() && has_levels(model);
        let config = Self {
            include_thoughts: thinks && summarises_thinking(model),
            thinking_level: reasoning.level().filter(|_| has_levels).map(|level| Level::new(model, level)),
            thinking_budget: reasoning.tokens().filter(|_| !has_levels).map(|tokens| budget(model, tokens)),
        };
        let is_empty =
            !config.include_thoughts && config.thinking_level.is_none() && config.thinking_budget.is_none();
        (!is_empty).then_some(config)
    }
}

/// A level of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::protocols) enum Level {
    Minimal,
    Low,
    Medium,
    High,
}

impl Level {
    /// Returns the level of the model that is nearest to `effort`. No model can be switched off.
    pub(in crate::protocols) fn new(model: &str, effort: Effort) -> Self {
        let is_pro = model.contains("pro");
        match effort {
            Effort::None | Effort::Minimal if !is_pro => Self::Minimal,
            Effort::None | Effort::Minimal | Effort::Low => Self::Low,
            // The first Pro model has two levels.
            Effort::Medium if is_pro && family_version(model, "gemini-") == Some((3, 0)) => Self::High,
            Effort::Medium => Self::Medium,
            Effort::High | Effort::XHigh | Effort::Max => Self::High,
        }
    }

    /// Returns the word of the Interactions API.
    pub(in crate::protocols) fn lower_case(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Whether the model has levels. An alias of the newest model does.
fn has_levels(model: &str) -> bool {
    family_version(model, "gemini-").is_none_or(|version| version >= (3, 0))
}

/// Returns a number of tokens that the model accepts; 0 switches thinking off where that is possible.
fn budget(model: &str, tokens: u32) -> u32 {
    match tokens {
        _ if model.contains("pro") => tokens.clamp(128, 32_768),
        0 => 0,
        tokens if model.contains("flash-lite") => tokens.clamp(512, 24_576),
        tokens => tokens.min(24_576),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, expect: Value) {
        let found = ThinkingConfig::new(model, Reasoning { effort, budget });
        assert_eq!(serde_json::to_value(found).unwrap(), expect, "{model} {effort:?} {budget:?}");
    }

    #[test]
    fn a_gemini_model_gets_a_level_or_a_number_of_tokens() {
        let level = |level: &str| json!({ "includeThoughts": true, "thinkingLevel": level });
        let tokens = |tokens: u32| json!({ "includeThoughts": true, "thinkingBudget": tokens });
        check("gemini-3-flash-preview", None, None, json!({ "includeThoughts": true }));
        check("gemini-2.0-flash", None, None, Value::Null);
        check("gemini-3-flash-preview", Some(Effort::None), None, json!({ "thinkingLevel": "MINIMAL" }));
        check("gemini-3-pro-preview", Some(Effort::Medium), None, level("HIGH"));
        check("gemini-3.1-pro-preview", Some(Effort::Medium), None, level("MEDIUM"));
        check("gemini-flash-latest", Some(Effort::Max), None, level("HIGH"));
        check("gemini-3-pro-preview", Some(Effort::Low), Some(2000), tokens(2000));
        check("gemini-2.5-pro", Some(Effort::Low), None, tokens(4096));
        check("gemini-2.5-pro", Some(Effort::None), None, json!({ "thinkingBudget": 128 }));
        check("gemini-2.5-flash", Some(Effort::None), None, json!({ "thinkingBudget": 0 }));
        check("gemini-2.5-flash", Some(Effort::Max), None, tokens(24_576));
        check("gemini-2.5-flash-lite", None, Some(100), json!({ "thinkingBudget": 512 }));
    }
}
