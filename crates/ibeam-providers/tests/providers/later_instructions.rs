//! Instructions that follow later in a conversation, in the form that the model takes.

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, RequestUpdate, ToolSpec};
use ibeam_providers::protocols::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, PROTOCOLS};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{InstructionRole, ModelTraits, WireProtocol, build_request_body, traits_of};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{call, request, results, user};

const SONNET: (&str, &str) = ("anthropic", "claude-sonnet-5-5");
const OLDER_SONNET: (&str, &str) = ("anthropic", "claude-sonnet-4-6");
const GPT: (&str, &str) = ("openai", "gpt-6.2-sol");

/// Returns the messages of a request as `ROLE: TEXTS`.
fn messages(
    protocol: &dyn WireProtocol,
    (provider, model): (&str, &str),
    conversation: Vec<Message>,
) -> Vec<String> {
    let traits = traits_of(provider, model);
    let settings = RequestSettings { traits, ..RequestSettings::for_unknown_model(model) };
    let body = build_request_body(protocol, &request(conversation), &settings).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let list = if body["messages"].is_array() { &body["messages"] } else { &body["input"] };
    let line = |message: &Value| {
        let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
        let texts = match &message["content"] {
            Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join(" + "),
            content => content.as_str().unwrap_or_default().to_owned(),
        };
        format!("{}: {texts}", message["role"].as_str().unwrap())
    };
    list.as_array().unwrap().iter().map(line).collect()
}

fn instructions(text: &str) -> Message {
    Message::Instructions(vec![text.into()])
}

fn answer() -> Message {
    Message::Assistant(vec![Block::Text("Done.".into())])
}

#[test]
fn claude_gets_them_between_a_message_of_the_user_and_an_answer() {
    let cases: [(Vec<Message>, &[&str]); 6] = [
        (
            vec![user("1"), answer(), instructions("a"), user("2")],
            &["user: 1", "assistant: Done.", "user: 2", "system: a"],
        ),
        (
            vec![user("1"), instructions("a"), answer(), user("2")],
            &["user: 1", "system: a", "assistant: Done.", "user: 2"],
        ),
        // Two of them, and two messages of the user.
        (
            vec![user("1"), answer(), instructions("a"), user("2"), instructions("b"), user("3")],
            &["user: 1", "assistant: Done.", "user: 2 + 3", "system: a + b"],
        ),
        // No message of the user is there to follow.
        (vec![user("1"), answer(), instructions("a")], &["user: 1", "assistant: Done.", "user: a"]),
        (
            vec![user("1"), answer(), instructions("a"), answer()],
            &["user: 1", "assistant: Done.", "user: a", "assistant: Done."],
        ),
        (vec![instructions("a"), answer()], &["user: a", "assistant: Done."]),
    ];
    for (conversation, expect) in cases {
        assert_eq!(messages(ANTHROPIC, SONNET, conversation), expect);
    }
}

#[test]
fn other_models_get_the_role_that_they_have_or_a_text_of_the_user() {
    let conversation = || vec![user("1"), answer(), instructions("a"), user("2")];
    let start = ["user: 1", "assistant: Done."];
    for (protocol, model, expect) in [
        (ANTHROPIC, OLDER_SONNET, &["user: a + 2"][..]),
        (OPENAI_RESPONSES, GPT, &["developer: a", "user: 2"]),
        (OPENAI_RESPONSES, ("xai", "grok-4.7"), &["user: a", "user: 2"]),
        (OPENAI_CHAT, GPT, &["system: a", "user: 2"]),
        (OPENAI_CHAT, ("openrouter", "anthropic/claude-sonnet-5.5"), &["user: a", "user: 2"]),
    ] {
        let found = messages(protocol, model, conversation());
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| !line.ends_with(": Be brief.")).collect();
        assert_eq!(found, [&start[..], expect].concat(), "{protocol:?} {model:?}");
    }
}

/// Returns a request to a model with a tool that is added after an answer, and the header that it needs.
fn with_added_tool(
    protocol: &dyn WireProtocol,
    model: (&'static str, &'static str),
) -> (Value, Option<String>) {
    let traits = traits_of(model.0, model.1);
    let settings = RequestSettings { traits, ..RequestSettings::for_unknown_model(model.1) };
    let tool = ToolSpec {
        name: "new".into(),
        description: "d".into(),
        parameters: json!({ "type": "object" }).into(),
    };
    let added = Message::Update(RequestUpdate { tools: vec![tool], effort: None });
    let conversation = vec![user("1"), answer(), added, instructions("a"), user("2")];
    let request = request(conversation);
    let body = build_request_body(protocol, &request, &settings).unwrap();
    let header =
        protocol.model_header(Some(&request), &settings).map(|(name, value)| format!("{name}: {value}"));
    (serde_json::from_slice(&body).unwrap(), header)
}

#[test]
fn claude_gets_an_added_tool_in_a_message_with_its_beta_version() {
    let (body, header) = with_added_tool(ANTHROPIC, SONNET);
    let definition = json!({ "name": "new", "description": "d", "input_schema": { "type": "object" } });
    let tool = json!({ "type": "tool_definition", "definition": definition });
    let content = json!([{ "type": "tool_addition", "tool": tool }, { "type": "text", "text": "a" }]);
    assert_eq!(body["messages"][3], json!({ "role": "system", "content": content }));
    assert_eq!(header.as_deref(), Some("anthropic-beta: inline-tools-2026-09-15"));
}

