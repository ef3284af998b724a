//! Through the records of a journal, segment by segment and line by line.
//!
//! A last record without its end belongs to a process that was killed while it wrote, or to a disk whose power
//! was cut: it is told and left out. Every record is written with its line end in one go, so a line that has
//! its end was whole once, and is damaged if it is not whole now. Nothing is ever skipped in silence.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ibeam_protocol::Event;

use crate::blob;
use crate::error::{SessionError, create_error, io_error};
use crate::layout::{self, SegmentPath};
use crate::private_files;
use crate::record::{BlobRef, Record, parse};
use crate::record::{FORMAT_VERSION, Header};

/// No record is longer; the writer keeps to it too.
pub(crate) const MAX_LINE_BYTES: u64 = 16 << 20;

/// What the way through met.
#[derive(Debug)]
pub(crate) struct WalkResult {
    /// Every segment there is.
    pub(crate) segments: Vec<SegmentPath>,
    /// The header of the first.
    pub(crate) header: Option<Header>,
    /// Whole records, headers included.
    pub(crate) records: u64,
    /// Which segment the way has_end in, from 0.
    pub(crate) last_index: usize,
    /// Bytes of whole records in that segment.
    pub(crate) valid_bytes: u64,
    /// Bytes of the torn record at the end of it.
    pub(crate) torn_bytes: u64,
    /// The damage is none: a later version of the program wrote it.
    pub(crate) is_newer_format: bool,
    /// Why the way has_end before the end.
    pub(crate) damage: Option<Damage>,
}

/// Where and how a journal is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub detail: String,
}

/// An event as the journal holds it.
pub(crate) struct StoredEvent<'a> {
    pub(crate) event: Event,
    /// Where its kind is, when it is not in the line.
    pub(crate) blob: Option<BlobRef>,
    /// The line, with its end.
    pub(crate) line: &'a [u8],
}

/// Visits every whole event of the session in `directory`, in order, until the end or the first damage.
///
/// Needs no lease: what another process appends meanwhile is seen, or looks torn.
///
/// # Errors
/// `Unknown` without a segment; `Create` for a directory that is not ours; `Io`; the visitor's.
pub(crate) fn walk<E: From<SessionError>>(
    directory: &Path,
    mut visit: impl FnMut(StoredEvent<'_>) -> Result<(), E>,
) -> Result<WalkResult, E> {
    let segments = layout::list_segments(directory).map_err(io_error(directory))?;
    if segments.is_empty() {
        return Err(SessionError::Unknown { path: directory.to_owned() }.into());
    }
    let mut walked = WalkResult {
        segments,
        header: None,
        records: 0,
        last_index: 0,
        valid_bytes: 0,
        torn_bytes: 0,
        is_newer_format: false,
        damage: None,
    };
    for index in 0..walked.segments.len() {
        if walked.damage.is_none() {
            walk_segment(directory, index, &mut walked, &mut visit)?;
        }
    }
    Ok(walked)
}

fn walk_segment<E: From<SessionError>>(
    directory: &Path,
    index: usize,
    walked: &mut WalkResult,
    visit: &mut impl FnMut(StoredEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Some(SegmentPath { number, path }) = walked.segments.get(index).cloned() else { return Ok(()) };
    let is_last = index + 1 == walked.segments.len();
    (walked.last_index, walked.valid_bytes) = (index, 0);
    let file = private_files::open(&path).map_err(|error| match error.raw_os_error() {
        // A link stands in its place.
        Some(number) if number == rustix::io::Errno::LOOP.raw_os_error() => create_error(&path)(error),
        Some(_) | None => io_error(&path)(error),
    })?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let (mut line, mut buffer) = (0, Vec::new());
    let damaged = |line, detail: &str| Some(Damage { path: path.clone(), line, detail: detail.to_owned() });
    loop {
        line += 1;
        let has_end = read_line(&mut reader, &mut buffer).map_err(io_error(&path))?;
        if buffer.is_empty() {
            break;
        }
        let length = buffer.len() as u64;
        let Some(content) = buffer.strip_suffix(b"\n").filter(|_| has_end) else {
            let too_long = length >= MAX_LINE_BYTES;
            // The header is put in place with the file, so it is never torn.
            if is_last && line > 1 && !too_long {
                walked.torn_bytes = length;
            } else {
                walked.damage = damaged(
                    line,
                    if too_long { "it is longer than a record can be" } else { "it has no end" },
                );
            }
            return Ok(());
        };
        match parse(content).and_then(|record| interpret(directory, record, line, number, walked)) {
            Ok(None) => {}
            Ok(Some((event, blob))) => visit(StoredEvent { event, blob, line: &buffer })?,
            Err(detail) => {
                walked.damage = damaged(line, &detail);
                return Ok(());
            }
        }
        walked.records += 1;
        walked.valid_bytes += length;
    }
    if line == 1 {
        walked.damage = damaged(1, "the file is empty");
    }
    Ok(())
}

/// What a record in this place means: an event, or a header, which is kept.
fn interpret(
    directory: &Path,
    record: Record,
    line: u64,
    number: u32,
    walked: &mut WalkResult,
) -> Result<Option<(Event, Option<BlobRef>)>, String> {
    match (record, line) {
        (Record::Header(header), 1) => {
            let expected = u32::try_from(walked.last_index + 1).unwrap_or(u32::MAX);
            if number != expected {
                return Err(format!("segment {expected}, which comes before it, is missing"));
            }
            if header.segment != number {
                return Err(format!("it is segment {} under the name of another", header.segment));
            }
            match &walked.header {
                None => walked.header = Some(header),
                Some(first) if first.session_id == header.session_id => {}
                Some(_) => return Err("it belongs to another session".to_owned()),
            }
            Ok(None)
        }
        (Record::Event(event), 2..) => Ok(Some((*event, None))),
        (Record::Blob(blob), 2..) => {
            let kind = blob::load(directory, &blob)?;
            Ok(Some((Event { seq: blob.seq, at_ms: blob.at_ms, kind }, Some(blob))))
        }
        (Record::Newer(version), 1) => {
            walked.is_newer_format = true;
            Err(format!("its format is version {version}; this program reads {FORMAT_VERSION}"))
        }
        (Record::Header(_) | Record::Newer(_) | Record::Event(_) | Record::Blob(_), _) => {
            Err("a header belongs at the start and nowhere else".to_owned())
        }
    }
}

/// Reads one line with its end; false when it has none.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    reader.take(MAX_LINE_BYTES).read_until(b'\n', line)?;
    Ok(line.ends_with(b"\n"))
}
