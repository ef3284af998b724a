//! The stream of Claude Code as its clients read it: ids, modes, tokens and cost.

use ibeam_protocol::{Signal, Usage};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, PNG_BASE64, ProgramOutput, RunningProgram, Stdin, Workspace};
use serde_json::{Value, json};

use super::dialect::{SDK, claude, events, prompt, request};

const LINES: [&str; 4] = ["-p", "--output-format", "stream-json", "--verbose"];
const MODEL: &str = "claude-sonnet-4-6";

fn with_usage(answer: Answer, input: u64, output: u64) -> Answer {
    answer.usage(Usage { input, output, cache_read: 3, ..Usage::default() })
}

fn results(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["type"] == "result").collect()
}

fn tokens(input: u64, cache_read: u64, output: u64) -> Value {
    json!({
        "input_tokens": input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cache_read,
        "output_tokens": output,
    })
}

#[test]
fn the_model_is_an_id_wherever_it_is_named() {
    let scene = Scene::new([answer_call("t1", "read", &json!({ "path": "a.txt" })), answer_text("Done.")]);
    let output =
        claude(&scene, &[&LINES[..], &["--include-partial-messages", "do it"]].concat()).run().succeeded();
    let lines = events(&output);
    let pointers = ["/model", "/message/model", "/event/message/model"];
    let models: Vec<&str> =
        lines.iter().flat_map(|line| pointers.iter().filter_map(|at| line.pointer(at)?.as_str())).collect();
    // `init`, a call, the start of a streamed text, and the text.
    assert_eq!(models, [MODEL; 4], "{output}");
}

#[test]
fn the_first_line_lists_commands_skills_and_sub_agents() {
    let Some(table) = ibeam_testkit::stdio_mcp_server::table("test", &["prompts"]) else { return };
    let workspace = Workspace::new()
        .file("server.py", ibeam_testkit::stdio_mcp_server::SERVER)
        .file("../home/.claude/commands/tidy.md", "# Tidy up\n")
        .file("../home/.claude/skills/review/SKILL.md", "---\nname: review\ndescription: Reviews\n---\nRead.")
        .file("../home/.claude/agents/tester.md", "---\nname: tester\ndescription: Tests\n---\nTest.")
        .user_config(&table);
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]).with_workspace(workspace);
    let lines = events(&claude(&scene, &[&LINES[..], &["hi"]].concat()).run().succeeded());
    assert_eq!(lines[0]["slash_commands"], json!(["tidy", "review", "mcp__test__review"]));
    assert_eq!((&lines[0]["skills"], &lines[0]["agents"]), (&json!(["review"]), &json!(["tester"])));
    let prompt = "/mcp__test__review a.rs";
    claude(&scene, &[&LINES[..], &[prompt]].concat()).run().succeeded();
    let sent = scene.server.requests()[1].transcript().join("\n");
    assert!(sent.contains(r#"Review with {"file": "a.rs"}"#), "{sent}");
}

#[test]
fn the_permission_mode_is_the_one_that_was_given() {
    for (mode, expect) in [
        ("default", "default"),
        ("manual", "default"),
        ("acceptEdits", "acceptEdits"),
        ("dontAsk", "dontAsk"),
        ("plan", "plan"),
        ("auto", "auto"),
        ("bypassPermissions", "bypassPermissions"),
    ] {
        let scene = Scene::new([answer_text("Hello.")]);
        let args = [&LINES[..], &["--permission-mode", mode, "hi"]].concat();
        let lines = events(&claude(&scene, &args).run().succeeded());
        assert_eq!(lines[0]["permissionMode"], expect, "{mode}");
    }
}

#[test]
fn each_answer_has_its_tokens() {
    let first = with_usage(answer_text("I look.").call("t1", "read", &json!({ "path": "a.txt" })), 100, 7);
    let scene = Scene::new([first, with_usage(answer_text("Done."), 200, 9)]);
    let args = [&LINES[..], &["--include-partial-messages", "do it"]].concat();
    let lines = events(&claude(&scene, &args).run().succeeded());
    let usages = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["type"] == kind).map(|line| &line["message"]["usage"]).collect()
    };
    assert_eq!(
        usages("assistant"),
        [&tokens(100, 3, 7), &tokens(100, 3, 7), &tokens(200, 3, 9)],
        "{lines:?}"
    );
    let deltas: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"]["type"] == "message_delta")
        .map(|line| &line["event"]["usage"])
        .collect();
    assert_eq!(deltas, [&tokens(100, 3, 7), &tokens(200, 3, 9)], "{lines:?}");
}

