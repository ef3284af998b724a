//! MCP servers as real processes: their configuration, their tools, permissions, and the commands for them.

use ibeam_testkit::message_stream::{FLAGS, message};
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, check_unstarted, results};
use ibeam_testkit::stdio_mcp_server::{SERVER, call, offered, python, servers, table, workspace};
use ibeam_testkit::{ProgramOutput, Stdin, Workspace};
use serde_json::{Value, json};

/// Returns an `mcp.json` with the server of the tests under the name `test`.
fn cursor_file(options: &[&str]) -> Option<String> {
    let args = [&["${workspaceFolder}/server.py"], options].concat();
    let server = json!({ "command": python()?, "args": args, "env": { "WHO": "${env:GREETED}" } });
    Some(json!({ "mcpServers": { "test": server } }).to_string())
}

#[test]
fn a_tool_is_offered_called_and_shown() {
    let Some(workspace) = workspace(&[]) else { return };
    let scene =
        Scene::new([call("echo", json!({ "text": "Grüße" })), answer_text("done")]).with_workspace(workspace);
    let output = scene.print(["--allow", "Mcp(test:echo)"]).run().succeeded();
    assert_eq!(offered(&scene).len(), 9, "{:?}", offered(&scene));
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
    let stream = output.stream();
    let tools = stream.init()["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("mcp_test_echo")) && tools.contains(&json!("read")), "{output}");
    let (key, body) = stream.completed()[0];
    assert_eq!(key, "mcpToolCall");
    let expect = json!({
        "args": {
            "name": "test-echo",
            "args": { "text": "Grüße" },
            "toolCallId": "toolu_echo",
            "providerIdentifier": "test",
            "toolName": "echo",
        },
        "result": { "success": { "content": [{ "text": { "text": "Grüße" } }], "isError": false } },
    });
    assert_eq!(body.to_string(), expect.to_string());
    let reported = scene.server.requests()[1].transcript();
    assert!(reported.iter().any(|line| line == "result Grüße"), "{reported:?}");
    assert_eq!(output.stderr, "");
}

#[test]
fn a_flag_adds_servers_for_one_run_or_replaces_all() {
    let (Some(workspace), Some(given)) = (workspace(&[]), cursor_file(&[])) else { return };
    let given = given.replace("\"test\":", "\"given\":");
    let workspace = workspace.file("servers.json", &given);
    for (flags, expect) in [
        (vec!["--mcp-config", &given], vec!["given", "test"]),
        (vec!["--mcp-config", "servers.json", "--strict-mcp-config"], vec!["given"]),
        (vec!["--strict-mcp-config"], vec![]),
    ] {
        let scene = Scene::new([answer_text("done")]);
        let program =
            ibeam_testkit::Ibeam::new(ibeam_testkit::program_path(), &workspace).args(["-p", "do it"]);
        let program = program
            .args(["--model", ibeam_testkit::scene::model_name(scene.wire)])
            .args(&flags)
            .env("GREETED", "x");
        let program = program.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY);
        let output = program.run().succeeded();
        let servers = servers(&scene, &output);
        let names: Vec<&str> =
            servers.as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap()).collect();
        assert_eq!(names, expect, "{flags:?}; {output}");
    }
    let scene = Scene::new([]);
    let output = scene.print(["--mcp-config", "missing.json"]).run();
    assert_eq!(output.code, Some(66), "{output}");
}

#[test]
fn results_of_tools_are_limited() {
    let Some(workspace) = workspace(&[]) else { return };
    let answers = [
        call("picture", json!({})),
        call("fail", json!({})),
        call("long_text", json!({})),
        answer_text("done"),
    ];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    let results = results(&output);
    let text = |at: usize| results[at].1["content"][0]["text"]["text"].as_str().unwrap();
    assert_eq!(text(0), "[image image/png, 4 bytes]");
    assert_eq!((text(1), &results[1].1["isError"]), ("out of paper", &json!(true)));
    assert_eq!(output.stream().last()["ibeam"]["failed_tool_calls"], 1);
    assert!(text(2).starts_with("begin x") && text(2).ends_with("x end"), "{output}");
    assert!(text(2).contains(" bytes left out …") && text(2).len() < 32_000, "{}", text(2).len());
}

