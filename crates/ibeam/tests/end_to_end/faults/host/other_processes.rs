//! Other processes: concurrent runs, stale locks, a replaced binary.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, model_name};
use ibeam_testkit::{Ibeam, program_path};
use serde_json::json;

use super::expect_success;

#[test]
fn f146_the_second_run_of_a_session_reports_the_holder_at_once() {
    let scene = Scene::new([answer_text("first ").stall()]);
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let holder = scene.print([format!("--resume={id}")]).start();
    holder.wait_for_stdout("first ");
    let output = scene.print([format!("--resume={id}")]).run();
    check_failure(&output, 75);
    // A run that waits for the holder never ends, since its answer stalls. On a busy machine the start takes seconds.
    assert!(output.elapsed < Duration::from_secs(15), "{output}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for part in [holder.pid().to_string().as_str(), host.trim()] {
        assert!(output.stderr.contains(part), "`{part}` is missing: {output}");
    }
}

#[test]
fn f147_fifty_runs_start_at_once_in_one_home() {
    let scene = Scene::new((0..50).map(|_| answer_text("hi")));
    let before = Instant::now();
    let running: Vec<_> = (0..50).map(|_| scene.ibeam(["-p", "x"]).start()).collect();
    let ids: BTreeSet<String> =
        running.into_iter().map(|run| run.finish().succeeded().stream().session_id().to_owned()).collect();
    eprintln!("50 runs at once: {:?}", before.elapsed());
    assert_eq!(ids.len(), 50);
    assert_eq!(scene.ibeam_without_model(["ls"]).run().succeeded().stdout.lines().count(), 50);
}

#[test]
fn f147_a_run_takes_little_memory() {
    let scene = Scene::new([answer_text("hi ").stall()]);
    let running = scene.ibeam(["-p", "x"]).start();
    running.wait_for_stdout("hi ");
    let peak = running.peak_memory();
    eprintln!("one run: {} kB at its peak", peak / 1024);
    assert!(peak < 64 << 20, "{peak} bytes");
}

/// The process id in the file may have been reused. Only a held lock counts.
#[test]
fn f148_a_lock_file_without_a_held_lock_is_ignored() {
    for content in ["process 1", "process 1 on localhost", "", "nonsense \u{0} \u{7}"] {
        let scene = Scene::new([answer_text("one")]);
        let id = scene.ibeam(["-p", "begin"]).run().succeeded().stream().session_id().to_owned();
        let lock = scene.workspace.journal(&id).with_file_name("lock");
        std::fs::write(&lock, content).unwrap();
        let scene = scene.with_answers([answer_text("two")]);
        expect_success(&scene, scene.ibeam(["-p", "more", "--resume", &id]));
    }
}

#[test]
fn f152_a_binary_that_is_replaced_or_removed_keeps_working() {
    for replaced in [true, false] {
        let scene = Scene::new([]);
        let copy = scene.workspace.outside().join("copy");
        std::fs::copy(program_path(), &copy).unwrap();
        let pause = Duration::from_millis(600);
        let answers = [
            answer_text("one ").pause(pause).call("a", "shell", &json!({ "command": "echo hello" })),
            answer_call("b", "grep", &json!({ "pattern": "needle" })),
            answer_text("done"),
        ];
        let scene = scene.with_answers(answers);
        std::fs::write(scene.workspace.path().join("hay.txt"), "a needle\n").unwrap();
        let run = Ibeam::new(&copy, &scene.workspace).args(["-p", "x", "--force", "--model"]);
        let run = run.args([model_name(scene.wire)]).env("ANTHROPIC_BASE_URL", scene.server.url());
        let running = run.env("ANTHROPIC_API_KEY", KEY).start();
        running.wait_for_stdout("one ");
        if replaced {
            let new = scene.workspace.outside().join("new");
            std::fs::write(&new, "#!/bin/false\n").unwrap();
            std::fs::rename(&new, &copy).unwrap();
        } else {
            std::fs::remove_file(&copy).unwrap();
        }
        let output = running.finish().succeeded();
        let transcript = scene.server.requests()[2].transcript().join("\n");
        assert!(transcript.contains("hello") && transcript.contains("needle"), "{transcript}; {output}");
        assert_eq!(output.stream().last()["result"], "one done");
    }
}
