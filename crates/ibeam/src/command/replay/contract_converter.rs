//! The lines of a stream under another contract: what differs is written anew, all else stays as it is.
//!
//! Refuses nothing: a line that is no event of a contract is copied.

use ibeam_output::{Contract, to_line};
use ibeam_wire::{CallPhase, Event, NewText};
use serde_json::{Value, json};

/// Writes the lines of one stream anew.
pub(super) struct ContractConverter {
    to: Contract,
    /// Under contract 2, the deltas too.
    partial: bool,
    new_text: NewText,
    /// The `assistant` event that the segment at hand began with, and its text so far.
    segment: Option<(Value, String)>,
    /// The last time that was told; 0 where none was.
    last_ms: u64,
    /// The stream has the object `ibeam`, so under contract 1 every delta has a time.
    ours: bool,
}

impl ContractConverter {
    pub(super) fn new(to: Contract, partial: bool) -> Self {
        Self { to, partial, new_text: NewText::default(), segment: None, last_ms: 0, ours: false }
    }

    /// The lines that stand for this one; none for text that is said again, or later.
    pub(super) fn line(&mut self, line: &str, event: &Event) -> String {
        match event {
            Event::Init(init) => {
                self.ours = init.ibeam.is_some();
                self.new_text = NewText::default();
                self.init(line)
            }
            Event::Assistant(said) => {
                self.last_ms = said.timestamp_ms.unwrap_or(self.last_ms);
                let text = self.new_text.extract(said);
                let is_as_it_was = said.is_delta() || !self.ours && self.last_ms == 0;
                match (self.to, text) {
                    (_, None) => String::new(),
                    (Contract::One, Some(_)) if is_as_it_was => line.to_owned(),
                    (_, Some(text)) => self.assistant(line, text),
                }
            }
            Event::ToolCall(call) => {
                self.last_ms = call.timestamp_ms.unwrap_or(self.last_ms);
                match call.phase {
                    CallPhase::Started => {
                        let before = call.model_call_id.as_deref();
                        self.segment_before(Some((before, call.timestamp_ms))) + line
                    }
                    CallPhase::Completed => line.to_owned(),
                }
            }
            Event::Result(_) | Event::Error(_) => self.segment_before(None) + line,
            _ => line.to_owned(),
        }
    }

    /// What is left of a run without an end: before the next one, and when the stream is over.
    pub(super) fn finish(&mut self) -> String {
        self.segment_before(None)
    }

    fn init(&self, line: &str) -> String {
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
        match event.pointer_mut("/ibeam/contract") {
            Some(contract) if contract != self.to.as_str() => *contract = Value::from(self.to.as_str()),
            Some(_) | None => return line.to_owned(),
        }
        to_line(&event)
    }

    fn assistant(&mut self, line: &str, text: String) -> String {
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
        let delta = |mut event: Value, text: &str, at_ms: u64| {
            say(&mut event, text);
            time(&mut event, None, Some(at_ms));
            to_line(&event)
        };
        match self.to {
            Contract::One => delta(event, &text, self.last_ms),
            Contract::Two => {
                let printed =
                    if self.partial { delta(event.clone(), &text, self.last_ms) } else { String::new() };
                match &mut self.segment {
                    Some((_, said)) => said.push_str(&text),
                    None => {
                        say(&mut event, "");
                        self.segment = Some((event, text));
                    }
                }
                printed
            }
        }
    }

    /// The segment at hand, before a call with its answer and time, or as the last one.
    fn segment_before(&mut self, call: Option<(Option<&str>, Option<u64>)>) -> String {
        let Some((mut event, text)) = self.segment.take().filter(|(_, text)| !text.is_empty()) else {
            return String::new();
        };
        say(&mut event, &text);
        let (answer, at_ms) = call.unwrap_or_default();
        // Of the two keys one alone would mean a delta, or nothing.
        match (answer, at_ms) {
            (Some(answer), Some(at_ms)) => time(&mut event, Some(answer), Some(at_ms)),
            _ => time(&mut event, None, None),
        }
        to_line(&event)
    }
}

/// Makes `text` what an event says.
fn say(event: &mut Value, text: &str) {
    if let Some(Value::Object(message)) = event.get_mut("message") {
        message.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
    }
}

/// Makes these two the last keys of an event.
fn time(event: &mut Value, model_call_id: Option<&str>, timestamp_ms: Option<u64>) {
    let Value::Object(keys) = event else { return };
    keys.shift_remove("model_call_id");
    keys.shift_remove("timestamp_ms");
    keys.extend(model_call_id.map(|id| ("model_call_id".to_owned(), Value::from(id))));
    keys.extend(timestamp_ms.map(|ms| ("timestamp_ms".to_owned(), Value::from(ms))));
}
