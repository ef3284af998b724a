//! The kit itself: the server over a plain socket, the program under guard.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows only functions marked #[test] as tests")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ibeam_protocol::{StopReason, Usage};
use ibeam_testkit::*;
use serde_json::{Value, json};

/// A response, its chunks put together.
#[derive(Debug)]
struct Response {
    status: u16,
    headers: String,
    body: String,
    /// The last chunk came.
    whole: bool,
}

fn connect(server: &ModelServer, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Test: Yes\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

fn finish(mut stream: TcpStream, mut bytes: Vec<u8>) -> Response {
    // A broken connection may end in an error; what came before counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
    let headers = head.to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    if !headers.contains("transfer-encoding: chunked") {
        return Response { status, headers, body: rest.to_owned(), whole: true };
    }
    let mut body = String::new();
    let mut whole = false;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole = size == 0;
        let Some((chunk, next)) = after.split_at_checked(size) else { break };
        body.push_str(chunk);
        rest = next.strip_prefix("\r\n").unwrap_or(next);
    }
    Response { status, headers, body, whole }
}

fn ask(server: &ModelServer, wire: Wire) -> Response {
    let (path, body) = match wire {
        Wire::Anthropic => ("/v1/messages", json!({"model": "m", "stream": true})),
        Wire::OpenAi => (
            "/v1/chat/completions",
            json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}}),
        ),
    };
    finish(connect(server, path, &body), Vec::new())
}

/// The JSON of every `data:` line but the closing `[DONE]`.
fn data(response: &Response) -> Vec<Value> {
    let lines = response.body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|line| *line != "[DONE]").map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All strings at a path, put together.
fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

fn story() -> Vec<Step> {
    vec![
        thinking("Let me "),
        thinking("see."),
        text("Read"),
        text("ing."),
        call("c1", "read", json!({"path": "README.md", "limit": 20})),
        usage(Usage { input: 7, output: 9, cache_read: 5, cache_write: 2 }),
    ]
}

#[test]
fn anthropic_blocks_begin_and_end_in_order() {
    let server = ModelServer::start([story()]);
    let response = ask(&server, Wire::Anthropic);
    assert!(response.whole && response.headers.contains("content-type: text/event-stream"));
    assert!(response.headers.contains("request-id: req_0001"));
    let events = data(&response);
    let named: Vec<&str> = response.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(named, types);
    let mut shape: Vec<String> = Vec::new();
    for event in &events {
        let kind = event["type"].as_str().unwrap();
        let detail = event.pointer("/content_block/type").or_else(|| event.pointer("/delta/type"));
        let line = format!("{kind} {}", detail.and_then(Value::as_str).unwrap_or(""));
        if shape.last() != Some(&line) {
            shape.push(line);
        }
    }
    assert_eq!(
        shape,
        [
            "message_start ",
            "ping ",
            "content_block_start thinking",
            "content_block_delta thinking_delta",
            "content_block_delta signature_delta",
            "content_block_stop ",
            "content_block_start text",
            "content_block_delta text_delta",
            "content_block_stop ",
            "content_block_start tool_use",
            "content_block_delta input_json_delta",
            "content_block_stop ",
            "message_delta ",
            "message_stop ",
        ]
    );
    assert_eq!(joined(&events, "/delta/text"), "Reading.");
    assert_eq!(joined(&events, "/delta/thinking"), "Let me see.");
    let arguments: Value = serde_json::from_str(&joined(&events, "/delta/partial_json")).unwrap();
    assert_eq!(arguments, json!({"path": "README.md", "limit": 20}));
    assert!(events.iter().filter(|event| event.pointer("/delta/partial_json").is_some()).count() > 2);
    assert_eq!(joined(&events, "/delta/stop_reason"), "tool_use");
    let told = events[0].pointer("/message/usage").unwrap();
    assert_eq!(
        (&told["input_tokens"], &told["cache_read_input_tokens"], &told["cache_creation_input_tokens"]),
        (&json!(7), &json!(5), &json!(2))
    );
    let index = |kind: &str| -> Vec<u64> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .map(|event| event["index"].as_u64().unwrap())
            .collect()
    };
    assert_eq!((index("content_block_start"), index("content_block_stop")), (vec![0, 1, 2], vec![0, 1, 2]));
}

#[test]
fn openai_chunks_carry_role_deltas_reason_usage_and_done() {
    let server = ModelServer::start([story()]);
    let response = ask(&server, Wire::OpenAi);
    assert!(response.whole && response.body.ends_with("data: [DONE]\n\n"));
    let events = data(&response);
    assert_eq!(events[0].pointer("/choices/0/delta"), Some(&json!({"role": "assistant", "content": ""})));
    assert_eq!(joined(&events, "/choices/0/delta/content"), "Reading.");
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "Let me see.");
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/id"), "c1");
    let arguments = joined(&events, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"path": "README.md", "limit": 20}));
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(
        (&last["usage"]["prompt_tokens"], &last["usage"]["prompt_tokens_details"]["cached_tokens"]),
        (&json!(14), &json!(5))
    );
}

