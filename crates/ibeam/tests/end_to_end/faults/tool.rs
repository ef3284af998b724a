//! Faults of the tools: hostile commands, hostile files.

#[path = "tool/commands.rs"]
mod commands;
#[path = "tool/flood.rs"]
mod flood;
#[path = "tool/ground.rs"]
mod ground;
#[path = "tool/policy.rs"]
mod policy;
#[path = "tool/reading.rs"]
mod reading;
#[path = "tool/searching.rs"]
mod searching;
#[path = "tool/trees.rs"]
mod trees;
#[path = "tool/writing.rs"]
mod writing;

use std::process::Command;
use std::time::Duration;

use ibeam_testkit::{Ibeam, ProgramOutput, Workspace};
use serde_json::{Value, json};

use crate::scene::{Scene, answer_call, answer_shell, answer_text};

/// What the program and the model were told of one call.
struct CallReport {
    scene: Scene,
    output: ProgramOutput,
    /// What stands under the key of the completed event.
    body: Value,
}

impl CallReport {
    /// What stands under this arm of the result.
    #[track_caller]
    fn arm(&self, arm: &str) -> &Value {
        let payload = &self.body["result"][arm];
        assert!(!payload.is_null(), "no `{arm}` in {}", self.body);
        payload
    }

    /// The one line that says why the call failed; the model is told the same.
    #[track_caller]
    fn error(&self) -> String {
        let result = self.body["result"].as_object().unwrap();
        let (arm, payload) = result.iter().next().unwrap();
        assert_ne!(arm, "success", "{}", self.body);
        let for_model = self.for_model();
        let reported = for_model.lines().last().unwrap_or_default().to_owned();
        if let Some(message) = payload["errorMessage"].as_str().or(payload["error"].as_str()) {
            assert!(reported.contains(message), "{reported} is not {message}");
        }
        reported
    }

    /// The conversation as the model saw it after the call.
    fn for_model(&self) -> String {
        self.scene.server.requests()[1].transcript().join("\n")
    }
}

/// The model makes one call with every permission, then ends.
#[track_caller]
fn call(workspace: Workspace, tool: &str, arguments: &Value) -> CallReport {
    call_through(workspace, tool, arguments, |ibeam, _| ibeam)
}

/// The same by way of `launch`.
#[track_caller]
fn call_through(
    workspace: Workspace,
    tool: &str,
    arguments: &Value,
    launch: impl FnOnce(Ibeam, &Workspace) -> Ibeam,
) -> CallReport {
    let scene =
        Scene::new([answer_call("toolu_1", tool, arguments), answer_text("done")]).with_workspace(workspace);
    let output = launch(scene.print(["--force"]), &scene.workspace).run().succeeded();
    let body = output.stream().completed()[0].1.clone();
    CallReport { scene, output, body }
}

/// The same with a command.
#[track_caller]
fn command(line: &str) -> CallReport {
    call(Workspace::new(), "shell", &json!({ "command": line }))
}

/// The most memory that a run with this one call holds, and what stands under the key of its completed event.
#[track_caller]
fn peak_of(workspace: Workspace, tool: &str, arguments: &Value) -> (u64, Value) {
    // The second call keeps the run alive until it has been looked at.
    let gate = answer_shell("until test -e go; do sleep 0.02; done");
    let scene = Scene::new([answer_call("toolu_1", tool, arguments), gate, answer_text("done")])
        .with_workspace(workspace);
    let running = scene.print(["--force"]).guard(Duration::from_secs(240)).start();
    running.wait_for_stdout("until test -e go");
    let peak = running.peak_memory();
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let output = running.finish().succeeded();
    let body = output.stream().completed()[0].1.clone();
    (peak, body)
}

/// What a run may hold beyond what a small one of its kind holds.
const MORE: u64 = 64 << 20;

/// Runs as somebody whom the system forbids things, which root must first become.
fn as_nobody(ibeam: Ibeam, workspace: &Workspace) -> Ibeam {
    if !rustix::process::geteuid().is_root() {
        return ibeam;
    }
    let given = Command::new("chown").args(["-R", "-h", "65534:65534"]).arg(workspace.outside()).status();
    assert!(given.unwrap().success());
    ibeam.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
}

/// Whether this test may mount file systems; says SKIP where not.
fn may_mount() -> bool {
    let may = Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|done| done.status.success());
    if !may {
        eprintln!("SKIP: mounts in a namespace of their own are not permitted here");
    }
    may
}

/// Runs after these commands of a shell, in a mount namespace of its own. The working directory is entered again
/// after them, and `$KEPT` holds it and the home.
fn after_mounts(ibeam: Ibeam, workspace: &Workspace, script: &str) -> Ibeam {
    let script = format!("set -e; {script}; cd \"$PWD\"; exec \"$@\"");
    ibeam.env("KEPT", workspace.outside()).through(["unshare", "-m", "bash", "-c", &script, "bash"])
}
