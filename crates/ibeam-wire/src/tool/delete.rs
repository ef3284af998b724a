//! `delete`: removes a file.

use super::definition::{FILE_NOT_FOUND, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "deleteToolCall";

/// The tool `delete`.
pub const TOOL: Tool = Tool {
    name: Some("delete"),
    key: KEY,
    description: "Deletes a file.",
    args: Some(DeleteArgs::<String>::object),
    success: DeleteSuccess::<String>::object,
    arms: &[FILE_NOT_FOUND],
    repeats_call_id: false,
};

contract_object! {
    /// The file to delete.
    pub struct DeleteArgs<S: Default = String> {
        /// The path of the file.
        required path("path"): S,
    }
}

contract_object! {
    /// The deleted file.
    pub struct DeleteSuccess<S: Default = String> {
        /// The absolute path of the file.
        payload path("path"): S,
        /// The size before the deletion.
        payload file_size("fileSize", unit: "bytes"): u64,
    }
}
