//! Errors of services and of the network, as the provider errors of the agent loop.
//!
//! Errors are only classified; the agent loop retries. Keys are removed from all messages, in whatever form the service
//! repeats them.

use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{ProviderError, RefusedPart, Retry};
use ibeam_protocol::{Failure, Reason, RequestPart};

use crate::endpoint::{Endpoint, NearModels};
use crate::keys::Keys;
use crate::provider_table::known_provider;
use crate::proxy_error::{ProxyContext, describe_proxy_error, is_unknown_name};
use crate::refused_part::{is_about_bytes, named_part, retry_without};
use crate::response_error::{
    FailureClass, ReportedError, ResponseError, parse_error_object, status_from_kind,
};
use crate::wire_protocol::WireProtocol;
use ibeam_http::sanitize_message;
use rustls::InvalidMessage;

#[derive(Clone, Debug)]
pub(crate) struct ErrorBuilder {
    protocol: &'static dyn WireProtocol,
    provider: String,
    model: String,
    /// Host and port.
    address: String,
    /// The URL of requests, without a user and parameters.
    url: String,
    keys: Arc<Keys>,
    /// The flag, variable or setting that has the key, if it takes precedence over a stored key.
    key_origin: Option<String>,
    near_models: Option<NearModels>,
    /// The name for people of a server on this machine, if the address is the usual one of this server.
    local_server: Option<&'static str>,
    proxy: Option<ProxyContext>,
    /// A note for the message about a refused certificate of the server.
    tls_note: Option<String>,
    sends_client_certificate: bool,
}

/// The parts of a response head that matter for a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The scheme and host that a redirect points to.
    pub(crate) location: Option<String>,
}

