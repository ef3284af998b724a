//! The settings of thinking in the Messages API, and in Converse for Claude.

use serde::Serialize;

use crate::model_thinking::{ThinkingForm, ThinkingOff};
use crate::model_traits::ModelTraits;
use crate::reasoning::{Effort, Reasoning};
use crate::request_rules::RequestRule;

/// The smallest number of tokens that the Messages API accepts.
const MIN_THINKING_TOKENS: u32 = 1024;

/// The beta version of the Messages API in which a model thinks between its calls.
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";

/// The settings of thinking in the Messages API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct MessagesThinking {
    /// The key `thinking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    /// The key `effort` of `output_config`.
    #[serde(skip)]
    pub(super) effort: Option<Effort>,
}

impl MessagesThinking {
    /// Returns the settings of a request that has `max_tokens` for reasoning and answer together.
    ///
    /// Sources: "Extended thinking", "Adaptive thinking" and "Effort" of the API reference. A model whose thinking is adaptive
    /// decides itself how long it thinks, and later ones reject a number of tokens; earlier ones have only that number.
    pub(super) fn new(reasoning: Reasoning, traits: &ModelTraits, max_tokens: u32) -> Self {
        let alone = |thinking| Self { thinking: Some(thinking), effort: None };
        let model = &traits.thinking;
        let display = traits.has(RequestRule::OmittedThinking).then_some(Display::Summarized);
        match model.form {
            Some(ThinkingForm::None) => Self::default(),
            Some(ThinkingForm::Adaptive) => match (reasoning.level(), model.off) {
                // Without a request of the user, only a model that thinks in any case is asked for its thoughts.
                (None, _) if display.is_some() && model.default.is_some() => {
                    alone(Thinking::Adaptive { display })
                }
                (None, _) => Self::default(),
                (Some(Effort::None), Some(ThinkingOff::BetweenTools)) => alone(Thinking::BetweenTools),
                (Some(Effort::None), _) => alone(Thinking::Disabled),
                (effort, _) => Self { effort, ..alone(Thinking::Adaptive { display }) },
            },
            Some(
                ThinkingForm::Budget
                | ThinkingForm::Levels
                | ThinkingForm::Object
                | ThinkingForm::Switch
                | ThinkingForm::Zai
                | ThinkingForm::Together
                | ThinkingForm::Nova,
            )
            | None => match reasoning.tokens() {
                // A model with a number of tokens thinks only if it is asked to.
                Some(0) if model.form == Some(ThinkingForm::Budget) => Self::default(),
                None => Self::default(),
                Some(0) => alone(Thinking::Disabled),
                // A part of the limit stays for the answer.
                Some(tokens) => {
                    let most = max_tokens.saturating_sub(MIN_THINKING_TOKENS);
                    let budget_tokens = tokens.max(MIN_THINKING_TOKENS).min(most);
                    let thinking =
                        (budget_tokens >= MIN_THINKING_TOKENS).then_some(Thinking::Enabled { budget_tokens });
                    // A model may have both: the level is for all of its answer.
                    let has_both = model.form == Some(ThinkingForm::Budget) && model.levels.is_some();
                    Self { thinking, effort: reasoning.effort.filter(|_| has_both) }
                }
            },
        }
    }

    /// Returns the beta version that the request needs, if it needs one.
    pub(super) fn beta(&self, traits: &ModelTraits) -> Option<&'static str> {
        let is_enabled = matches!(self.thinking, Some(Thinking::Enabled { .. }));
        (is_enabled && traits.has(RequestRule::InterleavedBeta)).then_some(INTERLEAVED_BETA)
    }
}

/// The value of `thinking` in the Messages API and in those that have taken it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
    },
    BetweenTools,
    Enabled {
        budget_tokens: u32,
    },
    Disabled,
}

