//! One HTTP client for all wires.
//!
//! Made at the first request, so that a start costs nothing; one connection serves a whole run. Follows no
//! redirect, because a key must not travel to another host. The proxies of the environment apply, but for servers
//! on this machine.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use ibeam_core::{ProviderError, Repeat};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response};

use crate::anthropic;
use crate::endpoint::Endpoint;
use crate::failure::{Head, Origin};
use crate::retry_after::retry_after_ms;
use crate::trust;
use crate::wire::Wire;

/// Error bodies and documents over this size are cut.
const DOCUMENT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// A connection to one endpoint.
#[derive(Debug)]
pub(crate) struct Transport {
    endpoint: Endpoint,
    origin: Origin,
    client: OnceLock<Client>,
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { origin: Origin::new(&endpoint), endpoint, client: OnceLock::new() }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Posts a request to the model and returns the head of the answer and its body.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<(Head, Response), ProviderError> {
        self.send(Method::POST, &self.endpoint.request_url(), Some(body)).await
    }

    /// Gets the document that lists the models.
    pub(crate) async fn get_models(&self) -> Result<(Head, String), ProviderError> {
        let (head, response) = self.send(Method::GET, &self.endpoint.models_url(), None).await?;
        let body = self.document(response).await;
        Ok((head, body))
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
    ) -> Result<(Head, Response), ProviderError> {
        let unusable = |said: String| self.origin.unusable(&said);
        let client = self.client().map_err(unusable)?;
        let mut request = client.request(method, url).headers(self.headers().map_err(unusable)?);
        if let Some(body) = body {
            request = request.body(body);
        }
        let limit = self.endpoint.timeouts.first_byte;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Err(_) => return Err(self.origin.stalled(limit, Repeat::Quickly, Head::default())),
            Ok(sent) => sent.map_err(|error| self.origin.unsent(&error))?,
        };
        let head = head(&response);
        if response.status().is_success() {
            return Ok((head, response));
        }
        let body = self.document(response).await;
        Err(self.origin.refused(head, &body))
    }

    /// The whole body as text, as much of it as comes within the bounds: for errors and lists, where a part is
    /// better than nothing.
    async fn document(&self, mut response: Response) -> String {
        let mut bytes = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > DOCUMENT_LIMIT_BYTES {
                    break;
                }
            }
        };
        // The status already tells the failure; a slow body must not hold it up for long.
        let limit = self.endpoint.timeouts.idle.min(Duration::from_secs(10));
        let _cut_short = tokio::time::timeout(limit, read).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let tls = trust::tls_config().map_err(|error| error.to_string())?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(self.endpoint.timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ibeam/", env!("CARGO_PKG_VERSION")));
        if self.is_this_machine() {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(self.client.get_or_init(|| client))
    }

    fn is_this_machine(&self) -> bool {
        let Ok(url) = reqwest::Url::parse(&self.endpoint.base_url) else {
            return false;
        };
        url.host_str().is_some_and(|host| {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        })
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        let key = self.endpoint.key.as_ref().map(|key| key.expose()).filter(|key| !key.is_empty());
        match self.endpoint.wire {
            Wire::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                if let Some(key) = key {
                    headers.insert("x-api-key", secret_value(key)?);
                }
            }
            Wire::OpenAi => {
                if let Some(key) = key {
                    headers.insert(AUTHORIZATION, secret_value(&format!("Bearer {key}"))?);
                }
            }
        }
        for (name, value) in &self.endpoint.headers {
            let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is no header name"))?;
            // A header of the caller's may carry a key too.
            headers.insert(header, secret_value(value)?);
        }
        Ok(headers)
    }
}

fn secret_value(value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "a key or header holds characters that no header may carry".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

fn head(response: &Response) -> Head {
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = text("retry-after-ms")
        .and_then(|value| value.trim().parse().ok())
        .or_else(|| retry_after_ms(text("retry-after")?, SystemTime::now()));
    Head {
        status: Some(response.status().as_u16()),
        request_id: text("request-id").or_else(|| text("x-request-id")).map(str::to_owned),
        retry_after_ms,
        location: text(LOCATION.as_str()).map(host_of),
    }
}

/// Scheme and host of a URL: its query may carry secrets.
fn host_of(location: &str) -> String {
    match reqwest::Url::parse(location) {
        Ok(url) => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        Err(_) => "another path".to_owned(),
    }
}
