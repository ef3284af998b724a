//! Hooks in the settings of Claude Code: their payloads, what their decisions do, and the files that count.

use std::fs;
use std::path::Path;

use ibeam_testkit::Answer;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, result};
use serde_json::{Value, json};

/// Returns hooks of an event with one command and a matcher.
fn group(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 30}]}])
}

fn write_settings(path: &Path, hooks: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let settings = json!({"permissions": {"allow": ["Bash(ls)"]}, "model": "opus", "hooks": hooks});
    fs::write(path, settings.to_string()).unwrap();
}

/// Returns a scene with these hooks in the settings of the user.
fn scene(answers: impl IntoIterator<Item = Answer>, hooks: &Value) -> Scene {
    let scene = Scene::new(answers);
    write_settings(&scene.workspace.home().join(".claude/settings.json"), hooks);
    scene
}

/// Returns a command that prints this JSON.
fn print(json: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{json}'")
}

/// Returns a decision about a call.
fn decision(decision: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": "use make"}})
}

#[test]
fn a_hook_refuses_a_call_by_its_decision_or_by_exit_code_2() {
    for (command, matcher) in [
        (print(&decision("deny")), "Bash"),
        (print(&decision("ask")), "Write|Bash"),
        (print(&json!({"decision": "block", "reason": "use make"})), "^B.sh"),
        (print(&json!({"continue": false, "stopReason": "use make"})), "*"),
        ("echo use make >&2; exit 2".to_owned(), ""),
    ] {
        let hooks = json!({"PreToolUse": group(matcher, &command)});
        let scene = scene([answer_shell("touch made"), answer_text("done")], &hooks);
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "use make"})), "{output}");
        assert_eq!(scene.workspace.read("made"), None);
    }
}

/// `allow` leaves the decision to the rules.
#[test]
fn a_hook_allows_nothing_that_the_rules_refuse() {
    let hooks = json!({"PreToolUse": group("*", &print(&decision("allow")))});
    let scene = scene([answer_shell("touch made"), answer_text("done")], &hooks);
    let output = scene.print(["--force", "--deny", "Shell(touch)"]).run().succeeded();
    assert_eq!(result(&output).0, "rejected", "{output}");
}

#[test]
fn a_matcher_selects_tools_by_their_names_in_claude_code() {
    let hooks = json!({"PreToolUse": group("Write|Ba", "exit 2")});
    let scene = scene([answer_shell("echo a"), answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).0, "success", "{output}");
}

#[test]
fn a_hook_replaces_the_input_in_the_form_of_claude_code() {
    let input = json!({"hookSpecificOutput": {"updatedInput": {"command": "echo changed"}}});
    let hooks = json!({"PreToolUse": group("Bash", &print(&input))});
    let scene = scene([answer_shell("echo asked"), answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).1["stdout"], "changed\n", "{output}");
}

