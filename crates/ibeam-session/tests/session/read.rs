//! Reading without a lease and without a change.

use std::fs;

use ibeam_protocol::Event;
use ibeam_session::{ReadReport, SessionError, read};

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
fn events_come_through_segments_and_blobs() {
    let store = Store::rolling(2000);
    let mut events = texts(60);
    events.push(text(60, &"x".repeat(70_000)));
    store.keep(&events);
    assert!(store.segments().len() > 1 && store.blobs().len() == 1);
    check(&store, &events, 0);
}

#[test]
fn a_session_that_is_held_is_read_up_to_now_and_left_as_it_is() {
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
fn what_is_before_the_damage_comes_first() {
    let store = Store::holding(&texts(3));
    let journal = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), journal.replace("\"seq\":2", "\"seq\":7")).unwrap();
    let (seen, recorded) = seen(&store);
    assert_eq!(seen, texts(2));
    assert_eq!(recorded.damage.map(|damage| damage.line), Some(4));
}

#[test]
fn the_reader_may_have_enough() {
    enum Ended {
        Enough,
        Failed(SessionError),
    }
    impl From<SessionError> for Ended {
        fn from(error: SessionError) -> Self {
            Self::Failed(error)
        }
    }
    let store = Store::holding(&texts(3));
    let mut count = 0;
    let mut one = |_| {
        count += 1;
        Err(Ended::Enough)
    };
    assert!(matches!(read(store.home.path(), store.id, &mut one), Err(Ended::Enough)));
    assert_eq!(count, 1);
    let unknown = read(store.home.path(), ibeam_protocol::SessionId::random(), &mut |_| Err(Ended::Enough));
    assert!(matches!(unknown, Err(Ended::Failed(SessionError::Unknown { .. }))));
}
