//! Memory that stays within bounds, however long the session and the answer.
//!
//! At the sizes of the gate these hold the slopes; `cargo xtask bounds` runs them at full size and prints them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ibeam_testkit::{Answer, RunningProgram, Workspace};

use crate::long_session;
use crate::scene::{Scene, answer_text};

const MEGABYTE: usize = 1 << 20;

/// The sizes asked for in a variable, else these.
fn sizes(variable: &str, otherwise: [usize; 2]) -> Vec<usize> {
    let asked = std::env::var(variable).ok();
    asked.map_or(otherwise.to_vec(), |list| list.split(',').map(|size| size.parse().unwrap()).collect())
}

/// What lies between the smallest and the largest size: memory for each unit.
fn slope(points: &[(usize, u64)]) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    last.1.saturating_sub(first.1) as f64 / (last.0 - first.0) as f64
}

/// Runs until the model has said `word` and stalls; gives how long that took and the most memory until then.
fn measure(running: RunningProgram, word: &str, began: Instant) -> (Duration, u64) {
    running.wait_for_stdout(word);
    (began.elapsed(), running.peak_memory())
}

/// A session costs memory for what it holds, not for what it once was; to resume it takes a moment.
#[test]
fn a_long_session_is_resumed_within_bounds() {
    let mut points = Vec::new();
    let mut table = String::from("turns  journal  resumed in  peak memory\n");
    for turns in sizes("IBEAM_BOUNDS_TURNS", [200, 1000]) {
        let config = "[models.context]\nclaude-sonnet-4-20250514 = 1000000000\n";
        let scene =
            Scene::new([answer_text("resumed").stall()]).with_workspace(Workspace::new().user_config(config));
        let id = long_session::record(&scene.workspace, turns);
        let bytes = std::fs::metadata(scene.workspace.journal(&id.to_string())).unwrap().len();
        let began = Instant::now();
        let running = scene.ibeam(["-p", "go on", "--resume", &id.to_string()]).start();
        let (took, peak) = measure(running, "resumed", began);
        let transcript = scene.server.requests()[0].transcript();
        assert_eq!(transcript.len(), 3 * turns + 2, "the whole conversation is sent");
        points.push((turns, peak));
        let (megabytes, peak) = (bytes as f64 / 1e6, peak as f64 / MEGABYTE as f64);
        writeln!(table, "{turns:>5}  {megabytes:>4.1} MB  {:>7} ms  {peak:>6.1} MiB", took.as_millis())
            .unwrap();
    }
    let slope = slope(&points);
    eprintln!("{table}memory for each turn: {slope:.0} bytes");
    assert!(slope < 16_384.0, "{slope:.0} bytes for each turn of about 500 bytes");
}

/// A long answer is held as often as somebody needs it whole, and no oftener.
#[test]
fn a_long_answer_is_taken_within_bounds() {
    let mut points = Vec::new();
    let mut table = String::from("answer  told in  peak memory\n");
    for megabytes in sizes("IBEAM_BOUNDS_ANSWER_MB", [1, 5]) {
        let delta = "x".repeat(16 << 10);
        let answer =
            (0..megabytes * MEGABYTE / delta.len()).fold(Answer::new(), |answer, _| answer.text(&delta));
        let scene = Scene::new([answer.text("that is all").stall()]);
        let began = Instant::now();
        let running = scene.print::<&str>([]).guard(Duration::from_secs(120)).start();
        let (took, peak) = measure(running, "that is all", began);
        points.push((megabytes * MEGABYTE, peak));
        let peak = peak as f64 / MEGABYTE as f64;
        writeln!(table, "{megabytes:>3} MiB  {:>4} ms  {peak:>6.1} MiB", took.as_millis()).unwrap();
    }
    let slope = slope(&points);
    eprintln!("{table}memory for each byte of an answer: {slope:.1} bytes");
    assert!(slope < 12.0, "{slope:.1} bytes for each byte of an answer");
}
