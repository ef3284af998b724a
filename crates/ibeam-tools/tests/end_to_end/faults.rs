//! Faults of the tools: hostile commands and hostile files.

mod commands;
mod flood;
mod processes;
mod reading;
mod searching;
mod workspace;
mod writing;

use std::process::Command;
use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Ibeam, ProgramOutput, Workspace};
use serde_json::{Value, json};

/// The output of a run and its one tool call.
struct CallReport {
    scene: Scene,
    output: ProgramOutput,
    /// The value under the tool's key in the completed event.
    body: Value,
}

impl CallReport {
    /// Returns the value under this key of the result, such as `success`.
    #[track_caller]
    fn result(&self, key: &str) -> &Value {
        let payload = &self.body["result"][key];
        assert!(!payload.is_null(), "no `{key}` in {}", self.body);
        payload
    }

    /// Returns the line with the reason of the failure and checks that the model received the same.
    #[track_caller]
    fn error(&self) -> String {
        let result = self.body["result"].as_object().unwrap();
        let (key, payload) = result.iter().next().unwrap();
        assert_ne!(key, "success", "{}", self.body);
        let transcript = self.transcript();
        let line = transcript.lines().last().unwrap_or_default().to_owned();
        if let Some(message) = payload["errorMessage"].as_str().or(payload["error"].as_str()) {
            assert!(line.contains(message), "`{line}` does not contain `{message}`");
        }
        line
    }

    /// Returns the conversation in the request after the call.
    fn transcript(&self) -> String {
        self.scene.server.requests()[1].transcript().join("\n")
    }
}

/// Runs a model that makes one call with all permissions and ends.
#[track_caller]
fn call_tool(workspace: Workspace, tool: &str, arguments: &Value) -> CallReport {
    call_tool_through(workspace, tool, arguments, |ibeam, _| ibeam)
}

/// Like [`call_tool`], with a program that is changed by `launch`.
#[track_caller]
fn call_tool_through(
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

/// Like [`call_tool`], with a command for the shell.
#[track_caller]
fn call_shell(line: &str) -> CallReport {
    call_tool(Workspace::new(), "shell", &json!({ "command": line }))
}

/// Returns the peak memory in bytes of a run with one call, and the value under the tool's key in its completed event.
#[track_caller]
fn peak_memory_of(workspace: Workspace, tool: &str, arguments: &Value) -> (u64, Value) {
    // The second call keeps the run alive until its memory has been read.
    let gate = answer_shell("until test -e go; do sleep 0.02; done");
    let scene = Scene::new([answer_call("toolu_1", tool, arguments), gate, answer_text("done")])
        .with_workspace(workspace);
    let running = scene.print(["--force"]).timeout(Duration::from_secs(240)).start();
    running.wait_for_stdout("until test -e go");
    let peak = running.peak_memory();
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let output = running.finish().succeeded();
    let body = output.stream().completed()[0].1.clone();
    (peak, body)
}

/// The bytes that a run may use more than a small run of its kind.
const MEMORY_MARGIN: u64 = 64 << 20;

/// Makes the program run without privileges. Root becomes the user `nobody`.
fn as_nobody(ibeam: Ibeam, workspace: &Workspace) -> Ibeam {
    if !rustix::process::geteuid().is_root() {
        return ibeam;
    }
    let chown = Command::new("chown").args(["-R", "-h", "65534:65534"]).arg(workspace.outside()).status();
    assert!(chown.unwrap().success());
    ibeam.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
}

/// Whether this test may mount file systems. Prints SKIP if not.
fn can_mount() -> bool {
    let can_mount =
        Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|done| done.status.success());
    if !can_mount {
        eprintln!("SKIP: mounts in a new namespace are not permitted here");
    }
    can_mount
}

/// Makes the program run after this script in a new mount namespace. `$OUTSIDE` contains the workspace and the home
/// directory.
fn after_mounts(ibeam: Ibeam, workspace: &Workspace, script: &str) -> Ibeam {
    let script = format!("set -e; {script}; cd \"$PWD\"; exec \"$@\"");
    ibeam.env("OUTSIDE", workspace.outside()).through(["unshare", "-m", "bash", "-c", &script, "bash"])
}
