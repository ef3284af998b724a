//! Bounds of what a run costs: memory, connections and bytes sent.
//!
//! The default sizes check how memory grows; `cargo xtask bounds` measures and prints full sizes.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ibeam_testkit::scene::{Scene, WIRES, answer_text};
use ibeam_testkit::{Answer, RunningProgram, Wire, Workspace};
use serde_json::json;

use super::long_session;

const MEGABYTE: usize = 1 << 20;

/// Returns the sizes in an environment variable, or `default`.
fn sizes(variable: &str, default: [usize; 2]) -> Vec<usize> {
    let requested = std::env::var(variable).ok();
    requested.map_or(default.to_vec(), |list| list.split(',').map(|size| size.parse().unwrap()).collect())
}

/// Returns the memory for each unit between the smallest and the largest size.
fn slope(points: &[(usize, u64)]) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    last.1.saturating_sub(first.1) as f64 / (last.0 - first.0) as f64
}

/// Waits until the model has sent `text` and stalls; returns the time and the peak memory until then.
fn measure(running: RunningProgram, text: &str, started: Instant) -> (Duration, u64) {
    running.wait_for_stdout(text);
    (started.elapsed(), running.peak_memory())
}

/// The memory for a session depends on its current content, not on its history.
#[test]
fn a_long_session_is_resumed_within_bounds() {
    let mut points = Vec::new();
    let mut table = String::from("turns  journal  resumed in  peak memory\n");
    for turns in sizes("IBEAM_BOUNDS_TURNS", [200, 1000]) {
        let config = "[models.context]\nclaude-sonnet-4-6 = 1000000000\n";
        let scene =
            Scene::new([answer_text("resumed").stall()]).with_workspace(Workspace::new().user_config(config));
        let id = long_session::record(&scene.workspace, turns);
        let bytes = std::fs::metadata(scene.workspace.journal(&id.to_string())).unwrap().len();
        let started = Instant::now();
        let running = scene.ibeam(["-p", "go on", "--resume", &id.to_string()]).start();
        let (elapsed, peak) = measure(running, "resumed", started);
        let transcript = scene.server.requests()[0].transcript();
        assert_eq!(transcript.len(), 3 * turns + 2, "the whole conversation is sent");
        points.push((turns, peak));
        let (megabytes, peak) = (bytes as f64 / 1e6, peak as f64 / MEGABYTE as f64);
        writeln!(table, "{turns:>5}  {megabytes:>4.1} MB  {:>7} ms  {peak:>6.1} MiB", elapsed.as_millis())
            .unwrap();
    }
    let slope = slope(&points);
    eprintln!("{table}memory for each turn: {slope:.0} bytes");
    assert!(slope < 16_384.0, "{slope:.0} bytes for each turn of about 500 bytes");
}

/// A long answer is copied only as often as necessary.
#[test]
fn a_long_answer_is_processed_within_bounds() {
    let mut points = Vec::new();
    let mut table = String::from("answer  read in  peak memory\n");
    for megabytes in sizes("IBEAM_BOUNDS_ANSWER_MB", [1, 5]) {
        let delta = "x".repeat(16 << 10);
        let answer =
            (0..megabytes * MEGABYTE / delta.len()).fold(Answer::new(), |answer, _| answer.text(&delta));
        let scene = Scene::new([answer.text("that is all").stall()]);
        let started = Instant::now();
        let running = scene.print::<&str>([]).timeout(Duration::from_secs(120)).start();
        let (elapsed, peak) = measure(running, "that is all", started);
        points.push((megabytes * MEGABYTE, peak));
        let peak = peak as f64 / MEGABYTE as f64;
        writeln!(table, "{megabytes:>3} MiB  {:>4} ms  {peak:>6.1} MiB", elapsed.as_millis()).unwrap();
    }
    let slope = slope(&points);
    eprintln!("{table}memory for each byte of an answer: {slope:.1} bytes");
    assert!(slope < 12.0, "{slope:.1} bytes for each byte of an answer");
}

const TURNS: usize = 20;

/// The maximum size of the first request with all tools on the wire of OpenAI, in bytes.
const MAX_FIRST_REQUEST: usize = 6 << 10;

/// The maximum growth of a request by a shell call with eight bytes of output, in bytes.
const MAX_GROWTH: usize = 240;

/// Returns a scene whose model calls the shell `TURNS` times and then answers.
fn scene_with_turns(wire: Wire) -> Scene {
    let command = |turn| json!({ "command": format!("echo turn-{turn:02}") });
    let call = |turn| Answer::new().call(&format!("call_{turn:02}"), "shell", &command(turn));
    Scene::with_wire(wire, (0..TURNS).map(call).chain([answer_text("All turns are done.")]))
}

#[test]
fn a_run_has_one_connection_for_any_number_of_turns() {
    for wire in WIRES {
        let scene = scene_with_turns(wire);
        scene.print(["--force"]).run().succeeded();
        scene.server.assert_all_answers_sent();
        assert_eq!(scene.server.connections(), 1, "{wire:?}");
    }
}

#[test]
fn requests_are_small_and_grow_only_by_new_content() {
    let scene = scene_with_turns(Wire::OpenAi);
    scene.print(["--force"]).run().succeeded();
    let sizes: Vec<usize> =
        scene.server.requests().iter().map(|request| request.body.to_string().len()).collect();
    let growth = (sizes[TURNS] - sizes[0]) / TURNS;
    assert!(sizes[0] <= MAX_FIRST_REQUEST, "the first request has {} bytes", sizes[0]);
    assert!(growth <= MAX_GROWTH, "each turn adds {growth} bytes");
}

/// A provider with a prompt cache then processes only new text.
#[test]
fn a_request_starts_with_the_previous_request() {
    let scene = scene_with_turns(Wire::OpenAi);
    scene.print(["--force"]).run().succeeded();
    for pair in scene.server.requests().windows(2) {
        let [before, after] = [&pair[0], &pair[1]];
        assert_eq!(before.body["tools"].to_string(), after.body["tools"].to_string());
        let [before, after] = [before.body["messages"].to_string(), after.body["messages"].to_string()];
        let prefix = before.strip_suffix(']').unwrap();
        assert!(after.starts_with(prefix), "{after}\ndoes not begin with\n{prefix}");
    }
}
