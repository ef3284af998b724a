//! The facts in the catalogue of pi-ai.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::join::{Facts, Off};
use super::providers::ProviderSource;
use super::row::{Dollars, RowPrices, Tier};
use super::{ModelFactsError, read_file};

/// The levels that a model has unless its map excludes them.
const USUAL_LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];
/// The levels that a model has only if its map has them.
const RARE_LEVELS: [&str; 2] = ["xhigh", "max"];

/// The directory of the catalogue.
pub(super) struct PiAi(PathBuf);

impl PiAi {
    pub(super) fn new(package: &Path) -> Self {
        Self(package.join("package/dist/providers/data"))
    }

    /// Returns the facts of the models of a provider that converse.
    pub(super) fn models(
        &self,
        provider: &ProviderSource,
    ) -> Result<BTreeMap<String, Facts>, ModelFactsError> {
        let Some(name) = provider.pi_ai else { return Ok(BTreeMap::new()) };
        let path = self.0.join(name).with_extension("json");
        let bad = |error: serde_json::Error| ModelFactsError::Content {
            path: path.clone(),
            detail: error.to_string(),
        };
        let apis: Map<String, Value> = serde_json::from_str(&read_file(&path)?).map_err(bad)?;
        let mut models = BTreeMap::new();
        for entry in apis.values().filter_map(Value::as_object).flat_map(Map::values) {
            let Some(id) = entry.get("id").and_then(Value::as_str) else { continue };
            if entry.get("type").is_some_and(|kind| kind == "chat") {
                models.insert(id.to_owned(), facts(entry));
            }
        }
        Ok(models)
    }
}

fn facts(entry: &Value) -> Facts {
    let size = |name: &str| entry.get(name).and_then(Value::as_u64).filter(|size| *size > 0);
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let accepts = |kind: &str| {
        let list = entry.get("input").and_then(Value::as_array)?;
        Some(list.iter().any(|input| input == kind))
    };
    let compat = |name: &str| entry.pointer(&format!("/compat/{name}"));
    let form = match compat("thinkingFormat").and_then(Value::as_str) {
        Some("deepseek") => Some("switch"),
        Some("zai") => Some("zai"),
        Some("together") => Some("together"),
        Some(_) | None => None,
    };
    let has_switch = compat("thinkingFormat").is_some_and(|form| form != "openai");
    // A model with a switch only has no levels.
    let has_no_levels = compat("supportsReasoningEffort").is_some_and(|has| has == false);
    let rules = [
        ("zaiToolStream", "tool_stream"),
        ("requiresReasoningContentOnAssistantMessages", "reasoning_content"),
        ("supportsAdditionalTools", "added_tools"),
        ("supportsMidConvoToolChanges", "added_tools"),
    ];
    let is_responses = text("api") == Some("openai-responses");
    // The Messages API takes another level at any time: it is not a part of the prefix.
    let effort_updates = compat("supportsMidConvoEffort")
        .is_some_and(|has| has == true && is_responses)
        .then_some("effort_updates");
    let reasons = entry.get("reasoning").and_then(Value::as_bool);
    let map = entry.get("thinkingLevelMap").and_then(Value::as_object);
    Facts {
        label: text("name").map(label),
        context_window: size("contextWindow"),
        max_output_tokens: size("maxTokens"),
        prices: entry.get("cost").and_then(prices),
        tiers: tiers(entry),
        batch_percent: None,
        max_images: entry.pointer("/inputLimits/images/maxPerRequest").and_then(Value::as_u64),
        // Every model of the catalogue is one for agents.
        abilities: [("tools", Some(true)), ("images", accepts("image")), ("reasoning", reasons)].into(),
        levels: if has_no_levels { Some(Vec::new()) } else { map.map(levels) },
        off: match map.and_then(|map| map.get("off")) {
            Some(Value::Null) => Some(Off::Impossible),
            Some(_) if form.is_none() => Some(Off::Level),
            Some(_) | None => has_switch.then_some(Off::Disabled),
        },
        level_ceiling: None,
        form,
        default_level: None,
        is_adaptive: Some(compat("forceAdaptiveThinking").is_some_and(|force| force == true)),
        is_responses: is_responses && reasons == Some(true),
        lacks_chat: false,
        has_breakpoints: compat("supportsExplicitPromptCacheMode").is_some_and(|has| has == true),
        has_later_system: false,
        has_messages_api: text("api") == Some("anthropic-messages"),
        has_output_format: None,
        has_converse_output_format: None,
        rules: rules
            .iter()
            .filter(|(name, _)| compat(name).is_some_and(|has| has == true))
            .map(|(_, rule)| *rule)
            .chain(effort_updates)
            .map(str::to_owned)
            .collect(),
        retires: None,
        successor: None,
    }
}

/// Returns the name of a model without its maker and the kind of its id.
fn label(name: &str) -> String {
    let name = name.split_once(": ").map_or(name, |(_, name)| name);
    name.trim_end_matches(" (latest)").to_owned()
}

/// Returns the prices; `None` where all are zero, which stands for unknown.
fn prices(cost: &Value) -> Option<RowPrices> {
    let price =
        |name: &str| cost.get(name).and_then(Value::as_f64).map(|price| Dollars((price * 1e6).round() / 1e6));
    let some = |name: &str| price(name).filter(|price| price.0 > 0.0);
    let (input, output) = (price("input")?, price("output")?);
    (input.0 > 0.0 || output.0 > 0.0).then(|| RowPrices {
        input,
        output,
        cache_read: some("cacheRead"),
        cache_write: some("cacheWrite"),
        cache_write_long: None,
    })
}

fn tiers(entry: &Value) -> Vec<Tier> {
    let tiers = entry.pointer("/cost/tiers").and_then(Value::as_array).into_iter().flatten();
    tiers
        .filter_map(|tier| {
            Some(Tier { above: tier.get("inputTokensAbove")?.as_u64()?, prices: prices(tier)? })
        })
        .collect()
}

/// Returns the levels that are sent under their own names.
fn levels(map: &Map<String, Value>) -> Vec<String> {
    let is_own_name =
        |level: &str, value: &Value| value.as_str().is_some_and(|value| value.eq_ignore_ascii_case(level));
    let usual =
        USUAL_LEVELS.iter().filter(|level| map.get(**level).is_none_or(|value| is_own_name(level, value)));
    let rare =
        RARE_LEVELS.iter().filter(|level| map.get(**level).is_some_and(|value| is_own_name(level, value)));
    usual.chain(rare).map(|level| (*level).to_owned()).collect()
}