#[test]
fn usage_is_per_turn_and_model_usage_per_process() {
    let scene =
        Scene::new([with_usage(answer_text("One."), 100, 10), with_usage(answer_text("Two."), 200, 20)]);
    let stdin = prompt("first") + &prompt("second");
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&output);
    let [first, second] = results(&lines)[..] else { panic!("{output}") };
    assert_eq!((&first["usage"], &second["usage"]), (&tokens(100, 3, 10), &tokens(200, 3, 20)));
    let used = |end: &Value| {
        let used = &end["modelUsage"][MODEL];
        ["inputTokens", "outputTokens", "cacheReadInputTokens"].map(|key| used[key].as_u64().unwrap())
    };
    assert_eq!((used(first), used(second)), ([100, 10, 3], [300, 30, 6]), "{output}");
    let cost = |end: &Value| end["total_cost_usd"].as_f64().unwrap();
    // Dollars per million tokens: 3 for input, 15 for output, 0.3 for cache reads.
    assert!((cost(first) - 0.000_450_9).abs() < 2e-6, "{output}");
    assert!((cost(second) - cost(first) - 0.000_900_9).abs() < 2e-6, "{output}");
    for end in [first, second] {
        let used = &end["modelUsage"][MODEL];
        assert_eq!(end["modelUsage"].as_object().unwrap().len(), 1, "{output}");
        assert_eq!(used["costUSD"], end["total_cost_usd"]);
        assert!(used["contextWindow"].as_u64() > Some(0) && used["maxOutputTokens"].as_u64() > Some(0));
    }
}

#[test]
fn a_fallback_model_has_its_own_usage_and_limits() {
    let quota = Answer::error(402, "insufficient_quota", "the account has no credit left");
    let first = with_usage(answer_call("t1", "read", &json!({ "path": "a.txt" })), 100, 10);
    let scene = Scene::new([first, quota, with_usage(answer_text("Done."), 200, 20)]);
    let other = "claude-haiku-4-5-20251001";
    let args = [&LINES[..], &["--fallback-model", other, "do it"]].concat();
    let output = claude(&scene, &args).run().succeeded();
    let lines = events(&output);
    let models: Vec<&Value> = lines.iter().filter_map(|line| line.pointer("/message/model")).collect();
    assert_eq!(models, [MODEL, other], "{output}");
    let used = &lines.last().unwrap()["modelUsage"];
    let counts = |model: &str| {
        ["inputTokens", "outputTokens", "maxOutputTokens"]
            .map(|key| used[model][key].as_u64().unwrap_or_default())
    };
    assert_eq!((counts(MODEL), counts(other)), ([100, 10, 128_000], [200, 20, 64_000]), "{used}");
}

#[test]
fn a_failed_turn_reports_its_usage() {
    let scene = Scene::new([with_usage(answer_call("t1", "read", &json!({ "path": "a.txt" })), 100, 10)]);
    let args = [&LINES[..], &["--max-turns", "1", "do it"]].concat();
    let output: ProgramOutput = claude(&scene, &args).run();
    let lines = events(&output);
    let end = lines.last().unwrap();
    assert_eq!((&end["is_error"], &end["usage"]), (&json!(true), &tokens(100, 3, 10)), "{output}");
    assert_eq!(end["modelUsage"][MODEL]["inputTokens"], 100, "{output}");
}

