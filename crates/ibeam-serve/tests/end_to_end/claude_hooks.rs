//! Hooks of a host that uses the control protocol of Claude Code: when they are called, and effects of their answers.

use ibeam_protocol::Signal;
use ibeam_testkit::hook_files::{scene_with_hooks, write_hooks};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, RunningProgram, Stdin};
use serde_json::{Value, json};

use super::claude::{answers, response};
use super::dialect::{SDK, claude, events, prompt, request};

const ACCEPT_EDITS: [&str; 2] = ["--permission-mode", "acceptEdits"];

fn write(text: &str) -> Answer {
    answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": text }))
}

/// Returns a configuration with the hook `hook_0` for one event.
fn one_hook(event: &str, matcher: &str) -> Value {
    json!({ event: [{ "matcher": matcher, "hookCallbackIds": ["hook_0"] }] })
}

/// Starts a host with these hooks and one prompt.
fn start(scene: &Scene, flags: &[&str], hooks: &Value) -> RunningProgram {
    let running = claude(scene, &[&SDK[..], &ACCEPT_EDITS, flags].concat()).stdin(Stdin::SilentPipe).start();
    running.type_text(&request("r1", &json!({ "subtype": "initialize", "hooks": hooks })));
    running.type_text(&prompt("do it"));
    running
}

/// Answers the call of a hook with the number `id`.
fn answer_hook(running: &RunningProgram, id: usize, answer: &Value) {
    let id = format!("hook-{id}");
    running.wait_for_stdout(&format!("\"request_id\":\"{id}\""));
    running.type_text(&response(&id, answer));
}

/// Waits for the end of the run, and ends the program.
fn finish(running: RunningProgram) -> ProgramOutput {
    running.wait_for_stdout("\"type\":\"result\"");
    running.signal(Signal::Term);
    running.finish()
}

/// Returns the requests to the host that have this subtype.
fn host_requests<'a>(lines: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    lines.iter().map(|line| &line["request"]).filter(|request| request["subtype"] == subtype).collect()
}

fn decision(decision: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

/// Returns the transcript of the second request to the model.
fn second_request(scene: &Scene) -> String {
    scene.server.requests()[1].transcript().join("\n")
}

#[test]
fn a_hook_of_the_host_refuses_a_call() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let running = start(&scene, &[], &one_hook("PreToolUse", "Write|Edit"));
    answer_hook(&running, 0, &decision("deny", "not this file"));
    let output = finish(running);
    let lines = events(&output);
    assert_eq!(answers(&lines)[0].1["subtype"], "success", "{output}");
    let [request] = host_requests(&lines, "hook_callback")[..] else { panic!("{output}") };
    assert_eq!(
        (&request["callback_id"], &request["tool_use_id"]),
        (&json!("hook_0"), &json!("t1")),
        "{output}"
    );
    let input = &request["input"];
    let directory = scene.workspace.path().canonicalize().unwrap();
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(input["tool_name"], "Write");
    let expect = json!({ "file_path": directory.join("a.txt"), "content": "x" });
    assert_eq!(input["tool_input"], expect, "{output}");
    assert_eq!(input["cwd"], json!(directory));
    assert_eq!(input["permission_mode"], "acceptEdits");
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(input["session_id"], init["session_id"]);
    assert_eq!(scene.workspace.read("a.txt"), None);
    assert!(second_request(&scene).contains("not this file"), "{output}");
}

#[test]
fn a_hook_of_the_host_is_called_for_equivalent_tools() {
    let scene = Scene::new([answer_call("t1", "delete", &json!({ "path": "a.txt" })), answer_text("Done.")]);
    std::fs::write(scene.workspace.path().join("a.txt"), "x").unwrap();
    let running = start(&scene, &[], &one_hook("PreToolUse", "Write|Edit"));
    answer_hook(&running, 0, &json!({ "decision": "block", "reason": "keep it" }));
    let output = finish(running);
    assert_eq!(scene.workspace.read("a.txt").as_deref(), Some("x"), "{output}");
    assert!(second_request(&scene).contains("keep it"), "{output}");
}

