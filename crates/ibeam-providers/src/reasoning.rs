//! The reasoning that the user asks for, and what APIs and models make of it.
//!
//! Pure. An API takes a level or a number of tokens. Where the user gave the other one, it is converted. Without a request
//! of the user nothing is sent, and the default of the model applies.

use serde::{Deserialize, Serialize};

use crate::model_thinking::{ThinkingForm, ThinkingOff};
use crate::model_traits::ModelTraits;
use crate::request_rules::RequestRule;

/// A level of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning.
    None,
    /// The least of which the model is capable.
    Minimal,
    /// Little.
    Low,
    /// The default of most models.
    Medium,
    /// Much.
    High,
    /// More than `High`, for models that have it.
    XHigh,
    /// The most of which the model is capable.
    Max,
}

impl Effort {
    /// All levels, from the lowest.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Returns the word for the level, as configuration files and most APIs spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the level of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == name)
    }

    /// Returns the level nearest to a number of tokens.
    fn from_tokens(tokens: u32) -> Self {
        Self::ALL.into_iter().rev().find(|effort| effort.tokens() <= tokens).unwrap_or(Self::None)
    }

    /// Returns the number of tokens for an API that has no levels.
    fn tokens(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Minimal => 1024,
            Self::Low => 4096,
            Self::Medium => 10_240,
            Self::High => 24_576,
            Self::XHigh => 32_768,
            Self::Max => 65_536,
        }
    }
}

/// The reasoning that the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    pub effort: Option<Effort>,
    /// The maximum number of tokens for reasoning before an answer.
    pub budget: Option<u32>,
}

impl Reasoning {
    pub const DEFAULT: Self = Self { effort: None, budget: None };

    /// Returns the level for an API that has levels.
    pub(crate) fn level(self) -> Option<Effort> {
        self.effort.or_else(|| self.budget.map(Effort::from_tokens))
    }

    /// Returns the number of tokens for an API that has no levels.
    pub(crate) fn tokens(self) -> Option<u32> {
        // `none` is more than a small number: nothing may be spent.
        match self.effort {
            Some(Effort::None) => Some(0),
            effort => self.budget.or_else(|| effort.map(Effort::tokens)),
        }
    }

    /// Returns the settings of a request over the Messages API, which has `max_tokens` for reasoning and answer together.
    ///
    /// Sources: "Extended thinking", "Adaptive thinking" and "Effort" of the API reference. A model whose thinking is adaptive
    /// decides itself how long it thinks, and later ones reject a number of tokens; earlier ones have only that number.
    pub(crate) fn over_messages(self, traits: &ModelTraits, max_tokens: u32) -> MessagesThinking {
        let alone = |thinking| MessagesThinking { thinking: Some(thinking), effort: None };
        let model = &traits.thinking;
        let display = traits.has(RequestRule::OmittedThinking).then_some(Display::Summarized);
        match model.form {
            Some(ThinkingForm::None) => MessagesThinking::default(),
            Some(ThinkingForm::Adaptive) => match (self.level(), model.off) {
                // Without a request of the user, only a model that thinks in any case is asked for its thoughts.
                (None, _) if display.is_some() && model.default.is_some() => {
                    alone(Thinking::Adaptive { display })
                }
                (None, _) => MessagesThinking::default(),
                (Some(Effort::None), Some(ThinkingOff::BetweenTools)) => alone(Thinking::BetweenTools),
                (Some(Effort::None), _) => alone(Thinking::Disabled),
                (effort, _) => MessagesThinking { effort, ..alone(Thinking::Adaptive { display }) },
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
            | None => match self.tokens() {
                // A model with a number of tokens thinks only if it is asked to.
                Some(0) if model.form == Some(ThinkingForm::Budget) => MessagesThinking::default(),
                None => MessagesThinking::default(),
                Some(0) => alone(Thinking::Disabled),
                // A part of the limit stays for the answer.
                Some(tokens) => {
                    let most = max_tokens.saturating_sub(MIN_THINKING_TOKENS);
                    let budget_tokens = tokens.max(MIN_THINKING_TOKENS).min(most);
                    let thinking =
                        (budget_tokens >= MIN_THINKING_TOKENS).then_some(Thinking::Enabled { budget_tokens });
                    // A model may have both: the level is for all of its answer.
                    let has_both = model.form == Some(ThinkingForm::Budget) && model.levels.is_some();
                    MessagesThinking { thinking, effort: self.effort.filter(|_| has_both) }
                }
            },
        }
    }
}

/// The smallest number of tokens that the Messages API accepts.
const MIN_THINKING_TOKENS: u32 = 1024;

/// The settings of thinking in the Messages API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MessagesThinking {
    /// The key `thinking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thinking: Option<Thinking>,
    /// The key `effort` of `output_config`.
    #[serde(skip)]
    pub(crate) effort: Option<Effort>,
}

impl MessagesThinking {
    /// Returns the beta version that the request needs, if it needs one.
    pub(crate) fn beta(&self, traits: &ModelTraits) -> Option<&'static str> {
        let is_enabled = matches!(self.thinking, Some(Thinking::Enabled { .. }));
        (is_enabled && traits.has(RequestRule::InterleavedBeta)).then_some(INTERLEAVED_BETA)
    }
}

/// The beta version of the Messages API in which a model thinks between its calls.
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";

/// The value of `thinking` in the Messages API and in those that have taken it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Thinking {
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
pub(crate) enum Display {
    Summarized,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model_table::known_model;

    fn settings(traits: &ModelTraits, reasoning: Reasoning, max_tokens: u32) -> Value {
        let found = traits.thinking.accepted(reasoning).over_messages(traits, max_tokens);
        let mut value = serde_json::to_value(found).unwrap();
        if let Some(effort) = found.effort {
            value["output_config"] = json!({ "effort": effort });
        }
        value
    }

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, max_tokens: u32, expect: Value) {
        let found = settings(&ModelTraits::find("", model), Reasoning { effort, budget }, max_tokens);
        assert_eq!(found, expect, "{model} {effort:?} {budget:?}");
    }

    #[test]
    fn thoughts_are_asked_for_if_someone_reads_them() {
        let shown = |model: &str, effort| {
            let traits = ModelTraits::with_shown_thinking(&known_model(model).unwrap());
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
            let traits = ModelTraits::find("anthropic", model);
            let found = Reasoning { effort, budget: None }.over_messages(&traits, 32_000).beta(&traits);
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

    #[test]
    fn levels_and_tokens_are_converted_into_each_other() {
        for effort in Effort::ALL {
            assert_eq!(Effort::from_tokens(effort.tokens()), effort);
            assert_eq!(Effort::from_name(effort.as_str()), Some(effort));
        }
        let level = |tokens| Reasoning { effort: None, budget: Some(tokens) }.level();
        assert_eq!((level(500), level(16_000)), (Some(Effort::None), Some(Effort::Medium)));
        assert_eq!(Reasoning::DEFAULT.level().or(Effort::from_name("deep")), None);
    }
}
