//! A stream of contract 1, line by line: copied, or retold for the other formats.

use std::io::{BufRead, Read};

use ibeam_output::{ReplayLine, json_of_result};
use ibeam_protocol::{Event, Reason};

use super::player::Player;
use super::retold::{retell, time_of};
use super::{Ended, warn};
use crate::app::App;
use crate::cli::Format;

/// A longer line is no event. The last line of a run repeats its whole text, so this is generous.
const LINE_LIMIT: u64 = 64 << 20;

/// Shows what is whole of the stream in `lines`, which people know as `source`. Gives how many runs there were.
///
/// A last line that was not written to its end is told and left out.
///
/// # Errors
/// `StreamDamaged` with the line, `NoInput`; those of `player`.
pub(super) fn play(
    app: &App,
    source: &str,
    mut lines: impl BufRead,
    format: Format,
    player: &mut Player<'_>,
) -> Result<u64, Ended> {
    let (mut line, mut number, mut last_ms) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        number += 1;
        let unread =
            |error: std::io::Error| Reason::NoInput { path: source.to_owned(), said: error.to_string() };
        lines
            .by_ref()
            .take(LINE_LIMIT)
            .read_until(b'\n', &mut line)
            .map_err(|error| Ended::Failed(unread(error)))?;
        if line.is_empty() {
            return player.finish();
        }
        let read = read(&line, format, &mut last_ms);
        let (event, copy) = match read {
            Ok(read) => read,
            Err(_) if !line.ends_with(b"\n") && (line.len() as u64) < LINE_LIMIT => {
                let runs = player.finish()?;
                warn(app, &ReplayLine::Torn { bytes: line.len() as u64 });
                return Ok(runs);
            }
            Err(said) => {
                player.finish()?;
                let source = source.to_owned();
                return Err(Ended::Failed(Reason::StreamDamaged { source, line: number, said }));
            }
        };
        player.show(event.as_ref(), &copy)?;
    }
}

/// What a line tells, and what is printed of it where lines are.
fn read(line: &[u8], format: Format, last_ms: &mut u64) -> Result<(Option<Event>, Vec<u8>), String> {
    let whole = if format == Format::StreamJson { line.to_owned() } else { Vec::new() };
    if line.trim_ascii().is_empty() {
        return Ok((None, whole));
    }
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let event = ibeam_wire::Event::from_line(text).map_err(|error| error.to_string())?;
    let copy = match (format, &event) {
        (Format::Json, ibeam_wire::Event::Result(_)) => json_of_result(text).into_bytes(),
        (Format::Json | Format::StreamJson | Format::Text | Format::Html, _) => whole,
    };
    *last_ms = time_of(&event).unwrap_or(*last_ms);
    let event = retell(event)?.map(|kind| Event { seq: 0, at_ms: *last_ms, kind });
    Ok((event, copy))
}