#[test]
fn an_updated_input_of_a_hook_is_executed() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let hooks = json!({
        "PreToolUse": [{ "matcher": "Write", "hookCallbackIds": ["hook_0"] }],
        "PostToolUse": [{ "hookCallbackIds": ["hook_1"] }],
        "Stop": [{ "hookCallbackIds": ["hook_2"] }],
        "UserPromptSubmit": [{ "hookCallbackIds": ["hook_3"] }],
    });
    let running = start(&scene, &[], &hooks);
    let context = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": "it is Monday" });
    answer_hook(&running, 0, &json!({ "hookSpecificOutput": context }));
    let updated = json!({ "updatedInput": { "file_path": "b.txt", "content": "y" } });
    answer_hook(&running, 1, &json!({ "hookSpecificOutput": updated }));
    let context = json!({ "hookEventName": "PostToolUse", "additionalContext": "of no use" });
    answer_hook(&running, 2, &json!({ "hookSpecificOutput": context }));
    answer_hook(&running, 3, &json!({}));
    let output = finish(running);
    let lines = events(&output);
    let requests = host_requests(&lines, "hook_callback");
    let events: Vec<&Value> = requests.iter().map(|request| &request["input"]["hook_event_name"]).collect();
    // An updated input does not call the hook again.
    assert_eq!(events, ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"], "{output}");
    assert_eq!(requests[0]["input"]["prompt"], "do it");
    assert_eq!((scene.workspace.read("a.txt"), scene.workspace.read("b.txt").as_deref()), (None, Some("y")));
    let post_tool_input = &requests[2]["input"];
    assert_eq!(post_tool_input["tool_input"]["content"], "y", "{output}");
    assert!(post_tool_input["tool_response"].to_string().contains("b.txt"), "{output}");
    let first = scene.server.requests()[0].transcript().join("\n");
    assert!(first.contains("it is Monday"), "{first}");
    assert!(
        output.stderr.contains("`additionalContext`") && output.stderr.contains("PostToolUse"),
        "{output}"
    );
}

#[test]
fn updated_inputs_are_converted_back() {
    let edit = json!({ "path": "a.txt", "strReplace": { "oldText": "x", "newText": "y" } });
    let todos = json!({ "todos": [{ "id": "1", "content": "look", "status": "in_progress" }] });
    let shell = json!({ "command": "echo one > c.txt", "timeout": 60_000 });
    let several = Answer::new().call("t1", "edit", &edit).call("t2", "update_todos", &todos);
    let scene = Scene::new([several.call("t3", "shell", &shell), answer_text("Done.")]);
    let path = scene.workspace.path().canonicalize().unwrap().join("a.txt");
    std::fs::write(&path, "x x").unwrap();
    let bypass = ["--permission-mode", "bypassPermissions"];
    let running = start(&scene, &bypass, &one_hook("PreToolUse", ""));
    let with = |input: &Value| json!({ "hookSpecificOutput": { "updatedInput": input } });
    let edited = json!({ "file_path": path, "old_string": "x", "new_string": "z", "replace_all": true });
    answer_hook(&running, 0, &with(&edited));
    let listed = json!({ "todos": [{ "id": "1", "content": "see", "status": "completed" }] });
    answer_hook(&running, 1, &with(&listed));
    answer_hook(&running, 2, &with(&json!({ "command": "echo two > c.txt" })));
    let output = finish(running);
    let lines = events(&output);
    let inputs: Vec<&Value> =
        host_requests(&lines, "hook_callback").iter().map(|request| &request["input"]).collect();
    let names: Vec<&Value> = inputs.iter().map(|input| &input["tool_name"]).collect();
    assert_eq!(names, ["Edit", "TodoWrite", "Bash"], "{output}");
    assert_eq!(inputs[0]["tool_input"]["old_string"], "x");
    assert_eq!(inputs[1]["tool_input"]["todos"][0]["status"], "in_progress");
    let command = &inputs[2]["tool_input"];
    assert_eq!((&command["command"], &command["timeout"]), (&json!("echo one > c.txt"), &json!(60_000)));
    assert!(command.get("toolCallId").is_none(), "{output}");
    assert_eq!(scene.workspace.read("a.txt").as_deref(), Some("z z"), "{output}");
    assert_eq!(scene.workspace.read("c.txt").as_deref(), Some("two\n"), "{output}");
    assert!(second_request(&scene).contains("see"), "{output}");
}

#[test]
fn a_hook_that_does_not_answer_in_time_refuses() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let hooks = json!({ "PreToolUse": [{ "hookCallbackIds": ["hook_0"], "timeout": 0.5 }] });
    let output = finish(start(&scene, &[], &hooks));
    assert_eq!(scene.workspace.read("a.txt"), None, "{output}");
    assert!(second_request(&scene).contains("no answer within 0.5 s"), "{output}");
    let is_cancelled =
        |line: &Value| line["type"] == "control_cancel_request" && line["request_id"] == "hook-0";
    assert!(events(&output).iter().any(is_cancelled), "{output}");
}

#[test]
fn a_hook_with_an_invalid_answer_refuses() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let running = start(&scene, &[], &one_hook("PreToolUse", "*"));
    answer_hook(&running, 0, &decision("perhaps", "why"));
    let output = finish(running);
    assert_eq!(scene.workspace.read("a.txt"), None, "{output}");
    assert!(second_request(&scene).contains("perhaps"), "{output}");
}