#[test]
fn gpt_gets_an_added_tool_in_an_item() {
    let (body, header) = with_added_tool(OPENAI_RESPONSES, GPT);
    let parameters = json!({ "type": "object" });
    let tool = json!({ "type": "function", "name": "new", "description": "d", "parameters": parameters, "strict": false });
    let items = body["input"].as_array().unwrap();
    let added = items.iter().find(|item| item["type"] == "additional_tools").unwrap();
    assert_eq!(*added, json!({ "type": "additional_tools", "role": "developer", "tools": [tool] }));
    assert_eq!(header, None);
}

#[test]
fn gpt_gets_another_level_of_reasoning_in_an_item_and_keeps_the_first_one() {
    let settings =
        RequestSettings { traits: traits_of(GPT.0, GPT.1), ..RequestSettings::for_unknown_model(GPT.1) };
    let level =
        |level: &str| Message::Update(RequestUpdate { tools: vec![], effort: Some(level.to_owned()) });
    let conversation =
        vec![user("1"), answer(), level("max"), user("2"), answer(), level("default"), user("3")];
    let items = |effort: &str| {
        let request = ModelRequest { effort: Some(effort.to_owned()), ..request(conversation.clone()) };
        let body = build_request_body(OPENAI_RESPONSES, &request, &settings).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let updates = body["input"].as_array().unwrap().iter();
        let updates: Vec<_> =
            updates.filter(|item| item["type"] == "configuration_update").cloned().collect();
        (body["reasoning"]["effort"].clone(), updates)
    };
    let update = |level: &str| json!({ "type": "configuration_update", "reasoning": { "effort": level } });
    let updates = vec![update("max"), update("medium")];
    assert_eq!(items("default"), (Value::Null, updates.clone()));
    assert_eq!(items("none"), (json!("low"), updates));
}

#[test]
fn models_append_tools_by_the_table() {
    for (protocol, (provider, model), expect) in [
        (ANTHROPIC, SONNET, true),
        (ANTHROPIC, OLDER_SONNET, false),
        (OPENAI_RESPONSES, GPT, true),
        (OPENAI_RESPONSES, ("xai", "grok-4.7"), false),
        (OPENAI_CHAT, GPT, false),
    ] {
        let traits = traits_of(provider, model);
        let mut settings = RequestSettings { traits, ..RequestSettings::for_unknown_model(model) };
        assert_eq!(protocol.appends_tools(&settings), expect, "{protocol:?} {model}");
        settings.quirks.updates = false;
        assert!(!protocol.appends_tools(&settings), "{protocol:?} {model}");
    }
}

#[test]
fn every_api_sends_them() {
    for protocol in PROTOCOLS {
        let settings = RequestSettings::for_unknown_model("m");
        let conversation = vec![user("1"), answer(), instructions("later instruction"), user("2")];
        let body = build_request_body(*protocol, &request(conversation), &settings).unwrap();
        assert!(String::from_utf8(body).unwrap().contains("later instruction"), "{protocol:?}");
    }
}

#[test]
fn models_of_openai_get_the_system_prompt_as_a_message() {
    let settings = |(provider, model)| RequestSettings {
        traits: traits_of(provider, model),
        ..RequestSettings::for_unknown_model(model)
    };
    for (model, expect) in [(GPT, "developer"), (("xai", "grok-4.7"), "user")] {
        let body = build_request_body(OPENAI_RESPONSES, &request(vec![user("1")]), &settings(model)).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (&body["input"][0]["role"], body.get("instructions").is_none()),
            (&json!(expect), expect != "user")
        );
    }
}

/// Returns the messages of a request without cache breakpoints.
fn unmarked_messages(
    protocol: &dyn WireProtocol,
    role: Option<InstructionRole>,
    conversation: &[Message],
) -> Vec<Value> {
    let traits = ModelTraits { instruction_role: role, ..ModelTraits::UNKNOWN };
    let settings = RequestSettings { traits, ..RequestSettings::for_unknown_model("m") };
    let body = build_request_body(protocol, &request(conversation.to_vec()), &settings).unwrap();
    let text = String::from_utf8(body).unwrap();
    let text = text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let mut body: Value = serde_json::from_str(&text).unwrap();
    let key = ["messages", "input", "contents"].into_iter().find(|key| body[key].is_array()).unwrap();
    body[key].as_array_mut().map(std::mem::take).unwrap()
}

fn message() -> impl Strategy<Value = Message> {
    let text = || prop::sample::select(vec!["", "a", "b"]);
    prop_oneof![
        text().prop_map(user),
        text().prop_map(instructions),
        Just(answer()),
        Just(Message::Assistant(vec![call("t1", json!({}))])),
        Just(results(&["t1"], false)),
    ]
}

proptest! {
    /// Whatever follows an answer, the request that it answers is the start of all later ones.
    #[test]
    fn an_answered_request_is_the_start_of_later_ones(
        mut conversation in prop::collection::vec(message(), 0..6),
        later in prop::collection::vec(message(), 0..6),
        protocol in prop::sample::select(PROTOCOLS),
        role in prop::sample::select(vec![None, Some(InstructionRole::System), Some(InstructionRole::Developer)]),
    ) {
        conversation.push(user("prompt"));
        let answered = unmarked_messages(protocol, role, &conversation);
        conversation.push(answer());
        conversation.extend(later);
        let messages = unmarked_messages(protocol, role, &conversation);
        prop_assert_eq!(&messages[..answered.len()], answered);
    }
}
