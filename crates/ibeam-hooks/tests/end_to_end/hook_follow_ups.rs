//! Hooks that continue a run, hooks that ask a model, hooks of sub-agents, and `ibeam hooks`.

use std::fs;

use ibeam_testkit::hook_files::{scene_with_hooks, write_hooks};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, result};
use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

/// Returns a command that prints this JSON.
fn print(json: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{json}'")
}

/// Returns hooks of `stop` that always continue the run.
fn follow_up(keys: Value) -> Value {
    let mut hook = json!({"command": print(&json!({"followup_message": "again"}))});
    hook.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    json!({"stop": [hook]})
}

#[test]
fn a_follow_up_continues_the_run_up_to_its_limit() {
    for (keys, limit) in [(json!({"loop_limit": 2}), 2), (json!({}), 5), (json!({"loop_limit": 0}), 0)] {
        let answers = (0..8).map(|number| answer_text(&format!("answer {number}")));
        let scene = scene_with_hooks(answers, &follow_up(keys));
        let output = scene.print::<&str>([]).run().succeeded();
        let requests = scene.server.requests();
        assert_eq!(requests.len(), limit + 1, "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings.len() == 1 && warnings[0].contains(&format!("`loop_limit` is {limit}")), "{output}");
        if let Some(last) = requests.get(limit).filter(|_| limit > 0) {
            assert!(last.transcript().join("\n").contains("user: again"));
        }
    }
}

/// The answers to the prompt and to the message of a hook are two messages.
#[test]
fn a_continued_run_is_printed_replayed_and_resumed() {
    let hooks = follow_up(json!({"loop_limit": 1}));
    let answers = || [answer_text("first"), answer_text("second")];
    let scene = scene_with_hooks(answers(), &hooks);
    let text = scene.print(["--output-format", "text"]).run().succeeded();
    assert_eq!(text.stdout, "second\n", "{text}");
    let scene = scene.with_answers(answers());
    let segments = scene.print(["--contract", "2", "--output-format", "stream-json"]).run().succeeded();
    assert_eq!(
        segments.stream().deltas(),
        ["firstsecond"],
        "a segment is the text between calls: {segments}"
    );
    let scene = scene.with_answers(answers());
    let output = scene.print::<&str>([]).run().succeeded();
    let session = output.stream().session_id().to_owned();
    let replayed = scene.ibeam_without_model(["replay", &session]).run().succeeded();
    assert_eq!(replayed.stream().deltas(), ["first", "second"], "{replayed}");
    scene.ibeam_without_model(["sessions", "check", &session]).run().succeeded();
    let scene = scene.with_answers(answers());
    scene.print(["--resume", &session]).run().succeeded();
    let transcript = scene.server.requests()[0].transcript();
    let expect = ["user: do it", "assistant: first", "user: again", "assistant: second", "user: do it"];
    assert_eq!(transcript, expect);
}

/// Without a limit of its own, a hook is bounded by the limits of the run.
#[test]
fn a_follow_up_without_limit_ends_with_the_limits_of_the_run() {
    let answers = (0..9).map(|number| answer_text(&format!("answer {number}")));
    let scene = scene_with_hooks(answers, &follow_up(json!({"loop_limit": null})));
    let output = scene.print(["--max-turns", "7"]).run();
    assert_eq!(scene.server.requests().len(), 7, "{output}");
    assert_ne!(output.code, Some(0), "{output}");
}

#[test]
fn a_failed_run_is_not_continued() {
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"; printf '{\"followup_message\": \"again\"}'";
    let hooks = json!({"stop": [{"command": log}]});
    let scene = scene_with_hooks([Answer::error(400, "invalid_request_error", "no")], &hooks);
    scene.print::<&str>([]).run();
    assert_eq!(scene.server.requests().len(), 1);
    let log = scene.workspace.read("log").unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("\"status\":\"error\""), "{log}");
}

