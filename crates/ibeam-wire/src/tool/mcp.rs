//! `mcp`: calls the tools of MCP servers.

use serde_json::Value;

use super::definition::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The key of the tool in the object `tool_call`.
pub const KEY: &str = "mcpToolCall";

/// The tool for all tools of MCP servers.
pub const TOOL: Tool = Tool {
    name: None,
    key: KEY,
    description: "Calls a tool of an MCP server.",
    args: Some(McpArgs::<String, Value>::object),
    success: McpSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// A tool of an MCP server and its arguments.
    pub struct McpArgs<S: Default = String, V = Value> {
        /// The names of the server and of the tool, joined: `server-tool`.
        required name("name"): S,
        /// The arguments of the tool.
        required args("args", shape: Shape::AnyObject): V,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
        /// The name of the server.
        required provider_identifier("providerIdentifier"): S,
        /// The name of the tool on the server.
        required tool_name("toolName"): S,
    }
}

contract_object! {
    /// The output of a tool of an MCP server.
    pub struct McpSuccess<S: Default = String> {
        /// The blocks of the response.
        payload content("content", shape: Shape::List(&Shape::UncheckedObject(McpBlock::<String>::object))): Vec<McpBlock<S>>,
        /// Whether the tool reports a failure; such a call counts as failed.
        payload is_error("isError"): bool,
    }
}

contract_object! {
    /// A block of the response of an MCP server.
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
