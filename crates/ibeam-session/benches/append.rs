//! From an event to the journal: what each delta costs the thread that carries events.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::{Options, Session};

const DELTAS: usize = 10_000;

fn main() {
    divan::main();
}

/// `batch` events for each write to the file, as a fast stream gives them; 1 is the slowest model.
#[divan::bench(args = [1, 16, 1024])]
fn deltas(bencher: Bencher<'_, '_>, batch: usize) {
    let home = tempfile::tempdir().unwrap();
    let (id, options) = (SessionId::random(), Options::default());
    let mut session = Session::create(home.path(), id, Path::new("/project"), &options).unwrap();
    let delta =
        Event { seq: 1, at_ms: 1_764_000_000_000, kind: EventKind::TextDelta { text: "word ".into() } };
    bencher.counter(ItemsCount::new(DELTAS)).bench_local(|| {
        for number in 1..=DELTAS {
            session.append(black_box(&delta)).unwrap();
            if number % batch == 0 {
                session.flush().unwrap();
            }
        }
        session.flush().unwrap();
    });
}
