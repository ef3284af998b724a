//! Reads the records of a journal, segment by segment and line by line.
//!
//! A last record without its line end is torn: the process was killed, or the power was cut, while the record was
//! written. Its bytes are counted and the record is left out. Every record is written together with its line end. So a
//! complete line was valid when it was written, and is damaged if it is invalid now. No record is skipped without a
//! report.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ibeam_protocol::Event;

use crate::blob;
use crate::error::{SessionError, io_error, unusable_error};
use crate::layout::{self, SegmentPath};
use crate::private_files;
use crate::record::{BlobRef, FORMAT_VERSION, Header, Record, parse};

/// Longest record that is read. The writer observes the same limit.
pub(crate) const MAX_LINE_BYTES: u64 = 16 << 20;

/// The result of reading a journal.
#[derive(Debug)]
pub(crate) struct WalkResult {
    pub(crate) segments: Vec<SegmentPath>,
    /// The header of the first segment.
    pub(crate) header: Option<Header>,
    /// Number of valid records, headers included.
    pub(crate) records: u64,
    /// Index of the last segment that was read.
    pub(crate) last_index: usize,
    /// Size in bytes of the valid records of the segment at `last_index`.
    pub(crate) valid_bytes: u64,
    /// Size in bytes of the torn record at the end of this segment; 0 if there is none.
    pub(crate) torn_bytes: u64,
    /// Whether `damage` only means that a newer version of the program wrote the journal.
    pub(crate) is_newer_format: bool,
    /// The first damage, where reading stopped.
    pub(crate) damage: Option<Damage>,
}

/// A damaged place of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: u64,
    /// The kind of damage.
    pub detail: String,
}

/// An event, with its line in the journal.
pub(crate) struct StoredEvent<'a> {
    pub(crate) event: Event,
    /// The blob that holds its kind, if the kind is not in the line.
    pub(crate) blob: Option<BlobRef>,
    /// The line with its line end.
    pub(crate) line: &'a [u8],
}

/// Passes every valid event of the session in `directory` to `visit`, in order, until the end or the first damage.
///
/// Needs no lease: a record that another process is writing is either read or counted as torn.
///
/// # Errors
/// `Unknown` if there is no segment; `Unusable` for a segment that is a link; `Io`; the errors of `visit`.
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
        // The segment is a symbolic link.
        Some(number) if number == rustix::io::Errno::LOOP.raw_os_error() => unusable_error(&path)(error),
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
            // A segment gets its name after its header is written, so a header is never torn.
            if is_last && line > 1 && !too_long {
                walked.torn_bytes = length;
            } else {
                walked.damage = damaged(
                    line,
                    if too_long { "it is longer than the longest record" } else { "it has no line end" },
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

/// Returns the event of a record. Stores the header of a record that has one, and checks that it belongs there.
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
                return Err(format!("segment {expected} before it is missing"));
            }
            if header.segment != number {
                return Err(format!("it is segment {} but has the name of segment {number}", header.segment));
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
        (Record::NewerHeader(version), 1) => {
            walked.is_newer_format = true;
            Err(format!("its format is version {version}; this program reads {FORMAT_VERSION}"))
        }
        (Record::Header(_) | Record::NewerHeader(_), _) => {
            Err("it is a header, which must be the first line".to_owned())
        }
        (Record::Event(_) | Record::Blob(_), _) => Err("the first line is not a header".to_owned()),
    }
}

/// Reads one line with its line end. Returns `false` if the line has no end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    reader.take(MAX_LINE_BYTES).read_until(b'\n', line)?;
    Ok(line.ends_with(b"\n"))
}
