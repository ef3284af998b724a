//! A row of the table, as the file has it.

use serde::{Serialize, Serializer};

/// A current model.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Row {
    pub(super) provider: &'static str,
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prices: Option<RowPrices>,
    /// Prices of prompts above a number of tokens, from the lowest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tiers: Vec<Tier>,
    /// The price of a request of a batch, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) batch_percent: Option<u64>,
    /// The number of images in a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_images: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) has: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lacks: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wire: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache: Option<String>,
    /// The form in which a request asks for an answer that matches a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<String>,
    /// Rules for the parts of a request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rules: Vec<String>,
    /// The role of instructions that follow later in a conversation: `system` or `developer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instruction_role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) successor: Option<String>,
    /// The sources: `litellm`, `pi-ai`, `both`, or `override` for a model that no source has.
    pub(super) source: &'static str,
}

/// A retired model, for hints.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RetiredRow {
    pub(super) provider: &'static str,
    pub(super) id: String,
    pub(super) retires: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) successor: Option<String>,
}

/// The settings of thinking that a model accepts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Thinking {
    /// `adaptive`, `budget`, `levels`, `object`, `switch`, `zai`, `together`, `nova` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<String>,
    /// The way to switch thinking off: `disabled`, `between_tools`, `level`; absent where nothing switches it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) off: Option<String>,
    /// The accepted levels, without `none`; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<String>,
    /// Whether a thinking block is bound to the system prompt, the tools and the messages before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) bound: bool,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct RowPrices {
    pub(super) input: Dollars,
    pub(super) output: Dollars,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_read: Option<Dollars>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_write: Option<Dollars>,
    /// A write that lives for an hour or longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_write_long: Option<Dollars>,
}

/// Prices of a prompt of more than `above` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Tier {
    pub(super) above: u64,
    #[serde(flatten)]
    pub(super) prices: RowPrices,
}

/// An amount. A whole one is written without a fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Dollars(pub(super) f64);

impl Dollars {
    /// Returns dollars for a million tokens, from dollars for one.
    pub(super) fn from_token(price: f64) -> Self {
        Self((price * 1e12).round() / 1e6)
    }

    /// Whether two prices are the same but for the rounding of one of them.
    pub(super) fn is_near(self, other: Self) -> bool {
        (self.0 - other.0).abs() <= 1e-6
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 {
            true => serializer.serialize_u64(self.0 as u64),
            false => serializer.serialize_f64(self.0),
        }
    }
}
