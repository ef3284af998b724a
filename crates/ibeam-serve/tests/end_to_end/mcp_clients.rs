//! `ibeam mcp serve`: clients over stdio and HTTP, in both lifecycles. Includes the example of docs/mcp-server.md.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, RunningProgram, Stdin};
use serde_json::{Value, json};

const TOKEN: &str = "fake-token-of-a-test";

/// Starts the server on stdin and stdout.
fn start(scene: &Scene, args: &[&str]) -> RunningProgram {
    scene.ibeam(["mcp", "serve"]).args(args).stdin(Stdin::SilentPipe).start()
}

#[test]
fn a_server_refuses_flags_about_one_prompt_or_one_session() {
    let scene = Scene::new([]);
    for server in [&["mcp", "serve"][..], &["acp"]] {
        for flag in [
            "--resume=abcd",
            "--continue",
            "--from-plan=-1",
            "--unpark",
            "--file=a.txt",
            "--input-format=stream-json",
            "--list-models",
            "--worktree",
        ] {
            let output = scene.ibeam(server).args([flag]).run();
            assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
            let name = format!("ibeam {}", server.join(" "));
            let given = flag.split('=').next().unwrap();
            let error =
                format!("error: `{name}` does not use `{given}`; leave it out\nhint: `{name} --help`");
            assert!(output.stderr.starts_with(&error), "{output}");
        }
    }
}

fn initialize(id: u64) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// Adds the metadata of revision 2026-07-28.
fn stateless(mut request: Value) -> Value {
    request["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request
}

/// Sends requests one after the other over stdio, and returns all messages.
fn exchange(scene: &Scene, args: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut program = start(scene, args);
    for request in requests {
        program.type_text(&format!("{request}\n"));
        program.wait_for_stdout(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},", request["id"]));
    }
    program.close_stdin();
    let output = program.finish();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the result or the error of the response `id`.
fn response(messages: &[Value], id: u64) -> &Value {
    let found = messages.iter().find(|message| message["id"] == id).unwrap();
    found.get("result").unwrap_or_else(|| &found["error"])
}

#[test]
fn a_client_runs_a_task_and_continues_its_session() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let first = exchange(&scene, &[], &[initialize(1), call(2, "run", &json!({ "prompt": "first" }))]);
    let result = response(&first, 2);
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(false), &json!("One.")));
    let id = result["structuredContent"]["session_id"].as_str().unwrap();
    let arguments = json!({ "prompt": "second", "session_id": id });
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/list" });
    let uri = format!("ibeam://sessions/{id}");
    let read = json!({ "jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": { "uri": uri } });
    let requests = [
        initialize(1),
        call(2, "run", &arguments),
        list,
        read,
        call(5, "list_sessions", &json!({})),
        call(6, "show_session", &json!({ "session_id": id })),
    ];
    let second = exchange(&scene, &[], &requests);
    assert_eq!(response(&second, 2)["content"][0]["text"], "Two.");
    assert_eq!(response(&second, 3)["resources"][0]["uri"], uri);
    let transcript = response(&second, 4)["contents"][0]["text"].as_str().unwrap();
    for part in ["> first", "One.", "> second", "Two."] {
        assert!(transcript.contains(part), "{part}: {transcript}");
    }
    assert_eq!(response(&second, 5)["structuredContent"]["sessions"][0]["session_id"], id);
    assert_eq!(response(&second, 6)["content"][0]["text"], transcript);
    let prompts =
        journal(&scene, id).iter().filter(|event| event["kind"].get("user_message").is_some()).count();
    assert_eq!(prompts, 2);
}

