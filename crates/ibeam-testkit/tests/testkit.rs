//! The scripted server as a client on a bare socket sees it, and the checks of invalid streams.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy treats only functions marked #[test] as tests, and this file has others"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use ibeam_protocol::{StopReason, Usage};
use ibeam_testkit::{
    Answer, Ibeam, LivenessPipe, ModelServer, ServiceModel, Stdin, Stream, StrictService, Workspace,
    unreachable_url,
};
use serde_json::{Value, json};

const MESSAGES: &str = "/v1/messages";
const CHAT: &str = "/v1/chat/completions";

/// Sends a request and reads until the server closes: head and body, chunk framing removed.
fn ask(server: &ModelServer, path: &str, body: &Value) -> (String, String) {
    let (head, body) = ask_raw(server, path, body);
    (head, unchunked(&body))
}

fn ask_raw(server: &ModelServer, path: &str, body: &Value) -> (String, String) {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let body = body.to_string();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nanthropic-version: 2023-06-01\r\nx-api-key: k\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn unchunked(body: &str) -> String {
    if !body.ends_with("0\r\n\r\n") {
        return body.to_owned();
    }
    let mut rest = body;
    let mut text = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        text.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    text
}

fn request(text: &str) -> Value {
    json!({ "model": "m", "max_tokens": 9, "stream": true, "messages": [{ "role": "user", "content": text }] })
}

/// The data of each event; `[DONE]` as a string.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}

fn full_answer() -> Answer {
    Answer::new()
        .thinking("hmm, let me see", "sig==")
        .text("Reading ")
        .text("it.")
        .call("toolu_1", "read", &json!({ "path": "README.md" }))
        .usage(Usage { input: 7, output: 3, cache_read: 2, cache_write: 1, ..Usage::default() })
}

#[test]
fn an_answer_on_the_anthropic_wire_has_every_event_in_its_order() {
    let server = ModelServer::start([full_answer()]);
    let (head, body) = ask(&server, MESSAGES, &request("hi"));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        head.contains("content-type: text/event-stream") && head.contains("request-id: req_0000"),
        "{head}"
    );
    let events = events(&body);
    let outline: Vec<String> = events
        .iter()
        .map(|event| {
            let parts =
                [&event["type"], &event["index"], &event["content_block"]["type"], &event["delta"]["type"]];
            parts
                .iter()
                .filter(|part| !part.is_null())
                .map(|part| part.to_string().replace('"', ""))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        outline,
        [
            "message_start",
            "ping",
            "content_block_start 0 thinking",
            "content_block_delta 0 thinking_delta",
            "content_block_delta 0 thinking_delta",
            "content_block_delta 0 signature_delta",
            "content_block_stop 0",
            "content_block_start 1 text",
            "content_block_delta 1 text_delta",
            "content_block_delta 1 text_delta",
            "content_block_stop 1",
            "content_block_start 2 tool_use",
            "content_block_delta 2 input_json_delta",
            "content_block_delta 2 input_json_delta",
            "content_block_delta 2 input_json_delta",
            "content_block_delta 2 input_json_delta",
            "content_block_stop 2",
            "message_delta",
            "message_stop",
        ]
    );
    let named = |line: &&str| line.starts_with("event: ");
    assert_eq!(body.lines().filter(named).count(), events.len());
    let arguments: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(arguments, r#"{"path":"README.md"}"#);
    let thinking: String = events.iter().filter_map(|event| event["delta"]["thinking"].as_str()).collect();
    assert_eq!(thinking, "hmm, let me see");
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 2);
    assert_eq!(events[17]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[17]["usage"]["output_tokens"], 3);
}

#[test]
fn an_answer_on_the_openai_wire_has_every_chunk_in_its_order() {
    let server = ModelServer::start([full_answer()]);
    let (head, body) = ask(&server, CHAT, &request("hi"));
    assert!(head.contains("x-request-id: req_0000"), "{head}");
    let mut events = events(&body);
    assert_eq!(events.pop(), Some("[DONE]".into()));
    let usage = events.pop().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["prompt_tokens"], 9);
    assert_eq!(usage["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
    assert_eq!(events.pop().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    let text = |key: &str| deltas.iter().filter_map(|delta| delta[key].as_str()).collect::<String>();
    assert_eq!(text("content"), "Reading it.");
    assert_eq!(text("reasoning_content"), "hmm, let me see");
    let calls: Vec<&Value> =
        deltas.iter().map(|delta| &delta["tool_calls"][0]).filter(|call| !call.is_null()).collect();
    assert_eq!(calls[0]["id"], "toolu_1");
    assert_eq!(calls[0]["function"]["name"], "read");
    assert!(calls.len() > 2, "arguments come in several pieces");
    let arguments: String = calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, r#"{"path":"README.md"}"#);
}

#[test]
fn each_request_gets_the_next_answer_and_one_too_many_fails() {
    let server = ModelServer::start([Answer::new().text("one"), Answer::new().text("two")]);
    assert!(ask(&server, MESSAGES, &request("a")).1.contains("one"));
    assert!(ask(&server, CHAT, &request("b")).1.contains("two"));
    let (head, body) = ask(&server, CHAT, &request("c"));
    assert!(head.starts_with("HTTP/1.1 500"), "{head}");
    assert!(body.contains("the script has 2 answers; this is request 3"), "{body}");
    let requests = server.wait_for_requests(3);
    assert_eq!(requests[0].header("x-api-key"), Some("k"));
    assert_eq!(requests[1].transcript(), ["user: b"]);
}

#[test]
fn a_stop_reason_has_the_name_of_its_wire() {
    for (stop, anthropic, openai) in [
        (StopReason::MaxTokens, "max_tokens", "length"),
        (StopReason::Refusal, "refusal", "content_filter"),
        (StopReason::Paused, "pause_turn", "pause_turn"),
        (StopReason::EndTurn, "end_turn", "stop"),
        (StopReason::Unknown("odd".into()), "odd", "odd"),
    ] {
        let answer = || Answer::new().text("x").stop(stop.clone());
        let server = ModelServer::start([answer(), answer()]);
        assert!(ask(&server, MESSAGES, &request("a")).1.contains(&format!(r#""stop_reason":"{anthropic}""#)));
        assert!(ask(&server, CHAT, &request("a")).1.contains(&format!(r#""finish_reason":"{openai}""#)));
    }
}

#[test]
fn a_cut_breaks_the_connection_and_a_stall_keeps_it() {
    let server = ModelServer::start([Answer::new().text("half").cut(), Answer::new().text("half").stall()]);
    let (_, body) = ask_raw(&server, MESSAGES, &request("a"));
    assert!(
        body.contains("half") && !body.contains("message_stop") && !body.ends_with("0\r\n\r\n"),
        "{body}"
    );

    let mut socket = TcpStream::connect(server.address()).unwrap();
    let body = request("a").to_string();
    write!(socket, "POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("half") {
        let count = socket.read(&mut chunk).unwrap();
        assert!(count > 0, "closed before the text");
        seen.extend_from_slice(&chunk[..count]);
    }
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(socket.read(&mut chunk).is_err(), "nothing more comes, and no end");
    socket.shutdown(Shutdown::Both).unwrap();
}

#[test]
fn errors_have_the_format_of_their_wire() {
    let answer = || Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7");
    let server = ModelServer::start([
        answer(),
        answer(),
        Answer::html(502, "<html>bad gateway</html>"),
        Answer::new().raw("data: {oops\n\n"),
    ]);
    let (head, body) = ask(&server, MESSAGES, &request("a"));
    assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 7"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body,
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } })
    );
    let body: Value = serde_json::from_str(&ask(&server, CHAT, &request("a")).1).unwrap();
    assert_eq!(body["error"]["code"], "rate_limit_error");
    let (head, body) = ask(&server, CHAT, &request("a"));
    assert!(head.contains("text/html") && body.contains("bad gateway"), "{head}{body}");
    assert!(ask(&server, CHAT, &request("a")).1.contains("data: {oops\n\n"));
}

/// Checks that the server refuses a request that a real service would refuse.
#[track_caller]
fn check_refused(path: &str, body: &Value, why: &str) {
    let server = ModelServer::start([Answer::new().text("never")]);
    let (head, response) = ask(&server, path, body);
    assert!(head.starts_with("HTTP/1.1 400") && response.contains(why), "{head}\n{response}");
}

#[test]
fn a_request_that_violates_the_rules_of_its_wire_is_refused() {
    let user = json!({ "role": "user", "content": "a" });
    let with =
        |messages: Value| json!({ "model": "m", "max_tokens": 9, "stream": true, "messages": messages });
    check_refused(CHAT, &json!({ "model": "m", "messages": [user] }), "stream: true is missing");
    check_refused(
        MESSAGES,
        &json!({ "model": "m", "stream": true, "messages": [user] }),
        "max_tokens is missing",
    );
    check_refused(MESSAGES, &with(json!([{ "role": "assistant", "content": "a" }])), "the role user");
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "n", "input": {} }] });
    check_refused(MESSAGES, &with(json!([user, call])), "are answered by []");
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t2", "content": "" }] });
    check_refused(MESSAGES, &with(json!([user, call, result])), "are answered by");
    let call = json!({ "role": "assistant", "tool_calls": [{ "id": "t1", "function": {} }] });
    check_refused(CHAT, &with(json!([user, call, user])), "have no result");
    check_refused(
        CHAT,
        &with(json!([user, { "role": "tool", "tool_call_id": "t9", "content": "" }])),
        "no open call",
    );
}

#[test]
fn a_gemini_request_that_violates_the_rules_is_refused() {
    const PATH: &str = "/v1beta/models/m:streamGenerateContent";
    let content = |role: &str, part: Value| json!({ "role": role, "parts": [part] });
    let with = |contents: Value| json!({ "contents": contents });
    let user = content("user", json!({ "text": "a" }));
    let call = content("model", json!({ "functionCall": { "name": "n", "args": {} } }));
    let result =
        |name: &str| content("user", json!({ "functionResponse": { "name": name, "response": {} } }));
    check_refused(PATH, &with(json!([call])), "the role user");
    check_refused(PATH, &with(json!([user, { "role": "model", "parts": [] }])), "contents.1: no parts");
    check_refused(PATH, &with(json!([user, call])), "are answered by []");
    check_refused(PATH, &with(json!([user, call, result("other")])), "are answered by");
    check_refused(PATH, &with(json!([result("n")])), "no calls for the results");
    let server = ModelServer::start([Answer::new().text("ok")]);
    assert!(ask(&server, PATH, &with(json!([user, call, result("n")]))).0.starts_with("HTTP/1.1 200"));
    assert_eq!(server.requests()[0].transcript(), ["user: a", "call n {}", "result "]);
}

#[test]
fn an_unreachable_url_refuses_connections() {
    let url = unreachable_url();
    let error = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

fn shell(workspace: &Workspace, script: &str) -> Ibeam {
    Ibeam::new("/bin/sh", workspace).args(["-c", script])
}

#[test]
fn a_program_has_a_clean_environment_and_the_stdin_it_was_given() {
    let workspace = Workspace::new().file("a/b.txt", "x");
    let output = shell(&workspace, "env | cut -d= -f1 | sort; cat a/b.txt; pwd >&2")
        .env("MORE", "1")
        .run()
        .succeeded();
    let names: Vec<&str> =
        output.stdout.lines().filter(|name| !["_", "PWD", "OLDPWD", "SHLVL", "x"].contains(name)).collect();
    assert_eq!(
        names,
        ["HOME", "MORE", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
    );
    assert!(output.stdout.ends_with('x'));
    assert_eq!(output.stderr.trim_end(), workspace.path().to_str().unwrap());
    let output = shell(&workspace, "cat; exit 9").stdin(Stdin::Piped(b"in".to_vec())).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(9), "in"));
}

#[test]
fn the_output_of_a_running_program_is_visible() {
    let workspace = Workspace::new();
    let running =
        shell(&workspace, "trap 'echo bye; exit 4' TERM; echo ready; read line").stdin(Stdin::SilentPipe);
    let running = running.start();
    running.wait_for_stdout("ready");
    running.signal(ibeam_protocol::Signal::Term);
    let ended = running.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), "ready\nbye\n"), "{ended}");
}

