//! Which sessions there are: read from the head of each journal, with no index that could be wrong.

use std::cmp::Reverse;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ibeam_protocol::{EventKind, SessionId};

use crate::blob;
use crate::error::SessionError;
use crate::layout;
use crate::private_files;
use crate::record::Header;
use crate::record::{Record, parse};

/// The header and the first prompt are within this; of most sessions they are in the first block.
const HEAD_BYTES: u64 = 256 * 1024;
const BLOCK_BYTES: usize = 8 * 1024;
/// A prompt larger than this gives no title: it would have to be read whole.
const PROMPT_BYTES: u64 = 4 << 20;

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// The workspace it began in.
    pub cwd: PathBuf,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last written to, likewise.
    pub updated_ms: u64,
    /// The first prompt; `None` before there is one.
    pub title: Option<String>,
}

/// Whether the session `id` has a journal, whole or not. A directory that a killed process left without one is
/// no session.
pub fn exists(sessions: &Path, id: SessionId) -> bool {
    // What cannot be looked at is there: opening it says what is wrong.
    layout::list_segments(&sessions.join(id.to_string())).map_or(true, |segments| !segments.is_empty())
}

/// The sessions that began in `cwd`, or all; the last written to first.
///
/// What is no session, or is damaged at its head, is not listed: opening it says what is wrong.
///
/// # Errors
/// `Io` when the directory itself cannot be read; a missing one holds no sessions.
pub fn list(sessions: &Path, cwd: Option<&Path>) -> Result<Vec<SessionSummary>, SessionError> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SessionError::Io { path: sessions.to_owned(), source }),
    };
    let cwd = cwd.map(|cwd| PathBuf::from(&*cwd.to_string_lossy()));
    let mut summaries: Vec<SessionSummary> =
        entries.filter_map(|entry| summary(&entry.ok()?.path(), cwd.as_deref())).collect();
    summaries.sort_by_key(|summary| Reverse((summary.updated_ms, summary.created_ms, summary.id)));
    Ok(summaries)
}

/// The summary of the session in `directory`, if it is one and of `cwd`.
fn summary(directory: &Path, cwd: Option<&Path>) -> Option<SessionSummary> {
    let id: SessionId = directory.file_name()?.to_str()?.parse().ok()?;
    let segments = layout::list_segments(directory).ok()?;
    let first = private_files::open(&segments.first()?.path).ok()?;
    let last = fs::symlink_metadata(&segments.last()?.path).ok()?;
    let modified = last.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut head = BufReader::with_capacity(BLOCK_BYTES, first.take(HEAD_BYTES));
    let mut line = Vec::new();
    let Record::Header(Header { cwd: began_in, created_ms, .. }) = next_record(&mut head, &mut line)? else {
        return None;
    };
    if cwd.is_some_and(|cwd| cwd != began_in) {
        return None;
    }
    let title = std::iter::from_fn(|| next_record(&mut head, &mut line))
        .find_map(|record| prompt(directory, record))
        .and_then(|content| content.into_iter().next());
    let updated_ms = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
    Some(SessionSummary { id, cwd: began_in, created_ms, updated_ms, title })
}

fn next_record(head: &mut impl BufRead, line: &mut Vec<u8>) -> Option<Record> {
    line.clear();
    head.read_until(b'\n', line).ok()?;
    parse(line.strip_suffix(b"\n")?).ok()
}

fn prompt(directory: &Path, record: Record) -> Option<Vec<String>> {
    let kind = match record {
        Record::Header(_) | Record::Newer(_) => return None,
        Record::Event(event) => event.kind,
        Record::Blob(blob) if blob.bytes > PROMPT_BYTES => return None,
        Record::Blob(blob) => blob::load(directory, &blob).ok()?,
    };
    let EventKind::UserMessage { content } = kind else { return None };
    Some(content)
}
