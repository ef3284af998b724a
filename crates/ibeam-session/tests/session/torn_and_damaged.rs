//! Torn records, which are moved aside, and damaged records, which are errors.

use std::fs;

use ibeam_protocol::Event;

use super::store::{Store, prompt, text};

fn sample() -> [Event; 3] {
    [prompt(0, "x"), text(1, "kept"), text(2, "lost")]
}

/// Checks that after `change` the session opens with `expected` events, that the torn bytes are stored in
/// `events.torn`, and that the session can be opened again.
#[track_caller]
fn check_torn(change: impl Fn(&mut Vec<u8>), expected: usize, aside: &str) {
    let store = Store::with_events(&sample());
    let mut bytes = fs::read(store.journal()).unwrap();
    change(&mut bytes);
    fs::write(store.journal(), &bytes).unwrap();
    let (session, loaded) = store.open().unwrap();
    assert_eq!(loaded.events, sample()[..expected]);
    assert!(loaded.torn_bytes > 0);
    drop(session);
    let cut = fs::read(store.path("events.torn")).unwrap();
    assert_eq!(cut.len() as u64, loaded.torn_bytes);
    assert!(String::from_utf8_lossy(&cut).contains(aside));
    assert_eq!(store.open().unwrap().1.torn_bytes, 0);
}

/// Checks that after `change` the session does not open and is not changed.
#[track_caller]
fn check_damaged(change: impl Fn(&mut Vec<u8>), line: u64, words: &str) {
    let store = Store::with_events(&sample());
    let mut bytes = fs::read(store.journal()).unwrap();
    change(&mut bytes);
    fs::write(store.journal(), &bytes).unwrap();
    let (_, found, detail) = store.damage();
    assert_eq!(found, line, "{detail}");
    assert!(detail.contains(words), "{detail}");
    assert_eq!(fs::read(store.journal()).unwrap(), bytes);
    assert!(!store.path("events.torn").exists());
}

fn start_of_last(bytes: &[u8]) -> usize {
    bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1
}

#[test]
fn f149_a_torn_last_record_is_moved_aside() {
    check_torn(|bytes| bytes.truncate(bytes.len() - 7), 2, "\"seq\":2");
}

#[test]
fn f149_a_last_record_without_its_line_end_is_torn() {
    check_torn(|bytes| bytes.truncate(bytes.len() - 1), 2, "lost");
}

/// After a power cut a file may end in blocks of zeros that were allocated but not written.
#[test]
fn f149_nuls_at_the_end_are_torn() {
    check_torn(|bytes| bytes.resize(bytes.len() + 4096, 0), 3, "\0\0");
    check_torn(
        |bytes| {
            let at = start_of_last(bytes) + 9;
            bytes[at..].fill(0);
        },
        2,
        "\0",
    );
}

#[test]
fn f150_a_last_record_with_its_line_end_is_damaged_not_torn() {
    check_damaged(|bytes| *bytes.iter_mut().rev().nth(4).unwrap() ^= 1, 4, "checksum");
    check_damaged(
        |bytes| {
            let (start, end) = (start_of_last(bytes), bytes.len() - 1);
            bytes[start..end].fill(0);
        },
        4,
        "does not begin",
    );
}

#[test]
fn f150_damage_before_the_end_is_reported_with_its_line() {
    check_damaged(
        |bytes| {
            let at = start_of_last(bytes) - 5;
            bytes[at] = 0;
        },
        3,
        "checksum",
    );
    check_damaged(|bytes| bytes.splice(0..0, *b"\n").for_each(drop), 1, "does not begin");
}

#[test]
fn f150_a_truncated_record_before_another_one_is_damaged() {
    check_damaged(
        |bytes| {
            let at = start_of_last(bytes);
            bytes.splice(at - 7..at, []);
        },
        3,
        "length",
    );
}

#[test]
fn f150_an_empty_journal_is_damaged() {
    check_damaged(Vec::clear, 1, "empty");
}

#[test]
fn f150_a_torn_header_is_damaged() {
    check_damaged(|bytes| bytes.truncate(20), 1, "no line end");
}

#[test]
fn f150_another_format_version_is_reported() {
    let payload = br#"{"format":9,"new":"things"}"#;
    let header =
        format!("{{\"len\":{},\"crc\":\"{:08x}\",\"header\":", payload.len(), crc32fast::hash(payload));
    let line = [header.as_bytes(), payload, b"}\n"].concat();
    check_damaged(move |bytes| *bytes = line.clone(), 1, "version 9");
}

#[test]
fn f181_deep_nesting_is_damage_and_no_crash() {
    let payload = [&br#"{"seq":0,"at_ms":1,"kind":"#[..], &[b'['; 100_000][..]].concat();
    let head =
        format!("{{\"len\":{},\"crc\":\"{:08x}\",\"event\":", payload.len(), crc32fast::hash(&payload));
    let line = [head.as_bytes(), &payload, b"}\n"].concat();
    check_damaged(move |bytes| bytes.extend_from_slice(&line), 5, "cannot be parsed");
}

#[test]
fn only_the_last_segment_may_be_torn() {
    let store = Store::with_segment_bytes(400);
    store.write_session(&(0..20).map(|seq| text(seq, "some words")).collect::<Vec<_>>());
    assert!(store.segments().len() > 3);
    let first = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), &first[..first.len() - 3]).unwrap();
    assert_eq!(store.damage().0, "events.jsonl");
}

#[test]
fn a_line_longer_than_any_record_is_damage() {
    let store = Store::with_events(&sample());
    let file = fs::OpenOptions::new().write(true).open(store.journal()).unwrap();
    // A sparse file: reading it completely would take all memory.
    file.set_len(1 << 40).unwrap();
    let (_, line, detail) = store.damage();
    assert_eq!(line, 5);
    assert!(detail.contains("longer"), "{detail}");
}
