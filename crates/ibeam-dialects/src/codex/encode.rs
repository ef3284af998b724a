//! Steps as lines of Codex.

use serde_json::{Value, json};

use crate::json::{into_object, take_object, text, write_line};
use crate::step::{Call, Step, Text};
use crate::steps::Encode;

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// Items so far; those without an id of their own are named by it.
    items: u64,
    /// The to-do list: its id, and how it was told last.
    todos: Option<(String, Value)>,
}

impl Encode for Encoder {
    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        match step {
            Step::Init { session, .. } => {
                write_line(&json!({ "type": "thread.started", "thread_id": session }), out);
                write_line(&json!({ "type": "turn.started" }), out);
            }
            Step::Prompt(_) => {}
            Step::Text(Text { text, .. }) => {
                let id = self.next();
                self.item("item.completed", id, json!({ "type": "agent_message", "text": text }), out);
            }
            Step::Thought(text) => {
                let id = self.next();
                self.item("item.completed", id, json!({ "type": "reasoning", "text": text }), out);
            }
            Step::Started(call) => {
                self.items += 1;
                let (id, item, todos) = parts(call);
                if !todos {
                    self.item("item.started", id, item, out);
                }
            }
            Step::Ended(call) => match parts(call) {
                (id, item, false) => self.item("item.completed", id, item, out),
                (id, item, true) => {
                    let event = if self.todos.is_some() { "item.updated" } else { "item.started" };
                    let id = self.todos.take().map_or(id, |(first, _)| first);
                    self.todos = Some((id.clone(), item.clone()));
                    self.item(event, id, item, out);
                }
            },
            Step::End(card) => {
                if let Some((id, item)) = self.todos.take() {
                    self.item("item.completed", id, item, out);
                }
                for (kind, rest) in into_object(card) {
                    let mut event = into_object(json!({ "type": kind }));
                    event.extend(into_object(rest));
                    write_line(&Value::Object(event), out);
                }
            }
        }
    }
}

impl Encoder {
    fn next(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }

    fn item(&self, event: &str, id: String, item: Value, out: &mut Vec<u8>) {
        let mut whole = into_object(json!({ "id": id }));
        whole.extend(into_object(item));
        write_line(&json!({ "type": event, "item": whole }), out);
    }
}

/// The id of a call, its item, and whether that is a to-do list.
fn parts(call: Call) -> (String, Value, bool) {
    let Call { id, mut card, .. } = call;
    let item = card.as_object_mut().and_then(|card| take_object(card, "item")).unwrap_or_default();
    let todos = text(&item, "type") == Some("todo_list");
    (id, Value::Object(item), todos)
}
