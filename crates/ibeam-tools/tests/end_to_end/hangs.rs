//! Runs that end in time although one of their threads does not end.

use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_text, check_journaled};
use ibeam_testkit::{ProgramOutput, RunningProgram};
use serde_json::json;

/// A pattern near the size limit. Each byte of a long line of mixed letters leads to a new state of its automaton.
const SLOW_PATTERN: &str = "a[ab]{3000}[^ab]";
const LONG_LINE: usize = 10_000_000;

/// Returns a scene whose model calls a search that takes hours.
fn slow_search() -> Scene {
    let scene =
        Scene::new([answer_call("t", "grep", &json!({ "pattern": SLOW_PATTERN })), answer_text("Done.")]);
    std::fs::write(scene.workspace.path().join("big.txt"), mixed_letters()).unwrap();
    scene
}

fn mixed_letters() -> Vec<u8> {
    let mut state = 1u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { b'a' } else { b'b' }
    };
    (0..LONG_LINE).map(|_| letter()).collect()
}

/// Asserts that the run has recorded its end and has ended in time.
#[track_caller]
fn check_end(scene: &Scene, output: &ProgramOutput, started_at: Instant, code: &str, exit: i32) {
    assert!(started_at.elapsed() < Duration::from_secs(10), "{:?}: {output}", started_at.elapsed());
    assert_eq!(output.code, Some(exit), "{output}");
    let stream = output.stream();
    assert_eq!(stream.last()["code"], code, "{output}");
    assert!(stream.outline().contains(&"completed grep".to_owned()), "the call is finished: {output}");
    check_journaled(scene, output);
}

fn start_search(scene: &Scene) -> RunningProgram {
    let running = scene.print::<&str>([]).start();
    running.wait_for_stdout("grepToolCall");
    std::thread::sleep(Duration::from_millis(300));
    running
}

#[test]
fn a_timeout_ends_a_run_whose_search_does_not_end() {
    let scene = slow_search();
    let started_at = Instant::now();
    let output = scene.print(["--timeout", "1"]).run();
    check_end(&scene, &output, started_at, "timeout", 33);
}

#[test]
fn a_signal_ends_a_run_whose_search_does_not_end() {
    for (signal, exit) in [(Signal::Term, 143), (Signal::Int, 130)] {
        let scene = slow_search();
        let running = start_search(&scene);
        let started_at = Instant::now();
        running.signal(signal);
        check_end(&scene, &running.finish(), started_at, "signal", exit);
    }
}

#[test]
fn a_search_that_does_not_end_fails_at_its_own_timeout() {
    let scene = slow_search();
    let config = scene.workspace.home().join(".config/ibeam/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, "[timeouts]\nfiles = \"1s\"\n").unwrap();
    let started_at = Instant::now();
    let output = scene.print::<&str>([]).run();
    assert!(started_at.elapsed() < Duration::from_secs(10), "{:?}: {output}", started_at.elapsed());
    assert_eq!(output.code, Some(0), "{output}");
    let result = scene.server.requests()[1].body.to_string();
    let tail = result.get(result.len().saturating_sub(2000)..).unwrap();
    assert!(result.contains("timeouts.files") && result.contains("effect is unknown"), "{tail}");
}

/// Runs a search in a workspace in which this name is a FIFO.
#[track_caller]
fn check_fifo(name: &str) {
    let search = answer_call("t", "grep", &json!({ "pattern": "hello", "outputMode": "files_with_matches" }));
    let scene = Scene::new([search, answer_text("Done.")]);
    let path = scene.workspace.path().join(name);
    std::fs::write(scene.workspace.path().join("found.txt"), "hello\n").unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.starts_with(".git/") {
        std::fs::write(scene.workspace.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let _ = std::fs::remove_file(&path);
    }
    if name.starts_with(".git/modules/") {
        std::fs::write(path.with_file_name("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let started_at = Instant::now();
    let output = scene.print::<&str>([]).run();
    assert!(started_at.elapsed() < Duration::from_secs(10), "{name}: {:?}: {output}", started_at.elapsed());
    if output.code == Some(78) {
        // Files that decide about permissions must be readable.
        assert!(
            output.stderr.contains("is not a regular file") && output.stderr.contains(name),
            "{name}: {output}"
        );
        return;
    }
    assert_eq!(output.code, Some(0), "{name}: {output}");
    assert!(scene.server.requests()[1].body.to_string().contains("found.txt"), "{name}: {output}");
}

#[test]
fn a_fifo_in_place_of_a_repository_file_does_not_block() {
    for name in [
        ".gitignore",
        ".ignore",
        ".rgignore",
        "sub/.gitignore",
        ".git/config",
        ".git/HEAD",
        ".git/commondir",
        ".git/info/exclude",
        ".git/index",
        ".git/modules/x/config",
        "AGENTS.md",
        "CLAUDE.md",
        ".cursorrules",
        ".cursor/rules/a.mdc",
        ".cursor/mcp.json",
        ".cursor/cli.json",
        ".cursor/hooks.json",
        ".ibeam/config.toml",
        ".ibeam/hooks.json",
        ".mcp.json",
        ".env",
        ".envrc",
        "package.json",
    ] {
        check_fifo(name);
    }
}

#[test]
fn ignore_rules_nested_without_limit_end_no_process() {
    let search = answer_call("t", "grep", &json!({ "pattern": "hello", "outputMode": "files_with_matches" }));
    let scene = Scene::new([search, answer_text("Done.")]);
    std::fs::write(scene.workspace.path().join("found.txt"), "hello\n").unwrap();
    let bomb = format!("{}a{}\n", "{".repeat(100_000), "}".repeat(100_000));
    std::fs::write(scene.workspace.path().join(".gitignore"), bomb).unwrap();
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(0), "{output}");
    let result = scene.server.requests()[1].body.to_string();
    assert!(result.contains("found.txt") && result.contains("do not count"), "{result}");
}
