//! Images and documents in requests, in the form that the documentation of each API names.

use ibeam_protocol::{Media, MediaType, Message, UserPart};
use ibeam_providers::protocols::{
    ANTHROPIC, BEDROCK, BEDROCK_ANTHROPIC, COHERE, GEMINI, GEMINI_INTERACTIONS, OLLAMA, OPENAI_CHAT,
    OPENAI_RESPONSES, PROTOCOLS, VERTEX_ANTHROPIC, VERTEX_GEMINI,
};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{WireProtocol, build_request_body, traits_of};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, user};
use crate::requests::check_prefix_of;

fn image() -> Media {
    Media { name: "dir/a.png".into(), media_type: MediaType::Png, data: "iVBO".into() }
}

fn document() -> Media {
    Media { name: "dir/b.pdf".into(), media_type: MediaType::Pdf, data: "JVBE".into() }
}

/// Returns a prompt with an image and a document, and a call whose result is an image.
fn conversation() -> Vec<Message> {
    let parts = vec!["Look.".into(), UserPart::Media(image()), UserPart::Media(document())];
    let mut shown = results(&["t1"], false);
    if let Message::ToolResults(results) = &mut shown {
        results[0].media = vec![image()];
    }
    vec![Message::User(parts), Message::Assistant(vec![call("t1", json!({}))]), shown]
}

/// Returns the messages that `model` gets.
fn messages(protocol: &dyn WireProtocol, model: &str, conversation: Vec<Message>) -> Vec<Value> {
    let settings =
        RequestSettings { traits: traits_of("", model), ..RequestSettings::for_unknown_model(model) };
    let body = build_request_body(protocol, &request(conversation), &settings).unwrap();
    let mut body: Value = serde_json::from_slice(&body).unwrap();
    let key = ["messages", "input", "contents"].into_iter().find(|key| body.get(key).is_some()).unwrap();
    let mut messages: Vec<Value> = serde_json::from_value(body[key].take()).unwrap();
    messages.retain(|message| message["role"] != "system");
    messages
}

/// Expects the content of the first message, and the messages after the call.
#[track_caller]
fn check(protocol: &dyn WireProtocol, model: &str, key: &str, prompt: Value, after: Value) {
    let messages = messages(protocol, model, conversation());
    assert_eq!(messages[0][key], prompt, "{}", protocol.name());
    assert_eq!(json!(messages[2..]), after, "{}", protocol.name());
}

#[test]
fn claude_gets_blocks_with_a_source() {
    let source = |kind: &str, data: &str| json!({ "type": "base64", "media_type": kind, "data": data });
    let image = json!({ "type": "image", "source": source("image/png", "iVBO") });
    let text = |text: &str| json!({ "type": "text", "text": text });
    for protocol in [ANTHROPIC, VERTEX_ANTHROPIC, BEDROCK_ANTHROPIC] {
        let mut result = json!({ "type": "tool_result", "tool_use_id": "t1" });
        result["content"] = json!([text("content"), image]);
        let mut document =
            json!({ "type": "document", "source": source("application/pdf", "JVBE"), "title": "b.pdf" });
        if protocol.name() != "bedrock-anthropic" {
            for last in [&mut document, &mut result] {
                last["cache_control"] = json!({ "type": "ephemeral" });
            }
        }
        let after = json!([{ "role": "user", "content": [result] }]);
        check(protocol, "m", "content", json!([text("Look."), image, document]), after);
    }
}

#[test]
fn chat_completions_gets_data_urls() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBO" } });
    let file = json!({ "filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBE" });
    let prompt = json!([text("Look."), image, { "type": "file", "file": file }]);
    let after = json!([
        { "role": "tool", "tool_call_id": "t1", "content": "content" },
        { "role": "user", "content": [text("From the result of `read`: `dir/a.png`"), image] },
    ]);
    check(OPENAI_CHAT, "m", "content", prompt, after.clone());
    let placeholder = text("[application/pdf `dir/b.pdf`, 3 bytes, not shown]");
    check(COHERE, "m", "content", json!([text("Look."), image, placeholder]), after);
}

