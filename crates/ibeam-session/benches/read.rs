//! The cost of opening a session of many turns, and of listing many sessions.
//!
//! Rows named `by_…` are the baseline of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::{Session, SessionOptions};
use tempfile::TempDir;

fn main() {
    divan::main();
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq, at_ms: 1_764_000_000_000, kind }
}

/// Stores a session with ten events per turn: a prompt of a kilobyte, then words.
fn store_session(sessions: &Path, id: SessionId, turns: u64) {
    let mut session =
        Session::create(sessions, id, Path::new("/project"), &SessionOptions::default()).unwrap();
    for seq in 0..turns * 10 {
        let kind = match seq % 10 {
            0 => EventKind::UserMessage { content: vec!["a prompt ".repeat(110)], attachments: Vec::new() },
            _ => EventKind::TextDelta { text: "some words of an answer ".to_owned() },
        };
        session.append(&event(seq, kind)).unwrap();
    }
    session.sync_to_disk().unwrap();
}

mod open {
    use super::*;

    const TURNS: [u64; 2] = [100, 10_000];

    fn stored_session(turns: u64) -> (TempDir, SessionId, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let id = SessionId::random();
        store_session(home.path(), id, turns);
        let journal = home.path().join(id.to_string()).join("events.jsonl");
        (home, id, journal)
    }

    #[divan::bench(args = TURNS)]
    fn session(bencher: Bencher<'_, '_>, turns: u64) {
        let (home, id, journal) = stored_session(turns);
        bencher
            .counter(BytesCount::new(fs::metadata(journal).unwrap().len()))
            .counter(ItemsCount::new(turns))
            .bench_local(|| {
                let mut events = 0;
                let session = Session::open(home.path(), id, &SessionOptions::default(), &mut |event| {
                    events += 1;
                    drop(black_box(event));
                });
                assert_eq!(events, turns * 10);
                session.unwrap()
            });
    }

    #[divan::bench(args = TURNS)]
    fn by_read(bencher: Bencher<'_, '_>, turns: u64) {
        let (_home, _, journal) = stored_session(turns);
        bencher
            .counter(BytesCount::new(fs::metadata(&journal).unwrap().len()))
            .bench_local(|| black_box(fs::read(&journal).unwrap()));
    }
}

mod list {
    use super::*;

    const SESSIONS: [usize; 2] = [100, 2_000];

    fn stored_sessions(sessions: usize) -> TempDir {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..sessions {
            store_session(home.path(), SessionId::random(), 1);
        }
        home
    }

    #[divan::bench(args = SESSIONS)]
    fn sessions(bencher: Bencher<'_, '_>, sessions: usize) {
        let home = stored_sessions(sessions);
        bencher.counter(ItemsCount::new(sessions)).bench_local(|| {
            let listed = ibeam_session::list(home.path(), Some(Path::new("/project"))).unwrap();
            assert_eq!(listed.len(), sessions);
            listed
        });
    }

    /// Baseline: reads each journal completely.
    #[divan::bench(args = SESSIONS)]
    fn by_read(bencher: Bencher<'_, '_>, sessions: usize) {
        let home = stored_sessions(sessions);
        bencher.counter(ItemsCount::new(sessions)).bench_local(|| {
            for directory in fs::read_dir(home.path()).unwrap() {
                black_box(fs::read(directory.unwrap().path().join("events.jsonl")).unwrap());
            }
        });
    }
}
