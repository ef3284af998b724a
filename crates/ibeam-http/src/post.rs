//! One JSON document sent to a service that returns nothing of interest, such as a receiver of traces.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;

use crate::client::{ClientError, ClientSettings, ProxyServer, build_client};
use crate::sanitize::sanitize_message;
use crate::tls::{TlsSettings, tls_config};

/// A document and its destination.
#[derive(Debug)]
pub struct JsonPost<'a> {
    pub url: &'a str,
    /// Further headers.
    pub headers: &'a [(String, String)],
    /// The document.
    pub body: String,
    /// The limit of the whole exchange.
    pub timeout: Duration,
    /// The certificates.
    pub tls: &'a TlsSettings,
    pub proxy: Option<&'a ProxyServer>,
}

/// The reason why a document was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The certificates cannot be used.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    /// No client could be built.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// The exchange took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The service could not be reached.
    #[error("{0}")]
    Connection(String),
    /// The service refused the document.
    #[error("HTTP {status}{}", if .message.is_empty() { String::new() } else { format!(": {}", .message) })]
    Status {
        /// The status code.
        status: u16,
        /// The start of the answer.
        message: String,
    },
}

impl JsonPost<'_> {
    /// Sends the document once.
    pub async fn send(self) -> Result<(), PostError> {
        let Self { url, headers, body, timeout, tls, proxy } = self;
        let tls = tls_config(tls)?;
        let client =
            build_client(ClientSettings { tls, proxy, connect_timeout: timeout, for_upgrade: false })?;
        let mut request = client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let exchange = async {
            // The error of the library would repeat the URL, which may contain a password.
            let connection = |error: reqwest::Error| {
                let error = error.without_url();
                let mut detail = error.to_string();
                let mut cause = std::error::Error::source(&error);
                while let Some(inner) = cause {
                    detail = inner.to_string();
                    cause = inner.source();
                }
                PostError::Connection(detail)
            };
            let response = request.send().await.map_err(connection)?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            let message = sanitize_message(&response.text().await.unwrap_or_default());
            Err(PostError::Status { status: status.as_u16(), message })
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(PostError::Timeout(timeout)))
    }
}