impl ErrorBuilder {
    pub(crate) fn new(endpoint: &Endpoint, keys: Arc<Keys>) -> Self {
        let rest = endpoint.base_url.split_once("://").map_or(endpoint.base_url.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let has_port = host.rsplit(']').next().is_some_and(|tail| tail.contains(':'));
        let port = if endpoint.base_url.starts_with("https") { 443 } else { 80 };
        let address = if has_port { host.to_owned() } else { format!("{host}:{port}") };
        let url = endpoint.protocol.request_url(&endpoint.base_url, &endpoint.model);
        let url = url.split(['?', '#']).next().unwrap_or_default().replace(authority, host);
        let (provider, model) = (endpoint.provider.clone(), endpoint.model.clone());
        let near_models = endpoint.near_models.clone();
        let local_server = known_provider(&provider)
            .filter(|known| known.is_keyless() && endpoint.base_url.starts_with(known.base_url))
            .map(|known| known.label);
        Self {
            protocol: endpoint.protocol,
            provider,
            model,
            address,
            url,
            keys,
            key_origin: endpoint.key_origin.clone(),
            near_models,
            local_server,
            proxy: endpoint.used_proxy().map(ProxyContext::new),
            tls_note: endpoint.tls.note().map(str::to_owned),
            sends_client_certificate: endpoint.tls.has_client_certificate(),
        }
    }

    /// Returns the error of a response whose status is not success. `body` may be anything.
    pub(crate) fn error_status(&self, mut head: ResponseHead, body: &str) -> ProviderError {
        let status = head.status.unwrap_or(0);
        let value = parse_error_object(body);
        if head.retry_after_ms.is_none() {
            head.retry_after_ms = value.as_ref().and_then(|value| self.protocol.retry_after_ms(value));
        }
        let mut error = match &value {
            Some(value) => self.protocol.parse_error(value),
            // A service answers in JSON where it has an address at all.
            None if status == 404 => ReportedError {
                message: format!(
                    "{} (nothing is at the address{})",
                    self.page_message(status, body),
                    self.asked_url()
                ),
                ..ReportedError::default()
            },
            None => ReportedError { message: self.page_message(status, body), ..ReportedError::default() },
        };
        if error.message.trim().is_empty() {
            error.message = format!("HTTP status {status}");
        }
        let is_unavailable = self.is_unavailability(Some(status), &error);
        let (reason, retry) = match status {
            300..=399 => {
                let to = head.location.as_deref().unwrap_or("another address");
                (self.unreachable(&format!("redirected to {to}, which is not followed")), Retry::Never)
            }
            407 => {
                let detail = self.proxy.as_ref().map_or_else(
                    || "a proxy that no variable names requires credentials".to_owned(),
                    ProxyContext::describe_credentials,
                );
                (self.unreachable(&detail), Retry::Never)
            }
            // The stored key may have been replaced, and a service may refuse a valid key for a moment.
            401 => (self.classify(Some(status), &error).0, Retry::Once),
            _ => self.classify(Some(status), &error),
        };
        ProviderError { is_unavailable, ..self.error(reason, retry, head) }
    }

    /// Returns the URL after a blank; "" for one with the name of the model, because the class of an error depends on the
    /// words of its message.
    fn asked_url(&self) -> String {
        let names_model = ["model", self.model.as_str()].iter().any(|word| self.url.contains(word));
        if names_model { String::new() } else { format!(" `{}`", self.url) }
    }

    /// Returns the message of a body that is not JSON: its text, with the status if the text does not contain it. The page
    /// of a gateway often has only a title.
    fn page_message(&self, status: u16, body: &str) -> String {
        let text = sanitize_message(&self.keys.redact(body));
        match text.is_empty() || text.contains(&status.to_string()) {
            true => body.to_owned(),
            false => format!("HTTP status {status}: {text}"),
        }
    }

    /// Returns the error of a response body that is not an answer.
    pub(crate) fn invalid_response(&self, error: ResponseError, head: ResponseHead) -> ProviderError {
        let provider = self.provider.clone();
        let is_unavailable = match &error {
            ResponseError::Reported(error) => self.is_unavailability(error.status, error),
            ResponseError::Truncated
            | ResponseError::Protocol(_)
            | ResponseError::TooLarge(_)
            | ResponseError::Garbled(_) => false,
        };
        let (reason, retry) = match error {
            ResponseError::Truncated => (Reason::AnswerTruncated { provider }, Retry::Fast),
            ResponseError::Protocol(detail) => {
                // The sign-in page of a network, or a base URL that leads to a site for people.
                let is_page = detail.trim_start().starts_with('<');
                let mut detail = self.sanitize(&detail);
                if is_page {
                    detail = format!("a web page came instead of an answer{}: {detail}", self.asked_url());
                }
                (Reason::ProviderFailed { provider, detail }, Retry::Once)
            }
            ResponseError::TooLarge(detail) | ResponseError::Garbled(detail) => {
                (Reason::ProviderFailed { provider, detail: self.sanitize(&detail) }, Retry::Never)
            }
            ResponseError::Reported(error) => self.classify(error.status, &error),
        };
        ProviderError { is_unavailable, ..self.error(reason, retry, head) }
    }

    /// Returns the error of a service that sent nothing for `waited`.
    pub(crate) fn stalled(&self, waited: Duration, retry: Retry, head: ResponseHead) -> ProviderError {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.error(Reason::Stalled { provider: self.provider.clone(), waited_ms }, retry, head)
    }

    /// Returns the error of an answer that is incomplete after `waited`. Another attempt would hardly be faster.
    pub(crate) fn too_slow(&self, waited: Duration, head: ResponseHead) -> ProviderError {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        let reason = Reason::AnswerTooSlow { provider: self.provider.clone(), waited_ms };
        self.error(reason, Retry::Never, head)
    }

    /// Returns the error of a request without a response: connection, name resolution, TLS, proxy.
    pub(crate) fn not_connected(&self, error: &reqwest::Error) -> ProviderError {
        let (mut chain, mut tls) = (Vec::new(), None);
        let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(cause) = source {
            tls = tls.or_else(|| tls_error(cause));
            chain.push(cause.to_string());
            source = cause.source();
        }
        let causes = chain.join(": ").to_lowercase();
        let last = chain.pop().unwrap_or_else(|| "the request could not be sent".to_owned());
        let address = self.address.clone();
        let proxied = self
            .proxy
            .as_ref()
            .and_then(|proxy| describe_proxy_error(proxy, &causes, &last, error.is_connect()));
        let (reason, retry) = if let Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) =
            &tls
        {
            (Reason::NoTls { address }, Retry::Never)
        } else if let Some(tls) = tls {
            let detail = self.sanitize(&self.describe_tls_error(&tls));
            (Reason::Tls { address, detail }, Retry::Never)
        } else if error.is_builder() {
            (self.unreachable("the base URL is not valid"), Retry::Never)
        } else if let Some((text, retry)) = proxied.filter(|_| !error.is_timeout()) {
            (self.unreachable(&text), retry)
        } else if is_unknown_name(&causes) {
            (self.unreachable(ibeam_protocol::sentence_text!("no such host")), Retry::Never)
        } else if error.is_timeout() {
            let through = self.proxy.as_ref().map(|proxy| format!(" through {proxy}")).unwrap_or_default();
            (self.unreachable(&format!("no connection in time{through}")), Retry::Fast)
        } else if let Some(server) = self.local_server.filter(|_| error.is_connect()) {
            let (server, detail) = (server.to_owned(), self.sanitize(&last));
            (Reason::ServerNotRunning { server, address, detail }, Retry::Fast)
        } else {
            (self.unreachable(&last), Retry::Fast)
        };
        self.error(reason, retry, ResponseHead::default())
    }

    /// Returns the reason why a request got no response, for a person.
    pub(crate) fn describe_unreachable(&self, error: &reqwest::Error) -> String {
        let reason = self.not_connected(error).failure.reason;
        if let Reason::Unreachable { detail, .. }
        | Reason::ServerNotRunning { detail, .. }
        | Reason::Tls { detail, .. } = reason
        {
            return detail;
        }
        if let Reason::NoTls { .. } = reason {
            return "the server does not speak TLS; its address may need `http://`".to_owned();
        }
        "the request could not be sent".to_owned()
    }

