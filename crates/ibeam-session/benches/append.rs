//! The cost of appending an event to the journal, which the thread that writes events pays for each delta.
//!
//! Rows named `by_…` are the baseline of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::{Session, SessionOptions};
use tempfile::TempDir;

const DELTAS: usize = 10_000;
/// Events per write to the file: one for a slow model, more for a fast stream.
const BATCHES: [usize; 3] = [1, 16, 1024];

fn main() {
    divan::main();
}

fn session() -> (TempDir, Session) {
    let home = tempfile::tempdir().unwrap();
    let options = SessionOptions::default();
    let session = Session::create(home.path(), SessionId::random(), Path::new("/project"), &options).unwrap();
    (home, session)
}

fn append(session: &mut Session, batch: usize) {
    let mut delta =
        Event { seq: 0, at_ms: 1_764_000_000_000, kind: EventKind::TextDelta { text: "word ".into() } };
    for seq in 1..=DELTAS {
        delta.seq = seq as u64;
        session.append(black_box(&delta)).unwrap();
        if seq % batch == 0 {
            session.flush().unwrap();
        }
    }
    session.flush().unwrap();
}

/// Returns the bytes of the journal after all deltas, with its header.
fn journal() -> Vec<u8> {
    let (home, mut session) = session();
    append(&mut session, DELTAS);
    session.sync_to_disk().unwrap();
    let directory = fs::read_dir(home.path()).unwrap().next().unwrap().unwrap().path();
    fs::read(directory.join("events.jsonl")).unwrap()
}

#[divan::bench(args = BATCHES)]
fn deltas(bencher: Bencher<'_, '_>, batch: usize) {
    bencher
        .counter(BytesCount::of_slice(&journal()))
        .counter(ItemsCount::new(DELTAS))
        .with_inputs(session)
        .bench_local_values(|(home, mut session)| {
            append(&mut session, batch);
            (home, session)
        });
}

/// Baseline: writes the same bytes in the same number of calls.
#[divan::bench(args = BATCHES)]
fn by_write(bencher: Bencher<'_, '_>, batch: usize) {
    let journal = journal();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let batches: Vec<Vec<u8>> = lines.chunks(batch).map(<[&[u8]]>::concat).collect();
    bencher
        .counter(BytesCount::of_slice(&journal))
        .with_inputs(|| {
            let home = tempfile::tempdir().unwrap();
            let file = File::create(home.path().join("events.jsonl")).unwrap();
            (home, file)
        })
        .bench_local_values(|(home, mut file)| {
            for batch in &batches {
                file.write_all(black_box(batch)).unwrap();
            }
            (home, file)
        });
}
