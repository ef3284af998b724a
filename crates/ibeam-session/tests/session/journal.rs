//! Round trips, segments, leases, cancellation.

use std::fs;
use std::io::Write;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ibeam_protocol::SessionId;
use ibeam_session::{CancelFlag, Durability, Session, SessionError, SessionOptions};
use serde_json::Value;

use super::store::{Store, call_started, prompt, text, texts, write};

#[test]
fn appended_events_are_loaded_and_more_can_be_appended() {
    let events = [prompt(0, "hello\nworld"), text(1, "a\u{2028}b"), text(2, "")];
    let store = Store::with_events(&events);
    let (mut session, loaded) = store.open().unwrap();
    assert_eq!(loaded.events, events);
    assert_eq!(loaded.header.cwd, std::path::Path::new("/work"));
    write(&mut session, &[text(3, "more")]);
    drop(session);
    assert_eq!(store.events().len(), 4);
}

#[test]
fn every_line_is_json_that_other_programs_can_read() {
    let store = Store::with_events(&[prompt(0, "x"), text(1, "y"), text(2, &"z".repeat(100_000))]);
    for line in fs::read_to_string(store.journal()).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert!(record.get("len").is_some() && record.get("crc").is_some());
    }
}

#[test]
fn long_journals_are_in_segments_whose_names_sort() {
    let store = Store::with_segment_bytes(1000);
    let events = texts(200);
    store.write_session(&events);
    let names = store.segments();
    assert!(names.len() > 12, "{names:?}");
    assert_eq!(names[..3], ["events.jsonl", "events.part0002.jsonl", "events.part0003.jsonl"]);
    assert_eq!(store.events(), events);
    let mut all = String::new();
    for name in names {
        all.push_str(&fs::read_to_string(store.path(&name)).unwrap());
    }
    let numbers: Vec<u64> = all
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["event"]["seq"].as_u64())
        .collect();
    assert!(numbers.iter().copied().eq(0..200), "the order of the names is the order of the events");
}

#[test]
fn a_segment_is_closed_on_demand_but_never_empty() {
    let store = Store::new();
    let mut session = store.create().unwrap();
    session.rotate().unwrap();
    write(&mut session, &[prompt(0, "x")]);
    session.append(&text(1, "y")).unwrap();
    session.rotate().unwrap();
    session.rotate().unwrap();
    write(&mut session, &[text(2, "z")]);
    session.sync_to_disk().unwrap();
    assert_eq!(store.segments(), ["events.jsonl", "events.part0002.jsonl"]);
    drop(session);
    let (mut session, loaded) = store.open().unwrap();
    assert_eq!(loaded.events.len(), 3);
    session.rotate().unwrap();
    assert_eq!(store.segments().len(), 3, "a segment that was opened again holds a record");
}

#[test]
fn a_missing_segment_is_damage() {
    let store = Store::with_segment_bytes(1000);
    store.write_session(&texts(100));
    fs::remove_file(store.path("events.part0003.jsonl")).unwrap();
    let (file, line, detail) = store.damage();
    assert_eq!((file.as_str(), line), ("events.part0004.jsonl", 1));
    assert!(detail.contains("segment 3"), "{detail}");
    fs::remove_file(store.journal()).unwrap();
    assert_eq!(store.damage().0, "events.part0002.jsonl");
    assert!(
        matches!(store.create(), Err(SessionError::Unusable { .. })),
        "the remaining segments are not overwritten"
    );
}

#[test]
fn synced_sessions_hold_the_same_events() {
    let options =
        SessionOptions { durability: Durability::Synced, segment_bytes: 1000, ..SessionOptions::default() };
    let store = Store { options, ..Store::new() };
    let mut session = store.create().unwrap();
    let mut events = texts(30);
    events.push(text(30, &"x".repeat(70_000)));
    for event in &events {
        session.append(event).unwrap();
        session.begin_sync().unwrap();
    }
    drop(session);
    assert_eq!(store.events(), events);
}

/// The queue of the syncs is bounded, so the writer waits for the disk at some point.
#[test]
fn all_records_of_many_checkpoints_in_a_row_are_stored() {
    let store = Store::new();
    let mut session = store.create().unwrap();
    let events: Vec<_> = (0..300).map(|seq| text(seq, &format!("{seq} {}", "x".repeat(66_000)))).collect();
    for event in &events {
        session.append(event).unwrap();
        session.begin_sync().unwrap();
    }
    session.sync_to_disk().unwrap();
    drop(session);
    assert_eq!(store.events(), events);
}

#[test]
fn deeply_nested_arguments_are_read_back() {
    let mut arguments = Value::Null;
    // The depth that the parsers of the providers accept.
    for _ in 0..126 {
        arguments = Value::Array(vec![arguments]);
    }
    let big = Value::Array(vec![arguments.clone(), Value::String("x".repeat(80_000))]);
    let events = [call_started(0, arguments), call_started(1, big)];
    let store = Store::with_events(&events);
    assert_eq!(store.events(), events);
}

