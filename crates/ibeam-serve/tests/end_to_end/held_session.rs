//! A timeout or a signal ends the wait for a session that another process holds, and the reading of a long session.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_text, check_unstarted};
use ibeam_testkit::{Ibeam, Stdin, Workspace};

use super::dialect::{SDK, claude, events, prompt};

/// Longer than any test, so that the wait never ends at this timeout.
const LONG_LOCK_TIMEOUT: &str = "[timeouts]\nlock = \"10m\"\n";
const GUARD: Duration = Duration::from_secs(60);

/// Returns a session whose lock this test holds, its id, and the lock.
fn held_session() -> (Scene, String, File) {
    let scene =
        Scene::new([answer_text("never")]).with_workspace(Workspace::new().user_config(LONG_LOCK_TIMEOUT));
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let lock = scene.workspace.journal(&id).with_file_name("lock");
    let lock = File::options().read(true).write(true).open(lock).unwrap();
    lock.lock().unwrap();
    (scene, id, lock)
}

/// Asserts the end of the run: its exit code, and on stdout only its failure.
#[track_caller]
fn check(run: Ibeam, signal: Option<Signal>, code: i32, class: &str) {
    let running = run.timeout(GUARD).start();
    if let Some(signal) = signal {
        running.wait_for_thread("session");
        running.signal(signal);
    }
    let output = running.finish();
    check_unstarted(&output, code);
    assert_eq!(output.stream().last()["code"], class, "{output}");
}

#[test]
fn waiting_for_a_held_session_ends_at_the_timeout() {
    let (scene, id, _lock) = held_session();
    check(scene.print(["--resume", &id, "--timeout", "1"]), None, 33, "timeout");
    assert!(scene.server.requests().is_empty());
}

#[test]
fn waiting_for_a_held_session_ends_by_a_signal() {
    for (signal, code) in [(Signal::Term, 143), (Signal::Int, 130), (Signal::Hup, 129)] {
        let (scene, id, _lock) = held_session();
        check(scene.print(["--resume", &id]), Some(signal), code, "signal");
    }
}

#[test]
fn an_interactive_run_that_waits_for_a_held_session_ends_by_a_signal_or_at_the_timeout() {
    for (signal, args, code) in
        [(Some(Signal::Term), &[][..], 143), (Some(Signal::Int), &[], 130), (None, &["--timeout", "1"], 33)]
    {
        let (scene, id, _lock) = held_session();
        let args = [&["--resume", &id, "begin"], args].concat();
        let running = scene.ibeam(args).timeout(GUARD).terminal().start();
        if let Some(signal) = signal {
            running.wait_for_thread("session");
            running.signal(signal);
        }
        let output = running.finish();
        assert_eq!(output.code, Some(code), "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
        assert!(scene.server.requests().is_empty());
    }
}

#[test]
fn a_host_that_waits_for_a_held_session_reads_the_end_of_a_run_of_that_session() {
    let (scene, id, _lock) = held_session();
    let args = [&SDK[..], &["--resume", &id]].concat();
    let running = claude(&scene, &args).stdin(Stdin::Piped(prompt("hi").into())).timeout(GUARD).start();
    running.wait_for_thread("session");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    let lines = events(&output);
    assert_eq!(
        (&lines[0]["type"], &lines[0]["session_id"]),
        (&"system".into(), &id.as_str().into()),
        "{output}"
    );
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["session_id"]), (&"result".into(), &id.as_str().into()), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
}

#[test]
fn the_timeout_covers_the_wait_in_json_and_text_too() {
    for format in ["json", "text"] {
        let (scene, id, _lock) = held_session();
        let run = scene.print(["--resume", &id, "--timeout", "1", "--output-format", format]);
        let output = run.timeout(GUARD).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(33), ""), "{output}");
    }
}

#[test]
fn a_released_session_is_resumed() {
    let (scene, id, lock) = held_session();
    let running = scene.print(["--resume", &id]).timeout(GUARD).start();
    running.wait_for_thread("session");
    drop(lock);
    assert_eq!(running.finish().succeeded().stream().deltas(), ["never"]);
}

#[test]
fn reading_a_long_session_ends_by_a_signal() {
    /// Far more than the run reads before the signal.
    const BYTES: usize = 100 << 20;
    let scene = Scene::new([answer_text("one"), answer_text("never")]);
    let id = scene.ibeam(["-p", "begin"]).run().succeeded().stream().session_id().to_owned();
    let journal = scene.workspace.journal(&id);
    let text = std::fs::read_to_string(&journal).unwrap();
    let line = text.lines().find(|line| line.contains("text_delta")).unwrap();
    let many = format!("{line}\n").repeat(1000);
    let mut file = File::options().append(true).open(&journal).unwrap();
    for _ in 0..BYTES / many.len() {
        file.write_all(many.as_bytes()).unwrap();
    }
    check(scene.print(["--resume", &id]), Some(Signal::Term), 143, "signal");
    assert_eq!(scene.server.requests().len(), 1);
}
