//! Workspaces that are removed, replaced or on a full disk.

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

use super::{after_mounts, can_mount};

#[test]
fn f087_a_removed_workspace_is_reported_and_ends_the_run() {
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
fn f087_a_removed_workspace_is_not_a_success_even_without_another_call() {
    // There is no second request, because the model could not answer for this workspace.
    let scene = Scene::new([answer_shell("rm -rf \"$PWD\""), answer_text("done")]);
    let output = scene.print(["--force", "--sandbox", "disabled", "--output-format", "json"]).run();
    assert_eq!(output.code, Some(66), "{output}");
    assert!(!output.stdout.contains("success"), "{output}");
}

#[test]
fn f088_a_workspace_whose_path_was_replaced_stays_in_use() {
    let write = answer_call("toolu_2", "write", &json!({ "path": "etc/new", "fileText": "x" }));
    let read = answer_call("toolu_3", "read", &json!({ "path": "etc/f" }));
    let list = answer_call("toolu_4", "ls", &json!({ "path": "etc" }));
    // In a script, because policy reads only the text of the command.
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
    // `ls` uses the path, which now leads to another directory.
    assert!(results[3].to_string().contains("the workspace was moved"), "{output}");
}

/// Mounts a disk of a few megabytes for the workspace, the home directory and the journal.
const SMALL_DISK: &str =
    "mount -t tmpfs -o size=4m none \"$OUTSIDE\"; mkdir \"$OUTSIDE/project\" \"$OUTSIDE/home\"";

#[test]
fn f083_a_command_that_fills_the_disk_ends_the_run_with_a_complete_journal() {
    if !can_mount() {
        return;
    }
    let fills = answer_shell("head -c 100m /dev/zero > fill; echo \"ended $?\"");
    // The following text is larger than the space that is reserved for the end of the run.
    let long_answers = (0..100).map(|number| {
        let command = json!({ "command": format!("echo {number}") });
        Answer::new().text("s".repeat(40_000)).call(&format!("toolu_{number}"), "shell", &command)
    });
    let scene = Scene::new([fills].into_iter().chain(long_answers));
    // The journal is copied inside the namespace, because the disk ends with the namespace.
    let copy = tempfile::tempdir().unwrap();
    let script = format!(
        "{SMALL_DISK}; cd \"$PWD\"; code=0; \"$@\" || code=$?; \
         cp -r \"$OUTSIDE/home/.local/share/ibeam/sessions/.\" \"$COPY\"; exit $code"
    );
    let ibeam = scene.print(["--force"]).env("COPY", copy.path()).env("OUTSIDE", scene.workspace.outside());
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
    let journal = copy.path().join(stream.session_id()).join("events.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.ends_with('\n'), "the last record is torn");
    assert_eq!(journal.matches("\"tool_call_finished\"").count(), printed, "{journal}");
    assert_eq!(journal.matches("\"run_finished\"").count(), 1, "{journal}");
}

#[test]
fn f106_a_write_on_a_full_disk_leaves_the_old_file() {
    if !can_mount() {
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
        "mount -t tmpfs -o size=64k none \"$OUTSIDE/project\"; cd \"$PWD\"; printf {old} > f; echo x > small"
    );
    let output = after_mounts(scene.print(["--force"]), &scene.workspace, &script).run().succeeded();
    let stream = output.stream();
    let results: Vec<&Value> = stream.completed().iter().map(|(_, body)| &body["result"]).collect();
    for result in &results[..3] {
        assert!(
            result["error"]["errorMessage"].to_string().contains("the disk is full (ENOSPC)"),
            "{result}"
        );
    }
    assert_eq!(results[3]["success"]["stdout"], "f\nsmall\n40000\n0\nx\n");
}
