//! The inline screen of the whole program on a terminal: a key, and a turn in which the model writes.
//!
//! The aims are 5 ms from a key to the drawn input, 1 % of a core at 100 deltas in a second, and 14 MiB of memory.
//! `key_to_glass` is measured by divan; the share of a core and the memory are printed to stderr after it.
//! `IBEAM_BENCH_BIN` names another program than the one that is built.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a bench that fails should stop, and prints its figures"
)]

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use divan::Bencher;
use ibeam_testkit::{Answer, Ibeam, ModelServer, RunningProgram, Workspace};

/// The number of deltas, and the time between two of them.
const DELTAS: u32 = 1000;
const INTERVAL: Duration = Duration::from_millis(10);
/// The number of characters after which the input is emptied, so that it stays on one row.
const MAX_INPUT: usize = 40;
const CLEAR_INPUT: &str = "\u{15}";

fn main() {
    divan::main();
    // `--list` measures nothing.
    if std::env::args().all(|argument| argument != "--list") {
        measure_turn();
    }
}

/// From a key on the terminal to the bytes that show it.
#[divan::bench(sample_count = 500, sample_size = 1)]
fn key_to_glass(bencher: Bencher<'_, '_>) {
    let (workspace, server) = (Workspace::new(), ModelServer::start([]));
    let running = start(&workspace, &server);
    // The input has a letter some times. The next letter is used when it is emptied.
    let input = RefCell::new((0_u8, 0_usize));
    bencher.bench_local(|| {
        let (letter, count) = &mut *input.borrow_mut();
        *count += 1;
        let character = char::from(b'A' + *letter).to_string();
        running.type_text(&character);
        running.wait_for_stdout(&character.repeat(*count + 2));
        if *count == MAX_INPUT {
            (*letter, *count) = ((*letter + 1) % 26, 0);
            running.type_text(&format!("{CLEAR_INPUT}{}", char::from(b'A' + *letter).to_string().repeat(2)));
        }
    });
}

/// Starts the program, with two letters in the input.
fn start(workspace: &Workspace, server: &ModelServer) -> RunningProgram {
    let program = std::env::var_os("IBEAM_BENCH_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_ibeam").into());
    let ibeam = Ibeam::new(PathBuf::from(program), workspace)
        .args(["--model", "anthropic/claude-sonnet-4-6"])
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "fake-key-of-the-bench")
        .env("TERM", "xterm-256color");
    let running = ibeam.timeout(Duration::from_secs(120)).terminal().start();
    running.wait_for_stdout("/help");
    // The opening of the session has ended.
    sleep(Duration::from_secs(1));
    running.type_text("AA");
    running.wait_for_stdout("AA");
    running
}

/// Runs a turn in which the model writes, and prints the share of a core and the peak of memory.
fn measure_turn() {
    let answer = (0..DELTAS).fold(Answer::new(), |answer, word| {
        // A line of 12 words, a paragraph of 4 lines.
        let end = if word % 48 == 47 { "\n\n" } else { " " };
        answer.text(format!("word{word}{end}")).pause(INTERVAL)
    });
    let (workspace, server) = (Workspace::new(), ModelServer::start([answer.text("\n\nThe end.\n")]));
    let running = start(&workspace, &server);
    running.type_text(&format!("{CLEAR_INPUT}write\r"));
    running.wait_for_stdout("word0 ");
    let (start, before) = (Instant::now(), processor_time(running.pid()));
    running.wait_for_stdout("The end.");
    let (elapsed, used) = (start.elapsed(), processor_time(running.pid()).saturating_sub(before));
    let rate = f64::from(DELTAS) / elapsed.as_secs_f64();
    let share = 100.0 * used.as_secs_f64() / elapsed.as_secs_f64();
    let memory = running.peak_memory() / 1024;
    eprintln!("turn: {rate:.0} deltas/s, {share:.2} % of a core, peak memory {memory} KiB");
}

/// Returns the time of all threads of a process on a processor.
fn processor_time(pid: i32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let read_time = |task: std::io::Result<fs::DirEntry>| {
        // A thread may end meanwhile.
        let times = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.filter_map(read_time).sum())
}
