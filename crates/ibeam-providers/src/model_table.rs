//! The models that are known by name, as data: what people call them and how much they take.
//!
//! A model that is not in the table works all the same; its id is then its label. The figures are defaults, not
//! limits of ours: `limits.max_output_tokens` and `models.display` of the configuration override them.

/// What is known of a model. Token figures are the most the model takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The id, without a date.
    pub id: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The service that makes it; others may offer it too.
    pub provider: &'static str,
    /// Tokens of prompt and answer together.
    pub context_window: u32,
    /// The output limit to ask for by default.
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
    model("groq", "llama-3.3-70b-versatile", "Llama 3.3 70B", 131_072, 32_768),
    model("groq", "llama-3.1-8b-instant", "Llama 3.1 8B", 131_072, 131_072),
    model("groq", "openai/gpt-oss-120b", "GPT-OSS 120B", 131_072, 65_536),
    model("groq", "openai/gpt-oss-20b", "GPT-OSS 20B", 131_072, 65_536),
];

/// What a provider is asked for when nobody says which model: its best for this work at a usual price.
const DEFAULTS: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("groq", "openai/gpt-oss-120b"),
    ("deepseek", "deepseek-chat"),
    ("mistral", "devstral-medium-latest"),
    ("xai", "grok-code-fast-1"),
    ("together", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"),
];

/// The id of the model to use with a provider when nobody names one; `None` where only its user can know.
pub fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULTS.iter().find(|(name, _)| *name == provider).map(|(_, model)| *model)
}

/// The id of the newest model of a provider whose id holds `word`, a family's name such as `opus`.
pub fn newest_model(provider: &str, word: &str) -> Option<&'static str> {
    MODELS.iter().find(|model| model.provider == provider && model.id.contains(word)).map(|model| model.id)
}

/// The entry for a model's id, with or without a date, `-latest`, or a maker before a slash.
pub fn known_model(id: &str) -> Option<&'static KnownModel> {
    let find = |id: &str| MODELS.iter().find(|model| model.id == id);
    let undated = without_date(id);
    let bare = undated.rsplit('/').next().unwrap_or(undated);
    find(id).or_else(|| find(undated)).or_else(|| find(bare))
}

/// The name of a model for people; the id itself where nothing else is known.
pub fn model_label(id: &str) -> &str {
    known_model(id).map_or(id, |model| model.label)
}

/// `x` of `x-20250514`, `x-2025-04-14`, `x-2411`, `x-latest` and `x-0`.
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
    fn a_known_model_has_its_makers_name_with_and_without_a_date() {
        check("claude-sonnet-4-20250514", "Claude 4 Sonnet");
        check("claude-sonnet-4-0", "Claude 4 Sonnet");
        check("claude-sonnet-4-5", "Claude 4.5 Sonnet");
        check("claude-haiku-4-5-20251001", "Claude 4.5 Haiku");
        check("claude-3-7-sonnet-latest", "Claude 3.7 Sonnet");
        check("gpt-4.1-2025-04-14", "GPT-4.1");
        check("mistral-large-2411", "Mistral Large");
        check("anthropic/claude-opus-4-1", "Claude 4.1 Opus");
        check("openai/gpt-oss-20b", "GPT-OSS 20B");
    }

    #[test]
    fn an_unknown_model_is_called_by_its_id() {
        check("qwen2.5-coder:7b", "qwen2.5-coder:7b");
        check("claude-sonnet-99", "claude-sonnet-99");
        check("", "");
    }

    #[test]
    fn every_maker_is_a_service_and_no_id_comes_twice() {
        for (position, model) in MODELS.iter().enumerate() {
            assert!(crate::provider_table::known_provider(model.provider).is_some(), "{}", model.provider);
            assert!(MODELS.iter().skip(position + 1).all(|other| other.id != model.id), "{}", model.id);
        }
    }
}
