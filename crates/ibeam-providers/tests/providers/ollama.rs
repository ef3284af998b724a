//! Streams of Ollama's own API, written from the API documentation, and what they mean.

use ibeam_providers::protocols::OLLAMA;
use ibeam_providers::response_error::{FailureClass, ResponseError};
use ibeam_providers::{BodyDecoder, Quirks};
use proptest::prelude::*;
use serde_json::json;

use crate::conversation::{request, user};
use crate::replay;

const TEXT: &str = include_str!("../../fixtures/ollama-text.ndjson");
const TOOLS: &str = include_str!("../../fixtures/ollama-thinking-tools.ndjson");
const DOCUMENT: &str = include_str!("../../fixtures/ollama-document.json");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(OLLAMA, stream, expect);
}

/// Decodes a body in chunks of this size, as from the network.
fn decode(body: &str, chunk: usize) -> Vec<String> {
    let decoder = OLLAMA.decoder(&request(vec![user("hi")]), Quirks::DEFAULT);
    let (mut body_decoder, mut events) = (BodyDecoder::new(OLLAMA, decoder), Vec::new());
    let mut run = || -> Result<(), ResponseError> {
        for chunk in body.as_bytes().chunks(chunk) {
            body_decoder.decode_chunk(chunk, &mut events)?;
        }
        body_decoder.finish(&mut events)
    };
    let result = run();
    replay::lines(events, result.err())
}

#[test]
fn text_is_streamed() {
    let expect =
        ["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 26+0r+0w/9"];
    check(TEXT, &expect);
    check(&TEXT.replace('\n', "\r\n"), &expect);
    assert_eq!(decode(&format!("\u{feff}{TEXT}"), 7), expect);
}

#[test]
fn calls_arrive_complete_and_get_an_id_if_the_server_gives_none() {
    check(
        TOOLS,
        &[
            "thinking The file",
            "thinking  first.",
            "text I'll check.",
            r#"= thinking The file first. {"thinking":"The file first."}"#,
            "= text I'll check.",
            r#"= call call_k3v9 read {"path":"a.txt"}"#,
            "= call call_2 ls {}",
            "= ToolUse 169+0r+0w/24",
        ],
    );
}

#[test]
fn a_call_written_as_text_is_a_call() {
    let stream = include_str!("../../fixtures/ollama-written-call.ndjson");
    check(stream, &[r#"= call call_1 read {"path":"a"}"#, "= ToolUse -"]);
}

#[test]
fn an_answer_that_the_limit_cut_is_incomplete() {
    let stream = include_str!("../../fixtures/ollama-length.ndjson");
    check(stream, &["text One, two", "= text One, two", "= MaxTokens 12+0r+0w/4"]);
}

#[test]
fn an_error_is_reported_after_the_text_before_it() {
    let stream = include_str!("../../fixtures/ollama-error-in-stream.ndjson");
    let error = "reported [] an error was encountered while running the model: unexpected EOF";
    check(stream, &["text Hel", error]);
}

#[test]
fn unknown_fields_and_absurd_usage_are_accepted_and_unknown_reasons_are_not() {
    let stream = include_str!("../../fixtures/ollama-unknown-things.ndjson");
    check(&stream.replace("cosmic_ray", "stop"), &["text Hi", "= text Hi", "= EndTurn -"]);
    for reason in ["cosmic_ray", "unload", "load"] {
        let error = format!("protocol: the answer ended for the unknown reason `{reason}`");
        check(&stream.replace("cosmic_ray", reason), &["text Hi", &error]);
    }
}

#[test]
fn a_stream_is_complete_only_after_its_last_line() {
    let last = TOOLS.trim_end().len();
    for cut in 1..TOOLS.len() {
        let got = replay::replay(OLLAMA, &[&TOOLS.as_bytes()[..cut]]);
        let is_complete = got.last().unwrap() != "truncated";
        assert_eq!(is_complete, cut >= last, "cut at {cut}: {got:?}");
    }
}

#[test]
fn a_document_is_an_answer_in_one_line_and_in_many() {
    let text = "Hi {\"}\n]";
    let expect = [
        format!("text {text}"),
        format!("= text {text}"),
        r#"= call call_1 read {"path":"a"}"#.to_owned(),
        "= ToolUse 3+0r+0w/4".to_owned(),
    ];
    let value: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
    for chunk in [1, 13, DOCUMENT.len()] {
        assert_eq!(decode(DOCUMENT, chunk), expect);
        assert_eq!(decode(&value.to_string(), chunk), expect);
    }
    assert_eq!(decode("{\n  \"error\": \"model is loading\"\n}\n", 5), ["reported [] model is loading"]);
    assert!(decode("404 page not found", 5)[0].starts_with("protocol: "));
    assert!(decode("<html>", 5)[0].starts_with("protocol: "));
    assert_eq!(replay::replay_document(OLLAMA, DOCUMENT), expect);
    assert_eq!(replay::replay_document(OLLAMA, "{}"), ["truncated"]);
}

#[test]
fn arguments_as_text_are_accepted_and_repaired_ones_are_invalid() {
    let answer = |arguments: &str| {
        let call = format!(r#"{{"function":{{"name":"read","arguments":{arguments}}}}}"#);
        let body = format!(r#"{{"message":{{"content":"","tool_calls":[{call}]}},"done":true}}"#);
        replay::replay(OLLAMA, &[body.as_bytes()])
    };
    for arguments in [r#""{\"path\":\"a\"}""#, r#"{"path":"a"}"#] {
        assert_eq!(answer(arguments), [r#"= call call_1 read {"path":"a"}"#, "= ToolUse -"]);
    }
    assert_eq!(answer("null"), ["= call call_1 read {}", "= ToolUse -"]);
    let repaired = answer(r#"{"path":"\ud83d"}"#);
    assert!(repaired[0].starts_with("= call call_1 read \""), "{repaired:?}");
}

#[test]
fn errors_have_the_classes_of_their_statuses_and_messages() {
    for (status, message, expect) in [
        (404, "model 'm' not found", FailureClass::UnknownModel),
        (400, "registry.ollama.ai/library/m does not support tools", FailureClass::BadRequest),
        (400, "the input length exceeds the context length", FailureClass::ContextTooLong),
        (401, "unauthorized", FailureClass::KeyRefused),
        (429, "you have reached your weekly usage limit, please upgrade", FailureClass::QuotaExhausted),
        (429, "too many concurrent requests", FailureClass::RateLimited),
        (500, "llama runner process has terminated: exit status 2", FailureClass::ServiceFailed),
        (
            500,
            "model requires more system memory (9.1 GiB) than is available (4.2 GiB)",
            FailureClass::BadRequest,
        ),
        (
            503,
            "server busy, please try again.  maximum pending requests exceeded",
            FailureClass::ServiceFailed,
        ),
    ] {
        let error = OLLAMA.parse_error_body(&json!({ "error": message }).to_string());
        assert_eq!(error.message, message);
        assert_eq!(OLLAMA.classify_error(Some(status), &error, "m"), expect, "{message}");
    }
    let error = OLLAMA.parse_error_body("404 page not found");
    assert_eq!(OLLAMA.classify_error(Some(404), &error, "m"), FailureClass::BadRequest);
    assert_eq!(OLLAMA.classify_error(None, &error, "m"), FailureClass::ServiceFailed, "inside a stream");
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(OLLAMA, &[&stream]);
    }
}