#[test]
fn requests_without_a_session_carry_everything() {
    let scene = Scene::new([answer_text("Hello.")]);
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {} });
    let requests = [
        stateless(discover.clone()),
        stateless(call(2, "run", &json!({ "prompt": "x" }))),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "server/discover" }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" }),
        stateless(json!({ "jsonrpc": "2.0", "id": 5, "method": "ping", "params": {} })),
    ];
    let messages = exchange(&scene, &[], &requests);
    assert_eq!(response(&messages, 1)["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(response(&messages, 1)["resultType"], "complete");
    assert_eq!(response(&messages, 2)["content"][0]["text"], "Hello.");
    assert_eq!(response(&messages, 3)["code"], -32602);
    assert_eq!(response(&messages, 4)["code"], -32600);
    assert_eq!(response(&messages, 5)["code"], -32601);
}

#[test]
fn a_client_cannot_widen_what_the_server_allows() {
    let scene = Scene::new([]);
    let other = ibeam_testkit::Workspace::new();
    std::os::unix::fs::symlink(other.path(), scene.workspace.path().join("link")).unwrap();
    let outside = json!({ "prompt": "x", "workspace": other.path() });
    let requests = [
        initialize(1),
        call(2, "run", &outside),
        call(3, "run", &json!({ "prompt": "x", "workspace": "link" })),
        call(4, "run", &json!({ "prompt": "x", "force": true })),
        call(5, "run", &json!({ "prompt": "x", "api_key": "y" })),
        call(6, "run", &json!({ "prompt": "x", "mode": "agent" })),
    ];
    let messages = exchange(&scene, &["--mode", "plan"], &requests);
    for (id, part) in [(2, "serves only"), (3, "serves only"), (4, "--force"), (5, "api_key"), (6, "`plan`")]
    {
        let result = response(&messages, id);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(part), "{id}: {text}");
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), &json!("usage"))
        );
    }
}

#[test]
fn a_limit_of_a_client_ends_its_run() {
    let read = || answer_call("t", "read", &json!({ "path": "a.txt" }));
    let scene = Scene::new([read(), read(), read()]);
    std::fs::write(scene.workspace.path().join("a.txt"), "x").unwrap();
    let arguments = json!({ "prompt": "x", "max_turns": 1 });
    let messages = exchange(&scene, &[], &[initialize(1), call(2, "run", &arguments)]);
    let result = response(&messages, 2);
    assert_eq!(result["isError"], true);
    assert!(result["structuredContent"]["session_id"].is_string(), "{result}");
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn a_cancelled_call_ends_its_run_and_has_no_response() {
    let scene = Scene::new([Answer::new().text("Slow.").stall()]);
    let mut program = start(&scene, &[]);
    let mut slow = call(2, "run", &json!({ "prompt": "x" }));
    slow["params"]["_meta"] = json!({ "progressToken": "p" });
    program.type_text(&format!("{}\n{slow}\n", initialize(1)));
    program.wait_for_stdout("\"progressToken\":\"p\"");
    scene.server.wait_for_requests(1);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    program.type_text(&format!("{cancel}\n"));
    program.close_stdin();
    let output = program.finish();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.stdout.contains("\"id\":2"), "{}", output.stdout);
    let id = output.stdout.split("session ").nth(1).unwrap().get(..36).unwrap();
    let last = journal(&scene, id).pop().unwrap();
    assert!(last.pointer("/kind/run_finished").is_some(), "{last}");
}

/// A server over HTTP.
struct HttpServer {
    program: RunningProgram,
    port: u16,
}

#[derive(Debug)]
struct HttpResponse {
    status: u16,
    head: String,
    body: String,
}