/// A prompt asks a model, which decides.
#[test]
fn a_prompt_refuses_or_accepts_a_call() {
    for (verdict, arm) in [
        (r#"{"ok": false, "reason": "it changes files"}"#, "rejected"),
        ("```json\n{\"ok\": true}\n```", "success"),
    ] {
        let hooks =
            json!({"beforeShellExecution": [{"type": "prompt", "prompt": "Is this safe? $ARGUMENTS"}]});
        let answers = [answer_shell("echo a"), answer_text(verdict), answer_text("done")];
        let scene = scene_with_hooks(answers, &hooks);
        let output = scene.print(["--force"]).run().succeeded();
        let (found, payload) = result(&output);
        assert_eq!(found, arm, "{output}");
        if arm == "rejected" {
            assert_eq!(payload["reason"], "it changes files");
        }
        // The run and its hook made three requests, to the same model; two of them were turns.
        let stream = output.stream();
        let (totals, model) = (&stream.last()["ibeam"], &stream.last()["ibeam"]["models"][0]);
        assert_eq!((&totals["turns"], &model["requests"]), (&json!(2), &json!(3)), "{output}");
        let requests = scene.server.requests();
        let asked = requests[1].transcript().join("\n");
        assert!(asked.contains("Is this safe? {") && asked.contains("\"command\":\"echo a\""), "{asked}");
        assert!(requests[1].body["tools"].as_array().is_none_or(Vec::is_empty));
        assert!(requests[1].body["max_tokens"].as_u64().unwrap() <= 2048);
        assert!(
            !requests[2].transcript().join("\n").contains("Is this safe?"),
            "not part of the conversation"
        );
    }
}

/// Each answer has 110 tokens, so the limit is reached only with those of the prompt.
#[test]
fn the_tokens_of_a_prompt_count_towards_the_limits() {
    let hooks = json!({"beforeShellExecution": [{"type": "prompt", "prompt": "Is this safe?"}]});
    let answers = [answer_shell("echo a"), answer_text("{\"ok\": true}"), answer_text("done")];
    let scene = scene_with_hooks(answers, &hooks);
    let output = scene.print(["--force", "--max-tokens", "200"]).run();
    assert_eq!(output.code, Some(30), "{output}");
    assert_eq!(scene.server.requests().len(), 2, "{output}");
    let session = output.stream().session_id().to_owned();
    let replayed = scene.ibeam_without_model(["replay", &session]).run();
    assert_eq!(replayed.stream().last()["code"], "limit", "{replayed}");
}

#[test]
fn f179_a_prompt_without_a_decision_fails_open_or_closed() {
    for (fail_closed, arm) in [(false, "success"), (true, "rejected")] {
        let hook = json!({"type": "prompt", "prompt": "Is this safe?", "failClosed": fail_closed});
        let answers = [answer_shell("echo a"), answer_text("maybe"), answer_text("done")];
        let scene = scene_with_hooks(answers, &json!({"beforeShellExecution": [hook]}));
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(result(&output).0, arm, "{output}");
    }
}

#[test]
fn f179_a_prompt_that_is_not_answered_in_time_has_failed() {
    let hook = json!({"type": "prompt", "prompt": "Is this safe?", "timeout": 0.5, "failClosed": true});
    let answers = [answer_shell("echo a"), answer_text("{").stall(), answer_text("done")];
    let scene = scene_with_hooks(answers, &json!({"beforeShellExecution": [hook]}));
    let output = scene.print(["--force"]).run().succeeded();
    let (arm, payload) = result(&output);
    assert_eq!(arm, "rejected", "{output}");
    assert!(payload["reason"].as_str().unwrap().contains("did not answer within 0.5 s"), "{payload}");
}

/// Returns a scene with sub-agents and these hooks.
fn subagent_scene(answers: impl IntoIterator<Item = Answer>, hooks: &Value) -> Scene {
    let workspace = Workspace::new().user_config("subagents.mode = \"enabled\"\n");
    let scene = Scene::new(answers).with_workspace(workspace);
    write_hooks(&scene.workspace, hooks);
    scene
}

fn answer_task() -> Answer {
    answer_call("t1", "task", &json!({"description": "look", "prompt": "Look at it."}))
}

#[test]
fn a_hook_refuses_a_sub_agent() {
    let command = "cat >> \"$IBEAM_PROJECT_DIR/log\"; echo not now >&2; exit 2";
    let hooks = json!({"subagentStart": [{"command": command, "matcher": "^generalPurpose$"}]});
    let scene = subagent_scene([answer_task(), answer_text("done")], &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "not now"})), "{output}");
    assert_eq!(scene.server.requests().len(), 2);
    let payload: Value = serde_json::from_str(&scene.workspace.read("log").unwrap()).unwrap();
    assert_eq!((&payload["task"], &payload["tool_call_id"]), (&json!("Look at it."), &json!("t1")));
    assert_eq!(payload["parent_conversation_id"], *output.stream().session_id());
}

#[test]
fn a_hook_continues_a_sub_agent() {
    let log = "tee -a \"$IBEAM_PROJECT_DIR/log\" | grep -q '\"loop_count\":0' && \
               printf '{\"followup_message\": \"look again\"}'; exit 0";
    let hooks = json!({"subagentStop": [{"command": log}], "stop": [{"command": "echo >> \"$IBEAM_PROJECT_DIR/stops\""}]});
    let answers = [answer_task(), answer_text("Empty."), answer_text("Still empty."), answer_text("done")];
    let scene = subagent_scene(answers, &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4, "{output}");
    assert!(requests[2].transcript().join("\n").contains("user: look again"));
    assert!(requests[3].transcript().join("\n").contains("Still empty."));
    let log = scene.workspace.read("log").unwrap();
    let payloads: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(payloads.len(), 2, "{log}");
    assert_eq!((&payloads[1]["summary"], &payloads[1]["loop_count"]), (&json!("Still empty."), &json!(1)));
    assert_eq!(
        scene.workspace.read("stops").as_deref(),
        Some("\n"),
        "the hooks of `stop` run for the run only"
    );
}

