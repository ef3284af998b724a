//! `update_todos`: changes the to-do list.

use super::definition::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "updateTodosToolCall";

/// The tool `update_todos`.
pub const TOOL: Tool = Tool {
    name: Some("update_todos"),
    key: KEY,
    description: "Changes the to-do list.",
    args: Some(UpdateTodosArgs::<String>::object),
    success: TodosSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

/// The argument with the items.
pub const TODOS: &str = "todos";

/// The states of a to-do.
const STATUSES: &[&str] =
    &["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"];

contract_object! {
    /// The items for the to-do list.
    pub struct UpdateTodosArgs<S: Default = String> {
        /// The items.
        required todos("todos"): Vec<TodoArgs<S>>,
        /// Whether the items are merged into the list by their ids; otherwise they replace it.
        required merge("merge"): bool,
    }
}

contract_object! {
    /// An item of the arguments. In a merge, absent keys keep their values.
    pub struct TodoArgs<S: Default = String> {
        /// The id within the list.
        required id("id"): S,
        /// The text of the to-do.
        optional content("content"): Option<S>,
        /// The state of the to-do.
        optional status("status", shape: Shape::OpenEnum(STATUSES)): Option<S>,
    }
}

contract_object! {
    /// The new state of the to-do list.
    pub struct TodosSuccess<S: Default = String> {
        /// The complete list.
        payload todos("todos"): Vec<TodoEntry<S>>,
    }
}

contract_object! {
    /// A to-do.
    pub struct TodoEntry<S: Default = String> {
        /// The id within the list.
        payload id("id"): S,
        /// The text of the to-do.
        payload content("content"): S,
        /// The state of the to-do.
        payload status("status", shape: Shape::OpenEnum(STATUSES)): S,
    }
}
