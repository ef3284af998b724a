//! The frame of a record: a JSON line that tells the length and the CRC-32 of what it holds.
//!
//! `{"len":N,"crc":"xxxxxxxx","event":<N bytes of JSON>}\n`; the first line holds a `header` instead. Readable
//! with `tail` and `jq`, and a torn or flipped byte is noticed.

use std::path::PathBuf;

use ibeam_protocol::{Event, SessionId};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// The first record of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format: 1.
    pub format: u32,
    /// The session.
    pub session_id: SessionId,
    /// The workspace it began in.
    #[serde(serialize_with = "ibeam_protocol::path_text::one")]
    pub cwd: PathBuf,
    /// When, in milliseconds since the Unix epoch.
    pub created_ms: u64,
}

/// A record of the journal.
#[derive(Debug, PartialEq)]
pub(crate) enum Record {
    Header(Header),
    Event(Box<Event>),
}

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Header,
    Event,
}

impl Kind {
    fn key(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Event => "event",
        }
    }
}

/// Appends one framed line to `line`; `payload` is JSON without a line end.
pub(crate) fn frame(kind: Kind, payload: &[u8], line: &mut Vec<u8>) {
    let head = format!(
        "{{\"len\":{},\"crc\":\"{:08x}\",\"{}\":",
        payload.len(),
        crc32fast::hash(payload),
        kind.key()
    );
    line.reserve(head.len() + payload.len() + 2);
    line.extend_from_slice(head.as_bytes());
    line.extend_from_slice(payload);
    line.extend_from_slice(b"}\n");
}

/// Takes one line, without its end, apart.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn parse(line: &[u8]) -> Result<Record, String> {
    let (length, rest) = line
        .strip_prefix(b"{\"len\":")
        .and_then(|rest| split_at_byte(rest, b','))
        .ok_or("it does not begin as a record does")?;
    let length: usize = std::str::from_utf8(length)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or("its length is no number")?;
    let rest = rest.strip_prefix(b"\"crc\":\"").ok_or("its checksum is missing")?;
    let (crc, rest) = rest.split_at_checked(8).ok_or("its checksum is cut")?;
    let (kind, rest) = [Kind::Header, Kind::Event]
        .into_iter()
        .find_map(|kind| Some((kind, rest.strip_prefix(format!("\",\"{}\":", kind.key()).as_bytes())?)))
        .ok_or("it holds neither a header nor an event")?;
    let payload =
        rest.strip_suffix(b"}").filter(|payload| payload.len() == length).ok_or("its length is wrong")?;
    if format!("{:08x}", crc32fast::hash(payload)).as_bytes() != crc {
        return Err("its checksum is wrong".to_owned());
    }
    let unknown = |error: serde_json::Error| format!("it is not understood: {error}");
    match kind {
        Kind::Header => {
            let header: Header = serde_json::from_slice(payload).map_err(unknown)?;
            if header.format != FORMAT {
                return Err(format!("its format is version {}; this program reads {FORMAT}", header.format));
            }
            Ok(Record::Header(header))
        }
        Kind::Event => {
            serde_json::from_slice(payload).map(|event| Record::Event(Box::new(event))).map_err(unknown)
        }
    }
}

fn split_at_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|found| *found == byte)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}
