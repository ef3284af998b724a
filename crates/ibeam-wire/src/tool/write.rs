//! `write`: a file and its complete new content.

use super::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("write"),
    key: "writeToolCall",
    description: "Makes a file or replaces its content.",
    args: Some(WriteArgs::<String>::object),
    success: WriteSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// A file and its whole new content.
    pub struct WriteArgs<S: Default = String> {
        /// The file.
        required path("path"): S,
        /// Its whole new content.
        required file_text("fileText"): S,
        /// The `call_id` again.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The file that was written.
    pub struct WriteSuccess<S: Default = String> {
        /// Its absolute path.
        required path("path", shape: Shape::AbsolutePath): S,
        /// The lines it has now.
        required lines_created("linesCreated", unit: "lines"): u64,
        /// Its size now.
        required file_size("fileSize", unit: "bytes"): u64,
    }
}
