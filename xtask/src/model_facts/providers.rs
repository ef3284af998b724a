//! The providers of the table, and where the sources have their models.

/// A provider, as the program and both sources name it.
pub(super) struct ProviderSource {
    /// The name in the program.
    pub(super) name: &'static str,
    /// The values of `litellm_provider`.
    pub(super) litellm: &'static [&'static str],
    /// The start of an id in litellm that is not part of the id.
    pub(super) litellm_prefix: &'static str,
    /// The file of pi-ai without its extension; `None` if pi-ai does not have the provider.
    pub(super) pi_ai: Option<&'static str>,
    /// The form in which the API of the provider asks for thinking.
    pub(super) thinking: ThinkingApi,
}

/// The form in which an API asks for thinking. Models of one API may still differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingApi {
    /// The Messages API: adaptive, or a number of tokens.
    Messages,
    /// The Gemini API: levels, or a number of tokens.
    Gemini,
    /// Words for levels.
    Levels,
    /// Converse: `Messages` for models whose id names Anthropic. The other models have overrides.
    Converse,
}

const fn provider(
    name: &'static str,
    litellm: &'static [&'static str],
    litellm_prefix: &'static str,
    pi_ai: Option<&'static str>,
    thinking: ThinkingApi,
) -> ProviderSource {
    ProviderSource { name, litellm, litellm_prefix, pi_ai, thinking }
}

/// The providers, in the order of the table.
pub(super) const PROVIDERS: &[ProviderSource] = &[
    provider("anthropic", &["anthropic"], "", Some("anthropic"), ThinkingApi::Messages),
    provider("openai", &["openai"], "", Some("openai"), ThinkingApi::Levels),
    provider("gemini", &["gemini"], "gemini/", Some("google"), ThinkingApi::Gemini),
    provider(
        "vertex",
        &["vertex_ai", "vertex_ai-language-models"],
        "vertex_ai/",
        Some("google-vertex"),
        ThinkingApi::Gemini,
    ),
    provider("openrouter", &["openrouter"], "openrouter/", Some("openrouter"), ThinkingApi::Levels),
    provider(
        "bedrock",
        &["bedrock_converse", "bedrock"],
        "bedrock/",
        Some("amazon-bedrock"),
        ThinkingApi::Converse,
    ),
    provider("vertex-anthropic", &["vertex_ai-anthropic_models"], "vertex_ai/", None, ThinkingApi::Messages),
    provider("groq", &["groq"], "groq/", Some("groq"), ThinkingApi::Levels),
    provider("deepseek", &["deepseek"], "deepseek/", Some("deepseek"), ThinkingApi::Levels),
    provider("mistral", &["mistral"], "mistral/", Some("mistral"), ThinkingApi::Levels),
    provider("xai", &["xai"], "xai/", Some("xai"), ThinkingApi::Levels),
    provider("together", &["together_ai"], "together_ai/", Some("together"), ThinkingApi::Levels),
    provider("fireworks", &["fireworks_ai"], "fireworks_ai/", Some("fireworks"), ThinkingApi::Levels),
    provider("cerebras", &["cerebras"], "cerebras/", Some("cerebras"), ThinkingApi::Levels),
    provider("zai", &["zai"], "zai/", Some("zai"), ThinkingApi::Levels),
    provider("moonshot", &["moonshot"], "moonshot/", Some("moonshotai"), ThinkingApi::Levels),
    provider("minimax", &["minimax"], "minimax/", Some("minimax"), ThinkingApi::Messages),
    provider("dashscope", &["dashscope"], "dashscope/", None, ThinkingApi::Levels),
    provider("meta", &["meta"], "meta/", Some("meta"), ThinkingApi::Levels),
    // A server of the user has any models; only what no source has is in the overrides.
    provider("ollama", &[], "", None, ThinkingApi::Levels),
    provider("ollama-cloud", &[], "", None, ThinkingApi::Levels),
    provider("cohere", &["cohere_chat"], "", None, ThinkingApi::Levels),
];
