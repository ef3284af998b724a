//! The reasoning that the user asks for, and what APIs and models make of it.
//!
//! Pure. An API takes a level or a number of tokens. Where the user gave the other one, it is converted. Without a request
//! of the user nothing is sent, and the default of the model applies.

use serde::{Deserialize, Serialize};

use crate::model_thinking::{ModelThinking, ThinkingForm, ThinkingOff};

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
    /// The level.
    pub effort: Option<Effort>,
    /// The maximum number of tokens for reasoning before an answer.
    pub budget: Option<u32>,
}

impl Reasoning {
    /// The default of the model.
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
    pub(crate) fn over_messages(self, thinking: &ModelThinking, max_tokens: u32) -> Option<MessagesThinking> {
        let alone = |thinking| Some(MessagesThinking { thinking, output_config: None });
        match thinking.form {
            Some(ThinkingForm::None) => None,
            Some(ThinkingForm::Adaptive) => match (self.level()?, thinking.off) {
                (Effort::None, Some(ThinkingOff::BetweenTools)) => alone(Thinking::BetweenTools),
                (Effort::None, _) => alone(Thinking::Disabled),
                (effort, _) => {
                    let output_config = Some(OutputConfig { effort });
                    Some(MessagesThinking { thinking: Thinking::Adaptive, output_config })
                }
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
            | None => {
                match self.tokens()? {
                    // A model with a number of tokens thinks only if it is asked to.
                    0 if thinking.form == Some(ThinkingForm::Budget) => None,
                    0 => alone(Thinking::Disabled),
                    // A part of the limit stays for the answer.
                    tokens => {
                        let most = max_tokens.saturating_sub(MIN_THINKING_TOKENS);
                        let budget_tokens = tokens.max(MIN_THINKING_TOKENS).min(most);
                        alone(Thinking::Enabled { budget_tokens })
                            .filter(|_| budget_tokens >= MIN_THINKING_TOKENS)
                    }
                }
            }
        }
    }
}

/// The smallest number of tokens that the Messages API accepts.
const MIN_THINKING_TOKENS: u32 = 1024;

/// The settings of thinking in the Messages API, as keys of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MessagesThinking {
    thinking: Thinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct OutputConfig {
    effort: Effort,
}

/// The value of `thinking` in the Messages API and in those that have taken it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Thinking {
    Adaptive,
    BetweenTools,
    Enabled { budget_tokens: u32 },
    Disabled,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model_table::known_model;

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, max_tokens: u32, expect: Value) {
        let thinking = known_model(model).map(|known| known.thinking).unwrap_or_default();
        let reasoning = thinking.accepted(Reasoning { effort, budget });
        let found = reasoning.over_messages(&thinking, max_tokens);
        assert_eq!(serde_json::to_value(found).unwrap(), expect, "{model} {effort:?} {budget:?}");
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
        check("claude-sonnet-5-5", None, None, 9000, Value::Null);
        check("global.anthropic.claude-sonnet-5-5", Some(Effort::Low), None, 9000, adaptive("low"));
        check("claude-sonnet-6", Some(Effort::Max), None, 9000, adaptive("max"));
        check("claude-sonnet-4-5", Some(Effort::Low), None, 32_000, tokens(4096));
        check("claude-sonnet-4-5", Some(Effort::Low), Some(8000), 32_000, tokens(8000));
        check("claude-sonnet-4-5", None, Some(10), 32_000, tokens(1024));
        check("claude-sonnet-4-5", Some(Effort::Max), None, 32_000, tokens(30_976));
        check("claude-sonnet-4-5", Some(Effort::High), None, 2000, Value::Null);
        check("claude-sonnet-4-5", Some(Effort::None), Some(8000), 32_000, Value::Null);
        check("a-model-of-a-server", Some(Effort::None), None, 9000, alone("disabled"));
        check("a-model-of-a-server", None, None, 9000, Value::Null);
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
