//! Decodes lines of Codex into steps.
//!
//! A to-do list is one item that is repeated with each change; each repetition becomes a separate call.

use serde_json::{Value, json};

use crate::json::{Object, take_object, take_text, text};
use crate::step::{CallStep, Step, StepDecoder, StepSink, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The last state of the to-do list, and the number of its states so far.
    todos: Option<(Object, u64)>,
    /// The last error event. It is the end of the run if no other event follows.
    error: Option<Value>,
}

impl StepDecoder for Decoder {
    fn decode_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        if kind != "error"
            && let Some(_) = self.error.take()
        {
            sink.record_loss("error");
        }
        match kind.as_str() {
            "thread.started" => {
                let session = take_text(&mut event, "thread_id").unwrap_or_default();
                sink.record_rest_as_lost("thread.started", &event);
                sink.push(Step::Init { session, payload: json!({}) });
            }
            "turn.started" => sink.record_rest_as_lost("turn.started", &event),
            "item.started" | "item.updated" | "item.completed" => {
                let Some(item) = take_object(&mut event, "item") else {
                    sink.record_loss(&kind);
                    return true;
                };
                sink.record_rest_as_lost(&kind, &event);
                self.decode_item(&kind, item, sink);
            }
            "turn.completed" | "turn.failed" => sink.push(Step::End(json!({ kind: event }))),
            "error" => {
                if self.error.replace(json!({ "error": event })).is_some() {
                    sink.record_loss("error");
                }
            }
            _ => return false,
        }
        true
    }

    fn finish(&mut self, sink: &mut StepSink<'_>) {
        if let Some(error) = self.error.take() {
            sink.push(Step::End(error));
        }
    }
}

impl Decoder {
    fn decode_item(&mut self, event: &str, mut item: Object, sink: &mut StepSink<'_>) {
        let kind = text(&item, "type").unwrap_or_default().to_owned();
        match kind.as_str() {
            "agent_message" | "reasoning" => {
                if event != "item.completed" {
                    return sink.record_loss(&format!("{event}/{kind}"));
                }
                let content = take_text(&mut item, "text").unwrap_or_default();
                item.shift_remove("type");
                sink.record_rest_as_lost(&format!("item/{kind}"), &item);
                sink.push(match kind.as_str() {
                    "reasoning" => Step::Thought(content),
                    _ => Step::Text(TextStep { text: content, at_ms: None, answer_id: None }),
                });
            }
            "todo_list" => self.decode_todo_list(event, item, sink),
            "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search" => {
                let id = take_text(&mut item, "id").unwrap_or_default();
                let call = CallStep { id, answer_id: None, at_ms: None, payload: json!({ "item": item }) };
                match event {
                    // The query is not known yet.
                    "item.started" if kind == "web_search" => sink.record_loss("item.started/web_search"),
                    "item.started" => sink.push(Step::CallStarted(call)),
                    "item.completed" => sink.push(Step::CallEnded(call)),
                    _ => sink.record_loss(&format!("{event}/{kind}")),
                }
            }
            _ => sink.record_loss(&format!("{event}/{kind}")),
        }
    }

    fn decode_todo_list(&mut self, event: &str, mut item: Object, sink: &mut StepSink<'_>) {
        let id = take_text(&mut item, "id").unwrap_or_default();
        let known = self.todos.as_ref().is_some_and(|(last, _)| *last == item);
        // An unchanged list is completed because the turn has ended.
        if event == "item.completed" && known {
            return;
        }
        let times = self.todos.as_ref().map_or(1, |(_, times)| times + 1);
        self.todos = Some((item.clone(), times));
        let id = if times == 1 { id } else { format!("{id}.{times}") };
        sink.push(Step::CallEnded(CallStep {
            id,
            answer_id: None,
            at_ms: None,
            payload: json!({ "item": item }),
        }));
    }
}
