//! Payloads that are too large for the journal.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ibeam_session::SessionError;

use super::store::{Store, prompt, text, write};

const LARGE: usize = 70_000;

#[test]
fn a_large_payload_is_stored_as_a_blob_named_by_its_hash() {
    let events = [prompt(0, "x"), text(1, &"y".repeat(LARGE)), text(2, "z")];
    let store = Store::with_events(&events);
    let names = store.blobs();
    assert_eq!(names.len(), 1, "{names:?}");
    let path = store.path("blobs").join(&names[0]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(store.path("blobs")).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(fs::metadata(store.journal()).unwrap().len() < 2_000);
    let kind: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(kind["text_delta"]["text"].as_str().unwrap().len(), LARGE);
    assert_eq!(store.events(), events);
}

#[test]
fn equal_payloads_share_one_blob() {
    let piped = "p".repeat(LARGE);
    let store = Store::with_events(&[prompt(0, &piped), prompt(1, "small"), prompt(2, &piped)]);
    let names = store.blobs();
    assert_eq!(names.len(), 1);
    let (mut session, _) = store.open().unwrap();
    let before = fs::metadata(store.path("blobs").join(&names[0])).unwrap().ino();
    write(&mut session, &[prompt(3, &piped)]);
    assert_eq!(fs::metadata(store.path("blobs").join(&names[0])).unwrap().ino(), before, "not written again");
    drop(session);
    assert_eq!(store.events().len(), 4);
}

#[track_caller]
fn check_damage(damage_blob: impl Fn(&std::path::Path), words: &str) {
    let store = Store::with_events(&[prompt(0, "x"), text(1, &"y".repeat(LARGE)), text(2, "z")]);
    damage_blob(&store.path("blobs").join(&store.blobs()[0]));
    let (file, line, detail) = store.damage();
    assert_eq!((file.as_str(), line), ("events.jsonl", 3));
    assert!(detail.contains(words), "{detail}");
}

#[test]
fn a_missing_blob_is_damage_of_the_record_that_names_it() {
    check_damage(|path| fs::remove_file(path).unwrap(), "is missing");
}

#[test]
fn a_wrong_blob_is_damage_of_the_record_that_names_it() {
    check_damage(|path| fs::write(path, "short").unwrap(), "not the one");
    check_damage(
        |path| fs::write(path, vec![0; fs::metadata(path).unwrap().len() as usize]).unwrap(),
        "not the one",
    );
}

#[test]
fn a_link_instead_of_a_blob_is_not_followed() {
    check_damage(
        |path| {
            let moved = path.with_extension("moved");
            fs::rename(path, &moved).unwrap();
            std::os::unix::fs::symlink(moved, path).unwrap();
        },
        "cannot be read",
    );
}

/// A power cut may leave a blob that has its name but not its content. No record refers to it then.
#[test]
fn a_blob_that_a_power_cut_left_empty_is_written_again() {
    let events = [prompt(0, "x"), text(1, &"y".repeat(LARGE))];
    let store = Store::with_events(&events);
    let path = store.path("blobs").join(&store.blobs()[0]);
    let length = fs::metadata(&path).unwrap().len();
    let journal = fs::read(store.journal()).unwrap();
    let last = journal[..journal.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for left in [0, length] {
        fs::write(store.journal(), &journal[..last]).unwrap();
        fs::write(&path, vec![0; left as usize]).unwrap();
        assert_eq!(store.check().orphan_blobs, 1);
        let (mut session, _) = store.open().unwrap();
        write(&mut session, &events[1..]);
        drop(session);
        assert_eq!(store.events(), events);
    }
}

#[test]
fn a_record_cannot_refer_to_a_file_outside_of_the_session() {
    let store = Store::with_events(&[prompt(0, "x")]);
    fs::write(store.home.path().join("secret"), "{}").unwrap();
    let payload = br#"{"seq":1,"at_ms":1,"sha256":"../../secret","bytes":2}"#;
    let head = format!("{{\"len\":{},\"crc\":\"{:08x}\",\"blob\":", payload.len(), crc32fast::hash(payload));
    let mut bytes = fs::read(store.journal()).unwrap();
    bytes.extend_from_slice(&[head.as_bytes(), payload, b"}\n"].concat());
    fs::write(store.journal(), bytes).unwrap();
    assert!(matches!(store.open(), Err(SessionError::Damaged { line: 3, .. })));
}
