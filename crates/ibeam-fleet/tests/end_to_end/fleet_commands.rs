//! The commands about a fleet: what would run, one task, its log, its changes, and its end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, run, task, task_dir, task_file, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::{Value, json};

/// Returns the stdout of a command of `fleet` that succeeds.
fn print(scene: &Scene, args: &[&str]) -> String {
    scene.ibeam_without_model(["fleet"]).args(args).run().succeeded().stdout
}

#[test]
fn a_selection_runs_alone_and_a_dry_run_starts_nothing() {
    let scene = Scene::new((0..3).map(|_| answer_text("done")));
    let secret = json!({ "TOKEN": "CANARY" });
    let tasks = [
        task(&scene, "a"),
        with(with(task(&scene, "b"), "needs", json!(["a"])), "env", secret),
        task(&scene, "c"),
    ];
    let file = task_file(&scene, &tasks);
    let fleet = file.with_extension("fleet");
    let ids = |stdout: &str| -> Vec<String> {
        let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    let dry = run(&scene, &file, ["--only", "b", "--dry-run"]).succeeded();
    assert_eq!(ids(&dry.stdout), ["a", "b"], "{dry}");
    assert!(dry.stdout.contains("TOKEN") && !dry.stdout.contains("CANARY"), "{dry}");
    assert!(!fleet.exists() && scene.server.requests().is_empty());
    let unknown = run(&scene, &file, ["--only", "b,x", "--dry-run"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("`--only x`"), "{unknown}");

    let output = run(&scene, &file, ["--limit", "1"]).succeeded();
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["a"], "{output}");
    let dry = run(&scene, &file, ["--dry-run"]).succeeded();
    assert_eq!(ids(&dry.stdout), ["b", "c"], "{dry}");
    let output = run(&scene, &file, ["--only", "b"]).succeeded();
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["b"], "{output}");
    let output = run(&scene, &file, []).succeeded();
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["c"], "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn the_log_of_a_task_is_followed_to_its_end_and_its_state_is_shown() {
    let slow = answer_text("the end").delay(Duration::from_secs(3));
    let look = answer_call("l", "ls", &json!({ "path": "." }));
    let scene = Scene::new([look, slow]).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let file = task_file(&scene, &[with(task(&scene, "a"), "check", json!("true"))]);
    let fleet = file.with_extension("fleet");
    let directory = fleet.to_str().unwrap();
    let driver =
        scene.ibeam(["fleet", "run", file.to_str().unwrap()]).timeout(Duration::from_secs(60)).start();
    scene.server.wait_for_requests(2);
    let status: Value =
        serde_json::from_str(&print(&scene, &["status", directory, "--format", "json"])).unwrap();
    assert_eq!((&status["counts"]["running"], &status["tasks"][0]["state"]), (&json!(1), &json!("running")));
    let log = print(&scene, &["logs", "a", "-f", "--dir", directory]);
    assert!(log.contains("the end"), "{log}");
    driver.finish().succeeded();
    let lines = print(&scene, &["logs", "a", "--dir", directory, "--output-format", "stream-json"]);
    let stream = fs::read_to_string(task_dir(&fleet, "a").join("stream.ndjson")).unwrap();
    assert_eq!(lines, stream);
    let shown: Value =
        serde_json::from_str(&print(&scene, &["show", "a", "--dir", directory, "--format", "json"])).unwrap();
    assert_eq!((&shown["state"], &shown["check"]["passed"]), (&json!("passed"), &json!(true)), "{shown}");
    assert!(Path::new(shown["files"]["stream"].as_str().unwrap()).is_file(), "{shown}");
    for args in [["show", "x", "--dir", directory], ["logs", "x", "--dir", directory]] {
        let output = scene.ibeam_without_model(["fleet"]).args(args).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains("the fleet has no task `x`"), "{output}");
    }
    let status = print(&scene, &["status", directory]);
    assert!(status.contains("passed: 1\n") && status.contains("pass_rate: 100.0 %\n"), "{status}");
}

#[test]
fn a_fleet_is_deleted_and_one_with_open_tasks_only_with_force() {
    let scene = Scene::new([
        ibeam_testkit::Answer::error(402, "insufficient_quota", "no credit"),
        answer_text("done"),
    ]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    let fleet = file.with_extension("fleet");
    let directory = fleet.to_str().unwrap();
    assert_eq!(run(&scene, &file, []).code, Some(75));
    let refused = scene.ibeam_without_model(["fleet", "delete", directory]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("`--force` deletes it") && fleet.exists(), "{refused}");
    assert!(print(&scene, &["delete", directory, "--force"]).starts_with("deleted: "));
    assert!(!fleet.exists());
    run(&scene, &file, []).succeeded();
    print(&scene, &["delete", directory]);
    assert!(!fleet.exists());
    let none = scene.ibeam_without_model(["fleet", "delete", directory]).run();
    assert_eq!(none.code, Some(66), "{none}");
}

#[test]
fn the_changes_of_a_chain_of_tasks_become_branches_of_the_repository() {
    let write =
        |id: &str, text: &str| answer_call(id, "write", &json!({ "path": "new.txt", "fileText": text }));
    let answers = [write("t1", "one\n"), answer_text("done"), write("t2", "two\n"), answer_text("done")];
    let scene = repository(answers);
    let tasks = [
        with(task(&scene, "first"), "check", json!("grep -q one new.txt")),
        with(
            with(task(&scene, "second"), "workspace", json!({ "from": "first" })),
            "check",
            json!("git log -1 --format=%s | grep -q first && git diff HEAD | grep -q '^-one'"),
        ),
    ];
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--force"]).succeeded();
    let found = results(&output);
    let patch = fs::read_to_string(found["second"]["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("-one\n+two\n"), "{patch}");
    let fleet = file.with_extension("fleet");
    let applied = print(&scene, &["apply", fleet.to_str().unwrap()]);
    assert_eq!(applied, "first  fleet/first\nsecond  fleet/second\n");
    let git = |args: &[&str]| {
        let output =
            std::process::Command::new("git").args(args).current_dir(scene.workspace.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(git(&["log", "--format=%s", "fleet/second"]), "second: task second\nfirst: task first\none\n");
    assert_eq!(scene.workspace.read("new.txt"), None);
    fs::write(scene.workspace.path().join("new.txt"), "mine\n").unwrap();
    let refused = scene.ibeam_without_model(["fleet", "apply", fleet.to_str().unwrap(), "--patch"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stdout.contains("first  not applied: new.txt: "), "{refused}");
    assert!(refused.stderr.contains("2 of 2 changes were not applied"), "{refused}");
    assert_eq!(scene.workspace.read("new.txt").as_deref(), Some("mine\n"));
}
