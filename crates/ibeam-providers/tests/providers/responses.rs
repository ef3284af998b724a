//! Responses streams, written after the API reference, and what they mean; and requests.

use ibeam_protocol::{Block, Message, OriginalBlock};
use ibeam_providers::protocols::OPENAI_RESPONSES;
use ibeam_providers::response_error::{FailureClass, ReportedError};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{build_request_body, traits_of};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};
use crate::replay;
use crate::requests::{bytes, check_prefix, conversation};

const TOOLS: &str = include_str!("../../fixtures/responses-tools.sse");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(OPENAI_RESPONSES, stream, expect);
}

#[test]
fn reasoning_is_kept_as_received_and_the_phase_of_a_message_before_its_text() {
    check(
        include_str!("../../fixtures/responses-text.sse"),
        &[
            "thinking **Greeting**",
            "thinking \n\nBe kind.",
            "text Looking",
            "text  first.",
            "text Hello",
            "text , wörld \u{1f600}!",
            "= thinking **Greeting**\n\nBe kind. {\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[{\"type\":\
             \"summary_text\",\"text\":\"**Greeting**\\n\\nBe kind.\"}],\"encrypted_content\":\"gAAAend\"}",
            r#"= opaque {"type":"message","phase":"commentary"}"#,
            "= text Looking first.",
            r#"= opaque {"type":"message","phase":"final_answer"}"#,
            "= text Hello, wörld \u{1f600}!",
            "= EndTurn 36+64r+0w/30",
        ],
    );
}

#[test]
fn interleaved_calls_whose_ids_change_are_assembled_by_index() {
    check(
        TOOLS,
        &[
            r#"= thinking  {"id":"rs_8","type":"reasoning","summary":[],"encrypted_content":"gAAAend"}"#,
            r#"= call call_a read {"path":"a.txt"}"#,
            "= call call_b ls {}",
            "= ToolUse 10+0r+0w/5",
        ],
    );
}

#[test]
fn events_without_indices_belong_to_the_item_with_their_id() {
    check(
        include_str!("../../fixtures/responses-no-indices.sse"),
        &[
            "thinking Hmm",
            "= thinking Hmm {\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"content\":[{\"type\":\
             \"reasoning_text\",\"text\":\"Hmm\"}],\"encrypted_content\":\"\"}",
            r#"= call fc_1 read {"path":"a"}"#,
            "= call fc_2 ls {}",
            "= ToolUse -",
        ],
    );
}

#[test]
fn a_refusal_is_text_and_the_stop_reason() {
    check(
        include_str!("../../fixtures/responses-refusal.sse"),
        &["text I cannot", "text  help.", "= text I cannot help.", "= Refusal 10+0r+0w/5"],
    );
}

