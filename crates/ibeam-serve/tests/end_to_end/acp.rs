//! `ibeam acp`: an editor that speaks the Agent Client Protocol. Includes the example of docs/editors.md.

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, RunningProgram, Stdin, Workspace};
use serde_json::{Value, json};

/// An editor, connected to the program.
pub(crate) struct Editor {
    pub(crate) program: RunningProgram,
    last_id: u64,
}

impl Editor {
    /// Starts the program and initializes the connection.
    pub(crate) fn start(scene: &Scene, args: &[&str]) -> Self {
        Self::start_with(scene.ibeam(args), &json!({}))
    }

    /// Starts the program and initializes the connection with these capabilities.
    pub(crate) fn start_with(ibeam: Ibeam, capabilities: &Value) -> Self {
        let program = ibeam.args(["acp"]).stdin(Stdin::SilentPipe).start();
        let mut editor = Self { program, last_id: 0 };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        editor.request("initialize", &params);
        editor
    }

    /// Waits for the request `id` of the program and answers it with `result`.
    pub(crate) fn answer(&self, id: u64, method: &str, result: &Value) {
        self.program.wait_for_stdout(&format!("\"id\":{id},\"method\":\"{method}\""));
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Waits for the question `id` and answers it with this option.
    pub(crate) fn decide(&self, id: u64, option: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.answer(id, "session/request_permission", &outcome);
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    pub(crate) fn write(&self, message: &Value) {
        self.program.type_text(&format!("{message}\n"));
    }

    fn notify(&self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and waits for its response.
    pub(crate) fn request(&mut self, method: &str, params: &Value) {
        let id = self.send(method, params);
        self.wait_for_response(id);
    }

    pub(crate) fn wait_for_response(&self, id: u64) {
        self.program.wait_for_stdout(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},"));
    }

    /// Begins the stored session `id` in the workspace of the scene.
    pub(crate) fn open(&mut self, method: &str, scene: &Scene, id: &str) {
        self.request(method, &json!({ "sessionId": id, "cwd": scene.workspace.path(), "mcpServers": [] }));
    }

    pub(crate) fn send_prompt(&mut self, session: &str, text: &str) -> u64 {
        let blocks = json!([{ "type": "text", "text": text }]);
        self.send("session/prompt", &json!({ "sessionId": session, "prompt": blocks }))
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) {
        let id = self.send_prompt(session, text);
        self.wait_for_response(id);
    }

    /// Closes stdin, checks the exit code, and returns the messages.
    #[track_caller]
    pub(crate) fn end(mut self) -> Vec<Value> {
        self.program.close_stdin();
        let output = self.program.finish();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        messages(&output)
    }
}

pub(crate) fn messages(output: &ProgramOutput) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the result or the error of the response `id`.
pub(crate) fn response(messages: &[Value], id: u64) -> &Value {
    let found = messages.iter().find(|message| message["id"] == id && message.get("method").is_none());
    let found = found.unwrap_or_else(|| panic!("no response {id} in {messages:?}"));
    found.get("result").unwrap_or_else(|| &found["error"])
}

pub(crate) fn updates<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

pub(crate) fn texts(messages: &[Value], kind: &str) -> String {
    updates(messages, kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// Creates a session with one prompt on the command line and returns its id.
pub(crate) fn stored_session(scene: &Scene, prompt: &str) -> String {
    let output = scene.ibeam(["-p", prompt]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    messages(&output)[0]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_of_an_editor_resumes_on_the_command_line_and_back() {
    let scene = Scene::new([
        answer_text("One."),
        answer_call("t1", "read", &json!({ "path": "a.txt" })),
        answer_text("Two."),
        answer_text("Three."),
    ]);
    std::fs::write(scene.workspace.path().join("a.txt"), "x").unwrap();
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/load", &scene, &id);
    editor.prompt(&id, "second");
    let messages = editor.end();
    assert_eq!(texts(&messages, "user_message_chunk"), "first");
    assert_eq!(texts(&messages, "agent_message_chunk"), "One.Two.");
    assert_eq!(response(&messages, 3), &json!({ "stopReason": "end_turn" }));
    let call = updates(&messages, "tool_call")[0];
    assert_eq!((&call["title"], &call["kind"]), (&json!("Read a.txt"), &json!("read")));
    let states: Vec<_> =
        updates(&messages, "tool_call_update").iter().map(|update| update["status"].clone()).collect();
    assert_eq!(states, ["in_progress", "completed"]);
    let output = scene.ibeam(["-p", "third", &format!("--resume={id}")]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let prompts: Vec<_> = journal(&scene, &id)
        .iter()
        .filter_map(|event| event.pointer("/kind/user_message/content/0")?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(prompts, ["first", "second", "third"]);
}

#[test]
fn the_prompts_of_mcp_servers_are_commands() {
    let Some(table) = ibeam_testkit::stdio_mcp_server::table("test", &["prompts"]) else { return };
    let workspace = Workspace::new()
        .file("server.py", ibeam_testkit::stdio_mcp_server::SERVER)
        .file(".cursor/commands/tidy.md", "# Tidy up\n")
        .user_config(&table);
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]).with_workspace(workspace);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &id);
    editor.prompt(&id, "second");
    editor.program.wait_for_stdout("test:review");
    let messages = editor.end();
    let found = updates(&messages, "available_commands_update");
    let names = |update: &Value| -> Vec<String> {
        let commands = update["availableCommands"].as_array().unwrap();
        commands.iter().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(found[0]), ["tidy"]);
    assert_eq!(names(found[1]), ["tidy", "test:review"]);
    let review = &found[1]["availableCommands"][1];
    assert_eq!(
        (&review["description"], &review["input"]["hint"]),
        (&json!("Reviews a file"), &json!("file [aim]"))
    );
}

#[test]
fn nothing_about_a_session_precedes_the_response_that_begins_it() {
    let scene = Scene::new([answer_text("Hello.")]);
    let mut editor = Editor::start(&scene, &[]);
    editor.request("session/new", &json!({ "cwd": scene.workspace.path(), "mcpServers": [] }));
    let messages = editor.end();
    assert_eq!(messages.len(), 2, "{messages:?}");
    let session = response(&messages, 2);
    assert_eq!(session["modes"]["currentModeId"], "agent");
    let options: Vec<_> =
        session["configOptions"].as_array().unwrap().iter().map(|option| option["id"].clone()).collect();
    assert_eq!(options, ["mode", "model", "effort"]);
}

#[test]
fn the_user_of_the_editor_approves_a_command_once_or_always() {
    let scene = Scene::new([
        answer_text("Hello."),
        answer_call("t1", "shell", &json!({ "command": "touch one" })),
        answer_call("t2", "shell", &json!({ "command": "touch one" })),
        answer_call("t3", "shell", &json!({ "command": "touch two" })),
        answer_text("Done."),
    ]);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &["--sandbox", "disabled"]);
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    for (question, option) in [(1, "allow-always"), (2, "reject-once")] {
        editor.decide(question, option);
    }
    editor.wait_for_response(prompt);
    let messages = editor.end();
    assert_eq!(response(&messages, prompt), &json!({ "stopReason": "end_turn" }));
    assert!(scene.workspace.path().join("one").exists());
    assert!(!scene.workspace.path().join("two").exists());
    let states: Vec<_> = updates(&messages, "tool_call_update")
        .iter()
        .map(|update| update["status"].clone())
        .filter(|status| status != "in_progress")
        .collect();
    assert_eq!(states, ["completed", "completed", "failed"]);
    let sent = scene.server.requests().last().unwrap().transcript().join("\n");
    assert!(sent.contains("result the user refused this call"), "{sent}");
    assert!(!sent.contains("--allow"), "the answer is not an invitation to try again: {sent}");
}

#[test]
fn an_editor_has_the_defaults_of_a_terminal() {
    let outside = "the command is confined, so nobody is asked";
    let directory = json!({ "command": "mkdir sub && ls", "workingDirectory": "sub" });
    let scene = Scene::new([
        answer_text("Hello."),
        answer_call("t1", "shell", &json!({ "command": "mkdir -p sub; ls" })),
        answer_call("t2", "shell", &directory),
        answer_call("t3", "write", &json!({ "path": "../outside.txt", "fileText": "x" })),
        answer_text("Done."),
    ]);
    let workspace = Workspace::new().user_config("[permissions]\nask = [\"Shell(mkdir:sub*)\"]\n");
    let scene = scene.with_workspace(workspace);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    editor.decide(1, "allow-once");
    editor.decide(2, "allow-once");
    editor.wait_for_response(prompt);
    let messages = editor.end();
    let questions: Vec<&Value> =
        messages.iter().filter(|message| message["method"] == "session/request_permission").collect();
    assert_eq!(questions.len(), 2, "{outside}: {questions:?}");
    let call = &questions[0]["params"]["toolCall"];
    let text = call["content"][0]["content"]["text"].as_str().unwrap();
    let sub = scene.workspace.path().canonicalize().unwrap().join("sub");
    assert!(text.starts_with("asked because of the rule `Shell(mkdir:sub*)`"), "{text}");
    assert!(text.ends_with(&format!("```console\n{}$ mkdir sub && ls\n```", sub.display())), "{text}");
    assert_eq!(call["locations"], json!([{ "path": sub }]));
    let text = questions[1]["params"]["toolCall"]["content"][0]["content"]["text"].to_string();
    assert!(text.contains("asked because it reaches outside the workspace"), "{text}");
    assert!(scene.workspace.path().join("../outside.txt").exists());
}

#[test]
fn an_editor_is_asked_before_a_command_publishes() {
    let push = |id| answer_call(id, "shell", &json!({ "command": "git push origin main" }));
    let commit = json!({ "command": "git commit --dry-run -m 'then git push'" });
    let scene = Scene::new([
        answer_text("Hello."),
        push("t1"),
        answer_call("t2", "shell", &commit),
        answer_text("Done."),
        push("t3"),
        answer_text("Allowed."),
    ]);
    let id = stored_session(&scene, "first");
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "go");
    editor.decide(1, "reject-once");
    editor.wait_for_response(prompt);
    let messages = editor.end();
    let questions: Vec<&Value> =
        messages.iter().filter(|message| message["method"] == "session/request_permission").collect();
    assert_eq!(questions.len(), 1, "{questions:?}");
    let text = questions[0]["params"]["toolCall"]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("asked because it publishes or changes something on a service"), "{text}");
    assert!(text.ends_with("$ git push origin main\n```"), "{text}");

    let mut editor = Editor::start(&scene, &["--allow", "Shell(git:push origin*)"]);
    editor.open("session/resume", &scene, &id);
    let prompt = editor.send_prompt(&id, "again");
    editor.wait_for_response(prompt);
    let messages = editor.end();
    assert!(messages.iter().all(|message| message["method"] != "session/request_permission"), "{messages:?}");
}

#[test]
fn a_cancelled_prompt_ends_and_other_sessions_continue() {
    let scene = Scene::new([answer_text("A."), answer_text("B."), Answer::new().text("Slow").stall()]);
    let (first, second) = (stored_session(&scene, "a"), stored_session(&scene, "b"));
    let mut editor = Editor::start(&scene, &[]);
    editor.open("session/resume", &scene, &first);
    editor.open("session/resume", &scene, &second);
    let slow = editor.send_prompt(&first, "slow");
    editor.program.wait_for_stdout("Slow");
    let busy = editor.send_prompt(&first, "too early");
    editor.wait_for_response(busy);
    let mode = json!({ "sessionId": second, "modeId": "plan" });
    let mode = editor.send("session/set_mode", &mode);
    editor.wait_for_response(mode);
    editor.notify("session/cancel", &json!({ "sessionId": first }));
    editor.wait_for_response(slow);
    let messages = editor.end();
    assert_eq!(response(&messages, slow), &json!({ "stopReason": "cancelled" }));
    assert_eq!(response(&messages, busy)["code"], -32600);
    assert_eq!(updates(&messages, "config_option_update").len(), 1);
}

#[test]
fn a_request_in_a_wrong_state_is_an_error() {
    let scene = Scene::new([]);
    let mut editor = Editor::start(&scene, &[]);
    let prompt = editor.send_prompt("unknown", "a");
    let relative = editor.send("session/new", &json!({ "cwd": "a", "mcpServers": [] }));
    let unknown = editor.send("session/fly", &json!({}));
    let invalid = editor.send("session/prompt", &json!({ "prompt": 1 }));
    let missing =
        json!({ "sessionId": "11111111-2222-4333-8444-555555555555", "cwd": "/", "mcpServers": [] });
    let missing = editor.send("session/load", &missing);
    editor.wait_for_response(missing);
    editor.program.type_text("not JSON\n");
    editor.program.wait_for_stdout("-32700");
    let messages = editor.end();
    for (id, code) in [(prompt, -32002), (relative, -32602), (unknown, -32601), (invalid, -32602)] {
        assert_eq!(response(&messages, id)["code"], code, "{id}");
    }
    assert_eq!(response(&messages, missing)["code"], -32002);
}

#[test]
fn the_end_of_stdin_and_a_signal_end_running_prompts_in_order() {
    for signal in [None, Some(Signal::Term)] {
        let scene = Scene::new([answer_text("A."), Answer::new().text("Slow").stall()]);
        let id = stored_session(&scene, "a");
        let mut editor = Editor::start(&scene, &[]);
        editor.open("session/resume", &scene, &id);
        let slow = editor.send_prompt(&id, "slow");
        editor.program.wait_for_stdout("Slow");
        match signal {
            Some(signal) => editor.program.signal(signal),
            None => editor.program.close_stdin(),
        }
        let output = editor.program.finish();
        assert_eq!(output.code, Some(if signal.is_some() { 143 } else { 0 }), "{}", output.stderr);
        assert_eq!(response(&messages(&output), slow), &json!({ "stopReason": "cancelled" }));
        let last = journal(&scene, &id).pop().unwrap();
        assert!(last.pointer("/kind/run_finished").is_some(), "{last}");
    }
}

/// Runs the lines of the example in docs/editors.md and compares the responses with those of the page.
#[test]
fn the_documented_example_works() {
    let page = include_str!("../../../../docs/editors.md");
    let example = page.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let scene = Scene::new([]);
    let input: String =
        example.lines().filter_map(|line| line.strip_prefix("→ ")).map(|line| format!("{line}\n")).collect();
    let input = input.replace("/home/me/project", scene.workspace.path().to_str().unwrap());
    let output = scene.ibeam(["acp"]).stdin(Stdin::Piped(input.into())).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let expected: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix("← ")).collect();
    assert!(!expected.is_empty());
    for line in expected {
        let start = line.split('…').next().unwrap();
        let id = |line: &str| line.split(",\"result\"").next().unwrap_or_default().to_owned();
        let found = output.stdout.lines().find(|printed| id(printed) == id(line));
        assert!(found.is_some_and(|printed| printed.starts_with(start)), "{line} in {}", output.stdout);
    }
}
