//! Conversion of a stream from one dialect to another, line by line.

use std::fmt;

use serde_json::Value;

use crate::dialects::DialectName;
use crate::json::{Object, write_line};
use crate::losses::{LossKind, LossLog, Losses, report_differences};
use crate::source_line::{ConvertError, event_name, parse_event};
use crate::step::{Payload, Step, StepDecoder, StepSink};
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
    /// Whether further turns can follow the end of a turn.
    allows_turns: bool,
    /// The start of the run, if further turns can follow.
    start: Option<RunStart>,
}

/// The start of a run, as its source has it.
struct RunStart {
    session: String,
    payload: Payload,
    /// The name and the content of the event, if it contains nothing else.
    event: Option<(String, Object)>,
}

/// The effect of an event after the end of a turn.
enum EventAfterEnd {
    /// The event starts a turn. It has the start of the run if the source repeats that.
    Turn(Option<Payload>),
    NoStep,
    /// The event cannot be represented.
    Lost,
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
            allows_turns: from != to && from.dialect().has_turns() && to.dialect().has_turns(),
            start: None,
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
            match self.classify_after_end(&event) {
                EventAfterEnd::Turn(init) => {
                    self.start_turn(init, out);
                    let steps = self.decode(event);
                    let is_start = |step: &Step| matches!(step, Step::Init { .. });
                    self.write(steps.into_iter().filter(|step| !is_start(step)).collect(), out);
                }
                EventAfterEnd::NoStep => drop(self.decode(event)),
                EventAfterEnd::Lost => self.writer.losses.record_dropped_event(),
            }
            return Ok(());
        }
        let first = (self.allows_turns && self.start.is_none()).then(|| event.clone());
        let steps = self.decode(event);
        if let (Some(event), [Step::Init { session, payload }, rest @ ..]) = (first, steps.as_slice()) {
            let event = rest.is_empty().then(|| (self.writer.losses.event.clone(), event));
            self.start = Some(RunStart { session: session.clone(), payload: payload.clone(), event });
        }
        if !is_same {
            self.write(steps, out);
        }
        Ok(())
    }

    /// Returns the steps of an event. An unknown event is a loss.
    fn decode(&mut self, event: Object) -> Vec<Step> {
        let mut sink = StepSink::new(&mut self.writer.losses);
        let is_known = self.decoder.decode_event(event, &mut sink);
        let steps = sink.into_steps();
        if is_known {
            self.has_known_event = true;
        } else {
            self.writer.losses.record_dropped_event();
        }
        steps
    }

    /// Returns the effect of an event after the end of a turn, and prepares the decoder for it.
    fn classify_after_end(&mut self, event: &Object) -> EventAfterEnd {
        let Some(start) = self.start.as_ref().filter(|_| self.allows_turns) else {
            return EventAfterEnd::Lost;
        };
        self.decoder = self.turn_decoder();
        let mut unreported = LossLog::new(false);
        let mut sink = StepSink::new(&mut unreported);
        let is_known = self.decoder.decode_event(event.clone(), &mut sink);
        self.decoder.finish(&mut sink);
        let steps = sink.into_steps();
        self.decoder = self.turn_decoder();
        match steps.as_slice() {
            _ if !is_known => EventAfterEnd::Lost,
            [] => EventAfterEnd::NoStep,
            // Nothing of another session has a place in the target.
            [Step::Init { session, .. }, ..] if *session != start.session => {
                self.allows_turns = false;
                EventAfterEnd::Lost
            }
            [Step::Init { payload, .. }, ..] => EventAfterEnd::Turn(Some(payload.clone())),
            [Step::End(_)] => EventAfterEnd::Lost,
            [_, ..] => EventAfterEnd::Turn(None),
        }
    }

    /// Returns a decoder that has read the start of the run, unless the present event is a start itself.
    fn turn_decoder(&self) -> Box<dyn StepDecoder + Send> {
        let mut decoder = self.from.dialect().decoder();
        let event = self.start.as_ref().and_then(|start| start.event.as_ref());
        if let Some((_, event)) = event.filter(|(name, _)| *name != self.writer.losses.event) {
            decoder.decode_event(event.clone(), &mut StepSink::new(&mut LossLog::new(false)));
        }
        decoder
    }

    /// Starts a further turn. `init` is the start of the run, if the source repeats it.
    fn start_turn(&mut self, init: Option<Payload>, out: &mut Vec<u8>) {
        let Some(start) = &self.start else { return };
        if let Some(init) = &init
            && self.to.dialect().has_one_start()
        {
            let (name, losses) = (self.writer.losses.event.clone(), &mut self.writer.losses);
            let mut report = |_: &str, _| losses.add(&name, None, LossKind::Changed);
            report_differences(init, Some(&start.payload), &mut String::new(), &mut report);
        }
        let is_repeated = init.is_some();
        let init = init.unwrap_or_else(|| start.payload.clone());
        let mut lines = Vec::new();
        self.writer.start_turn(init, is_repeated, &mut lines);
        append_lines(&lines, out);
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