#[test]
fn a_call_cut_by_the_limit_is_dropped() {
    let stream = include_str!("../../fixtures/responses-incomplete.sse");
    let expect = ["text Reading.", "= text Reading.", "= MaxTokens 10+0r+0w/16"];
    check(stream, &expect);
    // Its status decides, even if its arguments happen to be complete.
    check(&stream.replace(r#"{\"path\":\"a""#, r#"{\"path\":\"a\"}""#), &expect);
}

#[test]
fn an_answer_that_a_filter_cut_is_a_refusal() {
    let stream = include_str!("../../fixtures/responses-incomplete.sse")
        .replace(r#"{"reason":"max_output_tokens"}"#, r#"{"reason":"content_filter"}"#);
    check(&stream, &["text Reading.", "= text Reading.", "= Refusal 10+0r+0w/16"]);
}

#[test]
fn an_answer_that_is_incomplete_for_another_reason_or_none_is_no_end() {
    for (reason, named) in [(r#"{"reason":"steered"}"#, "steered"), ("null", "incomplete")] {
        let stream = include_str!("../../fixtures/responses-incomplete.sse")
            .replace(r#"{"reason":"max_output_tokens"}"#, reason);
        let error = format!("protocol: the answer ended for the unknown reason `{named}`");
        check(&stream, &["text Reading.", &error]);
    }
}

/// Each message is streamed, and stated as a whole twice.
#[test]
fn a_text_that_was_dropped_swapped_or_doubled_on_the_way_is_not_an_answer() {
    let stream = include_str!("../../fixtures/responses-text.sse");
    let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let is_delta = |event: &str| event.contains("\"type\":\"response.output_text.delta\"");
    let deltas: Vec<usize> = (0..events.len()).filter(|index| is_delta(events[*index])).collect();
    let first_of_pairs = deltas.windows(2).filter(|pair| pair[1] == pair[0] + 1).map(|pair| pair[0]);
    for first in first_of_pairs {
        let mut dropped = events.clone();
        dropped.remove(first);
        let mut swapped = events.clone();
        swapped.swap(first, first + 1);
        let mut doubled = events.clone();
        doubled.insert(first, events[first]);
        for events in [dropped, swapped, doubled] {
            for without_items in [false, true] {
                let is_item = |event: &str| event.contains("\"type\":\"response.output_item.done\"");
                let kept = events.iter().filter(|event| !(without_items && is_item(event)));
                let stream: String = kept.copied().collect();
                let got = replay::replay(OPENAI_RESPONSES, &[stream.as_bytes()]);
                let last = got.last().unwrap();
                assert_eq!(last, "garbled: its text is not the one that it streamed", "{stream}");
            }
        }
    }
    let trimmed = stream.replace("\"text\":\"Hello, ", "\"text\":\" Hello, ");
    let got = replay::replay(OPENAI_RESPONSES, &[trimmed.as_bytes()]);
    assert!(got.last().unwrap().starts_with("= EndTurn"), "white space around a text says nothing: {got:?}");
}

#[test]
fn tokens_written_to_the_cache_are_not_input() {
    let stream = include_str!("../../fixtures/responses-refusal.sse");
    let details = r#""input_tokens_details":{"#;
    assert!(stream.contains(details));
    let stream = stream.replace(details, r#""input_tokens_details":{"cache_write_tokens":4,"#);
    check(&stream, &["text I cannot", "text  help.", "= text I cannot help.", "= Refusal 6+0r+4w/5"]);
}

#[test]
fn a_stream_without_its_final_event_is_truncated() {
    let cut = include_str!("../../fixtures/responses-cut.sse");
    check(cut, &["text Hi", "text  the", "truncated"]);
    check(&format!("{cut}data: [DONE]\n\n"), &["text Hi", "text  the", "truncated"]);
    let (head, _) = TOOLS.split_once("event: response.completed").unwrap();
    check(head, &["truncated"]);
}

#[test]
fn failures_are_reported_with_their_code() {
    check(
        include_str!("../../fixtures/responses-failed.sse"),
        &["text Hi", "reported [server_error] The model failed to generate a response."],
    );
    check(
        include_str!("../../fixtures/responses-error.sse"),
        &["reported [error rate_limit_exceeded] Slow down."],
    );
    let cancelled = include_str!("../../fixtures/responses-failed.sse").replace(
        r#""status":"failed","error":{"code":"server_error","message":"The model failed to generate a response."}"#,
        r#""status":"cancelled","error":null"#,
    );
    check(&cancelled, &["text Hi", "reported [] the answer ended with status `cancelled`"]);
}

#[test]
fn items_of_the_service_are_kept_and_unknown_events_ignored() {
    check(
        include_str!("../../fixtures/responses-service-items.sse"),
        &[
            "text Found.",
            r#"= opaque {"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"rust"}}"#,
            "= text Found.",
            r#"= opaque {"id":"cmp_1","type":"compaction","encrypted_content":"gAAAcompact"}"#,
            "= EndTurn 10+0r+0w/5",
        ],
    );
}

#[test]
fn attributes_of_a_call_are_kept_before_it() {
    let stream = TOOLS.replace(
        r#""call_id":"call_b","name":"ls""#,
        r#""call_id":"call_b","name":"ls","namespace":"files","caller":null"#,
    );
    check(
        &stream,
        &[
            r#"= thinking  {"id":"rs_8","type":"reasoning","summary":[],"encrypted_content":"gAAAend"}"#,
            r#"= call call_a read {"path":"a.txt"}"#,
            r#"= opaque {"type":"function_call","namespace":"files"}"#,
            "= call call_b ls {}",
            "= ToolUse 10+0r+0w/5",
        ],
    );
}

fn final_event(output: &Value) -> String {
    let response = json!({ "id": "resp_1", "status": "completed", "output": output });
    format!("data: {}\n\n", json!({ "type": "response.completed", "response": response }))
}

#[test]
fn the_final_event_supplies_what_the_stream_left_out() {
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] });
    let call = json!({ "type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}" });
    let output = json!([message, call]);
    let expect = ["text Hello", "= text Hello", "= call a ls {}", "= ToolUse -"];
    check(&final_event(&output), &expect);
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hel" });
    let stream = format!("data: {delta}\n\n{}", final_event(&output));
    check(&stream, &["text Hel", "text lo", "= text Hello", "= call a ls {}", "= ToolUse -"]);
}

#[test]
fn text_that_was_shown_although_the_complete_item_differs_is_not_an_answer() {
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hi" });
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] });
    let stream = format!("data: {delta}\n\n{}", final_event(&json!([message])));
    check(&stream, &["text Hi", "garbled: its text is not the one that it streamed"]);
}

