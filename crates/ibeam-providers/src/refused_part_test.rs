use std::sync::Arc;

use ibeam_protocol::{Block, MediaType, Reason, ToolCall, ToolResult, ToolSpec};
use serde_json::json;

use super::*;
use crate::protocols::{ANTHROPIC, BEDROCK, COHERE, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES};
use crate::request_body::build_request_body;
use crate::wire_protocol::{RequestSettings, WireProtocol};

fn media(name: &str, media_type: MediaType, data: &str) -> Media {
    Media { name: name.to_owned(), media_type, data: data.into() }
}

fn shot() -> Media {
    media("shots/one.png", MediaType::Png, "c2hvdA==")
}

fn scan() -> Media {
    media("scan.pdf", MediaType::Pdf, "c2Nhbg==")
}

/// A request with three tools, an attached image and the result of a call with a document.
fn request() -> ModelRequest {
    let tool = |name: &'static str| {
        let parameters = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        ToolSpec { name: name.into(), description: "d".into(), parameters: parameters.into() }
    };
    let call = ToolCall { id: "c1".into(), name: "read".to_owned(), arguments: json!({}) };
    let result = ToolResult {
        call_id: "c1".into(),
        name: "read".to_owned(),
        text: "shown".into(),
        is_error: false,
        media: vec![scan()],
    };
    let messages = [
        Message::User(vec!["look".into(), UserPart::Media(shot())]),
        Message::Assistant(vec![Block::ToolCall(call)]),
        Message::ToolResults(vec![result]),
    ];
    ModelRequest {
        system: "s".into(),
        tools: ["read", "mcp_s_click", "mcp_s_click_all"].map(tool).into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    }
}

fn located(protocol: &dyn WireProtocol, part: RefusedPart, message: &str) -> Retry {
    let request = request();
    let reason =
        Reason::BadRequest { provider: "p".into(), detail: message.into(), part: RequestPart::Unknown };
    let body = || {
        let body = build_request_body(protocol, &request, &RequestSettings::for_unknown_model("m")).ok()?;
        serde_json::from_slice(&body).ok()
    };
    locate(ProviderError::new(reason, Retry::without(part)), &request, body).retry
}

#[track_caller]
fn check_tools(protocol: &dyn WireProtocol, message: &str, expect: &[&str]) {
    let expect = expect.iter().map(|name| (*name).to_owned()).collect();
    let found = located(protocol, RefusedPart::Tools(Vec::new()), message);
    assert_eq!(found, Retry::without(RefusedPart::Tools(expect)), "{message}");
}

#[track_caller]
fn check_media(protocol: &dyn WireProtocol, message: &str, expect: &[Media]) {
    let expect: Vec<_> = expect.iter().map(media_fingerprint).collect();
    let found = located(protocol, RefusedPart::Media(Vec::new()), message);
    assert_eq!(found, Retry::without(RefusedPart::Media(expect.clone())), "{message}");
    if !expect.is_empty() {
        let found = located(protocol, RefusedPart::Unknown, message);
        assert_eq!(found, Retry::without(RefusedPart::Media(expect)), "unknown: {message}");
    }
}

#[test]
fn the_refused_part_of_a_request_is_found_by_the_words_of_services() {
    use RequestPart::{Media, OutputLimit, Reasoning, Tools, Unknown};
    for (message, expect) in [
        ("max_tokens: 200000 > 128000, which is the maximum allowed", OutputLimit),
        ("Unsupported value: 'reasoning.effort' does not support 'max' with this model", Reasoning),
        ("thinking.type: enabled is not supported by this model", Reasoning),
        ("Function tools with reasoning_effort are not supported", Reasoning),
        ("tools.3.custom.input_schema: input_schema does not support oneOf at the top level", Tools),
        ("Invalid schema for function 'mcp_s_sequentialthinking': array schema missing items", Tools),
        ("Invalid 'tools': array too long. Expected an array with maximum length 128", Tools),
        ("* GenerateContentRequest.tools[0].function_declarations[2].parameters: invalid", Tools),
        ("Invalid 'tools[3].function.description': string too long", Tools),
        ("messages.0.content.1.image.source: image exceeds 8000 pixels", Media),
        ("Could not process PDF", Media),
        ("Unable to process input image. Please retry", Media),
        ("The document has no pages.", Media),
        ("No endpoints found that support image input", Media),
        ("bad role; see the documentation", Unknown),
        ("bad role", Unknown),
    ] {
        let error = ReportedError { message: message.to_owned(), ..ReportedError::default() };
        assert_eq!(named_part(&error), expect, "{message}");
    }
}