#[test]
fn a_call_without_an_answer_times_out_and_is_cancelled() {
    let Some(table) = table("test", &["log=methods"]) else { return };
    let config = format!("{table}\n[timeouts]\nmcp_call = \"2s\"\n");
    let workspace = Workspace::new().file("server.py", SERVER).user_config(&config);
    let answers =
        [call("silence", json!({})), call("echo", json!({ "text": "still here" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let results = results(&output);
    let (arm, payload) = &results[0];
    assert_eq!(arm, "error", "{output}");
    assert!(payload["errorMessage"].as_str().unwrap().contains("no result within 2 s"), "{output}");
    assert_eq!(results[1].0, "success", "{output}");
    let methods = scene.workspace.read("methods").unwrap();
    let expect = ["notifications/cancelled", "tools/call"];
    assert!(methods.lines().collect::<Vec<_>>().ends_with(&expect), "{methods}");
}

// ---- permissions

#[track_caller]
fn check_permission(flags: &[&str], arm: &str) -> Option<ProgramOutput> {
    let scene = Scene::new([call("echo", json!({ "text": "x" })), answer_text("done")])
        .with_workspace(workspace(&[])?);
    let output = scene.print(flags).run().succeeded();
    assert_eq!(results(&output)[0].0, arm, "{flags:?}: {output}");
    Some(output)
}

#[test]
fn a_call_needs_a_rule_without_a_person() {
    let Some(output) = check_permission(&[], "rejected") else { return };
    let reason = results(&output)[0].1["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("--allow 'Mcp(test:echo)'") && reason.contains("--approve-mcps"), "{reason}");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    check_permission(&["--allow", "Mcp(other:*)"], "rejected");
    check_permission(&["--allow", "Mcp(test:*)"], "success");
    check_permission(&["--approve-mcps"], "success");
    check_permission(&["--force"], "success");
}

#[test]
fn a_person_may_allow_a_call() {
    for (answer, reported) in [("y\n", "result hi"), ("n\n", "the user refused this call")] {
        let Some(workspace) = workspace(&[]) else { return };
        let scene = Scene::new([call("echo", json!({ "text": "hi" })), answer_text("So be it.\n")])
            .with_workspace(workspace);
        let running = scene.ibeam(["greet"]).terminal().start();
        running.wait_for_stderr("test:echo");
        running.type_text(answer);
        running.wait_for_stdout("So be it.");
        running.type_text("\u{4}");
        running.finish().succeeded();
        let transcript = scene.server.requests()[1].transcript().join("\n");
        assert!(transcript.contains(reported), "{answer:?}: {transcript}");
    }
}

#[test]
fn a_denied_tool_is_denied_with_every_flag() {
    check_permission(&["--deny", "Mcp(test:echo)", "--force", "--approve-mcps"], "rejected");
}

#[test]
fn read_only_modes_refuse_tools_that_may_change_something() {
    for mode in ["plan", "ask"] {
        let Some(workspace) = workspace(&[]) else { return };
        let answers =
            [call("echo", json!({ "text": "x" })), call("variable", json!({})), answer_text("done")];
        let scene = Scene::new(answers).with_workspace(workspace);
        let output = scene.print(["--mode", mode, "--approve-mcps"]).run().succeeded();
        // A session keeps its tools when its mode changes.
        assert!(offered(&scene).contains(&"mcp_test_variable".to_owned()), "{:?}", offered(&scene));
        let arms: Vec<String> = results(&output).into_iter().map(|(arm, _)| arm).collect();
        assert_eq!(arms, ["success", "rejected"], "{output}");
    }
}

#[test]
fn a_server_receives_its_own_variables_and_no_key() {
    let Some(table) = table("test", &[]) else { return };
    let config = format!("{table}env = {{ OWN_API_KEY = \"${{env:GREETED}}-own\" }}\n");
    let ask = |name: &str| call("variable", json!({ "name": name }));
    let answers = [ask("ANTHROPIC_API_KEY"), ask("OWN_API_KEY"), ask("GREETED"), answer_text("done")];
    let workspace = Workspace::new().file("server.py", SERVER).user_config(&config);
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).env("GREETED", "world").run().succeeded();
    let results = results(&output);
    let message = results.iter().map(|(_, payload)| payload["content"][0]["text"]["text"].clone());
    assert_eq!(message.collect::<Vec<_>>(), ["(not set)", "world-own", "world"], "{output}");
    assert!(!output.stdout.contains(KEY), "{output}");
}

// ---- files

/// The author of a project is unknown, so servers of its files need a permission.
#[test]
fn a_server_of_the_project_starts_only_with_permission() {
    let Some(cursor) = cursor_file(&["starts=starts"]) else { return };
    let Some(user_table) = table("test", &["starts=starts"]) else { return };
    for (path, content) in [(".cursor/mcp.json", &cursor), (".ibeam/config.toml", &user_table)] {
        let workspace = || Workspace::new().file("server.py", SERVER).file(path, content);
        let answers = || [call("echo", json!({ "text": "x" })), answer_text("done")];
        let scene = Scene::new(answers()).with_workspace(workspace());
        let output = scene.print::<&str>([]).env("GREETED", "world").run().succeeded();
        assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "untrusted" }]), "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings[0].contains("`test`") && warnings[0].contains("--approve-mcps"), "{output}");
        assert_eq!(warnings.len(), 1, "{output}");
        assert_eq!((offered(&scene), scene.workspace.read("starts")), (Vec::new(), None), "{path}");
        for (flag, arm) in [("--trust", "rejected"), ("--force", "success"), ("--approve-mcps", "success")] {
            let scene = Scene::new(answers()).with_workspace(workspace());
            let output = scene.print([flag]).env("GREETED", "world").run().succeeded();
            assert_eq!(results(&output)[0].0, arm, "{path} {flag}: {output}");
            assert_eq!(scene.workspace.read("starts").as_deref(), Some("started\n"), "{path} {flag}");
        }
    }
}

/// A project gets access neither to a server of the user nor to its token.
#[test]
fn an_untrusted_project_replaces_no_server_of_the_user() {
    let Some(project_table) = table("test", &["starts=project"]) else { return };
    let workspace = workspace(&["starts=user"]).unwrap().file(".ibeam/config.toml", project_table);
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
    let started = |file| scene.workspace.read(file);
    assert_eq!((started("user").as_deref(), started("project")), (Some("started\n"), None));
}

#[test]
fn the_users_own_cursor_file_counts_with_its_placeholders() {
    let Some(cursor) = cursor_file(&[]) else { return };
    let workspace = Workspace::new().file("server.py", SERVER).file("../home/.cursor/mcp.json", cursor);
    let scene = Scene::new([call("variable", json!({ "name": "WHO" })), answer_text("done")])
        .with_workspace(workspace);
    let output = scene.print(["--force"]).env("GREETED", "world").run().succeeded();
    assert_eq!(results(&output)[0].1["content"][0]["text"]["text"], "world", "{output}");
    let scene = scene.with_answers([answer_text("done")]);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(servers(&scene, &output)[0]["status"], "failed", "{output}");
    assert!(output.stderr.contains("the variable `GREETED` is not set"), "{output}");
}

#[test]
fn an_invalid_file_of_ibeam_ends_the_run_with_its_position() {
    for (content, place) in [
        ("{\n  \"mcpServers\": {,}\n}", "mcp.json:2:18"),
        ("{\n  \"mcpServers\": {\"a\": {\"command\": 1}}\n}", "mcp.json:2:35"),
        ("{\"mcpServers\": {\"a\": {}}}", "mcp.json"),
    ] {
        let users = Workspace::new().file("../home/.config/ibeam/mcp.json", content);
        let of_project = Workspace::new().file(".ibeam/mcp.json", content);
        for (workspace, args) in [(users, &[][..]), (of_project, &["--trust"])] {
            let scene = Scene::new([]).with_workspace(workspace);
            let output = scene.print(args.iter().copied()).run();
            check_unstarted(&output, 78);
            assert!(output.stderr_lines("error: ")[0].contains(place), "{place}: {output}");
        }
    }
}

/// A file of another program, and any file of a project that is not trusted, never ends a run.
#[test]
fn a_wrong_part_of_a_file_of_another_program_is_named_and_the_rest_is_used() {
    let Some(cursor) = cursor_file(&[]) else { return };
    let cursor: Value = serde_json::from_str(&cursor).unwrap();
    let table = &cursor["mcpServers"]["test"];
    let content = format!(
        "{{ // servers\n\"mcpServers\": {{\"test\": {table}, \"bad\": {{\"command\": 1}}, \"none\": {{}},}}, \"inputs\": []}}"
    );
    for (path, args) in
        [(".mcp.json", &["--trust", "--force"][..]), ("../home/.cursor/mcp.json", &["--force"])]
    {
        let scene = Scene::new([answer_text("done")])
            .with_workspace(Workspace::new().file("server.py", SERVER).file(path, content.clone()));
        let output = scene.print(args.iter().copied()).env("GREETED", "world").run().succeeded();
        assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
        for expect in ["mcpServers.bad` is not used", "mcpServers.none` is not used", "inputs` is not used"] {
            assert!(output.stderr.contains(expect), "{expect}: {output}");
        }
    }
    for path in [".mcp.json", ".cursor/mcp.json", ".ibeam/mcp.json"] {
        for content in ["<<<<<<< HEAD\n{}", "[]", "{\"mcpServers\": {\"a\": {}}}"] {
            let scene =
                Scene::new([answer_text("done")]).with_workspace(Workspace::new().file(path, content));
            let output = scene.print::<&str>([]).run().succeeded();
            assert!(output.stderr.contains(path) && output.stderr.contains("is not used"), "{output}");
        }
    }
}

#[test]
fn variables_of_a_file_and_a_whole_command_line_start_a_server() {
    let Some(cursor) = cursor_file(&[]) else { return };
    let cursor: Value = serde_json::from_str(&cursor).unwrap();
    let table = &cursor["mcpServers"]["test"];
    let words = std::iter::once(&table["command"]).chain(table["args"].as_array().unwrap());
    let line: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    let file = json!({ "mcpServers": { "test": { "command": line.join(" "), "envFile": "${workspaceFolder}/.env" } } });
    let workspace = Workspace::new()
        .file("server.py", SERVER)
        .file(".env", "WHO='the file'\n")
        .file("../home/.cursor/mcp.json", file.to_string());
    let scene = Scene::new([call("variable", json!({ "name": "WHO" })), answer_text("done")])
        .with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(results(&output)[0].1["content"][0]["text"]["text"], "the file", "{output}");
}

#[test]
fn the_old_transport_is_unsupported() {
    let cursor = r#"{"mcpServers": {"far": {"type": "sse", "url": "https://example.org/mcp"}}}"#;
    let workspace = Workspace::new().file("../home/.cursor/mcp.json", cursor);
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "far", "status": "unsupported" }]), "{output}");
    assert!(output.stderr_lines("warning: ")[0].contains("`sse`"), "{output}");
}

