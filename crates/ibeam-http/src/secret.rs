//! A secret text: an API key, a token, or a URL with a password.

use std::fmt;

/// A secret. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret, without the white space that files and shells leave around it.
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().to_owned())
    }

    /// Returns the secret, for the header or the body that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
