//! Download of one large file over HTTP, from any offset: for the file of the embedded model.
//!
//! Follows redirects, because hubs serve their files from other hosts and the request carries no key.

use std::time::Duration;

use ibeam_protocol::{Failure, Reason};
use reqwest::header::RANGE;
use reqwest::{Client, Response, StatusCode};

use ibeam_http::tls::{TlsSettings, tls_config};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum time between two chunks.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A file that is being downloaded.
#[derive(Debug)]
pub struct Download {
    url: String,
    response: Response,
}

impl Download {
    /// Requests the bytes of the file from offset `from` on.
    ///
    /// # Errors
    /// `Unreachable` if the connection fails or the server reports an error.
    pub async fn start(url: &str, from: u64, tls: &TlsSettings) -> Result<Self, Failure> {
        let tls = tls_config(tls).map_err(|error| unreachable_error(url, &error))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(IDLE_TIMEOUT)
            .user_agent(concat!("ibeam/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unreachable_error(url, &error))?;
        let mut request = client.get(url);
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let response = request.send().await.map_err(|error| unreachable_error(url, &error))?;
        let response = response.error_for_status().map_err(|error| unreachable_error(url, &error))?;
        Ok(Self { url: url.to_owned(), response })
    }

    /// Whether the server ignores the offset and sends the file from its start.
    pub fn starts_from_zero(&self) -> bool {
        self.response.status() != StatusCode::PARTIAL_CONTENT
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    /// `Unreachable` if the connection breaks or is silent for a minute. Bytes returned before are valid.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let chunk = self.response.chunk().await.map_err(|error| unreachable_error(&self.url, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

fn unreachable_error(url: &str, error: &dyn std::error::Error) -> Failure {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        detail = inner.to_string();
        cause = inner.source();
    }
    Reason::Unreachable { address: url.to_owned(), detail }.into()
}
