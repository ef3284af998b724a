//! A worker executes tasks under the managed file of its machine. Neither a task nor its workspace widens it.

use ibeam_testkit::managed_file::{can_mount_managed_files, with_managed_file};
use ibeam_testkit::scene::answer_shell;
use serde_json::json;

use super::*;

/// The managed file of the worker's machine.
const MANAGED: &str = "approval = \"allowlist\"\n[permissions]\nallow = [\"Shell(echo)\"]\ndeny = [\"Shell(printf)\"]\n\
                       [limits]\nmax_turns = 3\n";

/// The files of a workspace that would allow more. The worker trusts the workspace.
const WIDENING: [(&str, &str); 2] = [
    (
        ".ibeam/config.toml",
        "approval = \"sandboxed\"\n[permissions]\nallow = [\"Shell(printf:*)\", \"Shell(ls)\"]\n[limits]\nmax_turns = 50\n",
    ),
    (".cursor/cli.json", r#"{"permissions":{"allow":["Shell(printf)"],"deny":[]}}"#),
];

#[test]
fn a_task_does_not_widen_the_managed_policy_of_its_worker() {
    let Some(server) = Server::start() else { return };
    if !can_mount_managed_files() {
        return;
    }
    let scene = Scene::new([
        answer_shell("printf denied"),
        answer_shell("echo allowed"),
        answer_text("done"),
        answer_shell("echo 1"),
        answer_shell("echo 2"),
        answer_shell("echo 3"),
        answer_text("one turn too many"),
    ]);
    let workspace = WIDENING
        .into_iter()
        .fold(ibeam_testkit::Workspace::new(), |workspace, (path, text)| workspace.file(path, text));
    let scene = scene.with_workspace(workspace);
    let widening = |id: &str| {
        let task = with(task(&scene, id), "limits", json!({ "max_turns": 50, "timeout_s": 60 }));
        with(task, "mode", json!("agent"))
    };
    let tasks = [widening("denied"), with(widening("long"), "needs", json!(["denied"]))];
    let file = task_file(&scene, &tasks);
    let submitter = submitter(&scene, &file, &server);
    let directory = scene.workspace.outside().join("w1");
    let allowed = scene.workspace.path().to_str().unwrap();
    let worker = scene
        .ibeam(["fleet", "worker", "--queue", &server.url, "--dir", directory.to_str().unwrap()])
        .args(["--until-drained", "--force", "--trust", "--allow-workspaces", allowed])
        .timeout(Duration::from_secs(200));
    let worker = with_managed_file(&scene, MANAGED, worker).start();
    let output = submitter.finish();
    let found = results(&output);
    let outcome = |id: &str| (found[id]["outcome"].as_str().unwrap(), found[id]["code"].as_str());
    assert_eq!(outcome("denied"), ("passed", None), "{output}");
    assert_eq!(outcome("long"), ("failed", Some("limit")), "{output}");
    worker.finish().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 6, "the limit of the managed file counts, not that of the task");
    let transcript = requests[2].transcript().join("\n");
    assert!(transcript.contains("denied by the rule `Shell(printf)`"), "{transcript}");
    assert!(transcript.contains("result allowed"), "{transcript}");
}
