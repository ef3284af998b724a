//! Gemini streams, written from the API reference, and what they mean.

use ibeam_providers::protocols::{GEMINI, VERTEX_GEMINI};
use ibeam_providers::response_error::FailureClass;
use proptest::prelude::*;
use serde_json::json;

use crate::replay;

const TOOLS: &str = include_str!("../../fixtures/gemini-thinking-tools.sse");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(GEMINI, stream, expect);
    replay::check(VERTEX_GEMINI, stream, expect);
}

#[test]
fn text_is_streamed_and_cached_tokens_are_not_input() {
    check(
        include_str!("../../fixtures/gemini-text.sse"),
        &["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 36+64r+0w/9"],
    );
}

#[test]
fn a_call_keeps_its_signature_and_gets_an_id_if_the_service_gives_none() {
    check(
        TOOLS,
        &[
            "thinking **Looking**",
            "thinking  for the file.",
            "text I'll check.",
            "= thinking **Looking** for the file. -",
            "= text I'll check.",
            r#"= opaque {"thoughtSignature":"CvsBAVSoXO4="}"#,
            r#"= call call_1 read {"path":"a.txt"}"#,
            "= call fc_7 ls {}",
            "= ToolUse 20+0r+0w/24",
        ],
    );
}

#[test]
fn a_text_with_a_signature_is_a_block_of_its_own() {
    check(
        include_str!("../../fixtures/gemini-signed-text.sse"),
        &[
            "thinking Plan: ",
            "text The answer",
            "text  is 42",
            "text .",
            r#"= thinking Plan:  {"text":"Plan: ","thought":true,"thoughtSignature":"VGhvdWdodA=="}"#,
            "= text The answer",
            r#"= opaque {"thoughtSignature":"U2lnbmVk"}"#,
            "= text  is 42",
            "= text .",
            r#"= opaque {"text":"","thoughtSignature":"RW1wdHk="}"#,
            "= EndTurn 8+0r+0w/36",
        ],
    );
}

#[test]
fn content_after_a_finish_reason_belongs_to_the_answer() {
    let stream = include_str!("../../fixtures/gemini-two-ends.sse");
    check(
        stream,
        &[
            "text It is 42.",
            r#"= opaque {"executableCode":{"language":"PYTHON","code":"print(6*7)\n"}}"#,
            r#"= opaque {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42\n"}}"#,
            "= text It is 42.",
            "= EndTurn 30+0r+0w/14",
        ],
    );
    // The first finish reason comes with code whose result is missing.
    for (end, _) in stream.match_indices("\r\n\r\n").take(2) {
        assert_eq!(replay::replay(GEMINI, &[&stream.as_bytes()[..end + 4]]).last().unwrap(), "truncated");
    }
}

