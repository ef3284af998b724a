//! Signatures of what a submitter writes to the queue: the tasks, and the state of the fleet as a whole.
//!
//! The permissions of the server do not keep a worker from placing messages under other subjects: it can name one as the
//! subject of an answer. So a submitter signs with its nkey (Ed25519), and a worker with accepted keys executes nothing
//! else. A signature binds the name of the fleet, the kind and the name of the entry, and its value byte for byte.

use std::fmt;
use std::sync::Arc;

use async_nats::HeaderMap;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ibeam_fleet::QueueError;
use nkeys::{KeyPair, KeyPairType};

use crate::connection::QueueCredentials;
use crate::error::service;
use crate::names::Names;

/// The header with the public key and the signature.
pub(crate) const HEADER: &str = "Ibeam-Signature";
/// The beginning of everything that is signed. The number is that of the form.
const DOMAIN: &str = "ibeam fleet 1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignedKind {
    /// The definition of a task.
    Task,
    /// The state of the fleet as a whole.
    Control,
}

impl SignedKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Control => "control",
        }
    }
}

/// Returns what is signed. No name has a line break.
fn signed_bytes(names: &Names, kind: SignedKind, name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{DOMAIN}\n{}\n{}\n{name}\n", kind.as_str(), names.fleet()).into_bytes();
    bytes.extend_from_slice(value);
    bytes
}

/// The key of a submitter.
#[derive(Clone)]
pub(crate) struct Signer {
    key: Arc<KeyPair>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Signer").field(&self.key.public_key()).finish()
    }
}

impl Signer {
    /// Returns the key in the credentials; `None` without credentials.
    ///
    /// # Errors
    /// `Service` if the file cannot be read or has no key.
    pub(crate) fn from_credentials(credentials: &QueueCredentials) -> Result<Option<Self>, QueueError> {
        let (path, is_seed) = match credentials {
            QueueCredentials::None => return Ok(None),
            QueueCredentials::File(path) => (path, false),
            QueueCredentials::Nkey(path) => (path, true),
        };
        let what = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| service(&what, &error))?;
        let seed = if is_seed { Some(text.trim()) } else { seed_of_credentials(&text) };
        let missing = || QueueError::Service { detail: format!("{what}: the file has no seed of a user") };
        let key = KeyPair::from_seed(seed.ok_or_else(missing)?).map_err(|error| service(&what, &error))?;
        Ok(Some(Self { key: Arc::new(key) }))
    }

    /// Returns the accepted keys of a reader that accepts only this key.
    pub(crate) fn as_accepted(&self) -> SubmitterKeys {
        SubmitterKeys(vec![self.key.public_key()])
    }

    /// Returns the headers of an entry with its signature.
    pub(crate) fn sign(
        &self,
        names: &Names,
        kind: SignedKind,
        name: &str,
        value: &[u8],
    ) -> Result<HeaderMap, QueueError> {
        let signature = self.key.sign(&signed_bytes(names, kind, name, value));
        let signature = signature.map_err(|error| service("signature", &error))?;
        let mut headers = HeaderMap::new();
        let value = format!("{} {}", self.key.public_key(), BASE64_STANDARD.encode(signature));
        headers.insert(HEADER, value.as_str());
        Ok(headers)
    }
}

/// Returns the seed in a credentials file.
fn seed_of_credentials(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.contains("BEGIN USER NKEY SEED"));
    lines.nth(1).filter(|line| line.starts_with('S'))
}

/// The public keys of the submitters that a worker accepts. Without any, it accepts everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubmitterKeys(Vec<String>);

/// A text is not the public nkey of a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value should be the public nkey of a user, which begins with `U`")]
pub struct InvalidSubmitterKey;

impl SubmitterKeys {
    /// Parses public keys.
    ///
    /// # Errors
    /// One of the texts is not such a key. The error does not repeat the text: it may be a seed.
    pub fn parse(texts: &[String]) -> Result<Self, InvalidSubmitterKey> {
        let is_user = |text: &str| {
            KeyPair::from_public_key(text).is_ok_and(|key| matches!(key.key_pair_type(), KeyPairType::User))
        };
        match texts.iter().all(|text| is_user(text)) {
            true => Ok(Self(texts.to_vec())),
            false => Err(InvalidSubmitterKey),
        }
    }

