//! Hooks from the view of their authors: their payloads, the effects of their output, and the files that count.

use std::fs;

use ibeam_testkit::Answer;
use ibeam_testkit::hook_files::{scene_with_hooks, write_file, write_hooks};
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_shell, answer_text, result};
use ibeam_testkit::stdio_mcp_server as mcp;
use serde_json::{Value, json};

/// Returns a command that prints this JSON.
fn print(json: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{json}'")
}

#[test]
fn a_hook_refuses_a_command_with_its_message() {
    for (event, subject) in
        [("beforeShellExecution", "^echo "), ("preToolUse", "Shell"), ("preToolUse", "*"), ("preToolUse", "")]
    {
        let deny = print(&json!({"permission": "deny", "user_message": "u", "agent_message": "use make"}));
        let hooks = json!({event: [{"command": deny, "matcher": subject}]});
        let scene = scene_with_hooks([answer_shell("echo a; touch made"), answer_text("done")], &hooks);
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "use make"})), "{output}");
        let stream = output.stream();
        let denial = stream.last()["ibeam"]["permission_denials"][0]["rule"].as_str().unwrap().to_owned();
        assert!(denial.starts_with("hook: cat > /dev/null; printf"), "{denial}");
        assert_eq!(scene.workspace.read("made"), None);
        let reported = scene.server.requests()[1].transcript().join("\n");
        assert!(reported.contains("use make"), "{reported}");
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    }
}

#[test]
fn a_hook_receives_only_calls_that_its_matcher_matches() {
    let deny = "exit 2";
    let hooks = json!({
        "preToolUse": [{"command": deny, "matcher": "Write|Edit|Delete"}],
        "beforeShellExecution": [{"command": deny, "matcher": "^rm\\b"}],
        "beforeMCPExecution": [{"command": deny}],
        "beforeReadFile": [{"command": deny}],
    });
    let scene = scene_with_hooks([answer_shell("echo rm"), answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).0, "success", "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn exit_2_refuses_with_the_message_on_stderr() {
    let hooks = json!({"preToolUse": [{"command": "echo ' not on Mondays' >&2; exit 2"}]});
    let scene = scene_with_hooks([answer_shell("echo a"), answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "not on Mondays"})));
}

/// Hooks print every key that could mean a permission, for every event.
#[test]
fn no_hook_allows_what_the_rules_refuse() {
    let output = json!({"permission": "allow", "continue": true, "decision": "approve", "allow": true,
        "hookSpecificOutput": {"permissionDecision": "allow"}});
    let allow = json!([{"command": print(&output)}]);
    let hooks = json!({"preToolUse": allow, "beforeShellExecution": allow, "beforeReadFile": allow,
        "beforeSubmitPrompt": allow, "sessionStart": allow});
    for (answer, flags) in [
        (answer_shell("make all"), vec!["--sandbox", "disabled"]),
        (answer_shell("echo a"), vec!["--force", "--deny", "Shell(echo)"]),
        (answer_call("t", "write", &json!({"path": "/etc/made", "fileText": ""})), vec!["--force"]),
        (
            answer_call("t", "write", &json!({"path": ".cursor/hooks.json", "fileText": "{}"})),
            vec!["--force"],
        ),
        (answer_call("t", "read", &json!({"path": ".env"})), vec!["--deny", "Read(.env)"]),
        (answer_call("t", "write", &json!({"path": "made", "fileText": ""})), vec!["--mode", "ask"]),
    ] {
        let scene = scene_with_hooks([answer, answer_text("done")], &hooks);
        let output = scene.print(&flags).run().succeeded();
        assert_eq!(result(&output).0, "rejected", "{flags:?} {output}");
    }
}

/// Without a person, a hook that requires an approval refuses the call, even with `--force`.
#[test]
fn a_hook_that_requires_approval_refuses_without_a_person() {
    let ask = print(&json!({"permission": "ask", "user_message": "sure?"}));
    let scene = scene_with_hooks(
        [answer_shell("echo a"), answer_text("done")],
        &json!({"beforeShellExecution": [{"command": ask}]}),
    );
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "sure?"})));
}

#[test]
fn arguments_of_a_hook_replace_those_of_the_model() {
    let rewrite = print(&json!({"updated_input": {"command": "echo changed"}}));
    let scene = scene_with_hooks(
        [answer_shell("echo asked"), answer_text("done")],
        &json!({"preToolUse": [{"command": rewrite}]}),
    );
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).1["stdout"], "changed\n", "{output}");
    assert_eq!(
        output.stream().completed()[0].1["args"]["command"],
        "echo changed",
        "the stream contains the executed command"
    );
}