impl HttpServer {
    fn start(scene: &Scene) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let token_file = scene.workspace.outside().join("token");
        std::fs::write(&token_file, format!("{TOKEN}\n")).unwrap();
        let program = scene.ibeam(["mcp", "serve", "--http", &port.to_string(), "--token-file"]);
        let program = program.args([token_file]).start();
        program.wait_for_stdout(&format!("http://127.0.0.1:{port}/mcp\n"));
        Self { program, port }
    }

    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut head =
            format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let usual = [
            ("Host", "127.0.0.1"),
            ("Authorization", "Bearer fake-token-of-a-test"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (name, value) in usual {
            if headers.iter().all(|(given, _)| *given != name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let mut body = String::new();
        reader.read_to_string(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        HttpResponse { status, head, body }
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> HttpResponse {
        self.send("POST", headers, &message.to_string())
    }
}

#[test]
fn http_serves_sessions_and_streams_the_progress_of_a_run() {
    let scene = Scene::new([answer_text(&format!("Hello {TOKEN}."))]);
    let server = HttpServer::start(&scene);
    let begun = server.post(&[], &initialize(1));
    let session = begun.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let mut run = call(2, "run", &json!({ "prompt": "x" }));
    run["params"]["_meta"] = json!({ "progressToken": 1 });
    let ran = server.post(&[("Mcp-Session-Id", session)], &run);
    assert!(ran.head.contains("text/event-stream"), "{}", ran.head);
    assert!(ran.body.contains("notifications/progress"), "{}", ran.body);
    assert!(ran.body.contains("\"text\":\"Hello ") && !ran.body.contains(TOKEN), "{}", ran.body);
    assert_eq!(server.post(&[], &run).status, 400);
    assert_eq!(server.send("DELETE", &[("Mcp-Session-Id", session)], "").status, 204);
    assert_eq!(server.post(&[("Mcp-Session-Id", session)], &run).status, 404);
    server.program.signal(ibeam_protocol::Signal::Term);
    let output = server.program.finish();
    assert_eq!(output.code, Some(143), "{}", output.stderr);
    assert!(!output.stderr.contains(TOKEN) && !output.stdout.contains(KEY), "{}", output.stderr);
}

#[test]
fn http_refuses_requests_of_strangers() {
    let scene = Scene::new([]);
    let server = HttpServer::start(&scene);
    let message = initialize(1);
    let check = |headers: &[(&str, &str)], expect: u16| {
        let response = server.post(headers, &message);
        assert_eq!(response.status, expect, "{headers:?} {response:?}");
    };
    check(&[], 200);
    check(&[("Authorization", "Bearer another-token-of-a-test")], 401);
    check(&[("Authorization", "")], 401);
    check(&[("Host", "evil.example.com")], 403);
    check(&[("Origin", "http://evil.example.com")], 403);
    check(&[("Content-Type", "text/plain")], 415);
    assert_eq!(server.send("GET", &[], "").status, 405);
    assert_eq!(server.send("POST", &[], "{").status, 400);
    assert_eq!(server.send("POST", &[], &"x".repeat((4 << 20) + 1)).status, 413);
}

#[test]
fn http_checks_the_headers_of_requests_without_a_session() {
    let scene = Scene::new([answer_text("Hello.")]);
    let server = HttpServer::start(&scene);
    let run = stateless(call(1, "run", &json!({ "prompt": "x" })));
    let revision = ("MCP-Protocol-Version", "2026-07-28");
    let (method, name) = (("Mcp-Method", "tools/call"), ("Mcp-Name", "run"));
    let code = |headers: &[(&str, &str)]| {
        let response = server.post(headers, &run);
        let body: Value = serde_json::from_str(&response.body).unwrap();
        (response.status, body["error"]["code"].as_i64().unwrap())
    };
    assert_eq!(code(&[revision, method]), (400, -32020));
    assert_eq!(code(&[method, name]), (400, -32020));
    assert_eq!(code(&[revision, ("Mcp-Method", "tools/list"), name]), (400, -32020));
    let ran = server.post(&[revision, method, name], &run);
    assert!(ran.body.contains("\"text\":\"Hello.\""), "{}", ran.body);
    let removed = stateless(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping", "params": {} }));
    assert_eq!(server.post(&[revision, ("Mcp-Method", "ping")], &removed).status, 404);
}

/// Starts the server as the configuration in docs/mcp-server.md does, sends the lines of its example and compares the
/// messages with those of the page.
#[test]
fn the_documented_exchange_works() {
    let page = include_str!("../../../../docs/mcp-server.md");
    let block = |language: &str| {
        let opening = format!("```{language}\n");
        page.split(opening.as_str()).nth(1).unwrap().split("```").next().unwrap()
    };
    let config: Value = serde_json::from_str(block("json")).unwrap();
    let server = &config["mcpServers"]["ibeam"];
    assert_eq!(server["command"], "ibeam");
    let args: Vec<&str> = server["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let scene = Scene::new([answer_text("Hello.")]);
    let mut program = scene.ibeam(args).stdin(Stdin::SilentPipe).start();
    for line in block("console").lines() {
        if let Some(request) = line.strip_prefix("→ ") {
            program.type_text(&format!("{request}\n"));
        } else if let Some(expected) = line.strip_prefix("← ") {
            program.wait_for_stdout(expected.split('…').next().unwrap());
        }
    }
    program.close_stdin();
    assert_eq!(program.finish().code, Some(0));
}
