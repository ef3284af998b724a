//! The definition of a tool, and the parts that several tools share.

use crate::describe::{DescribeObject, Description, contract_object};

/// A tool with its own key.
#[derive(Debug)]
pub struct Tool {
    /// The name that the model uses; `None` if there is no single fixed name.
    pub name: Option<&'static str>,
    /// The key of `tool_call`, e.g. `readToolCall`.
    pub key: &'static str,
    /// Whether the arguments end with the id of the call.
    pub repeats_call_id: bool,
    pub(crate) description: &'static str,
    /// The arguments; `None` for a tool that ibeam does not have and the schema omits.
    pub(crate) args: Option<Description>,
    /// The payload of the arm `success`.
    pub(crate) success: Description,
    /// The arms in addition to those of every tool.
    pub(crate) arms: &'static [Arm],
}

/// A key of `result`: one possible outcome of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) payload: Description,
}

pub(super) const FILE_NOT_FOUND: Arm = Arm {
    name: "fileNotFound",
    description: "The file does not exist.",
    payload: FileNotFound::<String>::object,
};

contract_object! {
    /// The error of a failed call.
    pub struct ErrorMessage<S: Default = String> {
        /// The error message: one English sentence.
        payload error_message("errorMessage"): S,
    }
}

contract_object! {
    /// A file that does not exist.
    pub struct FileNotFound<S: Default = String> {
        /// The path of the file.
        payload path("path"): S,
    }
}
