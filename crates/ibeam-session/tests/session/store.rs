//! A directory with one session, for tests.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_protocol::{CallId, Event, EventKind, ModelCallId, SessionId, ToolCall};
use ibeam_session::{CheckReport, Header, OpenReport, Session, SessionError, SessionOptions};
use tempfile::TempDir;

pub(super) struct Store {
    pub(super) home: TempDir,
    pub(super) id: SessionId,
    pub(super) options: SessionOptions,
}

/// A loaded session, with its events in memory.
#[derive(Debug, PartialEq)]
pub(super) struct LoadedSession {
    pub(super) header: Header,
    pub(super) events: Vec<Event>,
    pub(super) torn_bytes: u64,
}

impl LoadedSession {
    /// Collects the events and the report of `open`.
    pub(super) fn from_open(
        open: impl FnOnce(&mut dyn FnMut(Event)) -> Result<(Session, OpenReport), SessionError>,
    ) -> Result<(Session, Self), SessionError> {
        let mut events = Vec::new();
        let (session, OpenReport { header, torn_bytes }) = open(&mut |event| events.push(event))?;
        Ok((session, Self { header, events, torn_bytes }))
    }
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            id: SessionId::random(),
            options: SessionOptions::default(),
        }
    }

    /// Returns a store whose segments are closed at this length.
    pub(super) fn with_segment_bytes(segment_bytes: u64) -> Self {
        Self { options: SessionOptions { segment_bytes, ..SessionOptions::default() }, ..Self::new() }
    }

    /// Returns a store with a closed session that holds these events.
    pub(super) fn with_events(events: &[Event]) -> Self {
        let store = Self::new();
        store.write_session(events);
        store
    }

    /// Creates the session with these events, with a flush after each, and closes it.
    pub(super) fn write_session(&self, events: &[Event]) {
        let mut session = self.create().unwrap();
        write(&mut session, events);
        session.sync_to_disk().unwrap();
    }

    pub(super) fn create(&self) -> Result<Session, SessionError> {
        Session::create(self.home.path(), self.id, Path::new("/work"), &self.options)
    }

    pub(super) fn open(&self) -> Result<(Session, LoadedSession), SessionError> {
        self.open_as(self.id)
    }

    /// Opens another session of the same store.
    pub(super) fn open_as(&self, id: SessionId) -> Result<(Session, LoadedSession), SessionError> {
        LoadedSession::from_open(|each| Session::open(self.home.path(), id, &self.options, each))
    }

    /// Opens the session and returns its events.
    pub(super) fn events(&self) -> Vec<Event> {
        self.open().unwrap().1.events
    }

    /// Returns the damage that opening the session reports: file, line and detail.
    #[track_caller]
    pub(super) fn damage(&self) -> (String, u64, String) {
        match self.open() {
            Err(SessionError::Damaged { path, line, detail }) => (name_of(&path), line, detail),
            other => panic!("not damaged: {other:?}"),
        }
    }

    pub(super) fn check(&self) -> CheckReport {
        ibeam_session::check(self.home.path(), self.id).unwrap()
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.home.path().join(self.id.to_string())
    }

    /// Returns the path of a file of the session.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Returns the path of the first segment.
    pub(super) fn journal(&self) -> PathBuf {
        self.path("events.jsonl")
    }

    /// Returns the names of the segments, sorted.
    pub(super) fn segments(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| name.ends_with(".jsonl")).collect()
    }

    /// Returns the names in the directory of the session, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        names_in(&self.directory())
    }

    /// Returns the names of the blobs.
    pub(super) fn blobs(&self) -> Vec<String> {
        names_in(&self.path("blobs"))
    }
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| name_of(&entry.unwrap().path())).collect();
    names.sort();
    names
}

/// Appends the events, with a flush after each.
pub(super) fn write(session: &mut Session, events: &[Event]) {
    for event in events {
        session.append(event).unwrap();
        session.flush().unwrap();
    }
}

pub(super) fn text(seq: u64, text: &str) -> Event {
    Event { seq, at_ms: 1_000 + seq, kind: EventKind::TextDelta { text: text.to_owned() } }
}

pub(super) fn prompt(seq: u64, text: &str) -> Event {
    Event {
        seq,
        at_ms: 1,
        kind: EventKind::UserMessage { content: vec![text.to_owned()], attachments: Vec::new() },
    }
}

pub(super) fn call_started(seq: u64, arguments: serde_json::Value) -> Event {
    let call = ToolCall { id: CallId::from("c1"), name: "read".to_owned(), arguments };
    let model_call_id = ModelCallId::from("m1");
    Event { seq, at_ms: 1, kind: EventKind::ToolCallStarted { model_call_id, call } }
}

/// Returns `count` small events, numbered from 0.
pub(super) fn texts(count: u64) -> Vec<Event> {
    (0..count).map(|seq| text(seq, &"é".repeat(seq as usize % 40))).collect()
}

/// Returns the first event of a run in `/work`.
pub(super) fn run_started(id: SessionId) -> Event {
    let head = serde_json::json!({
        "session_id": id,
        "cwd": "/work",
        "model": { "provider": "p", "id": "m", "display": "M" },
        "key_source": "none",
        "permission_mode": "default",
        "tools": [],
        "version": "0",
        "limits": { "max_turns": 1, "timeout_ms": null },
        "resumed": false,
    });
    Event { seq: 0, at_ms: 7, kind: EventKind::RunStarted(serde_json::from_value(head).unwrap()) }
}
