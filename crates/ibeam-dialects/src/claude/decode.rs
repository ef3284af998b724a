//! Lines of Claude Code as steps.
//!
//! With partial messages a text comes twice, in `stream_event`s and whole; the whole one is passed over.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::json::{Object, take, take_list, take_object, take_text, text};
use crate::step::{Call, Card, Step, Text};
use crate::steps::{Decode, Steps};
use crate::time;

/// Calls that may wait for their result.
const MOST_OPEN: usize = 4096;

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    begun: bool,
    session: String,
    model: String,
    /// The calls whose result is to come.
    open: HashMap<String, (Option<String>, Card)>,
    /// The text that came in pieces and has not come whole.
    pieces: Digest,
    /// The text of the last whole message.
    last: Digest,
}

impl Decode for Decoder {
    fn event(&mut self, mut event: Object, into: &mut Steps<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        let known = match kind.as_str() {
            "assistant" | "user" | "result" => true,
            "system" => text(&event, "subtype") == Some("init"),
            "stream_event" => true,
            _ => false,
        };
        if !known {
            return false;
        }
        let session = take_text(&mut event, "session_id").unwrap_or_default();
        if !self.begun && kind != "system" && !session.is_empty() {
            self.begun = true;
            self.session.clone_from(&session);
            into.push(Step::Init { session: session.clone(), card: json!({ "system/init": {} }) });
        }
        if self.begun && session != self.session && !session.is_empty() {
            into.lose("session_id");
        }
        match kind.as_str() {
            "system" => {
                event.shift_remove("subtype");
                drop_uuid("system/init", &mut event, into);
                if self.begun {
                    into.lose("system/init");
                    return true;
                }
                self.begun = true;
                self.session.clone_from(&session);
                text(&event, "model").unwrap_or_default().clone_into(&mut self.model);
                into.push(Step::Init { session, card: json!({ "system/init": event }) });
            }
            "assistant" => self.assistant(event, into),
            "user" => self.user(event, into),
            "stream_event" => self.partial(event, into),
            _ => {
                drop_uuid("result", &mut event, into);
                // The answer again.
                if text(&event, "subtype") == Some("success")
                    && !event.get("is_error").and_then(Value::as_bool).unwrap_or_default()
                    && text(&event, "result").is_some_and(|result| self.last.is(result))
                {
                    event.shift_remove("result");
                }
                into.push(Step::End(json!({ "result": event })));
            }
        }
        true
    }

    fn finish(&mut self, _: &mut Steps<'_>) {}
}

impl Decoder {
    fn assistant(&mut self, mut event: Object, into: &mut Steps<'_>) {
        let Some(mut message) = take_object(&mut event, "message") else { return into.lose("assistant") };
        let answer = take_text(&mut message, "id");
        let blocks = take_list(&mut message, "content").unwrap_or_default();
        for (key, known) in [("type", "message"), ("role", "assistant"), ("model", &self.model)] {
            if text(&message, key) == Some(known) {
                message.shift_remove(key);
            }
        }
        into.lose_rest("assistant.message", &message);
        drop_uuid("assistant", &mut event, into);
        // What a sub-agent says is not the answer; what it calls is done.
        let own = is_own(&event);
        into.lose_rest("assistant", &event);
        for block in blocks {
            let Value::Object(mut block) = block else {
                into.lose("assistant.message.content[]");
                continue;
            };
            match take_text(&mut block, "type").as_deref() {
                Some(kind @ ("text" | "thinking")) if !own => into.lose(&format!("assistant/{kind}")),
                Some("text") => {
                    let text = take_text(&mut block, "text").unwrap_or_default();
                    into.lose_rest("assistant/text", &block);
                    let pieces = std::mem::take(&mut self.pieces);
                    self.last = Digest::of(&text);
                    if pieces.bytes == 0 || !pieces.is(&text) {
                        into.push(Step::Text(Text { text, at: None, answer: answer.clone() }));
                    }
                }
                Some("thinking") => {
                    let thought = take_text(&mut block, "thinking").unwrap_or_default();
                    into.lose_rest("assistant/thinking", &block);
                    into.push(Step::Thought(thought));
                }
                Some("tool_use") => {
                    let id = take_text(&mut block, "id").unwrap_or_default();
                    let card = json!({ "assistant/tool_use": block });
                    if self.open.len() < MOST_OPEN {
                        self.open.insert(id.clone(), (answer.clone(), card.clone()));
                    }
                    into.push(Step::Started(Call { id, answer: answer.clone(), at: None, card }));
                }
                other => into.lose(&format!("assistant/{}", other.unwrap_or_default())),
            }
        }
    }

