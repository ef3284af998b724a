//! The sub-agents of the original program, which ibeam does not have.

use serde_json::Value;

use super::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: None,
    key: "taskToolCall",
    description: "Runs a sub-agent.",
    args: None,
    success: TaskSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// What a sub-agent did.
    pub struct TaskSuccess<S: Default = String> {
        /// Its steps.
        payload conversation_steps("conversationSteps"): Vec<Value>,
        /// Its id.
        payload agent_id("agentId"): S,
    }
}
