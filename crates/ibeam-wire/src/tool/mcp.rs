//! The tools of MCP servers.

use serde_json::Value;

use super::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: None,
    key: "mcpToolCall",
    description: "Calls a tool of an MCP server.",
    args: Some(McpArgs::<String, Value>::object),
    success: McpSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// A tool of an MCP server, and what it is given.
    pub struct McpArgs<S: Default = String, V = Value> {
        /// Server and tool as one word, `server-tool`.
        required name("name"): S,
        /// What the tool is given.
        required args("args", shape: Shape::AnyObject): V,
        /// The `call_id` again.
        required tool_call_id("toolCallId"): S,
        /// The server.
        required provider_identifier("providerIdentifier"): S,
        /// The tool, as the server names it.
        required tool_name("toolName"): S,
    }
}

contract_object! {
    /// What the tool of an MCP server gave.
    pub struct McpSuccess<S: Default = String> {
        /// The blocks of its answer.
        payload content("content", shape: Shape::List(&Shape::UncheckedObject(McpBlock::<String>::object))): Vec<McpBlock<S>>,
        /// Whether the tool says itself that it failed; such a call counts as failed.
        payload is_error("isError"): bool,
    }
}

contract_object! {
    /// A block of the answer of an MCP server.
    pub struct McpBlock<S: Default = String> {
        /// The text of the block.
        required text("text"): McpText<S>,
    }
}

contract_object! {
    /// The text of a block.
    pub struct McpText<S: Default = String> {
        /// The text itself.
        required text("text"): S,
    }
}
