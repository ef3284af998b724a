//! Features of Codex other than its stream: files, session ids, login status.

use ibeam_testkit::Answer;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::{Value, json};

use super::dialect::events;

/// Returns the program under the dialect, with the model of the scene.
fn codex(scene: &Scene, json: bool, args: &[&str]) -> ibeam_testkit::Ibeam {
    let json: &[&str] = if json { &["--json"] } else { &[] };
    let program =
        scene.ibeam_without_model(["--dialect", "codex", "exec", "--skip-git-repo-check"]).args(json);
    program.args(args).env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "key")
}

#[test]
fn codex_writes_its_last_message_to_a_file() {
    let answers = || {
        [answer_text("Looking.").call("t1", "read", &json!({ "path": "a.txt" })), answer_text("All done.")]
    };
    for json in [true, false] {
        let scene = Scene::new(answers());
        let last = scene.workspace.outside().join("last.txt");
        std::fs::write(&last, "of an earlier run, and longer").unwrap();
        let flags = ["-o", last.to_str().unwrap(), "--model", "claude-sonnet-4-6", "do it"];
        let output = codex(&scene, json, &flags).run().succeeded();
        assert_eq!(std::fs::read_to_string(&last).unwrap(), "All done.", "{output}");
        assert_eq!(!json, output.stdout == "All done.\n", "{output}");
    }
}

#[test]
fn codex_does_not_write_its_last_message_if_a_run_fails() {
    let failing = [answer_call("t1", "read", &json!({ "path": "a.txt" })), Answer::error(400, "bad", "no")];
    let scene = Scene::new(failing);
    let last = scene.workspace.outside().join("last.txt");
    std::fs::write(&last, "of an earlier run").unwrap();
    let flags = ["--output-last-message", last.to_str().unwrap(), "--model", "claude-sonnet-4-6", "do it"];
    let output = codex(&scene, true, &flags).run();
    assert_eq!(output.code, Some(22), "{output}");
    assert_eq!(std::fs::read_to_string(&last).unwrap(), "of an earlier run");
}

#[test]
fn codex_succeeds_if_its_last_message_cannot_be_written() {
    let fifo_scene = Scene::new([]);
    let fifo = fifo_scene.workspace.outside().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.to_str().unwrap(), "/nowhere/last.txt"] {
        let scene = Scene::new([answer_text("Fine.")]);
        let flags = ["-o", path, "--model", "claude-sonnet-4-6", "do it"];
        let output = codex(&scene, false, &flags).run().succeeded();
        assert_eq!(output.stdout, "Fine.\n", "{output}");
        let warned = output.stderr_lines("warning: cannot write the last message to ");
        assert_eq!(warned.len(), 1, "{output}");
    }
}

#[test]
fn codex_prints_its_session_id_on_stderr_if_stdout_is_the_answer() {
    let scene = Scene::new([answer_text("One.")]);
    let flags = ["--model", "claude-sonnet-4-6"];
    let output = codex(&scene, false, &[&flags[..], &["first"]].concat()).run().succeeded();
    let id = output.stderr_lines("session id: ").remove(0).replace("session id: ", "");
    let scene = scene.with_answers([answer_text("Two.")]);
    let output = codex(&scene, true, &[&flags[..], &["resume", &id, "second"]].concat()).run().succeeded();
    assert_eq!(events(&output)[0]["thread_id"], id.as_str());
    assert!(output.stderr_lines("session id: ").is_empty(), "{output}");
}

#[test]
fn resuming_an_unknown_session_fails_as_in_the_dialect() {
    let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    for name in [id, "a-name"] {
        let scene = Scene::new([]);
        let output = codex(&scene, true, &["resume", name, "go on"]).run();
        let message = format!("no rollout found for thread id {name}");
        assert_eq!((output.code, output.stderr.contains(&message)), (Some(66), true), "{output}");
        assert_eq!(events(&output).last().unwrap()["error"]["message"], message, "{output}");
    }
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["--dialect", "claude", "-p", "--resume", id, "go on"]).run();
    let message = format!("No conversation found with session ID: {id}");
    assert_eq!((output.code, output.stderr.contains(&message)), (Some(66), true), "{output}");
}

