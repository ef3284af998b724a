//! From the bytes of a journal to its header and events.
//!
//! A last record that is torn belongs to a process that was killed while it wrote: it is told and left out. A
//! record damaged anywhere else is an error; nothing is ever skipped in silence.

use ibeam_protocol::Event;

use crate::record::{Header, Record, parse};

/// A journal in memory.
#[derive(Debug, PartialEq)]
pub struct Loaded {
    /// What the journal began with.
    pub header: Header,
    /// Every whole event, in order.
    pub events: Vec<Event>,
    /// Bytes of the torn record that was left out at the end, 0 for none.
    pub torn_bytes: u64,
}

/// Where and how a journal is damaged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) line: u64,
    pub(crate) said: String,
}

/// Reads a whole journal; also gives how many bytes of it are whole records.
pub(crate) fn load(bytes: &[u8]) -> Result<(Loaded, usize), Damage> {
    let mut header = None;
    let mut events = Vec::new();
    let mut whole = 0;
    let mut rest = bytes;
    let mut line = 0;
    while !rest.is_empty() {
        line += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (record, after) = match end {
            Some(end) => (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default()),
            None => (rest, &[][..]),
        };
        let parsed = match end {
            Some(_) => parse(record),
            None => Err("it has no end".to_owned()),
        };
        match parsed {
            Ok(Record::Header(found)) if line == 1 => header = Some(found),
            Ok(Record::Event(event)) if line > 1 => events.push(*event),
            Ok(Record::Header(_) | Record::Event(_)) => {
                return Err(Damage {
                    line,
                    said: "a header belongs at the start and nowhere else".to_owned(),
                });
            }
            // Only the last record can be torn; without a header there is no session.
            Err(_) if after.is_empty() && line > 1 => break,
            Err(said) => return Err(Damage { line, said }),
        }
        whole = bytes.len() - after.len();
        rest = after;
    }
    let header = header.ok_or_else(|| Damage { line: 1, said: "the journal is empty".to_owned() })?;
    let torn_bytes = u64::try_from(bytes.len() - whole).unwrap_or(u64::MAX);
    Ok((Loaded { header, events, torn_bytes }, whole))
}