#[test]
fn usage_is_told_only_where_it_was_asked_for() {
    let server = ModelServer::start([vec![text("x")]]);
    let asked = connect(&server, "/v1/chat/completions", &json!({"stream": true}));
    assert!(!finish(asked, Vec::new()).body.contains("usage"));
}

#[test]
fn a_stop_reason_is_said_in_the_words_of_the_wire() {
    for (wire, word) in [(Wire::Anthropic, "max_tokens"), (Wire::OpenAi, "length")] {
        let server = ModelServer::start([vec![text("x"), stop(StopReason::MaxTokens)]]);
        assert!(ask(&server, wire).body.contains(&format!("reason\":\"{word}\"")));
    }
}

#[test]
fn requests_are_recorded_and_one_too_many_is_told() {
    let server = ModelServer::start([vec![text("one")]]);
    assert_eq!(ask(&server, Wire::Anthropic).status, 200);
    server.assert_exhausted();
    let second = ask(&server, Wire::OpenAi);
    assert_eq!(second.status, 500);
    assert!(second.body.contains("the script has 1 answers, and this is request 2"), "{}", second.body);
    let requests = server.wait_for_requests(2);
    assert_eq!((requests[0].wire, requests[1].wire), (Wire::Anthropic, Wire::OpenAi));
    assert_eq!(requests[0].header("x-test"), Some("Yes"));
    assert_eq!(requests[0].body["model"], "m");
}

#[test]
fn a_cut_breaks_the_body_after_what_was_said() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let server = ModelServer::start([vec![text("half"), cut()]]);
        let response = ask(&server, wire);
        assert!(!response.whole && response.body.contains("half"), "{response:?}");
    }
}

#[test]
fn a_stall_keeps_the_connection_until_the_server_goes() {
    let server = ModelServer::start([vec![text("half"), stall()]]);
    let mut stream = connect(&server, "/v1/messages", &json!({"stream": true}));
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("half") {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection ended early");
        bytes.extend(&buffer[..count]);
    }
    drop(server);
    assert!(!finish(stream, bytes).whole);
}

#[test]
fn a_status_is_a_response_of_its_own_and_raw_bytes_come_as_they_are() {
    let server = ModelServer::start([
        vec![delay(1), status(429, &[("retry-after", "2")], r#"{"error":"slow down"}"#)],
        vec![html()],
        vec![raw(b": nothing\n\ndata: {broken\n\n")],
    ]);
    let refused = ask(&server, Wire::Anthropic);
    assert_eq!((refused.status, refused.body.as_str()), (429, r#"{"error":"slow down"}"#));
    assert!(
        refused.headers.contains("retry-after: 2")
            && refused.headers.contains("content-type: application/json")
    );
    let page = ask(&server, Wire::OpenAi);
    assert!(page.status == 200 && page.headers.contains("text/html") && page.body.starts_with("<!DOCTYPE"));
    assert_eq!(ask(&server, Wire::OpenAi).body, ": nothing\n\ndata: {broken\n\n");
}

#[test]
fn models_are_listed_and_other_places_are_not_found() {
    let server = ModelServer::start([]);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert!(finish(stream, Vec::new()).body.contains("scripted-1"));
    assert_eq!(finish(connect(&server, "/v1/other", &json!({})), Vec::new()).status, 404);
}

// ---- the program

fn shell(workspace: &Workspace, script: &str) -> Ibeam {
    Ibeam::new("/bin/sh", workspace).args(["-c", script])
}

#[test]
fn a_program_sees_only_the_workspace_and_its_output_is_captured() {
    let workspace = Workspace::new().file("a/b.txt", "content");
    let run =
        shell(&workspace, "cat a/b.txt; echo >&2 $HOME; env | grep -c CARGO; exit 3").run().expect_code(3);
    assert_eq!(run.stdout, "content0\n");
    assert_eq!(run.stderr.trim(), workspace.directory("HOME").to_str().unwrap());
    assert_eq!(run.signal(), None);
}

#[test]
fn standard_input_is_closed_piped_or_silent() {
    let workspace = Workspace::new();
    assert_eq!(shell(&workspace, "cat; echo end").run().stdout, "end\n");
    let large = vec![b'x'; 300_000];
    let piped = shell(&workspace, "wc -c").stdin(Stdin::Piped(large)).run();
    assert_eq!(piped.stdout.trim(), "300000");
    assert_eq!(shell(&workspace, "echo went on").stdin(Stdin::Silent).run().stdout, "went on\n");
}

#[test]
fn a_program_can_be_signalled_at_a_moment() {
    let workspace = Workspace::new();
    let running = shell(&workspace, "echo ready; read line").stdin(Stdin::Silent).start();
    running.wait_for_stdout("ready");
    running.signal(15);
    let run = running.finish();
    assert_eq!((run.code(), run.signal()), (None, Some(15)));
}

#[test]
fn ndjson_is_read_line_by_line() {
    let workspace = Workspace::new();
    let run = shell(&workspace, r#"echo '{"a":1}'; echo '[2]'"#).run();
    assert_eq!(run.ndjson(), [json!({"a": 1}), json!([2])]);
}

#[test]
#[should_panic(expected = "never came")]
fn waiting_for_what_does_not_come_fails() {
    let workspace = Workspace::new();
    shell(&workspace, "echo other").start().wait_for_stdout("this");
}
