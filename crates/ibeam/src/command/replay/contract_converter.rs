//! Converts the lines of a stream to another version of the contract.
//!
//! Only lines that differ are rewritten. A line that is not an event of a contract is copied.

use ibeam_output::{Contract, to_line};
use ibeam_wire::{CallPhase, Event, NewText};
use serde_json::{Value, json};

/// Converts the lines of one stream.
pub(super) struct ContractConverter {
    to: Contract,
    /// Whether to write deltas under contract 2.
    partial: bool,
    new_text: NewText,
    /// The first `assistant` event of the current segment, and the text of the segment so far.
    segment: Option<(Value, String)>,
    /// The time of the last event that has one; 0 before that.
    last_ms: u64,
    /// Whether the stream has the object `ibeam`; then every delta of contract 1 has a time.
    has_ibeam_object: bool,
}

impl ContractConverter {
    pub(super) fn new(to: Contract, partial: bool) -> Self {
        Self { to, partial, new_text: NewText::default(), segment: None, last_ms: 0, has_ibeam_object: false }
    }

    /// Returns the converted lines; empty for text that was already written or is written later.
    pub(super) fn convert_line(&mut self, line: &str, event: &Event) -> String {
        match event {
            Event::Init(init) => {
                self.has_ibeam_object = init.ibeam.is_some();
                self.new_text = NewText::default();
                self.convert_init(line)
            }
            Event::Assistant(message) => {
                self.last_ms = message.timestamp_ms.unwrap_or(self.last_ms);
                let text = self.new_text.extract(message);
                let is_unchanged = message.is_delta() || !self.has_ibeam_object && self.last_ms == 0;
                match (self.to, text) {
                    (_, None) => String::new(),
                    (Contract::One, Some(_)) if is_unchanged => line.to_owned(),
                    (_, Some(text)) => self.convert_assistant(line, text),
                }
            }
            Event::ToolCall(call) => {
                self.last_ms = call.timestamp_ms.unwrap_or(self.last_ms);
                match call.phase {
                    CallPhase::Started => {
                        let before = call.model_call_id.as_deref();
                        self.flush_segment(Some((before, call.timestamp_ms))) + line
                    }
                    CallPhase::Completed => line.to_owned(),
                }
            }
            Event::Result(_) | Event::Error(_) => self.flush_segment(None) + line,
            _ => line.to_owned(),
        }
    }

    /// Returns the remaining lines of a run without an end: before the next run and at the end of the stream.
    pub(super) fn finish(&mut self) -> String {
        self.flush_segment(None)
    }

    fn convert_init(&self, line: &str) -> String {
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
        match event.pointer_mut("/ibeam/contract") {
            Some(contract) if contract != self.to.as_str() => *contract = Value::from(self.to.as_str()),
            Some(_) | None => return line.to_owned(),
        }
        to_line(&event)
    }

    fn convert_assistant(&mut self, line: &str, text: String) -> String {
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
        let delta = |mut event: Value, text: &str, at_ms: u64| {
            set_text(&mut event, text);
            set_id_and_time(&mut event, None, Some(at_ms));
            to_line(&event)
        };
        match self.to {
            Contract::One => delta(event, &text, self.last_ms),
            Contract::Two => {
                let printed =
                    if self.partial { delta(event.clone(), &text, self.last_ms) } else { String::new() };
                match &mut self.segment {
                    Some((_, text_so_far)) => text_so_far.push_str(&text),
                    None => {
                        set_text(&mut event, "");
                        self.segment = Some((event, text));
                    }
                }
                printed
            }
        }
    }

    /// Returns the line of the current segment. `call` has the `model_call_id` and the time of the call that follows
    /// the segment; `None` for the last segment of a run.
    fn flush_segment(&mut self, call: Option<(Option<&str>, Option<u64>)>) -> String {
        let Some((mut event, text)) = self.segment.take().filter(|(_, text)| !text.is_empty()) else {
            return String::new();
        };
        set_text(&mut event, &text);
        let (answer, at_ms) = call.unwrap_or_default();
        // One of the two keys alone would make the event a delta.
        match (answer, at_ms) {
            (Some(answer), Some(at_ms)) => set_id_and_time(&mut event, Some(answer), Some(at_ms)),
            _ => set_id_and_time(&mut event, None, None),
        }
        to_line(&event)
    }
}

fn set_text(event: &mut Value, text: &str) {
    if let Some(Value::Object(message)) = event.get_mut("message") {
        message.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
    }
}

/// Sets the keys `model_call_id` and `timestamp_ms` of an event and moves them to its end.
fn set_id_and_time(event: &mut Value, model_call_id: Option<&str>, timestamp_ms: Option<u64>) {
    let Value::Object(keys) = event else { return };
    keys.shift_remove("model_call_id");
    keys.shift_remove("timestamp_ms");
    keys.extend(model_call_id.map(|id| ("model_call_id".to_owned(), Value::from(id))));
    keys.extend(timestamp_ms.map(|ms| ("timestamp_ms".to_owned(), Value::from(ms))));
}
