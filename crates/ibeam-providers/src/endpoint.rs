//! Everything a provider needs to know before its first request; resolved by the caller from flags, environment
//! and configuration.

use std::time::Duration;

use crate::provider_table::Quirks;
use crate::secret::{KeyReader, Secret};
use crate::wire::Wire;

/// One model of one service.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The service's name, as failures tell it.
    pub provider: String,
    /// What it speaks.
    pub wire: Wire,
    /// The URL that the wire's paths are added to, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// Where the key is kept, if it may change there while we run; read again when the service refuses the key.
    pub key_reader: Option<KeyReader>,
    /// Further headers, name and value; they replace ours of the same name.
    pub headers: Vec<(String, String)>,
    /// The model's id at the service.
    pub model: String,
    /// Where the service departs from its wire.
    pub quirks: Quirks,
    /// Bounds of every wait.
    pub timeouts: Timeouts,
    /// The most tokens to generate, where a request names no limit of its own.
    pub max_output_tokens: Option<u32>,
}

/// Bounds of every wait of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands: name, TCP, proxy and TLS together, which the HTTP library does not tell apart.
    pub connect: Duration,
    /// Until the answer's head.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// Between two pieces that say something: comments and pings keep a stream alive only so long.
    pub content_idle: Duration,
    /// For the whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(90),
            content_idle: Duration::from_secs(300),
            total: Duration::from_secs(15 * 60),
        }
    }
}

impl Endpoint {
    /// Where requests go. A base URL may or may not end in the version segment of the Anthropic wire.
    pub(crate) fn request_url(&self) -> String {
        match self.wire {
            Wire::Anthropic => format!("{}/messages", self.versioned_base()),
            Wire::OpenAi => format!("{}/chat/completions", self.versioned_base()),
        }
    }

    /// Where the list of models is.
    pub(crate) fn models_url(&self) -> String {
        match self.wire {
            Wire::Anthropic => format!("{}/models?limit=1000", self.versioned_base()),
            Wire::OpenAi => format!("{}/models", self.versioned_base()),
        }
    }

    fn versioned_base(&self) -> String {
        let base = self.base_url.trim_end_matches('/');
        match self.wire {
            Wire::Anthropic if !base.ends_with("/v1") => format!("{base}/v1"),
            Wire::Anthropic | Wire::OpenAi => base.to_owned(),
        }
    }
}
