//! The commands that read and delete a queue.

use std::time::Duration;

use ibeam_testkit::fleet_tasks::{task, task_file};
use ibeam_testkit::scene::{Scene, answer_text};
use serde_json::{Value, json};

use super::{Server, submitter, wait_for, worker};

#[test]
fn the_state_of_a_queue_is_that_of_its_workers_until_it_is_deleted() {
    let Some(server) = Server::start() else { return };
    let slow = answer_text("the end").delay(Duration::from_secs(6));
    let scene = Scene::new([slow]).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let file = task_file(&scene, &[task(&scene, "a")]);
    let fleet = file.with_extension("fleet");
    let command = |args: &[&str]| scene.ibeam_without_model(["fleet"]).args(args).run();
    let json_of = |args: &[&str]| -> Value {
        serde_json::from_str(&command(&[args, &["--format", "json"]].concat()).succeeded().stdout).unwrap()
    };
    let at_queue = ["--queue", server.url.as_str()];
    let submitted = submitter(&scene, &file, &server);
    let working = worker(&scene, "w1", &server, &["--until-drained"]);
    scene.server.wait_for_requests(1);
    let workers = json_of(&[&["workers"][..], &at_queue].concat());
    assert_eq!((&workers[0]["tasks"], &workers[0]["slots"]), (&json!(["a"]), &json!(2)), "{workers}");
    assert!(workers[0]["seconds_since_seen"].as_u64().unwrap() < 30, "{workers}");
    let status = json_of(&[&["status"][..], &at_queue].concat());
    assert_eq!(
        (&status["counts"]["running"], &status["counts"]["waiting"]),
        (&json!(1), &json!(0)),
        "{status}"
    );
    assert_eq!(json_of(&[&["show", "a"][..], &at_queue].concat())["state"], "running");
    wait_for("the record has the state too", || {
        json_of(&["status", fleet.to_str().unwrap()])["counts"]["running"] == 1
    });
    let refused = command(&[&["delete"][..], &at_queue].concat());
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("`--force`"), "{refused}");
    let log = command(&[&["logs", "a", "--follow"][..], &at_queue].concat()).succeeded();
    assert!(log.stdout.contains("the end"), "{log}");
    submitted.finish().succeeded();
    working.finish().succeeded();
    assert_eq!(
        json_of(&[&["workers"][..], &at_queue].concat()),
        json!([]),
        "one that has ended is not listed"
    );
    assert_eq!(json_of(&[&["status"][..], &at_queue].concat())["tasks"][0]["state"], "passed");
    command(&[&["delete"][..], &at_queue].concat()).succeeded();
    let again = command(&[&["delete"][..], &at_queue].concat());
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("no fleet is in the queue"), "{again}");
    // A fleet with the same name begins anew.
    let status = command(&[&["status"][..], &at_queue].concat());
    assert_ne!(status.code, Some(0), "{status}");
}
