//! The recorder of live traffic.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_core::{ProviderError, Retry};
use ibeam_protocol::Reason;
use serde_json::Value;
use tokio::time::Instant;

use super::canonical::Normalizer;
use super::exchange::{Exchange, ExchangeOutcome};

/// Stores the files of recordings.
pub trait RecordingStore: Send + Sync {
    /// Stores one more recording.
    ///
    /// # Errors
    /// The message of the system, with the path.
    fn store(&self, content: &str) -> Result<(), String>;
}

/// Records exchanges and removes the secrets from them.
pub struct Recorder {
    normalizer: Normalizer,
    store: Box<dyn RecordingStore>,
}

impl Recorder {
    /// `normalizer` defines the canonical form of requests and contains the secrets.
    pub fn new(normalizer: Normalizer, store: Box<dyn RecordingStore>) -> Self {
        Self { normalizer, store }
    }

    /// Returns the context of an exchange that starts now.
    pub(crate) fn start(
        self: &Arc<Self>,
        provider: &str,
        model: &str,
        api: &str,
        request: &Value,
    ) -> ExchangeContext {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ExchangeContext {
            recorder: Arc::clone(self),
            recorded_at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            started: Instant::now(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            api: api.to_owned(),
            request: self.normalizer.canonical(request),
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// An exchange that is not complete yet.
#[derive(Clone, Debug)]
pub(crate) struct ExchangeContext {
    recorder: Arc<Recorder>,
    recorded_at_ms: u64,
    started: Instant,
    provider: String,
    model: String,
    api: String,
    /// The request in its canonical form.
    request: Value,
}

impl ExchangeContext {
    /// Returns the milliseconds since the request.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns `text` without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.recorder.normalizer.redactor().redact(text).into_owned()
    }

    /// Whether `text` contains a secret.
    pub(crate) fn has_secret(&self, text: &str) -> bool {
        self.redact(text) != text
    }

    /// Stores the exchange. Secrets that remain in the text of the file are replaced.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn store(&self, outcome: ExchangeOutcome) -> Result<(), ProviderError> {
        let Self { recorder, recorded_at_ms, provider, model, api, request, .. } = self;
        let exchange = Exchange::new(
            *recorded_at_ms,
            provider.clone(),
            model.clone(),
            api.clone(),
            request.clone(),
            outcome,
        );
        let stored = exchange
            .to_pretty_json()
            .map_err(|error| error.to_string())
            .and_then(|content| recorder.store.store(&(self.redact(&content) + "\n")));
        stored.map_err(|detail| {
            ProviderError::new(Reason::Io { what: "recording".to_owned(), detail }, Retry::Never)
        })
    }
}
