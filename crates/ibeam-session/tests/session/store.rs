//! A directory of sessions with one session in it.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_protocol::{CallId, Event, EventKind, ModelCallId, SessionId, ToolCall};
use ibeam_session::{CheckReport, Header, LoadReport, Session, SessionError, SessionOptions};
use tempfile::TempDir;

pub(super) struct Store {
    pub(super) home: TempDir,
    pub(super) id: SessionId,
    pub(super) options: SessionOptions,
}

/// A journal in memory.
#[derive(Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) header: Header,
    pub(super) events: Vec<Event>,
    pub(super) torn_bytes: u64,
}

impl Whole {
    /// What `open` gives, together.
    pub(super) fn of(
        open: impl FnOnce(&mut dyn FnMut(Event)) -> Result<(Session, LoadReport), SessionError>,
    ) -> Result<(Session, Self), SessionError> {
        let mut events = Vec::new();
        let (session, LoadReport { header, torn_bytes }) = open(&mut |event| events.push(event))?;
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

    /// With segments that are closed at this length.
    pub(super) fn rolling(segment_bytes: u64) -> Self {
        Self { options: SessionOptions { segment_bytes, ..SessionOptions::default() }, ..Self::new() }
    }

    /// A session with these events, closed again.
    pub(super) fn holding(events: &[Event]) -> Self {
        let store = Self::new();
        store.keep(events);
        store
    }

    /// Makes the session with these events, a flush after each, and closes it.
    pub(super) fn keep(&self, events: &[Event]) {
        let mut session = self.create().unwrap();
        write(&mut session, events);
        session.sync_to_disk().unwrap();
    }

    pub(super) fn create(&self) -> Result<Session, SessionError> {
        Session::create(self.home.path(), self.id, Path::new("/work"), &self.options)
    }

    pub(super) fn open(&self) -> Result<(Session, Whole), SessionError> {
        self.open_as(self.id)
    }

    /// Another session of the same store.
    pub(super) fn open_as(&self, id: SessionId) -> Result<(Session, Whole), SessionError> {
        Whole::of(|each| Session::open(self.home.path(), id, &self.options, each))
    }

    /// The events that open gives.
    pub(super) fn events(&self) -> Vec<Event> {
        self.open().unwrap().1.events
    }

    /// The file and line that open says is damaged.
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

    /// A file of the session.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// The first segment.
    pub(super) fn journal(&self) -> PathBuf {
        self.path("events.jsonl")
    }

    /// The names of the segments, as a plain sort has them.
    pub(super) fn segments(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| name.ends_with(".jsonl")).collect()
    }

    /// What is in the directory of the session, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        names_in(&self.directory())
    }

    /// The names of the blobs.
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

/// Appends and flushes one by one.
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
    Event { seq, at_ms: 1, kind: EventKind::UserMessage { content: vec![text.to_owned()] } }
}

pub(super) fn call_started(seq: u64, arguments: serde_json::Value) -> Event {
    let call = ToolCall { id: CallId::from("c1"), name: "read".to_owned(), arguments };
    let model_call_id = ModelCallId::from("m1");
    Event { seq, at_ms: 1, kind: EventKind::ToolCallStarted { model_call_id, call } }
}

/// `count` small events, numbered from 0.
pub(super) fn texts(count: u64) -> Vec<Event> {
    (0..count).map(|seq| text(seq, &"é".repeat(seq as usize % 40))).collect()
}

/// The start of a first run in `/work`.
pub(super) fn session_started(id: SessionId) -> Event {
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
    Event { seq: 0, at_ms: 7, kind: EventKind::SessionStarted(serde_json::from_value(head).unwrap()) }
}