#[test]
fn an_item_that_arrives_twice_is_one() {
    let content = json!([{ "type": "output_text", "text": "Hi" }]);
    let message = json!({ "type": "message", "id": "msg_1", "content": content });
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": message });
    let stream = format!("data: {done}\n\ndata: {done}\n\n{}", final_event(&json!([message])));
    check(&stream, &["text Hi", "= text Hi", "= EndTurn -"]);
}

#[test]
fn a_call_that_never_completes_is_not_guessed() {
    let call = json!({ "type": "function_call", "call_id": "a", "name": "ls", "arguments": "" });
    let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": call });
    let stream = format!("data: {added}\n\n{}", final_event(&json!([])));
    check(&stream, &["protocol: the answer is complete, but one of its calls is not"]);
}

#[test]
fn the_free_text_of_a_custom_tool_is_never_an_object() {
    let call = json!({ "type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "{\"a\":1}" });
    check(&final_event(&json!([call])), &[r#"= call a sql "{\"a\":1}""#, "= ToolUse -"]);
}

#[test]
fn reasoning_that_the_service_cannot_decrypt_later_is_not_kept() {
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hmm" }],
        "encrypted_content": null,
    });
    check(&final_event(&json!([reasoning])), &["thinking Hmm", "= thinking Hmm -", "= EndTurn -"]);
}

#[test]
fn lone_surrogates_are_replaced_in_text_and_invalidate_arguments() {
    let stream = r#"data: {"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"read","arguments":"{\"path\":\"\ud83d\"}"}}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}

"#;
    check(
        stream,
        &[
            "text a\u{fffd}",
            "= text a\u{fffd}",
            "= call c read \"{\\\"path\\\":\\\"\u{fffd}\\\"}\"",
            "= ToolUse -",
        ],
    );
}

#[test]
fn a_document_that_is_not_streamed_gives_the_same_answer() {
    let body = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi" }] },
            { "type": "function_call", "call_id": "a", "name": "ls", "arguments": { "path": "." } },
        ],
        "usage": { "input_tokens": 3, "output_tokens": 4 },
    });
    let document = |body: &Value| replay::replay_document(OPENAI_RESPONSES, &body.to_string());
    let expect = ["text Hi", "= text Hi", r#"= call a ls {"path":"."}"#, "= ToolUse 3+0r+0w/4"];
    assert_eq!(document(&body), expect);
    let error = json!({ "error": { "message": "Bad", "type": "invalid_request_error", "code": null } });
    assert_eq!(document(&error), ["reported [invalid_request_error] Bad"]);
    let queued = json!({ "id": "resp_1", "status": "queued", "output": [] });
    assert_eq!(document(&queued), ["protocol: the service answers in the background: status `queued`"]);
    assert_eq!(document(&json!({})), ["protocol: the document holds no output"]);
}

#[track_caller]
fn check_class(status: Option<u16>, kind: &str, message: &str, expect: FailureClass) {
    let error = ReportedError { status: None, kind: kind.to_owned(), message: message.to_owned() };
    assert_eq!(OPENAI_RESPONSES.classify_error(status, &error, "gpt-5"), expect, "{kind}");
}

