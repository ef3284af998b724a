//! The provider table: addresses, key variables and quirks of known providers.
//!
//! Any other service with a known wire protocol works through a base URL. Only the caller reads the environment.

use std::time::Duration;

use ibeam_core::RequestLimits;

use crate::call_id::CallIdForm;
use crate::endpoint::Timeouts;
use crate::protocol_choice::ResponsesUse;
use crate::protocols::{
    ANTHROPIC, BEDROCK, COHERE, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, VERTEX_ANTHROPIC,
    VERTEX_GEMINI,
};
use crate::wire_protocol::{MaxTokensField, Quirks, ReasoningForm, WireProtocol};
use ibeam_http::base_url::default_scheme;

/// An entry of the provider table.
#[derive(Clone, Copy, Debug)]
pub struct KnownProvider {
    /// The name in `provider/model`.
    pub name: &'static str,
    pub label: &'static str,
    pub protocol: &'static dyn WireProtocol,
    /// The models that it serves over the Responses API of OpenAI instead of `protocol`.
    pub responses: ResponsesUse,
    /// The default base URL; empty if it depends on the account of the user. `{A|B|value}` stands for the value of the
    /// environment variable `A`, else of `B`, else for `value`; see [`KnownProvider::default_base_url`].
    pub base_url: &'static str,
    /// The path for a base URL that has none; `None` for the path of the protocol.
    pub base_path: Option<&'static str>,
    /// Environment variables for its key; the first that is set applies. Empty if the provider needs no key.
    pub key_variables: &'static [&'static str],
    /// Environment variables for another base URL; the first that is set applies.
    pub base_url_variables: &'static [&'static str],
    /// Whether it serves only models of its own, whose names have no slash.
    pub has_only_own_models: bool,
    /// The beginnings of the names of the models that it develops.
    pub own_names: &'static [&'static str],
    /// Whether others serve its models too, because their weights are public.
    pub has_open_models: bool,
    /// The rule for its default model; `None` if the models depend on the user's installation.
    pub default_model: Option<DefaultModel>,
    /// The output limit for a model of its own that the model table does not have, in tokens.
    pub unknown_output_limit: Option<u32>,
    /// Its limits for the parts of a request.
    pub limits: RequestLimits,
    /// Its deviations from the protocol.
    pub quirks: Quirks,
}

