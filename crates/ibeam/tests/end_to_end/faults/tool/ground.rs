//! The workspace itself: removed, replaced, full.

use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

use super::{after_mounts, may_mount};
use crate::scene::{Scene, answer_call, answer_shell, answer_text};

#[test]
fn f087_a_workspace_that_was_removed_is_told_and_ends_the_run() {
    let workspace = Workspace::new().file("f", "x");
    let removes = Answer::new()
        .call("toolu_1", "shell", &json!({ "command": "rm -rf \"$PWD\"" }))
        .call("toolu_2", "read", &json!({ "path": "f" }))
        .call("toolu_3", "shell", &json!({ "command": "pwd" }));
    let scene = Scene::new([removes, answer_text("never asked for")]).with_workspace(workspace);
    let output = scene.print(["--force", "--sandbox", "disabled"]).run();
    assert_eq!(output.code, Some(66), "{output}");
    let stream = output.stream();
    let completed = stream.completed();
    assert_eq!(completed[0].1["result"]["success"]["exitCode"], 0, "{output}");
    for (_, body) in &completed[1..] {
        assert!(body["result"].to_string().contains("is gone"), "{body}");
    }
    assert_eq!(stream.last()["code"], "noinput", "{output}");
    assert!(output.stderr_lines("error: ")[0].contains("was removed"), "{output}");
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn f087_a_removed_workspace_is_no_success_even_without_another_call() {
    // The model is asked no more: what it would say could not be about this workspace.
    let scene = Scene::new([answer_shell("rm -rf \"$PWD\""), answer_text("done")]);
    let output = scene.print(["--force", "--sandbox", "disabled", "--output-format", "json"]).run();
    assert_eq!(output.code, Some(66), "{output}");
    assert!(!output.stdout.contains("success"), "{output}");
}

#[test]
fn f088_a_workspace_whose_name_was_given_to_another_is_held() {
    let write = answer_call("toolu_2", "write", &json!({ "path": "etc/new", "fileText": "x" }));
    let read = answer_call("toolu_3", "read", &json!({ "path": "etc/f" }));
    let list = answer_call("toolu_4", "ls", &json!({ "path": "etc" }));
    // In a script: what a command does outside the workspace is seen by policy only where it says so.
    let script = "cd .. && mv project moved && mkdir -p other/etc && ln -s other project\n";
    let swap = answer_shell("sh ./swap");
    let workspace = Workspace::new().file("etc/f", "mine\n").file("swap", script);
    let scene = Scene::new([swap, write, read, list, answer_text("done")]).with_workspace(workspace);
    let output = scene.print(["--force", "--sandbox", "disabled"]).run().succeeded();
    let moved = scene.workspace.outside().join("moved");
    assert_eq!(std::fs::read_to_string(moved.join("etc/new")).unwrap(), "x");
    assert!(!scene.workspace.outside().join("other/etc/new").exists(), "{output}");
    let stream = output.stream();
    let results: Vec<&Value> = stream.completed().iter().map(|(_, body)| &body["result"]).collect();
    assert_eq!(results[2]["success"]["content"], "mine\n", "{output}");
    // A walk goes by names, and the name leads elsewhere now.
    assert!(results[3].to_string().contains("the workspace was moved"), "{output}");
}

/// A few megabytes that hold the workspace, the home and the journal.
const SMALL_DISK: &str = "mount -t tmpfs -o size=4m none \"$KEPT\"; mkdir \"$KEPT/project\" \"$KEPT/home\"";

#[test]
fn f083_a_command_that_fills_the_disk_ends_the_run_with_its_record_kept() {
    if !may_mount() {
        return;
    }
    let fills = answer_shell("head -c 100m /dev/zero > fill; echo \"ended $?\"");
    // Then it goes on with so much to say that no room kept for an orderly end can hold it all.
    let goes_on = (0..100).map(|number| {
        let command = json!({ "command": format!("echo {number}") });
        Answer::new().text("s".repeat(40_000)).call(&format!("toolu_{number}"), "shell", &command)
    });
    let scene = Scene::new([fills].into_iter().chain(goes_on));
    // The journal is looked at from inside: the disk goes with the namespace.
    let rescued = tempfile::tempdir().unwrap();
    let script = format!(
        "{SMALL_DISK}; cd \"$PWD\"; code=0; \"$@\" || code=$?; \
         cp -r \"$KEPT/home/.local/share/ibeam/sessions/.\" \"$RESCUED\"; exit $code"
    );
    let ibeam =
        scene.print(["--force"]).env("RESCUED", rescued.path()).env("KEPT", scene.workspace.outside());
    let output = ibeam.through(["unshare", "-m", "bash", "-c", &script, "bash"]).run();
    assert_eq!(output.code, Some(74), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    let stream = output.stream();
    assert_eq!(
        (&stream.last()["type"], &stream.last()["exit_code"]),
        (&json!("error"), &json!(74)),
        "{output}"
    );
    let printed = stream.completed().len();
    let journal = rescued.path().join(stream.session_id()).join("events.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.ends_with('\n'), "the last record is torn");
    assert_eq!(journal.matches("\"tool_call_finished\"").count(), printed, "{journal}");
    assert_eq!(journal.matches("\"run_finished\"").count(), 1, "{journal}");
}

#[test]
fn f106_a_write_on_a_full_disk_leaves_the_old_file() {
    if !may_mount() {
        return;
    }
    let old = "o".repeat(40_000);
    let scene = Scene::new([
        answer_call("toolu_1", "write", &json!({ "path": "f", "fileText": "n".repeat(100_000) })),
        answer_call(
            "toolu_2",
            "edit",
            &json!({ "path": "small", "oldText": "x", "newText": "y".repeat(100_000) }),
        ),
        answer_call("toolu_3", "write", &json!({ "path": "new", "fileText": "n".repeat(100_000) })),
        answer_shell("ls -A; wc -c < f; tr -d o < f | wc -c; cat small"),
        answer_text("done"),
    ]);
    let script = format!(
        "mount -t tmpfs -o size=64k none \"$KEPT/project\"; cd \"$PWD\"; printf {old} > f; echo x > small"
    );
    let output = after_mounts(scene.print(["--force"]), &scene.workspace, &script).run().succeeded();
    let stream = output.stream();
    let results: Vec<&Value> = stream.completed().iter().map(|(_, body)| &body["result"]).collect();
    for refused in &results[..3] {
        assert!(
            refused["error"]["errorMessage"].to_string().contains("the disk is full (ENOSPC)"),
            "{refused}"
        );
    }
    assert_eq!(results[3]["success"]["stdout"], "f\nsmall\n40000\n0\nx\n");
}
