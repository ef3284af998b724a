//! What a session of many turns costs to go on with, and many sessions to list.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::{Options, Session};

fn main() {
    divan::main();
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq, at_ms: 1_764_000_000_000, kind }
}

/// Ten events a turn: a prompt of a kilobyte, then words.
fn keep(sessions: &Path, id: SessionId, turns: u64) {
    let mut session = Session::create(sessions, id, Path::new("/project"), &Options::default()).unwrap();
    for seq in 0..turns * 10 {
        let kind = match seq % 10 {
            0 => EventKind::UserMessage { content: vec!["a prompt ".repeat(110)] },
            _ => EventKind::TextDelta { text: "some words of an answer ".to_owned() },
        };
        session.append(&event(seq, kind)).unwrap();
    }
    session.flush().unwrap();
}

#[divan::bench(args = [100, 10_000])]
fn open(bencher: Bencher<'_, '_>, turns: u64) {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::random();
    keep(home.path(), id, turns);
    bencher.counter(ItemsCount::new(turns)).bench_local(|| {
        black_box(
            Session::open(home.path(), id, &Options::default(), &mut |event| drop(black_box(event))).unwrap(),
        )
    });
}

#[divan::bench(args = [100, 2_000])]
fn list(bencher: Bencher<'_, '_>, sessions: usize) {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..sessions {
        keep(home.path(), SessionId::random(), 1);
    }
    bencher
        .counter(ItemsCount::new(sessions))
        .bench_local(|| black_box(ibeam_session::list(home.path(), Some(Path::new("/project"))).unwrap()));
}
