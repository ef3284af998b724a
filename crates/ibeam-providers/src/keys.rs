//! API keys: the secret type, and the key that an endpoint currently uses.
//!
//! A refused key is read again from its storage, but never removed from it: the refusal may be a defect of the service.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_core::Redactor;

/// An API key. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key, without the white space that files and shells leave around it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Returns the key, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Reads a key from its storage, which another process may have changed.
#[derive(Clone)]
pub struct KeyReader(Arc<dyn Fn() -> Option<Secret> + Send + Sync>);

impl KeyReader {
    /// `read` returns the stored key. It must not block for long and must have no side effects.
    pub fn new(read: impl Fn() -> Option<Secret> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self) -> Option<Secret> {
        (self.0)()
    }
}

impl fmt::Debug for KeyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyReader")
    }
}

/// Parts of the names of headers that carry secrets.
const SECRET_NAME_PARTS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];

/// Whether a header of this name is likely to carry a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

/// The current key of one endpoint, and all secrets to remove from messages.
#[derive(Debug)]
pub(crate) struct Keys {
    reader: Option<KeyReader>,
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
        Self { reader, state: Mutex::new(State { current: key, sent, redactor: None }) }
    }

    /// Returns the key for requests.
    pub(crate) fn current(&self) -> Option<Secret> {
        self.state().current.clone().filter(|key| !key.expose().is_empty())
    }

    /// Replaces the key by the stored one, if there is one. The refused key is still redacted from messages.
    pub(crate) fn reload(&self) {
        let Some(stored) = self.reader.as_ref().and_then(KeyReader::read) else { return };
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
