//! The exact bytes of requests.

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message};
use ibeam_providers::protocols::{ANTHROPIC, OPENAI_CHAT};
use ibeam_providers::provider_table::known_provider;
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{Quirks, WireProtocol, build_request_body};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};

const SIGNED: &str = r#"{"type":"thinking","thinking":"Hmm.","signature":"c2ln"}"#;

fn conversation() -> Vec<Message> {
    vec![
        user("Read a."),
        Message::Assistant(vec![
            thinking("anthropic", serde_json::from_str(SIGNED).unwrap()),
            thinking("openai", json!({ "reasoning_content": "Hmm." })),
            Block::Text("Reading.".into()),
            call("t1", json!({ "path": "a" })),
            call("t:2", json!("{broken")),
        ]),
        results(&["t1", "t:2"], true),
        user("Go on."),
    ]
}

fn bytes(protocol: &dyn WireProtocol, request: &ModelRequest, name: &str) -> String {
    let quirks = known_provider(name).map_or(Quirks::DEFAULT, |provider| provider.quirks);
    let settings = RequestSettings { model: "m", max_output_tokens: Some(100), quirks };
    String::from_utf8(build_request_body(protocol, request, &settings).unwrap()).unwrap()
}

#[test]
fn a_messages_request_is_exactly_this() {
    let body: Value = serde_json::from_str(&bytes(ANTHROPIC, &request(conversation()), "anthropic")).unwrap();
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let cached = json!({ "type": "ephemeral" });
    let expect = json!({
        "model": "m", "max_tokens": 100, "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": cached }],
        "tools": [
            { "name": "read", "description": "The tool read.", "input_schema": schema },
            { "name": "ls", "description": "The tool ls.", "input_schema": schema, "cache_control": cached },
        ],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Read a." }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hmm.", "signature": "c2ln" },
                { "type": "text", "text": "Reading." },
                { "type": "tool_use", "id": "t1", "name": "read", "input": { "path": "a" } },
                { "type": "tool_use", "id": "call_t_2", "name": "read", "input": { "invalid_json": "{broken" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": "content", "is_error": true },
                { "type": "tool_result", "tool_use_id": "call_t_2", "content": "content", "is_error": true },
                { "type": "text", "text": "Go on.", "cache_control": cached },
            ] },
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn a_chat_request_is_exactly_this() {
    let body: Value = serde_json::from_str(&bytes(OPENAI_CHAT, &request(conversation()), "openai")).unwrap();
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str| {
        let description = format!("The tool {name}.");
        let function = json!({ "name": name, "description": description, "parameters": schema });
        json!({ "type": "function", "function": function })
    };
    let wire_call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } });
    let expect = json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true }, "max_completion_tokens": 100,
        "tools": [tool("read"), tool("ls")],
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Read a." },
            { "role": "assistant", "content": "Reading.", "tool_calls": [
                wire_call("t1", r#"{"path":"a"}"#),
                wire_call("t:2", r#"{"invalid_json":"{broken"}"#),
            ] },
            { "role": "tool", "tool_call_id": "t1", "content": "content" },
            { "role": "tool", "tool_call_id": "t:2", "content": "content" },
            { "role": "user", "content": "Go on." },
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn reasoning_is_sent_back_only_to_services_that_require_it() {
    let request = request(conversation());
    assert!(bytes(OPENAI_CHAT, &request, "deepseek").contains(r#""reasoning_content":"Hmm.""#));
    assert!(!bytes(OPENAI_CHAT, &request, "openrouter").contains("reasoning_content"));
}

#[test]
fn a_service_gets_only_supported_keys() {
    let body = bytes(OPENAI_CHAT, &request(vec![user("hi")]), "mistral");
    assert!(body.contains(r#""max_tokens":100"#) && !body.contains("stream_options"), "{body}");
}

#[test]
fn blank_texts_and_empty_messages_are_left_out_of_a_messages_request() {
    let messages =
        vec![user("hi"), Message::Assistant(vec![Block::Text(" \n".into())]), user("still there?")];
    let body: Value = serde_json::from_str(&bytes(ANTHROPIC, &request(messages), "anthropic")).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 1, "roles alternate: {body}");
}

/// Expects that all bytes before the newest message stay the same, except for the cache breakpoint.
#[track_caller]
fn check_prefix(protocol: &dyn WireProtocol, name: &str) {
    let marker = r#","cache_control":{"type":"ephemeral"}"#;
    let mut earlier = String::new();
    for length in 1..=conversation().len() {
        let messages = conversation().into_iter().take(length).collect();
        let body = bytes(protocol, &request(messages), name).replace(marker, "");
        let prefix = earlier.trim_end_matches(['}', ']']);
        assert!(body.starts_with(prefix), "{prefix}\n{body}");
        earlier = body;
    }
}

#[test]
fn the_bytes_of_a_request_only_grow_with_the_conversation() {
    check_prefix(ANTHROPIC, "anthropic");
    check_prefix(OPENAI_CHAT, "openai");
    check_prefix(OPENAI_CHAT, "deepseek");
}
