//! Lines of Gemini CLI as steps.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::json::{Object, take_text, text};
use crate::step::{Call, Card, Step, Text};
use crate::steps::{Decode, Steps};
use crate::time;

/// Calls that may wait for their result.
const MOST_OPEN: usize = 4096;

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The calls whose result is to come.
    open: HashMap<String, Card>,
    /// What the last error said; the end does not always say it again.
    error: Option<String>,
}

impl Decode for Decoder {
    fn event(&mut self, mut event: Object, into: &mut Steps<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        match kind.as_str() {
            "init" => {
                let session = take_text(&mut event, "session_id").unwrap_or_default();
                drop_time("init", &mut event, into);
                into.push(Step::Init { session, card: json!({ "init": event }) });
            }
            "message" => message(event, into),
            "tool_use" => {
                let at = time_of(&mut event);
                let id = take_text(&mut event, "tool_id").unwrap_or_default();
                let card = json!({ "tool_use": event });
                if self.open.len() < MOST_OPEN {
                    self.open.insert(id.clone(), card.clone());
                }
                into.push(Step::Started(Call { id, answer: None, at, card }));
            }
            "tool_result" => {
                let at = time_of(&mut event);
                let id = take_text(&mut event, "tool_id").unwrap_or_default();
                let Some(mut card) = self.open.remove(&id) else {
                    into.lose("tool_result");
                    return true;
                };
                if let Some(card) = card.as_object_mut() {
                    card.insert("tool_result".to_owned(), Value::Object(event));
                }
                into.push(Step::Ended(Call { id, answer: None, at, card }));
            }
            "error" => {
                if text(&event, "severity") == Some("error") {
                    self.error = take_text(&mut event, "message");
                }
                into.lose("error");
            }
            "result" => {
                drop_time("result", &mut event, into);
                if text(&event, "status") == Some("error")
                    && !event.contains_key("error")
                    && let Some(message) = self.error.take()
                {
                    event.insert("error".to_owned(), json!({ "message": message }));
                }
                into.push(Step::End(json!({ "result": event })));
            }
            _ => return false,
        }
        true
    }

    fn finish(&mut self, _: &mut Steps<'_>) {}
}

fn message(mut event: Object, into: &mut Steps<'_>) {
    let content = take_text(&mut event, "content").unwrap_or_default();
    match take_text(&mut event, "role").as_deref() {
        Some("user") => {
            drop_time("message/user", &mut event, into);
            into.lose_rest("message/user", &event);
            into.push(Step::Prompt(vec![content]));
        }
        Some("assistant") => {
            let at = time_of(&mut event);
            event.shift_remove("delta");
            into.lose_rest("message/assistant", &event);
            into.push(Step::Text(Text { text: content, at, answer: None }));
        }
        role => into.lose(&format!("message/{}", role.unwrap_or_default())),
    }
}

/// The time of an event; the first moment of 1970 says that it is not known.
fn time_of(event: &mut Object) -> Option<u64> {
    let at = text(event, "timestamp").and_then(time::from_iso)?;
    event.shift_remove("timestamp");
    Some(at).filter(|at| *at > 0)
}

/// The times of heads and ends have no place.
fn drop_time(name: &str, event: &mut Object, into: &mut Steps<'_>) {
    if event.shift_remove("timestamp").is_some() {
        into.lose(&format!("{name}.timestamp"));
    }
}