#[test]
fn codex_reports_whether_a_key_is_set() {
    let scene = Scene::new([]);
    let status = || scene.ibeam_without_model(["--dialect", "codex", "login", "status"]);
    let output = status().run();
    assert_eq!((output.code, output.stderr.trim()), (Some(1), "Not logged in"), "{output}");
    let output = status().env("OPENAI_API_KEY", "key").run().succeeded();
    assert!(output.stderr.starts_with("Logged in using an API key") && output.stdout.is_empty(), "{output}");
}

#[test]
fn codex_reports_searches_as_commands_and_changes_with_absolute_paths() {
    let scene = Scene::new([
        answer_call("t1", "read", &json!({ "path": "a.txt" })),
        answer_call("t2", "grep", &json!({ "pattern": "needle" })),
        answer_call("t3", "write", &json!({ "path": "b.txt", "fileText": "x" })),
        answer_text("Done."),
    ]);
    std::fs::write(scene.workspace.path().join("a.txt"), "one\nneedle\n").unwrap();
    let flags = ["--sandbox", "workspace-write", "--model", "claude-sonnet-4-6", "do it"];
    let output = codex(&scene, true, &flags).run().succeeded();
    let lines = events(&output);
    let items = |kind: &str| -> Vec<&Value> {
        let is_kind = |line: &&Value| line["type"] == "item.completed" && line["item"]["type"] == kind;
        lines.iter().filter(is_kind).map(|line| &line["item"]).collect()
    };
    let commands = items("command_execution");
    assert_eq!(commands.len(), 2, "{output}");
    assert_eq!((&commands[0]["command"], &commands[0]["exit_code"]), (&json!("cat a.txt"), &json!(0)));
    assert_eq!(commands[0]["aggregated_output"], "one\nneedle\n", "{output}");
    assert!(commands[1]["aggregated_output"].as_str().unwrap().contains("needle"), "{output}");
    let path = items("file_change")[0]["changes"][0]["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with('/') && path.ends_with("/b.txt"), "{path}");
    assert!(items("mcp_tool_call").is_empty(), "{output}");
}

#[test]
fn codex_stores_no_ephemeral_session() {
    let scene = Scene::new([answer_text("One.")]);
    let flags = ["--model", "claude-sonnet-4-6"];
    let output = codex(&scene, true, &[&flags[..], &["--ephemeral", "do it"]].concat()).run().succeeded();
    let id = events(&output)[0]["thread_id"].as_str().unwrap().to_owned();
    let output = codex(&scene, true, &[&flags[..], &["resume", &id, "go on"]].concat()).run();
    assert_eq!(output.code, Some(66), "{output}");
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn codex_writes_an_answer_that_follows_the_schema_or_fails() {
    let model = ["--model", "claude-sonnet-4-6"];
    let flags = ["--output-schema", "schema.json", model[0], model[1], "Which city?"];
    let schema = r#"{ "type": "object", "required": ["city"] }"#;
    let scene = Scene::new([answer_text("Paris"), answer_text(r#"{"city":"Paris"}"#)]);
    std::fs::write(scene.workspace.path().join("schema.json"), schema).unwrap();
    let output = codex(&scene, false, &flags).run().succeeded();
    assert_eq!(output.stdout, "{\"city\":\"Paris\"}\n", "{output}");

    let scene = Scene::new([answer_text("Paris"), answer_text("Paris"), answer_text("Paris")]);
    std::fs::write(scene.workspace.path().join("schema.json"), schema).unwrap();
    let output = codex(&scene, true, &flags).run();
    assert_eq!(output.code, Some(1), "{output}");
    let lines = events(&output);
    assert_eq!(lines.last().unwrap()["type"], "turn.failed", "{output}");
}
