//! The report of a check, and the records that a repair keeps.

use std::fs;

use ibeam_protocol::{EventKind, ToolOutcome};
use ibeam_session::{SessionError, check, repair};
use serde_json::json;

use super::store::{Store, call_started, name_of, prompt, run_started, text, texts};

#[test]
fn a_check_counts_the_parts_of_a_valid_session() {
    let store = Store::with_segment_bytes(2000);
    let mut events = texts(40);
    events.push(text(40, &"x".repeat(70_000)));
    events.push(call_started(41, json!({})));
    store.write_session(&events);
    let report = store.check();
    let segments = store.segments().len() as u64;
    assert_eq!(report.damage, None);
    assert_eq!((report.events, report.segments, report.records), (42, segments, 42 + segments));
    assert_eq!((report.blobs, report.orphan_blobs, report.gaps, report.open_calls), (1, 0, 0, 1));
    assert!(report.blob_bytes > 70_000 && report.bytes < 20_000);
    assert_eq!(report.header.unwrap().session_id, store.id);
}

#[test]
fn a_call_is_open_until_it_is_finished() {
    let started = call_started(0, json!({}));
    let EventKind::ToolCallStarted { model_call_id, call } = started.kind.clone() else { unreachable!() };
    let mut finished = text(1, "");
    finished.kind = EventKind::ToolCallFinished {
        model_call_id,
        call,
        outcome: Box::new(ToolOutcome::error("no such file")),
    };
    assert_eq!(Store::with_events(std::slice::from_ref(&started)).check().open_calls, 1);
    assert_eq!(Store::with_events(&[started.clone(), finished]).check().open_calls, 0);
    assert_eq!(Store::with_events(&[started, prompt(1, "again")]).check().open_calls, 0);
}

#[test]
fn a_gap_in_the_event_numbers_is_counted() {
    assert_eq!(Store::with_events(&[text(0, "a"), text(2, "b"), text(3, "c")]).check().gaps, 1);
}

#[test]
fn a_session_that_is_being_written_to_can_be_checked() {
    let store = Store::new();
    let mut session = store.create().unwrap();
    session.append(&prompt(0, "x")).unwrap();
    session.flush().unwrap();
    assert_eq!(store.check().events, 1);
    assert!(matches!(repair(store.home.path(), store.id, &store.options), Err(SessionError::Busy { .. })));
}

#[test]
fn a_check_changes_nothing() {
    let store = Store::with_events(&texts(3));
    let journal = fs::read(store.journal()).unwrap();
    let torn = &journal[..journal.len() - 4];
    fs::write(store.journal(), torn).unwrap();
    let report = store.check();
    assert_eq!((report.events, report.damage), (2, None));
    assert!(report.torn_bytes > 0);
    assert_eq!(fs::read(store.journal()).unwrap(), torn);
}

#[test]
fn an_unknown_session_cannot_be_checked() {
    let store = Store::new();
    assert!(matches!(check(store.home.path(), store.id), Err(SessionError::Unknown { .. })));
    assert!(matches!(repair(store.home.path(), store.id, &store.options), Err(SessionError::Unknown { .. })));
}

#[test]
fn f150_a_repair_keeps_the_valid_start_and_moves_the_rest_aside() {
    let store = Store::with_segment_bytes(1500);
    let events = texts(100);
    store.write_session(&events);
    let names = store.segments();
    assert!(names.len() > 3);
    let bytes: Vec<Vec<u8>> = names.iter().map(|name| fs::read(store.path(name)).unwrap()).collect();
    let mut damaged = bytes[1].clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 4;
    fs::write(store.path(&names[1]), &damaged).unwrap();
    let (file, line, _) = store.damage();
    let report = store.check();
    let damage = report.damage.clone().unwrap();
    assert_eq!((name_of(&damage.path), damage.line), (file, line));

    let repaired = repair(store.home.path(), store.id, &store.options).unwrap();
    assert_eq!(repaired.damage, report.damage);
    assert!(repaired.is_session_left);
    assert_eq!(store.segments(), names[..2]);
    let remaining = store.events();
    assert_eq!(remaining.len() as u64, report.events);
    assert_eq!(remaining, events[..remaining.len()]);
    // No byte is lost: the later segments are unchanged, and the rest of the damaged one is stored.
    let aside: Vec<Vec<u8>> = repaired.backups.iter().rev().map(|path| fs::read(path).unwrap()).collect();
    let prefix = fs::read(store.path(&names[1])).unwrap();
    assert_eq!([prefix, aside[0].clone()].concat(), damaged);
    assert_eq!(aside[1..], bytes[2..]);
    assert_eq!(store.check().damage, None);
    assert_eq!(repair(store.home.path(), store.id, &store.options).unwrap().damage, None);
}

#[test]
fn a_damaged_header_is_rebuilt_from_the_first_run() {
    let store = Store::new();
    let mut events = vec![run_started(store.id)];
    events.extend((1..6).map(|seq| text(seq, "words")));
    store.write_session(&events);
    let before = store.open().unwrap().1.header;
    for also_later in [false, true] {
        let journal = fs::read(store.journal()).unwrap();
        let mut bytes = journal.clone();
        bytes[20] ^= 1;
        if also_later {
            let at = bytes.len() - 20;
            bytes[at] ^= 1;
        }
        fs::write(store.journal(), &bytes).unwrap();
        let repaired = repair(store.home.path(), store.id, &store.options).unwrap();
        assert!(repaired.is_session_left);
        assert_eq!(fs::read(&repaired.backups[0]).unwrap(), bytes, "the old segment is unchanged");
        let after = store.open().unwrap().1;
        assert_eq!((after.header.session_id, &after.header.cwd), (store.id, &before.cwd));
        assert_eq!(after.events, events[..if also_later { 5 } else { 6 }]);
        fs::write(store.journal(), journal).unwrap();
    }
}

#[test]
fn without_a_header_no_record_is_kept_and_none_is_lost() {
    let store = Store::with_events(&texts(3));
    let mut bytes = fs::read(store.journal()).unwrap();
    bytes[0] = b'!';
    fs::write(store.journal(), &bytes).unwrap();
    let repaired = repair(store.home.path(), store.id, &store.options).unwrap();
    assert!(!repaired.is_session_left);
    assert_eq!(fs::read(&repaired.backups[0]).unwrap(), bytes);
    assert!(!ibeam_session::exists(store.home.path(), store.id));
    store.write_session(&texts(1));
    assert_eq!(store.events().len(), 1, "the id can be used again");
    assert!(repaired.backups[0].exists());
}

#[test]
fn a_journal_of_a_newer_version_is_not_repaired() {
    let store = Store::with_events(&texts(3));
    let payload = br#"{"format":2}"#;
    let head =
        format!("{{\"len\":{},\"crc\":\"{:08x}\",\"header\":", payload.len(), crc32fast::hash(payload));
    let bytes = [head.as_bytes(), payload, b"}\nother lines\n"].concat();
    fs::write(store.journal(), &bytes).unwrap();
    assert!(matches!(
        repair(store.home.path(), store.id, &store.options),
        Err(SessionError::Damaged { line: 1, .. })
    ));
    assert_eq!(fs::read(store.journal()).unwrap(), bytes);
}
