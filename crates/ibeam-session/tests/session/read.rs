//! Reading and listing sessions, without a lease and without a change.

use std::fs;
use std::path::Path;

use ibeam_protocol::{Event, SessionId};
use ibeam_session::{ReadReport, SessionError, list, read};

use super::store::{Store, prompt, text, texts};

#[track_caller]
fn check(store: &Store, events: &[Event], torn_bytes: u64) {
    let (seen, recorded) = seen(store);
    assert_eq!((seen.as_slice(), recorded), (events, ReadReport { torn_bytes, damage: None }));
}

#[track_caller]
fn seen(store: &Store) -> (Vec<Event>, ReadReport) {
    let mut seen = Vec::new();
    let mut take = |event| -> Result<(), SessionError> {
        seen.push(event);
        Ok(())
    };
    let recorded = read(store.home.path(), store.id, &mut take).unwrap();
    (seen, recorded)
}

#[test]
fn events_are_read_from_segments_and_blobs() {
    let store = Store::with_segment_bytes(2000);
    let mut events = texts(60);
    events.push(text(60, &"x".repeat(70_000)));
    store.write_session(&events);
    assert!(store.segments().len() > 1 && store.blobs().len() == 1);
    check(&store, &events, 0);
}

#[test]
fn a_session_that_is_being_written_can_be_read_and_is_not_changed() {
    let store = Store::new();
    let mut session = store.create().unwrap();
    session.append(&prompt(0, "x")).unwrap();
    session.flush().unwrap();
    check(&store, &[prompt(0, "x")], 0);
    drop(session);
    let journal = fs::read(store.journal()).unwrap();
    let torn = [journal.as_slice(), b"{\"len\":9"].concat();
    fs::write(store.journal(), &torn).unwrap();
    check(&store, &[prompt(0, "x")], 8);
    assert_eq!(fs::read(store.journal()).unwrap(), torn);
}

#[test]
fn events_before_the_damage_are_read() {
    let store = Store::with_events(&texts(3));
    let journal = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), journal.replace("\"seq\":2", "\"seq\":7")).unwrap();
    let (seen, recorded) = seen(&store);
    assert_eq!(seen, texts(2));
    assert_eq!(recorded.damage.map(|damage| damage.line), Some(4));
}

#[test]
fn an_error_of_the_reader_ends_the_reading() {
    enum ReadEnd {
        Stopped,
        Failed(SessionError),
    }
    impl From<SessionError> for ReadEnd {
        fn from(error: SessionError) -> Self {
            Self::Failed(error)
        }
    }
    let store = Store::with_events(&texts(3));
    let mut count = 0;
    let mut stop = |_| {
        count += 1;
        Err(ReadEnd::Stopped)
    };
    assert!(matches!(read(store.home.path(), store.id, &mut stop), Err(ReadEnd::Stopped)));
    assert_eq!(count, 1);
    let unknown = read(store.home.path(), SessionId::random(), &mut |_| Err(ReadEnd::Stopped));
    assert!(matches!(unknown, Err(ReadEnd::Failed(SessionError::Unknown { .. }))));
}

#[test]
fn a_list_has_titles_and_is_limited_to_a_workspace() {
    let first = Store::with_events(&[prompt(0, "first prompt")]);
    let second = Store { home: first.home, id: SessionId::random(), ..Store::new() };
    second.write_session(&[]);
    let home = second.home.path();
    fs::write(home.join("stray"), "").unwrap();
    let all = list(home, Some(Path::new("/work"))).unwrap();
    let mut titles: Vec<_> = all.iter().map(|summary| (summary.id, summary.title.as_deref())).collect();
    titles.sort();
    let mut expected = vec![(first.id, Some("first prompt")), (second.id, None)];
    expected.sort();
    assert_eq!(titles, expected);
    assert!(list(home, Some(Path::new("/elsewhere"))).unwrap().is_empty());
}

#[test]
fn a_large_first_prompt_is_a_title_too() {
    let long = format!("sum this up {}", "x".repeat(70_000));
    let store = Store::with_events(&[text(0, "head"), prompt(1, &long)]);
    let all = list(store.home.path(), None).unwrap();
    assert_eq!(all[0].title.as_deref(), Some(long.as_str()));
}

#[test]
fn the_time_of_the_last_write_comes_from_the_last_segment() {
    let store = Store::with_segment_bytes(500);
    store.write_session(&texts(50));
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    fs::File::options().append(true).open(store.journal()).unwrap().set_modified(old).unwrap();
    let all = list(store.home.path(), None).unwrap();
    assert!(all[0].updated_ms > 1_000_000);
}

#[test]
fn a_missing_directory_holds_no_sessions() {
    let store = Store::new();
    assert!(list(&store.home.path().join("none"), None).unwrap().is_empty());
}