/// A host that waits for its own id waits for ever otherwise.
#[test]
fn the_id_of_a_prompt_is_that_of_the_host_in_its_replay() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let ids = ["5f0c1a62-0000-4000-8000-000000000001", "5f0c1a62-0000-4000-8000-000000000002"];
    let stdin: String = ids
        .iter()
        .map(|id| {
            format!(
                "{}\n",
                json!({ "type": "user", "uuid": id, "message": { "role": "user", "content": "do it" } })
            )
        })
        .collect();
    let args = [&SDK[..], &["--replay-user-messages"]].concat();
    let output = claude(&scene, &args).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&output);
    let replayed: Vec<_> = lines
        .iter()
        .filter(|line| line["isReplay"] == true)
        .map(|line| line["uuid"].as_str().unwrap())
        .collect();
    assert_eq!(replayed, ids, "{output}");
}

#[test]
fn an_empty_argument_is_ignored() {
    let scene = Scene::new([answer_text("One.")]);
    let args = [&SDK[..], &["--replay-user-messages", ""]].concat();
    let output = claude(&scene, &args).stdin(Stdin::Piped(prompt("first").into())).run().succeeded();
    assert_eq!(results(&events(&output))[0]["result"], "One.");
    let scene = Scene::new([answer_text("Two.")]);
    let output = claude(&scene, &["-p", ""]).stdin(Stdin::Piped(b"from stdin".to_vec())).run().succeeded();
    assert_eq!(output.stdout, "Two.\n");
}

#[test]
fn a_failure_before_a_run_names_directory_and_session() {
    let scene = Scene::new([]);
    let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
    let fails = |more: &[&str]| {
        let program = scene
            .ibeam_without_model(["--dialect=claude"])
            .args(LINES)
            .args(["--model", "sonnet"])
            .args(more);
        let output = program.args(["x"]).run();
        assert_eq!(output.code, Some(20), "{output}");
        events(&output)
    };
    let lines = fails(&["--session-id", id, "--permission-mode", "plan"]);
    let directory = scene.workspace.path().canonicalize().unwrap();
    assert_eq!(lines[0]["cwd"], directory.to_str().unwrap());
    assert_eq!((&lines[0]["apiKeySource"], &lines[0]["permissionMode"]), (&json!("none"), &json!("plan")));
    assert!(lines.iter().all(|line| line["session_id"] == id), "{lines:?}");
    let lines = fails(&[]);
    let fresh = lines[0]["session_id"].as_str().unwrap();
    assert!(fresh.len() == 36 && lines.iter().all(|line| line["session_id"] == fresh), "{lines:?}");
}

/// Returns the response of a host to a request of ibeam.
pub(crate) fn response(id: &str, response: &Value) -> String {
    let response = json!({ "subtype": "success", "request_id": id, "response": response });
    format!("{}\n", json!({ "type": "control_response", "response": response }))
}

/// Returns the responses to requests of the host, with the ids of the requests.
pub(crate) fn answers(lines: &[Value]) -> Vec<(&str, &Value)> {
    let answers = lines.iter().filter(|line| line["type"] == "control_response");
    answers.map(|line| (line["response"]["request_id"].as_str().unwrap(), &line["response"])).collect()
}

/// Waits for request number `id` to the host's server, and answers with `result`.
fn serve(running: &RunningProgram, id: usize, result: &Value) {
    let request_id = format!("mcp-{id}");
    running.wait_for_stdout(&format!("\"request_id\":\"{request_id}\""));
    let message = json!({ "jsonrpc": "2.0", "id": 0, "result": result });
    running.type_text(&response(&request_id, &json!({ "mcp_response": message })));
}

const HANDSHAKE: &str =
    r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"calc"}}"#;

fn calc_tools() -> Value {
    json!({ "tools": [{ "name": "add", "description": "Adds.", "inputSchema": { "type": "object" } }] })
}

