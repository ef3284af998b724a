//! Records of the journal, and their frame: a JSON line with the length and the CRC-32 of its payload.
//!
//! `{"len":N,"crc":"xxxxxxxx","event":<N bytes of JSON>}\n`. The first line of a segment holds a `header` instead of an
//! `event`, and a line for a large payload holds a `blob`. The lines can be read with `tail` and `jq`; a torn line or a
//! flipped bit is detected.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_protocol::{Event, FromJson, JsonParser, SessionId, parse_json};
use serde::{Deserialize, Serialize};

/// The maximum nesting of JSON that is read, because the parser uses the stack. Arguments of a model have at most 128
/// levels, and the record adds some levels.
const MAX_DEPTH: usize = 192;
/// The maximum nesting that serde_json accepts with its recursion limit.
const PARSER_DEPTH: usize = 128;
/// The maximum number of bytes around a payload.
const MAX_FRAME_BYTES: usize = 64;
pub(crate) const FORMAT_VERSION: u32 = 1;

#[derive(Debug, PartialEq)]
pub(crate) enum Record {
    Header(Header),
    Event(Box<Event>),
    Blob(BlobRef),
    /// The version in a header of a newer format.
    NewerHeader(u32),
}

/// The first record of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format: 1.
    pub format: u32,
    pub session_id: SessionId,
    /// The workspace that the session was created for.
    #[serde(serialize_with = "ibeam_protocol::path_text::serialize_path")]
    pub cwd: PathBuf,
    /// The time of creation, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// The position of the segment in the session, from 1.
    #[serde(default = "first_segment", skip_serializing_if = "is_first_segment")]
    pub segment: u32,
    /// The session that this session was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}

impl Header {
    /// Returns the header of a session that is created now.
    pub(crate) fn new(session_id: SessionId, cwd: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            format: FORMAT_VERSION,
            session_id,
            cwd: cwd.to_owned(),
            created_ms: u64::try_from(now).unwrap_or(u64::MAX),
            segment: first_segment(),
            forked_from: None,
        }
    }
}

fn first_segment() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first_segment(segment: &u32) -> bool {
    *segment == first_segment()
}

/// An event whose kind is stored as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlobRef {
    /// The number of the event.
    pub(crate) seq: u64,
    /// The time of the event, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    /// The SHA-256 of the blob: 64 lower-case hexadecimal digits.
    pub(crate) sha256: String,
    /// The length of the blob in bytes.
    pub(crate) bytes: u64,
}

/// The part of a header that is common to all versions.
#[derive(Deserialize)]
struct HeaderVersion {
    format: u32,
}

/// The kind of a record's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Header,
    Event,
    Blob,
}

impl RecordKind {
    const ALL: [Self; 3] = [Self::Event, Self::Blob, Self::Header];

    /// Returns the key of the payload in a line.
    fn key(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Event => "event",
            Self::Blob => "blob",
        }
    }
}

/// Appends one framed line to `line`; `payload` is JSON without a line end.
pub(crate) fn frame(kind: RecordKind, payload: &[u8], line: &mut Vec<u8>) {
    // Without `format!`, which would cost more than the rest: this runs for every delta of an answer.
    line.reserve(payload.len() + MAX_FRAME_BYTES);
    line.extend_from_slice(b"{\"len\":");
    push_decimal(payload.len(), line);
    line.extend_from_slice(b",\"crc\":\"");
    line.extend_from_slice(&checksum(payload));
    line.extend_from_slice(b"\",\"");
    line.extend_from_slice(kind.key().as_bytes());
    line.extend_from_slice(b"\":");
    line.extend_from_slice(payload);
    line.extend_from_slice(b"}\n");
}

fn push_decimal(number: usize, line: &mut Vec<u8>) {
    let start = line.len();
    let mut rest = number;
    loop {
        line.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    line.get_mut(start..).unwrap_or_default().reverse();
}

/// Returns the CRC-32 in hexadecimal digits.
fn checksum(payload: &[u8]) -> [u8; 8] {
    let crc = crc32fast::hash(payload);
    std::array::from_fn(|index| match (crc >> (28 - 4 * index)) as u8 & 0xf {
        digit @ 0..=9 => b'0' + digit,
        digit => b'a' + digit - 10,
    })
}

/// Parses one line, given without its line end.
///
/// # Errors
/// A description of what is wrong with the line.
pub(crate) fn parse(line: &[u8]) -> Result<Record, String> {
    let (length, rest) = line
        .strip_prefix(b"{\"len\":")
        .and_then(|rest| split_at_byte(rest, b','))
        .ok_or("it does not begin like a record")?;
    let length: usize = std::str::from_utf8(length)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or("its length is not a number")?;
    let rest = rest.strip_prefix(b"\"crc\":\"").ok_or("its checksum is missing")?;
    let (crc, rest) = rest.split_at_checked(8).ok_or("its checksum is truncated")?;
    let (kind, rest) = RecordKind::ALL
        .into_iter()
        .find_map(|kind| {
            let rest = rest.strip_prefix(b"\",\"")?.strip_prefix(kind.key().as_bytes())?;
            Some((kind, rest.strip_prefix(b"\":")?))
        })
        .ok_or("it is not a header, an event or a blob")?;
    let payload =
        rest.strip_suffix(b"}").filter(|payload| payload.len() == length).ok_or("its length is wrong")?;
    if checksum(payload) != crc {
        return Err("its checksum is wrong".to_owned());
    }
    match kind {
        RecordKind::Header => {
            let HeaderVersion { format } = decode_flat(payload)?;
            if format == FORMAT_VERSION {
                decode_flat(payload).map(Record::Header)
            } else {
                Ok(Record::NewerHeader(format))
            }
        }
        RecordKind::Event => decode(payload).map(|event| Record::Event(Box::new(event))),
        RecordKind::Blob => decode_flat(payload).map(Record::Blob),
    }
}

/// Parses an event, or its kind, of a limited depth.
///
/// # Errors
/// A description of what is wrong with the JSON.
pub(crate) fn decode<T: FromJson>(json: &[u8]) -> Result<T, String> {
    let decoded = match parse_json(json) {
        Err(_) if (PARSER_DEPTH..=MAX_DEPTH).contains(&depth(json)) => {
            let mut parser = JsonParser::from_slice(json);
            parser.disable_recursion_limit();
            T::from_json(&mut parser).and_then(|value| parser.end().map(|()| value))
        }
        decoded => decoded,
    };
    decoded.map_err(|error| parse_failure(&error))
}

/// Parses the JSON of a record that contains no event, and so no deep nesting.
fn decode_flat<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| parse_failure(&error))
}

fn parse_failure(error: &serde_json::Error) -> String {
    format!("it cannot be parsed: {error}")
}

/// Returns the largest nesting of brackets in a JSON text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn split_at_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|found| *found == byte)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_holds_length_and_checksum(payload in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut line = Vec::new();
            frame(RecordKind::Blob, &payload, &mut line);
            let (length, crc) = (payload.len(), crc32fast::hash(&payload));
            let mut expect = format!("{{\"len\":{length},\"crc\":\"{crc:08x}\",\"blob\":").into_bytes();
            expect.extend_from_slice(&payload);
            expect.extend_from_slice(b"}\n");
            prop_assert_eq!(line, expect);
        }
    }
}
