//! Decodes events of contracts 1 and 2, and of the Cursor CLI, into steps.
//!
//! Contract 2 repeats a segment after its deltas; the repetition is skipped.

use ibeam_wire::digest::TextDigest;
use serde_json::{Value, json};

use crate::json::{Object, take, take_list, take_object, take_text, text};
use crate::step::{CallStep, Step, StepDecoder, StepSink, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    session: Option<String>,
    /// All texts so far, which the end repeats.
    all_text: TextDigest,
    /// The text since the start of the last call, which the end repeats too.
    last_text: TextDigest,
    /// The text of the current segment so far; empty if its events cannot be deltas of contract 2.
    segment: TextDigest,
}

impl StepDecoder for Decoder {
    fn decode_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        let subtype = text(&event, "subtype").unwrap_or_default().to_owned();
        let session = take_text(&mut event, "session_id").unwrap_or_default();
        match &self.session {
            Some(known) if *known != session && !session.is_empty() => sink.record_loss("session_id"),
            Some(_) => {}
            None => self.session = Some(session.clone()),
        }
        match (kind.as_str(), subtype.as_str()) {
            ("system", "init") => {
                event.shift_remove("subtype");
                sink.push(Step::Init { session, payload: json!({ "system/init": event }) });
            }
            ("user", _) => {
                let blocks = take_texts("user", &mut event, sink);
                sink.push(Step::Prompt(blocks));
                sink.record_rest_as_lost("user", &event);
            }
            ("assistant", _) => self.decode_assistant(event, sink),
            ("tool_call", "started" | "completed") => {
                self.segment = TextDigest::default();
                if subtype == "started" {
                    self.last_text = TextDigest::default();
                }
                event.shift_remove("subtype");
                decode_tool_call(event, subtype == "completed", sink);
            }
            ("result", "success") => {
                event.shift_remove("subtype");
                self.decode_end("result/success", event, sink);
            }
            ("error", _) => self.decode_end("error", event, sink),
            _ => return false,
        }
        true
    }

    fn finish(&mut self, _: &mut StepSink<'_>) {}
}

impl Decoder {
    fn decode_assistant(&mut self, mut event: Object, sink: &mut StepSink<'_>) {
        let text = take_texts("assistant", &mut event, sink).concat();
        let at = event.get("timestamp_ms").and_then(Value::as_u64);
        let answer = take_text(&mut event, "model_call_id");
        // A delta of contract 2 has a time and no answer id. The segment that repeats the deltas has both or neither.
        let repeats =
            (answer.is_some() || at.is_none()) && self.segment.len_bytes > 0 && self.segment.matches(&text);
        if at.is_some() {
            event.shift_remove("timestamp_ms");
        }
        sink.record_rest_as_lost("assistant", &event);
        if answer.is_some() {
            sink.record_loss("assistant.model_call_id");
        }
        if repeats {
            sink.record_joined("assistant");
            return self.segment = TextDigest::default();
        }
        match at.is_some() && answer.is_none() {
            true => self.segment.push(&text),
            false => self.segment = TextDigest::default(),
        }
        self.all_text.push(&text);
        self.last_text.push(&text);
        sink.push(Step::Text(TextStep { text, at_ms: at, answer_id: None }));
    }

    /// Adds the end of the run, without the texts that it repeats.
    fn decode_end(&mut self, name: &str, mut event: Object, sink: &mut StepSink<'_>) {
        if text(&event, "result").is_some_and(|result| self.all_text.matches(result)) {
            event.shift_remove("result");
        }
        if let Some(summary) = event.get_mut("ibeam").and_then(Value::as_object_mut)
            && text(summary, "final").is_some_and(|message| self.last_text.matches(message))
        {
            summary.shift_remove("final");
        }
        sink.push(Step::End(json!({ name: event })));
    }
}

/// Removes the message of an event and returns its texts.
fn take_texts(name: &str, event: &mut Object, sink: &mut StepSink<'_>) -> Vec<String> {
    let Some(mut message) = take_object(event, "message") else { return Vec::new() };
    let mut texts = Vec::new();
    for block in take_list(&mut message, "content").unwrap_or_default() {
        let Value::Object(mut block) = block else {
            sink.record_loss(&format!("{name}.message.content[]"));
            continue;
        };
        if text(&block, "type") == Some("text") {
            block.shift_remove("type");
        }
        texts.extend(take_text(&mut block, "text"));
        sink.record_rest_as_lost(&format!("{name}.message.content[]"), &block);
    }
    if text(&message, "role") == Some(name) {
        message.shift_remove("role");
    }
    sink.record_rest_as_lost(&format!("{name}.message"), &message);
    texts
}

fn decode_tool_call(mut event: Object, completed: bool, sink: &mut StepSink<'_>) {
    let id = take_text(&mut event, "call_id").unwrap_or_default();
    let answer = take_text(&mut event, "model_call_id");
    let at = event.get("timestamp_ms").and_then(Value::as_u64);
    if at.is_some() {
        event.shift_remove("timestamp_ms");
    }
    let tool_call = take(&mut event, "tool_call");
    sink.record_rest_as_lost(if completed { "tool_call/completed" } else { "tool_call/started" }, &event);
    let call = CallStep::from_contract(id, answer, at, tool_call);
    sink.push(if completed { Step::CallEnded(call) } else { Step::CallStarted(call) });
}
