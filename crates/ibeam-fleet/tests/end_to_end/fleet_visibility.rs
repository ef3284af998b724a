//! An agent that searches for the checks, the files of checks, the prompts and the results of its fleet.

use std::fs;
use std::sync::{Arc, Mutex};

use ibeam_testkit::fleet_tasks::{results, run, task, task_dir, task_file, with};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{ModelServer, Workspace};
use serde_json::json;

/// Writes what it finds to `found.txt`. The pattern for the word `zebraNUMBER` does not match itself.
const SEARCH: &str = r#"sleep 3
printf 'zebra%s' NUMBER >own.txt
{ find / \( -path /proc -o -path /sys \) -prune -o -type f -mmin -30 -size -3000k -print0 2>/dev/null | xargs -0 grep -ls 'PATTERN'
cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep 'PATTERN'
env | grep '^IBEAM'
cat OUTSIDE/hidden/tests/secret.txt OUTSIDE/one.txt OUTSIDE/tasks.jsonl OUTSIDE/tasks.fleet/ledger.sqlite
ls OUTSIDE/hidden
} >found.txt 2>/dev/null; true"#;

#[test]
fn an_agent_finds_no_check_and_nothing_of_other_tasks() {
    // In no file that the agent may find, such as this test and what it is built to.
    let number = fastrand::u32(100_000..1_000_000).to_string();
    let word = format!("zebra{number}");
    let (start, end) = word.split_at(word.len() - 1);
    let pattern = format!("{start}[{end}]");
    let workspace = Workspace::new().file("a.txt", "a\n");
    let outside = workspace.outside().to_owned();
    fs::create_dir_all(outside.join("hidden/tests")).unwrap();
    fs::write(outside.join("hidden/tests/secret.txt"), &word).unwrap();
    fs::write(outside.join("one.txt"), &word).unwrap();
    let search = SEARCH.replace("OUTSIDE", outside.to_str().unwrap());
    let search = search.replace("NUMBER", &number).replace("PATTERN", &pattern);
    let (read, answers) = (Arc::new(Mutex::new(String::new())), outside.clone());
    let (noted, secret) = (Arc::clone(&read), word.clone());
    let server = ModelServer::with_rule(move |request, _| {
        let transcript = request.transcript();
        if !transcript.first().is_some_and(|line| line.contains("task searcher")) {
            return answer_text(&secret);
        }
        let results = transcript.iter().filter(|line| line.starts_with("result ")).count();
        let secrets = answers.join("hidden");
        match results {
            0 => answer_call("0", "write", &json!({ "path": "search.sh", "fileText": search })),
            1 => answer_call("1", "shell", &json!({ "command": "sh search.sh" })),
            2 => answer_call("2", "read", &json!({ "path": secrets.join("tests/secret.txt") })),
            3 => answer_call("3", "read", &json!({ "path": answers.join("one.txt") })),
            4 => answer_call("4", "grep", &json!({ "pattern": pattern, "path": answers })),
            _ => {
                *noted.lock().unwrap() = transcript.join("\n");
                answer_text("done")
            }
        }
    });
    let scene = Scene { server, ..Scene::new([]) }.with_workspace(workspace);
    let check_files = json!({ "tests/one.txt": "one.txt" });
    let with_files = |id: &str, check: &str| {
        let checked = with(task(&scene, id), "check", json!(check));
        with(with(checked, "check_dir", json!("hidden")), "check_files", check_files.clone())
    };
    let mut other = with_files("other", &format!("sleep 15; cat tests/one.txt # {word}"));
    other["prompt"] = json!(format!("task other {word}"));
    let searcher =
        with_files("searcher", &format!("grep -q {word} tests/secret.txt && grep -q {word} tests/one.txt"));
    let first = with(task(&scene, "first"), "check", json!(format!("true {word}")));
    let tasks = [first, with(other, "needs", json!(["first"])), with(searcher, "needs", json!(["first"]))];
    let output = run(&scene, &task_file(&scene, &tasks), ["--force", "--jobs", "2"]).succeeded();
    let found = &results(&output)["searcher"];
    assert_eq!(found["changed_files"], json!(["found.txt", "own.txt", "search.sh"]), "{output}");
    let directory = task_dir(&outside.join("tasks.fleet"), "searcher");
    // The search finds what it may find.
    let own = directory.join("workspace/own.txt").canonicalize().unwrap();
    let lines = fs::read_to_string(directory.join("workspace/found.txt")).unwrap();
    assert_eq!(lines, format!("{}\n", own.display()));
    let transcript = read.lock().unwrap().clone();
    assert!(transcript.contains("result ") && !transcript.contains(&word), "{transcript}");
}

#[test]
fn files_for_the_check_may_not_be_where_the_run_sees_them() {
    let workspace = Workspace::new().file("a.txt", "a\n").file("tests/a.py", "a\n");
    let scene = Scene::new([]).with_workspace(workspace);
    let checked = with(task(&scene, "a"), "check", json!("true"));
    let inside = scene.workspace.path().join("tests");
    for (task, message) in [
        (with(checked.clone(), "check_dir", json!(inside)), "the run gets a copy of"),
        (with(checked.clone(), "check_files", json!({ "a": inside.join("a.py") })), "the run gets a copy of"),
        (with(checked.clone(), "check_files", json!({ "../a": "a" })), "without `..`"),
        (with(checked.clone(), "check_files", json!({ "a": "gone" })), "no file at"),
        (with(checked, "check_dir", json!("gone")), "no directory at"),
        (with(task(&scene, "a"), "check_dir", json!("/etc")), "need `check`"),
    ] {
        let output = run(&scene, &task_file(&scene, &[task]), []);
        assert_eq!(output.code, Some(65), "{output}");
        assert!(output.stderr.contains(message), "{output}");
    }
}
