//! `task`: the sub-agents of the Cursor CLI, which ibeam does not have.

use serde_json::Value;

use super::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "taskToolCall";

/// The tool for sub-agents.
pub const TOOL: Tool = Tool {
    name: None,
    key: KEY,
    description: "Runs a sub-agent.",
    args: None,
    success: TaskSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// The work of a sub-agent.
    pub struct TaskSuccess<S: Default = String> {
        /// The steps of the conversation.
        payload conversation_steps("conversationSteps"): Vec<Value>,
        /// The id of the sub-agent.
        payload agent_id("agentId"): S,
    }
}