#[test]
fn a_server_of_the_host_is_called_through_messages() {
    let call = answer_call("t1", "mcp_calc_add", &json!({ "a": 1 }));
    let scene = Scene::new([call, answer_text("It is three.")]);
    let servers = r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#;
    let flags = ["--mcp-config", servers, "--allowedTools", "mcp__calc__add"];
    let running = claude(&scene, &[&SDK[..], &flags].concat()).stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("add"));
    serve(&running, 0, &serde_json::from_str(HANDSHAKE).unwrap());
    // The notification `initialized` has an empty result.
    running.wait_for_stdout("\"request_id\":\"mcp-1\"");
    running.type_text(&response("mcp-1", &json!({ "mcp_response": { "jsonrpc": "2.0", "result": {} } })));
    serve(&running, 2, &calc_tools());
    serve(&running, 3, &json!({ "content": [{ "type": "text", "text": "three" }] }));
    running.wait_for_stdout("\"type\":\"result\"");
    running.type_text(&request("r1", &json!({ "subtype": "mcp_status" })));
    running.wait_for_stdout("\"request_id\":\"r1\"");
    running.signal(Signal::Term);
    let lines = events(&running.finish());
    let methods: Vec<&Value> = lines
        .iter()
        .filter(|line| line["request"]["subtype"] == "mcp_message")
        .map(|line| &line["request"]["message"]["method"])
        .collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list", "tools/call"], "{lines:?}");
    let called = lines.iter().find(|line| line["request"]["message"]["method"] == "tools/call").unwrap();
    assert_eq!(called["request"]["server_name"], "calc");
    assert_eq!(called["request"]["message"]["params"], json!({ "name": "add", "arguments": { "a": 1 } }));
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "connected" }]));
    assert!(init["tools"].to_string().contains("\"mcp__calc__add\""), "{init}");
    let texts: Vec<String> = lines.iter().map(|line| line["message"]["content"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("mcp__calc__add")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("three") && text.contains("tool_result")), "{texts:?}");
    let status = json!({ "mcpServers": [{ "name": "calc", "status": "connected" }] });
    assert_eq!(answers(&lines)[0].1["response"], status);
    let offered = scene.server.requests()[0].body.to_string();
    assert!(offered.contains("mcp_calc_add"), "{offered}");
}

#[test]
fn a_server_of_the_host_that_fails_is_reported() {
    let scene = Scene::new([answer_text("Without it.")]);
    let running = claude(&scene, &SDK).stdin(Stdin::SilentPipe).start();
    running.type_text(&request("r1", &json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] })));
    running.type_text(&prompt("add"));
    running.wait_for_stdout("\"request_id\":\"mcp-0\"");
    let refused = json!({ "subtype": "error", "request_id": "mcp-0", "error": "no such server" });
    running.type_text(&format!("{}\n", json!({ "type": "control_response", "response": refused })));
    running.wait_for_stdout("\"type\":\"result\"");
    running.signal(Signal::Term);
    let output = running.finish();
    let lines = events(&output);
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "failed" }]), "{output}");
    assert!(output.stderr.contains("calc") && output.stderr.contains("no such server"), "{output}");
}

/// The session starts with one server, and the next run has another one.
#[test]
fn servers_of_the_host_can_be_set_between_runs() {
    let Some(python) = ibeam_testkit::stdio_mcp_server::python() else { return };
    let workspace = Workspace::new().file("server.py", ibeam_testkit::stdio_mcp_server::SERVER);
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]).with_workspace(workspace);
    let set = |id: &str, name: &str| {
        let servers = json!({ name: { "command": python, "args": ["server.py"] } });
        request(id, &json!({ "subtype": "mcp_set_servers", "servers": servers }))
    };
    let running = claude(&scene, &SDK).stdin(Stdin::SilentPipe).start();
    running.type_text(&(set("r1", "first") + &prompt("one")));
    running.wait_for_stdout("\"type\":\"result\"");
    running.type_text(&set("r2", "second"));
    running.wait_for_stdout("\"request_id\":\"r2\"");
    running.type_text(&prompt("two"));
    running.wait_for_stdout("Two.");
    running.signal(Signal::Term);
    let output = running.finish();
    let lines = events(&output);
    let responses: Vec<&Value> = answers(&lines).into_iter().map(|(_, answer)| &answer["response"]).collect();
    assert_eq!(
        responses,
        [
            &json!({ "added": ["first"], "removed": [], "errors": {} }),
            &json!({ "added": ["second"], "removed": ["first"], "errors": {} }),
        ],
        "{output}"
    );
    let servers: Vec<&Value> = lines.iter().filter_map(|line| line.get("mcp_servers")).collect();
    let connected = |name: &str| json!([{ "name": name, "status": "connected" }]);
    assert_eq!(servers, [&connected("first"), &connected("second")], "{output}");
    let offers = |index: usize, name: &str| {
        scene.server.requests()[index].body["tools"].to_string().contains(&format!("mcp_{name}_"))
    };
    assert!(offers(0, "first") && !offers(0, "second") && offers(1, "second"), "{output}");
}

