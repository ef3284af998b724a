//! Streams of Cohere, written from the API reference, and what they mean.

use ibeam_providers::protocols::COHERE;
use ibeam_providers::response_error::FailureClass;
use proptest::prelude::*;
use serde_json::json;

use crate::replay;

const TOOLS: &str = include_str!("../../fixtures/cohere-plan-tools.sse");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(COHERE, stream, expect);
}

#[test]
fn text_is_streamed_and_cached_tokens_are_not_input() {
    check(
        include_str!("../../fixtures/cohere-text.sse"),
        &[
            "text Hello",
            "text , wörld \u{1f600}!",
            "= text Hello, wörld \u{1f600}!",
            "= EndTurn 52+448r+0w/9",
        ],
    );
}

#[test]
fn the_plan_for_calls_is_thinking() {
    check(
        TOOLS,
        &[
            "thinking I will",
            "thinking  read the file.",
            r#"= thinking I will read the file. {"tool_plan":"I will read the file."}"#,
            r#"= call read_x9cn read {"path":"a.txt"}"#,
            "= call ls_8trm ls {}",
            "= ToolUse 1378+112r+0w/94",
        ],
    );
}

#[test]
fn content_blocks_stay_apart_and_citations_are_left_out() {
    check(
        include_str!("../../fixtures/cohere-thinking.sse"),
        &[
            "thinking First",
            "thinking  this.",
            "text It is",
            "text  42.",
            "text  Done.",
            r#"= thinking First this. {"type":"thinking","thinking":"First this."}"#,
            "= text It is 42.",
            "= text  Done.",
            "= EndTurn 38+1392r+0w/40",
        ],
    );
}

#[test]
fn a_call_cut_by_the_limit_is_dropped() {
    check(include_str!("../../fixtures/cohere-cut-call.sse"), &["= MaxTokens 100+0r+0w/4"]);
}

#[test]
fn an_answer_that_failed_is_an_error() {
    let stream = include_str!("../../fixtures/cohere-failed.sse");
    check(stream, &["text Hel", "reported [] An unexpected error occurred."]);
    let without_text = stream.replace(r#","error":"An unexpected error occurred.""#, "");
    check(&without_text, &["text Hel", "reported [] the answer ended with finish_reason `ERROR`"]);
    check("data: {\"id\":\"i\",\"message\":\"too many requests\"}\n\n", &["reported [] too many requests"]);
}

#[test]
fn unknown_events_and_fields_and_absurd_usage_are_accepted_and_unknown_reasons_are_not() {
    let stream = include_str!("../../fixtures/cohere-unknown-things.sse");
    check(&stream.replace("COSMIC_RAY", "COMPLETE"), &["text Hi", "= text Hi", "= EndTurn -"]);
    for reason in ["COSMIC_RAY", "ERROR_LIMIT", "USER_CANCEL"] {
        let error = format!("protocol: the answer ended for the unknown reason `{reason}`");
        check(&stream.replace("COSMIC_RAY", reason), &["text Hi", &error]);
    }
}

#[test]
fn a_stream_is_complete_only_after_its_terminal_event() {
    let complete = TOOLS.find("\n\ndata: [DONE]").unwrap();
    for cut in 1..TOOLS.len() {
        let got = replay::replay(COHERE, &[&TOOLS.as_bytes()[..cut]]);
        if cut < complete {
            assert_eq!(got.last().unwrap(), "truncated", "cut at {cut}");
        }
    }
    assert!(replay::replay(COHERE, &[b"data: [DONE]\n\n"]).ends_with(&["truncated".into()]));
}

#[test]
fn a_document_gives_the_same_answer_as_a_stream() {
    let call = json!({ "id": "c", "type": "function", "function": { "name": "read", "arguments": "null" } });
    let document = |finish_reason: &str| {
        json!({
            "id": "i", "finish_reason": finish_reason,
            "message": {
                "role": "assistant", "tool_plan": "So.", "tool_calls": [call], "citations": [],
                "content": [{ "type": "thinking", "thinking": "Hm." }, { "type": "text", "text": "Hi" }],
            },
            "usage": { "billed_units": { "input_tokens": 3, "output_tokens": 4 } },
        })
        .to_string()
    };
    assert_eq!(
        replay::replay_document(COHERE, &document("TOOL_CALL")),
        [
            "thinking So.",
            "thinking Hm.",
            "text Hi",
            r#"= thinking So. {"tool_plan":"So."}"#,
            r#"= thinking Hm. {"type":"thinking","thinking":"Hm."}"#,
            "= text Hi",
            "= call c read {}",
            "= ToolUse 3+0r+0w/4",
        ]
    );
    let failed = replay::replay_document(COHERE, &document("TIMEOUT"));
    assert_eq!(failed.last().unwrap(), "reported [] the answer ended with finish_reason `TIMEOUT`");
    let error = r#"{"id":"i","message":"invalid request"}"#;
    assert_eq!(replay::replay_document(COHERE, error), ["reported [] invalid request"]);
    assert_eq!(replay::replay_document(COHERE, "{}"), ["protocol: the document holds no message"]);
}

#[test]
fn errors_have_the_classes_of_their_statuses_and_messages() {
    for (status, message, expect) in [
        (401, "invalid api token", FailureClass::KeyRefused),
        (403, "Please sign up for an account.", FailureClass::KeyRefused),
        (404, "model 'm' not found, make sure the correct model ID was used", FailureClass::UnknownModel),
        (400, "invalid request: message must be at least 1 token long", FailureClass::BadRequest),
        (
            400,
            "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 130000.",
            FailureClass::ContextTooLong,
        ),
        (
            429,
            "You are using a Trial key, which is limited to 20 API calls / minute.",
            FailureClass::RateLimited,
        ),
        (
            429,
            "You are using a Trial key, which is limited to 1000 API calls / month.",
            FailureClass::QuotaExhausted,
        ),
        (498, "the request has a token that is not allowed", FailureClass::BadRequest),
        (503, "service unavailable", FailureClass::ServiceFailed),
    ] {
        let error = COHERE.parse_error_body(&json!({ "id": "i", "message": message }).to_string());
        assert_eq!(error.message, message);
        assert_eq!(COHERE.classify_error(Some(status), &error, "m"), expect, "{message}");
    }
}

#[test]
fn requests_go_to_version_two_and_the_list_of_models_to_version_one() {
    for base in ["https://a.example/v2", "https://a.example/v2/"] {
        assert_eq!(COHERE.request_url(base, "m"), "https://a.example/v2/chat");
        let list = "https://a.example/v1/models?endpoint=chat&page_size=1000";
        assert_eq!(COHERE.models_url(base), list);
    }
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(COHERE, &[&stream]);
    }
}