/// The rule for the default model of a provider: its best one for coding at a moderate price.
///
/// A name in a rule is that of a family or of a rolling alias of the service, never that of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultModel {
    /// The newest model of a family, such as `claude-sonnet`.
    Newest(&'static str),
    /// An alias that the service moves to its newest model, or a model without successors so far.
    Alias(&'static str),
}

/// The values that most entries share.
const TEMPLATE: KnownProvider = KnownProvider {
    name: "",
    label: "",
    protocol: OPENAI_CHAT,
    responses: ResponsesUse::Never,
    base_url: "",
    base_path: None,
    key_variables: &[],
    base_url_variables: &[],
    has_only_own_models: false,
    own_names: &[],
    has_open_models: false,
    default_model: None,
    unknown_output_limit: None,
    limits: NO_LIMITS,
    quirks: Quirks::DEFAULT,
};

const NO_LIMITS: RequestLimits =
    RequestLimits { tools: None, images: None, documents: None, image_side: None, image_side_of_many: None };

/// Source: "Vision" of the documentation of Anthropic, read on 2026-11-29. The lower number of images is that of models with
/// a context window of 200,000 tokens.
const CLAUDE_LIMITS: RequestLimits = RequestLimits {
    images: Some(100),
    image_side: Some(8000),
    image_side_of_many: Some((20, 2000)),
    ..NO_LIMITS
};

/// Source: "tools" of the API reference of OpenAI, which several services took over, and its error "array too long".
const OPENAI_LIMITS: RequestLimits = RequestLimits { tools: Some(128), ..NO_LIMITS };

/// The table. If several keys are set, the first provider with a key is the default.
pub const PROVIDERS: &[KnownProvider] = &[
    KnownProvider {
        name: "anthropic",
        label: "Anthropic",
        protocol: ANTHROPIC,
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        base_url_variables: &["ANTHROPIC_BASE_URL"],
        has_only_own_models: true,
        own_names: &["claude-"],
        // Source: the guide "Structured outputs".
        quirks: Quirks { answer_schema: true, ..Quirks::DEFAULT },
        default_model: Some(DefaultModel::Newest("claude-sonnet")),
        // Source: the clients of the service; every model that is not retired accepts 64,000.
        unknown_output_limit: Some(32_000),
        limits: CLAUDE_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "openai",
        label: "OpenAI",
        responses: ResponsesUse::KnownModels,
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        base_url_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        has_only_own_models: true,
        quirks: Quirks {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            answer_schema: true,
            // Source: the guide "Prompt caching".
            prompt_cache_key: true,
            cache_breakpoints: true,
            ..Quirks::DEFAULT
        },
        own_names: &["gpt-", "o1", "o3", "o4", "chatgpt-", "chat-latest", "codex-"],
        default_model: Some(DefaultModel::Newest("gpt-sol")),
        limits: OPENAI_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "gemini",
        label: "Google Gemini",
        protocol: GEMINI,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        base_url_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        has_only_own_models: true,
        own_names: &["gemini-", "gemma-"],
        default_model: Some(DefaultModel::Alias("gemini-flash-latest")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "vertex",
        label: "Google Vertex AI",
        protocol: VERTEX_GEMINI,
        // Without a project, requests are those of the express mode.
        base_url: "https://aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT|}/locations/global",
        key_variables: &["VERTEX_ACCESS_TOKEN", "VERTEX_API_KEY"],
        base_url_variables: &["VERTEX_BASE_URL", "GOOGLE_VERTEX_BASE_URL"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "openrouter",
        label: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        base_url_variables: &["OPENROUTER_BASE_URL"],
        // Source: the guide "Prompt caching" of OpenRouter. The other models cache without breakpoints.
        // Source of the form of reasoning: its guide "Reasoning tokens".
        quirks: Quirks { cache_breakpoints: true, reasoning_form: ReasoningForm::Object, ..Quirks::DEFAULT },
        default_model: Some(DefaultModel::Alias("~anthropic/claude-sonnet-latest")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "bedrock",
        label: "Amazon Bedrock",
        protocol: BEDROCK,
        base_url: "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION|us-east-1}.amazonaws.com",
        key_variables: &["AWS_BEARER_TOKEN_BEDROCK"],
        base_url_variables: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
        // Source: "Structured outputs" of the user guide.
        quirks: Quirks { answer_schema: true, ..Quirks::DEFAULT },
        default_model: Some(DefaultModel::Newest("claude-sonnet")),
        // Source: "API restrictions" of the documentation, read on 2026-11-29.
        limits: RequestLimits { documents: Some(5), image_side: Some(8000), ..NO_LIMITS },
        ..TEMPLATE
    },
    KnownProvider {
        name: "vertex-anthropic",
        label: "Claude on Vertex AI",
        protocol: VERTEX_ANTHROPIC,
        base_url: "https://aiplatform.googleapis.com/v1/projects/\
            {ANTHROPIC_VERTEX_PROJECT_ID|GOOGLE_CLOUD_PROJECT|PROJECT}/locations/global",
        key_variables: &["ANTHROPIC_VERTEX_ACCESS_TOKEN"],
        base_url_variables: &["ANTHROPIC_VERTEX_BASE_URL"],
        quirks: Quirks { answer_schema: true, ..Quirks::DEFAULT },
        default_model: Some(DefaultModel::Newest("claude-sonnet")),
        limits: CLAUDE_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "groq",
        label: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        base_url_variables: &["GROQ_BASE_URL"],
        quirks: Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..Quirks::DEFAULT },
        default_model: Some(DefaultModel::Alias("openai/gpt-oss-120b")),
        limits: OPENAI_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "deepseek",
        label: "DeepSeek",
        base_url: "https://api.deepseek.com/v1",
        key_variables: &["DEEPSEEK_API_KEY"],
        base_url_variables: &["DEEPSEEK_BASE_URL"],
        has_only_own_models: true,
        // Its reasoning model rejects a conversation with tool calls without their reasoning.
        // Source of the form of reasoning: its guide "Thinking mode".
        quirks: Quirks { echo_reasoning: true, reasoning_form: ReasoningForm::Switch, ..Quirks::DEFAULT },
        own_names: &["deepseek-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Alias("deepseek-flash")),
        limits: OPENAI_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "mistral",
        label: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        base_url_variables: &["MISTRAL_BASE_URL"],
        has_only_own_models: true,
        // Rejects unknown JSON keys; reports usage without `stream_options`. Its error about other ids of calls names the
        // form that it accepts.
        quirks: Quirks {
            stream_usage: false,
            prompt_cache_key: true,
            call_ids: Some(CallIdForm::NineAlphanumeric),
            ..Quirks::DEFAULT
        },
        own_names: &[
            "mistral-",
            "devstral",
            "codestral",
            "ministral",
            "magistral",
            "open-mi",
            "pixtral",
            "voxtral",
            "labs-",
        ],
        has_open_models: true,
        default_model: Some(DefaultModel::Alias("devstral-medium-latest")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "xai",
        label: "xAI",
        responses: ResponsesUse::KnownModels,
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        base_url_variables: &["XAI_BASE_URL"],
        has_only_own_models: true,
        // Source: "Maximizing cache hits" of xAI. The key is in the body for Responses, in the header for Chat Completions.
        quirks: Quirks {
            prompt_cache_key: true,
            cache_key_header: Some("x-grok-conv-id"),
            ..Quirks::DEFAULT
        },
        own_names: &["grok-"],
        default_model: Some(DefaultModel::Newest("grok")),
        limits: OPENAI_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "together",
        label: "Together AI",
        base_url: "https://api.together.xyz/v1",
        key_variables: &["TOGETHER_API_KEY"],
        base_url_variables: &["TOGETHER_BASE_URL"],
        default_model: Some(DefaultModel::Newest("glm")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "cohere",
        label: "Cohere",
        protocol: COHERE,
        base_url: "https://api.cohere.com/v2",
        key_variables: &["CO_API_KEY", "COHERE_API_KEY"],
        base_url_variables: &["COHERE_BASE_URL", "CO_API_URL"],
        has_only_own_models: true,
        own_names: &["command-", "c4ai-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("command-a-plus")),
        // Source: "Image inputs" of the documentation, read on 2026-11-29.
        limits: RequestLimits { images: Some(20), ..NO_LIMITS },
        ..TEMPLATE
    },
    KnownProvider {
        name: "zai",
        label: "Z.ai",
        base_url: "https://api.z.ai/api/paas/v4",
        key_variables: &["ZAI_API_KEY", "Z_AI_API_KEY"],
        base_url_variables: &["ZAI_BASE_URL"],
        has_only_own_models: true,
        own_names: &["glm-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("glm")),
        // Source: the guide "Thinking mode" of Z.ai.
        quirks: Quirks { echo_reasoning: true, reasoning_form: ReasoningForm::Switch, ..Quirks::DEFAULT },
        ..TEMPLATE
    },
    KnownProvider {
        name: "moonshot",
        label: "Moonshot AI",
        base_url: "https://api.moonshot.ai/v1",
        key_variables: &["MOONSHOT_API_KEY"],
        base_url_variables: &["MOONSHOT_BASE_URL"],
        has_only_own_models: true,
        own_names: &["kimi-", "moonshot-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("kimi-k-pro")),
        // Its models reject a conversation with calls without their reasoning.
        quirks: Quirks { echo_reasoning: true, ..Quirks::DEFAULT },
        ..TEMPLATE
    },
    KnownProvider {
        name: "minimax",
        label: "MiniMax",
        protocol: ANTHROPIC,
        base_url: "https://api.minimax.io/anthropic",
        key_variables: &["MINIMAX_API_KEY"],
        base_url_variables: &["MINIMAX_BASE_URL"],
        has_only_own_models: true,
        own_names: &["minimax-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("minimax-m-flash")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "dashscope",
        label: "Qwen (DashScope)",
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variables: &["DASHSCOPE_API_KEY"],
        base_url_variables: &["DASHSCOPE_BASE_URL"],
        own_names: &["qwen", "qwq-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("qwen-max")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "meta",
        label: "Meta",
        protocol: OPENAI_RESPONSES,
        base_url: "https://api.meta.ai/v1",
        key_variables: &["META_API_KEY"],
        base_url_variables: &["META_BASE_URL"],
        has_only_own_models: true,
        own_names: &["muse-"],
        has_open_models: true,
        default_model: Some(DefaultModel::Newest("muse-spark")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "cerebras",
        label: "Cerebras",
        base_url: "https://api.cerebras.ai/v1",
        key_variables: &["CEREBRAS_API_KEY"],
        base_url_variables: &["CEREBRAS_BASE_URL"],
        default_model: Some(DefaultModel::Alias("gpt-oss-120b")),
        quirks: Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..Quirks::DEFAULT },
        ..TEMPLATE
    },
    KnownProvider {
        name: "fireworks",
        label: "Fireworks AI",
        base_url: "https://api.fireworks.ai/inference/v1",
        key_variables: &["FIREWORKS_API_KEY"],
        base_url_variables: &["FIREWORKS_BASE_URL"],
        default_model: Some(DefaultModel::Alias("accounts/fireworks/routers/glm-latest")),
        ..TEMPLATE
    },
    KnownProvider {
        name: "github-models",
        label: "GitHub Models",
        base_url: "https://models.github.ai/inference",
        key_variables: &["GITHUB_API_KEY"],
        base_url_variables: &["GITHUB_MODELS_BASE_URL"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "ollama-cloud",
        label: "Ollama Cloud",
        protocol: OLLAMA,
        base_url: "https://ollama.com",
        key_variables: &["OLLAMA_API_KEY"],
        base_url_variables: &["OLLAMA_CLOUD_BASE_URL"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "azure",
        label: "Azure OpenAI",
        responses: ResponsesUse::UnknownModelsToo,
        base_path: Some("/openai/v1"),
        key_variables: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
        base_url_variables: &["AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"],
        quirks: Quirks {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            answer_schema: true,
            key_header: Some("api-key"),
            // Source: "Prompt caching" of Azure OpenAI.
            prompt_cache_key: true,
            ..Quirks::DEFAULT
        },
        limits: OPENAI_LIMITS,
        ..TEMPLATE
    },
    KnownProvider {
        name: "ollama",
        label: "Ollama",
        protocol: OLLAMA,
        base_url: "http://127.0.0.1:11434",
        base_url_variables: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "lmstudio",
        label: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        base_url_variables: &["LMSTUDIO_BASE_URL"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "vllm",
        label: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variables: &["VLLM_BASE_URL"],
        ..TEMPLATE
    },
    KnownProvider {
        name: "llamacpp",
        label: "llama.cpp server",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variables: &["LLAMACPP_BASE_URL"],
        ..TEMPLATE
    },
];

/// Key variables of services that are not supported, with the display names of the services.
pub const UNSUPPORTED_KEY_VARIABLES: &[(&str, &str)] = &[("COPILOT_GITHUB_TOKEN", "GitHub Copilot")];

/// Returns the entry of this name.
pub fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

impl KnownProvider {
    /// Whether the provider accepts requests without a key.
    pub fn is_keyless(&self) -> bool {
        self.key_variables.is_empty()
    }

    /// Returns the default timeouts. A local server may have to load the model first, so it gets more time.
    pub fn timeouts(&self) -> Timeouts {
        let standard = Timeouts::default();
        if self.is_keyless() {
            let long = Duration::from_secs(600);
            return Timeouts { first_byte: long, idle: long, content_idle: long, ..standard };
        }
        standard
    }

    /// Returns the default base URL. `variable` reads an environment variable. A value that cannot be a name in a URL is
    /// ignored.
    pub fn default_base_url(&self, variable: impl Fn(&str) -> Option<String>) -> String {
        let is_name = |value: &String| value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let mut url = String::new();
        let mut rest = self.base_url;
        while let Some((before, (alternatives, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            let (variables, default) = alternatives.rsplit_once('|').unwrap_or(("", alternatives));
            let value = variables.split('|').find_map(|name| variable(name).filter(is_name));
            url.push_str(before);
            url.push_str(value.as_deref().unwrap_or(default));
            rest = after;
        }
        url.push_str(rest);
        url
    }

    /// Completes a base URL of this provider that a user wrote.
    ///
    /// Adds what users commonly omit: the scheme, the port for values like `OLLAMA_HOST=0.0.0.0`, and the default
    /// path. The listening address 0.0.0.0 becomes 127.0.0.1.
    ///
    /// A missing scheme is `https`, except for this machine and for providers without keys. Those listen without TLS,
    /// and their own variables, such as `OLLAMA_HOST`, imply `http`.
    pub fn complete_base_url(&self, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        let scheme = || if self.is_keyless() { "http" } else { default_scheme(value) };
        let (scheme, rest) = value.split_once("://").unwrap_or_else(|| (scheme(), value));
        let (authority, path) =
            rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
        let has_port = authority.rsplit(']').next().is_some_and(|tail| tail.contains(':'));
        let default_port =
            self.base_url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split('/').next());
        let mut authority = authority.to_owned();
        if let (false, Some(port), false) = (has_port, default_port, value.contains("://")) {
            authority.push(':');
            authority.push_str(port);
        }
        if let Some(port) = authority.strip_prefix("0.0.0.0") {
            authority = format!("127.0.0.1{port}");
        }
        match path {
            "" => {
                let path = self.base_path.unwrap_or_else(|| self.protocol.default_path());
                format!("{scheme}://{authority}{path}")
            }
            path => format!("{scheme}://{authority}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        assert_eq!(known_provider(name).unwrap().complete_base_url(value), expect);
    }

    #[test]
    fn omitted_parts_of_a_base_url_are_added() {
        check("ollama", "0.0.0.0", "http://127.0.0.1:11434");
        check("ollama", "10.0.0.5:8000", "http://10.0.0.5:8000");
        check("ollama", "http://box/v1/", "http://box/v1");
        check("vllm", "http://box", "http://box/v1");
        check("cohere", "https://box.example.com", "https://box.example.com/v2");
        check("openai", "https://gateway.example/v1/", "https://gateway.example/v1");
        check("openai", "http://127.0.0.1:9/api/v3", "http://127.0.0.1:9/api/v3");
        check("openai", "http://[::1]:9", "http://[::1]:9/v1");
        check("openai", "api.example.com/v1", "https://api.example.com/v1");
        check("openai", "api.example.com:8080", "https://api.example.com:8080/v1");
        check("openai", "localhost:9", "http://localhost:9/v1");
        check("anthropic", "10.0.0.5:9", "https://10.0.0.5:9");
        check("openai", "127.0.0.1@api.example.com", "https://127.0.0.1@api.example.com/v1");
        check("anthropic", "http://127.0.0.1:9", "http://127.0.0.1:9");
        check("gemini", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta");
        check("azure", "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1");
        let deployment = "https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21";
        check("azure", deployment, deployment);
        let project = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1";
        check("vertex", project, project);
    }

    #[test]
    fn variables_complete_the_default_base_url() {
        let url = |name: &str, value: &str| {
            let bedrock = known_provider("bedrock").unwrap();
            bedrock.default_base_url(|variable| (variable == name).then(|| value.to_owned()))
        };
        assert_eq!(url("", ""), "https://bedrock-runtime.us-east-1.amazonaws.com");
        assert_eq!(url("AWS_DEFAULT_REGION", "eu-west-1"), "https://bedrock-runtime.eu-west-1.amazonaws.com");
        assert_eq!(url("AWS_REGION", "evil.example/"), "https://bedrock-runtime.us-east-1.amazonaws.com");
        let vertex = known_provider("vertex-anthropic").unwrap();
        let project = |name: &str| (name == "GOOGLE_CLOUD_PROJECT").then(|| "p-1".to_owned());
        assert_eq!(
            vertex.default_base_url(project),
            "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global"
        );
        let openai = known_provider("openai").unwrap();
        assert_eq!(openai.default_base_url(|_| None), openai.base_url);
    }

    #[test]
    fn names_are_unique_and_default_urls_are_complete() {
        for (position, entry) in PROVIDERS.iter().enumerate() {
            assert!(
                PROVIDERS.iter().skip(position + 1).all(|other| other.name != entry.name),
                "{}",
                entry.name
            );
            let is_complete = entry.complete_base_url(entry.base_url) == entry.base_url;
            assert!(entry.base_url.is_empty() || is_complete, "{}", entry.name);
            let is_unsupported =
                |name: &&str| UNSUPPORTED_KEY_VARIABLES.iter().any(|(other, _)| other == name);
            assert!(!entry.key_variables.iter().any(is_unsupported), "{}", entry.name);
        }
    }
}
