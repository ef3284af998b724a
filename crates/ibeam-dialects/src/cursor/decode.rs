//! Events of contract 1 and 2, and of the original, as steps.
//!
//! Contract 2 repeats a segment after its deltas; the repetition is passed over.

use serde_json::{Value, json};

use super::WITH_CALL_ID;
use crate::digest::Digest;
use crate::json::{Object, take, take_list, take_object, take_text, text};
use crate::step::{Call, Step, Text};
use crate::steps::{Decode, Steps};

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    session: Option<String>,
    /// Every text so far, to tell whether the end repeats it.
    said: Digest,
    /// The text since the last call began, which the end repeats too.
    last: Digest,
    /// The texts of the segment so far, and whether they are deltas of contract 2 or might be.
    segment: Digest,
}

impl Decode for Decoder {
    fn event(&mut self, mut event: Object, into: &mut Steps<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        let subtype = text(&event, "subtype").unwrap_or_default().to_owned();
        let session = take_text(&mut event, "session_id").unwrap_or_default();
        match &self.session {
            Some(known) if *known != session && !session.is_empty() => into.lose("session_id"),
            Some(_) => {}
            None => self.session = Some(session.clone()),
        }
        match (kind.as_str(), subtype.as_str()) {
            ("system", "init") => {
                event.shift_remove("subtype");
                into.push(Step::Init { session, card: json!({ "system/init": event }) });
            }
            ("user", _) => {
                let blocks = texts("user", &mut event, into);
                into.push(Step::Prompt(blocks));
                into.lose_rest("user", &event);
            }
            ("assistant", _) => self.assistant(event, into),
            ("tool_call", "started" | "completed") => {
                self.segment = Digest::default();
                if subtype == "started" {
                    self.last = Digest::default();
                }
                event.shift_remove("subtype");
                tool_call(event, subtype == "completed", into);
            }
            ("result", "success") => {
                event.shift_remove("subtype");
                self.end("result/success", event, into);
            }
            ("error", _) => self.end("error", event, into),
            _ => return false,
        }
        true
    }

    fn finish(&mut self, _: &mut Steps<'_>) {}
}

impl Decoder {
    fn assistant(&mut self, mut event: Object, into: &mut Steps<'_>) {
        let text = texts("assistant", &mut event, into).concat();
        let at = event.get("timestamp_ms").and_then(Value::as_u64);
        let answer = take_text(&mut event, "model_call_id");
        // Deltas of contract 2 have a time and nothing else; what repeats them has both, or neither.
        let repeats = (answer.is_some() || at.is_none()) && self.segment.bytes > 0 && self.segment.is(&text);
        if at.is_some() {
            event.shift_remove("timestamp_ms");
        }
        into.lose_rest("assistant", &event);
        if answer.is_some() {
            into.lose("assistant.model_call_id");
        }
        if repeats {
            into.join("assistant");
            return self.segment = Digest::default();
        }
        match at.is_some() && answer.is_none() {
            true => self.segment.push(&text),
            false => self.segment = Digest::default(),
        }
        self.said.push(&text);
        self.last.push(&text);
        into.push(Step::Text(Text { text, at, answer: None }));
    }

    /// The end repeats every text, and the last one by itself; that needs no place of its own.
    fn end(&mut self, name: &str, mut event: Object, into: &mut Steps<'_>) {
        if text(&event, "result").is_some_and(|result| self.said.is(result)) {
            event.shift_remove("result");
        }
        if let Some(summary) = event.get_mut("ibeam").and_then(Value::as_object_mut)
            && text(summary, "final").is_some_and(|message| self.last.is(message))
        {
            summary.shift_remove("final");
        }
        into.push(Step::End(json!({ name: event })));
    }
}

/// The texts of a message; takes it out.
fn texts(name: &str, event: &mut Object, into: &mut Steps<'_>) -> Vec<String> {
    let Some(mut message) = take_object(event, "message") else { return Vec::new() };
    let mut texts = Vec::new();
    for block in take_list(&mut message, "content").unwrap_or_default() {
        let Value::Object(mut block) = block else {
            into.lose(&format!("{name}.message.content[]"));
            continue;
        };
        if text(&block, "type") == Some("text") {
            block.shift_remove("type");
        }
        texts.extend(take_text(&mut block, "text"));
        into.lose_rest(&format!("{name}.message.content[]"), &block);
    }
    if text(&message, "role") == Some(name) {
        message.shift_remove("role");
    }
    into.lose_rest(&format!("{name}.message"), &message);
    texts
}

fn tool_call(mut event: Object, completed: bool, into: &mut Steps<'_>) {
    let id = take_text(&mut event, "call_id").unwrap_or_default();
    let answer = take_text(&mut event, "model_call_id");
    let at = event.get("timestamp_ms").and_then(Value::as_u64);
    if at.is_some() {
        event.shift_remove("timestamp_ms");
    }
    let mut tool_call = take(&mut event, "tool_call");
    into.lose_rest(if completed { "tool_call/completed" } else { "tool_call/started" }, &event);
    if let Some((key, body)) = tool_call.as_object_mut().and_then(|call| call.iter_mut().next())
        && WITH_CALL_ID.contains(&key.as_str())
        && let Some(args) = body.get_mut("args").and_then(Value::as_object_mut)
        && text(args, "toolCallId") == Some(&id)
    {
        args.shift_remove("toolCallId");
    }
    let call = Call { id, answer, at, card: json!({ "tool_call": tool_call }) };
    into.push(if completed { Step::Ended(call) } else { Step::Started(call) });
}
