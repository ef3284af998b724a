//! `write`: creates a file or replaces its content.

use super::definition::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "writeToolCall";

/// The tool `write`.
pub const TOOL: Tool = Tool {
    name: Some("write"),
    key: KEY,
    description: "Creates a file or replaces its content.",
    args: Some(WriteArgs::<String>::object),
    success: WriteSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// A file and its complete new content.
    pub struct WriteArgs<S: Default = String> {
        /// The path of the file.
        required path("path"): S,
        /// The complete new content.
        required file_text("fileText"): S,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The written file.
    pub struct WriteSuccess<S: Default = String> {
        /// The absolute path of the file.
        required path("path", shape: Shape::AbsolutePath): S,
        /// The number of lines of the new content.
        required lines_created("linesCreated", unit: "lines"): u64,
        /// The size of the new content.
        required file_size("fileSize", unit: "bytes"): u64,
    }
}
