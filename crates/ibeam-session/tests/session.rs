//! The journal as its users see it: round trips, torn tails, damage, leases, modes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows only functions marked #[test] as tests, and the others help them"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::{Loaded, Options, Session, SessionError, list};
use proptest::prelude::*;

fn event(seq: u64, text: &str) -> Event {
    Event { seq, at_ms: 1_000 + seq, kind: EventKind::TextDelta { text: text.to_owned() } }
}

fn prompt(text: &str) -> Event {
    Event { seq: 0, at_ms: 1, kind: EventKind::UserMessage { content: vec![text.to_owned()] } }
}

fn create(sessions: &Path, id: SessionId) -> Result<Session, SessionError> {
    Session::create(sessions, id, Path::new("/work"), &Options::default())
}

fn open(sessions: &Path, id: SessionId) -> Result<(Session, Loaded), SessionError> {
    Session::open(sessions, id, &Options::default())
}

/// A session with these events, closed again; gives its journal.
fn stored(sessions: &Path, id: SessionId, events: &[Event]) -> PathBuf {
    let mut session = create(sessions, id).unwrap();
    for event in events {
        session.append(event).unwrap();
    }
    session.settle().unwrap();
    sessions.join(id.to_string()).join("events.jsonl")
}

#[test]
fn what_was_appended_is_loaded_and_the_session_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::random();
    let events = [prompt("hello\nworld"), event(1, "a\u{2028}b"), event(2, "")];
    stored(home.path(), id, &events);
    let (mut session, loaded) = open(home.path(), id).unwrap();
    assert_eq!(loaded.events, events);
    assert_eq!(loaded.header.cwd, Path::new("/work"));
    session.append(&event(3, "more")).unwrap();
    session.flush().unwrap();
    drop(session);
    assert_eq!(open(home.path(), id).unwrap().1.events.len(), 4);
}

#[test]
fn every_line_is_json_that_other_programs_can_read() {
    let home = tempfile::tempdir().unwrap();
    let journal = stored(home.path(), SessionId::random(), &[prompt("x"), event(1, "y")]);
    for line in fs::read_to_string(journal).unwrap().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(record.get("len").is_some() && record.get("crc").is_some());
    }
}

#[test]
fn a_torn_tail_is_kept_aside_and_the_rest_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::random();
    let journal = stored(home.path(), id, &[prompt("x"), event(1, "lost")]);
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() - 5]).unwrap();
    let (session, loaded) = open(home.path(), id).unwrap();
    assert_eq!(loaded.events, [prompt("x")]);
    assert!(loaded.torn_bytes > 0);
    drop(session);
    let torn = fs::read_to_string(journal.with_file_name("events.torn")).unwrap();
    assert!(torn.contains("lost"));
    assert_eq!(open(home.path(), id).unwrap().1.torn_bytes, 0);
}

proptest! {
    #[test]
    fn every_prefix_of_a_journal_loads_its_whole_records(cut in 0usize..4096) {
        let home = tempfile::tempdir().unwrap();
        let id = SessionId::random();
        let events: Vec<Event> = (0..8).map(|seq| event(seq, &"é".repeat(seq as usize))).collect();
        let journal = stored(home.path(), id, &events);
        let bytes = fs::read(&journal).unwrap();
        let header_end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let cut = header_end + cut % (bytes.len() - header_end + 1);
        fs::write(&journal, &bytes[..cut]).unwrap();
        let whole = bytes[header_end..cut].iter().filter(|byte| **byte == b'\n').count();
        let (_, loaded) = open(home.path(), id).unwrap();
        prop_assert_eq!(&loaded.events[..], &events[..whole]);
    }

    #[test]
    fn a_flipped_byte_before_the_last_record_is_reported_with_its_line(at in 0usize..4096, bit in 0u8..8) {
        let home = tempfile::tempdir().unwrap();
        let id = SessionId::random();
        let events: Vec<Event> = (0..4).map(|seq| event(seq, "text")).collect();
        let journal = stored(home.path(), id, &events);
        let mut bytes = fs::read(&journal).unwrap();
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        let at = at % last;
        bytes[at] ^= 1 << bit;
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        fs::write(&journal, &bytes).unwrap();
        match open(home.path(), id) {
            Err(SessionError::Damaged { line: found, .. }) => prop_assert_eq!(found, line),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn files_are_for_the_owner_only() {
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join("new").join("sessions");
    let journal = stored(&sessions, SessionId::random(), &[prompt("x")]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&journal), 0o600);
    assert_eq!(mode(&journal.with_file_name("lock")), 0o600);
    assert_eq!(mode(journal.parent().unwrap()), 0o700);
    assert_eq!(mode(&sessions), 0o700);
}

#[test]
fn a_second_writer_is_told_who_holds_the_session() {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::random();
    let first = create(home.path(), id).unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let expected = format!("process {} on {}", std::process::id(), host.trim());
    match open(home.path(), id) {
        Err(SessionError::Busy { holder }) => assert_eq!(holder, expected),
        other => panic!("{other:?}"),
    }
    drop(first);
    assert!(open(home.path(), id).is_ok());
}

#[test]
fn a_planted_link_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::random();
    let directory = home.path().join("sessions").join(id.to_string());
    fs::create_dir_all(&directory).unwrap();
    let victim = home.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, directory.join("lock")).unwrap();
    assert!(create(&home.path().join("sessions"), id).is_err());
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
}

#[test]
fn an_unknown_session_is_unknown() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path(), SessionId::random());
    assert!(matches!(opened, Err(SessionError::Unknown { .. })));
    assert!(list(home.path(), None).unwrap().is_empty());
}

#[test]
fn a_list_tells_titles_and_keeps_to_a_workspace() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (SessionId::random(), SessionId::random());
    stored(home.path(), first, &[prompt("first prompt")]);
    stored(home.path(), second, &[]);
    fs::write(home.path().join("stray"), "").unwrap();
    let all = list(home.path(), Some(Path::new("/work"))).unwrap();
    let mut titles: Vec<_> = all.iter().map(|summary| (summary.id, summary.title.as_deref())).collect();
    titles.sort();
    let mut expected = vec![(first, Some("first prompt")), (second, None)];
    expected.sort();
    assert_eq!(titles, expected);
    assert!(list(home.path(), Some(Path::new("/elsewhere"))).unwrap().is_empty());
}
