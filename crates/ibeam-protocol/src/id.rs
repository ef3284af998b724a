//! Identifiers, each with its own type, so that they cannot be confused.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The number of the next pinned id; 0 while ids are random.
static NEXT_PINNED: AtomicU64 = AtomicU64::new(0);

/// A stored conversation: a UUID, the same in every event of a run and the id that `--resume` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl SessionId {
    /// Returns a new random (version 4) id.
    pub fn random() -> Self {
        let next = |number: u64| (number > 0).then_some(number + 1);
        match NEXT_PINNED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(number) => {
                Self(uuid::Builder::from_random_bytes(u128::from(number).to_be_bytes()).into_uuid())
            }
            Err(_) => Self(Uuid::new_v4()),
        }
    }

    /// Makes [`Self::random`] return the same sequence of ids in every process, so that a replay can be compared with
    /// another one byte by byte.
    pub fn pin_random() {
        NEXT_PINNED.store(1, Ordering::Relaxed);
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

text_id!(
    /// The id of a tool call: the provider's, or a generated one if the provider gave none.
    CallId
);
text_id!(
    /// The id of a model request of a run; the calls of one answer share it.
    ModelCallId
);
