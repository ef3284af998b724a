//! The exact bytes of requests.

use std::sync::Arc;

use ibeam_core::{JsonSchema, ModelRequest};
use ibeam_protocol::{Block, Message, OriginalBlock};
use ibeam_providers::protocols::{
    ANTHROPIC, GEMINI, GEMINI_INTERACTIONS, OPENAI_CHAT, OPENAI_RESPONSES, PROTOCOLS, VERTEX_GEMINI,
};
use ibeam_providers::provider_table::known_provider;
use ibeam_providers::wire_protocol::{OutgoingRequest, RequestSettings};
use ibeam_providers::{Quirks, WireProtocol, build_request_body, traits_of};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};

const SIGNED: &str = r#"{"type":"thinking","thinking":"Hmm.","signature":"c2ln"}"#;

pub(crate) fn conversation() -> Vec<Message> {
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

pub(crate) fn bytes(protocol: &dyn WireProtocol, request: &ModelRequest, name: &str) -> String {
    let quirks = known_provider(name).map_or(Quirks::DEFAULT, |provider| provider.quirks);
    let settings =
        RequestSettings { max_output_tokens: Some(100), quirks, ..RequestSettings::for_unknown_model("m") };
    String::from_utf8(build_request_body(protocol, request, &settings).unwrap()).unwrap()
}

/// The thinking of such a message was left out.
#[test]
fn a_message_without_blocks_is_in_no_request() {
    for protocol in PROTOCOLS {
        let body = |between: Vec<Message>| {
            let messages = [vec![user("Read a.")], between, vec![user("Go on.")]].concat();
            bytes(*protocol, &request(messages), "anthropic")
        };
        assert_eq!(body(vec![Message::Assistant(Vec::new())]), body(Vec::new()), "{protocol:?}");
    }
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
            { "role": "user", "content": [{ "type": "text", "text": "Read a.", "cache_control": cached }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hmm.", "signature": "c2ln" },
                { "type": "text", "text": "Reading." },
                { "type": "tool_use", "id": "t1", "name": "read", "input": { "path": "a" } },
                { "type": "tool_use", "id": "t_2_41c79667", "name": "read", "input": { "invalid_json": "{broken" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": "content", "is_error": true },
                { "type": "tool_result", "tool_use_id": "t_2_41c79667", "content": "content", "is_error": true },
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
fn a_gemini_request_is_exactly_this() {
    let opaque = |raw: Value| Block::Opaque(OriginalBlock { wire: "gemini".into(), raw });
    let thought = json!({ "text": "Hmm.", "thought": true, "thoughtSignature": "dGhv" });
    let mut messages = conversation();
    messages.push(Message::Assistant(vec![
        thinking("gemini", thought.clone()),
        thinking("anthropic", json!({ "type": "thinking" })),
        opaque(json!({ "executableCode": { "code": "1" } })),
        opaque(json!({ "thoughtSignature": "dGV4" })),
        Block::Text("Now.".into()),
        opaque(json!({ "thoughtSignature": "Y2Fs" })),
        call("call_3", json!({})),
        call("fc_4", json!({})),
        opaque(json!({ "text": "", "thoughtSignature": "ZW1w" })),
    ]));
    messages.push(results(&["call_3", "fc_4"], false));
    let body: Value = serde_json::from_str(&bytes(GEMINI, &request(messages), "gemini")).unwrap();
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let wire_call = |id: Value, args: Value| {
        let mut call = json!({ "name": "read", "args": args });
        if !id.is_null() {
            call["id"] = id;
        }
        call
    };
    let wire_result = |id: Value, response: Value| {
        let mut result = json!({ "name": "read", "response": response });
        if !id.is_null() {
            result["id"] = id;
        }
        json!({ "functionResponse": result })
    };
    let expect = json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "tools": [{ "functionDeclarations": [
            { "name": "read", "description": "The tool read.", "parametersJsonSchema": schema },
            { "name": "ls", "description": "The tool ls.", "parametersJsonSchema": schema },
        ] }],
        "generationConfig": { "maxOutputTokens": 100 },
        "contents": [
            { "role": "user", "parts": [{ "text": "Read a." }] },
            { "role": "model", "parts": [
                { "text": "Reading." },
                { "functionCall": wire_call(json!("t1"), json!({ "path": "a" })) },
                { "functionCall": wire_call(json!("t:2"), json!({ "invalid_json": "{broken" })) },
            ] },
            { "role": "user", "parts": [
                wire_result(json!("t1"), json!({ "error": "content" })),
                wire_result(json!("t:2"), json!({ "error": "content" })),
            ] },
            { "role": "user", "parts": [{ "text": "Go on." }] },
            { "role": "model", "parts": [
                thought,
                { "executableCode": { "code": "1" } },
                { "text": "Now.", "thoughtSignature": "dGV4" },
                { "functionCall": wire_call(Value::Null, json!({})), "thoughtSignature": "Y2Fs" },
                { "functionCall": wire_call(json!("fc_4"), json!({})) },
                { "text": "", "thoughtSignature": "ZW1w" },
            ] },
            { "role": "user", "parts": [
                wire_result(Value::Null, json!({ "output": "content" })),
                wire_result(json!("fc_4"), json!({ "output": "content" })),
            ] },
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn an_interactions_request_is_exactly_this() {
    let opaque = |raw: Value| Block::Opaque(OriginalBlock { wire: "gemini-interactions".into(), raw });
    let thought = json!({ "type": "thought", "signature": "dGhv" });
    let search = json!({ "type": "google_search_call", "id": "s1" });
    let mut messages = conversation();
    messages.push(Message::Assistant(vec![
        thinking("gemini-interactions", thought.clone()),
        opaque(search.clone()),
        opaque(json!({ "signature": "Y2Fs" })),
        call("fc_3", json!({})),
        call("fc_4", json!({})),
    ]));
    messages.push(results(&["fc_3", "fc_4"], false));
    let body: Value =
        serde_json::from_str(&bytes(GEMINI_INTERACTIONS, &request(messages), "gemini")).unwrap();
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str| {
        let description = format!("The tool {name}.");
        json!({ "type": "function", "name": name, "description": description, "parameters": schema })
    };
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let step = |id: &str, arguments: Value| json!({ "type": "function_call", "id": id, "name": "read", "arguments": arguments });
    let result = |id: &str| json!({ "type": "function_result", "call_id": id, "name": "read", "result": text("content") });
    let failed = |id: &str| {
        let mut result = result(id);
        result["is_error"] = true.into();
        result
    };
    let mut signed = step("fc_3", json!({}));
    signed["signature"] = "Y2Fs".into();
    let expect = json!({
        "model": "m", "stream": true, "store": false,
        "system_instruction": "Be brief.",
        "tools": [tool("read"), tool("ls")],
        "generation_config": { "max_output_tokens": 100 },
        "input": [
            { "type": "user_input", "content": text("Read a.") },
            { "type": "model_output", "content": text("Reading.") },
            step("t1", json!({ "path": "a" })),
            step("t:2", json!({ "invalid_json": "{broken" })),
            failed("t1"),
            failed("t:2"),
            { "type": "user_input", "content": text("Go on.") },
            thought,
            search,
            signed,
            step("fc_4", json!({})),
            result("fc_3"),
            result("fc_4"),
        ],
    });
    assert_eq!(body, expect);
}

#[test]
fn newer_gemini_models_get_a_signature_with_the_first_call_of_another_model() {
    let model = "gemini-3.1-pro-preview";
    let settings =
        RequestSettings { traits: traits_of("", model), ..RequestSettings::for_unknown_model(model) };
    let body = build_request_body(GEMINI, &request(conversation()), &settings).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["generationConfig"], json!({ "thinkingConfig": { "includeThoughts": true } }));
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let signatures: Vec<_> = parts.iter().map(|part| part.get("thoughtSignature")).collect();
    assert_eq!(signatures, [None, Some(&json!("skip_thought_signature_validator")), None]);
}

#[test]
fn a_signature_without_its_block_is_sent_with_an_empty_text() {
    let opaque = |raw: Value| Block::Opaque(OriginalBlock { wire: "vertex-gemini".into(), raw });
    let signature = |text: &str| opaque(json!({ "thoughtSignature": text }));
    let blocks = vec![signature("b25l"), signature("dHdv"), Block::Text("Hi".into()), signature("ZW5k")];
    let messages = vec![user("hi"), Message::Assistant(blocks)];
    let body: Value = serde_json::from_str(&bytes(VERTEX_GEMINI, &request(messages), "vertex")).unwrap();
    let part = |text: &str, signature: &str| json!({ "text": text, "thoughtSignature": signature });
    assert_eq!(body["contents"][1]["parts"], json!([part("", "b25l"), part("Hi", "dHdv"), part("", "ZW5k")]));
}

#[test]
fn a_vertex_key_is_an_access_token_or_an_api_key() {
    let request = OutgoingRequest { method: "POST", url: "https://a.example", body: b"" };
    let header = |protocol: &dyn WireProtocol, key: &str| protocol.auth_headers(&request, key).remove(0);
    assert_eq!(header(VERTEX_GEMINI, "ya29.x"), ("authorization", "Bearer ya29.x".to_owned()));
    assert_eq!(header(VERTEX_GEMINI, "AQ.x"), ("x-goog-api-key", "AQ.x".to_owned()));
    assert_eq!(header(GEMINI, "AIzaX"), ("x-goog-api-key", "AIzaX".to_owned()));
}

#[test]
fn reasoning_is_sent_back_only_to_services_that_require_it() {
    let request = request(conversation());
    assert!(bytes(OPENAI_CHAT, &request, "deepseek").contains(r#""reasoning_content":"Hmm.""#));
    assert!(!bytes(OPENAI_CHAT, &request, "openrouter").contains("reasoning_content"));
}

#[test]
fn calls_have_reasoning_at_services_that_require_it() {
    let of = |blocks: Vec<Block>| request(vec![user("hi"), Message::Assistant(blocks)]);
    let body = |blocks: Vec<Block>| bytes(OPENAI_CHAT, &of(blocks), "deepseek");
    let foreign = thinking("ollama", json!({ "thinking": "Hm." }));
    assert!(body(vec![foreign, call("t1", json!({}))]).contains(r#""reasoning_content":"Hmm.""#));
    assert!(body(vec![call("t1", json!({}))]).contains(r#""reasoning_content":"","#));
    assert!(!body(vec![Block::Text("a".into())]).contains("reasoning_content"));
}

#[test]
fn details_of_reasoning_are_sent_back_to_services_like_openrouter() {
    let details = json!([{ "type": "reasoning.encrypted", "data": "x", "index": 0 }]);
    let raw = json!({ "reasoning_content": "Hm.", "reasoning_details": details });
    let blocks = vec![thinking("openai", raw), Block::Text("a".into())];
    let request = request(vec![user("hi"), Message::Assistant(blocks)]);
    let expect = format!(r#""reasoning_details":{details}"#);
    assert!(bytes(OPENAI_CHAT, &request, "openrouter").contains(&expect));
    assert!(!bytes(OPENAI_CHAT, &request, "groq").contains("reasoning_details"));
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
pub(crate) fn check_prefix(protocol: &dyn WireProtocol, name: &str, conversation: &[Message]) {
    check_prefix_of(conversation, |request| bytes(protocol, request, name));
}

/// Expects the same of the bodies that `body` builds.
#[track_caller]
pub(crate) fn check_prefix_of(conversation: &[Message], body: impl Fn(&ModelRequest) -> String) {
    let markers = [r#","cache_control":{"type":"ephemeral"}"#, r#",{"cachePoint":{"type":"default"}}"#];
    let mut earlier = String::new();
    for length in 1..=conversation.len() {
        let messages = conversation.iter().take(length).cloned().collect();
        let body = markers.iter().fold(body(&request(messages)), |body, marker| body.replace(marker, ""));
        let prefix = earlier.trim_end_matches(['}', ']']);
        assert!(body.starts_with(prefix), "{prefix}\n{body}");
        earlier = body;
    }
}

#[test]
fn the_bytes_of_a_request_only_grow_with_the_conversation() {
    check_prefix(ANTHROPIC, "anthropic", &conversation());
    check_prefix(OPENAI_CHAT, "openai", &conversation());
    check_prefix(OPENAI_CHAT, "deepseek", &conversation());
    check_prefix(GEMINI, "gemini", &conversation());
    check_prefix(VERTEX_GEMINI, "vertex", &conversation());
}

#[test]
fn a_schema_of_the_answer_is_sent_in_the_form_of_each_service() {
    let closed = json!({
        "type": "object",
        "properties": { "a": { "type": "string" } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let open = json!({ "type": "object", "properties": { "a": { "pattern": "x" } } });
    let list = json!({ "type": "array" });
    let body =
        |protocol: &dyn WireProtocol, schema: &Value, name: &str, model: &str, has_tools: bool| -> Value {
            let mut request = request(conversation());
            request.answer_schema = Some(Arc::new(JsonSchema::new(schema.clone()).unwrap()));
            if !has_tools {
                request.tools = Arc::new([]);
            }
            let quirks = known_provider(name).map_or(Quirks::DEFAULT, |provider| provider.quirks);
            let settings = RequestSettings {
                quirks,
                traits: traits_of("", model),
                ..RequestSettings::for_unknown_model(model)
            };
            serde_json::from_slice(&build_request_body(protocol, &request, &settings).unwrap()).unwrap()
        };
    for (schema, strict) in [(&closed, true), (&open, false)] {
        let chat = body(OPENAI_CHAT, schema, "openai", "m", true);
        let format = json!({ "name": "answer", "strict": strict, "schema": schema });
        assert_eq!(chat["response_format"], json!({ "type": "json_schema", "json_schema": format }));
        let responses = body(OPENAI_RESPONSES, schema, "openai", "m", true);
        let format = json!({ "type": "json_schema", "name": "answer", "strict": strict, "schema": schema });
        assert_eq!(responses["text"], json!({ "format": format }));
    }
    for (schema, name) in [(&list, "openai"), (&closed, "deepseek"), (&closed, "unknown")] {
        assert_eq!(body(OPENAI_CHAT, schema, name, "m", true).get("response_format"), None);
    }
    for (schema, model, has_tools, is_sent) in [
        (&closed, "gemini-3.1-pro-preview", true, true),
        (&closed, "gemini-2.5-pro", true, false),
        (&closed, "gemini-2.5-pro", false, true),
        (&open, "gemini-3.1-pro-preview", true, false),
    ] {
        let config = &body(GEMINI, schema, "gemini", model, has_tools)["generationConfig"];
        let found = (config.get("responseMimeType"), config.get("responseJsonSchema"));
        let expect = is_sent.then(|| json!("application/json"));
        assert_eq!(found, (expect.as_ref(), is_sent.then_some(schema)), "{model}");
    }
    assert_eq!(body(ANTHROPIC, &closed, "anthropic", "m", true), {
        let settings = RequestSettings::for_unknown_model("m");
        let plain = build_request_body(ANTHROPIC, &request(conversation()), &settings).unwrap();
        serde_json::from_slice::<Value>(&plain).unwrap()
    });
}
