//! The model table: display names and sizes of known models.
//!
//! A model that is not in the table works too; its label is its id. The sizes are defaults, not limits:
//! `limits.max_output_tokens` and `models.display` of the configuration override them.

/// An entry of the model table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The id, without a date.
    pub id: &'static str,
    /// The display name.
    pub label: &'static str,
    /// The provider that makes the model. Other providers may offer it too.
    pub provider: &'static str,
    /// The maximum size of input and output together, in tokens.
    pub context_window: u32,
    /// The default output limit, in tokens.
    pub max_output_tokens: u32,
}

const fn model(
    provider: &'static str,
    id: &'static str,
    label: &'static str,
    context_window: u32,
    max_output_tokens: u32,
) -> KnownModel {
    KnownModel { id, label, provider, context_window, max_output_tokens }
}

/// The table, newest first within a provider.
pub const MODELS: &[KnownModel] = &[
    model("anthropic", "claude-opus-4-5", "Claude 4.5 Opus", 200_000, 32_000),
    model("anthropic", "claude-sonnet-4-5", "Claude 4.5 Sonnet", 200_000, 32_000),
    model("anthropic", "claude-haiku-4-5", "Claude 4.5 Haiku", 200_000, 32_000),
    model("anthropic", "claude-opus-4-1", "Claude 4.1 Opus", 200_000, 32_000),
    model("anthropic", "claude-opus-4", "Claude 4 Opus", 200_000, 32_000),
    model("anthropic", "claude-sonnet-4", "Claude 4 Sonnet", 200_000, 32_000),
    model("anthropic", "claude-3-7-sonnet", "Claude 3.7 Sonnet", 200_000, 32_000),
    model("anthropic", "claude-3-5-sonnet", "Claude 3.5 Sonnet", 200_000, 8_192),
    model("anthropic", "claude-3-5-haiku", "Claude 3.5 Haiku", 200_000, 8_192),
    model("openai", "gpt-5.1-codex", "GPT-5.1-Codex", 400_000, 128_000),
    model("openai", "gpt-5.1-codex-mini", "GPT-5.1-Codex mini", 400_000, 128_000),
    model("openai", "gpt-5.1", "GPT-5.1", 400_000, 128_000),
    model("openai", "gpt-5-codex", "GPT-5-Codex", 400_000, 128_000),
    model("openai", "gpt-5", "GPT-5", 400_000, 128_000),
    model("openai", "gpt-5-mini", "GPT-5 mini", 400_000, 128_000),
    model("openai", "gpt-5-nano", "GPT-5 nano", 400_000, 128_000),
    model("openai", "gpt-4.1", "GPT-4.1", 1_047_576, 32_768),
    model("openai", "gpt-4.1-mini", "GPT-4.1 mini", 1_047_576, 32_768),
    model("openai", "gpt-4.1-nano", "GPT-4.1 nano", 1_047_576, 32_768),
    model("openai", "gpt-4o", "GPT-4o", 128_000, 16_384),
    model("openai", "gpt-4o-mini", "GPT-4o mini", 128_000, 16_384),
    model("openai", "o3", "o3", 200_000, 100_000),
    model("openai", "o4-mini", "o4-mini", 200_000, 100_000),
    model("gemini", "gemini-3.1-pro-preview", "Gemini 3.1 Pro", 1_048_576, 65_536),
    model("gemini", "gemini-3-pro-preview", "Gemini 3 Pro", 1_048_576, 65_536),
    model("gemini", "gemini-3-flash-preview", "Gemini 3 Flash", 1_048_576, 65_536),
    model("gemini", "gemini-flash", "Gemini Flash", 1_048_576, 65_536),
    model("gemini", "gemini-2.5-pro", "Gemini 2.5 Pro", 1_048_576, 65_536),
    model("gemini", "gemini-2.5-flash", "Gemini 2.5 Flash", 1_048_576, 65_536),
    model("gemini", "gemini-2.5-flash-lite", "Gemini 2.5 Flash-Lite", 1_048_576, 65_536),
    model("gemini", "gemini-2.0-flash", "Gemini 2.0 Flash", 1_048_576, 8_192),
    model("deepseek", "deepseek-chat", "DeepSeek Chat", 128_000, 8_192),
    model("deepseek", "deepseek-reasoner", "DeepSeek Reasoner", 128_000, 65_536),
    model("mistral", "mistral-large", "Mistral Large", 131_072, 16_384),
    model("mistral", "mistral-medium", "Mistral Medium", 131_072, 16_384),
    model("mistral", "mistral-small", "Mistral Small", 131_072, 16_384),
    model("mistral", "codestral", "Codestral", 256_000, 16_384),
    model("mistral", "devstral-medium", "Devstral Medium", 131_072, 16_384),
    model("mistral", "devstral-small", "Devstral Small", 131_072, 16_384),
    model("xai", "grok-4", "Grok 4", 256_000, 32_768),
    model("xai", "grok-3", "Grok 3", 131_072, 16_384),
    model("xai", "grok-3-mini", "Grok 3 mini", 131_072, 16_384),
    model("xai", "grok-code-fast-1", "Grok Code Fast 1", 256_000, 32_768),
    model("cohere", "command-a-reasoning-08-2025", "Command A Reasoning", 256_000, 32_000),
    model("cohere", "command-a-03-2025", "Command A", 256_000, 8_000),
    model("cohere", "command-r-plus-08-2024", "Command R+", 128_000, 4_000),
    model("cohere", "command-r-08-2024", "Command R", 128_000, 4_000),
    model("cohere", "command-r7b-12-2024", "Command R7B", 128_000, 4_000),
    model("groq", "llama-3.3-70b-versatile", "Llama 3.3 70B", 131_072, 32_768),
    model("groq", "llama-3.1-8b-instant", "Llama 3.1 8B", 131_072, 131_072),
    model("groq", "openai/gpt-oss-120b", "GPT-OSS 120B", 131_072, 65_536),
    model("groq", "openai/gpt-oss-20b", "GPT-OSS 20B", 131_072, 65_536),
];

