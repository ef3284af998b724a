//! The lines between a run and the governor of its fleet: a connection for each request.
//!
//! The run sends an [`Ask`] and waits for the [`Permission`]. It then sends its request, and a [`RequestReport`] when the answer
//! has ended. A connection that ends without a report is that of a killed run.

use serde::{Deserialize, Serialize};

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

/// The question whether a request may be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The task of the run.
    pub task: String,
    /// The provider and a fingerprint of its address and key. All runs share the limits of an account.
    pub account: String,
    /// The model. Models of an account get equal shares of what its limits allow.
    pub model: String,
}

/// The answer of the governor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Permission {
    /// The request may be sent.
    Send,
    /// No request may be sent any more.
    Refuse {
        /// The reason.
        reason: String,
    },
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
}

/// The answer of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RequestOutcome {
    /// A complete answer.
    Complete,
    /// An overload, or too many requests.
    Overloaded {
        /// The pause that it asks for.
        retry_after_ms: Option<u64>,
    },
    /// A refused key or an exhausted quota: no further request can succeed.
    Exhausted {
        /// Its message.
        reason: String,
    },
    /// Another failure.
    Failed,
}