#[test]
fn set_model_applies_to_later_prompts() {
    let scene = Scene::new([answer_text("One."), answer_text("Two."), answer_text("Three.")]);
    let set_model = |id: &str, model: &Value| request(id, &json!({ "subtype": "set_model", "model": model }));
    let stdin = [
        request("r0", &json!({ "subtype": "initialize" })),
        prompt("first"),
        set_model("r1", &json!("haiku")),
        prompt("second"),
        set_model("r2", &json!("openai/gpt-5")),
        set_model("r3", &json!(null)),
        prompt("third"),
    ];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.concat().into())).run().succeeded();
    let lines = events(&output);
    let sent: Vec<Value> = scene.server.requests().iter().map(|sent| sent.body["model"].clone()).collect();
    assert_eq!(sent, [MODEL, "claude-haiku-5-5", MODEL], "{output}");
    let inits: Vec<&Value> = lines.iter().filter_map(|line| line.get("model")).collect();
    assert_eq!(inits, [MODEL, "claude-haiku-5-5", MODEL], "{output}");
    let answers = answers(&lines);
    let response_to = |id: &str| answers.iter().find(|(answered_id, _)| *answered_id == id).unwrap().1;
    let models: Vec<&Value> = response_to("r0")["response"]["models"].as_array().unwrap().iter().collect();
    assert_eq!((&models[0]["value"], &models[1]["value"]), (&json!("default"), &json!(MODEL)), "{output}");
    assert_eq!(response_to("r1")["response"], json!({ "model": "claude-haiku-5-5" }));
    assert_eq!(response_to("r2")["subtype"], "error");
    assert_eq!(response_to("r3")["response"], json!({ "model": MODEL }));
    let used = results(&lines)[2]["modelUsage"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(used, ["claude-haiku-5-5", MODEL], "{output}");
}

#[test]
fn the_id_of_an_unstored_session_can_be_reused() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
    let args = ["-p", "--no-session-persistence", "--session-id", id, "hi"];
    for expect in ["One.\n", "Two.\n"] {
        assert_eq!(claude(&scene, &args).run().succeeded().stdout, expect);
        assert!(!scene.workspace.journal(id).exists());
    }
    assert!(!scene.server.requests()[1].transcript().iter().any(|text| text.contains("One.")));
}