/// New arguments from a weaker file pass the stronger hooks, the events of the access, and the rules.
#[test]
fn arguments_of_a_hook_are_checked_like_any_others() {
    let rewrite = print(&json!({"updated_input": {"command": "touch made"}}));
    let guard = "grep -q touch && exit 2; exit 0";
    for (hooks, flags) in [
        (json!({"preToolUse": [{"command": guard}, {"command": rewrite}]}), vec!["--force"]),
        (
            json!({"preToolUse": [{"command": rewrite}], "beforeShellExecution": [{"command": guard}]}),
            vec!["--force"],
        ),
        (json!({"preToolUse": [{"command": rewrite}]}), vec!["--force", "--deny", "Shell(touch)"]),
        (
            json!({"preToolUse": [{"command": rewrite}]}),
            vec!["--allow", "Shell(echo)", "--sandbox", "disabled"],
        ),
    ] {
        let scene = scene_with_hooks([answer_shell("echo asked"), answer_text("done")], &hooks);
        let output = scene.print(&flags).run().succeeded();
        assert_eq!(result(&output).0, "rejected", "{output}");
        assert_eq!(scene.workspace.read("made"), None);
    }
}

#[test]
fn invalid_arguments_of_a_hook_refuse_the_call() {
    let rewrite = print(&json!({"updated_input": {"no": "command"}}));
    let scene = scene_with_hooks(
        [answer_shell("echo asked"), answer_text("done")],
        &json!({"preToolUse": [{"command": rewrite}]}),
    );
    let output = scene.print(["--force"]).run().succeeded();
    let (arm, payload) = result(&output);
    assert_eq!(arm, "rejected");
    assert!(payload["reason"].as_str().unwrap().contains("command"), "{payload}");
}

/// Checks every event of a run: the order and the payloads.
#[test]
fn every_event_has_its_payload() {
    let events = [
        "sessionStart",
        "beforeSubmitPrompt",
        "preToolUse",
        "beforeShellExecution",
        "beforeReadFile",
        "postToolUse",
        "postToolUseFailure",
        "afterShellExecution",
        "afterFileEdit",
        "stop",
        "sessionEnd",
    ];
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    let hooks: Value = events.iter().map(|event| (*event, json!([{"command": log}]))).collect();
    let answer = answer_shell("echo out; exit 3")
        .call("w", "write", &json!({"path": "a.txt", "fileText": "old\n"}))
        .call("e", "edit", &json!({"path": "a.txt", "oldText": "old", "newText": "new"}))
        .call("r", "read", &json!({"path": "a.txt"}));
    let scene = scene_with_hooks([answer, answer_text("done")], &hooks);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(output.stderr, "", "{output}");
    let log = scene.workspace.read("log").unwrap();
    let reported: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> =
        reported.iter().map(|reported| reported["hook_event_name"].as_str().unwrap()).collect();
    let expect = [
        &["sessionStart", "beforeSubmitPrompt"][..],
        &["preToolUse", "beforeShellExecution", "postToolUseFailure", "afterShellExecution"],
        &["preToolUse", "postToolUse", "afterFileEdit"],
        &["preToolUse", "postToolUse", "afterFileEdit"],
        &["preToolUse", "beforeReadFile", "postToolUse"],
        &["stop", "sessionEnd"],
    ];
    assert_eq!(names, expect.concat());
    let (id, root) = (output.stream().session_id().to_owned(), scene.workspace.path().to_str().unwrap());
    for reported in &reported {
        assert_eq!(reported["conversation_id"], id.as_str());
        assert_eq!(reported["session_id"], id.as_str());
        assert_eq!(reported["workspace_roots"], json!([root]));
        assert!(reported["generation_id"].is_string() && reported["model"].is_string(), "{reported}");
    }
    let file = scene.workspace.path().join("a.txt");
    let check_payload = |index: usize, expect: Value| {
        for (key, value) in expect.as_object().unwrap() {
            assert_eq!(&reported[index][key], value, "{key} of {}", reported[index]);
        }
    };
    check_payload(0, json!({"composer_mode": "agent", "is_background_agent": false}));
    check_payload(1, json!({"prompt": "do it", "attachments": []}));
    check_payload(2, json!({"tool_name": "Shell", "tool_use_id": "toolu_shell", "cwd": root}));
    assert_eq!(reported[2]["tool_input"]["command"], "echo out; exit 3");
    assert_eq!(reported[2]["tool_input"]["cwd"], root);
    check_payload(3, json!({"command": "echo out; exit 3", "cwd": root, "sandbox": true}));
    check_payload(4, json!({"tool_name": "Shell", "failure_type": "error", "is_interrupt": false}));
    assert!(reported[4]["error_message"].as_str().unwrap().contains("exit code 3"));
    assert!(reported[4]["duration"].is_u64());
    check_payload(5, json!({"command": "echo out; exit 3", "output": "out\n"}));
    check_payload(6, json!({"tool_name": "Write", "tool_input": {"path": "a.txt", "fileText": "old\n"}}));
    check_payload(8, json!({"file_path": file, "edits": [{"old_string": "", "new_string": "old\n"}]}));
    check_payload(11, json!({"file_path": file, "edits": [{"old_string": "old", "new_string": "new"}]}));
    check_payload(13, json!({"file_path": file, "content": "new\n", "attachments": []}));
    assert!(reported[14]["tool_output"].as_str().unwrap().contains("new"));
    check_payload(15, json!({"status": "completed", "loop_count": 0}));
    check_payload(16, json!({"reason": "completed", "final_status": "completed"}));
}

