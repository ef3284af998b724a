//! Encodes steps as lines of Codex.

use serde_json::{Value, json};

use crate::json::{into_object, take_object, text};
use crate::step::{CallStep, Payload, Step, StepEncoder, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// The number of items so far, from which ids of items derive.
    items: u64,
    /// The id and the last state of the to-do list.
    todos: Option<(String, Value)>,
}

impl StepEncoder for Encoder {
    fn start_turn(&mut self, _init: Payload, out: &mut Vec<Value>) {
        self.todos = None;
        out.push(json!({ "type": "turn.started" }));
    }

    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, .. } => {
                out.push(json!({ "type": "thread.started", "thread_id": session }));
                out.push(json!({ "type": "turn.started" }));
            }
            Step::Prompt(_) => {}
            Step::Text(TextStep { text, .. }) => {
                let id = self.next_item_id();
                self.write_item("item.completed", id, json!({ "type": "agent_message", "text": text }), out);
            }
            Step::Thought(text) => {
                let id = self.next_item_id();
                self.write_item("item.completed", id, json!({ "type": "reasoning", "text": text }), out);
            }
            Step::CallStarted(call) => {
                self.items += 1;
                let (id, item, is_todo_list) = item_of_call(call);
                if !is_todo_list {
                    self.write_item("item.started", id, item, out);
                }
            }
            Step::CallEnded(call) => match item_of_call(call) {
                (id, item, false) => self.write_item("item.completed", id, item, out),
                (id, item, true) => {
                    let event = if self.todos.is_some() { "item.updated" } else { "item.started" };
                    let id = self.todos.take().map_or(id, |(first, _)| first);
                    self.todos = Some((id.clone(), item.clone()));
                    self.write_item(event, id, item, out);
                }
            },
            Step::End(payload) => {
                if let Some((id, item)) = self.todos.take() {
                    self.write_item("item.completed", id, item, out);
                }
                for (kind, rest) in into_object(payload) {
                    let mut event = into_object(json!({ "type": kind }));
                    event.extend(into_object(rest));
                    out.push(Value::Object(event));
                }
            }
        }
    }
}

impl Encoder {
    fn next_item_id(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }

    fn write_item(&self, event: &str, id: String, item: Value, out: &mut Vec<Value>) {
        let mut full_item = into_object(json!({ "id": id }));
        full_item.extend(into_object(item));
        out.push(json!({ "type": event, "item": full_item }));
    }
}

/// Returns the id of a call, its item, and whether the item is a to-do list.
fn item_of_call(call: CallStep) -> (String, Value, bool) {
    let CallStep { id, mut payload, .. } = call;
    let item = payload.as_object_mut().and_then(|payload| take_object(payload, "item")).unwrap_or_default();
    let is_todo_list = text(&item, "type") == Some("todo_list");
    (id, Value::Object(item), is_todo_list)
}
