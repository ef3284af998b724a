//! Which sessions there are: read from the head of each journal, with no index that could be wrong.

use std::cmp::Reverse;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ibeam_protocol::{EventKind, SessionId};

use crate::error::SessionError;
use crate::journal::EVENTS;
use crate::private;
use crate::record::{Header, Record, parse};

/// The header and the first prompt are within this.
const HEAD_BYTES: u64 = 64 * 1024;

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
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

/// Whether the session `id` has a journal.
pub fn exists(sessions: &Path, id: SessionId) -> bool {
    sessions.join(id.to_string()).join(EVENTS).is_file()
}

/// The sessions that began in `cwd`, or all; the last written to first.
///
/// What is no session, or is damaged at its head, is not listed: opening it says what is wrong.
///
/// # Errors
/// `Io` when the directory itself cannot be read; a missing one holds no sessions.
pub fn list(sessions: &Path, cwd: Option<&Path>) -> Result<Vec<Summary>, SessionError> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SessionError::Io { path: sessions.to_owned(), source }),
    };
    let mut summaries: Vec<Summary> = entries
        .filter_map(|entry| summary(&entry.ok()?.path().join(EVENTS)))
        .filter(|summary| cwd.is_none_or(|cwd| summary.cwd == Path::new(&*cwd.to_string_lossy())))
        .collect();
    summaries.sort_by_key(|summary| Reverse((summary.updated_ms, summary.created_ms, summary.id)));
    Ok(summaries)
}

fn summary(journal: &Path) -> Option<Summary> {
    let file = private::open(journal).ok()?;
    let modified = file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    let Record::Header(Header { session_id, cwd, created_ms, .. }) = parse(lines.next()?).ok()? else {
        return None;
    };
    let title = lines.find_map(|line| match parse(line).ok()? {
        Record::Header(_) => None,
        Record::Event(event) => match event.kind {
            EventKind::UserMessage { content } => content.into_iter().next(),
            EventKind::SessionStarted(_)
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => None,
        },
    });
    let updated_ms = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
    Some(Summary { id: session_id, cwd, created_ms, updated_ms, title })
}