    fn user(&mut self, mut event: Object, into: &mut Steps<'_>) {
        let Some(mut message) = take_object(&mut event, "message") else { return into.lose("user") };
        let structured = take(&mut event, "tool_use_result");
        drop_uuid("user", &mut event, into);
        // The mark of a prompt that is repeated; nothing follows from it.
        event.shift_remove("isReplay");
        let blocks = match take(&mut message, "content") {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(blocks) => blocks,
            _ => Vec::new(),
        };
        if text(&message, "role") == Some("user") {
            message.shift_remove("role");
        }
        into.lose_rest("user.message", &message);
        let own = is_own(&event);
        let mut prompt = Vec::new();
        let mut results = Vec::new();
        for block in blocks {
            let Value::Object(mut block) = block else {
                into.lose("user.message.content[]");
                continue;
            };
            match take_text(&mut block, "type").as_deref() {
                Some("text") if !own => into.lose("user/text"),
                Some("text") => {
                    prompt.extend(take_text(&mut block, "text"));
                    into.lose_rest("user/text", &block);
                }
                Some("tool_result") => results.push(block),
                other => into.lose(&format!("user/{}", other.unwrap_or_default())),
            }
        }
        let at = if results.is_empty() { None } else { text(&event, "timestamp").and_then(time::from_iso) };
        if at.is_some() {
            event.shift_remove("timestamp");
        }
        into.lose_rest("user", &event);
        if !prompt.is_empty() {
            into.push(Step::Prompt(prompt));
        }
        let alone = results.len() == 1;
        if !alone && !structured.is_null() {
            into.lose("user.tool_use_result");
        }
        for mut result in results {
            let id = take_text(&mut result, "tool_use_id").unwrap_or_default();
            if alone && !structured.is_null() {
                result.insert("tool_use_result".to_owned(), structured.clone());
            }
            let Some((answer, mut card)) = self.open.remove(&id) else {
                into.lose("user/tool_result");
                continue;
            };
            if let Some(card) = card.as_object_mut() {
                card.insert("user/tool_result".to_owned(), result.into());
            }
            into.push(Step::Ended(Call { id, answer, at, card }));
        }
    }

    fn partial(&mut self, mut event: Object, into: &mut Steps<'_>) {
        let own = is_own(&event);
        let inner = take_object(&mut event, "event").unwrap_or_default();
        let kind = text(&inner, "type").unwrap_or_default();
        if own && kind == "content_block_start" {
            // What came before it and never whole was given up.
            self.pieces = Digest::default();
        }
        let delta =
            inner.get("delta").filter(|delta| delta.get("type").is_some_and(|kind| kind == "text_delta"));
        let piece = delta
            .and_then(|delta| delta.get("text")?.as_str())
            .filter(|_| own && kind == "content_block_delta");
        match piece {
            Some(piece) => {
                self.pieces.push(piece);
                into.join("stream_event/content_block_delta");
                into.push(Step::Text(Text { text: piece.to_owned(), at: None, answer: None }));
            }
            None => into.lose(&format!("stream_event/{kind}")),
        }
    }
}

/// It is of the run itself, not of a sub-agent.
fn is_own(event: &Object) -> bool {
    event.get("parent_tool_use_id").is_none_or(Value::is_null)
}

/// Ids of lines; no other dialect has them, so they are a loss of every event.
fn drop_uuid(name: &str, event: &mut Object, into: &mut Steps<'_>) {
    if event.shift_remove("uuid").is_some() {
        into.lose(&format!("{name}.uuid"));
    }
}