#[test]
fn a_program_on_a_terminal_reads_typed_text() {
    let workspace = Workspace::new();
    let script = "test -t 0 && test -t 1 && echo name? && read name && echo \"hello $name\" && echo done >&2";
    let running = shell(&workspace, script).terminal().start();
    running.wait_for_stdout("name?");
    running.type_text("moin\n");
    running.wait_for_stderr("done");
    assert!(running.finish().succeeded().stdout.ends_with("hello moin\r\n"));
}

#[test]
fn a_liveness_pipe_detects_the_end_of_the_last_holder() {
    let workspace = Workspace::new();
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let running = shell(&workspace, &lifeline.command()).start();
    lifeline.wait_until_held();
    drop(running);
    lifeline.wait_until_gone();
}

#[test]
#[should_panic(expected = "not done after")]
fn a_program_that_does_not_end_is_killed() {
    let workspace = Workspace::new();
    shell(&workspace, "sleep 60").timeout(Duration::from_millis(50)).run();
}

#[test]
fn a_reader_of_stdout_can_be_gone() {
    let workspace = Workspace::new();
    let output = shell(&workspace, "trap '' PIPE; echo x || exit 7").closed_stdout().run();
    assert_eq!(output.code, Some(7), "{output}");
}

const ID: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

/// Returns the lines of a stream with two deltas and one call.
fn good() -> Vec<String> {
    let id = ID;
    let call = |subtype: &str, result: &str| {
        format!(
            r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"t1","tool_call":{{"readToolCall":{{"args":{{"path":"a"}}{result}}}}},"session_id":"{id}","model_call_id":"1","timestamp_ms":1}}"#
        )
    };
    let text = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"{id}","timestamp_ms":1}}"#
        )
    };
    vec![
        format!(
            r#"{{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/x","session_id":"{id}","model":"M","permissionMode":"default","tools":["read"],"mcp_servers":[],"ibeam":{{"version":"0","contract":"1","api_key":"env","sandbox":{{"mode":"off","layers":[],"network":true,"reason":"r"}},"limits":{{"max_turns":1}}}}}}"#
        ),
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"hi"}}]}},"session_id":"{id}"}}"#
        ),
        text("a"),
        call("started", ""),
        call(
            "completed",
            r#","result":{"success":{"content":"","isEmpty":true,"exceededLimit":false,"totalLines":0,"totalChars":0}}"#,
        ),
        text("b"),
        format!(
            r#"{{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"ab","session_id":"{id}","usage":{{"inputTokens":1,"outputTokens":1,"cacheReadTokens":0,"cacheWriteTokens":0}},"ibeam":{{"turns":1,"api_ms":1,"permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":1,"background_stopped":0}}}}"#
        ),
    ]
}

