//! Cache keys and cache breakpoints in requests.

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message};
use ibeam_providers::protocols::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES};
use ibeam_providers::provider_table::known_provider;
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{Quirks, WireProtocol, build_request_body, traits_of};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, user};
use crate::requests::check_prefix_of;

fn bytes(protocol: &dyn WireProtocol, request: &ModelRequest, provider: &str, model: &str) -> String {
    let quirks = known_provider(provider).map_or(Quirks::DEFAULT, |provider| provider.quirks);
    let traits = traits_of(provider, model);
    let settings = RequestSettings::for_unknown_model(model);
    let settings = RequestSettings { quirks, traits, cache_key: Some("session-1"), ..settings };
    String::from_utf8(build_request_body(protocol, request, &settings).unwrap()).unwrap()
}

fn body(protocol: &dyn WireProtocol, conversation: Vec<Message>, provider: &str, model: &str) -> Value {
    serde_json::from_str(&bytes(protocol, &request(conversation), provider, model)).unwrap()
}

/// Two prompts, and a turn with two calls between them.
fn conversation() -> Vec<Message> {
    vec![
        user("One."),
        Message::Assistant(vec![call("t1", json!({})), call("t2", json!({}))]),
        results(&["t1", "t2"], false),
        Message::Assistant(vec![Block::Text("Done.".into())]),
        user("Two."),
    ]
}

#[test]
fn only_services_that_accept_a_cache_key_get_one() {
    for (protocol, provider, expect) in [
        (OPENAI_CHAT, "openai", true),
        (OPENAI_RESPONSES, "openai", true),
        (OPENAI_CHAT, "azure", true),
        (OPENAI_CHAT, "mistral", true),
        // The service has a header for it.
        (OPENAI_CHAT, "xai", false),
        (OPENAI_RESPONSES, "xai", true),
        (OPENAI_CHAT, "groq", false),
        (OPENAI_CHAT, "deepseek", false),
        (OPENAI_CHAT, "unknown", false),
        (OPENAI_RESPONSES, "unknown", false),
        (ANTHROPIC, "anthropic", false),
    ] {
        let body = body(protocol, conversation(), provider, "m");
        let expect = expect.then(|| json!("session-1"));
        assert_eq!(body.get("prompt_cache_key"), expect.as_ref(), "{protocol:?} at {provider}");
    }
}

#[test]
fn newer_models_of_openai_get_breakpoints_that_stay() {
    let marker = json!({ "mode": "explicit" });
    let part =
        |text: &str| json!([{ "type": "input_text", "text": text, "prompt_cache_breakpoint": marker }]);
    let responses = body(OPENAI_RESPONSES, conversation(), "openai", "gpt-5.6-sol");
    assert_eq!(responses.get("instructions"), None, "{responses}");
    let input = &responses["input"];
    assert_eq!(input[0], json!({ "type": "message", "role": "developer", "content": part("Be brief.") }));
    assert_eq!((&input[1]["content"], &input[7]["content"]), (&part("One."), &part("Two.")), "{input}");
    let older = body(OPENAI_RESPONSES, conversation(), "openai", "gpt-5").to_string();
    assert!(!older.contains("prompt_cache_breakpoint") && older.contains(r#""instructions":"Be brief.""#));
    let part = |text: &str| json!([{ "type": "text", "text": text, "prompt_cache_breakpoint": marker }]);
    let chat = body(OPENAI_CHAT, conversation(), "openai", "gpt-5.6-sol");
    let content = |index: usize| chat["messages"][index]["content"].clone();
    assert_eq!([content(0), content(1), content(6)], ["Be brief.", "One.", "Two."].map(part));
    assert_eq!(content(3), json!([{ "type": "text", "text": "content" }]));
}

#[test]
fn claude_models_at_openrouter_get_three_breakpoints() {
    let chat = body(OPENAI_CHAT, conversation(), "openrouter", "anthropic/claude-sonnet-5.5");
    let is_marked: Vec<bool> = chat["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message.pointer("/content/0/cache_control") == Some(&json!({ "type": "ephemeral" })))
        .collect();
    // The system prompt, the last result, the last prompt.
    assert_eq!(is_marked, [true, false, false, false, true, false, true], "{chat}");
    let other = body(OPENAI_CHAT, conversation(), "openrouter", "openai/gpt-5").to_string();
    assert!(!other.contains("cache_control"), "{other}");
}

#[test]
fn a_blank_text_has_no_breakpoint() {
    let messages = vec![user(" ")];
    let chat = body(OPENAI_CHAT, messages, "openrouter", "anthropic/claude-sonnet-5.5");
    assert_eq!(chat["messages"][1]["content"], json!([{ "type": "text", "text": " " }]));
}

#[test]
fn breakpoints_change_no_other_byte() {
    for (protocol, provider, model) in [
        (OPENAI_CHAT, "openrouter", "anthropic/claude-sonnet-5.5"),
        (OPENAI_CHAT, "openai", "gpt-5.6-sol"),
        (OPENAI_RESPONSES, "openai", "gpt-5.6-sol"),
    ] {
        check_prefix_of(&conversation(), |request| bytes(protocol, request, provider, model));
    }
}

/// A service looks only at about 20 blocks before a breakpoint for an earlier one.
#[test]
fn the_breakpoint_of_the_previous_request_is_kept_in_the_messages_api() {
    let ids: Vec<String> = (0..30).map(|number| format!("t{number}")).collect();
    let calls = ids.iter().map(|id| call(id, json!({}))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let body = body(
        ANTHROPIC,
        vec![user("One."), Message::Assistant(calls), results(&ids, false)],
        "anthropic",
        "m",
    );
    let is_marked = |path: &str| body.pointer(path).is_some_and(|block| block.get("cache_control").is_some());
    assert!(is_marked("/messages/0/content/0") && is_marked("/messages/2/content/29"), "{body}");
    assert_eq!(body.to_string().matches("cache_control").count(), 4, "the API accepts four: {body}");
}
