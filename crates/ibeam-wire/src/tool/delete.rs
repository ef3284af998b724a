//! `delete`: a file that is removed.

use super::{FILE_NOT_FOUND, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("delete"),
    key: "deleteToolCall",
    description: "Deletes a file.",
    args: Some(DeleteArgs::<String>::object),
    success: DeleteSuccess::<String>::object,
    arms: &[FILE_NOT_FOUND],
    repeats_call_id: false,
};

contract_object! {
    /// Which file is deleted.
    pub struct DeleteArgs<S: Default = String> {
        /// The file.
        required path("path"): S,
    }
}

contract_object! {
    /// The file that was deleted.
    pub struct DeleteSuccess<S: Default = String> {
        /// Its absolute path.
        payload path("path"): S,
        /// Its size before.
        payload file_size("fileSize", unit: "bytes"): u64,
    }
}
