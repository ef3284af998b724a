//! The stored state of a login: tokens, the registrations of this client, and a demand that waits for the next login.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Challenge;
use super::token_endpoint::ClientIdentity;

/// Stores one text for a server, so that only the user can read it.
pub trait LoginStore: fmt::Debug + Send + Sync {
    /// Returns the stored text; `None` if there is none.
    ///
    /// # Errors
    /// The message why it cannot be read.
    fn load(&self) -> Result<Option<String>, String>;

    /// Replaces the stored text.
    ///
    /// # Errors
    /// The message why it cannot be written.
    fn save(&self, text: &str) -> Result<(), String>;

    /// Removes a secret from all output of this program.
    fn redact(&self, secret: &str);
}

/// The state of the login to one server.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct LoginRecord {
    /// The registrations, by the identifier of the authorization server. A registration is valid only there.
    #[serde(default)]
    pub(super) clients: BTreeMap<String, RegisteredClient>,
    pub(super) token: Option<StoredToken>,
    /// The key to which tokens are bound, in the PKCS #8 form as Base64.
    pub(super) dpop_key: Option<String>,
    /// The demand of the server that waits for a person to log in.
    pub(super) pending: Option<Challenge>,
}

/// A registration.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) identity: ClientIdentity,
    /// The port of the redirection, which the registration names.
    pub(super) port: u16,
}

/// A token, with its issuer and its client.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredToken {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// The identifier of the authorization server.
    pub(super) issuer: String,
    /// The client to which the token was issued.
    pub(super) client: ClientIdentity,
    pub(super) is_dpop: bool,
    /// The scopes that were requested and granted.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The time from which the token should be refreshed, in seconds since 1970.
    #[serde(default)]
    pub(super) refresh_at: Option<u64>,
}

impl LoginRecord {
    /// Reads the record. A text of another version counts as no record.
    pub(super) fn load(store: &Arc<dyn LoginStore>) -> Result<Self, String> {
        let record: Self = match store.load()? {
            Some(text) => serde_json::from_str(&text).unwrap_or_default(),
            None => Self::default(),
        };
        record.redact(store);
        Ok(record)
    }

    pub(super) fn save(&self, store: &Arc<dyn LoginStore>) -> Result<(), String> {
        self.redact(store);
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        store.save(&text)
    }

    fn redact(&self, store: &Arc<dyn LoginStore>) {
        let clients = self.clients.values().filter_map(|client| client.identity.secret.as_ref());
        let tokens = self.token.iter().flat_map(|token| [Some(&token.access), token.refresh.as_ref()]);
        for secret in clients.chain(tokens.flatten()).chain(&self.dpop_key) {
            store.redact(secret);
        }
    }
}