#[test]
fn responses_gets_input_parts() {
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto" });
    let file = json!({
        "type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBE",
    });
    let output = json!([text("content"), image]);
    let after = json!([{ "type": "function_call_output", "call_id": "t1", "output": output }]);
    check(OPENAI_RESPONSES, "m", "content", json!([text("Look."), image, file]), after);
}

#[test]
fn gemini_gets_inline_data() {
    let inline = |kind: &str, data: &str| json!({ "inlineData": { "mimeType": kind, "data": data } });
    let image = inline("image/png", "iVBO");
    let prompt = json!([{ "text": "Look." }, image, inline("application/pdf", "JVBE")]);
    for protocol in [GEMINI, VERTEX_GEMINI] {
        let mut result = json!({ "id": "t1", "name": "read", "response": { "output": "content" } });
        let after = json!([{ "role": "user", "parts": [{ "functionResponse": result }, image] }]);
        check(protocol, "gemini-2.5-pro", "parts", prompt.clone(), after);
        result["parts"] = json!([image]);
        let after = json!([{ "role": "user", "parts": [{ "functionResponse": result }] }]);
        check(protocol, "gemini-3.1-pro-preview", "parts", prompt.clone(), after);
    }
}

#[test]
fn interactions_gets_typed_parts() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "mime_type": "image/png", "data": "iVBO" });
    let document = json!({ "type": "document", "mime_type": "application/pdf", "data": "JVBE" });
    let result = json!([text("content"), image]);
    let after = json!([{ "type": "function_result", "call_id": "t1", "name": "read", "result": result }]);
    check(GEMINI_INTERACTIONS, "m", "content", json!([text("Look."), image, document]), after);
}

#[test]
fn converse_gets_formats_and_bytes() {
    let image = json!({ "image": { "format": "png", "source": { "bytes": "iVBO" } } });
    let messages = messages(BEDROCK, "m", conversation());
    let [text, first, document] = messages[0]["content"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!((text, first), (&json!({ "text": "Look." }), &image));
    let document = &document["document"];
    assert_eq!((&document["format"], &document["source"]), (&json!("pdf"), &json!({ "bytes": "JVBE" })));
    assert!(document["name"].as_str().unwrap().starts_with("b-"), "{document}");
    let result = json!({ "toolUseId": "t1", "content": [{ "text": "content" }, image] });
    assert_eq!(messages[2]["content"], json!([{ "toolResult": result }]));
}

#[test]
fn ollama_gets_a_list_of_images() {
    let messages = messages(OLLAMA, "m", conversation());
    let text = "Look.\n\n[application/pdf `dir/b.pdf`, 3 bytes, not shown]";
    assert_eq!(messages[0], json!({ "role": "user", "content": text, "images": ["iVBO"] }));
    assert_eq!(messages[2]["content"], "content");
    let after = json!({ "role": "user", "content": "From the result of `read`:", "images": ["iVBO"] });
    assert_eq!(messages[3], after);
}

#[test]
fn a_model_that_cannot_see_gets_a_line_of_text() {
    for protocol in PROTOCOLS {
        let messages = json!(messages(*protocol, "devstral-medium-latest", conversation())).to_string();
        assert!(!messages.contains("iVBO") && !messages.contains("JVBE"), "{messages}");
        assert_eq!(messages.matches("not shown]").count(), 3, "{messages}");
    }
}

#[test]
fn the_bytes_of_a_request_with_images_only_grow_with_the_conversation() {
    let mut conversation = conversation();
    conversation.push(user("Go on."));
    for protocol in PROTOCOLS {
        check_prefix_of(&conversation, |request| {
            let settings = RequestSettings::for_unknown_model("m");
            String::from_utf8(build_request_body(*protocol, request, &settings).unwrap()).unwrap()
        });
    }
}