#[test]
fn a_signature_after_the_finish_reason_belongs_to_the_complete_answer() {
    let event = |candidate: serde_json::Value| format!("data: {}\n\n", json!({ "candidates": [candidate] }));
    let text = event(json!({ "content": { "parts": [{ "text": "Hi" }] }, "finishReason": "STOP" }));
    let signature = event(json!({ "content": { "parts": [{ "text": "", "thoughtSignature": "U2ln" }] } }));
    let more = event(json!({ "content": { "parts": [{ "text": " there" }] } }));
    check(
        &(text.clone() + &signature),
        &["text Hi", "= text Hi", r#"= opaque {"text":"","thoughtSignature":"U2ln"}"#, "= EndTurn -"],
    );
    check(&(text + &more), &["text Hi", "text  there", "truncated"]);
}

#[test]
fn streamed_arguments_are_assembled() {
    check(
        include_str!("../../fixtures/gemini-streamed-arguments.sse"),
        &[
            r#"= opaque {"thoughtSignature":"U3RyZWFt"}"#,
            r#"= call call_1 edit {"path":"a.txt","lines":[1,2],"all":true}"#,
            r#"= call call_2 ls {"path":"."}"#,
            "= ToolUse 26+0r+0w/23",
        ],
    );
}

#[test]
fn a_call_cut_by_the_limit_is_dropped() {
    check(include_str!("../../fixtures/gemini-cut-call.sse"), &["= MaxTokens 10+0r+0w/100"]);
}

#[test]
fn a_filter_is_a_refusal_before_and_after_the_prompt() {
    let stream = include_str!("../../fixtures/gemini-safety.sse");
    check(stream, &["text I", "= text I", "= Refusal 10+0r+0w/1"]);
    check(include_str!("../../fixtures/gemini-blocked-prompt.sse"), &["= Refusal 10+0r+0w/0"]);
}

#[test]
fn a_finish_reason_that_is_a_failure_is_no_answer() {
    for (reason, failure) in [
        (
            "MALFORMED_FUNCTION_CALL",
            "protocol: the model wrote an unreadable answer: MALFORMED_FUNCTION_CALL",
        ),
        ("MALFORMED_RESPONSE", "protocol: the model wrote an unreadable answer: MALFORMED_RESPONSE"),
        (
            "TOO_MANY_TOOL_CALLS",
            "too large: the model called the tools of the service more often than the service allows: \
             TOO_MANY_TOOL_CALLS",
        ),
        (
            "MISSING_THOUGHT_SIGNATURE",
            "reported [MISSING_THOUGHT_SIGNATURE] a thought signature of the conversation is missing \
             (MISSING_THOUGHT_SIGNATURE)",
        ),
        (
            "LANGUAGE",
            "reported [LANGUAGE] the service does not support the language of the answer (LANGUAGE)",
        ),
    ] {
        let stream = include_str!("../../fixtures/gemini-safety.sse").replace("SAFETY", reason);
        check(&stream, &["text I", failure]);
    }
}

#[test]
fn an_error_is_reported_after_the_text_before_it() {
    check(
        include_str!("../../fixtures/gemini-error-in-stream.sse"),
        &["text Hel", "reported [UNAVAILABLE] The model is overloaded. Please try again later."],
    );
}

#[test]
fn unknown_fields_are_ignored_unknown_parts_are_kept_and_an_unknown_finish_reason_is_no_end() {
    let stream = include_str!("../../fixtures/gemini-unknown-things.sse");
    check(
        &stream.replace("COSMIC_RAY", "STOP"),
        &["text Hi", "= text Hi", r#"= opaque {"hologram":{"data":"xyz"}}"#, "= EndTurn 10+0r+0w/3"],
    );
    check(stream, &["text Hi", "protocol: the answer ended for the unknown reason `COSMIC_RAY`"]);
}

#[test]
fn a_stream_is_complete_only_after_its_finish_reason() {
    let last = TOOLS.find("\"STOP\"").unwrap();
    for cut in 1..TOOLS.len() {
        let got = replay::replay(GEMINI, &[&TOOLS.as_bytes()[..cut]]);
        if cut < last {
            assert_eq!(got.last().unwrap(), "truncated", "cut at {cut}");
        }
    }
    assert!(replay::replay(GEMINI, &[b"data: {\"candidates\":[]}\n\n"]).ends_with(&["truncated".into()]));
    let with_end = format!("{}data: [DONE]\n\n", include_str!("../../fixtures/gemini-text.sse"));
    check(
        &with_end,
        &["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 36+64r+0w/9"],
    );
}

#[test]
fn a_document_gives_the_same_answer_as_a_stream() {
    let parts = json!([{ "text": "Hi" }, { "functionCall": { "name": "read", "args": { "path": "a" } } }]);
    let answer = |finish: serde_json::Value| {
        json!({
            "candidates": [{ "content": { "parts": parts, "role": "model" }, "finishReason": finish }],
            "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7 },
        })
    };
    let expect = ["text Hi", "= text Hi", r#"= call call_1 read {"path":"a"}"#, "= ToolUse 3+0r+0w/4"];
    for finish in [json!("STOP"), json!(1)] {
        let document = answer(finish);
        assert_eq!(replay::replay_document(GEMINI, &document.to_string()), expect);
        // A stream that was requested without `alt=sse`.
        let list = json!([{ "usageMetadata": { "promptTokenCount": 3 } }, document]);
        assert_eq!(replay::replay_document(GEMINI, &list.to_string()), expect);
    }
    let unfinished = json!([{ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }] }]).to_string();
    assert_eq!(replay::replay_document(GEMINI, &unfinished), ["text Hi", "truncated"]);
    assert_eq!(
        replay::replay_document(GEMINI, "{}"),
        ["protocol: the document holds no answer"],
        "neither an answer nor an error"
    );
    let error =
        json!([{ "error": { "code": 500, "message": "Internal", "status": "INTERNAL" } }]).to_string();
    assert_eq!(replay::replay_document(GEMINI, &error), ["reported [INTERNAL] Internal"]);
}

#[test]
fn numbers_of_finish_reasons_mean_the_same_as_their_names() {
    for (number, expect) in [
        (1, "= EndTurn -"),
        (2, "= MaxTokens -"),
        (3, "= Refusal -"),
        (10, "= Refusal -"),
        (77, "protocol: the answer ended for the unknown reason `77`"),
    ] {
        let body = json!({ "candidates": [{ "content": {}, "finishReason": number }] }).to_string();
        assert_eq!(replay::replay_document(VERTEX_GEMINI, &body), [expect]);
    }
}

#[test]
fn streamed_arguments_without_a_valid_place_are_invalid() {
    let piece = r#"{"functionCall":{"name":"read","partialArgs":[{"jsonPath":"$.a[7]","stringValue":"x"}]}}"#;
    let body = format!(r#"{{"candidates":[{{"content":{{"parts":[{piece}]}},"finishReason":"STOP"}}]}}"#);
    assert_eq!(replay::replay_document(GEMINI, &body), [r#"= call call_1 read "{\"a\":[]}""#, "= ToolUse -"]);
}

#[test]
fn errors_have_the_classes_of_their_reasons() {
    let detail = |field: &str, value: &str| match field {
        "reason" => json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": value }]),
        _ => {
            json!([{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaId": value }] }])
        }
    };
    for (code, status, message, details, expect) in [
        (400, "INVALID_ARGUMENT", "Bad.", detail("reason", "API_KEY_INVALID"), FailureClass::KeyRefused),
        (400, "INVALID_ARGUMENT", "API key not valid.", json!([]), FailureClass::KeyRefused),
        (401, "UNAUTHENTICATED", "Expired token.", json!([]), FailureClass::KeyRefused),
        (403, "PERMISSION_DENIED", "Not enabled.", json!([]), FailureClass::KeyRefused),
        (
            404,
            "NOT_FOUND",
            "models/m is not found for API version v1beta",
            json!([]),
            FailureClass::UnknownModel,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Slow down.",
            detail("quota", "RequestsPerMinute"),
            FailureClass::RateLimited,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Quota.",
            detail("quota", "RequestsPerDay-FreeTier"),
            FailureClass::QuotaExhausted,
        ),
        (503, "UNAVAILABLE", "The model is overloaded.", json!([]), FailureClass::ServiceFailed),
        (500, "INTERNAL", "Internal error.", json!([]), FailureClass::ServiceFailed),
        (
            400,
            "INVALID_ARGUMENT",
            "Please use a valid role: user, model.",
            json!([]),
            FailureClass::BadRequest,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            json!([]),
            FailureClass::ContextTooLong,
        ),
    ] {
        let body =
            json!({ "error": { "code": code, "message": message, "status": status, "details": details } });
        for body in [body.clone(), json!([body])] {
            let error = GEMINI.parse_error_body(&body.to_string());
            assert_eq!(error.message, message);
            assert_eq!(GEMINI.classify_error(Some(code), &error, "m"), expect, "{body}");
            // The same error inside a stream.
            assert_eq!(GEMINI.classify_error(None, &error, "m"), expect, "{body}");
        }
    }
}

#[test]
fn requests_go_to_the_address_of_their_service() {
    let studio = "https://a.example/v1beta";
    let vertex = "https://a.example/v1/projects/p/locations/l/";
    for (protocol, base, model, expect) in [
        (GEMINI, studio, "gemini-2.5-pro", "https://a.example/v1beta/models/gemini-2.5-pro"),
        (GEMINI, studio, "tunedModels/mine", "https://a.example/v1beta/tunedModels/mine"),
        (
            VERTEX_GEMINI,
            vertex,
            "gemini-2.5-pro",
            "https://a.example/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro",
        ),
        (
            VERTEX_GEMINI,
            "https://a.example/v1/projects//locations/global",
            "gemini-2.5-pro",
            "https://a.example/v1/publishers/google/models/gemini-2.5-pro",
        ),
        (VERTEX_GEMINI, vertex, "endpoints/7", "https://a.example/v1/projects/p/locations/l/endpoints/7"),
        (GEMINI, studio, "a?b#c", "https://a.example/v1beta/models/a%3Fb%23c"),
    ] {
        let url = protocol.request_url(base, model);
        assert_eq!(url, format!("{expect}:streamGenerateContent?alt=sse"));
    }
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(GEMINI, &[&stream]);
    }
}
