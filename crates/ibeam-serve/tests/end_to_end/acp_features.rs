//! `ibeam acp`: labels in the language of the user, message ids, MCP servers of the editor, directories of sessions.

use ibeam_testkit::Workspace;
use ibeam_testkit::http_mcp_server::{McpServer, with_sessions};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::{Value, json};

use super::acp::{Editor, response, stored_session, updates};

#[test]
fn labels_and_titles_are_in_the_language_of_the_user() {
    let scene = Scene::new([
        answer_text("Un."),
        answer_call("t1", "shell", &json!({ "command": "touch un" })),
        answer_call("t2", "read", &json!({ "path": "a.txt" })),
        answer_text("Fini."),
    ]);
    std::fs::write(scene.workspace.path().join("a.txt"), "x").unwrap();
    let id = stored_session(&scene, "premier");
    let mut editor =
        Editor::start_with(scene.ibeam(["--sandbox", "disabled"]).env("IBEAM_LANG", "fr"), &json!({}));
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "va");
    editor.decide(1, "allow-once");
    editor.wait_for_response(prompt);
    let messages = editor.end();
    let names = |values: &Value| -> Vec<String> {
        let values = values.as_array().unwrap().iter();
        values.map(|value| value["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&response(&messages, 1)["authMethods"]), ["Clés enregistrées", "Clés enregistrées"]);
    let session = response(&messages, 2);
    assert_eq!(names(&session["modes"]["availableModes"]), ["Agent", "Plan", "Questions"]);
    assert_eq!(names(&session["configOptions"]), ["Mode", "Modèle", "Effort"]);
    assert_eq!(names(&session["configOptions"][2]["options"])[0], "Par défaut");
    let question = messages.iter().find(|line| line["method"] == "session/request_permission").unwrap();
    assert_eq!(names(&question["params"]["options"])[0], "Autoriser");
    let titles: Vec<_> = updates(&messages, "tool_call").iter().map(|call| call["title"].clone()).collect();
    assert_eq!(titles, ["`touch un`", "Lire a.txt"]);
}

#[test]
fn a_message_has_the_same_id_whenever_it_is_sent() {
    let scene = Scene::new([
        answer_text("One."),
        answer_call("t1", "read", &json!({ "path": "a.txt" })),
        answer_text("Two."),
    ]);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &id);
    editor.prompt(&id, "second");
    let ids = |messages: &[Value]| -> Vec<(String, String)> {
        let chunks = updates(messages, "agent_message_chunk").into_iter();
        let pair = |chunk: &Value| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&chunk["content"]["text"]), text(&chunk["messageId"]))
        };
        let mut ids: Vec<(String, String)> = Vec::new();
        for (text, id) in chunks.map(pair) {
            match ids.last_mut() {
                Some((joined, last)) if *last == id => joined.push_str(&text),
                _ => ids.push((text, id)),
            }
        }
        ids
    };
    let live = ids(&editor.end());
    assert_eq!(live.last().unwrap().0, "Two.");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/load", &scene, &id);
    let loaded = ids(&editor.end());
    assert_eq!(loaded[0].0, "One.");
    assert!(live.iter().all(|message| loaded.contains(message)), "{live:?} {loaded:?}");
    let mut distinct: Vec<_> = loaded.iter().map(|(_, id)| id).collect();
    distinct.dedup();
    assert_eq!(distinct.len(), loaded.len(), "{loaded:?}");
}

#[test]
fn a_session_of_another_directory_is_not_loaded() {
    let scene = Scene::new([answer_text("One.")]);
    let id = stored_session(&scene, "first");
    let other = scene.workspace.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut editor = Editor::start(&scene, &[]);
    let params = json!({ "sessionId": id, "cwd": other, "mcpServers": [] });
    for method in ["session/load", "session/resume"] {
        editor.request(method, &params);
    }
    editor.open("session/load", &scene, &id);
    let messages = editor.end();
    let place = format!("`{}`", scene.workspace.path().canonicalize().unwrap().display());
    for request in [2, 3] {
        let error = response(&messages, request);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(&place), "{error}");
    }
    let place = |message: &Value| messages.iter().position(|other| other == message);
    let first_update = messages.iter().find(|message| message["method"] == "session/update").unwrap();
    let refused = messages.iter().find(|message| message["id"] == 3).unwrap();
    assert!(place(first_update) > place(refused), "a refused session sends nothing");
    assert!(response(&messages, 4)["modes"].is_object());
}