/// The form in which thoughts arrive. Without a request they arrive empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Display {
    Summarized,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model_table::{known_model, traits_of};

    fn settings(traits: &ModelTraits, reasoning: Reasoning, max_tokens: u32) -> Value {
        let found = MessagesThinking::new(traits.thinking.accepted(reasoning), traits, max_tokens);
        let mut value = serde_json::to_value(found).unwrap();
        if let Some(effort) = found.effort {
            value["output_config"] = json!({ "effort": effort });
        }
        value
    }

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, max_tokens: u32, expect: Value) {
        let found = settings(&traits_of("", model), Reasoning { effort, budget }, max_tokens);
        assert_eq!(found, expect, "{model} {effort:?} {budget:?}");
    }

    #[test]
    fn thoughts_are_asked_for_if_someone_reads_them() {
        let shown = |model: &str, effort| {
            let traits = known_model(model).unwrap().traits_with_shown_thinking();
            settings(&traits, Reasoning { effort, budget: None }, 9000)
        };
        let adaptive = json!({ "type": "adaptive", "display": "summarized" });
        assert_eq!(shown("claude-sonnet-5-5", None), json!({ "thinking": adaptive }));
        assert_eq!(shown("claude-opus-4-7", None), json!({}));
        let low = json!({ "thinking": adaptive, "output_config": { "effort": "low" } });
        assert_eq!(shown("claude-opus-4-7", Some(Effort::Low)), low);
        assert_eq!(shown("claude-opus-4-6", None), json!({}));
        assert_eq!(
            shown("claude-haiku-5-5", Some(Effort::None)),
            json!({ "thinking": { "type": "disabled" } })
        );
    }

    #[test]
    fn thinking_between_calls_needs_a_beta_version_of_the_models_with_a_number_of_tokens() {
        for (model, effort, expect) in [
            ("claude-sonnet-4-5", Some(Effort::High), Some("interleaved-thinking-2025-05-14")),
            ("claude-sonnet-4-5", None, None),
            ("claude-sonnet-4-6", Some(Effort::High), None),
            ("claude-sonnet-5-5", Some(Effort::High), None),
        ] {
            let traits = traits_of("anthropic", model);
            let reasoning = Reasoning { effort, budget: None };
            let found = MessagesThinking::new(reasoning, &traits, 32_000).beta(&traits);
            assert_eq!(found, expect, "{model} {effort:?}");
        }
    }

    #[test]
    fn a_claude_model_gets_the_form_of_its_row() {
        let adaptive = |effort: &str| json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": effort } });
        let tokens = |budget: u32| json!({ "thinking": { "type": "enabled", "budget_tokens": budget } });
        let alone = |kind: &str| json!({ "thinking": { "type": kind } });
        check("claude-opus-4-6", Some(Effort::Minimal), None, 9000, adaptive("low"));
        check("claude-opus-4-6", Some(Effort::XHigh), None, 9000, adaptive("high"));
        check("claude-opus-4-6", Some(Effort::Max), None, 9000, adaptive("max"));
        check("claude-opus-4-7", Some(Effort::XHigh), Some(5000), 9000, adaptive("xhigh"));
        check("claude-opus-5", None, Some(5000), 9000, adaptive("low"));
        check("claude-opus-5", Some(Effort::None), None, 9000, alone("disabled"));
        check("claude-haiku-5-5", Some(Effort::None), None, 9000, alone("disabled"));
        check("claude-sonnet-5-5", Some(Effort::None), None, 9000, alone("between_tools"));
        check("claude-opus-5-5", Some(Effort::None), None, 9000, adaptive("low"));
        check("claude-sonnet-5-5", None, None, 9000, json!({}));
        check("global.anthropic.claude-sonnet-5-5", Some(Effort::Low), None, 9000, adaptive("low"));
        check("claude-sonnet-6", Some(Effort::Max), None, 9000, adaptive("max"));
        check("claude-sonnet-4-5", Some(Effort::Low), None, 32_000, tokens(4096));
        check("claude-sonnet-4-5", Some(Effort::Low), Some(8000), 32_000, tokens(8000));
        check("claude-sonnet-4-5", None, Some(10), 32_000, tokens(1024));
        check("claude-sonnet-4-5", Some(Effort::Max), None, 32_000, tokens(30_976));
        check("claude-sonnet-4-5", Some(Effort::High), None, 2000, json!({}));
        let both = json!({ "thinking": { "type": "enabled", "budget_tokens": 4096 }, "output_config": { "effort": "low" } });
        check("claude-opus-4-5", Some(Effort::Low), None, 32_000, both);
        check("claude-opus-4-5", Some(Effort::None), None, 32_000, json!({}));
        check("claude-sonnet-4-5", Some(Effort::None), Some(8000), 32_000, json!({}));
        check("a-model-of-a-server", Some(Effort::None), None, 9000, alone("disabled"));
        check("a-model-of-a-server", None, None, 9000, json!({}));
    }
}
