//! The thinking of a Gemini model, as a request asks for it.
//!
//! Source: the guide "Gemini thinking". The models from Gemini 3 on have levels, earlier ones a number of tokens; a request
//! may have only one of them. A model without thinking rejects both.

use serde::Serialize;

use crate::model_thinking::{ModelThinking, ThinkingForm};
use crate::reasoning::Effort;
use crate::request_rules::RequestRule;
use crate::wire_protocol::RequestSettings;

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
    pub(super) fn new(settings: &RequestSettings<'_>) -> Option<Self> {
        let (reasoning, thinking) = (settings.reasoning, settings.traits.thinking);
        let has_levels = thinking.form != Some(ThinkingForm::Budget);
        let config = Self {
            include_thoughts: reasoning.level() != Some(Effort::None)
                && settings.traits.has(RequestRule::Summaries),
            thinking_level: reasoning.level().filter(|_| has_levels).map(Level::new),
            thinking_budget: reasoning
                .tokens()
                .filter(|_| !has_levels)
                .map(|tokens| budget(thinking, tokens)),
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
    XHigh,
}

impl Level {
    /// Returns the word for a level. The API has none for `none` and `max`.
    pub(in crate::protocols) fn new(effort: Effort) -> Self {
        match effort {
            Effort::None | Effort::Minimal => Self::Minimal,
            Effort::Low => Self::Low,
            Effort::Medium => Self::Medium,
            Effort::High => Self::High,
            Effort::XHigh | Effort::Max => Self::XHigh,
        }
    }

    /// Returns the word of the Interactions API.
    pub(in crate::protocols) fn lower_case(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }
}

/// Returns a number of tokens that the model accepts; 0 switches thinking off where that is possible.
fn budget(thinking: ModelThinking, tokens: u32) -> u32 {
    match tokens {
        0 if thinking.off.is_some() => 0,
        // Every model accepts this range.
        tokens => tokens.clamp(512, 24_576),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model_table::traits_of;
    use crate::reasoning::Reasoning;

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, expect: Value) {
        let settings =
            RequestSettings { traits: traits_of("", model), ..RequestSettings::for_unknown_model(model) };
        let reasoning = settings.traits.thinking.accepted(Reasoning { effort, budget });
        let found = ThinkingConfig::new(&RequestSettings { reasoning, ..settings });
        assert_eq!(serde_json::to_value(found).unwrap(), expect, "{model} {effort:?} {budget:?}");
    }

    #[test]
    fn summaries_of_thinking_are_asked_of_models_that_think() {
        for (model, expect) in [
            ("gemini-2.5-pro", true),
            ("models/gemini-2.5-flash", true),
            ("publishers/google/models/gemini-3-flash-preview", true),
            ("gemini-3.1-pro-preview", true),
            ("gemini-flash-latest", true),
            ("gemini-10-pro", true),
            ("gemini-2.5-flash-lite", false),
            ("gemini-2.5-flash-image", false),
            ("gemini-2.0-flash", false),
            ("gemini-1.5-pro-002", false),
            ("gemma-3-27b-it", false),
            ("tunedModels/mine", false),
        ] {
            let traits = traits_of("", model);
            assert_eq!(traits.has(RequestRule::Summaries), expect, "{model}");
        }
        let requires_signatures = |model| traits_of("", model).has(RequestRule::SignedCalls);
        assert!(requires_signatures("gemini-3-flash-preview") && !requires_signatures("gemini-2.5-pro"));
    }

    #[test]
    fn a_gemini_model_gets_a_level_or_a_number_of_tokens() {
        let level = |level: &str| json!({ "includeThoughts": true, "thinkingLevel": level });
        let tokens = |tokens: u32| json!({ "includeThoughts": true, "thinkingBudget": tokens });
        check("gemini-3-flash-preview", None, None, json!({ "includeThoughts": true }));
        check("gemini-2.0-flash", None, None, Value::Null);
        check("gemini-3-flash-preview", Some(Effort::None), None, level("MINIMAL"));
        check("gemini-3.8-flash", Some(Effort::None), None, level("LOW"));
        check("gemini-3.8-flash", Some(Effort::Minimal), None, level("LOW"));
        check("gemini-4-neon", Some(Effort::Max), None, level("XHIGH"));
        check("gemini-4-argon", Some(Effort::Max), None, level("HIGH"));
        check("gemini-3.1-pro-preview", Some(Effort::Medium), None, level("MEDIUM"));
        check("gemini-flash-latest", Some(Effort::Max), None, level("HIGH"));
        check("gemini-4-argon", Some(Effort::Low), Some(20_000), level("LOW"));
        check("gemini-4-argon", None, Some(20_000), level("MEDIUM"));
        check("gemini-2.5-pro", Some(Effort::Low), None, tokens(4096));
        check("gemini-2.5-pro", Some(Effort::None), None, json!({ "thinkingBudget": 512 }));
        check("gemini-2.5-flash", Some(Effort::None), None, json!({ "thinkingBudget": 0 }));
        check("gemini-2.5-flash", Some(Effort::Max), None, tokens(24_576));
        check("gemini-2.5-flash-lite", None, Some(100), json!({ "thinkingBudget": 512 }));
    }
}
