//! `update_todos`: the to-do list.

use super::Tool;
use crate::describe::{DescribeObject, Shape, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("update_todos"),
    key: "updateTodosToolCall",
    description: "Changes the to-do list.",
    args: Some(UpdateTodosArgs::<String>::object),
    success: TodosSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

/// The argument with the items.
pub const TODOS: &str = "todos";

/// How far a to-do is.
const STATUSES: &[&str] =
    &["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"];

contract_object! {
    /// Items for the to-do list.
    pub struct UpdateTodosArgs<S: Default = String> {
        /// The items.
        required todos("todos"): Vec<TodoArgs<S>>,
        /// Whether they are merged into the list by their ids, or replace it.
        required merge("merge"): bool,
    }
}

contract_object! {
    /// An item as it was asked for; in a merge, what is absent stays as it was.
    pub struct TodoArgs<S: Default = String> {
        /// Its id within the list.
        required id("id"): S,
        /// What is to be done.
        optional content("content"): Option<S>,
        /// How far it is.
        optional status("status", shape: Shape::OpenEnum(STATUSES)): Option<S>,
    }
}

contract_object! {
    /// The to-do list as it is now.
    pub struct TodosSuccess<S: Default = String> {
        /// The whole list.
        payload todos("todos"): Vec<TodoEntry<S>>,
    }
}

contract_object! {
    /// A to-do.
    pub struct TodoEntry<S: Default = String> {
        /// Its id within the list.
        payload id("id"): S,
        /// What is to be done.
        payload content("content"): S,
        /// How far it is.
        payload status("status", shape: Shape::OpenEnum(STATUSES)): S,
    }
}
