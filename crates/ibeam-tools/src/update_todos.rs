//! `update_todos`: the to-do list of the run, which the tool stores.

use std::sync::{Arc, Mutex, PoisonError};

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::tool_output::{Todo, TodoStatus};
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};

/// Stores the list.
#[derive(Default)]
pub(crate) struct UpdateTodos {
    list: Arc<Mutex<Vec<Todo>>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct UpdateTodosArguments {
    todos: Vec<Item>,
    #[serde(default, deserialize_with = "deserialize_merge")]
    merge: bool,
}

/// An item as the model writes it; in a merge, absent fields keep their value.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Item {
    #[serde(deserialize_with = "deserialize_id")]
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[serde(alias = "TODO_STATUS_PENDING")]
    Pending,
    #[serde(alias = "TODO_STATUS_IN_PROGRESS", alias = "in-progress", alias = "inProgress")]
    InProgress,
    #[serde(alias = "TODO_STATUS_COMPLETED", alias = "done")]
    Completed,
    #[serde(alias = "TODO_STATUS_CANCELLED", alias = "canceled")]
    Cancelled,
}

impl Arguments for UpdateTodosArguments {
    const TOOL: &'static str = "update_todos";
    const EXAMPLE: &'static str =
        r#"{"todos": [{"id": "1", "content": "write the test", "status": "in_progress"}], "merge": true}"#;
}

impl Tool for UpdateTodos {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<UpdateTodosArguments>(include_str!("update_todos.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<UpdateTodosArguments>(arguments)?;
        let canonical = arguments::to_canonical_json(&args)?;
        let list = Arc::clone(&self.list);
        Ok(PreparedCall::new(canonical, Access::Nothing, async move |_| update(&list, args)))
    }
}

fn update(list: &Mutex<Vec<Todo>>, args: UpdateTodosArguments) -> ToolOutcome {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    // A copy is changed, so that an invalid item leaves the list unchanged.
    let mut next = if args.merge { list.clone() } else { Vec::new() };
    for Item { id, content, status } in args.todos {
        let status = status.map(TodoStatus::from);
        match next.iter_mut().find(|todo| todo.id == id) {
            Some(todo) => {
                todo.content = content.unwrap_or_else(|| std::mem::take(&mut todo.content));
                todo.status = status.unwrap_or(todo.status);
            }
            None => {
                let Some(content) = content else {
                    let wrong = format!("the new item `{id}` has no `content`");
                    return arguments::error_outcome::<UpdateTodosArguments>(wrong);
                };
                next.push(Todo { id, content, status: status.unwrap_or(TodoStatus::Pending) });
            }
        }
    }
    list.clone_from(&next);
    let for_model = list_text(&next);
    ToolOutcome::Success { output: ToolOutput::Todos(next), for_model: for_model.into() }
}

fn list_text(list: &[Todo]) -> String {
    if list.is_empty() {
        return "the list is empty".to_owned();
    }
    list.iter()
        .map(|todo| {
            let mark = match todo.status {
                TodoStatus::Pending => ' ',
                TodoStatus::InProgress => '>',
                TodoStatus::Completed => 'x',
                TodoStatus::Cancelled => '-',
            };
            format!("[{mark}] {} {}\n", todo.id, todo.content)
        })
        .collect()
}

impl From<Status> for TodoStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

fn deserialize_id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::String(id) => Ok(id),
        Value::Number(id) => Ok(id.to_string()),
        other => Err(serde::de::Error::custom(format!("{other} is not an id such as \"1\""))),
    }
}

fn deserialize_merge<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    lenient::boolean(from).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::ToolOutput;
    use ibeam_protocol::tool_output::TodoStatus::{self, Cancelled, Completed, InProgress, Pending};
    use serde_json::{Value, json};

    use crate::fixture::{Fixture, failure, success};

    #[track_caller]
    fn check(calls: &[Value], expect: &[(&str, &str, TodoStatus)]) {
        let fixture = Fixture::new();
        let mut last = None;
        for call in calls {
            last = Some(success(fixture.call("update_todos", call.clone())).0);
        }
        let Some(ToolOutput::Todos(list)) = last else { panic!("{last:?}") };
        let list: Vec<_> = list.iter().map(|t| (t.id.as_str(), t.content.as_str(), t.status)).collect();
        assert_eq!(list, expect);
    }

    fn first() -> Value {
        json!({"todos": [{"id": "1", "content": "a", "status": "in_progress"}, {"id": "2", "content": "b"}]})
    }

    #[test]
    fn a_list_is_created() {
        check(&[first()], &[("1", "a", InProgress), ("2", "b", Pending)]);
    }

    #[test]
    fn a_merge_changes_what_it_names_and_adds_the_rest() {
        let merge = json!({"merge": true, "todos": [
            {"id": "1", "status": "TODO_STATUS_COMPLETED"}, {"id": "3", "content": "c", "status": "cancelled"}]});
        check(&[first(), merge], &[("1", "a", Completed), ("2", "b", Pending), ("3", "c", Cancelled)]);
    }

    #[test]
    fn without_merge_the_list_is_replaced() {
        check(&[first(), json!({"todos": [{"id": 9, "content": "z"}]})], &[("9", "z", Pending)]);
    }

    #[test]
    fn a_new_item_without_content_changes_nothing() {
        let fixture = Fixture::new();
        success(fixture.call("update_todos", first()));
        let wrong = json!({"merge": true, "todos": [{"id": "1", "status": "completed"}, {"id": "7"}]});
        let (_, for_model) = failure(fixture.call("update_todos", wrong));
        assert!(for_model.contains("the new item `7` has no `content`"), "{for_model}");
        let (_, for_model) = success(fixture.call("update_todos", json!({"merge": true, "todos": []})));
        assert_eq!(for_model, "[>] 1 a\n[ ] 2 b\n");
    }
}