#[test]
fn a_minimal_start_leaves_out_instructions_and_servers() {
    for (flags, expect) in [(&[][..], true), (&["--bare"], false)] {
        let workspace = Workspace::new()
            .file("AGENTS.md", "Speak Latin.")
            .file(".cursor/mcp.json", r#"{"mcpServers":{"calc":{"command":"calc"}}}"#);
        let scene = Scene::new([answer_text("Hello.")]).with_workspace(workspace);
        let output = claude(&scene, &[&LINES[..], flags, &["hi"]].concat()).run().succeeded();
        let servers = events(&output)[0]["mcp_servers"].to_string();
        let sent = scene.server.requests()[0].body.to_string();
        assert_eq!((sent.contains("Speak Latin."), servers.contains("calc")), (expect, expect), "{output}");
    }
}

#[test]
fn the_login_status_depends_on_the_keys() {
    let scene = Scene::new([]);
    let status = |key: Option<&str>| {
        let program = scene.ibeam_without_model(["--dialect", "claude", "auth", "status"]);
        match key {
            Some(key) => program.env("ANTHROPIC_API_KEY", key).run(),
            None => program.run(),
        }
    };
    let parsed = |output: &ProgramOutput| serde_json::from_str::<Value>(&output.stdout).unwrap();
    let output = status(Some("key"));
    assert_eq!((output.code, parsed(&output)["loggedIn"].as_bool()), (Some(0), Some(true)), "{output}");
    assert_eq!(parsed(&output)["apiKeySource"], "ANTHROPIC_API_KEY");
    let output = status(None);
    let is_usable = parsed(&output)["loggedIn"].as_bool().unwrap();
    let method = parsed(&output)["authMethod"].clone();
    // The embedded model needs no key.
    assert_eq!((output.code, method), (Some(i32::from(!is_usable)), json!("none")), "{output}");
}

#[test]
fn an_answer_follows_the_schema_or_the_run_fails() {
    let schema = json!({ "type": "object", "required": ["city"], "$schema": "http://json-schema.org/draft-07/schema#" }).to_string();
    let args = [&LINES[..], &["--json-schema", &schema, "Which city?"]].concat();
    let scene = Scene::new([answer_text("Paris"), answer_text(r#"{"city":"Paris"}"#)]);
    let lines = events(&claude(&scene, &args).run().succeeded());
    let [result] = results(&lines)[..] else { panic!("{lines:?}") };
    assert_eq!(
        (&result["structured_output"], &result["result"], &result["subtype"]),
        (&json!({ "city": "Paris" }), &json!(r#"{"city":"Paris"}"#), &json!("success"))
    );

    let scene = Scene::new([answer_text("Paris"), answer_text("Paris"), answer_text("Paris")]);
    let output = claude(&scene, &args).run();
    assert_eq!(output.code, Some(1), "{output}");
    let lines = events(&output);
    let [result] = results(&lines)[..] else { panic!("{lines:?}") };
    assert_eq!(
        (&result["subtype"], &result["is_error"], result.get("structured_output")),
        (&json!("error_max_structured_output_retries"), &json!(true), None)
    );
}

fn prompt_with(blocks: &[Value]) -> String {
    let text = json!({ "type": "text", "text": "look" });
    let content: Vec<&Value> = std::iter::once(&text).chain(blocks).collect();
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

#[test]
fn files_of_a_message_reach_the_model() {
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG_BASE64 } });
    let text = json!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "Notes." } });
    let scene = Scene::new([answer_text("A dot.")]);
    let run = |scene: &Scene, args: &[&str], line: &str| {
        claude(scene, &[&SDK[..], args].concat()).stdin(Stdin::Piped(line.into())).run()
    };
    let output = run(&scene, &[], &prompt_with(&[image.clone(), text])).succeeded();
    assert_eq!(results(&events(&output))[0]["result"], "A dot.");
    let sent = scene.server.requests()[0].body.to_string();
    assert!(sent.contains(PNG_BASE64) && sent.contains("Notes."), "{sent}");
    let url = json!({ "type": "image", "source": { "type": "url", "url": "https://x.invalid/a.png" } });
    for (args, block, expect) in [
        (&[][..], url, "`image 1` has the source `url`; send the content as `base64`"),
        (
            &["--model", "mistral/devstral-medium-latest"],
            image,
            "the model `devstral-medium-latest` cannot see images",
        ),
    ] {
        let scene = Scene::new([]);
        let program = claude(&scene, &[&SDK[..], args].concat()).env("MISTRAL_API_KEY", "key");
        let output = program.stdin(Stdin::Piped(prompt_with(&[block]).into())).run();
        assert_eq!(output.code, Some(2), "{output}");
        let lines = events(&output);
        assert_eq!(lines.last().unwrap()["is_error"], true, "{output}");
        assert!(output.stderr.contains(expect), "{output}");
    }
}
