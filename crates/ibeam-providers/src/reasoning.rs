//! The reasoning that the user asks for, and what APIs and models make of it.
//!
//! Pure. An API takes a level or a number of tokens. Where the user gave the other one, it is converted. Without a request
//! of the user nothing is sent, and the default of the model applies.

use serde::{Deserialize, Serialize};

use crate::model_table::bare_name;

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

    /// Returns the settings of a Claude model, which has `max_tokens` for reasoning and answer together.
    ///
    /// Sources: "Extended thinking", "Adaptive thinking" and "Effort" of the API reference. The models from 4.6 on decide
    /// themselves how long they think, and later ones reject a number of tokens; earlier ones have only that number.
    pub(crate) fn of_claude(self, model: &str, max_tokens: u32) -> Option<ClaudeReasoning> {
        let is_claude = model.contains("claude");
        let version = claude_version(model);
        // A name without a version is that of a later family.
        if is_claude && version.is_none_or(|version| version >= FIRST_ADAPTIVE) {
            let effort = match self.level()? {
                // Without the settings a model does not think, or it always does.
                Effort::None => return None,
                Effort::Minimal => Effort::Low,
                Effort::XHigh if version == Some(FIRST_ADAPTIVE) => Effort::High,
                effort => effort,
            };
            let output_config = Some(OutputConfig { effort });
            return Some(ClaudeReasoning { thinking: Thinking::Adaptive, output_config });
        }
        let thinking = match self.tokens()? {
            0 if is_claude => return None,
            0 => Thinking::Disabled,
            // A part of the limit stays for the answer.
            tokens => {
                let most = max_tokens.saturating_sub(MIN_CLAUDE_TOKENS);
                let budget_tokens = tokens.max(MIN_CLAUDE_TOKENS).min(most);
                if budget_tokens < MIN_CLAUDE_TOKENS {
                    return None;
                }
                Thinking::Enabled { budget_tokens }
            }
        };
        Some(ClaudeReasoning { thinking, output_config: None })
    }
}

/// The first version of Claude that decides itself how long it thinks.
const FIRST_ADAPTIVE: (u32, u32) = (4, 6);

/// The smallest number of tokens that the Messages API accepts.
const MIN_CLAUDE_TOKENS: u32 = 1024;

/// The settings of a Claude model, as keys of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ClaudeReasoning {
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
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Thinking {
    Adaptive,
    Enabled { budget_tokens: u32 },
    Disabled,
}

/// Returns the version in `claude-opus-4-6`, `claude-3-7-sonnet-20250219` and `eu.anthropic.claude-sonnet-4-5-…-v1:0`.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude-")?;
    let mut numbers = name
        .split(['-', '.', '@', ':'])
        .skip_while(|part| part.parse::<u32>().is_err())
        .map_while(|part| part.parse().ok().filter(|_| part.len() <= 2));
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Returns the version in `gpt-5.6-codex` or `gemini-2.5-pro`, whose names start with `family`.
pub(crate) fn family_version(model: &str, family: &str) -> Option<(u32, u32)> {
    let number = bare_name(model).strip_prefix(family)?.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn versions_of_claude_are_found_in_every_form_of_a_name() {
        for (model, expect) in [
            ("claude-opus-4-6", Some((4, 6))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-sonnet-4-5@20250929", Some((4, 5))),
            ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((4, 5))),
            ("anthropic.claude-opus-4-6-v1", Some((4, 6))),
            ("anthropic/claude-sonnet-4.5", Some((4, 5))),
            ("claude-mythos-preview", None),
            ("glm-4.6", None),
        ] {
            assert_eq!(claude_version(model), expect, "{model}");
        }
    }

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, budget: Option<u32>, max_tokens: u32, expect: Value) {
        let found = Reasoning { effort, budget }.of_claude(model, max_tokens);
        assert_eq!(serde_json::to_value(found).unwrap(), expect, "{model} {effort:?} {budget:?}");
    }

    #[test]
    fn a_claude_model_gets_the_form_of_its_version() {
        let adaptive = |effort: &str| json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": effort } });
        let tokens = |budget: u32| json!({ "thinking": { "type": "enabled", "budget_tokens": budget } });
        check("claude-opus-4-6", Some(Effort::Minimal), None, 9000, adaptive("low"));
        check("claude-opus-4-6", Some(Effort::XHigh), None, 9000, adaptive("high"));
        check("claude-opus-4-7", Some(Effort::XHigh), Some(5000), 9000, adaptive("xhigh"));
        check("claude-opus-5", None, Some(5000), 9000, adaptive("low"));
        check("claude-opus-5", Some(Effort::None), None, 9000, Value::Null);
        check("claude-sonnet-4-5", Some(Effort::Low), None, 32_000, tokens(4096));
        check("claude-sonnet-4-5", Some(Effort::Low), Some(8000), 32_000, tokens(8000));
        check("claude-sonnet-4-5", None, Some(10), 32_000, tokens(1024));
        check("claude-sonnet-4-5", Some(Effort::Max), None, 32_000, tokens(30_976));
        check("claude-sonnet-4-5", Some(Effort::High), None, 2000, Value::Null);
        check("claude-sonnet-4-5", Some(Effort::None), Some(8000), 32_000, Value::Null);
        check("glm-4.6", Some(Effort::None), None, 9000, json!({ "thinking": { "type": "disabled" } }));
        check("glm-4.6", None, None, 9000, Value::Null);
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