/// The fixtures have hooks of both formats.
fn scene_of_both_formats() -> Scene {
    let scene = scene_with_hooks(
        [],
        &json!({"preToolUse": [
            {"command": "echo no >&2; exit 2", "matcher": "Shell"},
            {"command": "exit 1", "matcher": "Write", "failClosed": true},
        ]}),
    );
    let claude = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "grep -q '\"command\":\"echo hello\"' || exit 2"}]}]}});
    let path = scene.workspace.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, claude.to_string()).unwrap();
    scene
}

#[test]
fn the_hooks_of_both_formats_are_listed() {
    let scene = scene_of_both_formats();
    let output = scene.ibeam_without_model(["hooks", "list"]).run().succeeded();
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{output}");
    assert!(lines[0].starts_with("preToolUse  Shell  command: echo no") && lines[0].contains("hooks.json"));
    assert!(lines[2].starts_with("PreToolUse  ^(?:Bash)$  command: grep"), "{output}");
    let output = scene.ibeam_without_model(["hooks", "list", "--format", "json"]).run().succeeded();
    let listed: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(listed["hooks"][2]["event"], "PreToolUse");
}

#[test]
fn the_hooks_of_an_event_can_be_tried() {
    let scene = scene_of_both_formats();
    let trial = |args: &[&str]| {
        let args = [&["hooks", "test", "preToolUse", "--format", "json"], args].concat();
        let output = scene.ibeam_without_model(args).run().succeeded();
        let tried: Value = serde_json::from_str(&output.stdout).unwrap();
        let hooks = tried["hooks"].as_array().unwrap().clone();
        hooks
            .iter()
            .map(|hook| hook.pointer("/result/decision").cloned().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    assert_eq!(trial(&[]), [json!("deny"), json!(null), json!("continue")]);
    let path = scene.workspace.path().join("input.json");
    fs::write(&path, r#"{"tool_name": "Write", "tool_input": {"path": "a"}}"#).unwrap();
    let input = path.to_str().unwrap();
    assert_eq!(trial(&["--input", input]), [json!(null), json!("failed, deny"), json!(null)]);
    let output = scene.ibeam_without_model(["hooks", "test", "PreToolUse"]).run().succeeded();
    assert!(output.stdout.contains("decision: deny") && output.stdout.contains("exit code: 2"), "{output}");
    assert!(output.stdout.contains("the hook was not run"), "{output}");
}

#[test]
fn an_unknown_event_and_an_invalid_input_are_errors() {
    let scene = scene_of_both_formats();
    let output = scene.ibeam_without_model(["hooks", "test", "beforeLunch"]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("`beforeLunch`") && output.stderr.contains("preToolUse"), "{output}");
    fs::write(scene.workspace.path().join("input.json"), "[]").unwrap();
    let output = scene.ibeam_without_model(["hooks", "test", "stop", "--input", "input.json"]).run();
    assert_eq!(output.code, Some(65), "{output}");
    assert!(output.stderr.contains("error: `input.json:1:"), "{output}");
    assert!(output.stderr.contains("is not a JSON object\nhint: the object has the fields"), "{output}");
}

/// The examples of docs/hooks.md: a hook file and settings of Claude Code.
#[test]
fn the_examples_of_the_page_are_hooks() {
    let page = include_str!("../../../../docs/hooks.md");
    let blocks: Vec<&str> =
        page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let scene = Scene::new([]);
    for (name, text) in [".cursor/hooks.json", ".claude/settings.json"].into_iter().zip(&blocks) {
        let path = scene.workspace.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let output = scene.ibeam_without_model(["hooks", "list"]).run().succeeded();
    assert_eq!((output.stdout.lines().count(), output.stderr.as_str()), (5, ""), "{output}");
    let script = scene.workspace.home().join(".cursor/no-deploys.sh");
    fs::write(&script, "#!/bin/sh\necho no deploys >&2\nexit 2\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let scene = scene.with_answers([answer_text("{\"ok\": true}")]);
    fs::write(scene.workspace.path().join("input.json"), r#"{"command": "terraform apply"}"#).unwrap();
    let args = ["hooks", "test", "beforeShellExecution", "--input", "input.json", "--format", "json"];
    let output = scene.ibeam(args).run().succeeded();
    let tried: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(tried["hooks"][0]["result"]["message"], "no deploys", "{output}");
    assert_eq!(tried["hooks"][1]["result"]["decision"], "continue", "{output}");
}
