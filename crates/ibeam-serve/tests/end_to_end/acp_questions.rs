//! `ibeam acp`: questions of MCP servers, which the user of the editor answers.

use ibeam_testkit::http_mcp_server::{McpAnswer, McpRequest, McpServer, tools};
use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::stdio_mcp_server::call;
use serde_json::{Value, json};

use super::acp::{Editor, stored_session, updates};

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn question() -> Value {
    let branch = json!({ "type": "string", "title": "Branch", "default": "main" });
    let schema = json!({ "type": "object", "properties": { "branch": branch }, "required": ["branch"] });
    json!({ "message": "Which branch?", "requestedSchema": schema })
}

/// Runs a turn in an editor with these capabilities, whose user answers the question, if it is shown, with `answer`.
/// Returns the messages of the program.
#[track_caller]
fn run(scene: &Scene, capabilities: &Value, answer: Option<&Value>) -> Vec<Value> {
    let id = stored_session(scene, "first");
    let mut editor = Editor::start_with(scene.ibeam(["--approve-mcps"]), capabilities);
    editor.open("session/resume", scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    if let Some(answer) = answer {
        editor.answer(1, "elicitation/create", answer);
    }
    editor.wait_for_response(prompt);
    editor.end()
}

/// Returns the text of the last result of a tool.
#[track_caller]
fn last_result(messages: &[Value]) -> Value {
    let ended = updates(messages, "tool_call_update").pop().unwrap();
    ended["content"][0]["content"]["text"].clone()
}

#[test]
fn the_user_of_the_editor_answers_a_server_over_stdio() {
    // The time limit of the call does not run while the user is asked.
    let Some(table) = ibeam_testkit::stdio_mcp_server::table("test", &["asks"]) else { return };
    let config = format!("{table}call_timeout = \"400ms\"\n");
    for (capabilities, answer, expect) in [
        (forms(), json!({ "action": "accept", "content": { "branch": "next" } }), "accept next"),
        (forms(), json!({ "action": "decline" }), "decline"),
        (json!({}), Value::Null, "decline"),
    ] {
        let workspace = ibeam_testkit::Workspace::new()
            .file("server.py", ibeam_testkit::stdio_mcp_server::SERVER)
            .user_config(&config);
        let answers = [answer_text("One."), call("ask", json!({})), answer_text("Done.")];
        let scene = Scene::new(answers).with_workspace(workspace);
        let id = stored_session(&scene, "first");
        let mut editor = Editor::start_with(scene.ibeam(["--approve-mcps"]), &capabilities);
        editor.open("session/resume", &scene, &id);
        let prompt = editor.send_prompt(&id, "go");
        if !answer.is_null() {
            editor.program.wait_for_stdout("elicitation/create");
            std::thread::sleep(std::time::Duration::from_millis(800));
            editor.answer(1, "elicitation/create", &answer);
        }
        editor.wait_for_response(prompt);
        let messages = editor.end();
        assert_eq!(last_result(&messages), expect);
        let asked = messages.iter().find(|message| message["method"] == "elicitation/create");
        assert_eq!(asked.is_some(), !answer.is_null());
        if let Some(asked) = asked {
            assert_eq!(
                asked["params"],
                json!({ "mode": "form", "sessionId": id, "message": "test (MCP): Which branch?",
                        "requestedSchema": question()["requestedSchema"] })
            );
        }
    }
}

/// Answers as a server of revision 2026-07-28, whose tool asks before it returns the answer.
fn asks_without_sessions(request: &McpRequest) -> McpAnswer {
    match request.rpc() {
        "server/discover" => {
            request.result(json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }))
        }
        "tools/list" => request.result(tools()),
        "tools/call" => match request.body["params"].get("inputResponses") {
            None => request.result(json!({
                "resultType": "input_required",
                "inputRequests": { "a": { "method": "elicitation/create", "params": question() } },
            })),
            Some(responses) => {
                request.result(json!({ "content": [{ "type": "text", "text": responses["a"].to_string() }] }))
            }
        },
        _ => McpAnswer::status(404),
    }
}

#[test]
fn the_user_of_the_editor_answers_a_server_without_sessions() {
    let server = McpServer::start(asks_without_sessions);
    let answers = [answer_text("One."), call("echo", json!({ "value": "x" })), answer_text("Done.")];
    let scene = Scene::new(answers).with_workspace(server.workspace(""));
    let answer = json!({ "action": "accept", "content": { "branch": "next" } });
    let messages = run(&scene, &forms(), Some(&answer));
    assert_eq!(last_result(&messages), answer.to_string());
}

#[test]
fn a_cancelled_turn_ends_its_questions() {
    let server = McpServer::start(asks_without_sessions);
    let answers = [answer_text("One."), call("echo", json!({ "value": "x" })), answer_text("Done.")];
    let scene = Scene::new(answers).with_workspace(server.workspace(""));
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start_with(scene.ibeam(["--approve-mcps"]), &forms());
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    editor.program.wait_for_stdout("elicitation/create");
    editor.write(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": id } }));
    editor.wait_for_response(prompt);
    let messages = editor.end();
    assert_eq!(super::acp::response(&messages, prompt)["stopReason"], "cancelled");
    let cancelled = messages.iter().any(|message| message["method"] == "$/cancel_request");
    assert!(cancelled, "the editor closes the form: {messages:?}");
}
