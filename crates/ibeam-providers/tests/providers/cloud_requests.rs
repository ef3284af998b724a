//! The exact bytes of requests to Claude at clouds and to Amazon Bedrock, and the blocks that go back to their services.

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, OriginalBlock};
use ibeam_providers::protocols::{ANTHROPIC, BEDROCK, BEDROCK_ANTHROPIC, VERTEX_ANTHROPIC};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{WireProtocol, build_request_body, traits_of};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};
use crate::requests::{check_prefix_of, conversation};

fn bytes_for_model(protocol: &dyn WireProtocol, request: &ModelRequest, model: &str) -> String {
    let traits = traits_of("bedrock", model);
    let settings =
        RequestSettings { max_output_tokens: Some(100), traits, ..RequestSettings::for_unknown_model(model) };
    String::from_utf8(build_request_body(protocol, request, &settings).unwrap()).unwrap()
}

const CLAUDE: &str = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA: &str = "us.amazon.nova-pro-v1:0";
const LLAMA: &str = "us.meta.llama4-maverick-17b-instruct-v1:0";
const GPT_OSS: &str = "openai.gpt-oss-120b-1:0";

#[test]
fn a_converse_request_is_exactly_this() {
    let signed = json!({ "reasoningContent": { "reasoningText": { "text": "Hmm.", "signature": "c2ln" } } });
    let mut messages = conversation();
    if let Message::Assistant(blocks) = &mut messages[1] {
        blocks.insert(0, thinking("bedrock", signed.clone()));
    }
    let request = request(messages);
    let body = |model| serde_json::from_str::<Value>(&bytes_for_model(BEDROCK, &request, model)).unwrap();
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str| {
        let description = format!("The tool {name}.");
        json!({ "toolSpec": { "name": name, "description": description, "inputSchema": { "json": schema } } })
    };
    let cached = json!({ "cachePoint": { "type": "default" } });
    let call =
        |id: &str, input: Value| json!({ "toolUse": { "toolUseId": id, "name": "read", "input": input } });
    let result = |id: &str| {
        let content = json!([{ "text": "content" }]);
        json!({ "toolResult": { "toolUseId": id, "content": content, "status": "error" } })
    };
    let mut expect = json!({
        "inferenceConfig": { "maxTokens": 100 },
        "system": [{ "text": "Be brief." }, cached],
        "toolConfig": { "tools": [tool("read"), tool("ls"), cached] },
        "messages": [
            { "role": "user", "content": [{ "text": "Read a." }, cached] },
            { "role": "assistant", "content": [
                signed,
                { "text": "Reading." },
                call("t1", json!({ "path": "a" })),
                call("t_2_41c79667", json!({ "invalid_json": "{broken" })),
            ] },
            { "role": "user", "content": [result("t1"), result("t_2_41c79667"), { "text": "Go on." }, cached] },
        ],
    });
    assert_eq!(body(CLAUDE), expect);
    // Nova caches messages itself, and rejects breakpoints after tools.
    expect["toolConfig"]["tools"].as_array_mut().unwrap().pop();
    for index in [0, 2] {
        expect["messages"][index]["content"].as_array_mut().unwrap().pop();
    }
    assert_eq!(body(NOVA), expect);
    // Other models reject breakpoints and the status of a result.
    expect["system"].as_array_mut().unwrap().pop();
    for (index, id) in ["t1", "t_2_41c79667"].into_iter().enumerate() {
        expect["messages"][2]["content"][index] =
            json!({ "toolResult": { "toolUseId": id, "content": [{ "text": "Error: content" }] } });
    }
    assert_eq!(body(GPT_OSS), expect);
}

#[test]
fn text_is_separated_from_calls_and_results_for_models_that_require_it() {
    let body = bytes_for_model(BEDROCK, &request(conversation()), LLAMA);
    let body: Value = serde_json::from_str(&body).unwrap();
    let kinds: Vec<Vec<&str>> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let blocks = message["content"].as_array().unwrap().iter();
            blocks.map(|block| block.as_object().unwrap().keys().next().unwrap().as_str()).collect()
        })
        .collect();
    let [calls, results] = [vec!["toolUse"; 2], vec!["toolResult"; 2]];
    assert_eq!(kinds, [vec!["text"], calls, results, vec!["text"], vec!["text"]]);
    let roles: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
}

#[test]
fn claude_at_other_services_gets_the_version_in_the_body() {
    let request = request(conversation());
    let mut expect: Value = serde_json::from_str(&bytes_for_model(ANTHROPIC, &request, "m")).unwrap();
    expect.as_object_mut().unwrap().shift_remove("model");
    let mut body = |protocol, version: &str| {
        expect["anthropic_version"] = version.into();
        assert_eq!(
            serde_json::from_str::<Value>(&bytes_for_model(protocol, &request, CLAUDE)).unwrap(),
            expect
        );
        expect.as_object_mut().unwrap().shift_remove("stream");
    };
    body(VERTEX_ANTHROPIC, "vertex-2023-10-16");
    body(BEDROCK_ANTHROPIC, "bedrock-2023-05-31");
    let early = bytes_for_model(BEDROCK_ANTHROPIC, &request, "anthropic.claude-3-sonnet-20240229-v1:0");
    assert!(!early.contains("cache_control"), "{early}");
}

#[test]
fn blocks_of_the_service_go_back_to_messages_at_their_place() {
    let opaque = |raw: Value| Block::Opaque(OriginalBlock { wire: "anthropic".into(), raw });
    let server =
        json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "x" } });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] });
    let citations = json!([{ "type": "web_search_result_location", "encrypted_index": "RW8=" }]);
    let caller = json!({ "type": "code_execution_20250825", "tool_id": "s2" });
    let blocks = vec![
        opaque(server.clone()),
        opaque(found.clone()),
        opaque(json!({ "type": "text", "citations": citations })),
        Block::Text("Fast.".into()),
        // The block that these fields belonged to was left out.
        opaque(json!({ "type": "text", "citations": citations })),
        opaque(json!({ "type": "tool_use", "caller": caller })),
        call("t1", json!({})),
        Block::Opaque(OriginalBlock { wire: "openai".into(), raw: json!({ "type": "reasoning" }) }),
    ];
    let request = request(vec![user("hi"), Message::Assistant(blocks), results(&["t1"], false)]);
    let body: Value = serde_json::from_str(&bytes_for_model(ANTHROPIC, &request, "m")).unwrap();
    let expect = json!([
        server,
        found,
        { "type": "text", "text": "Fast.", "citations": citations },
        { "type": "tool_use", "id": "t1", "name": "read", "input": {}, "caller": caller },
    ]);
    assert_eq!(body["messages"][1]["content"], expect);
}

#[test]
fn the_bytes_of_a_request_only_grow_with_the_conversation() {
    for protocol in [BEDROCK, BEDROCK_ANTHROPIC, VERTEX_ANTHROPIC] {
        for model in [CLAUDE, NOVA, LLAMA, GPT_OSS] {
            check_prefix_of(&conversation(), |request| bytes_for_model(protocol, request, model));
        }
    }
}
