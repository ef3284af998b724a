//! `ibeam replay` of a recorded session of many turns in each format, as a process.
//!
//! Rows named `by_…` are the baselines of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use ibeam_protocol::SessionId;
use ibeam_testkit::Workspace;

#[path = "../tests/end_to_end/long_session.rs"]
mod long_session;

const TURNS: [usize; 2] = [100, 10_000];

fn main() {
    divan::main();
}

#[divan::bench(args = TURNS)]
fn stream_json(bencher: Bencher<'_, '_>, turns: usize) {
    replay(bencher, turns, "stream-json");
}

#[divan::bench(args = TURNS)]
fn text(bencher: Bencher<'_, '_>, turns: usize) {
    replay(bencher, turns, "text");
}

#[divan::bench(args = TURNS)]
fn html(bencher: Bencher<'_, '_>, turns: usize) {
    replay(bencher, turns, "html");
}

#[divan::bench(args = TURNS)]
fn by_cat(bencher: Bencher<'_, '_>, turns: usize) {
    let (_workspace, _, journal) = recorded_session(turns);
    measure(bencher, turns, &journal, || {
        let mut cat = Command::new("cat");
        cat.arg(&journal);
        cat
    });
}

fn replay(bencher: Bencher<'_, '_>, turns: usize, format: &str) {
    let (workspace, id, journal) = recorded_session(turns);
    measure(bencher, turns, &journal, || {
        let mut replay = Command::new(env!("CARGO_BIN_EXE_ibeam"));
        replay.args(["replay", &id.to_string(), "--output-format", format]);
        replay.env_clear().env("HOME", workspace.home()).current_dir(workspace.path());
        replay
    });
}

fn recorded_session(turns: usize) -> (Workspace, SessionId, PathBuf) {
    let workspace = Workspace::new();
    let id = long_session::record(&workspace, turns);
    let journal = workspace.journal(&id.to_string());
    (workspace, id, journal)
}

/// Measures `program` by the size of the journal. The bench reads the output.
fn measure(bencher: Bencher<'_, '_>, turns: usize, journal: &PathBuf, program: impl Fn() -> Command) {
    let recorded = fs::metadata(journal).unwrap().len();
    bencher.counter(BytesCount::new(recorded)).counter(ItemsCount::new(turns)).bench_local(|| {
        let mut child =
            program().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut stdout, mut printed, mut piece) = (child.stdout.take().unwrap(), 0, vec![0; 64 << 10]);
        while let count @ 1.. = stdout.read(&mut piece).unwrap() {
            printed += count;
        }
        assert!(child.wait().unwrap().success());
        assert!(printed > turns * 10, "{printed} bytes of {turns} turns");
    });
}