    fn describe_tls_error(&self, error: &rustls::Error) -> String {
        use rustls::{AlertDescription as Alert, CertificateError, Error};
        match error {
            Error::AlertReceived(Alert::CertificateRequired) => {
                format!(
                    "{error}: the server requires a client certificate; set `tls.client_cert` and `tls.client_key`"
                )
            }
            Error::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::DecryptError
                | Alert::HandshakeFailure,
            ) if self.sends_client_certificate => {
                format!("{error}: the server refuses the client certificate of `tls.client_cert`")
            }
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                let note = self.tls_note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
                format!("{error}; `tls.ca_file` or SSL_CERT_FILE names further authorities{note}")
            }
            Error::InvalidCertificate(_) => {
                format!("{error}; `tls.ca_file` or SSL_CERT_FILE names further authorities")
            }
            _ => error.to_string(),
        }
    }

    /// Returns the error of a key that cannot be read.
    pub(crate) fn key_unavailable(&self, reason: Reason) -> ProviderError {
        self.error(reason, Retry::Never, ResponseHead::default())
    }

    /// Returns the error of a configuration from which no request can be built.
    pub(crate) fn invalid_configuration(&self, message: &str) -> ProviderError {
        let detail = self.sanitize(message);
        let (provider, part) = (self.provider.clone(), RequestPart::Unknown);
        let reason = Reason::BadRequest { provider, detail, part };
        self.error(reason, Retry::Never, ResponseHead::default())
    }

    fn unreachable(&self, message: &str) -> Reason {
        Reason::Unreachable { address: self.address.clone(), detail: self.sanitize(message) }
    }

    fn is_unavailability(&self, status: Option<u16>, error: &ReportedError) -> bool {
        self.protocol.classify_error(status, error, &self.model).is_unavailability(status, error)
    }

    fn classify(&self, status: Option<u16>, error: &ReportedError) -> (Reason, Retry) {
        let provider = self.provider.clone();
        let detail = self.sanitize(&error.message);
        match self.protocol.classify_error(status, error, &self.model) {
            FailureClass::ContextTooLong => {
                let retry = match is_about_bytes(status, error) {
                    true => Retry::without(RefusedPart::MediaSize),
                    false => Retry::Never,
                };
                (Reason::ContextTooLong { provider, detail }, retry)
            }
            FailureClass::ThinkingRefused => {
                let part = RequestPart::Reasoning;
                (Reason::BadRequest { provider, detail, part }, Retry::without(RefusedPart::Thinking))
            }
            FailureClass::UnknownModel => {
                let model = self.model.clone();
                let near = self.near_models.as_ref().map(|near| near.find(&model)).unwrap_or_default();
                let mut near = near.into_iter();
                let (near, also_near) = (near.next(), near.collect());
                (Reason::UnknownModel { model, provider: Some(provider), near, also_near }, Retry::Never)
            }
            FailureClass::KeyRefused => {
                let source = self.key_origin.clone();
                (Reason::KeyRefused { provider, detail, source }, Retry::Never)
            }
            FailureClass::QuotaExhausted => (Reason::QuotaExhausted { provider, detail }, Retry::Never),
            FailureClass::RateLimited => (Reason::RateLimited { provider, detail }, Retry::Backoff),
            FailureClass::ServiceFailed => (Reason::ProviderFailed { provider, detail }, Retry::Backoff),
            FailureClass::BadRequest => {
                let part = named_part(error);
                let status = status.or_else(|| status_from_kind(&error.kind));
                (Reason::BadRequest { provider, detail, part }, retry_without(part, status))
            }
        }
    }

    /// Returns a remote message without keys and control characters.
    pub(crate) fn sanitize(&self, text: &str) -> String {
        let text = sanitize_message(&self.keys.redact(text));
        if text.is_empty() { "no details given".to_owned() } else { text }
    }

    /// Returns a remote id without keys and control characters.
    pub(crate) fn sanitize_id(&self, id: Option<String>) -> Option<String> {
        id.map(|id| sanitize_message(&self.keys.redact(&id))).filter(|id| !id.is_empty())
    }

    fn error(&self, reason: Reason, retry: Retry, head: ResponseHead) -> ProviderError {
        let ResponseHead { status, request_id, retry_after_ms, location: _ } = head;
        let request_id = self.sanitize_id(request_id);
        // A status of success does not describe a failure that came after it.
        let http_status = status.filter(|status| !(200..300).contains(status));
        ProviderError::new(Failure { reason, http_status, request_id, retry_after_ms }, retry)
    }
}

/// Returns the TLS error at `cause`.
fn tls_error(cause: &(dyn std::error::Error + 'static)) -> Option<rustls::Error> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(error.clone());
    }
    // `io::Error::source` skips the error that it wraps, which may be another `io::Error`.
    let wrapped = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_error(wrapped)
}
