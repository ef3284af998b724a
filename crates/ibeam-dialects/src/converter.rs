//! Conversion of a stream from one dialect to another, line by line.

use std::fmt;

use serde_json::Value;

use crate::dialects::DialectName;
use crate::json::write_line;
use crate::losses::{LossLog, Losses};
use crate::source_line::{ConvertError, event_name, parse_event};
use crate::step::{Step, StepDecoder, StepSink};
use crate::step_writer::StepWriter;

/// Converts one stream, line by line.
///
/// If source and target are the same dialect, the bytes are passed through.
pub struct Converter {
    from: DialectName,
    to: DialectName,
    decoder: Box<dyn StepDecoder + Send>,
    writer: StepWriter,
    /// The number of the first line with an event.
    first_event_line: Option<u64>,
    /// Whether an event of the source dialect was found.
    has_known_event: bool,
}

impl Converter {
    /// Returns a converter before the first line.
    pub fn new(from: DialectName, to: DialectName) -> Self {
        Self {
            from,
            to,
            decoder: from.dialect().decoder(),
            // The same dialect cannot lose anything.
            writer: StepWriter::new(from, to, LossLog::new(from != to)),
            first_event_line: None,
            has_known_event: false,
        }
    }

    /// Converts one line of the source, with or without its line end, and appends complete lines of the target to `out`.
    ///
    /// Blank lines are ignored. An unknown event is a loss.
    ///
    /// # Errors
    /// The line is not an event. `out` holds the earlier lines and nothing of this line.
    pub fn convert_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertError> {
        self.writer.losses.line += 1;
        let is_same = self.from == self.to;
        if line.trim_ascii().is_empty() {
            if is_same {
                out.extend_from_slice(line);
            }
            return Ok(());
        }
        let number = self.writer.losses.line;
        let event = parse_event(line, number)?;
        if is_same {
            out.extend_from_slice(line);
        }
        self.first_event_line.get_or_insert(number);
        self.writer.losses.event = event_name(&event);
        if self.writer.has_ended() {
            self.writer.losses.drop_event();
            return Ok(());
        }
        let mut sink = StepSink::new(&mut self.writer.losses);
        let is_known = self.decoder.decode_event(event, &mut sink);
        let steps = sink.into_steps();
        if is_known {
            self.has_known_event = true;
        } else {
            self.writer.losses.drop_event();
        }
        if !is_same {
            self.write(steps, out);
        }
        Ok(())
    }

    /// Appends the lines that were held back until the end of the source, and returns the losses of the conversion.
    ///
    /// # Errors
    /// The source has events, and none of them is an event of the dialect.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<Losses, ConvertError> {
        if let (Some(line), false) = (self.first_event_line, self.has_known_event) {
            return Err(ConvertError::OtherDialect { line, dialect: self.from });
        }
        if self.from == self.to {
            return Ok(Losses::default());
        }
        if !self.writer.has_ended() {
            let mut sink = StepSink::new(&mut self.writer.losses);
            self.decoder.finish(&mut sink);
            let steps = sink.into_steps();
            self.write(steps, out);
        }
        let mut lines = Vec::new();
        let losses = self.writer.finish(&mut lines);
        append_lines(&lines, out);
        Ok(losses.into_losses())
    }

    fn write(&mut self, steps: Vec<Step>, out: &mut Vec<u8>) {
        let mut lines = Vec::new();
        for step in steps {
            self.writer.write(step, &mut lines);
        }
        append_lines(&lines, out);
    }
}

fn append_lines(lines: &[Value], out: &mut Vec<u8>) {
    lines.iter().for_each(|line| write_line(line, out));
}

impl fmt::Debug for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, .. } = self;
        f.debug_struct("Converter").field("from", from).field("to", to).finish_non_exhaustive()
    }
}

/// Writes the steps of a run in progress, whose payloads are in contract 1, as lines of a dialect.
///
/// Parts that the dialect cannot represent are dropped without a report.
pub struct LiveEncoder {
    writer: StepWriter,
}

impl LiveEncoder {
    /// Returns an encoder before the first step of a run that started at `started_ms` (milliseconds since 1970).
    ///
    /// Ids that the source does not have derive from `run` too, so two runs of one session have different ids. Lines
    /// without a known time
    /// have the time of the start.
    pub fn new(to: DialectName, run: &str, started_ms: u64) -> Self {
        let mut writer = StepWriter::new(DialectName::Cursor, to, LossLog::new(false));
        writer.encoder().start_live(run, started_ms);
        Self { writer }
    }

    /// Sets the present time (milliseconds since 1970), for lines that need a time and come from a step without one.
    pub fn set_time(&mut self, now_ms: u64) {
        self.writer.encoder().set_time(now_ms);
    }

    /// Appends the lines of a step to `out`.
    pub fn write(&mut self, step: Step, out: &mut Vec<Value>) {
        self.writer.write(step, out);
    }

    /// Appends the lines that were held back until the end of the run.
    pub fn finish(self, out: &mut Vec<Value>) {
        self.writer.finish(out);
    }
}

impl fmt::Debug for LiveEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveEncoder").finish_non_exhaustive()
    }
}