#[test]
fn the_editor_reads_unsaved_text_and_writes_edits() {
    let edit = json!({ "path": "a.txt", "strReplace": { "oldText": "unsaved", "newText": "edited" } });
    let scene = Scene::new([
        answer_text("One."),
        answer_call("t1", "read", &json!({ "path": "a.txt" })),
        answer_call("t2", "edit", &edit),
        answer_text("Done."),
    ]);
    let path = scene.workspace.path().join("a.txt");
    std::fs::write(&path, "saved\n").unwrap();
    let id = stored_session(&scene, "first");
    let files = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::start_with(scene.ibeam(["--force"]), &files);
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    for request in [1, 2] {
        editor.answer(request, "fs/read_text_file", &json!({ "content": "unsaved\n" }));
    }
    editor.answer(3, "fs/write_text_file", &json!({}));
    editor.wait_for_response(prompt);
    let messages = editor.end();
    let write = messages.iter().find(|message| message["method"] == "fs/write_text_file").unwrap();
    assert_eq!(write["params"], json!({ "sessionId": id, "path": path, "content": "edited\n" }));
    let ends: Vec<_> =
        updates(&messages, "tool_call_update").iter().map(|update| update["status"].clone()).collect();
    assert_eq!(ends.last().unwrap(), "completed", "{messages:?}");
    assert!(scene.server.requests().last().unwrap().body.to_string().contains("unsaved"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "saved\n", "only the editor writes");
}

#[test]
fn a_mentioned_and_a_linked_file_have_the_unsaved_text_of_the_editor() {
    let scene = Scene::new([answer_text("One."), answer_text("Done.")]);
    for name in ["a.txt", "b.txt"] {
        std::fs::write(scene.workspace.path().join(name), "saved\n").unwrap();
    }
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start_with(scene.ibeam::<&str>([]), &json!({ "fs": { "readTextFile": true } }));
    editor.open("session/resume", &scene, &id);
    let uri = format!("file://{}/b.txt", scene.workspace.path().display());
    let blocks = json!([
        { "type": "text", "text": "Compare @a.txt with" },
        { "type": "resource_link", "uri": uri, "name": "b.txt" },
    ]);
    let prompt = editor.send("session/prompt", &json!({ "sessionId": id, "prompt": blocks }));
    editor.answer(1, "fs/read_text_file", &json!({ "content": "first unsaved\n" }));
    editor.answer(2, "fs/read_text_file", &json!({ "content": "second unsaved\n" }));
    editor.wait_for_response(prompt);
    editor.end();
    let sent = scene.server.requests().last().unwrap().transcript().join("\n");
    assert!(sent.contains("first unsaved") && sent.contains("second unsaved"), "{sent}");
}

/// The call shows the steps of the sub-agent while it runs, then its result. The session of the sub-agent can be resumed.
#[test]
fn the_progress_of_a_sub_agent_is_shown_in_its_call() {
    let task = json!({ "description": "look", "prompt": "Look at it." });
    let config = "subagents.mode = \"enabled\"\n";
    let workspace = ibeam_testkit::Workspace::new().file("a.txt", "x").user_config(config);
    let scene = Scene::new([
        answer_text("One."),
        answer_call("t1", "task", &task),
        answer_call("c1", "read", &json!({ "path": "a.txt" })),
        answer_text("It has an x.\nNothing else."),
        answer_text("Done."),
    ])
    .with_workspace(workspace);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &id);
    editor.prompt(&id, "go");
    let messages = editor.end();
    let calls = updates(&messages, "tool_call");
    assert_eq!(calls.len(), 1, "a call of a sub-agent is no call of the session: {calls:?}");
    let agent = calls[0]["rawInput"]["agentId"].as_str().unwrap();
    let shown: Vec<_> = updates(&messages, "tool_call_update")
        .iter()
        .filter(|update| update["content"].is_array())
        .map(|update| (update["toolCallId"].clone(), update["content"][0]["content"]["text"].clone()))
        .collect();
    let [first, second, result] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((&first.1, &second.1), (&json!("- Read a.txt\n"), &json!("- Read a.txt\n- It has an x.\n")));
    assert!(result.1.as_str().unwrap().starts_with("It has an x.\nNothing else.\n"), "{result:?}");
    assert!(shown.iter().all(|(call, _)| call == "t1"), "{shown:?}");
    scene.with_answers([answer_text("Again.")]).ibeam(["-p", "--resume", agent, "again"]).run().succeeded();
}

#[test]
fn an_http_server_of_the_editor_is_used() {
    let server = McpServer::start(with_sessions);
    let scene = Scene::new([
        answer_text("One."),
        ibeam_testkit::stdio_mcp_server::call("echo", json!({ "value": "x" })),
        answer_text("Done."),
    ]);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    let header = json!({ "name": "X-Team", "value": "blue" });
    let declared = json!({ "type": "http", "name": "test", "url": server.url, "headers": [header] });
    let params = json!({ "sessionId": id, "cwd": scene.workspace.path(), "mcpServers": [declared] });
    editor.request("session/resume", &params);
    let prompt = editor.send_prompt(&id, "go");
    editor.decide(1, "allow-once");
    editor.wait_for_response(prompt);
    let messages = editor.end();
    assert_eq!(response(&messages, 1)["agentCapabilities"]["mcpCapabilities"]["http"], true);
    let ended = updates(&messages, "tool_call_update").pop().unwrap();
    assert_eq!(
        (&ended["status"], &ended["content"][0]["content"]["text"]),
        (&json!("completed"), &json!("called"))
    );
    let called = server.received().into_iter().find(|request| request.rpc() == "tools/call").unwrap();
    assert_eq!(called.header("x-team"), Some("blue"));
}

#[test]
fn only_an_editor_asks_for_thoughts_that_the_service_leaves_out() {
    let config =
        "[models.\"claude-sonnet-4-6\"]\nrules = [\"omitted_thinking\"]\nthinking.default = \"high\"\n";
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let scene = scene.with_workspace(Workspace::new().user_config(config));
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/load", &scene, &id);
    editor.prompt(&id, "second");
    editor.end();
    let requests = scene.server.requests();
    assert_eq!(requests[0].body.get("thinking"), None);
    assert_eq!(requests[1].body["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
}