#[test]
fn a_refused_tool_is_found_by_its_position_or_its_name() {
    let messages =
        "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level";
    check_tools(ANTHROPIC, messages, &["mcp_s_click"]);
    let chat = "Invalid schema for function 'mcp_s_click': In context=('properties', 'a'), array schema missing items.";
    check_tools(OPENAI_CHAT, chat, &["mcp_s_click"]);
    check_tools(OPENAI_CHAT, "Invalid 'tools[0].function.description': string too long", &["read"]);
    check_tools(OPENAI_RESPONSES, "Invalid 'tools[2].name'", &["mcp_s_click_all"]);
    let gemini = "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: should be non-empty";
    check_tools(GEMINI, gemini, &["mcp_s_click_all"]);
    check_tools(
        BEDROCK,
        "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type is not valid",
        &["read"],
    );
    let member = "Value at 'toolConfig.tools.2.member.toolSpec.name' failed to satisfy constraint";
    check_tools(BEDROCK, member, &["mcp_s_click"]);
    check_tools(COHERE, "invalid request: tool `read` has no parameters", &["read"]);
    // Neither an ordinary word nor a position that does not exist names a tool.
    check_tools(ANTHROPIC, "tools.9.custom: could not read the schema", &[]);
    check_tools(ANTHROPIC, "the tools are not valid", &[]);
}

#[test]
fn the_limit_of_tools_is_the_number_below_the_sent_ones() {
    let beyond = |limit| Retry::without(RefusedPart::ToolsBeyond(limit));
    let find = |message: &str| located(OPENAI_CHAT, RefusedPart::Tools(Vec::new()), message);
    let openai = "Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3";
    assert_eq!(find(openai), beyond(2));
    assert_eq!(find("Too many tools"), beyond(3), "no usual limit is below three");
    assert_eq!(tool_limit("Too many tools", 150), 128);
    assert_eq!(tool_limit("got 150 tools, at most 100 are accepted", 150), 100);
}

#[test]
fn a_refused_file_is_found_by_its_position_or_its_name() {
    check_media(ANTHROPIC, "messages.0.content.1.image.source.base64: The image is invalid", &[shot()]);
    check_media(ANTHROPIC, "messages.2.content.0.tool_result.content.1: Could not process PDF", &[scan()]);
    check_media(OPENAI_CHAT, "Invalid 'messages[1].content[1].image_url.url'", &[shot()]);
    check_media(OPENAI_CHAT, "messages.[4].content.[1]: unsupported file", &[scan()]);
    check_media(OPENAI_RESPONSES, "Invalid 'input[0].content[1].image_url'. Expected a valid URL", &[shot()]);
    check_media(OPENAI_RESPONSES, "input[2].output: the file is not valid", &[scan()]);
    check_media(GEMINI, "* GenerateContentRequest.contents[0].parts[1].inline_data.data: invalid", &[shot()]);
    check_media(BEDROCK, "Value at 'messages.1.member.content.2.member.image' is not valid", &[shot()]);
    check_media(ANTHROPIC, "scan.pdf is password protected", &[scan()]);
    check_media(ANTHROPIC, "Could not process image", &[]);
    check_media(ANTHROPIC, "messages.7.content.1: Could not process image", &[]);
}

#[test]
fn only_a_rejected_request_is_repeated_without_a_part() {
    let never = [(RequestPart::OutputLimit, 400), (RequestPart::Reasoning, 400), (RequestPart::Unknown, 404)];
    assert!(never.iter().all(|(part, status)| retry_without(*part, Some(*status)) == Retry::Never));
    let media = Retry::without(RefusedPart::Media(Vec::new()));
    assert_eq!(retry_without(RequestPart::Media, Some(404)), media);
    let about = |status, message: &str| {
        is_about_bytes(
            Some(status),
            &ReportedError { message: message.to_owned(), ..ReportedError::default() },
        )
    };
    assert!(about(413, "Request exceeds the maximum size") && about(400, "request_too_large"));
    assert!(!about(413, "Request too large: 9000 tokens per minute") && !about(400, "prompt is too long"));
}
