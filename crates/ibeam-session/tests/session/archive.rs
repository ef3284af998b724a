//! Export, import, removal, titles and beginnings of IDs.

use std::fs;

use ibeam_protocol::SessionId;
use ibeam_session::{
    ImportError, Session, SessionError, exists, export, find_by_prefix, import, list, remove, set_title,
    stored_bytes,
};

use super::store::{Store, prompt, text, texts};

fn exported(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(store.home.path(), store.id, &mut bytes).unwrap();
    bytes
}

/// Returns an empty store for the session of `store`.
fn elsewhere(store: &Store) -> Store {
    Store { id: store.id, ..Store::new() }
}

/// Returns the names in the directory of all sessions.
fn names(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.home.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_exported_session_is_the_same_after_its_import() {
    let store = Store::with_segment_bytes(2000);
    let mut events = texts(40);
    events.push(text(40, &"x".repeat(70_000)));
    store.write_session(&events);
    set_title(store.home.path(), store.id, Some("the title")).unwrap();
    let other = elsewhere(&store);
    let (id, report) = import(other.home.path(), &mut exported(&store).as_slice()).unwrap();
    assert_eq!((id, report.events, report.blobs), (store.id, 41, 1));
    assert_eq!(other.events(), events);
    assert_eq!(other.segments(), store.segments());
    assert_eq!(list(other.home.path(), None).unwrap()[0].title.as_deref(), Some("the title"));
    assert_eq!(names(&other), [store.id.to_string()]);
}

#[test]
fn an_incomplete_or_changed_export_is_not_imported() {
    let mut events = texts(3);
    events.push(text(3, &"x".repeat(70_000)));
    let store = Store::with_events(&events);
    let bytes = exported(&store);
    let replaced = |from: &str, to: &str| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    };
    let foreign = SessionId::random().to_string();
    let cases = [
        bytes[..bytes.len() - 1].to_vec(),
        bytes[..bytes.len() / 2].to_vec(),
        Vec::new(),
        b"{\"type\":\"system\"}\n".to_vec(),
        replaced("events.jsonl", "../events.jsonl"),
        replaced("\"file\":\"blobs/", "\"file\":\"blobs/../"),
        replaced("xxxx", "xxyx"),
        replaced(&store.id.to_string(), &foreign),
    ];
    for (index, case) in cases.iter().enumerate() {
        let other = elsewhere(&store);
        let failed = import(other.home.path(), &mut case.as_slice()).unwrap_err();
        let is_export = !matches!(failed, ImportError::NotAnExport);
        assert_eq!(is_export, case.starts_with(b"{\"ibeam_session\""), "{index}: {failed:?}");
        let is_incomplete = matches!(failed, ImportError::Incomplete(_) | ImportError::Damaged(..));
        assert_eq!(is_incomplete, is_export, "{index}: {failed:?}");
        assert_eq!(names(&other), [""; 0], "{index}: nothing is left");
    }
    let failed = import(store.home.path(), &mut bytes.as_slice()).unwrap_err();
    assert!(matches!(failed, ImportError::Exists(id) if id == store.id), "{failed:?}");
    assert_eq!(store.events(), events, "the session of the same ID is unchanged");
}

#[test]
fn a_session_is_removed_unless_it_is_in_use() {
    let store = Store::new();
    let session = store.create().unwrap();
    let busy = remove(store.home.path(), store.id, &store.options).unwrap_err();
    assert!(matches!(busy, SessionError::Busy { .. }), "{busy:?}");
    assert!(exists(store.home.path(), store.id));
    drop(session);
    // A removal that was killed left this.
    fs::create_dir(store.home.path().join(format!(".removed.{}", SessionId::random()))).unwrap();
    fs::create_dir(store.home.path().join("other")).unwrap();
    remove(store.home.path(), store.id, &store.options).unwrap();
    assert_eq!(names(&store), ["other"]);
    let unknown = remove(store.home.path(), store.id, &store.options).unwrap_err();
    assert!(matches!(unknown, SessionError::Unknown { .. }), "{unknown:?}");
}

#[test]
fn a_title_replaces_the_first_prompt_in_the_list() {
    let store = Store::with_events(&[prompt(0, "first prompt")]);
    let title = || list(store.home.path(), None).unwrap()[0].title.clone().unwrap();
    assert_eq!(title(), "first prompt");
    set_title(store.home.path(), store.id, Some("renamed")).unwrap();
    assert_eq!(title(), "renamed");
    assert_eq!(store.check().damage, None);
    set_title(store.home.path(), store.id, None).unwrap();
    set_title(store.home.path(), store.id, None).unwrap();
    assert_eq!(title(), "first prompt");
}

#[test]
fn sessions_are_found_by_the_beginning_of_their_id() {
    let store = Store::with_events(&texts(1));
    let ids = ["0f0e0d0c-0b0a-4908-8706-050403020100", "0f0e0d0d-0b0a-4908-8706-050403020100"];
    for id in ids {
        let path = std::path::Path::new("/work");
        drop(Session::create(store.home.path(), id.parse().unwrap(), path, &store.options).unwrap());
    }
    let count = |prefix| find_by_prefix(store.home.path(), prefix).unwrap().len();
    assert_eq!((count("0f0e0d0"), count("0F0E0D0C"), count("0f0e0d0d-0b0a"), count("zz")), (2, 1, 1, 0));
    assert!(stored_bytes(store.home.path(), store.id).unwrap() > 100);
}
