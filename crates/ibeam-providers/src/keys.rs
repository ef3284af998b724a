//! API keys: the key that an endpoint currently uses, and how it is read.
//!
//! A key may have to be read first, from a file or a command. A refused key is read again, but never removed from its
//! storage: the refusal may be a defect of the service.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ibeam_core::Redactor;
use ibeam_protocol::Reason;

use ibeam_http::Secret;
use ibeam_http::headers::is_secret_header;

/// Reads a key from its storage, which another process may have changed, or from a command.
#[derive(Clone)]
pub struct KeyReader(Arc<ReadKey>);

/// Returns the key, or `None` if nothing is stored.
type ReadKey = dyn Fn(KeyRequest) -> BoxFuture<'static, Result<Option<Secret>, Reason>> + Send + Sync;

/// The reason for which a key is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRequest {
    /// No key is known yet. A key that was read before in this process is sufficient.
    First,
    /// The service has refused the key.
    Refresh,
}

impl KeyReader {
    /// `read` returns the key. It is called before the first request if the endpoint has no key, and after the service
    /// has refused the key. Dropping the future must end what it started.
    pub fn new(
        read: impl Fn(KeyRequest) -> BoxFuture<'static, Result<Option<Secret>, Reason>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    async fn read(&self, request: KeyRequest) -> Result<Option<Secret>, Reason> {
        (self.0)(request).await
    }
}

impl fmt::Debug for KeyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyReader")
    }
}

/// The current key of one endpoint, and all secrets to remove from messages.
#[derive(Debug)]
pub(crate) struct Keys {
    reader: Option<KeyReader>,
    /// Held while a key is read, so that requests at the same time read it once.
    reading: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Option<Secret>,
    /// All secrets that this endpoint has sent.
    sent: Vec<String>,
    /// The redactor of `sent`; `None` until the first message.
    redactor: Option<Redactor>,
}

impl Keys {
    /// `headers` are the configured headers, whose values may be secret too.
    pub(crate) fn new(key: Option<Secret>, reader: Option<KeyReader>, headers: &[(String, String)]) -> Self {
        let mut sent: Vec<String> = key.iter().map(|key| key.expose().to_owned()).collect();
        for (_, value) in headers.iter().filter(|(name, _)| is_secret_header(name)) {
            // In `Bearer KEY` only the last word is secret.
            sent.extend(value.split_whitespace().last().map(str::to_owned));
        }
        let state = Mutex::new(State { current: key, sent, redactor: None });
        Self { reader, reading: tokio::sync::Mutex::default(), state }
    }

    /// Reads the key if it is not known yet.
    ///
    /// # Errors
    /// The reason why the key cannot be read.
    pub(crate) async fn load(&self) -> Result<(), Reason> {
        if let (None, Some(reader)) = (self.current(), &self.reader) {
            let _reading = self.reading.lock().await;
            if self.current().is_none()
                && let Some(key) = reader.read(KeyRequest::First).await?
            {
                self.replace(key);
            }
        }
        Ok(())
    }

    /// Returns the key for requests.
    pub(crate) fn current(&self) -> Option<Secret> {
        self.state().current.clone().filter(|key| !key.expose().is_empty())
    }

    /// Reads the key again after the service has refused `refused`, unless another request has done so. If there is
    /// none, the refused key stays.
    pub(crate) async fn reload(&self, refused: Option<&Secret>) {
        let Some(reader) = &self.reader else { return };
        let _reading = self.reading.lock().await;
        if self.current().as_ref() == refused
            && let Ok(Some(key)) = reader.read(KeyRequest::Refresh).await
        {
            self.replace(key);
        }
    }

    /// Replaces the key. The old one is still redacted from messages.
    fn replace(&self, stored: Secret) {
        let mut state = self.state();
        state.sent.push(stored.expose().to_owned());
        state.redactor = None;
        state.current = Some(stored);
    }

    /// Removes the keys from `text`.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut state = self.state();
        let State { sent, redactor, .. } = &mut *state;
        redactor.get_or_insert_with(|| Redactor::new(sent.clone())).redact(text).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
