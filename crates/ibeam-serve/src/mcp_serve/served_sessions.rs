//! The stored sessions that clients may read: those whose workspace is beneath the directories of the server.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_mcp_server::{Resource, ResourceError, ResourcePage};
use ibeam_output::{Catalogue, EventWriter, Text, TextOptions};
use ibeam_protocol::{Event, EventKind, Reason, SessionId};
use ibeam_session::{SessionError, SessionSummary};
use serde_json::{Value, json};

use super::run_request::{AllowedRoots, ServerSettings};
use ibeam_agent::run::session_opener::{damaged_session_reason, session_error_reason, session_store_reason};

/// The beginning of the URI of a transcript. The id of the session follows.
const URI_PREFIX: &str = "ibeam://sessions/";
/// The template of these URIs.
pub(super) const URI_TEMPLATE: &str = "ibeam://sessions/{session_id}";
pub(super) const TRANSCRIPT_TYPE: &str = "text/plain";
/// The number of sessions in one page of the list.
const PAGE_SESSIONS: usize = 100;
/// Maximum size of a transcript as a resource.
pub(super) const MAX_RESOURCE_BYTES: usize = 4 << 20;
/// Maximum size of a transcript as the result of a tool, which a model reads.
pub(super) const MAX_RESULT_BYTES: usize = 64 << 10;
/// Maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 72;

/// The sessions that clients may read.
#[derive(Clone)]
pub(super) struct ServedSessions {
    directory: PathBuf,
    roots: AllowedRoots,
    catalogue: Arc<Catalogue>,
}

impl ServedSessions {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        Self {
            directory: settings.sessions_dir.clone(),
            roots: settings.roots.clone(),
            catalogue: Arc::clone(&settings.catalogue),
        }
    }

    /// Returns the sessions, the latest written first, without those of sub-agents.
    fn list(&self) -> Result<Vec<SessionSummary>, Reason> {
        let mut sessions =
            ibeam_session::list(&self.directory, None).map_err(|error| session_store_reason(&error))?;
        sessions.retain(|session| session.parent.is_none() && self.roots.contain(&session.cwd));
        Ok(sessions)
    }

    /// Returns the session with this id.
    ///
    /// # Errors
    /// `UnknownSession`, also for one that clients may not read.
    pub(super) fn find(&self, id: &str) -> Result<SessionSummary, Reason> {
        let unknown = || Reason::UnknownSession { session: id.to_owned() };
        let parsed: SessionId = id.parse().map_err(|_| unknown())?;
        let sessions =
            ibeam_session::list(&self.directory, None).map_err(|error| session_store_reason(&error))?;
        let found = sessions.into_iter().find(|session| session.id == parsed);
        found.filter(|session| self.roots.contain(&session.cwd)).ok_or_else(unknown)
    }

    /// Returns the newest sessions as objects, at most `limit`.
    pub(super) fn newest(&self, workspace: Option<&Path>, limit: usize) -> Result<Vec<Value>, Reason> {
        let workspace = workspace.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let sessions = self.list()?.into_iter();
        let sessions =
            sessions.filter(|session| workspace.as_ref().is_none_or(|workspace| session.cwd == *workspace));
        Ok(sessions.take(limit).map(|session| summary_object(&session)).collect())
    }

    /// Returns a page of the sessions as resources. The cursor is the number of sessions before the page.
    pub(super) fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, ResourceError> {
        let start: usize = match cursor {
            Some(cursor) => cursor.parse().map_err(|_| ResourceError::InvalidCursor)?,
            None => 0,
        };
        let sessions = self.list().map_err(|reason| self.failed(&reason))?;
        let end = start.saturating_add(PAGE_SESSIONS);
        let next_cursor = (end < sessions.len()).then(|| end.to_string());
        let page = sessions.iter().skip(start).take(PAGE_SESSIONS);
        let resources = page.map(|session| Resource {
            uri: format!("{URI_PREFIX}{}", session.id),
            name: session.id.to_string(),
            title: title(session),
            mime_type: TRANSCRIPT_TYPE,
        });
        Ok(ResourcePage { resources: resources.collect(), next_cursor })
    }

    /// Returns the transcript that a URI names.
    pub(super) fn read(&self, uri: &str) -> Result<String, ResourceError> {
        let id = uri.strip_prefix(URI_PREFIX).ok_or(ResourceError::NotFound)?;
        let session = self.find(id).map_err(|reason| match reason {
            Reason::UnknownSession { .. } => ResourceError::NotFound,
            reason => self.failed(&reason),
        })?;
        self.transcript(session.id, MAX_RESOURCE_BYTES).map_err(|reason| self.failed(&reason))
    }

    /// Returns the prompts, the actions and the final messages of a session, the last `max_bytes` of them.
    ///
    /// # Errors
    /// The errors of reading a session.
    pub(super) fn transcript(&self, id: SessionId, max_bytes: usize) -> Result<String, Reason> {
        let mut transcript = Transcript {
            text: SharedText { bytes: Arc::default(), max_bytes },
            catalogue: &self.catalogue,
            writer: None,
        };
        let failed = |error: &SessionError| session_error_reason(error, id);
        let mut each = |event| {
            // Memory does not fail.
            drop(transcript.write(&event));
            Ok(())
        };
        let report = ibeam_session::read::<SessionError>(&self.directory, id, &mut each);
        let report = report.map_err(|error| failed(&error))?;
        let mut text = transcript.finish();
        if let Some(damage) = report.damage {
            let reason = damaged_session_reason(id, &damage.path, damage.line, &damage.detail);
            text.push_str(&format!("\n{}\n", self.catalogue.reason(&reason).message));
        }
        Ok(text)
    }

    fn failed(&self, reason: &Reason) -> ResourceError {
        ResourceError::Failed(self.catalogue.reason(reason).message)
    }
}