#[test]
fn a_second_writer_gets_the_name_of_the_holder_at_once() {
    let store = Store::new();
    let first = store.create().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let expected = format!("process {} on {}", std::process::id(), host.trim());
    for second in [store.open().map(drop), store.create().map(drop)] {
        match second {
            Err(SessionError::Busy { holder }) => assert_eq!(holder, expected),
            other => panic!("{other:?}"),
        }
    }
    drop(first);
    assert!(store.open().is_ok());
}

#[test]
fn a_second_writer_can_wait_for_the_lease() {
    let store = Store::new();
    let first = store.create().unwrap();
    let (waiting, waits) = mpsc::channel();
    let (sessions, id) = (store.home.path().to_owned(), store.id);
    let second = thread::spawn(move || {
        let options = SessionOptions { wait: Duration::from_secs(60), ..SessionOptions::default() };
        waiting.send(()).unwrap();
        Session::open(&sessions, id, &options, &mut drop).map(drop)
    });
    waits.recv().unwrap();
    drop(first);
    assert!(second.join().unwrap().is_ok());
}

/// A thread of a killed process may still wait for the disk, and the lock is released with the last thread.
#[test]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the test kills a process")]
fn the_lease_of_a_killed_holder_is_awaited() {
    let store = Store::new();
    let first = store.create().unwrap();
    let mut killed = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    fs::write(store.path("lock"), format!("process {} on {}", killed.id(), host.trim())).unwrap();
    assert!(matches!(store.open(), Err(SessionError::Busy { .. })), "the holder still runs");
    killed.kill().unwrap();
    let stat = format!("/proc/{}/stat", killed.id());
    while !fs::read_to_string(&stat).unwrap().contains(") Z") {
        thread::yield_now();
    }
    let (waiting, waits) = mpsc::channel();
    let (sessions, id) = (store.home.path().to_owned(), store.id);
    let second = thread::spawn(move || {
        waiting.send(()).unwrap();
        Session::open(&sessions, id, &SessionOptions::default(), &mut drop).map(drop)
    });
    waits.recv().unwrap();
    drop(first);
    assert!(second.join().unwrap().is_ok());
    killed.wait().unwrap();
}

/// The process number in the file may belong to another process by now.
#[test]
fn f148_the_name_that_a_dead_holder_left_in_the_lock_file_is_ignored() {
    let store = Store::with_events(&[prompt(0, "x")]);
    for stale in ["process 1 on elsewhere", "", "\u{1}\nnonsense"] {
        fs::File::create(store.path("lock")).unwrap().write_all(stale.as_bytes()).unwrap();
        assert_eq!(store.events().len(), 1);
    }
}

#[test]
fn a_session_that_does_not_exist_cannot_be_opened() {
    let store = Store::new();
    assert!(matches!(store.open(), Err(SessionError::Unknown { .. })));
    fs::create_dir(store.directory()).unwrap();
    assert!(matches!(store.open(), Err(SessionError::Unknown { .. })));
}

/// A process that is killed while it creates a session may leave these files.
#[test]
fn a_session_whose_creation_was_interrupted_does_not_exist() {
    for left in [&[][..], &["lock"], &["lock", "events.new"]] {
        let store = Store::new();
        fs::create_dir(store.directory()).unwrap();
        for name in left {
            fs::write(store.path(name), "{\"len\":9").unwrap();
        }
        assert!(!ibeam_session::exists(store.home.path(), store.id), "{left:?}");
        assert!(ibeam_session::list(store.home.path(), None).unwrap().is_empty());
        store.write_session(&[prompt(0, "x")]);
        assert_eq!(store.events().len(), 1);
        assert!(!store.names().contains(&"events.new".to_owned()));
    }
}

#[test]
fn a_cancelled_opening_stops_between_two_records() {
    let store = Store::with_events(&texts(100));
    let check = |forks: bool| {
        let cancel = CancelFlag::default();
        let options = SessionOptions { cancel: cancel.clone(), ..store.options.clone() };
        let mut count = 0;
        let mut each = |_| {
            count += 1;
            if count == 10 {
                cancel.cancel();
            }
        };
        let sessions = store.home.path();
        let opened = match forks {
            false => Session::open(sessions, store.id, &options, &mut each),
            true => {
                let new = SessionId::random();
                Session::fork(sessions, store.id, new, sessions, None, &options, &mut each)
            }
        };
        assert!(matches!(opened, Err(SessionError::Cancelled)), "{opened:?}");
        assert_eq!(count, 10);
    };
    check(false);
    check(true);
    assert_eq!(store.check().events, 100, "the session is unchanged, and its lease is free");
    drop(store.open().unwrap());
}

#[test]
fn a_cancelled_wait_for_the_lease_ends() {
    let store = Store::with_events(&texts(1));
    let _holder = store.open().unwrap();
    let cancel = CancelFlag::default();
    let options =
        SessionOptions { cancel: cancel.clone(), wait: Duration::from_secs(3600), ..store.options.clone() };
    let (home, id) = (store.home.path().to_owned(), store.id);
    let waiting = thread::spawn(move || Session::open(&home, id, &options, &mut |_| {}).map(drop));
    thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(SessionError::Cancelled)));
}
