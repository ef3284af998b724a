//! Clocks that jump, and time that passes while the process is stopped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ibeam_testkit::fault_injection::{build_preload_library, launcher_works, skip};
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, journal};
use ibeam_testkit::{Answer, Ibeam, Workspace};

use super::expect_success;

/// Two attempts with short timeouts.
const SHORT_TIMEOUTS: &str =
    "[timeouts]\nidle = \"2s\"\nfirst_byte = \"2s\"\n[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n";

/// The process is stopped for longer than the timeout while the model is silent. The timeout has then passed.
#[test]
fn f123_the_time_while_a_run_is_stopped_counts() {
    for silent in [Answer::silence(), Answer::new().thinking("hm", "sig").stall()] {
        let scene = Scene::new([silent, answer_text("back")])
            .with_workspace(Workspace::new().user_config(SHORT_TIMEOUTS));
        let running = scene.print::<&str>([]).start();
        scene.server.wait_for_requests(1);
        // What has arrived before the stop is read before it: reading starts the time again.
        std::thread::sleep(Duration::from_millis(500));
        running.pause();
        std::thread::sleep(Duration::from_millis(2200));
        running.resume();
        let before = Instant::now();
        scene.server.wait_for_requests(2);
        assert!(before.elapsed() < Duration::from_millis(1500), "{:?} more", before.elapsed());
        let output = running.finish().succeeded();
        assert_eq!(output.stream().deltas(), ["back"]);
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    }
}

#[test]
fn f123_a_connection_that_died_meanwhile_is_replaced() {
    let dying = Answer::new().thinking("hm", "sig").pause(Duration::from_millis(400)).cut();
    let scene =
        Scene::new([dying, answer_text("back")]).with_workspace(Workspace::new().user_config(SHORT_TIMEOUTS));
    let running = scene.print::<&str>([]).start();
    scene.server.wait_for_requests(1);
    running.pause();
    std::thread::sleep(Duration::from_millis(800));
    running.resume();
    assert_eq!(running.finish().succeeded().stream().deltas(), ["back"]);
}

/// Returns the program with an adjustable wall clock, and the file that contains the seconds to add.
fn with_adjustable_clock(scene: &Scene, ibeam: Ibeam) -> Option<(Ibeam, PathBuf)> {
    let (library, shift) = (build_preload_library(scene)?, scene.workspace.outside().join("shift"));
    std::fs::write(&shift, "0").unwrap();
    Some((ibeam.env("LD_PRELOAD", library).env("CLOCK_SHIFT", &shift), shift))
}

const YEAR: i64 = 365 * 24 * 3600;

#[test]
fn f139_a_wall_clock_that_jumps_changes_no_duration() {
    for jump in [YEAR, -YEAR, 3600, -3600, -70 * YEAR] {
        let pause = Duration::from_millis(300);
        let answer = || answer_text("one ").pause(pause).text("two ").pause(pause).text("three");
        let scene = Scene::new([answer()]);
        let Some((ibeam, shift)) = with_adjustable_clock(&scene, scene.print(["--timeout", "20s"])) else {
            return;
        };
        let running = ibeam.start();
        running.wait_for_stdout("one ");
        std::fs::write(&shift, jump.to_string()).unwrap();
        let output = running.finish().succeeded();
        let stream = output.stream();
        let last = stream.last();
        for duration in [&last["duration_ms"], &last["ibeam"]["api_ms"]] {
            assert!((500..15_000).contains(&duration.as_u64().unwrap()), "jump of {jump} s: {last}");
        }
        let events = journal(&scene, stream.session_id());
        let timestamps: Vec<u64> = events.iter().map(|event| event["at_ms"].as_u64().unwrap()).collect();
        let (first, end) = (timestamps[0], timestamps[timestamps.len() - 1]);
        assert!(first.abs_diff(end) > 1_000_000, "the clock jumped: {timestamps:?}");
        let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "order is by number, not by time");
        // The session can be resumed, although it was last written in the past or in the future.
        std::fs::write(&shift, (-jump).to_string()).unwrap();
        let scene = scene.with_answers([answer_text("on")]);
        let (ibeam, _) = with_adjustable_clock(&scene, scene.ibeam(["-p", "again", "--continue"])).unwrap();
        assert_eq!(ibeam.run().succeeded().stream().session_id(), stream.session_id());
    }
}

/// The machine has been up for a year, or was restored from an image.
#[test]
fn f139_the_start_of_the_monotonic_clock_does_not_matter() {
    for offset in ["31536000", "0"] {
        let launcher = ["unshare", "--time", "--fork", "--monotonic", offset, "--boottime", offset];
        if !launcher_works(&launcher) {
            return skip("no time namespaces");
        }
        let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
        let output = expect_success(&scene, scene.print(["--force"]).through(launcher));
        assert!(output.stream().last()["duration_ms"].as_u64().unwrap() < 15_000, "{output}");
    }
}

/// After a suspension no process has run and the wall clock is hours ahead.
#[test]
fn f154_after_a_suspension_a_dead_connection_is_noticed_and_replaced() {
    let scene = Scene::new([Answer::new().thinking("hm", "sig").stall(), answer_text("back")]);
    let scene = scene.with_workspace(Workspace::new().user_config(SHORT_TIMEOUTS));
    let Some((ibeam, shift)) = with_adjustable_clock(&scene, scene.print::<&str>([])) else { return };
    let running = ibeam.start();
    scene.server.wait_for_requests(1);
    running.pause();
    std::fs::write(&shift, "28800").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    running.resume();
    let output = running.finish().succeeded();
    assert_eq!(output.stream().deltas(), ["back"]);
    assert!(output.elapsed < Duration::from_secs(8), "{output}");
}
