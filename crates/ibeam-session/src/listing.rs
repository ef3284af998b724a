//! The list of stored sessions, read from the start of each journal. A separate index could be outdated, so there is
//! none.

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
use crate::record::{Header, Record, parse};
use crate::title::stored_title;

/// The maximum number of bytes that are read for the header and the first prompt. Usually both are in the first block.
const MAX_HEAD_BYTES: u64 = 256 * 1024;
/// The size of one read.
const BLOCK_BYTES: usize = 8 * 1024;
/// A prompt larger than this gives no title, because it would have to be read completely.
const MAX_PROMPT_BYTES: u64 = 4 << 20;

/// The entry of a session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    pub id: SessionId,
    /// The workspace that it was created for.
    pub cwd: PathBuf,
    /// The time of its creation, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// The time of the last write, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// The title that the user gave, else the first prompt; `None` if the session has no prompt yet.
    pub title: Option<String>,
    /// The session whose sub-agent it was created for; `None` for any other session.
    pub parent: Option<SessionId>,
    /// Whether the journal has more than its header.
    pub has_events: bool,
}

impl SessionSummary {
    /// Whether no run has used the session, and the user has given it no title.
    pub fn is_empty(&self) -> bool {
        !self.has_events && self.title.is_none()
    }
}

/// Whether the session `id` has a journal, valid or damaged. A directory without a journal, which a killed process may
/// leave, is not a session.
pub fn exists(sessions: &Path, id: SessionId) -> bool {
    // A directory that cannot be read counts as a session: opening it reports the error.
    layout::list_segments(&sessions.join(id.to_string())).map_or(true, |segments| !segments.is_empty())
}

/// Returns the sessions whose ID starts with `prefix`, in any order. Upper and lower case are equal.
///
/// # Errors
/// `Io` if the directory of all sessions cannot be read. A missing directory holds no sessions.
pub fn find_by_prefix(sessions: &Path, prefix: &str) -> Result<Vec<SessionId>, SessionError> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SessionError::Io { path: sessions.to_owned(), source }),
    };
    let prefix = prefix.to_ascii_lowercase();
    let matching = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| name.starts_with(&prefix))?;
        name.parse().ok()
    });
    Ok(matching.filter(|id| exists(sessions, *id)).collect())
}

/// Returns the sessions that were created for `cwd`, or all sessions; the latest written first.
///
/// Leaves out directories that are not sessions, and sessions whose header is damaged: opening them reports the error.
///
/// # Errors
/// `Io` if the directory of all sessions cannot be read. A missing directory holds no sessions.
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

/// Returns the IDs of all sessions, the latest written first. No journal is read, so a damaged session is included.
///
/// # Errors
/// `Io` if the directory of all sessions cannot be read. A missing directory holds no sessions.
pub fn newest_first(sessions: &Path) -> Result<Vec<SessionId>, SessionError> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SessionError::Io { path: sessions.to_owned(), source }),
    };
    let dated = |entry: fs::DirEntry| {
        let id: SessionId = entry.file_name().to_str()?.parse().ok()?;
        let segments = layout::list_segments(&entry.path()).ok()?;
        let written = fs::symlink_metadata(&segments.last()?.path).ok()?.modified().ok()?;
        Some(Reverse((written, id)))
    };
    let mut dated: Vec<_> = entries.filter_map(|entry| dated(entry.ok()?)).collect();
    dated.sort_unstable();
    Ok(dated.into_iter().map(|Reverse((_, id))| id).collect())
}

/// Returns the summary of the session `id`; `None` if there is none, or if its header is damaged.
pub fn summarize(sessions: &Path, id: SessionId) -> Option<SessionSummary> {
    summary(&sessions.join(id.to_string()), None)
}

/// Returns the summary of the session in `directory`, if it is a session and belongs to `cwd`.
fn summary(directory: &Path, cwd: Option<&Path>) -> Option<SessionSummary> {
    let id: SessionId = directory.file_name()?.to_str()?.parse().ok()?;
    let segments = layout::list_segments(directory).ok()?;
    let first = private_files::open(&segments.first()?.path).ok()?;
    let last = fs::symlink_metadata(&segments.last()?.path).ok()?;
    let modified = last.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut head = BufReader::with_capacity(BLOCK_BYTES, first.take(MAX_HEAD_BYTES));
    let mut line = Vec::new();
    let Record::Header(Header { cwd: created_for, created_ms, .. }) = next_record(&mut head, &mut line)?
    else {
        return None;
    };
    if cwd.is_some_and(|cwd| cwd != created_for) {
        return None;
    }
    let has_events = head.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
    let mut parent = None;
    let title = std::iter::from_fn(|| next_record(&mut head, &mut line))
        .inspect(|record| {
            if let Record::Event(event) = record
                && let EventKind::RunStarted(started) = &event.kind
            {
                parent = started.parent;
            }
        })
        .find_map(|record| prompt(directory, record))
        .and_then(|content| content.into_iter().next());
    let title = stored_title(directory).or(title);
    let updated_ms = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
    Some(SessionSummary { id, cwd: created_for, created_ms, updated_ms, title, parent, has_events })
}

fn next_record(head: &mut impl BufRead, line: &mut Vec<u8>) -> Option<Record> {
    line.clear();
    head.read_until(b'\n', line).ok()?;
    parse(line.strip_suffix(b"\n")?).ok()
}

fn prompt(directory: &Path, record: Record) -> Option<Vec<String>> {
    let kind = match record {
        Record::Header(_) | Record::NewerHeader(_) => return None,
        Record::Event(event) => event.kind,
        Record::Blob(blob) if blob.bytes > MAX_PROMPT_BYTES => return None,
        Record::Blob(blob) => blob::load(directory, &blob).ok()?,
    };
    let EventKind::UserMessage { content, .. } = kind else { return None };
    Some(content)
}
