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
