//! A key, kept out of errors and logs, and the way to where it is kept.

use std::fmt;
use std::sync::Arc;

/// An API key. Its `Debug` form never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; white space around it, as files and shells leave it, is dropped.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself, for the one header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Reads a key from where it is kept, which may hold another one by now.
#[derive(Clone)]
pub struct KeyReader(Arc<dyn Fn() -> Option<Secret> + Send + Sync>);

impl KeyReader {
    /// `read` gives the key as it is kept now; it must not block for long and must not change anything.
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