    /// Whether entries need no signature.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an entry has the signature of one of these keys, or needs none.
    pub(crate) fn accept(
        &self,
        names: &Names,
        kind: SignedKind,
        name: &str,
        value: &[u8],
        headers: &HeaderMap,
    ) -> bool {
        self.is_empty()
            || signer_of(names, kind, name, value, headers).is_some_and(|signer| self.0.contains(&signer))
    }
}

/// Returns the public key whose signature an entry has; `None` without a signature, or with a wrong one.
pub(crate) fn signer_of(
    names: &Names,
    kind: SignedKind,
    name: &str,
    value: &[u8],
    headers: &HeaderMap,
) -> Option<String> {
    let (public, signature) = headers.get(HEADER)?.as_str().split_once(' ')?;
    let signature = BASE64_STANDARD.decode(signature).ok()?;
    let key = KeyPair::from_public_key(public).ok()?;
    key.verify(&signed_bytes(names, kind, name, value), &signature).ok()?;
    Some(public.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::QueueAddress;

    fn names(fleet: &str) -> Names {
        Names::new(&QueueAddress::parse(&format!("nats://a/{fleet}")).unwrap())
    }

    fn signer() -> Signer {
        Signer { key: Arc::new(KeyPair::new_user()) }
    }

    #[test]
    fn a_signature_holds_for_one_fleet_one_entry_and_one_value() {
        let (submitter, other) = (signer(), signer());
        let accepted = submitter.as_accepted();
        let headers = submitter.sign(&names("f"), SignedKind::Task, "a", b"{}").unwrap();
        let accepts = |fleet: &str, kind, name: &str, value: &[u8]| {
            accepted.accept(&names(fleet), kind, name, value, &headers)
        };
        assert!(accepts("f", SignedKind::Task, "a", b"{}"));
        assert!(!accepts("g", SignedKind::Task, "a", b"{}"), "another fleet");
        assert!(!accepts("f", SignedKind::Control, "a", b"{}"), "another kind");
        assert!(!accepts("f", SignedKind::Task, "b", b"{}"), "another task");
        assert!(!accepts("f", SignedKind::Task, "a", b"{ }"), "another definition");
        let check = |accepted: &SubmitterKeys, headers: &HeaderMap| {
            accepted.accept(&names("f"), SignedKind::Task, "a", b"{}", headers)
        };
        assert!(!check(&other.as_accepted(), &headers), "another submitter");
        assert!(!check(&accepted, &HeaderMap::new()), "no signature");
        assert!(check(&SubmitterKeys::default(), &HeaderMap::new()), "nothing is required");
        for damaged in ["", "x y", "UAAA 00", &format!("{} 0", submitter.key.public_key())] {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, damaged);
            assert!(!check(&accepted, &headers), "{damaged}");
        }
    }

    #[test]
    fn keys_are_public_keys_of_users() {
        let (user, account) = (KeyPair::new_user(), KeyPair::new_account());
        SubmitterKeys::parse(&[user.public_key()]).unwrap();
        for invalid in [String::new(), "U".to_owned(), user.seed().unwrap(), account.public_key()] {
            assert_eq!(SubmitterKeys::parse(&[user.public_key(), invalid]), Err(InvalidSubmitterKey));
        }
    }

    #[test]
    fn the_key_is_that_of_the_credentials() {
        let home = tempfile::tempdir().unwrap();
        let key = KeyPair::new_user();
        let (seed, credentials) = (home.path().join("a.nk"), home.path().join("a.creds"));
        std::fs::write(&seed, format!("{}\n", key.seed().unwrap())).unwrap();
        let jwt = "-----BEGIN NATS USER JWT-----\nx.y.z\n------END NATS USER JWT------\n";
        let text = format!(
            "{jwt}\n-----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            key.seed().unwrap()
        );
        std::fs::write(&credentials, text).unwrap();
        for given in [QueueCredentials::Nkey(seed.clone()), QueueCredentials::File(credentials)] {
            let signer = Signer::from_credentials(&given).unwrap().unwrap();
            assert_eq!(signer.key.public_key(), key.public_key());
        }
        assert!(Signer::from_credentials(&QueueCredentials::None).unwrap().is_none());
        Signer::from_credentials(&QueueCredentials::File(seed)).unwrap_err();
    }
}
