//! Tests that the runs of a worker cannot read what the worker connects with.

use serde_json::json;

use super::*;

/// An nkey that exists only here.
pub(super) const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

/// Lets a run of a worker, whose key file is at `key`, look for the key wherever commands and file tools may look.
fn check_key_at(place: &str, key: impl Fn(&Scene) -> std::path::PathBuf) {
    let Some(server) = Server::start() else { return };
    let workspace = ibeam_testkit::Workspace::new().file("a.txt", "a\n");
    let scene = Scene::new([]).with_workspace(workspace);
    let key = key(&scene);
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, format!("{SEED}\n")).unwrap();
    let (path, name) = (key.to_str().unwrap(), key.file_name().unwrap().to_str().unwrap());
    let search = format!(
        "cat '{path}'; cat {name} ../{name} ../../../../{name}; env; tr '\\0' ' ' < /proc/$PPID/environ; \
         tr '\\0' ' ' < /proc/$PPID/cmdline; grep -rs SUACSSL . .. /proc/*/environ /proc/*/cmdline; \
         ln '{path}' hard; ln -s '{path}' soft; cp '{path}' copy; cat hard soft copy; echo searched"
    );
    let scene = scene.with_answers([
        answer_call("s", "shell", &json!({ "command": search })),
        answer_call("r", "read", &json!({ "path": path })),
        answer_call("c", "read", &json!({ "path": name })),
        answer_call("g", "grep", &json!({ "pattern": "SUACSSL", "path": key.parent().unwrap() })),
        answer_call("p", "read", &json!({ "path": "/proc/self/environ" })),
        answer_text("done"),
    ]);
    let file = task_file(&scene, &[task(&scene, "searches")]);
    let submitter = submitter(&scene, &file, &server);
    let worker = worker(&scene, "w1", &server, &["--force", "--until-drained", "--queue-nkey", path]);
    let output = submitter.finish();
    assert_eq!(results(&output)["searches"]["outcome"], "passed", "{place}: {output}");
    worker.finish().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 6, "{place}");
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("searched"), "{place}: the command was executed: {last}");
    assert!(!last.contains("SUACSSL3UAH"), "{place}: the run has read the key: {last}");
    // A file with the key is not an attachment either.
    let attached = with(task(&scene, "attached"), "files", json!([path]));
    let file = scene.workspace.outside().join("attached.jsonl");
    fs::write(&file, format!("{attached}\n")).unwrap();
    let submitter = super::submitter(&scene, &file, &server);
    let allowed = key.parent().unwrap().to_str().unwrap();
    let flags = ["--until-drained", "--queue-nkey", path, "--allow-workspaces", allowed];
    let worker = super::worker(&scene, "w2", &server, &flags);
    worker.wait_for_stderr("attached: left to other workers: the worker does not allow");
    let doctor = ["fleet", "doctor", "--queue", &server.url, "--format", "json"];
    let listed = scene.ibeam_without_model(doctor).run().succeeded().stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    for refused in [&listed["refused_here"], &listed["workers"][0]["refused"]] {
        assert_eq!(refused[0]["task"], "attached", "{place}: {listed}");
    }
    scene.ibeam_without_model(["fleet", "cancel", "--queue", &server.url]).run().succeeded();
    for ended in [submitter, worker] {
        let output = ended.finish();
        assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{place}: {output}");
    }
}

#[test]
fn a_run_cannot_read_the_key_of_its_worker_in_the_home_directory() {
    check_key_at("home", |scene| scene.workspace.home().join("keys/worker.nk"));
}

#[test]
fn a_run_cannot_read_the_key_of_its_worker_in_the_source_of_its_workspace() {
    check_key_at("workspace", |scene| scene.workspace.path().join("worker.nk"));
}

#[test]
fn a_run_cannot_read_the_key_of_its_worker_above_its_workspace() {
    check_key_at("parent", |scene| scene.workspace.outside().join("worker.nk"));
}
