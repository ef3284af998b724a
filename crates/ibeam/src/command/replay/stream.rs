//! Replays a stream line by line: copies it, converts it to the other contract, or converts its events.

use std::io::{BufRead, Read};

use ibeam_output::{ReplayLine, result_line_to_object};
use ibeam_protocol::{Event, EventKind, Reason};
use ibeam_wire::{InitEvent, MAX_LINE_BYTES, NewText};

use super::contract_converter::ContractConverter;
use super::from_wire::{time_of, to_event};
use super::replay_printer::ReplayPrinter;
use super::{ReplayEnd, warn};
use crate::cli_error::CliError;
use crate::event_printing::OutputForm;
use crate::flags::Format;
use ibeam_agent::app::BaseContext;

/// Shows the intact part of the stream in `lines` and returns the number of its runs. Messages name it `source`.
///
/// An incomplete last line is skipped with a warning.
///
/// # Errors
/// `StreamDamaged` with the line, `NoInput`; the errors of `replay_printer`.
pub(super) fn play(
    base: &BaseContext,
    source: &str,
    mut lines: impl BufRead,
    form: OutputForm,
    replay_printer: &mut ReplayPrinter<'_>,
) -> Result<u64, ReplayEnd> {
    let (mut line, mut number, mut reader) = (Vec::new(), 0, StreamReader::new(base, form));
    loop {
        line.clear();
        number += 1;
        let unread =
            |error: std::io::Error| Reason::NoInput { path: source.to_owned(), detail: error.to_string() };
        lines
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|error| ReplayEnd::Failed(unread(error).into()))?;
        if line.is_empty() {
            replay_printer.write_rest(&reader.rest())?;
            return match replay_printer.finish()? {
                0 => Err(damaged(source, number, "it is empty".to_owned())),
                runs => Ok(runs),
            };
        }
        let (event, copy) = match reader.read_line(&line) {
            Ok(read) => read,
            Err(_) if !line.ends_with(b"\n") && (line.len() as u64) < MAX_LINE_BYTES => {
                replay_printer.write_rest(&reader.rest())?;
                let runs = replay_printer.finish()?;
                warn(base, &ReplayLine::TruncatedRecord { bytes: line.len() as u64 });
                return Ok(runs);
            }
            Err(message) => {
                replay_printer.write_rest(&reader.rest())?;
                replay_printer.finish()?;
                return Err(damaged(source, number, message));
            }
        };
        if matches!(&event, Some(event) if matches!(event.kind, EventKind::RunStarted(_))) {
            replay_printer.write_rest(&reader.rest())?;
        }
        if let Some(start) = event.as_ref().and_then(|event| reader.start_of_turn(event)) {
            replay_printer.show(Some(&start), b"")?;
        }
        replay_printer.show(event.as_ref(), &copy)?;
    }
}

/// Whether the prompts of the stream were messages on stdin.
fn has_turns(init: &InitEvent) -> bool {
    init.ibeam.as_ref().is_some_and(|ibeam| ibeam.input.is_some())
}

fn damaged(source: &str, line: u64, detail: String) -> ReplayEnd {
    ReplayEnd::Failed(CliError::StreamDamaged { source: source.to_owned(), line, detail })
}

/// Reads the lines of a stream. What a line means depends on the lines before it.
struct StreamReader {
    format: Format,
    /// Whether no event was read yet.
    is_first: bool,
    /// The number of the next event.
    next_seq: u64,
    /// The time of the last event of the run that has one; 0 before that.
    last_ms: u64,
    new_text: NewText,
    /// The start of the first turn, for the other turns of the stream; `None` for a stream with one turn.
    start: Option<EventKind>,
    /// Whether the last event ended a turn.
    has_ended: bool,
    /// Converts the lines if they are copied and a contract was requested.
    converter: Option<ContractConverter>,
}

impl StreamReader {
    fn new(base: &BaseContext, OutputForm { format, partial }: OutputForm) -> Self {
        let requested = base.requested_contract().filter(|_| format == Format::StreamJson);
        let converter = requested.map(|contract| ContractConverter::new(contract, partial));
        Self {
            format,
            is_first: true,
            next_seq: 0,
            last_ms: 0,
            new_text: NewText::default(),
            start: None,
            has_ended: false,
            converter,
        }
    }

    /// Returns the event of a line, and the line to print if lines are copied.
    fn read_line(&mut self, line: &[u8]) -> Result<(Option<Event>, Vec<u8>), String> {
        let copy = if self.format == Format::StreamJson { line.to_owned() } else { Vec::new() };
        if line.trim_ascii().is_empty() {
            return Ok((None, copy));
        }
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        let unread =
            |error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column ");
        let event = ibeam_wire::Event::from_line(text).map_err(unread)?;
        let is_alone = std::mem::take(&mut self.is_first) && matches!(event, ibeam_wire::Event::Result(_));
        if is_alone && (self.format == Format::Text || self.format.is_export()) {
            return Err("it is the object of `json`, which contains only the end of a run".to_owned());
        }
        if let ibeam_wire::Event::Init(_) = event {
            self.new_text = NewText::default();
        }
        let copy = match (self.format, &event, &mut self.converter) {
            (Format::Json, ibeam_wire::Event::Result(_), _) => result_line_to_object(text).into_bytes(),
            (_, event, Some(converter)) => converter.convert_line(text, event).into_bytes(),
            (Format::Json | Format::StreamJson | Format::Text, _, None) => copy,
            (Format::Html | Format::Otlp | Format::Atif, _, None) => copy,
        };
        if self.has_ended || matches!(event, ibeam_wire::Event::Init(_)) {
            self.last_ms = 0;
        }
        self.last_ms = time_of(&event).unwrap_or(self.last_ms);
        let at_ms = self.last_ms;
        let has_turns = matches!(&event, ibeam_wire::Event::Init(init) if has_turns(init));
        let event = match event {
            // The error of an invalid line of stdin belongs to no turn.
            ibeam_wire::Event::Error(error) if self.start.is_some() && error.session_id.is_none() => None,
            event => to_event(event, &mut self.new_text)?.map(|kind| self.number(at_ms, kind)),
        };
        if has_turns {
            self.start = event.as_ref().map(|event| event.kind.clone());
        }
        Ok((event, copy))
    }

    /// Returns the start of a turn before its prompt, if the stream has the start of the first turn only.
    fn start_of_turn(&mut self, event: &Event) -> Option<Event> {
        let follows_end =
            std::mem::replace(&mut self.has_ended, matches!(event.kind, EventKind::RunFinished(_)));
        let starts = follows_end && matches!(event.kind, EventKind::UserMessage { .. });
        let kind = self.start.clone().filter(|_| starts)?;
        self.new_text = NewText::default();
        Some(self.number(event.at_ms, kind))
    }

    /// Returns an event with the next number.
    fn number(&mut self, at_ms: u64, kind: EventKind) -> Event {
        let seq = self.next_seq;
        self.next_seq += 1;
        Event { seq, at_ms, kind }
    }

    /// Returns the lines that the converter has not written yet.
    fn rest(&mut self) -> Vec<u8> {
        self.converter.as_mut().map(ContractConverter::finish).unwrap_or_default().into_bytes()
    }
}