#[test]
fn hooks_receive_the_end_of_a_failed_run() {
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    let hooks = json!({"stop": [{"command": log}], "sessionEnd": [{"command": log}]});
    let scene = scene_with_hooks([Answer::error(400, "invalid_request_error", "no")], &hooks);
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(22), "{output}");
    let log = scene.workspace.read("log").unwrap();
    assert!(log.contains("\"status\":\"error\"") && log.contains("\"final_status\":\"error\""), "{log}");
}

#[test]
fn a_refused_prompt_is_never_sent() {
    for refuse in [print(&json!({"continue": false, "user_message": "a secret is in it"})), {
        "echo a secret is in it >&2; exit 2".to_owned()
    }] {
        let scene = scene_with_hooks([], &json!({"beforeSubmitPrompt": [{"command": refuse}]}));
        let output = scene.print::<&str>([]).run();
        assert_eq!(output.code, Some(3), "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
        assert!(output.stderr.contains("a secret is in it"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
        assert_eq!(output.stream().outline(), ["system", "user", "error"]);
        let scene = scene.with_answers([answer_text("what was it?")]);
        write_hooks(&scene.workspace, &json!({}));
        scene.print(["--continue"]).run().succeeded();
        assert_eq!(scene.server.requests()[0].transcript(), ["user: do it"], "a refused prompt is gone");
    }
}

#[test]
fn context_of_a_hook_reaches_the_model_as_user_text() {
    let add_context = print(&json!({"additional_context": "The answer is 42."}));
    let hooks = json!({"sessionStart": [{"command": add_context}]});
    let scene = scene_with_hooks([answer_text("done")], &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    let reported = requests[0].transcript();
    assert!(reported[0] == "user: do it" && reported[1].contains("The answer is 42."), "{reported:?}");
    assert_eq!(output.stream().prompt()[0], "do it");
}

/// The author of a project's hooks is unknown.
#[test]
fn hooks_of_a_project_run_only_in_a_trusted_workspace() {
    for name in [".cursor", ".ibeam"] {
        let hooks = json!({"preToolUse": [{"command": "touch ran; exit 2"}]});
        let scene = Scene::new([answer_shell("ls"), answer_text("done")]);
        write_file(&scene.workspace.path().join(name).join("hooks.json"), &hooks);
        let output = scene.print(["--allow", "Shell(ls)"]).run().succeeded();
        assert_eq!(scene.workspace.read("ran"), None, "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings.len() == 1 && warnings[0].contains("--trust"), "{output}");
        let scene = scene.with_answers([answer_shell("ls"), answer_text("done")]);
        let output = scene.print(["--allow", "Shell(ls)", "--trust"]).run().succeeded();
        assert_eq!(scene.workspace.read("ran").as_deref(), Some(""), "hooks of a project run in its root");
        assert_eq!(result(&output).0, "rejected");
    }
}

/// All hooks run, those of the project before those of the user; the first refusal counts.
#[test]
fn the_first_refusal_counts_and_all_hooks_run() {
    let scene = Scene::new([answer_shell("ls"), answer_text("done")]);
    let deny = |name: &str| {
        let command = format!("echo {name} >> \"$IBEAM_PROJECT_DIR/log\"; echo {name} >&2; exit 2");
        json!({"preToolUse": [{"command": command}]})
    };
    let (project, home) = (scene.workspace.path().to_owned(), scene.workspace.home().to_owned());
    write_file(&home.join(".config/ibeam/hooks.json"), &deny("four"));
    write_file(&home.join(".cursor/hooks.json"), &deny("three"));
    write_file(&project.join(".ibeam/hooks.json"), &deny("two"));
    write_file(&project.join(".cursor/hooks.json"), &deny("one"));
    let output = scene.print(["--force", "--trust"]).run().succeeded();
    assert_eq!(result(&output).1, json!({"reason": "one"}));
    assert_eq!(scene.workspace.read("log").as_deref(), Some("one\ntwo\nthree\nfour\n"));
}

#[test]
fn a_hook_of_the_user_runs_in_the_directory_of_its_file() {
    let scene = scene_with_hooks(
        [answer_shell("ls"), answer_text("done")],
        &json!({"preToolUse": [{"command": "./deny.sh"}]}),
    );
    let script = scene.workspace.home().join(".cursor/deny.sh");
    fs::write(&script, "#!/bin/sh\necho from a file >&2\nexit 2\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).1, json!({"reason": "from a file"}), "{output}");
}

#[test]
fn an_invalid_hook_file_ends_the_run_with_its_position() {
    for (text, place) in [("{\"hooks\": {\n  \"stop\": [}\n", ":2:"), ("[]", ":1:1"), ("", ":1:1")] {
        let scene = Scene::new([]);
        write_hooks(&scene.workspace, &json!({}));
        let path = scene.workspace.home().join(".cursor/hooks.json");
        fs::write(&path, text).unwrap();
        let output = scene.print::<&str>([]).run();
        assert_eq!(output.code, Some(78), "{output}");
        assert!(output.stderr.contains(&format!("{}{place}", path.display())), "{output}");
    }
}

/// Leniency never widens what is allowed.
#[test]
fn a_wrong_hook_of_a_trusted_project_refuses_what_it_could_refuse_and_the_others_run() {
    for (file, hooks) in [
        (
            ".cursor/hooks.json",
            json!({"beforeShellExecution": [{"commnd": "./check.sh"}], "stop": [{"command": "touch ended"}]}),
        ),
        (
            ".claude/settings.json",
            json!({"PreToolUse": [{"matcher": "Bash(", "hooks": [{"command": "./check.sh"}]}],
                "Stop": [{"hooks": [{"command": "touch ended"}]}]}),
        ),
    ] {
        let scene = Scene::new([answer_shell("touch made"), answer_text("done")]);
        write_file(&scene.workspace.path().join(file), &hooks);
        let output = scene.print(["--force", "--trust"]).run().succeeded();
        assert_eq!(result(&output).0, "rejected", "{output}");
        assert!(output.stderr.contains(file) && output.stderr.contains("is refused"), "{output}");
        assert_eq!((scene.workspace.read("made"), scene.workspace.read("ended").is_some()), (None, true));
    }
    let scene = Scene::new([]);
    write_file(&scene.workspace.path().join(".cursor/hooks.json"), &json!([]));
    let output = scene.print(["--force", "--trust"]).run();
    assert_eq!(output.code, Some(78), "it could refuse the prompt itself: {output}");
}

#[test]
fn a_fifo_in_place_of_a_hook_file_does_not_block() {
    let scene = Scene::new([]);
    write_hooks(&scene.workspace, &json!({}));
    let path = scene.workspace.home().join(".cursor/hooks.json");
    fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(78), "{output}");
}

#[test]
fn hooks_receive_answers_and_thoughts_and_the_start_of_a_compaction() {
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    let events = ["afterAgentResponse", "afterAgentThought", "preCompact"];
    let hooks: Value = events.iter().map(|event| (*event, json!([{"command": log}]))).collect();
    let read = |path: &str| answer_call(path, "read", &json!({ "path": path }));
    let answers = [
        read("a.txt"),
        read("b.txt"),
        Answer::error(413, "request_too_large", "Request exceeds the maximum size"),
        answer_text("a is x, b is short"),
        Answer::new().thinking("I know it.", "signature").text("It is done."),
    ];
    let scene = scene_with_hooks(answers, &hooks);
    fs::write(scene.workspace.path().join("a.txt"), "x".repeat(20_000)).unwrap();
    fs::write(scene.workspace.path().join("b.txt"), "short").unwrap();
    // Settings of Claude Code have one of these events.
    let claude = |matcher: &str, log: &str| {
        let command = format!("cat >> \"$CLAUDE_PROJECT_DIR/{log}\"");
        json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]})
    };
    let settings = json!({"hooks": {"PreCompact": [claude("auto", "auto"), claude("manual", "manual")]}});
    let claude_directory = scene.workspace.home().join(".claude");
    fs::create_dir_all(&claude_directory).unwrap();
    fs::write(claude_directory.join("settings.json"), settings.to_string()).unwrap();
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stream().deltas().concat(), "It is done.");
    let claude: Value = serde_json::from_str(&scene.workspace.read("auto").unwrap()).unwrap();
    assert_eq!((&claude["hook_event_name"], &claude["trigger"]), (&json!("PreCompact"), &json!("auto")));
    assert_eq!(scene.workspace.read("manual"), None);
    let log = scene.workspace.read("log").unwrap();
    let payloads: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| -> Vec<&Value> {
        payloads.iter().filter(|payload| payload["hook_event_name"] == name).collect()
    };
    assert_eq!(
        of("afterAgentThought").iter().map(|event| &event["text"]).collect::<Vec<_>>(),
        ["I know it."]
    );
    assert_eq!(of("afterAgentResponse").last().unwrap()["text"], "It is done.");
    let [compaction] = of("preCompact")[..] else { panic!("{payloads:?}") };
    assert_eq!((&compaction["trigger"], &compaction["is_first_compaction"]), (&json!("auto"), &json!(true)));
    for number in ["context_tokens", "message_count", "messages_to_compact"] {
        assert!(compaction[number].as_u64().is_some_and(|count| count > 0), "{number}: {compaction}");
    }
    let names: Vec<_> = payloads.iter().map(|payload| payload["hook_event_name"].as_str().unwrap()).collect();
    assert!(
        names.iter().position(|name| *name == "preCompact")
            < names.iter().rposition(|name| *name == "afterAgentResponse")
    );
}

#[test]
fn unsupported_hooks_are_named() {
    let hooks = json!({"afterTabFileEdit": [{"command": "exit 2"}], "sessionEnd": [{"type": "prompt", "prompt": "ok?"}]});
    let scene = scene_with_hooks([answer_text("done")], &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert_eq!(warnings.len(), 1, "{output}");
    assert!(
        warnings[0].contains("afterTabFileEdit") && warnings[0].contains("sessionEnd of type"),
        "{output}"
    );
}

#[test]
fn no_hook_receives_a_key() {
    let dump = "{ env; cat; } >> \"$CURSOR_PROJECT_DIR/log\"";
    let hooks = json!({"sessionStart": [{"command": dump}], "postToolUse": [{"command": dump}]});
    let scene =
        scene_with_hooks([answer_call("t", "read", &json!({"path": "leak"})), answer_text("done")], &hooks);
    fs::write(scene.workspace.path().join("leak"), format!("the key is {KEY}\n")).unwrap();
    scene.print::<&str>([]).run().succeeded();
    let log = scene.workspace.read("log").unwrap();
    assert!(log.contains("CLAUDE_PROJECT_DIR=") && log.contains("CURSOR_VERSION="), "{log}");
    assert!(log.contains("the key is ***"), "{log}");
    assert!(!log.contains(KEY) && !log.contains("API_KEY"), "{log}");
}

#[test]
fn session_hooks_of_a_conversation_run_once() {
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    let events = ["sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"];
    let hooks: Value = events.iter().map(|event| (*event, json!([{"command": log}]))).collect();
    let scene = scene_with_hooks([answer_text("One it is.\n"), answer_text("Two it is.\n")], &hooks);
    let running = scene.ibeam(["say one"]).terminal().start();
    running.wait_for_stdout("One it is.");
    running.type_text("say two\n");
    running.wait_for_stdout("Two it is.");
    running.type_text("\u{4}");
    running.finish().succeeded();
    let log = scene.workspace.read("log").unwrap();
    let names: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> =
        names.iter().map(|reported| reported["hook_event_name"].as_str().unwrap()).collect();
    let expect = ["sessionStart", "beforeSubmitPrompt", "stop", "beforeSubmitPrompt", "stop", "sessionEnd"];
    assert_eq!(names, expect);
}

/// A hook receives the server and the tool of a call; it may refuse the call or change its arguments.
#[test]
fn hooks_receive_the_answers_of_mcp_servers() {
    let Some(workspace) = mcp::workspace(&[]) else { return };
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    write_hooks(&workspace, &json!({"afterMCPExecution": [{"command": log, "matcher": "^MCP:echo$"}]}));
    let scene = Scene::new([mcp::call("echo", json!({"text": "asked"})), answer_text("done")])
        .with_workspace(workspace);
    scene.print(["--approve-mcps"]).run().succeeded();
    let payload: Value = serde_json::from_str(&scene.workspace.read("log").unwrap()).unwrap();
    assert_eq!((&payload["tool_name"], &payload["mcp_server_name"]), (&json!("echo"), &json!("test")));
    let answer: Value = serde_json::from_str(payload["result_json"].as_str().unwrap()).unwrap();
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("asked"), "{payload}");
    assert_eq!(answer["isError"], false);
}

#[test]
fn hooks_apply_to_tools_of_mcp_servers() {
    let log = "cat >> \"$IBEAM_PROJECT_DIR/log\"";
    let deny = print(&json!({"permission": "deny", "user_message": "not there"}));
    let rewrite = print(&json!({"updated_input": {"text": "changed"}}));
    for (hooks, arm, message) in [
        (json!({"beforeMCPExecution": [{"command": log}, {"command": deny}]}), "rejected", "not there"),
        (
            json!({"preToolUse": [{"command": rewrite, "matcher": "^MCP:echo$"}],
                "beforeMCPExecution": [{"command": log}]}),
            "success",
            "changed",
        ),
    ] {
        let Some(workspace) = mcp::workspace(&[]) else { return };
        write_hooks(&workspace, &hooks);
        let scene = Scene::new([mcp::call("echo", json!({"text": "asked"})), answer_text("done")])
            .with_workspace(workspace);
        let output = scene.print(["--approve-mcps"]).run().succeeded();
        let (found, payload) = result(&output);
        assert_eq!(found, arm, "{output}");
        assert!(payload.to_string().contains(message), "{payload}");
        let reported: Value = serde_json::from_str(&scene.workspace.read("log").unwrap()).unwrap();
        assert_eq!((&reported["tool_name"], &reported["mcp_server_name"]), (&json!("echo"), &json!("test")));
        let input: Value = serde_json::from_str(reported["tool_input"].as_str().unwrap()).unwrap();
        assert_eq!(input, json!({"text": if arm == "success" { "changed" } else { "asked" }}));
    }
}

/// The hooks of the system are mounted in a mount namespace.
#[test]
fn hooks_of_the_system_come_first_and_need_no_trust() {
    let probe = std::process::Command::new("unshare").args(["-m", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIP: mounts in a namespace of their own are not permitted here");
        return;
    }
    let deny = |name: &str| {
        let command = format!("echo {name} >> \"$IBEAM_PROJECT_DIR/log\"; pwd >&2; exit 2");
        json!({"preToolUse": [{"command": command}]})
    };
    let scene = scene_with_hooks([answer_shell("ls"), answer_text("done")], &deny("user"));
    let etc = scene.workspace.outside().join("etc");
    write_file(&etc.join("cursor/hooks.json"), &deny("cursor"));
    write_file(&etc.join("ibeam/hooks.json"), &deny("ibeam"));
    let mount = "set -e; cp -a /etc/. \"$ETC\"; mount --bind \"$ETC\" /etc; exec \"$@\"";
    let ibeam =
        scene.print(["--force"]).env("ETC", &etc).through(["unshare", "-m", "bash", "-c", mount, "bash"]);
    let output = ibeam.run().succeeded();
    assert_eq!(result(&output).1, json!({"reason": "/etc/cursor"}), "{output}");
    assert_eq!(scene.workspace.read("log").as_deref(), Some("cursor\nibeam\nuser\n"));
}

#[test]
fn the_user_message_of_a_hook_is_printed() {
    let answer = r#"{"permission":"deny","agent_message":"use the queue","user_message":"blocked by the release freeze"}"#;
    let deny = format!("cat > /dev/null; printf '%s' '{answer}'");
    let scene = scene_with_hooks(
        [answer_shell("echo a"), answer_text("done")],
        &json!({"preToolUse": [{"command": deny}]}),
    );
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(output.stderr.contains("refused it: blocked by the release freeze"), "{output}");
    assert!(scene.server.requests()[1].transcript().join("\n").contains("use the queue"));
}
