//! `fleet`: many runs from a file of tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, run, task, task_dir, task_file, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, Stdin};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

#[test]
fn each_task_runs_in_its_own_copy_and_leaves_a_patch_and_the_result_of_its_check() {
    let write = |id: &str| answer_call(id, "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene = repository([write("t1"), answer_text("done"), write("t2"), answer_text("done")]);
    let tasks = [
        with(
            task(&scene, "good"),
            "check",
            json!("grep -q new new.txt && git log --oneline -- calc.py | grep -q one"),
        ),
        with(with(task(&scene, "bad"), "check", json!("echo wrong; exit 3")), "needs", json!(["good"])),
        with(task(&scene, "never"), "needs", json!(["bad"])),
    ];
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--force", "--jobs", "2"]);
    assert_eq!(output.code, Some(1), "{output}");
    let results = results(&output);
    let outcomes: Vec<_> = results.values().map(|result| result["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["check_failed", "passed", "skipped"], "{output}");
    let (good, bad) = (&results["good"], &results["bad"]);
    assert_eq!(good["changed_files"], json!(["new.txt"]), "{output}");
    let patch = fs::read_to_string(good["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"), "{patch}");
    assert_eq!(
        (&good["exit_code"], &good["runs"], &good["check"]["passed"]),
        (&json!(0), &json!(1), &json!(true))
    );
    assert_eq!(bad["check"]["exit_code"], json!(3), "{output}");
    let directory = Path::new(bad["directory"].as_str().unwrap());
    assert_eq!(fs::read_to_string(directory.join("check.log")).unwrap(), "wrong\n");
    assert_eq!(scene.workspace.read("new.txt"), None, "the source is not changed");
    scene.server.assert_all_answers_sent();
    for directory in [&good["directory"], &bad["directory"]] {
        let trajectory = fs::read(Path::new(directory.as_str().unwrap()).join("trajectory.json")).unwrap();
        let trajectory: Value = serde_json::from_slice(&trajectory).unwrap();
        assert!(trajectory.to_string().contains("new.txt"), "{trajectory}");
    }

    // The same command runs and prints nothing again.
    let again = run(&scene, &file, ["--force"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(1), ""), "{again}");
    let fleet = file.with_extension("fleet");
    let args = ["fleet", "report", "--format", "ndjson", fleet.to_str().unwrap()];
    assert_eq!(self::results(&scene.ibeam_without_model(args).run().succeeded()), results);
    let report = scene.ibeam_without_model(["fleet", "report", "--json", fleet.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&report.run().succeeded().stdout).unwrap();
    assert_eq!(report["failures"], json!({ "check_failed": 1, "skipped": 1 }), "{report}");
    assert_eq!((&report["all"]["tasks"], &report["all"]["passed"]), (&json!(2), &json!(1)));
    let status = scene.ibeam_without_model(["fleet", "status", fleet.to_str().unwrap()]).run().succeeded();
    assert!(
        status.stdout.contains("failed: 2\n") && status.stdout.contains("never  failed (skipped)\n"),
        "{status}"
    );
}

/// The variables of tasks are in the ledger and in the task file; another task may have what a run must not see.
#[test]
fn a_run_and_a_check_see_neither_the_fleet_nor_the_file_of_its_tasks() {
    let workspace = ibeam_testkit::Workspace::new().file("a.txt", "a\n").file("kube.yaml", "CANARY-kube\n");
    let scene = Scene::new([]).with_workspace(workspace);
    let file = scene.workspace.path().join("tasks.jsonl");
    let search = format!(
        "cat '{0}' tasks.jsonl kube.yaml; cat ../../../../ledger.sqlite* ../../../*/other/*; grep -rs CANARY .. ; \
         ls -A ../../../.. ../../.. ../.. ..; echo searched",
        file.display()
    );
    let scene = scene.with_answers([
        answer_call("s", "shell", &json!({ "command": search })),
        answer_call("r", "read", &json!({ "path": file })),
        answer_call("l", "read", &json!({ "path": "../../../../ledger.sqlite" })),
        answer_call("g", "grep", &json!({ "pattern": "CANARY", "path": "../../../.." })),
        answer_text("done"),
        answer_text("done"),
    ]);
    let check = format!("! {{ {search}; }} 2>&1 | grep CANARY");
    let env = json!({ "IT": "CANARY-env" });
    let tasks = [
        with(with(task(&scene, "searches"), "env", env.clone()), "check", json!(check)),
        with(with(task(&scene, "other"), "env", env), "needs", json!(["searches"])),
    ];
    fs::write(&file, tasks.map(|task| format!("{task}\n")).concat()).unwrap();
    let fleet = scene.workspace.outside().join("runs.fleet");
    let kube = scene.workspace.path().join("kube.yaml");
    let args = ["fleet", "run", file.to_str().unwrap(), "--force", "--dir", fleet.to_str().unwrap()];
    let output = scene.ibeam(args).env("KUBECONFIG", kube).timeout(Duration::from_secs(120)).run();
    let results = results(&output);
    assert_eq!(results["searches"]["outcome"], "passed", "{output}");
    let requests = scene.server.requests();
    let last = requests.get(4).unwrap().body.to_string();
    assert!(last.contains("searched") && !last.contains("CANARY-"), "{last}");
}

#[test]
fn the_lines_of_a_fleet_are_in_the_language_of_the_user_and_its_objects_in_english() {
    let scene = repository([answer_text("done")]);
    let tasks = [
        with(task(&scene, "bad"), "check", json!("exit 3")),
        with(task(&scene, "never"), "needs", json!(["bad"])),
    ];
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--force", "--lang", "es"]);
    assert_eq!(results(&output)["bad"]["outcome"], json!("check_failed"), "{output}");
    assert!(output.stderr.starts_with("bad: iniciada\nbad: falló (comprobación fallida) ("), "{output}");
    assert!(output.stderr.contains("\nnever: falló (omitida) (0 s)\n"), "{output}");
    let fleet = file.with_extension("fleet");
    let fleet = fleet.to_str().unwrap();
    let print = |args: &[&str], lang| {
        let command = scene.ibeam_without_model(["fleet"]).args(args).args(["--lang", lang]);
        command.run().succeeded().stdout
    };
    let status = print(&["status", fleet], "es");
    assert!(status.starts_with("pendiente: 0\nen ejecución: 0\ncon éxito: 0\nfalló: 2\n"), "{status}");
    assert!(status.ends_with("bad  falló (comprobación fallida)\nnever  falló (omitida)\n"), "{status}");
    let report = print(&["report", fleet], "ja");
    let headings = "モデル                         タスク   合格    合格率            95 % 費用 (USD)        秒   トークン\n";
    assert!(report.starts_with(headings), "{report}");
    assert!(report.contains("\n未完了: 0\nチェック不合格: 1\nスキップ: 1\n"), "{report}");
    let comparison = print(&["report", fleet, fleet], "fr");
    assert!(
        comparison.starts_with("tâches : 2\ninfrastructure : 0\nréussies dans les deux : 0\n"),
        "{comparison}"
    );
    for args in [&["status", "--format=json", fleet][..], &["report", "--json", fleet]] {
        assert_eq!(print(args, "ja"), print(args, "en"));
    }
    let gone = with(task(&scene, "a"), "workspace", json!("gone"));
    let output = run(&scene, &task_file(&scene, &[gone]), ["--lang", "es"]);
    assert!(output.stderr.contains("`workspace`: no hay ningún directorio en `"), "{output}");
    assert!(!output.stderr.contains("no directory"), "{output}");
}

#[test]
fn a_directory_without_a_fleet_is_named_as_such() {
    let scene = Scene::new([]);
    for command in ["status", "report", "poll"] {
        let output = scene.ibeam_without_model(["fleet", command, "x"]).run();
        assert_eq!(output.code, Some(66), "{output}");
        assert!(
            output.stderr.contains("fleet") && output.stderr.contains(" in `x`\nhint: `ibeam fleet run"),
            "{output}"
        );
    }
}

#[test]
fn an_invalid_task_is_named_before_anything_runs() {
    let scene = Scene::new([answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a"), json!({ "id": "b" }), task(&scene, "a")]);
    let output = run(&scene, &file, []);
    assert_eq!(output.code, Some(65), "{output}");
    let source = file.display();
    assert!(
        output.stderr.contains(&format!("error: `{source}` has 2 invalid tasks; the first is line 2: ")),
        "{output}"
    );
    assert!(output.stderr.contains(&format!("warning: {source}:3: the id `a` is already")), "{output}");
    assert_eq!((output.stdout.as_str(), scene.server.requests().len()), ("", 0), "{output}");
    assert!(!file.with_extension("fleet").exists());

    let output = run(&scene, &file, ["--skip-invalid"]).succeeded();
    assert_eq!(results(&output).len(), 1, "{output}");
}

#[test]
fn tasks_on_stdin_need_a_directory() {
    let scene = Scene::new([answer_text("done")]);
    let line = format!("{}\n", task(&scene, "a")).into_bytes();
    let on_stdin =
        |args: &[&str]| scene.ibeam(["fleet", "run", "-"]).args(args).stdin(Stdin::Piped(line.clone())).run();
    assert_eq!(on_stdin(&[]).code, Some(2));
    let directory = scene.workspace.outside().join("results");
    let output = on_stdin(&["--dir", directory.to_str().unwrap()]).succeeded();
    assert_eq!(results(&output)["a"]["outcome"], json!("passed"));
}

#[test]
fn an_exhausted_quota_starts_no_further_run_and_the_same_command_resumes() {
    let scene = Scene::new([Answer::error(402, "insufficient_quota", "the account has no credit left")]);
    let tasks: Vec<Value> = ["a", "b", "c"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "1"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
    assert!(output.stderr.contains("error: 3 tasks are not finished: rate_limited: "), "{output}");
    scene.server.assert_all_answers_sent();

    let scene = scene.with_answers((0..3).map(|_| answer_text("done")));
    let output = run(&scene, &file, ["--jobs", "1"]).succeeded();
    assert_eq!(results(&output).len(), 3, "{output}");
    scene.server.assert_all_answers_sent();
}

/// The run is killed after its journal has its end, and before its stream has it.
#[test]
fn a_run_that_completed_in_its_journal_is_not_repeated() {
    let scene = Scene::new([answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    run(&scene, &file, []).succeeded();
    let fleet = file.with_extension("fleet");
    let directory = task_dir(&fleet, "a");
    let stream = fs::read_to_string(directory.join("stream.ndjson")).unwrap();
    let cut = stream.find("{\"type\":\"result\"").unwrap();
    fs::write(directory.join("stream.ndjson"), &stream[..cut]).unwrap();
    fs::remove_file(directory.join("result.json")).unwrap();
    fs::remove_file(fleet.join("ledger.sqlite")).unwrap();
    let output = run(&scene, &file, []).succeeded();
    assert_eq!(results(&output)["a"]["runs"], json!(1), "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_changed_task_is_refused() {
    let scene = Scene::new([answer_text("done")]);
    run(&scene, &task_file(&scene, &[task(&scene, "a")]), []).succeeded();
    let file = task_file(&scene, &[with(task(&scene, "a"), "prompt", json!("another"))]);
    let output = run(&scene, &file, []);
    assert_eq!(output.code, Some(65), "{output}");
    assert!(output.stderr.contains("the task `a` differs"), "{output}");
}

#[test]
fn a_spent_budget_starts_no_further_run() {
    let scene = Scene::new((0..2).map(|_| answer_text("done")));
    let tasks: Vec<Value> = ["a", "b"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "1", "--budget-tokens", "1"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!(scene.server.requests().len(), 1, "{output}");
}

/// All runs share the budget: one that has used nothing yet sends no request once it is spent.
#[test]
fn a_budget_holds_for_runs_at_the_same_time() {
    let scene = Scene::new((0..4).map(|_| answer_text("done").delay(Duration::from_millis(300))));
    let tasks: Vec<Value> = ["a", "b", "c", "d"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "4", "--budget-tokens", "1"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!(scene.server.requests().len(), 1, "{output}");
    assert_eq!(results(&output).len(), 1, "{output}");
    assert!(output.stderr.contains("3 tasks are not finished: the budget is spent"), "{output}");

    // The parked runs are resumed with a larger budget.
    let output = run(&scene, &file, ["--jobs", "4", "--budget-tokens", "1000000"]).succeeded();
    assert_eq!(results(&output).len(), 3, "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn no_request_follows_an_exhausted_quota_that_another_run_has_seen() {
    let refused = Answer::error(402, "insufficient_quota", "the account has no credit left");
    let slow = answer_call("t", "shell", &json!({ "command": "sleep 2" }));
    let scene = Scene::new([slow, refused]);
    let tasks: Vec<Value> = ["a", "b"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "2", "--force"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
    assert_eq!(scene.server.requests().len(), 2, "the run whose command ran sent no other request; {output}");
    assert!(output.stderr.contains("error: 2 tasks are not finished: "), "{output}");

    let scene = scene.with_answers((0..2).map(|_| answer_text("done")));
    let output = run(&scene, &file, ["--jobs", "2", "--force"]).succeeded();
    assert_eq!(results(&output).len(), 2, "{output}");
}

/// The request after the refusal would be that of the run, which learns of it from the governor.
#[test]
fn the_requests_of_sub_agents_ask_the_governor_too() {
    let call = answer_call("t1", "task", &json!({ "description": "look", "prompt": "look around" }));
    let refused = Answer::error(402, "insufficient_quota", "the account has no credit left");
    let scene = Scene::new([call, refused])
        .with_workspace(ibeam_testkit::Workspace::new().user_config("subagents.mode = \"enabled\"\n"));
    let file = task_file(&scene, &[task(&scene, "a")]);
    let output = run(&scene, &file, ["--force"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!(scene.server.requests().len(), 2, "{output}");
}

#[test]
fn a_rate_limit_is_waited_for_and_every_task_passes() {
    let limited = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "1");
    let scene = Scene::new(std::iter::once(limited).chain((0..4).map(|_| answer_text("done"))));
    let tasks: Vec<Value> = ["a", "b", "c", "d"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "2"]).succeeded();
    assert_eq!(results(&output).len(), 4, "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_matrix_runs_each_prompt_in_each_workspace() {
    let scene = Scene::new((0..4).map(|_| answer_text("done")));
    let file = scene.workspace.outside().join("matrix.json");
    let workspace = scene.workspace.path();
    let matrix =
        json!({ "prompts": ["a", { "id": "b", "prompt": "b" }], "workspaces": [workspace], "repeat": 2 });
    fs::write(&file, matrix.to_string()).unwrap();
    let output = run(&scene, &file, ["--matrix"]).succeeded();
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["b.r1", "b.r2", "p1.r1", "p1.r2"]);

    fs::write(&file, r#"{"prompts":[]}"#).unwrap();
    let output = run(&scene, &file, ["--matrix"]);
    assert_eq!(output.code, Some(65), "{output}");
}

#[test]
fn a_watch_ends_with_the_fleet_and_traces_are_exported() {
    let scene = Scene::new([answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    run(&scene, &file, []).succeeded();
    let fleet = file.with_extension("fleet");
    let command = |args: &[&str]| scene.ibeam_without_model(["fleet"]).args(args).run().succeeded();
    assert_eq!(command(&["status", "--watch", fleet.to_str().unwrap()]).stdout, "a  passed\n");
    let exported = command(&["export", fleet.to_str().unwrap()]);
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    let trajectory = fs::read(exported["file"].as_str().unwrap()).unwrap();
    let trajectory: Value = serde_json::from_slice(&trajectory).unwrap();
    assert!(trajectory["schema_version"].as_str().unwrap().starts_with("ATIF"), "{trajectory}");
    command(&["export", "--html", fleet.to_str().unwrap()]);
    assert!(fs::read_to_string(task_dir(&fleet, "a").join("trace.html")).unwrap().contains("task a"));
}

#[test]
fn two_fleets_are_compared_by_their_tasks() {
    let scene = Scene::new((0..2).map(|_| answer_text("done")));
    let outside = scene.workspace.outside();
    let fleets = ["first", "second"].map(|name| outside.join(name));
    for (fleet, check) in fleets.iter().zip(["false", "true"]) {
        let file = task_file(&scene, &[with(task(&scene, "a"), "check", json!(check))]);
        run(&scene, &file, ["--dir", fleet.to_str().unwrap()]);
    }
    let [first, second] = fleets.each_ref().map(|fleet| fleet.to_str().unwrap());
    let report = |format: &str| {
        let args = ["fleet", "report", first, second, "--format", format];
        scene.ibeam_without_model(args).run().succeeded().stdout
    };
    let compared: Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(
        compared["comparison"]["changed"],
        json!([{ "id": "a", "first": "check_failed", "second": "passed" }])
    );
    assert!(report("text").contains("a  failed (check_failed) -> passed\n"));
    let page = report("html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
}

/// Returns the running processes of runs of this fleet.
pub(crate) fn runs(fleet: &Path) -> Vec<Pid> {
    let fleet = fleet.to_str().unwrap();
    let is_run = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(fleet) && line.contains("--print")
    };
    let entries =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    entries.filter(is_run).filter_map(Pid::from_raw).collect()
}

#[test]
fn a_killed_run_goes_on_without_another_prompt() {
    let call = answer_call("t", "shell", &json!({ "command": "sleep 20" }));
    let scene = Scene::new([call, answer_text("done")]);
    let file = task_file(&scene, &[task(&scene, "a")]);
    let args = ["fleet", "run", file.to_str().unwrap(), "--force"];
    let driver = scene.ibeam(args).timeout(Duration::from_secs(60)).start();
    scene.server.wait_for_requests(1);
    // The answer is recorded before its call starts.
    std::thread::sleep(Duration::from_millis(1500));
    for pid in runs(&file.with_extension("fleet")) {
        kill_process(pid, Signal::KILL).unwrap();
    }
    let output = driver.finish().succeeded();
    let result = &results(&output)["a"];
    assert_eq!((&result["runs"], &result["interrupted_runs"]), (&json!(2), &json!(1)), "{output}");
    assert_eq!(result["usage"]["inputTokens"], json!(200), "the sums are those of the whole run");
    let sent = scene.server.requests()[1].transcript().join("\n");
    assert!(sent.contains("result interrupted") && !sent.contains("do not repeat"), "{sent}");
}

/// Drivers and runs are killed at random instants. No task may be lost, and no completed run may be repeated.
#[test]
fn kills_at_any_instant_lose_no_task_and_repeat_none() {
    const TASKS: usize = 50;
    const KILLS: usize = 24;
    let answers = (0..TASKS * 8).map(|_| answer_text("finished").delay(Duration::from_millis(700)));
    let scene = Scene::new(answers).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let tasks: Vec<Value> = (0..TASKS).map(|number| task(&scene, &format!("t{number}."))).collect();
    let file = task_file(&scene, &tasks);
    let fleet = file.with_extension("fleet");
    let start = || {
        let args = ["fleet", "run", file.to_str().unwrap(), "--jobs", "4", "--max-runs", "50"];
        scene.ibeam(args).timeout(Duration::from_secs(280)).start()
    };
    let (mut random, mut killed_drivers, mut killed_runs) = (fastrand::Rng::new(), 0, 0);
    let (mut driver, mut printed) = (start(), String::new());
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(random.u64(50..700)));
        if random.bool() {
            // The driver may have ended meanwhile. Then the next one prints nothing.
            let pid = Pid::from_raw(driver.pid()).unwrap();
            killed_drivers += usize::from(kill_process(pid, Signal::KILL).is_ok());
            printed.push_str(&driver.finish().stdout);
            driver = start();
        } else if let Some(pid) = random.choice(runs(&fleet)) {
            // The run may have ended meanwhile.
            killed_runs += usize::from(kill_process(pid, Signal::KILL).is_ok());
        }
    }
    let mut output = driver.finish().succeeded();
    output.stdout.insert_str(0, &printed);
    let results = results(&output);
    assert_eq!(results.len(), TASKS, "a task is lost; {output}");
    let twice = output.stdout.lines().count() - TASKS;
    assert!(twice <= killed_drivers, "only a kill after its line prints a result twice; {output}");
    let directory_of = |result: &Value| PathBuf::from(result["directory"].as_str().unwrap());
    for (id, result) in &results {
        let streams = fs::read_dir(directory_of(result)).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let is_stream = path.extension().is_some_and(|extension| extension == "ndjson");
            is_stream.then(|| fs::read_to_string(path).unwrap())
        });
        let completed = streams.filter(|stream| stream.contains("\n{\"type\":\"result\"")).count();
        assert!(completed <= 1, "{id} was completed {completed} times");
        let session = result["session_id"].as_str().unwrap();
        let recorded = journal(&scene, session);
        let recorded =
            recorded.iter().filter(|event| event["kind"]["run_finished"]["outcome"] == "completed");
        assert_eq!(recorded.count(), 1, "{id}, session {session}");
    }
    println!("{killed_drivers} drivers and {killed_runs} runs were killed, 0 tasks lost, 0 repeated");
    assert!(killed_drivers > 0);
}
