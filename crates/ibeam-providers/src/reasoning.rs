//! The reasoning that the user asks for.
//!
//! Pure. An API takes a level or a number of tokens. Where the user gave the other one, it is converted. Without a request
//! of the user nothing is sent, and the default of the model applies.

use serde::{Deserialize, Serialize};

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
}

#[cfg(test)]
mod tests {
    use super::*;

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
