//! An opening that another thread ends.

use std::thread;
use std::time::Duration;

use ibeam_protocol::SessionId;
use ibeam_session::{CancelFlag, Session, SessionError, SessionOptions};

use super::store::{Store, texts};

#[test]
fn a_cancelled_opening_stops_between_two_records() {
    let store = Store::holding(&texts(100));
    let check = |forks: bool| {
        let cancel = CancelFlag::default();
        let options = SessionOptions { cancel: cancel.clone(), ..store.options.clone() };
        let mut taken = 0;
        let mut each = |_| {
            taken += 1;
            if taken == 10 {
                cancel.cancel();
            }
        };
        let sessions = store.home.path();
        let opened = match forks {
            false => Session::open(sessions, store.id, &options, &mut each),
            true => {
                let new = SessionId::random();
                Session::fork(sessions, store.id, new, sessions, &options, &mut each)
            }
        };
        assert!(matches!(opened, Err(SessionError::Cancelled)), "{opened:?}");
        assert_eq!(taken, 10);
    };
    check(false);
    check(true);
    assert_eq!(store.check().events, 100, "the session is as it was, and its lease is free");
    drop(store.open().unwrap());
}

#[test]
fn a_cancelled_wait_for_the_lease_ends() {
    let store = Store::holding(&texts(1));
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
