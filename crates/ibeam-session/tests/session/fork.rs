//! Sessions that start with the history of another session.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ibeam_protocol::{Event, SessionId};
use ibeam_session::{Session, SessionError};

use super::store::{LoadedSession, Store, prompt, run_started, text, texts, write};

fn fork(store: &Store, id: SessionId) -> Result<(Session, LoadedSession), SessionError> {
    let (sessions, cwd) = (store.home.path(), Path::new("/elsewhere"));
    LoadedSession::from_open(|each| Session::fork(sessions, store.id, id, cwd, None, &store.options, each))
}

#[test]
fn a_fork_has_the_same_history_while_the_old_session_is_held() {
    let store = Store::with_segment_bytes(1000);
    let mut old = store.create().unwrap();
    let mut events = texts(60);
    events.push(text(60, &"x".repeat(70_000)));
    write(&mut old, &events);
    let forked = Store { home: tempfile::tempdir().unwrap(), id: SessionId::random(), ..Store::new() };
    let (mut new, loaded) = fork(&store, forked.id).unwrap();
    assert_eq!(loaded.events, events);
    assert_eq!((loaded.header.session_id, loaded.header.forked_from), (forked.id, Some(store.id)));
    assert_eq!(loaded.header.cwd, Path::new("/elsewhere"));

    write(&mut old, &[prompt(61, "old")]);
    write(&mut new, &[prompt(61, "new")]);
    drop((old, new));
    let last = |id| {
        let (_, loaded) = store.open_as(id).unwrap();
        (loaded.events.len(), loaded.events.last().cloned().unwrap())
    };
    assert_eq!(last(store.id), (62, prompt(61, "old")));
    assert_eq!(last(forked.id), (62, prompt(61, "new")));
    let blob = Path::new("blobs").join(&store.blobs()[0]);
    let inode =
        |id: SessionId| fs::metadata(store.home.path().join(id.to_string()).join(&blob)).unwrap().ino();
    assert_eq!(inode(store.id), inode(forked.id), "large payloads are shared");
}

#[test]
fn a_fork_may_end_before_a_run() {
    let store = Store::new();
    let start = |seq| Event { seq, ..run_started(store.id) };
    let events = [start(0), prompt(1, "one"), text(2, "1"), start(3), prompt(4, "two")];
    write(&mut store.create().unwrap(), &events);
    for (before_run, expect) in [(1, 0), (2, 3), (3, 5)] {
        let (sessions, id) = (store.home.path(), SessionId::random());
        let fork = |each: &mut dyn FnMut(Event)| {
            Session::fork(sessions, store.id, id, sessions, Some(before_run), &store.options, each)
        };
        let (_, loaded) = LoadedSession::from_open(fork).unwrap();
        assert_eq!(loaded.events, events[..expect], "{before_run}");
    }
}

#[test]
fn a_fork_leaves_out_a_torn_record() {
    let store = Store::with_events(&texts(5));
    let bytes = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), &bytes[..bytes.len() - 2]).unwrap();
    let (_, loaded) = fork(&store, SessionId::random()).unwrap();
    assert_eq!((loaded.events.len(), loaded.torn_bytes), (4, 0));
    assert_eq!(fs::read(store.journal()).unwrap().len(), bytes.len() - 2, "the source is only read");
}

#[test]
fn a_damaged_session_is_not_forked_and_no_new_session_is_left() {
    let store = Store::with_events(&texts(5));
    let mut bytes = fs::read(store.journal()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(store.journal(), bytes).unwrap();
    let id = SessionId::random();
    assert!(matches!(fork(&store, id), Err(SessionError::Damaged { .. })));
    assert!(!ibeam_session::exists(store.home.path(), id));
}

#[test]
fn an_unknown_session_is_not_forked() {
    let store = Store::new();
    assert!(matches!(fork(&store, SessionId::random()), Err(SessionError::Unknown { .. })));
}
