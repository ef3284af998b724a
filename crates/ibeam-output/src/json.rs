//! `json`: one object at the end of a successful run, and nothing otherwise.

use std::io::{self, Write};

use ibeam_protocol::{Event, EventKind, RunOutcome};

use ibeam_wire::{ResultObject, ResultSubtype};
use serde_json::{Map, Value};

use crate::json_line::{to_line, write_line};
use crate::line_buffer::LineBuffer;
use crate::run_lines::{borrowed, completed_summary, token_usage};
use crate::stream_json::FinalMessage;
use crate::writer::EventWriter;

/// Writes the object of `json`.
pub struct Json<W> {
    lines: LineBuffer<W>,
    result: String,
    final_message: FinalMessage,
}

impl<W: Write> Json<W> {
    /// Returns a writer for one run.
    pub fn new(out: W) -> Self {
        Self { lines: LineBuffer::new(out), result: String::new(), final_message: FinalMessage::default() }
    }
}

impl<W: Write> EventWriter for Json<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        if let EventKind::TextDelta { text } = &event.kind {
            self.result.push_str(text);
        } else if let EventKind::ToolCallStarted { .. } = &event.kind {
            self.final_message.restart(&self.result);
        } else if let EventKind::RunFinished(run) = &event.kind
            && run.outcome == RunOutcome::Completed
        {
            let result = std::mem::take(&mut self.result);
            let object = ResultObject {
                subtype: ResultSubtype::Success,
                is_error: false,
                duration_ms: run.duration_ms,
                duration_api_ms: run.duration_ms,
                result: borrowed(&result),
                session_id: run.session_id.to_string().into(),
                request_id: run.totals.request_id.as_deref().map(borrowed),
                usage: run.totals.usage.map(token_usage),
                ibeam: Some(completed_summary(run, Some(self.final_message.take(&result)))),
            };
            return self.lines.append(|bytes| write_line(bytes, &object));
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

/// Converts the `result` line of a stream into the object of `json` with its line end: the same keys in another order.
///
/// Unknown keys remain. A line that is not an object is returned unchanged.
pub fn result_line_to_object(line: &str) -> String {
    const FIRST: [&str; 4] = ["type", "subtype", "is_error", "duration_ms"];
    let Ok(Value::Object(mut line_object)) = serde_json::from_str(line) else { return line.to_owned() };
    let mut object = Map::new();
    for name in FIRST {
        object.extend(line_object.shift_remove(name).map(|value| (name.to_owned(), value)));
    }
    object.extend(line_object);
    to_line(&Value::Object(object))
}