#[test]
fn a_server_without_sessions_is_called_over_stdio() {
    let Some(table) = table("test", &["stateless", "log=log"]) else { return };
    for (revision, expect) in
        [("auto", vec!["initialize", "server/discover"]), ("2026-07-28", vec!["server/discover"])]
    {
        let config = format!("{table}revision = \"{revision}\"\n");
        let scene = Scene::new([call("echo", json!({ "text": "hi" })), answer_text("done")])
            .with_workspace(Workspace::new().file("server.py", SERVER).user_config(&config));
        let output = scene.print(["--allow", "Mcp(test:echo)"]).run().succeeded();
        let (arm, payload) = results(&output).remove(0);
        assert_eq!(
            (arm.as_str(), &payload["content"][0]["text"]["text"]),
            ("success", &json!("hi")),
            "{output}"
        );
        let log = scene.workspace.read("log").unwrap();
        let expect: Vec<&str> = expect.into_iter().chain(["tools/list"; 3]).chain(["tools/call"]).collect();
        assert_eq!(log.lines().collect::<Vec<_>>(), expect);
    }
}

#[test]
fn a_prompt_of_a_server_is_a_slash_command() {
    let Some(table) = table("test", &["prompts", "log=log"]) else { return };
    let run = |prompt: &str| {
        let scene = Scene::new([answer_text("done")])
            .with_workspace(Workspace::new().file("server.py", SERVER).user_config(&table));
        let output = scene.ibeam(["-p", prompt]).run().succeeded();
        (scene.server.requests()[0].transcript().join("\n"), output, scene.workspace.read("log").unwrap())
    };
    let (sent, ..) = run("/test:review a.rs for speed");
    assert!(sent.contains("/test:review a.rs for speed"), "{sent}");
    assert!(sent.contains("from the MCP server `test`, not words of the user"), "{sent}");
    assert!(sent.contains(r#"Review with {"aim": "for speed", "file": "a.rs"}"#), "{sent}");
    let (sent, output, _) = run("/test:review");
    assert!(!sent.contains("Review with"), "{sent}");
    assert!(output.stderr.contains("its arguments are missing: file"), "{output}");
    let (sent, _, log) = run("/other:review a.rs");
    assert!(!sent.contains("Review with") && !log.contains("prompts/"), "{sent} {log}");
}

#[test]
fn resources_of_a_server_are_read_and_attached_where_a_rule_allows_it() {
    let Some(table) = table("test", &["resources"]) else { return };
    let run = |prompt: &str, flags: &[&str]| {
        let read = json!({ "server": "test", "uri": "memo:two" });
        let answers = [
            answer_call("toolu_list", "mcp_list_resources", &json!({ "server": "test" })),
            answer_call("toolu_read", "mcp_read_resource", &read),
            answer_text("done"),
        ];
        let scene = Scene::new(answers)
            .with_workspace(Workspace::new().file("server.py", SERVER).user_config(&table));
        let output = scene.ibeam(["-p", prompt]).args(flags).run().succeeded();
        (scene.server.requests()[0].transcript().join("\n"), results(&output))
    };
    let (sent, calls) = run("sum up @test:memo:one.", &["--allow", "Mcp(test:*)"]);
    assert!(sent.contains("Read memo:one"), "{sent}");
    let texts: Vec<&Value> =
        calls.iter().map(|(_, payload)| &payload["content"][0]["text"]["text"]).collect();
    assert_eq!(texts, [&json!("memo:one – One\nmemo:{name} – Any"), &json!("Read memo:two")]);
    let (sent, calls) = run("sum up @test:memo:one.", &[]);
    assert!(!sent.contains("Read memo:one"), "{sent}");
    assert!(calls.iter().all(|(arm, _)| arm == "rejected"), "{calls:?}");
}

/// Runs two prompts in one session, the first with a call of `echo`. Returns the numbers of tools that the model was
/// offered for each prompt, and the output.
fn tools_of_two_prompts(options: &[&str]) -> Option<((usize, usize), ProgramOutput)> {
    let lines = ["first", "second"].map(message).concat();
    let scene = Scene::new([call("echo", json!({ "text": "x" })), answer_text("One."), answer_text("Two.")])
        .with_workspace(workspace(options)?);
    let flags = ["--allow", "Mcp(test:*)"];
    let output = scene.ibeam(FLAGS).args(flags).stdin(Stdin::Piped(lines.into())).run().succeeded();
    let requests = scene.server.requests();
    let count = |at: usize| {
        let tools = requests[at].body["tools"].as_array().unwrap();
        tools.iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("mcp_test_")).count()
    };
    assert_eq!(count(0), count(1), "the tools stay the same during a run");
    Some(((count(0), count(2)), output))
}

#[test]
fn a_list_of_tools_is_requested_again_once_it_has_expired_or_changed() {
    for (options, expect) in [
        (&["grows", "ttl=0"][..], (9, 10)),
        (&["grows", "ttl=0", "stateless"], (9, 10)),
        (&["grows", "announces"], (9, 10)),
        (&["grows", "announces", "stateless"], (9, 10)),
        (&["grows", "ttl=600000"], (9, 9)),
        (&["grows"], (9, 9)),
    ] {
        let Some((found, output)) = tools_of_two_prompts(options) else { return };
        assert_eq!(found, expect, "{options:?} {output}");
    }
}

#[test]
fn a_list_of_prompts_is_stored_for_as_long_as_the_server_allows() {
    for (options, expect) in [
        (&["ttl=600000"][..], 1),
        (&["ttl=0"], 2),
        // The server reports a change after it has listed its prompts.
        (&["ttl=600000", "renames"], 2),
    ] {
        let all = [&["prompts", "log=log"], options].concat();
        let Some(workspace) = workspace(&all) else { return };
        let lines = ["/test:review a.rs", "/mcp__test__review b.rs"].map(message).concat();
        let scene = Scene::new([answer_text("One."), answer_text("Two.")]).with_workspace(workspace);
        scene.ibeam(FLAGS).stdin(Stdin::Piped(lines.into())).run().succeeded();
        let sent = scene.server.requests()[1].transcript().join("\n");
        assert!(sent.contains(r#"Review with {"file": "a.rs"}"#), "{sent}");
        assert!(sent.contains(r#"Review with {"file": "b.rs"}"#), "{sent}");
        let log = scene.workspace.read("log").unwrap();
        assert_eq!(log.lines().filter(|line| *line == "prompts/list").count(), expect, "{log}");
    }
}

#[test]
fn a_server_may_have_its_own_time_limits() {
    let (Some(test), Some(slow)) = (table("test", &[]), table("slow", &["slow_list=60"])) else { return };
    let config = format!("{test}call_timeout = \"1s\"\n{slow}start_timeout = \"500ms\"\n");
    let answers = [call("silence", json!({})), answer_text("done")];
    let scene =
        Scene::new(answers).with_workspace(Workspace::new().file("server.py", SERVER).user_config(&config));
    let output = scene.print(["--force"]).run().succeeded();
    let statuses = [("slow", "failed"), ("test", "connected")]
        .map(|(name, status)| json!({ "name": name, "status": status }));
    assert_eq!(servers(&scene, &output), json!(statuses), "{output}");
    let message = results(&output)[0].1["errorMessage"].to_string();
    assert!(message.contains("no result within 1 s"), "{output}");
    let file = json!({ "mcpServers": { "test": {
        "command": python().unwrap(), "args": ["server.py"], "timeout": 1000,
    } } });
    let workspace = Workspace::new().file("server.py", SERVER).file(".mcp.json", file.to_string());
    let scene = Scene::new([call("silence", json!({})), answer_text("done")]).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    assert!(results(&output)[0].1["errorMessage"].to_string().contains("no result within 1 s"), "{output}");
}

#[test]
fn a_server_without_resources_adds_no_tools_for_them() {
    let Some(workspace) = workspace(&[]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    scene.print::<&str>([]).run().succeeded();
    assert!(!offered(&scene).iter().any(|name| name.contains("resource")));
}

// ---- commands

#[test]
fn the_commands_list_enable_and_disable_servers() {
    let Some(workspace) = workspace(&["starts=starts"]) else { return };
    let scene = Scene::new([answer_text("done"), answer_text("done")]).with_workspace(workspace);
    let ibeam = |args: &[&str]| scene.ibeam_without_model(args).run();
    let list = ibeam(&["mcp", "list"]).succeeded().stdout;
    assert!(list.starts_with("test  enabled") && list.contains("config.toml:2"), "{list}");
    assert_eq!(scene.workspace.read("starts"), None, "`mcp list` starts no server");
    let tools = ibeam(&["mcp", "list-tools", "test"]).succeeded().stdout;
    assert!(tools.starts_with("echo (only reads): Does echo.\nvariable: Does variable.\n"), "{tools}");
    assert_eq!(tools.lines().count(), 9, "{tools}");

    ibeam(&["mcp", "disable", "test"]).succeeded();
    let rows = ibeam(&["mcp", "list", "--format", "json"]).succeeded().json();
    assert_eq!((&rows[0]["name"], &rows[0]["status"]), (&json!("test"), &json!("disabled")));
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "disabled" }]), "{output}");
    assert_eq!(offered(&scene), Vec::<String>::new());
    ibeam(&["mcp", "enable", "test"]).succeeded();
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
}

#[test]
fn the_configuration_is_explained_without_the_tokens_of_servers() {
    let config = "[mcp_servers.test]\ncommand = \"x\"\nenv = { TOKEN = \"hush-0123\" }\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    for format in ["text", "json"] {
        let explained =
            scene.ibeam_without_model(["config", "explain", "--format", format]).run().succeeded().stdout;
        assert!(explained.contains("mcp_servers.test.env.TOKEN"), "{explained}");
        assert!(!explained.contains("hush"), "{explained}");
    }
}

#[test]
fn the_commands_report_what_they_cannot_do() {
    let Some(cursor) = cursor_file(&[]) else { return };
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".cursor/mcp.json", cursor));
    for (args, code, message) in [
        (&["mcp", "list-tools", "gone"][..], 2, "there are: test"),
        (&["mcp", "list-tools", "test"], 2, "--approve-mcps"),
        (&["mcp", "disable", "gone"], 2, "there are: test"),
        (&["mcp", "login", "test"], 2, "--approve-mcps"),
    ] {
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(code), "{output}");
        assert!(output.stderr_lines("error: ")[0].contains(message), "{output}");
    }
    let list = scene.ibeam_without_model(["mcp", "list"]).run().succeeded().stdout;
    assert!(list.starts_with("test  untrusted"), "{list}");
}
