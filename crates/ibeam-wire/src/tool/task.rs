//! `task`: sub-agents.

use serde_json::Value;

use super::definition::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "taskToolCall";

/// The tool for sub-agents.
pub const TOOL: Tool = Tool {
    name: Some("task"),
    key: KEY,
    description: "Runs a sub-agent.",
    args: Some(TaskArgs::<String>::object),
    success: TaskSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// The task of a sub-agent.
    pub struct TaskArgs<S: Default = String> {
        /// The task in a few words.
        required description("description"): S,
        /// The prompt of the sub-agent.
        required prompt("prompt"): S,
        /// The name of the definition of the sub-agent.
        optional subagent_type("subagentType"): Option<S>,
        /// The model of the sub-agent, if it is not that of the run.
        optional model("model"): Option<S>,
        /// The id of an earlier sub-agent, which continues.
        optional resume("resume"): Option<S>,
        /// Whether the sub-agent may only read.
        optional readonly("readonly"): bool,
        /// The id of the sub-agent, which is the id of its session.
        optional agent_id("agentId", shape: Shape::Uuid): Option<S>,
    }
}

contract_object! {
    /// The work of a sub-agent.
    pub struct TaskSuccess<S: Default = String> {
        /// The steps of the conversation; the last one is the result.
        payload conversation_steps("conversationSteps"): Vec<Value>,
        /// The id of the sub-agent.
        payload agent_id("agentId"): S,
        /// The duration.
        optional duration_ms("durationMs", unit: "ms"): Option<u64>,
    }
}
