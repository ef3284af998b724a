//! The services that are known by name, as data.
//!
//! Where each listens, which variables hold its key and address, and where it departs from its wire. Any other
//! service of the same wires works through a base URL. Reads no environment: the caller does.

use std::time::Duration;

use crate::base_url::default_scheme;
use crate::endpoint::Timeouts;
use crate::wire::Wire;

/// A service that speaks one of our wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// Its name in `provider/model`.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// What it speaks.
    pub wire: Wire,
    /// Where it listens.
    pub base_url: &'static str,
    /// Environment variables that may hold its key, the first that is set wins; empty where none is needed.
    pub key_variables: &'static [&'static str],
    /// Environment variables that may hold another base URL, the first that is set wins.
    pub base_url_variables: &'static [&'static str],
    /// Where it departs from its wire.
    pub quirks: Quirks,
}

/// Where a service departs from its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The name of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// It accepts `stream_options.include_usage`; others send usage unasked, or reject the key.
    pub stream_usage: bool,
    /// It wants its `reasoning_content` back.
    pub echo_reasoning: bool,
    /// Its models write calls as text; see `text_call`.
    pub text_tool_calls: bool,
}

/// The name of the output limit in a Chat Completions request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, the older name, which everybody but OpenAI's newer models accepts.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// What a service of unknown make is most likely to accept.
pub const DEFAULT_QUIRKS: Quirks = Quirks {
    max_tokens_field: MaxTokensField::MaxTokens,
    stream_usage: true,
    echo_reasoning: false,
    text_tool_calls: false,
};

const NO_QUIRKS: KnownProvider = KnownProvider {
    name: "",
    label: "",
    wire: Wire::OpenAi,
    base_url: "",
    key_variables: &[],
    base_url_variables: &[],
    quirks: DEFAULT_QUIRKS,
};

/// The table, in the order in which a provider is chosen by the keys that are set.
pub const PROVIDERS: &[KnownProvider] = &[
    KnownProvider {
        name: "anthropic",
        label: "Anthropic",
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        base_url_variables: &["ANTHROPIC_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "openai",
        label: "OpenAI",
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        base_url_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        quirks: Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..DEFAULT_QUIRKS },
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "openrouter",
        label: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        base_url_variables: &["OPENROUTER_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "groq",
        label: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        base_url_variables: &["GROQ_BASE_URL"],
        quirks: Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..DEFAULT_QUIRKS },
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "deepseek",
        label: "DeepSeek",
        base_url: "https://api.deepseek.com/v1",
        key_variables: &["DEEPSEEK_API_KEY"],
        base_url_variables: &["DEEPSEEK_BASE_URL"],
        // Its reasoner rejects a turn with calls whose reasoning is missing.
        quirks: Quirks { echo_reasoning: true, ..DEFAULT_QUIRKS },
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "mistral",
        label: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        base_url_variables: &["MISTRAL_BASE_URL"],
        // Rejects keys it does not know; sends usage unasked.
        quirks: Quirks { stream_usage: false, ..DEFAULT_QUIRKS },
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "xai",
        label: "xAI",
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        base_url_variables: &["XAI_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "together",
        label: "Together AI",
        base_url: "https://api.together.xyz/v1",
        key_variables: &["TOGETHER_API_KEY"],
        base_url_variables: &["TOGETHER_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "ollama",
        label: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variables: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "lmstudio",
        label: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        base_url_variables: &["LMSTUDIO_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "vllm",
        label: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variables: &["VLLM_BASE_URL"],
        ..NO_QUIRKS
    },
    KnownProvider {
        name: "llamacpp",
        label: "llama.cpp server",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variables: &["LLAMACPP_BASE_URL"],
        ..NO_QUIRKS
    },
];

/// Variables with a key of a service that is none of the table, and what people call the service.
pub const UNSUPPORTED_KEY_VARIABLES: &[(&str, &str)] = &[
    ("GEMINI_API_KEY", "Google Gemini"),
    ("GOOGLE_API_KEY", "Google Gemini"),
    ("GOOGLE_GENERATIVE_AI_API_KEY", "Google Gemini"),
    ("AZURE_OPENAI_API_KEY", "Azure OpenAI"),
    ("AWS_BEARER_TOKEN_BEDROCK", "Amazon Bedrock"),
    ("COHERE_API_KEY", "Cohere"),
    ("CO_API_KEY", "Cohere"),
];

/// The service of this name.
pub fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

impl KnownProvider {
    /// True where a request without a key makes sense.
    pub fn is_keyless(&self) -> bool {
        self.key_variables.is_empty()
    }

    /// The bounds that suit it: a model on the user's own machine may first have to be loaded.
    pub fn timeouts(&self) -> Timeouts {
        let standard = Timeouts::default();
        if self.is_keyless() {
            let patient = Duration::from_secs(600);
            return Timeouts { first_byte: patient, idle: patient, content_idle: patient, ..standard };
        }
        standard
    }

    /// The base URL that a user's value for this service means.
    ///
    /// Adds what is commonly left out: the scheme, the port for values like `OLLAMA_HOST=0.0.0.0`, and `/v1` on the
    /// OpenAI wire where the value has no path. The address to listen on, 0.0.0.0, means this machine.
    ///
    /// A missing scheme is `https`, but `http` for this machine and for services that take no key: those listen
    /// without TLS, and a variable such as `OLLAMA_HOST` means `http` to the service itself.
    pub fn base_url_from(&self, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        let usual = || if self.is_keyless() { "http" } else { default_scheme(value) };
        let (scheme, rest) = value.split_once("://").unwrap_or_else(|| (usual(), value));
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
        match (path, self.wire) {
            ("", Wire::OpenAi) => format!("{scheme}://{authority}/v1"),
            ("", Wire::Anthropic) => format!("{scheme}://{authority}"),
            (path, Wire::OpenAi | Wire::Anthropic) => format!("{scheme}://{authority}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        assert_eq!(known_provider(name).unwrap().base_url_from(value), expect);
    }

    #[test]
    fn what_users_leave_out_of_a_base_url_is_added() {
        check("ollama", "0.0.0.0", "http://127.0.0.1:11434/v1");
        check("ollama", "10.0.0.5:8000", "http://10.0.0.5:8000/v1");
        check("ollama", "http://box", "http://box/v1");
        check("openai", "https://gateway.example/v1/", "https://gateway.example/v1");
        check("openai", "http://127.0.0.1:9/api/v3", "http://127.0.0.1:9/api/v3");
        check("openai", "http://[::1]:9", "http://[::1]:9/v1");
        check("openai", "api.example.com/v1", "https://api.example.com/v1");
        check("openai", "api.example.com:8080", "https://api.example.com:8080/v1");
        check("openai", "localhost:9", "http://localhost:9/v1");
        check("anthropic", "10.0.0.5:9", "https://10.0.0.5:9");
        check("openai", "127.0.0.1@api.example.com", "https://127.0.0.1@api.example.com/v1");
        check("anthropic", "http://127.0.0.1:9", "http://127.0.0.1:9");
    }

    #[test]
    fn names_are_unique_and_each_default_is_its_own_normal_form() {
        for (position, entry) in PROVIDERS.iter().enumerate() {
            assert!(
                PROVIDERS.iter().skip(position + 1).all(|other| other.name != entry.name),
                "{}",
                entry.name
            );
            assert_eq!(entry.base_url_from(entry.base_url), entry.base_url);
            let is_of_another =
                |name: &&str| UNSUPPORTED_KEY_VARIABLES.iter().any(|(other, _)| other == name);
            assert!(!entry.key_variables.iter().any(is_of_another), "{}", entry.name);
        }
    }
}