#[test]
fn errors_are_classified_by_status_or_else_by_code() {
    check_class(None, "rate_limit_exceeded", "", FailureClass::RateLimited);
    check_class(None, "insufficient_quota", "", FailureClass::QuotaExhausted);
    check_class(None, "usage_limit_reached", "", FailureClass::QuotaExhausted);
    check_class(None, "context_length_exceeded", "", FailureClass::ContextTooLong);
    check_class(None, "server_is_overloaded", "", FailureClass::ServiceFailed);
    check_class(None, "server_error", "", FailureClass::ServiceFailed);
    check_class(None, "invalid_prompt", "", FailureClass::BadRequest);
    check_class(None, "cyber_policy", "", FailureClass::BadRequest);
    check_class(None, "invalid_api_key", "", FailureClass::KeyRefused);
    check_class(Some(401), "invalid_request_error", "", FailureClass::KeyRefused);
    check_class(Some(400), "", "Incorrect API key provided: x", FailureClass::KeyRefused);
    check_class(
        Some(400),
        "invalid_request_error model_not_found",
        "The requested model 'x' does not exist.",
        FailureClass::UnknownModel,
    );
    check_class(
        Some(404),
        "DeploymentNotFound",
        "The API deployment for this resource does not exist.",
        FailureClass::UnknownModel,
    );
    check_class(Some(503), "server_error", "", FailureClass::ServiceFailed);
}

const ENCRYPTED: &str = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#;
const COMPACTION: &str = r#"{"id":"cmp_1","type":"compaction","encrypted_content":"gAAB"}"#;

/// A conversation with everything that a Responses service expects back.
fn responses_conversation() -> Vec<Message> {
    let item = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let opaque = |raw: Value| Block::Opaque(OriginalBlock { wire: "openai-responses".into(), raw });
    vec![
        user("Read a."),
        Message::Assistant(vec![
            thinking("anthropic", json!({ "type": "thinking" })),
            thinking("openai-responses", item(ENCRYPTED)),
            opaque(json!({ "type": "message", "phase": "commentary" })),
            Block::Text("Reading.".into()),
            call("t1", json!({ "path": "a" })),
            opaque(json!({ "type": "function_call", "namespace": "files" })),
            call("t2", json!("{broken")),
            opaque(item(COMPACTION)),
        ]),
        results(&["t1", "t2"], true),
        Message::Assistant(vec![thinking("openai-responses", item(ENCRYPTED))]),
        user("Go on."),
    ]
}

#[test]
fn a_responses_request_is_exactly_this() {
    let body = bytes(OPENAI_RESPONSES, &request(responses_conversation()), "openai");
    assert!(body.contains(ENCRYPTED) && body.contains(COMPACTION), "items are sent back verbatim: {body}");
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str| {
        let description = format!("The tool {name}.");
        json!({ "type": "function", "name": name, "description": description, "parameters": schema, "strict": false })
    };
    let text = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let output =
        |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "Error: content" });
    let expect = json!({
        "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 100, "instructions": "Be brief.",
        "tools": [tool("read"), tool("ls")],
        "input": [
            text("Read a."),
            serde_json::from_str::<Value>(ENCRYPTED).unwrap(),
            { "type": "message", "role": "assistant", "content": "Reading.", "phase": "commentary" },
            { "type": "function_call", "call_id": "t1", "name": "read", "arguments": r#"{"path":"a"}"# },
            {
                "type": "function_call", "call_id": "t2", "name": "read",
                "arguments": r#"{"invalid_json":"{broken"}"#, "namespace": "files",
            },
            serde_json::from_str::<Value>(COMPACTION).unwrap(),
            output("t1"), output("t2"),
            // The reasoning that led to nothing is left out: the service would reject it.
            text("Go on."),
        ],
    });
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expect);
}

#[test]
fn encrypted_reasoning_is_requested_only_from_models_that_reason() {
    let include = |model: &str| {
        let settings =
            RequestSettings { traits: traits_of("", model), ..RequestSettings::for_unknown_model(model) };
        let body = build_request_body(OPENAI_RESPONSES, &request(vec![user("hi")]), &settings).unwrap();
        serde_json::from_slice::<Value>(&body).unwrap().get("include").is_some()
    };
    for model in ["gpt-5", "gpt-5.1-codex", "o3", "openai/o4-mini", "grok-4", "my-deployment"] {
        assert!(include(model), "{model}");
    }
    for model in ["gpt-4.1", "gpt-4o-mini", "openai/gpt-4o"] {
        assert!(!include(model), "{model}");
    }
}

#[test]
fn the_bytes_of_a_request_only_grow_with_the_conversation() {
    check_prefix(OPENAI_RESPONSES, "openai", &conversation());
    check_prefix(OPENAI_RESPONSES, "openai", &responses_conversation());
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(OPENAI_RESPONSES, &[&stream]);
    }
}
