//! The lines between a run and the governor of its fleet: a connection for each request.
//!
//! The run sends an [`Ask`] and waits for the [`Permission`]. It then sends its request. When the answer has ended, it records
//! what that used in the log of the fleet, and sends a [`RequestReport`]. A connection that ends without a report is that of a
//! killed run.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::process_identity::own_identity;
use crate::request_log;
use crate::spend::Spend;

/// The variable with the path of the governor's socket.
pub const GOVERNOR_VARIABLE: &str = "IBEAM_FLEET_GOVERNOR";
/// The variable with the id of the task.
pub const TASK_VARIABLE: &str = "IBEAM_FLEET_TASK";
/// The variable with the directory of the fleet, of which a run sees its own workspace only.
pub const DIRECTORY_VARIABLE: &str = "IBEAM_FLEET_DIRECTORY";
/// The variable with the paths of files that the run may not read, a line each: the files of tasks, and copies of hidden
/// files.
pub const HIDDEN_FILES_VARIABLE: &str = "IBEAM_FLEET_HIDDEN_FILES";
/// The variable with the path of the key of a worker, which its runs may not read.
pub const KEY_FILE_VARIABLE: &str = "IBEAM_FLEET_KEY_FILE";

/// The file in the directory of a fleet that has a budget or rates: without a governor its runs send no request.
pub const LIMITED_FILE: &str = "limited";

/// Whether the fleet with this socket has a budget or rates.
pub fn is_limited(socket: &Path) -> bool {
    socket.with_file_name(LIMITED_FILE).exists()
}

/// The question whether a request may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The id of the request. A run that loses its governor asks the next one about the same request again.
    pub request: String,
    pub task: String,
    /// The provider and a fingerprint of its address and key. All runs share the limits of an account.
    pub account: String,
    /// The accounts with the other keys of the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The model. Models of an account get equal shares of what its limits allow.
    pub model: String,
    /// The tokens that the request is expected to need.
    pub expected_tokens: u64,
    /// The cost that is expected, in millionths of a US dollar.
    pub expected_micros: u64,
}

impl Ask {
    /// Returns the question for another request of this process.
    #[must_use]
    pub fn next(&self, expected_tokens: u64, expected_micros: u64) -> Self {
        static REQUESTS: AtomicU64 = AtomicU64::new(0);
        let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
        let request = format!("{}.{number}", own_identity());
        Self { request, expected_tokens, expected_micros, ..self.clone() }
    }

    /// Returns the accounts of all keys.
    pub fn accounts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.account).chain(&self.others).map(String::as_str)
    }

    pub fn position(&self, account: &str) -> usize {
        self.accounts().position(|other| other == account).unwrap_or_default()
    }

    pub fn expected(&self) -> Spend {
        Spend { tokens: self.expected_tokens, cost_micros: self.expected_micros }
    }
}

/// The answer of the governor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Permission {
    /// The request may be sent.
    Send {
        /// The number of the account: 0 is the first one of the question.
        #[serde(default)]
        key: usize,
    },
    /// No request may be sent any more.
    Refuse { reason: String },
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestReport {
    /// The tokens of the prompt and the answer.
    pub tokens: u64,
    /// The cost in millionths of a US dollar; 0 if the price is unknown.
    pub cost_micros: u64,
    /// The answer of the provider.
    pub outcome: RequestOutcome,
    /// The rest of the rate limits, as the service reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaLeft>,
}

/// The rest of the rate limits of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaLeft {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<LimitLeft>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<LimitLeft>,
}

/// The rest of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitLeft {
    pub count: u64,
    /// The time until all of the limit is there again.
    pub reset_ms: u64,
}

impl RequestReport {
    /// Records the end of a request in the log of the fleet with this socket, so that a driver that is gone misses nothing.
    pub fn record(&self, socket: &Path, request: &str) -> std::io::Result<()> {
        request_log::append_end(socket.parent().unwrap_or(Path::new("/")), request, self.spend())
    }

    pub fn spend(&self) -> Spend {
        Spend { tokens: self.tokens, cost_micros: self.cost_micros }
    }
}

/// The answer of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RequestOutcome {
    Complete,
    /// An overload, or too many requests.
    Overloaded {
        /// The pause that it asks for.
        retry_after_ms: Option<u64>,
    },
    /// A refused key or an exhausted quota: no further request can succeed.
    Exhausted {
        reason: String,
    },
    /// Another failure.
    Failed,
}