fn check_stream(lines: &[String]) -> Result<Stream, String> {
    Stream::check(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// Checks that the valid stream with one replacement fails the check with the text `law`.
#[track_caller]
fn check_violation(line: usize, from: &str, to: &str, law: &str) {
    let mut lines = good();
    assert!(lines[line].contains(from), "{}", lines[line]);
    lines[line] = lines[line].replace(from, to);
    let error = check_stream(&lines).unwrap_err();
    assert!(error.contains(law), "{error}");
}

#[test]
fn a_valid_stream_is_parsed() {
    let stream = check_stream(&good()).unwrap();
    assert_eq!(stream.session_id(), ID);
    assert_eq!(stream.prompt(), ["hi"]);
    assert_eq!(stream.deltas(), ["a", "b"]);
    assert_eq!(
        stream.outline(),
        ["system", "user", "text", "started read", "completed read", "text", "result"]
    );
}

#[test]
fn each_violation_is_reported() {
    check_violation(0, r#""mcp_servers":[],"#, "", "1:1: missing-key");
    check_violation(0, r#""env""#, r#""none""#, "1:50: wrong-value");
    check_violation(0, r#"["read"]"#, "[]", "`tools` are named");
    check_violation(0, r#""ibeam":"#, r#""other":"#, "the stream is from ibeam");
    check_violation(1, ID, "00000000-7ead-4fd6-9922-e952131177ff", "session-changed");
    check_violation(1, r#""hi""#, r#""""#, "content is text");
    check_violation(
        2,
        r#"{"type":"text","text":"a"}"#,
        r#"{"type":"text","text":"a"},{"type":"text","text":" "}"#,
        "result-differs",
    );
    check_violation(2, r#""text":"a"}"#, r#""text":"a"},{"type":"text","text":""}"#, "content is text");
    check_violation(3, r#""t1""#, r#""t2""#, "call-not-started");
    check_violation(4, r#""path":"a""#, r#""path":"b""#, "call-changed");
    check_violation(5, r#""b""#, r#""c""#, "result-differs");
    check_violation(6, r#""subtype":"success""#, r#""subtype":"failure""#, "wrong-value");
    check_violation(6, r#""result":"ab""#, r#""result":"ab","more":1"#, "unknown key: Some(\"more\")");
    check_violation(5, r#""text":"b""#, "\"text\":\"b\u{2028}\"", "bare-control");
    let mut lines = good();
    lines.pop();
    assert!(check_stream(&lines).unwrap_err().contains("no-end"));
    let mut lines = good();
    lines.remove(4);
    assert!(check_stream(&lines).unwrap_err().contains("call-not-completed"));
    assert!(Stream::check(&good().join("\n")).unwrap_err().contains("no-line-end"));
}

/// Returns the body of a conversation over Messages, with a thinking block before each answer that has a signature.
fn conversation(system: &str, answers: &[(&str, Option<&str>)]) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": "begin" })];
    for (text, signature) in answers {
        let thinking =
            signature.map(|signature| json!({ "type": "thinking", "thinking": "", "signature": signature }));
        let content: Vec<Value> =
            thinking.into_iter().chain([json!({ "type": "text", "text": text })]).collect();
        messages.push(json!({ "role": "assistant", "content": content }));
        let mark = json!({ "type": "ephemeral" });
        messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "go on", "cache_control": mark }] }));
    }
    json!({ "model": "claude-sonnet-5-5", "max_tokens": 9, "stream": true, "system": system, "messages": messages })
}

/// Returns the signature that a strict server sends with its answer.
fn signature(server: &ModelServer, body: &Value) -> String {
    let (head, body) = ask(server, MESSAGES, body);
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let deltas = events(&body).into_iter();
    let found = deltas.filter_map(|event| event["delta"]["signature"].as_str().map(str::to_owned)).next();
    found.unwrap_or_else(|| panic!("no signature: {body}"))
}

#[test]
fn a_strict_server_refuses_thinking_that_is_not_where_the_model_wrote_it() {
    let service = || StrictService::new([ServiceModel::SONNET_5_5]);
    let answer = |_: &ibeam_testkit::Request, _| Answer::new().text("yes");
    let server = ModelServer::strict_with_rule(service(), answer);
    let first = signature(&server, &conversation("s", &[]));
    let second = signature(&server, &conversation("s", &[("a", Some(&first))]));
    let third = signature(&server, &conversation("s", &[("a", Some(&first)), ("b", Some(&second))]));
    let after_a_gap = signature(&server, &conversation("s", &[("a", None)]));
    let [one, two, three] = [("a", Some(&*first)), ("b", Some(&*second)), ("c", Some(&*third))];
    for (system, answers, is_accepted) in [
        ("s", [one, two, three], true),
        ("s", [("a", None), two, three], true),
        ("s", [("a", None), ("b", None), three], true),
        ("s", [("a", None), ("b", None), ("c", None)], true),
        ("s", [("a", None), ("b", Some(&*after_a_gap)), ("c", None)], true),
        // A gap, another order, thinking that has come back, an unknown signature.
        ("s", [one, ("b", None), three], false),
        ("s", [two, one, three], false),
        ("s", [one, ("b", Some(&*after_a_gap)), ("c", None)], false),
        ("s", [("a", Some("of another service")), ("b", None), ("c", None)], false),
        // Another prefix.
        ("t", [one, two, three], false),
        ("s", [("changed", None), two, three], false),
        ("t", [("a", None), ("b", None), ("c", None)], true),
    ] {
        let (head, body) = ask(&server, MESSAGES, &conversation(system, &answers));
        assert_eq!(head.starts_with("HTTP/1.1 200"), is_accepted, "{answers:?}: {body}");
        assert!(is_accepted || body.contains("Invalid `signature` in `thinking` block"), "{body}");
    }
    assert_eq!(server.refusals().len(), 6);
    let other = ModelServer::strict_with_rule(service().account("second"), answer);
    let (_, body) = ask(&other, MESSAGES, &conversation("s", &[one]));
    assert!(body.contains("bound to a different conversation"), "{body}");
}

#[test]
fn a_strict_server_refuses_what_its_service_refuses() {
    let service = StrictService::new([
        ServiceModel::SONNET_5_5,
        ServiceModel::OPUS_5_5,
        ServiceModel::SONNET_4,
        ServiceModel::GPT_6_2_SOL,
    ]);
    let service = service.without_responses();
    let server = ModelServer::strict_with_rule(service, |_, _| Answer::new().text("yes"));
    let to = |model: &str, fields: Value| {
        let mut body = request("hi");
        body["model"] = model.into();
        for (name, value) in fields.as_object().unwrap() {
            body[name.as_str()] = value.clone();
        }
        body
    };
    let tool = json!([{ "type": "function", "function": { "name": "read" } }]);
    for (path, body, status, expect) in [
        (MESSAGES, to("claude-sonnet-5-5", json!({ "max_tokens": 128_000 })), 200, ""),
        (
            MESSAGES,
            to("claude-sonnet-5-5", json!({ "max_tokens": 128_001 })),
            400,
            "max_tokens: 128001 > 128000",
        ),
        (MESSAGES, to("claude-sonnet-5-5", json!({ "max_tokens": null })), 400, "max_tokens: Field required"),
        (MESSAGES, to("claude-sonnet-5-5", json!({ "thinking": { "type": "between_tools" } })), 200, ""),
        (
            MESSAGES,
            to("claude-opus-5-5", json!({ "thinking": { "type": "disabled" } })),
            400,
            "thinking.type",
        ),
        (
            MESSAGES,
            to("claude-opus-5-5", json!({ "output_config": { "effort": "none" } })),
            400,
            "does not support 'none'",
        ),
        (MESSAGES, to("claude-sonnet-4", json!({})), 404, "not_found_error"),
        (MESSAGES, to("claude-sonnet-9", json!({})), 404, "model: claude-sonnet-9"),
        (CHAT, to("gpt-6.2-sol", json!({})), 200, ""),
        (CHAT, to("gpt-6.2-sol", json!({ "tools": tool })), 400, "use /v1/responses"),
        (
            CHAT,
            to("gpt-6.2-sol", json!({ "reasoning_effort": "minimal" })),
            400,
            "does not support 'minimal'",
        ),
        (CHAT, to("gpt-9", json!({})), 404, "model_not_found"),
        ("/v1/responses", to("gpt-6.2-sol", json!({})), 404, "Not Found"),
    ] {
        let (head, text) = ask(&server, path, &body);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")) && text.contains(expect),
            "{body}: {head} {text}"
        );
    }
}
