//! The key in use: given at the start, and read again from where it is kept once a service has refused it.
//!
//! Nothing is ever written back: a refusal may be the service's slip.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ibeam_core::Redactor;

use crate::endpoint::Endpoint;
use crate::secret::{KeyReader, Secret};

/// Words in the names of headers that carry secrets.
const SECRET_NAMES: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];

/// Whether a header of this name carries a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// The keys of one endpoint.
#[derive(Debug)]
pub(crate) struct Keys {
    reader: Option<KeyReader>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Option<Secret>,
    /// Every secret that was ever sent.
    sent: Vec<String>,
    redactor: Redactor,
}

impl Keys {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let mut sent: Vec<String> = endpoint.key.iter().map(|key| key.expose().to_owned()).collect();
        for (_, value) in endpoint.headers.iter().filter(|(name, _)| is_secret_header(name)) {
            // `Bearer KEY`: the scheme is no secret, what comes after it is.
            sent.extend(value.split_whitespace().last().map(str::to_owned));
        }
        let redactor = Redactor::new(sent.clone());
        let state = Mutex::new(State { current: endpoint.key.clone(), sent, redactor });
        Self { reader: endpoint.key_reader.clone(), state }
    }

    /// The key that requests carry.
    pub(crate) fn current(&self) -> Option<Secret> {
        self.state().current.clone().filter(|key| !key.expose().is_empty())
    }

    /// Takes the key that is kept now, where there is one; the refused one is still taken out of messages.
    pub(crate) fn read_again(&self) {
        let Some(kept) = self.reader.as_ref().and_then(KeyReader::read) else { return };
        let mut state = self.state();
        state.sent.push(kept.expose().to_owned());
        state.redactor = Redactor::new(state.sent.clone());
        state.current = Some(kept);
    }

    /// Takes the keys out of text.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.state().redactor.redact(text).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
