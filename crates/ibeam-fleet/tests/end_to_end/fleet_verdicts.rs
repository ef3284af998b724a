//! Checks and processes that are killed: the verdict is that of the work, or the task is not decided.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_testkit::RunningProgram;
use ibeam_testkit::fleet_tasks::{results, run, task, task_dir, task_file, wait_for, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

/// Returns a scene with one task, whose run writes a file and which has this check; the file of the task, and its directory.
fn scene_with_check(check: &str) -> (Scene, PathBuf, PathBuf) {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene = repository([write, answer_text("done")]);
    let file = task_file(&scene, &[with(task(&scene, "a"), "check", json!(check))]);
    let directory = task_dir(&file.with_extension("fleet"), "a");
    (scene, file, directory)
}

fn start(scene: &Scene, tasks: &Path) -> RunningProgram {
    let args = ["fleet", "run", tasks.to_str().unwrap(), "--force"];
    scene.ibeam(args).timeout(Duration::from_secs(120)).start()
}

fn process_of(directory: &Path) -> Pid {
    let pid = fs::read_to_string(directory.join("process")).unwrap();
    Pid::from_raw(pid.parse().unwrap()).unwrap()
}

/// Passes only if it has begun `begun` times.
fn check_that_begins(begun: u32) -> String {
    format!("echo x >> begun; sleep 3; test $(wc -l < begun) = {begun} && grep -q new new.txt")
}

#[test]
fn a_check_that_is_killed_is_repeated_and_adds_nothing_to_the_changes() {
    let check = "test -e once || { touch once; kill -KILL $$; }; grep -q new new.txt";
    let (scene, file, _) = scene_with_check(check);
    let output = run(&scene, &file, ["--force"]).succeeded();
    let result = &results(&output)["a"];
    assert_eq!((&result["outcome"], &result["runs"]), (&json!("passed"), &json!(1)), "{output}");
    assert_eq!(result["changed_files"], json!(["new.txt"]), "{output}");
    assert!(output.stderr.contains("a: will be run again in 1 s"), "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_killed_program_or_supervisor_of_a_check_decides_nothing() {
    for kills_group in [false, true] {
        let (scene, file, directory) = scene_with_check(&check_that_begins(2));
        let running = start(&scene, &file);
        wait_for("the check has begun", || directory.join("workspace/begun").exists());
        let pid = process_of(&directory);
        if kills_group {
            kill_process_group(pid, Signal::KILL).unwrap();
        } else {
            kill_process(pid, Signal::KILL).unwrap();
        }
        let output = running.finish().succeeded();
        assert_eq!(results(&output)["a"]["changed_files"], json!(["new.txt"]), "{output}");
    }
}

#[test]
fn a_report_that_is_removed_changes_no_verdict() {
    let (scene, file, directory) = scene_with_check(&check_that_begins(1));
    let running = start(&scene, &file);
    wait_for("the check has begun", || directory.join("workspace/begun").exists());
    fs::remove_file(directory.join("check.json")).unwrap();
    running.finish().succeeded();
}

#[test]
fn the_check_of_a_killed_driver_is_waited_for_and_not_repeated() {
    let (scene, file, directory) = scene_with_check(&check_that_begins(1));
    let killed = start(&scene, &file);
    wait_for("the check has begun", || directory.join("workspace/begun").exists());
    kill_process(Pid::from_raw(killed.pid()).unwrap(), Signal::KILL).unwrap();
    drop(killed.finish());
    let output = run(&scene, &file, ["--force"]).succeeded();
    assert_eq!(results(&output)["a"]["check"]["passed"], json!(true), "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_task_that_stays_undecided_is_named_as_such_and_only_its_check_is_repeated() {
    let (scene, file, directory) = scene_with_check("test -e decided || kill -TERM $$");
    let output = run(&scene, &file, ["--force", "--max-runs", "2"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
    let reason = "the check was ended by the signal 15";
    assert!(output.stderr.contains(&format!("a: not decided: {reason}\n")), "{output}");
    assert!(output.stderr.contains(&format!("one task is not finished: {reason}")), "{output}");
    let fleet = file.with_extension("fleet");
    let print = |args: &[&str]| {
        let command = scene.ibeam_without_model(["fleet"]).args(args).args([fleet.to_str().unwrap()]);
        command.run().succeeded().stdout
    };
    assert!(print(&["status"]).contains("not decided: 1\n"), "{}", print(&["status"]));
    let status: Value = serde_json::from_str(&print(&["status", "--format", "json"])).unwrap();
    assert_eq!(status["counts"]["not_decided"], json!(1), "{status}");
    assert_eq!(
        (&status["tasks"][0]["state"], &status["tasks"][0]["reason"]),
        (&json!("not_decided"), &json!(reason))
    );
    let report: Value = serde_json::from_str(&print(&["report", "--json"])).unwrap();
    assert_eq!((&report["unfinished"], &report["not_decided"]), (&json!(1), &json!(1)), "{report}");

    fs::write(directory.join("workspace/decided"), "").unwrap();
    let output = run(&scene, &file, ["--force", "--retry-failed"]).succeeded();
    assert_eq!(results(&output)["a"]["changed_files"], json!(["new.txt"]), "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_task_whose_runs_are_killed_has_not_failed() {
    let kill = answer_call("k", "shell", &json!({ "command": "sleep 60" }));
    let scene = repository([kill, answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    let directory = task_dir(&file.with_extension("fleet"), "a");
    let args = ["fleet", "run", file.to_str().unwrap(), "--force", "--max-runs", "1"];
    let running = scene.ibeam(args).timeout(Duration::from_secs(120)).start();
    wait_for("the command runs", || scene.server.requests().len() == 1);
    kill_process(process_of(&directory), Signal::KILL).unwrap();
    let output = running.finish();
    assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
    assert!(output.stderr.contains("a: not decided: 1 runs ended without a result"), "{output}");
    let output = run(&scene, &file, ["--force", "--max-runs", "1"]).succeeded();
    assert_eq!(results(&output)["a"]["interrupted_runs"], json!(1), "{output}");
}
