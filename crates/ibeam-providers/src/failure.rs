//! From what a service or the network did to what the loop can do about it.
//!
//! Only classifies: retrying is the loop's. Never lets a key through, in whatever form the other side repeats it.

use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{ProviderError, Retry};
use ibeam_protocol::{Failure, Reason};
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::keys::Keys;
use crate::said::said;
use crate::wire::{ReportedError, WireFault};

/// Whose failures these are.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    provider: String,
    model: String,
    /// Host and port.
    address: String,
    keys: Arc<Keys>,
}

/// What the head of a response tells about a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The host that a redirect points to.
    pub(crate) location: Option<String>,
}

impl Origin {
    pub(crate) fn new(endpoint: &Endpoint, keys: Arc<Keys>) -> Self {
        let rest = endpoint.base_url.split_once("://").map_or(endpoint.base_url.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let has_port = host.rsplit(']').next().is_some_and(|tail| tail.contains(':'));
        let port = if endpoint.base_url.starts_with("https") { 443 } else { 80 };
        let address = if has_port { host.to_owned() } else { format!("{host}:{port}") };
        Self { provider: endpoint.provider.clone(), model: endpoint.model.clone(), address, keys }
    }

    /// A response whose status is not success. `body` may be anything.
    pub(crate) fn refused(&self, head: Head, body: &str) -> ProviderError {
        let status = head.status.unwrap_or(0);
        let value = serde_json::from_str::<Value>(body).ok().filter(Value::is_object);
        let mut error = match &value {
            Some(value) => {
                ReportedError::recognise(value).unwrap_or_else(|| ReportedError::from_object(value))
            }
            None => ReportedError { message: self.page(status, body), ..ReportedError::default() },
        };
        if error.message.trim().is_empty() {
            error.message = format!("HTTP status {status}");
        }
        let (reason, retry) = match status {
            300..=399 => {
                let to = head.location.as_deref().unwrap_or("another address");
                (self.unreachable(&format!("redirected to {to}, which is not followed")), Retry::Never)
            }
            407 => {
                (self.unreachable("the proxy wants credentials (see HTTP_PROXY, HTTPS_PROXY)"), Retry::Never)
            }
            // A key may just have been replaced; the next request takes what is kept by then.
            401 => (self.classify(status, &error).0, Retry::Once),
            _ => self.classify(status, &error),
        };
        self.error(reason, retry, head)
    }

    /// Returns the message of a body that is not JSON: its text, with the status where the text does not name it. A page
    /// of a gateway often has nothing but a title in its own words.
    fn page(&self, status: u16, body: &str) -> String {
        let text = said(&self.keys.redacted(body));
        match text.is_empty() || text.contains(&status.to_string()) {
            true => body.to_owned(),
            false => format!("HTTP status {status}: {text}"),
        }
    }

    /// A body that is no answer.
    pub(crate) fn fault(&self, fault: WireFault, head: Head) -> ProviderError {
        let provider = self.provider.clone();
        let (reason, retry) = match fault {
            WireFault::Truncated => (Reason::AnswerTruncated { provider }, Retry::Fast),
            WireFault::Protocol(how) => {
                (Reason::ProviderFailed { provider, detail: self.said(&how) }, Retry::Once)
            }
            WireFault::TooLarge(how) => {
                (Reason::ProviderFailed { provider, detail: self.said(&how) }, Retry::Never)
            }
            WireFault::Reported(error) => {
                let status = error.status.or_else(|| status_of(&error.kind)).unwrap_or(500);
                self.classify(status, &error)
            }
        };
        self.error(reason, retry, head)
    }

    /// Nothing came for `waited`.
    pub(crate) fn stalled(&self, waited: Duration, retry: Retry, head: Head) -> ProviderError {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.error(Reason::Stalled { provider: self.provider.clone(), waited_ms }, retry, head)
    }

    /// The answer kept coming and was not complete after `waited`: another one would hardly be.
    pub(crate) fn too_slow(&self, waited: Duration, head: Head) -> ProviderError {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        let reason = Reason::AnswerTooSlow { provider: self.provider.clone(), waited_ms };
        self.error(reason, Retry::Never, head)
    }

    /// The request never got an answer: connection, name resolution, TLS, proxy.
    pub(crate) fn unsent(&self, error: &reqwest::Error) -> ProviderError {
        let (mut chain, mut tls) = (Vec::new(), None);
        let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(cause) = source {
            tls = tls.or_else(|| tls_error(cause));
            chain.push(cause.to_string());
            source = cause.source();
        }
        let whole = chain.join(": ").to_lowercase();
        let last = chain.pop().unwrap_or_else(|| "the request could not be sent".to_owned());
        let address = self.address.clone();
        let (reason, retry) = if let Some(tls) = tls {
            let detail = self.said(&format!("{tls}; SSL_CERT_FILE names further authorities"));
            (Reason::Tls { address, detail }, Retry::Never)
        } else if error.is_builder() {
            (self.unreachable("the base URL is not valid"), Retry::Never)
        } else if whole.contains("tunnel") || whole.contains("proxy") || whole.contains("socks") {
            let text = format!("the proxy refused: {last} (see HTTPS_PROXY, ALL_PROXY)");
            (self.unreachable(&text), Retry::Never)
        } else if ["name or service not known", "no address associated", "does not resolve", "nodename nor"]
            .iter()
            .any(|words| whole.contains(words))
        {
            (self.unreachable("no such host"), Retry::Never)
        } else if error.is_timeout() {
            (self.unreachable("no connection in time"), Retry::Fast)
        } else {
            (self.unreachable(&last), Retry::Fast)
        };
        self.error(reason, retry, Head::default())
    }

    /// A configuration that no request can be made of.
    pub(crate) fn unusable(&self, said: &str) -> ProviderError {
        let reason = Reason::BadRequest { provider: self.provider.clone(), detail: self.said(said) };
        self.error(reason, Retry::Never, Head::default())
    }

    fn unreachable(&self, said: &str) -> Reason {
        Reason::Unreachable { address: self.address.clone(), detail: self.said(said) }
    }

    fn classify(&self, status: u16, error: &ReportedError) -> (Reason, Retry) {
        let provider = self.provider.clone();
        let detail = self.said(&error.message);
        let words = format!("{} {}", error.kind, error.message).to_lowercase();
        match status {
            413 => (Reason::ContextTooLong { provider, detail }, Retry::Never),
            400 | 422 | 500 if is_context(&words) => {
                (Reason::ContextTooLong { provider, detail }, Retry::Never)
            }
            400 | 404 | 422 if self.is_model(status, &words) => (
                Reason::UnknownModel { model: self.model.clone(), provider: Some(provider), near: None },
                Retry::Never,
            ),
            401 | 403 => (Reason::KeyRefused { provider, detail }, Retry::Never),
            402 => (Reason::RateLimited { provider, detail }, Retry::Never),
            429 if words.contains("insufficient_quota") => {
                (Reason::RateLimited { provider, detail }, Retry::Never)
            }
            429 => (Reason::RateLimited { provider, detail }, Retry::Backoff),
            408 | 409 | 425 | 500.. => (Reason::ProviderFailed { provider, detail }, Retry::Backoff),
            _ => (Reason::BadRequest { provider, detail }, Retry::Never),
        }
    }

    /// Whether a refusal is about the model's name, which services say in many ways.
    fn is_model(&self, status: u16, words: &str) -> bool {
        const PHRASES: &[&str] =
            &["not found", "not exist", "not a valid model", "invalid model", "unknown model"];
        let names_model = words.contains("model") || words.contains(&self.model.to_lowercase());
        let html = words.trim_start().starts_with('<');
        ["model_not_found", "invalid_model", "not_found_error"].iter().any(|code| words.contains(code))
            || (names_model
                && !html
                && (status == 404 || PHRASES.iter().any(|phrase| words.contains(phrase))))
    }

    /// Words of the other side, fit to be shown.
    pub(crate) fn said(&self, text: &str) -> String {
        let text = said(&self.keys.redacted(text));
        if text.is_empty() { "no details given".to_owned() } else { text }
    }

    /// An id that the other side made up, fit to be shown.
    pub(crate) fn shown_id(&self, id: Option<String>) -> Option<String> {
        id.map(|id| said(&self.keys.redacted(&id))).filter(|id| !id.is_empty())
    }

    fn error(&self, reason: Reason, retry: Retry, head: Head) -> ProviderError {
        let Head { status, request_id, retry_after_ms, location: _ } = head;
        let request_id = self.shown_id(request_id);
        // A status of success says nothing about a failure that came after it.
        let http_status = status.filter(|status| !(200..300).contains(status));
        ProviderError { failure: Failure { reason, http_status, request_id, retry_after_ms }, retry }
    }
}

/// Whether a refusal is about the length of the conversation.
fn is_context(words: &str) -> bool {
    const PHRASES: &[&str] = &[
        "context_length_exceeded",
        "exceed_context_size",
        "prompt is too long",
        "input is too long",
        "context length",
        "context window",
        "context limit",
        "context size",
        "reduce the length",
        "request_too_large",
    ];
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// The status that an error inside a stream would have had, from its type.
fn status_of(kind: &str) -> Option<u16> {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["authentication", "invalid_api_key", "permission"]) {
        Some(401)
    } else if has(&["rate_limit", "insufficient_quota", "too_many_requests"]) {
        Some(429)
    } else if has(&["overloaded"]) {
        Some(529)
    } else if has(&["request_too_large"]) {
        Some(413)
    } else if has(&["not_found"]) {
        Some(404)
    } else if has(&["invalid_request", "context_length", "BadRequest"]) {
        Some(400)
    } else {
        None
    }
}

/// The TLS fault that `cause` is, in words.
fn tls_error(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(error.to_string());
    }
    // `io::Error::source` skips the error it wraps, which may be an `io::Error` again.
    let wrapped = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_error(wrapped)
}
