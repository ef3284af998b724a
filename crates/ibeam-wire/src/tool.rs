//! The tools of the contract: their keys, arguments and payloads, one module for each tool.
//!
//! A new tool is a new module and a line of [`TOOLS`].

mod definition;
pub mod delete;
pub mod edit;
pub mod glob;
pub mod grep;
pub mod ls;
pub mod mcp;
pub mod read;
pub mod shell;
pub mod task;
pub mod update_todos;
pub mod web_fetch;
pub mod web_search;
pub mod write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::definition::Arm;
pub use self::definition::{ErrorMessage, FileNotFound, Tool};
use crate::describe::{DescribeObject, contract_object};
pub use crate::event::tool_call::FUNCTION;

/// Every tool, in the order of the schema.
pub const TOOLS: &[Tool] = &[
    read::TOOL,
    write::TOOL,
    edit::TOOL,
    shell::TOOL,
    grep::TOOL,
    glob::TOOL,
    ls::TOOL,
    delete::TOOL,
    update_todos::TOOL,
    web_fetch::TOOL,
    web_search::TOOL,
    mcp::TOOL,
    task::TOOL,
];

/// The argument that repeats the id of the call.
pub const CALL_ID: &str = "toolCallId";

/// The arm of a successful call.
pub const SUCCESS: &str = "success";

/// The arms of every tool, without [`SUCCESS`].
pub(crate) const COMMON_ARMS: &[Arm] = &[
    Arm {
        name: "rejected",
        description: "The call was refused and did not run.",
        payload: Rejected::<String>::object,
    },
    Arm {
        name: "permissionDenied",
        description: "The operating system denied access.",
        payload: PermissionDenied::<String>::object,
    },
    Arm {
        name: "error",
        description: "The call failed, or the end of the run interrupted it.",
        payload: ErrorMessage::<String>::object,
    },
];

impl Tool {
    /// Returns the tool that the model calls `name`, or `None` if it has no own key.
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == Some(name))
    }

    /// Returns the tool with this key of `tool_call`.
    pub fn with_key(key: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.key == key)
    }

    /// Returns the keys of the payload of the arm `success`, in wire order.
    pub fn success_keys(&self) -> impl Iterator<Item = &'static str> {
        (self.success)().keys.iter().map(|key| key.name)
    }

    /// Whether a call of the tool can end in this arm.
    pub fn has_arm(&self, name: &str) -> bool {
        name == SUCCESS || self.arms.iter().chain(COMMON_ARMS).any(|arm| arm.name == name)
    }
}

/// Whether a call of any tool can end in this arm.
pub fn is_arm(name: &str) -> bool {
    name == SUCCESS || arm(name).is_some()
}

/// Returns the arm with this name, of any tool.
pub(crate) fn arm(name: &str) -> Option<&'static Arm> {
    let arms = || TOOLS.iter().flat_map(|tool| tool.arms);
    COMMON_ARMS.iter().chain(arms()).find(|arm| arm.name == name)
}

contract_object! {
    /// A call that policy, a hook or a person refused; it did not run.
    pub struct Rejected<S: Default = String> {
        /// The reason, in English.
        payload reason("reason"): S,
    }
}

contract_object! {
    /// An access that the operating system denied.
    pub struct PermissionDenied<S: Default = String> {
        /// The path of the denied access.
        payload path("path"): S,
        /// The error message of the operating system.
        payload error("error"): S,
    }
}

/// The object `result` of a completed call. `P` is the payload of the arm `success`, which depends on the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>, S: Default + Deserialize<'de>"))]
pub struct CallResult<P = Value, S: Default = String> {
    /// The outcome of the call.
    #[serde(flatten)]
    pub arm: CallArm<P, S>,
    /// Whether a command still runs in the background.
    #[serde(rename = "isBackground", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_background: bool,
}

/// The one arm of `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>, S: Default + Deserialize<'de>"))]
pub enum CallArm<P = Value, S: Default = String> {
    /// The call succeeded.
    Success(P),
    /// A command exited non-zero or was ended by a signal.
    Failure(shell::ShellOutput<S>),
    /// A command exceeded its time limit.
    Timeout(shell::Timeout),
    /// A command could not be started.
    SpawnError(ErrorMessage<S>),
    /// The file does not exist.
    FileNotFound(FileNotFound<S>),
    /// The operating system denied access.
    PermissionDenied(PermissionDenied<S>),
    /// Policy, a hook or a person refused the call.
    Rejected(Rejected<S>),
    /// The call failed in another way.
    Error(ErrorMessage<S>),
}
