//! A stream, line by line: copied, cast into the other contract, or retold for the other formats.

use std::io::{BufRead, Read};

use ibeam_output::{ReplayLine, result_line_to_object};
use ibeam_protocol::{Event, EventKind, Reason};
use ibeam_wire::{MAX_LINE_BYTES, NewText};

use super::contract_converter::ContractConverter;
use super::from_wire::{time_of, to_event};
use super::player::Player;
use super::{Ended, warn};
use crate::app::BaseContext;
use crate::cli::Format;
use crate::cli_error::CliError;

/// Shows what is whole of the stream in `lines`, which people know as `source`. Gives how many runs there were.
///
/// A last line that was not written to its end is told and left out.
///
/// # Errors
/// `StreamDamaged` with the line, `NoInput`; those of `player`.
pub(super) fn play(
    base: &BaseContext,
    source: &str,
    mut lines: impl BufRead,
    format: Format,
    player: &mut Player<'_>,
) -> Result<u64, Ended> {
    let (mut line, mut number, mut reading) = (Vec::new(), 0, Reading::new(base, format));
    loop {
        line.clear();
        number += 1;
        let unread =
            |error: std::io::Error| Reason::NoInput { path: source.to_owned(), detail: error.to_string() };
        lines
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|error| Ended::Failed(unread(error).into()))?;
        if line.is_empty() {
            player.show_left(&reading.left())?;
            return match player.finish()? {
                0 => Err(damaged(source, number, "it is empty".to_owned())),
                runs => Ok(runs),
            };
        }
        let (event, copy) = match reading.line(&line) {
            Ok(read) => read,
            Err(_) if !line.ends_with(b"\n") && (line.len() as u64) < MAX_LINE_BYTES => {
                player.show_left(&reading.left())?;
                let runs = player.finish()?;
                warn(base, &ReplayLine::TruncatedRecord { bytes: line.len() as u64 });
                return Ok(runs);
            }
            Err(said) => {
                player.show_left(&reading.left())?;
                player.finish()?;
                return Err(damaged(source, number, said));
            }
        };
        if matches!(&event, Some(event) if matches!(event.kind, EventKind::SessionStarted(_))) {
            player.show_left(&reading.left())?;
        }
        player.show(event.as_ref(), &copy)?;
    }
}

fn damaged(source: &str, line: u64, detail: String) -> Ended {
    Ended::Failed(CliError::StreamDamaged { source: source.to_owned(), line, detail })
}

/// What was read so far, as far as it matters to what follows.
struct Reading {
    format: Format,
    /// Nothing was read yet.
    fresh: bool,
    /// The last time that was told.
    last_ms: u64,
    new_text: NewText,
    /// Where lines are printed, and a contract was asked for.
    converter: Option<ContractConverter>,
}

impl Reading {
    fn new(base: &BaseContext, format: Format) -> Self {
        let asked = base.requested_contract().filter(|_| format == Format::StreamJson);
        let converter =
            asked.map(|contract| ContractConverter::new(contract, base.flags.stream_partial_output));
        Self { format, fresh: true, last_ms: 0, new_text: NewText::default(), converter }
    }

    /// What a line tells, and what is printed of it where lines are.
    fn line(&mut self, line: &[u8]) -> Result<(Option<Event>, Vec<u8>), String> {
        let whole = if self.format == Format::StreamJson { line.to_owned() } else { Vec::new() };
        if line.trim_ascii().is_empty() {
            return Ok((None, whole));
        }
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        let unread =
            |error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column ");
        let event = ibeam_wire::Event::from_line(text).map_err(unread)?;
        let is_alone = std::mem::take(&mut self.fresh) && matches!(event, ibeam_wire::Event::Result(_));
        if is_alone && matches!(self.format, Format::Text | Format::Html) {
            return Err("it is the object of `json`, which tells the end of a run alone".to_owned());
        }
        if let ibeam_wire::Event::Init(_) = event {
            self.new_text = NewText::default();
        }
        let copy = match (self.format, &event, &mut self.converter) {
            (Format::Json, ibeam_wire::Event::Result(_), _) => result_line_to_object(text).into_bytes(),
            (_, event, Some(converter)) => converter.line(text, event).into_bytes(),
            (Format::Json | Format::StreamJson | Format::Text | Format::Html, _, None) => whole,
        };
        self.last_ms = time_of(&event).unwrap_or(self.last_ms);
        let at_ms = self.last_ms;
        let event = to_event(event, &mut self.new_text)?.map(|kind| Event { seq: 0, at_ms, kind });
        Ok((event, copy))
    }

    /// What is still to be printed of a run that is over.
    fn left(&mut self) -> Vec<u8> {
        self.converter.as_mut().map(ContractConverter::finish).unwrap_or_default().into_bytes()
    }
}
