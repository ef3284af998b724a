//! Servers that do not answer for longer than a lease.

use std::fs;
use std::thread;
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, task, task_dir, task_file, with};
use ibeam_testkit::scene::{Scene, answer_text};
use serde_json::{Value, json};

use super::{Server, submitter, wait_for, worker};

/// The lease of the submitter is 3 s. The worker gets its own tasks again when the servers are back.
#[test]
fn a_worker_outlasts_its_servers_and_runs_each_task_once() {
    let Some(mut server) = Server::start() else { return };
    let scene = Scene::new((0..4).map(|_| answer_text("done")))
        .with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let check = "echo x >> begun; sleep 9; test $(wc -l < begun) = 1";
    let tasks: Vec<Value> =
        ["a", "b", "c", "d"].map(|id| with(task(&scene, id), "check", json!(check))).into();
    let file = task_file(&scene, &tasks);
    let submitted = submitter(&scene, &file, &server);
    let worker = worker(&scene, "w1", &server, &["--force", "--allow-checks", "--until-drained"]);
    let directory = scene.workspace.outside().join("w1");
    let begun = |id: &str| task_dir(&directory, id).join("workspace/begun").exists();
    wait_for("two checks have begun", || ["a", "b", "c", "d"].iter().filter(|id| begun(id)).count() == 2);
    server.stop();
    thread::sleep(Duration::from_secs(6));
    server.start_again();
    let output = submitted.finish().succeeded();
    worker.finish().succeeded();
    let results = results(&output);
    assert_eq!(results.len(), 4, "{output}");
    for (id, result) in &results {
        assert_eq!((&result["outcome"], &result["runs"]), (&json!("passed"), &json!(1)), "{output}");
        // The disk of the worker and the queue agree.
        let recorded = fs::read(task_dir(&directory, id).join("result.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&recorded).unwrap(), *result);
    }
    scene.server.assert_all_answers_sent();
}
