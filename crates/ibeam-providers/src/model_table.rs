//! The model table: display names, sizes, prices and abilities of known models, from `data/models.jsonl`.
//!
//! A model that is not in the table works too; its label is its id. The configuration overrides the facts of the table:
//! `models.display`, `models.context`, `models.prices`, `limits.max_output_tokens`.

use ibeam_core::Prices;
use serde::Deserialize;

/// The data file: one JSON object per line, newest first within a provider. Parsed line by line on demand, so that a
/// run parses only the line of its model.
const DATA: &str = include_str!("../data/models.jsonl");

/// An entry of the model table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The id, without a date.
    pub id: &'static str,
    /// The provider that developed the model. Other providers may offer it too.
    pub provider: &'static str,
    /// The display name.
    pub label: &'static str,
    /// The maximum size of input and output together, in tokens.
    pub context_window: u32,
    /// The output limit of an answer, in tokens; `None` if it is unknown.
    pub max_output_tokens: Option<u32>,
    /// The list prices; `None` if they are unknown or depend on the length of the prompt.
    #[serde(default)]
    list_prices: Option<ListPrices>,
    /// The abilities of the model.
    #[serde(default)]
    pub abilities: Abilities,
    /// The source of the facts.
    pub source: &'static str,
    /// The day on which the source was read, `YYYY-MM-DD`.
    pub date: &'static str,
}

/// The abilities of a model. `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abilities {
    /// Whether the model calls tools.
    pub tools: Option<bool>,
    /// Whether the model accepts images.
    pub images: Option<bool>,
    /// Whether the model reasons before it answers.
    pub reasoning: Option<bool>,
    /// Whether the service can force an answer into a JSON schema.
    pub structured_output: Option<bool>,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListPrices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl KnownModel {
    /// Returns the list prices; `None` if they are unknown. Without a price of its own, the cache costs the same as the
    /// input.
    pub fn prices(&self) -> Option<Prices> {
        let ListPrices { input, output, cache_read, cache_write } = self.list_prices?;
        let (read, write) = (cache_read.unwrap_or(input), cache_write.unwrap_or(input));
        Some(crate::prices::prices_from_dollars([input, output, read, write]))
    }
}

/// Returns the entries of the table.
pub fn known_models() -> impl Iterator<Item = KnownModel> {
    DATA.lines().filter_map(parse_line)
}

/// Parses a line of the data file. A test parses every line.
fn parse_line(line: &'static str) -> Option<KnownModel> {
    serde_json::from_str(line).ok()
}

/// Returns the id in a line of the data file, its first value.
fn line_id(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("{\"id\": \"")?;
    rest.get(..memchr::memchr(b'"', rest.as_bytes())?)
}

/// The default model of each provider: its best one for coding at a moderate price.
const DEFAULT_MODELS: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5"),
    // The alias of the newest stable model of its kind.
    ("gemini", "gemini-flash-latest"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("vertex-anthropic", "claude-sonnet-4-5@20250929"),
    ("groq", "openai/gpt-oss-120b"),
    ("deepseek", "deepseek-chat"),
    ("mistral", "devstral-medium-latest"),
    ("xai", "grok-code-fast-1"),
    ("together", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"),
    ("cohere", "command-a-03-2025"),
];

/// Returns the id of the default model of a provider; `None` if the models depend on the user's installation.
pub fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULT_MODELS.iter().find(|(name, _)| *name == provider).map(|(_, model)| *model)
}

/// Returns the id of the newest model of a provider whose id contains `family`, such as `opus`.
pub fn newest_model(provider: &str, family: &str) -> Option<&'static str> {
    known_models().find(|model| model.provider == provider && model.id.contains(family)).map(|model| model.id)
}

/// Returns the entry for a model id, which may have a date, `-latest`, a maker before a slash, or the form of a cloud.
pub fn known_model(id: &str) -> Option<KnownModel> {
    let bare = bare_name(id);
    let candidates = [id, without_date(id), bare, without_date(without_cloud(bare))];
    candidates.iter().enumerate().find_map(|(position, candidate)| {
        let is_new = !candidates.iter().take(position).any(|earlier| earlier == candidate);
        is_new.then(|| find_line(candidate)).flatten().and_then(parse_line)
    })
}

/// Returns the line of the data file with this id.
fn find_line(id: &str) -> Option<&'static str> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', DATA.as_bytes()).find_map(|end| {
        let line = DATA.get(start..end)?;
        start = end + 1;
        (line_id(line) == Some(id)).then_some(line)
    })
}

/// Returns `x` for `x@20250929`, the form of Vertex AI, and for `eu.anthropic.x-v1:0`, the form of Amazon Bedrock.
fn without_cloud(id: &str) -> &str {
    let (id, _) = id.split_once('@').unwrap_or((id, ""));
    let (_, id) = id.rsplit_once("anthropic.").unwrap_or(("", id));
    match id.rsplit_once("-v") {
        Some((model, version)) if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') => model,
        Some(_) | None => id,
    }
}

/// Returns the display name of a model, or its id if the model is unknown.
pub fn model_label(id: &str) -> &str {
    known_model(id).map_or(id, |model| model.label)
}