/// Returns the description of a session for programs, with the keys of `ibeam ls --format json`.
pub(super) fn summary_object(session: &SessionSummary) -> Value {
    json!({
        "session_id": session.id,
        "cwd": session.cwd,
        "created_ms": session.created_ms,
        "updated_ms": session.updated_ms,
        "title": title(session),
        "transcript": format!("{URI_PREFIX}{}", session.id),
    })
}

/// Returns the beginning of the first prompt on one line.
fn title(session: &SessionSummary) -> Option<String> {
    let title: String = session.title.as_deref()?.chars().take(MAX_TITLE_CHARS).collect();
    Some(title.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Writes the events of a session as text.
struct Transcript<'a> {
    text: SharedText,
    catalogue: &'a Arc<Catalogue>,
    writer: Option<Text<SharedText>>,
}

impl Transcript<'_> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        if matches!(event.kind, EventKind::RunStarted(_)) {
            self.flush()?;
            let options = TextOptions { verbose: true, ..TextOptions::default() };
            self.writer = Some(Text::new(self.text.clone(), Arc::clone(self.catalogue), options));
        }
        if let EventKind::UserMessage { content, .. } = &event.kind {
            self.flush()?;
            for line in content.iter().flat_map(|text| text.lines()) {
                writeln!(self.text, "> {line}")?;
            }
        }
        self.writer.iter_mut().try_for_each(|writer| writer.write(event))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.iter_mut().try_for_each(EventWriter::flush)
    }

    fn finish(mut self) -> String {
        // Memory does not fail.
        drop(self.flush());
        let bytes = self.text.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bytes.len().saturating_sub(self.text.max_bytes);
        let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        if start == 0 { text } else { format!("[… only the last {} bytes]\n{text}", self.text.max_bytes) }
    }
}

/// Text in memory, of which at least the last `max_bytes` are kept.
#[derive(Clone)]
struct SharedText {
    bytes: Arc<Mutex<Vec<u8>>>,
    max_bytes: usize,
}

impl Write for SharedText {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(written);
        // One byte more than is shown says that something was left out.
        if bytes.len() > self.max_bytes.saturating_mul(2) {
            let surplus = bytes.len() - self.max_bytes - 1;
            bytes.drain(..surplus);
        }
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
