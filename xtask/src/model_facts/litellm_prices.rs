//! The facts in the prices file of litellm.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::join::{Facts, Off};
use super::providers::ProviderSource;
use super::row::{Dollars, RowPrices, Tier};
use super::{ModelFactsError, read_file};

/// The levels that every reasoning model of litellm has unless its entry has a list.
const COMMON_LEVELS: [&str; 3] = ["low", "medium", "high"];

pub(super) struct LiteLlm(Map<String, Value>);

impl LiteLlm {
    pub(super) fn load(package: &Path) -> Result<Self, ModelFactsError> {
        let path = package.join("litellm/model_prices_and_context_window_backup.json");
        let bad = |error: serde_json::Error| ModelFactsError::Content {
            path: path.clone(),
            detail: error.to_string(),
        };
        serde_json::from_str(&read_file(&path)?).map(Self).map_err(bad)
    }

    /// Returns the facts of the models of a provider that converse.
    pub(super) fn models(&self, provider: &ProviderSource) -> BTreeMap<String, Facts> {
        let mut models = BTreeMap::new();
        for (key, entry) in &self.0 {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_chat = matches!(text("mode"), "chat" | "responses");
            if !is_chat || !provider.litellm.contains(&text("litellm_provider")) || key.starts_with("ft:") {
                continue;
            }
            let id = key.strip_prefix(provider.litellm_prefix).unwrap_or(key);
            models.entry(id.to_owned()).or_insert_with(|| facts(entry));
        }
        models
    }
}

fn facts(entry: &Value) -> Facts {
    let number = |name: &str| entry.get(name).and_then(Value::as_f64);
    let size = |name: &str| number(name).filter(|size| *size > 0.0).map(|size| size as u64);
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool);
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let endpoints: Option<Vec<&str>> = entry
        .get("supported_endpoints")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect());
    let lacks_chat =
        |list: &Vec<&str>| !list.contains(&"/v1/chat/completions") && list.contains(&"/v1/responses");
    Facts {
        label: None,
        context_window: size("max_input_tokens"),
        max_output_tokens: size("max_output_tokens"),
        prices: prices(entry, ""),
        tiers: tiers(entry),
        batch_percent: batch_percent(entry),
        max_images: None,
        abilities: [
            ("tools", flag("supports_function_calling")),
            ("images", flag("supports_vision")),
            ("documents", flag("supports_pdf_input")),
            ("reasoning", flag("supports_reasoning")),
            ("structured_output", flag("supports_response_schema")),
        ]
        .into(),
        levels: levels(entry),
        off: match (flag("thinking_always_on"), flag("supports_none_reasoning_effort")) {
            (Some(true), _) | (_, Some(false)) => Some(Off::Impossible),
            (_, Some(true)) => Some(Off::Level),
            (Some(false) | None, None) => None,
        },
        level_ceiling: text("bedrock_output_config_effort_ceiling"),
        form: None,
        default_level: text("default_reasoning_effort").filter(|level| level != "none").or_else(|| {
            // A model of Anthropic that thinks without being asked thinks much.
            let thinks = |name: &str| flag(name) == Some(true);
            let thinks = thinks("thinking_on_by_default") || thinks("thinking_always_on");
            thinks.then(|| "high".to_owned())
        }),
        is_adaptive: flag("supports_adaptive_thinking"),
        is_responses: false,
        lacks_chat: entry.get("mode").is_some_and(|mode| mode == "responses")
            || endpoints.as_ref().is_some_and(lacks_chat),
        has_breakpoints: flag("supports_prompt_cache_breakpoint").unwrap_or(false),
        has_later_system: flag("supports_mid_conversation_system").unwrap_or(false),
        has_messages_api: false,
        has_output_format: flag("supports_native_structured_output"),
        has_converse_output_format: flag("supports_bedrock_native_structured_output"),
        rules: Vec::new(),
        retires: text("deprecation_date"),
        successor: text("successor_model"),
    }
}

/// Returns the prices whose names end in `suffix`, such as `_above_200k_tokens`.
fn prices(entry: &Value, suffix: &str) -> Option<RowPrices> {
    let price = |name: &str| {
        let value = entry.get(format!("{name}{suffix}")).and_then(Value::as_f64)?;
        Some(Dollars::from_token(value))
    };
    let long_write = |hours: &str| price(&format!("cache_creation_input_token_cost_above_{hours}hr"));
    Some(RowPrices {
        input: price("input_cost_per_token")?,
        output: price("output_cost_per_token")?,
        cache_read: price("cache_read_input_token_cost"),
        cache_write: price("cache_creation_input_token_cost"),
        cache_write_long: long_write("1").or_else(|| long_write("12")),
    })
}

fn tiers(entry: &Value) -> Vec<Tier> {
    let Some(entry_fields) = entry.as_object() else { return Vec::new() };
    let above = |name: &String| -> Option<u64> {
        let thousands = name.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?;
        Some(thousands.parse::<u64>().ok()? * 1000)
    };
    let mut tiers: Vec<Tier> = entry_fields
        .keys()
        .filter_map(above)
        .filter_map(|above| {
            let prices = prices(entry, &format!("_above_{}k_tokens", above / 1000))?;
            Some(Tier { above, prices })
        })
        .collect();
    tiers.sort_by_key(|tier| tier.above);
    tiers
}

/// Returns the price of a batch in percent, if it is the same for input and output.
fn batch_percent(entry: &Value) -> Option<u64> {
    let percent = |name: &str| {
        let price = |name: String| entry.get(name).and_then(Value::as_f64).filter(|price| *price > 0.0);
        let share = price(format!("{name}_batches"))? / price(name.to_owned())?;
        Some((share * 100.0).round() as u64)
    };
    let input = percent("input_cost_per_token")?;
    (percent("output_cost_per_token")? == input).then_some(input)
}

fn levels(entry: &Value) -> Option<Vec<String>> {
    if let Some(list) = entry.get("reasoning_effort_levels").and_then(Value::as_array) {
        let words = list.iter().filter_map(Value::as_str).filter(|level| *level != "none");
        return Some(words.map(str::to_owned).collect());
    }
    let flag = |level: &str| entry.get(format!("supports_{level}_reasoning_effort")).and_then(Value::as_bool);
    let rare = ["minimal", "xhigh", "max"];
    let is_described = rare.iter().chain(&["none"]).any(|level| flag(level).is_some());
    is_described.then(|| {
        let has = |level: &&str| flag(level) == Some(true);
        let mut levels: Vec<&str> =
            rare.iter().copied().filter(|level| *level == "minimal").filter(has).collect();
        levels.extend(COMMON_LEVELS);
        levels.extend(rare.iter().copied().filter(|level| *level != "minimal").filter(has));
        levels.into_iter().map(str::to_owned).collect()
    })
}
