//! Checks that are killed: the run that they check is not repeated, here or on another machine.

use std::path::PathBuf;

use ibeam_testkit::fleet_tasks::{results, task, task_dir, task_file, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Server, submitter, wait_for, worker, worker_elsewhere};

/// Returns a scene with one task, whose run writes a file and which has this check, and the file of the task.
fn scene_with_check(check: &str) -> (Scene, PathBuf) {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene = repository([write, answer_text("done")]);
    let file = task_file(&scene, &[with(task(&scene, "a"), "check", json!(check))]);
    (scene, file)
}

/// The worker stores no snapshot, so another one would begin anew.
#[test]
fn a_killed_check_is_repeated_by_the_worker_that_has_the_run() {
    let Some(server) = Server::start() else { return };
    let (scene, file) = scene_with_check("test -e once || { touch once; kill -KILL $$; }");
    let submitted = submitter(&scene, &file, &server);
    let flags = ["--force", "--allow-checks", "--until-drained", "--keep-content"];
    let worked = worker(&scene, "w1", &server, &flags).finish().succeeded();
    let output = submitted.finish().succeeded();
    let result = &results(&output)["a"];
    assert_eq!((&result["outcome"], &result["runs"]), (&json!("passed"), &json!(1)), "{output}");
    assert!(!worked.stderr.contains("will be run again"), "the task stays here: {worked}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_check_goes_on_on_another_machine_without_the_run_and_without_what_it_has_written() {
    let Some(server) = Server::start() else { return };
    let (scene, file) = scene_with_check("touch junk; test -e new.txt && sleep 3");
    let submitted = submitter(&scene, &file, &server);
    let flags = ["--force", "--allow-checks", "--until-drained"];
    let first = worker(&scene, "w1", &server, &flags);
    let left = task_dir(&scene.workspace.outside().join("w1"), "a");
    wait_for("the check has begun", || left.join("workspace/junk").exists());
    kill_process(Pid::from_raw(first.pid()).unwrap(), Signal::TERM).unwrap();
    drop(first.finish());
    let worked = worker_elsewhere(&scene, "w2", &server, &flags).finish().succeeded();
    assert!(worked.stderr.contains("a: continues where another machine stopped"), "{worked}");
    let output = submitted.finish().succeeded();
    let result = &results(&output)["a"];
    assert_eq!((&result["outcome"], &result["runs"]), (&json!("passed"), &json!(1)), "{output}");
    assert_eq!(result["changed_files"], json!(["new.txt"]), "{output}");
    scene.server.assert_all_answers_sent();
}
