//! Faults of the command, the machine and the network: they end a fleet early, and no task fails because of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, run, task, task_dir, task_file, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput};
use serde_json::{Value, json};

/// Asserts that the command ended with this exit code before it ran anything.
#[track_caller]
fn assert_nothing_ran(output: &ProgramOutput, tasks: &Path, code: i32, message: &str) {
    assert_eq!((output.code, output.stdout.as_str()), (Some(code), ""), "{output}");
    assert!(output.stderr.contains(message), "{output}");
    assert!(!tasks.with_extension("fleet").exists(), "{output}");
}

#[test]
fn what_would_fail_every_run_ends_the_command_before_the_first_task() {
    let scene = Scene::new([]);
    let file = task_file(&scene, &[task(&scene, "a"), task(&scene, "b")]);
    let without_key = scene.ibeam_without_key(["fleet", "run", file.to_str().unwrap()]).run();
    assert_nothing_ran(&without_key, &file, 20, "ANTHROPIC_API_KEY");
    let budget = run(&scene, &file, ["--budget-usd", "1", "--model", "anthropic/unknown-9"]);
    assert_nothing_ran(&budget, &file, 2, "`--budget-usd` needs the price of `unknown-9`");
    let schema = run(&scene, &file, ["--json-schema", "nofile"]);
    assert_nothing_ran(&schema, &file, 66, "nofile");
    let servers = run(&scene, &file, ["--mcp-config", "nofile"]);
    assert_nothing_ran(&servers, &file, 66, "nofile");
    let other = with(task(&scene, "b"), "model", json!("nobody/x"));
    let file = task_file(&scene, &[task(&scene, "a"), other]);
    assert_nothing_ran(&run(&scene, &file, []), &file, 21, "nobody/x");
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn an_empty_task_file_and_an_unknown_commit_leave_no_directory() {
    let scene = repository([]);
    let file = task_file(&scene, &[]);
    assert_nothing_ran(&run(&scene, &file, []), &file, 65, "has no tasks");
    let source = |reference: &str| json!({ "git": scene.workspace.path(), "ref": reference });
    let tasks = ["HEAD", "gone"].map(|name| with(task(&scene, name), "workspace", source(name)));
    let file = task_file(&scene, &tasks);
    assert_nothing_ran(&run(&scene, &file, []), &file, 65, "line 2 is not a valid task");
}

#[test]
fn an_unreachable_provider_parks_the_tasks_and_the_same_command_resumes_them() {
    let scene = Scene::new([]);
    let file = task_file(&scene, &["a", "b", "c"].map(|id| task(&scene, id)));
    let tasks = file.to_str().unwrap();
    let config = scene.workspace.home().join(".config/ibeam");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[retry]\nattempts = 1\n").unwrap();
    for _ in 0..2 {
        let args = ["fleet", "run", tasks, "--jobs", "1", "--max-runs", "1"];
        let offline = scene.ibeam(args).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
        let output = offline.timeout(Duration::from_secs(120)).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
        assert!(output.stderr.contains("3 tasks are not finished: network: "), "{output}");
        assert!(output.stderr.contains("once the cause is removed, the same command"), "{output}");
    }
    let scene = scene.with_answers((0..3).map(|_| answer_text("done")));
    let output = run(&scene, &file, ["--jobs", "1", "--max-runs", "1"]).succeeded();
    assert_eq!(results(&output).len(), 3, "{output}");
}

#[test]
fn a_repository_that_cannot_be_reached_parks_its_tasks_and_not_the_others() {
    let scene = Scene::new([answer_text("done")]);
    let source = json!({ "git": "http://127.0.0.1:1/gone.git" });
    let unreachable = |id: &str| with(task(&scene, id), "workspace", source.clone());
    let file = task_file(&scene, &[unreachable("a"), unreachable("b"), task(&scene, "c")]);
    let output = run(&scene, &file, ["--jobs", "1"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["c"], "{output}");
    assert!(output.stderr.contains("2 tasks are not finished: workspace: git: "), "{output}");
}

#[test]
fn failed_tasks_are_run_again_on_request_with_those_that_needed_them() {
    let refused = Answer::error(400, "invalid_request_error", "no");
    let write = answer_call("t", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene = Scene::new([write, refused]);
    let tasks = [task(&scene, "a"), with(task(&scene, "b"), "needs", json!(["a"]))];
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--force"]);
    assert_eq!(output.code, Some(1), "{output}");
    let directory = file.with_extension("fleet");
    let hint = format!("`ibeam fleet report {}` lists the failures", directory.display());
    assert!(output.stderr.contains(&hint), "{output}");
    assert_eq!(results(&output)["b"]["outcome"], json!("skipped"), "{output}");

    let scene = scene.with_answers((0..2).map(|_| answer_text("done")));
    let output = run(&scene, &file, ["--force", "--retry-failed"]).succeeded();
    let results = results(&output);
    let outcome = |id: &str| (results[id]["outcome"].clone(), results[id]["runs"].clone());
    assert_eq!(outcome("a"), (json!("passed"), json!(2)), "{output}");
    assert_eq!(outcome("b"), (json!("passed"), json!(1)), "{output}");
    assert_eq!(results["a"]["changed_files"], json!([]), "the workspace is a new one");
    let of_task = task_dir(&directory, "a");
    for name in
        ["stream.1.ndjson", "result.1.json", "changes.1.patch", "trajectory.1.json", "trajectory.json"]
    {
        assert!(of_task.join(name).is_file(), "{name}");
    }
    scene.server.assert_all_answers_sent();

    // Nothing failed, so nothing is repeated.
    let again = run(&scene, &file, ["--force", "--retry-failed"]).succeeded();
    assert_eq!(again.stdout, "");
}

#[test]
fn a_trace_that_cannot_be_written_is_a_warning_and_is_written_by_the_next_command() {
    let scene = Scene::new([answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    let of_task = task_dir(&file.with_extension("fleet"), "a");
    let obstacle = of_task.join("trajectory.json.new");
    fs::create_dir_all(&obstacle).unwrap();
    let output = run(&scene, &file, ["--force"]).succeeded();
    assert!(output.stderr.contains("a: warning: the trace cannot be written: "), "{output}");
    assert!(output.stderr.contains("trajectory.json.new"), "{output}");
    assert_eq!(results(&output)["a"]["outcome"], "passed", "{output}");
    fs::remove_dir(&obstacle).unwrap();
    run(&scene, &file, ["--force"]).succeeded();
    assert!(of_task.join("trajectory.json").is_file());
}

#[test]
fn a_check_ends_at_its_own_limit_with_its_output_in_the_log() {
    let scene = Scene::new([answer_text("done")]);
    let slow = with(task(&scene, "a"), "check", json!("echo begun; sleep 60"));
    let file = task_file(&scene, &[with(slow, "limits", json!({ "check_timeout_s": 1 }))]);
    let output = run(&scene, &file, ["--force"]);
    assert_eq!(output.code, Some(1), "{output}");
    let result = &results(&output)["a"];
    assert_eq!(result["outcome"], json!("check_failed"), "{output}");
    assert!(result["check"]["error"].as_str().unwrap().starts_with("timed out after 1 s"), "{output}");
    assert!(result["duration_ms"].as_u64().unwrap() >= 1000, "{output}");
    let log = Path::new(result["directory"].as_str().unwrap()).join("check.log");
    assert!(fs::read_to_string(log).unwrap().starts_with("begun\n"), "{output}");
}

#[test]
fn only_the_user_can_read_the_directory_of_a_fleet() {
    let scene = Scene::new([answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    let fleet = file.with_extension("fleet");
    fs::create_dir(&fleet).unwrap();
    fs::set_permissions(&fleet, fs::Permissions::from_mode(0o755)).unwrap();
    run(&scene, &file, []).succeeded();
    assert_eq!(fs::metadata(&fleet).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_spent_budget_leads_to_a_larger_one() {
    let scene = Scene::new([answer_text("done")]);
    let tasks: Vec<Value> = ["a", "b"].map(|id| task(&scene, id)).into();
    let output = run(&scene, &task_file(&scene, &tasks), ["--jobs", "1", "--budget-tokens", "1"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert!(output.stderr.contains("one task is not finished: the budget is spent"), "{output}");
    assert!(output.stderr.contains("with a larger `--budget-usd` or `--budget-tokens`"), "{output}");
}