/// Whether OpenAI offers a model only over its Responses API. The name may have a maker before a slash, and a date.
pub(crate) fn is_exclusive_to_responses(id: &str) -> bool {
    let name = bare_name(id);
    let is_codex = name.contains("codex") && (name.starts_with("gpt-") || name.starts_with("codex-"));
    is_codex
        || (name.ends_with("-pro") && ["gpt-5", "o1", "o3"].iter().any(|family| name.starts_with(family)))
}

/// Whether a model is one of OpenAI's that reason, by its name.
pub(crate) fn is_openai_reasoning_model(id: &str) -> bool {
    let name = bare_name(id);
    let is_family = ["gpt-5", "o1", "o3", "o4"].iter().any(|family| name.starts_with(family));
    is_family && !name.contains("-chat")
}

/// Returns the name of a model without its maker and date.
pub(crate) fn bare_name(id: &str) -> &str {
    let undated = without_date(id);
    undated.rsplit('/').next().unwrap_or(undated)
}

/// Returns `x` for `x-20250514`, `x-2025-04-14`, `x-2411`, `x-latest` and `x-0`.
fn without_date(id: &str) -> &str {
    let tail_from = |digits: &[usize]| {
        let mut rest = id;
        for count in digits {
            let (head, tail) = rest.rsplit_once('-')?;
            if tail.len() != *count || !tail.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            rest = head;
        }
        Some(rest)
    };
    id.strip_suffix("-latest")
        .or_else(|| tail_from(&[8]))
        .or_else(|| tail_from(&[2, 2, 4]))
        .or_else(|| tail_from(&[4]))
        .or_else(|| id.strip_suffix("-0"))
        .unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_default_model() {
        let page = include_str!("../../../docs/getting-started.md");
        for (provider, model) in DEFAULT_MODELS {
            assert!(page.contains(&format!("| `{provider}` | `{model}` |")), "{provider}");
        }
    }

    #[track_caller]
    fn check(id: &str, label: &str) {
        assert_eq!(model_label(id), label);
    }

    #[test]
    fn a_known_model_has_its_display_name_with_and_without_a_date() {
        check("claude-sonnet-4-20250514", "Claude 4 Sonnet");
        check("claude-sonnet-4-0", "Claude 4 Sonnet");
        check("claude-sonnet-4-5", "Claude 4.5 Sonnet");
        check("claude-haiku-4-5-20251001", "Claude 4.5 Haiku");
        check("claude-3-7-sonnet-latest", "Claude 3.7 Sonnet");
        check("gpt-4.1-2025-04-14", "GPT-4.1");
        check("mistral-large-2411", "Mistral Large");
        check("anthropic/claude-opus-4-1", "Claude 4.1 Opus");
        check("openai/gpt-oss-20b", "GPT-OSS 20B");
        check("claude-sonnet-4-5@20250929", "Claude 4.5 Sonnet");
        check("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "Claude 4.5 Haiku");
        check("anthropic.claude-3-5-sonnet-20241022-v2:0", "Claude 3.5 Sonnet");
        check("global.anthropic.claude-opus-4-5-v1", "Claude 4.5 Opus");
    }

    #[test]
    fn openai_models_that_reason_are_known_by_their_names() {
        for id in [
            "gpt-5-codex",
            "gpt-5.1-codex-max",
            "openai/gpt-5-codex",
            "codex-mini-latest",
            "o3-pro-2025-06-10",
        ] {
            assert!(is_exclusive_to_responses(id), "{id}");
        }
        for id in ["gpt-5", "o3", "gpt-4.1", "gemini-2.5-pro", "my-codex", "gpt-5-mini"] {
            assert!(!is_exclusive_to_responses(id), "{id}");
        }
        for id in ["gpt-5", "gpt-5-mini-2025-08-07", "o3", "o4-mini", "gpt-5.4"] {
            assert!(is_openai_reasoning_model(id), "{id}");
        }
        for id in ["gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "llama-3.3-70b-versatile"] {
            assert!(!is_openai_reasoning_model(id), "{id}");
        }
    }

    #[test]
    fn the_label_of_an_unknown_model_is_its_id() {
        check("qwen2.5-coder:7b", "qwen2.5-coder:7b");
        check("claude-sonnet-99", "claude-sonnet-99");
        check("us.amazon.nova-pro-v1:0", "us.amazon.nova-pro-v1:0");
        check("", "");
    }

    #[test]
    fn every_maker_is_a_provider_and_ids_are_unique() {
        for (position, model) in known_models().enumerate() {
            assert!(crate::provider_table::known_provider(model.provider).is_some(), "{}", model.provider);
            assert!(known_models().skip(position + 1).all(|other| other.id != model.id), "{}", model.id);
        }
    }

    #[test]
    fn every_line_of_the_data_file_is_an_entry_with_a_source_and_a_date() {
        for line in DATA.lines() {
            let model: KnownModel =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(line_id(line), Some(model.id));
            assert_eq!(find_line(model.id), Some(line));
            assert!(model.context_window > 0 && model.max_output_tokens != Some(0), "{line}");
            assert!(model.prices().is_none_or(|prices| prices.input > 0 && prices.output > 0), "{line}");
            let date: Vec<usize> = model.date.split('-').map(str::len).collect();
            assert!(date == [4, 2, 2] && !model.source.is_empty(), "{line}");
        }
    }
}
