//! One large file over HTTP, from any byte on: for the embedded model's hub source.
//!
//! Follows redirects, for hubs send their files from elsewhere and no key travels along. Knows nothing of models
//! or of what becomes of the bytes.

use std::time::Duration;

use ibeam_protocol::{Failure, Reason};
use reqwest::header::RANGE;
use reqwest::{Client, Response, StatusCode};

use crate::trust;

const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence between two pieces.
const IDLE: Duration = Duration::from_secs(60);

/// A file that is being fetched.
#[derive(Debug)]
pub struct Download {
    url: String,
    response: Response,
}

impl Download {
    /// Asks for the file's bytes from `from` on.
    ///
    /// # Errors
    /// `Unreachable` when there is no connection or the server answers with an error.
    pub async fn start(url: &str, from: u64) -> Result<Self, Failure> {
        let tls = trust::tls_config().map_err(|error| unreachable(url, &error))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT)
            .read_timeout(IDLE)
            .user_agent(concat!("ibeam/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unreachable(url, &error))?;
        let mut request = client.get(url);
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let response = request.send().await.map_err(|error| unreachable(url, &error))?;
        let response = response.error_for_status().map_err(|error| unreachable(url, &error))?;
        Ok(Self { url: url.to_owned(), response })
    }

    /// True when the server does not go on but sends the file from its start.
    pub fn starts_from_zero(&self) -> bool {
        self.response.status() != StatusCode::PARTIAL_CONTENT
    }

    /// The next bytes, or `None` at the end.
    ///
    /// # Errors
    /// `Unreachable` when the connection breaks or nothing comes for a minute; what came before is good.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let chunk = self.response.chunk().await.map_err(|error| unreachable(&self.url, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

fn unreachable(url: &str, error: &dyn std::error::Error) -> Failure {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        detail = inner.to_string();
        cause = inner.source();
    }
    Reason::Unreachable { address: url.to_owned(), detail }.into()
}