#[test]
fn a_hook_can_request_approval_by_the_host() {
    for behavior in ["allow", "deny"] {
        let scene = Scene::new([write("x"), answer_text("Done.")]);
        let running = start(&scene, &["--permission-prompt-tool", "stdio"], &one_hook("PreToolUse", "Write"));
        answer_hook(&running, 0, &decision("ask", "is it right?"));
        running.wait_for_stdout("\"request_id\":\"ask-t1\"");
        running.type_text(&response("ask-t1", &json!({ "behavior": behavior, "message": "no" })));
        let output = finish(running);
        let expect = (behavior == "allow").then_some("x");
        assert_eq!(scene.workspace.read("a.txt").as_deref(), expect, "{output}");
        let lines = events(&output);
        let reason = host_requests(&lines, "can_use_tool")[0]["decision_reason"].to_string();
        assert!(reason.contains("is it right?"), "{output}");
    }
}

#[test]
fn approval_of_a_hook_overrides_no_rule() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let running = start(&scene, &["--disallowedTools", "Write(a.txt)"], &one_hook("PreToolUse", "Write"));
    answer_hook(&running, 0, &decision("allow", "go on"));
    let output = finish(running);
    assert_eq!(scene.workspace.read("a.txt"), None, "{output}");
}

#[test]
fn hooks_of_the_user_run_before_those_of_the_host() {
    let scene = scene_with_hooks(
        [write("x"), answer_text("Done.")],
        &json!({ "preToolUse": [{ "command": "exit 2", "matcher": "Write" }] }),
    );
    let output = finish(start(&scene, &[], &one_hook("PreToolUse", "Write")));
    assert_eq!(scene.workspace.read("a.txt"), None, "{output}");
    assert!(host_requests(&events(&output), "hook_callback").is_empty(), "{output}");
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    write_hooks(&scene.workspace, &json!({ "preToolUse": [{ "command": "true", "matcher": "Write" }] }));
    let running = start(&scene, &[], &one_hook("PreToolUse", "Write"));
    answer_hook(&running, 0, &decision("deny", "not this file"));
    let output = finish(running);
    assert_eq!(scene.workspace.read("a.txt"), None, "{output}");
}

#[test]
fn a_hook_of_the_host_refuses_a_prompt() {
    let scene = Scene::new([answer_text("Done.")]);
    let running = start(&scene, &[], &one_hook("UserPromptSubmit", ""));
    answer_hook(&running, 0, &json!({ "decision": "block", "reason": "no such prompts" }));
    let output = finish(running);
    assert!(scene.server.requests().is_empty(), "{output}");
    let lines = events(&output);
    let result = lines.iter().find(|line| line["type"] == "result").unwrap();
    assert!(result["is_error"] == true && result.to_string().contains("no such prompts"), "{output}");
}

#[test]
fn hooks_of_the_host_receive_failures_of_executed_calls() {
    let missing = Answer::new().call("t1", "read", &json!({ "path": "missing.txt" }));
    let outside = json!({ "path": "/etc/a.txt", "fileText": "x" });
    let scene = Scene::new([missing.call("t2", "write", &outside), answer_text("Done.")]);
    let hooks = json!({
        "PostToolUse": [{ "hookCallbackIds": ["hook_0"] }],
        "PostToolUseFailure": [{ "matcher": "Read|Write", "hookCallbackIds": ["hook_1"] }],
    });
    let running = start(&scene, &[], &hooks);
    answer_hook(&running, 0, &json!({}));
    let output = finish(running);
    let lines = events(&output);
    let [request] = host_requests(&lines, "hook_callback")[..] else { panic!("{output}") };
    assert_eq!((&request["callback_id"], &request["input"]["tool_name"]), (&json!("hook_1"), &json!("Read")));
    let input = &request["input"];
    assert!(input["error"].to_string().contains("missing.txt") && input["duration_ms"].is_u64(), "{output}");
}

#[test]
fn a_hook_of_the_host_ends_the_run() {
    let scene = Scene::new([write("x"), answer_text("Done.")]);
    let running = start(&scene, &[], &one_hook("PostToolUse", ""));
    answer_hook(&running, 0, &json!({ "continue": false, "stopReason": "enough" }));
    let output = finish(running);
    let lines = events(&output);
    let result = lines.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!((&result["is_error"], scene.server.requests().len()), (&json!(true), 1), "{output}");
}

#[test]
fn hooks_that_are_never_called_are_left_out_with_a_warning() {
    let scene = Scene::new([answer_text("Hello.")]);
    let hooks = json!({ "SessionStart": [{ "hookCallbackIds": ["hook_0"] }] });
    let stdin = request("r1", &json!({ "subtype": "initialize", "hooks": hooks })) + &prompt("hi");
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&output);
    assert_eq!(answers(&lines)[0].1["subtype"], "success", "{output}");
    assert!(output.stderr.contains("warning: ") && output.stderr.contains("hooks SessionStart"), "{output}");
}
