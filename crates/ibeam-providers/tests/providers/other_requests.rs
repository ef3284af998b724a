//! The exact bytes of requests to Ollama and Cohere.

use ibeam_protocol::{Block, Message};
use ibeam_providers::protocols::{COHERE, OLLAMA};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};
use crate::requests::{bytes, check_prefix, conversation};

fn tools() -> Value {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str| {
        let description = format!("The tool {name}.");
        let function = json!({ "name": name, "description": description, "parameters": schema });
        json!({ "type": "function", "function": function })
    };
    json!([tool("read"), tool("ls")])
}

#[test]
fn an_ollama_request_is_exactly_this() {
    let mut messages = conversation();
    messages.push(Message::Assistant(vec![
        thinking("ollama", json!({ "thinking": "Hmm." })),
        call("call_3", json!({})),
        call("call_k3v9", json!({})),
    ]));
    messages.push(results(&["call_3", "call_k3v9"], false));
    messages.push(Message::Assistant(vec![thinking("ollama", json!({ "thinking": "Cut." }))]));
    let body: Value = serde_json::from_str(&bytes(OLLAMA, &request(messages), "ollama")).unwrap();
    let wire_call = |id: &str, arguments: Value| json!({ "id": id, "function": { "name": "read", "arguments": arguments } });
    let result = |id: &str, text: &str| json!({ "role": "tool", "content": text, "tool_name": "read", "tool_call_id": id });
    let expect = json!({
        "model": "m", "stream": true, "options": { "num_predict": 100 }, "tools": tools(),
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Read a." },
            { "role": "assistant", "content": "Reading.", "tool_calls": [
                wire_call("t1", json!({ "path": "a" })),
                wire_call("t:2", json!({ "invalid_json": "{broken" })),
            ] },
            result("t1", "Error: content"),
            result("t:2", "Error: content"),
            { "role": "user", "content": "Go on." },
            { "role": "assistant", "content": "", "thinking": "Hmm.", "tool_calls": [
                { "function": { "name": "read", "arguments": {} } },
                wire_call("call_k3v9", json!({})),
            ] },
            { "role": "tool", "content": "content", "tool_name": "read" },
            result("call_k3v9", "content"),
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn a_cohere_request_is_exactly_this() {
    let thought = json!({ "type": "thinking", "thinking": "Hmm." });
    let mut messages = conversation();
    messages.push(Message::Assistant(vec![
        thinking("cohere", json!({ "tool_plan": "I will read." })),
        call("read_1", json!({})),
    ]));
    messages.push(results(&["read_1"], false));
    messages.push(Message::Assistant(vec![thinking("cohere", thought.clone()), Block::Text("Done.".into())]));
    messages.push(user("Again."));
    messages.push(Message::Assistant(vec![thinking("cohere", json!({ "tool_plan": "Cut." }))]));
    let body: Value = serde_json::from_str(&bytes(COHERE, &request(messages), "cohere")).unwrap();
    let wire_call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } });
    let expect = json!({
        "model": "m", "stream": true, "max_tokens": 100, "tools": tools(),
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Read a." },
            { "role": "assistant", "tool_plan": "Reading.", "tool_calls": [
                wire_call("t1", r#"{"path":"a"}"#),
                wire_call("t:2", r#"{"invalid_json":"{broken"}"#),
            ] },
            { "role": "tool", "tool_call_id": "t1", "content": "Error: content" },
            { "role": "tool", "tool_call_id": "t:2", "content": "Error: content" },
            { "role": "user", "content": "Go on." },
            { "role": "assistant", "tool_plan": "I will read.", "tool_calls": [wire_call("read_1", "{}")] },
            { "role": "tool", "tool_call_id": "read_1", "content": "content" },
            { "role": "assistant", "content": [thought, { "type": "text", "text": "Done." }] },
            { "role": "user", "content": "Again." },
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn the_bytes_of_a_request_only_grow_with_the_conversation() {
    check_prefix(OLLAMA, "ollama", &conversation());
    check_prefix(COHERE, "cohere", &conversation());
}