#[test]
fn every_event_has_the_payload_of_claude_code() {
    let log = "cat >> \"$CLAUDE_PROJECT_DIR/log\"";
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ];
    let hooks: Value = events.iter().map(|event| (*event, group("", log))).collect();
    let answer = answer_shell("echo out")
        .call("w", "write", &json!({"path": "a.txt", "fileText": "new\n"}))
        .call("f", "shell", &json!({"command": "exit 3"}));
    let scene = scene([answer, answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(output.stderr, "", "{output}");
    let log = scene.workspace.read("log").unwrap();
    let payloads: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| {
        payloads.iter().filter(|payload| payload["hook_event_name"] == *name).collect::<Vec<_>>()
    };
    for event in events {
        assert!(!of(event).is_empty(), "{event} {log}");
    }
    for payload in &payloads {
        assert_eq!(payload["session_id"], *output.stream().session_id());
        assert_eq!(payload["cwd"], scene.workspace.path().to_str().unwrap());
        assert_eq!(
            (&payload["permission_mode"], &payload["transcript_path"]),
            (&json!("bypassPermissions"), &json!(""))
        );
    }
    assert_eq!(of("SessionStart")[0]["source"], "startup");
    assert_eq!(of("UserPromptSubmit")[0]["prompt"], "do it");
    let before = of("PreToolUse");
    assert_eq!((&before[0]["tool_name"], &before[0]["tool_use_id"]), (&json!("Bash"), &json!("toolu_shell")));
    assert_eq!(before[0]["tool_input"]["command"], "echo out");
    let path = scene.workspace.path().join("a.txt");
    let write = before.iter().find(|payload| payload["tool_name"] == "Write").unwrap();
    assert_eq!(write["tool_input"]["file_path"], path.to_str().unwrap());
    assert_eq!(write["tool_input"]["content"], "new\n");
    assert!(of("PostToolUse")[0]["tool_response"].to_string().contains("out"), "{log}");
    assert!(of("PostToolUseFailure")[0]["error"].as_str().unwrap().contains('3'), "{log}");
    assert_eq!(of("Stop")[0]["last_assistant_message"], "done");
    assert_eq!(of("Stop")[0]["stop_hook_active"], false);
}

#[test]
fn context_at_a_prompt_and_after_a_call_reaches_the_model() {
    let after = json!({"decision": "block", "reason": "format the file"});
    let hooks = json!({
        "SessionStart": group("startup", "echo start text"),
        "UserPromptSubmit": group("", "echo prompt text"),
        "PostToolUse": group("Write|Edit", &print(&after)),
    });
    let write = answer_call("w", "write", &json!({"path": "a.txt", "fileText": "new\n"}));
    let scene = scene([write, answer_text("done")], &hooks);
    scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    let first = requests[0].transcript().join("\n");
    assert!(first.contains("start text") && first.contains("prompt text"), "{first}");
    let second = requests[1].transcript().join("\n");
    assert!(second.contains("format the file"), "{second}");
}

#[test]
fn a_hook_of_the_stop_continues_the_run() {
    let command = "if grep -q '\"stop_hook_active\":false'; then echo run the tests >&2; exit 2; fi";
    let scene = scene([answer_text("one"), answer_text("two")], &json!({"Stop": group("", command)}));
    let output = scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 2, "{output}");
    assert!(requests[1].transcript().join("\n").contains("user: run the tests"), "{output}");
}

/// The author of a project's settings is unknown.
#[test]
fn hooks_of_a_project_run_only_in_a_trusted_workspace() {
    for name in ["settings.json", "settings.local.json"] {
        let hooks = json!({"PreToolUse": group("Bash", "touch ran; exit 2")});
        let scene = Scene::new([answer_shell("ls"), answer_text("done")]);
        write_settings(&scene.workspace.path().join(".claude").join(name), &hooks);
        let output = scene.print(["--allow", "Shell(ls)"]).run().succeeded();
        assert_eq!(scene.workspace.read("ran"), None, "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings.len() == 1 && warnings[0].contains(name), "{output}");
        let scene = scene.with_answers([answer_shell("ls"), answer_text("done")]);
        let output = scene.print(["--allow", "Shell(ls)", "--trust"]).run().succeeded();
        assert_eq!(scene.workspace.read("ran").as_deref(), Some(""), "{output}");
        // A change ends the trust.
        write_settings(&scene.workspace.path().join(".claude").join(name), &json!({}));
        let scene = scene.with_answers([answer_text("done")]);
        let output = scene.print::<&str>([]).run().succeeded();
        assert!(output.stderr_lines("warning: ")[0].contains(name), "{output}");
    }
}

/// Settings without hooks are not a reason for a warning.
#[test]
fn settings_of_a_project_without_hooks_have_no_effect() {
    let scene = Scene::new([answer_text("done")]);
    write_settings(&scene.workspace.path().join(".claude/settings.json"), &json!({}));
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr, "");
}

#[test]
fn invalid_settings_end_the_run_with_their_position() {
    let scene = Scene::new([]);
    let path = scene.workspace.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"hooks\": {\n\"Stop\": 1}}").unwrap();
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(78), "{output}");
    assert!(output.stderr.contains(&format!("{}:2", path.display())), "{output}");
}

#[test]
fn hooks_that_are_not_supported_are_named() {
    let hooks = json!({
        "Notification": group("", "true"),
        "PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2", "if": "Bash(git *)"}]}],
    });
    let scene = scene([answer_text("done")], &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert_eq!(warnings.len(), 1, "{output}");
    assert!(warnings[0].contains("Notification, PreToolUse with `if`"), "{output}");
}