/// The default model of each provider: its best one for coding at a moderate price.
const DEFAULTS: &[(&str, &str)] = &[
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
    DEFAULTS.iter().find(|(name, _)| *name == provider).map(|(_, model)| *model)
}

/// Returns the id of the newest model of a provider whose id contains `family`, such as `opus`.
pub fn newest_model(provider: &str, family: &str) -> Option<&'static str> {
    MODELS.iter().find(|model| model.provider == provider && model.id.contains(family)).map(|model| model.id)
}

/// Returns the entry for a model id, which may have a date, `-latest`, a maker before a slash, or the form of a cloud.
pub fn known_model(id: &str) -> Option<&'static KnownModel> {
    let find = |id: &str| MODELS.iter().find(|model| model.id == id);
    let bare = bare_name(id);
    find(id)
        .or_else(|| find(without_date(id)))
        .or_else(|| find(bare))
        .or_else(|| find(without_date(without_cloud(bare))))
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
    is_codex || (name.ends_with("-pro") && ["gpt-5", "o1", "o3"].iter().any(|maker| name.starts_with(maker)))
}

/// Whether a model is one of OpenAI's that reason, by its name.
pub(crate) fn is_openai_reasoning_model(id: &str) -> bool {
    let name = bare_name(id);
    let is_family = ["gpt-5", "o1", "o3", "o4"].iter().any(|family| name.starts_with(family));
    is_family && !name.contains("-chat")
}

/// Returns the name of a model without its maker and date.
fn bare_name(id: &str) -> &str {
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
        for (position, model) in MODELS.iter().enumerate() {
            assert!(crate::provider_table::known_provider(model.provider).is_some(), "{}", model.provider);
            assert!(MODELS.iter().skip(position + 1).all(|other| other.id != model.id), "{}", model.id);
        }
    }
}
