//! Interactions streams, written from the API reference, and what they mean.

use ibeam_providers::protocols::GEMINI_INTERACTIONS;
use ibeam_providers::response_error::FailureClass;
use proptest::prelude::*;
use serde_json::json;

use crate::replay;

const TOOLS: &str = include_str!("../../fixtures/interactions-tools.sse");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(GEMINI_INTERACTIONS, stream, expect);
}

#[test]
fn steps_become_blocks_and_keep_their_signatures() {
    check(
        TOOLS,
        &[
            "thinking Look",
            "thinking ing.",
            "text I'll ",
            "text check.",
            r#"= thinking Looking. {"type":"thought","signature":"c2ln","summary":[{"text":"Look","type":"text"},{"text":"ing.","type":"text"}]}"#,
            "= text I'll check.",
            r#"= opaque {"signature":"Y2Fs"}"#,
            r#"= call fc_1 read {"path":"a.txt"}"#,
            "= call fc_2 ls {}",
            "= ToolUse 15+5r+0w/39",
        ],
    );
}

#[test]
fn steps_of_the_tools_of_the_service_are_kept() {
    check(
        include_str!("../../fixtures/interactions-server-tool.sse"),
        &[
            "text Found.",
            r#"= opaque {"type":"google_search_call","id":"s1","signature":"c2ln","arguments":{"queries":["ibeam"]}}"#,
            r#"= opaque {"type":"google_search_result","call_id":"s1","result":[{"search_suggestions":"x"}],"is_error":false}"#,
            "= text Found.",
            "= EndTurn 15+5r+0w/39",
        ],
    );
}

#[test]
fn a_call_cut_by_the_limit_is_dropped() {
    check(include_str!("../../fixtures/interactions-cut-call.sse"), &["= MaxTokens 15+5r+0w/39"]);
}

#[test]
fn an_error_event_is_reported_after_the_text_before_it() {
    check(
        include_str!("../../fixtures/interactions-error.sse"),
        &["text Hel", "reported [UNAVAILABLE] The model is overloaded."],
    );
    for status in ["failed", "cancelled"] {
        let body = json!({ "status": status, "steps": [] }).to_string();
        let expect = format!("reported [] the interaction ended with the status `{status}`");
        assert_eq!(replay::replay_document(GEMINI_INTERACTIONS, &body), [expect]);
    }
}

#[test]
fn a_stream_is_complete_only_after_its_last_event() {
    let last = TOOLS.find("event: interaction.completed").unwrap();
    for cut in 1..last {
        let got = replay::replay(GEMINI_INTERACTIONS, &[&TOOLS.as_bytes()[..cut]]);
        assert_eq!(got.last().unwrap(), "truncated", "cut at {cut}");
    }
}

#[test]
fn events_out_of_order_are_an_error() {
    let start = r#"data: {"event_type":"step.start","index":0,"step":{"type":"model_output"}}"#;
    let delta = r#"data: {"event_type":"step.delta","index":0,"delta":{"type":"text","text":"x"}}"#;
    for events in [&[delta][..], &[start, start]] {
        let got = replay::replay(GEMINI_INTERACTIONS, &[(events.join("\n\n") + "\n\n").as_bytes()]);
        assert!(got.last().unwrap().starts_with("protocol: events out of order"), "{events:?} {got:?}");
    }
}

#[test]
fn a_document_gives_the_same_answer_as_a_stream() {
    let body = json!({
        "id": "v1_a", "status": "requires_action",
        "steps": [
            { "type": "thought", "signature": "c2ln" },
            { "type": "model_output", "content": [{ "type": "text", "text": "Hi" }] },
            { "type": "function_call", "id": "fc_1", "name": "read", "arguments": { "path": "a" } },
        ],
        "usage": { "total_input_tokens": 3, "total_output_tokens": 4, "total_thought_tokens": 5 },
    });
    assert_eq!(
        replay::replay_document(GEMINI_INTERACTIONS, &body.to_string()),
        [
            "text Hi",
            r#"= thinking  {"type":"thought","signature":"c2ln"}"#,
            "= text Hi",
            r#"= call fc_1 read {"path":"a"}"#,
            "= ToolUse 3+0r+0w/9",
        ]
    );
    let running = json!({ "id": "v1_a", "status": "in_progress" }).to_string();
    assert_eq!(
        replay::replay_document(GEMINI_INTERACTIONS, &running),
        ["protocol: the document holds no complete interaction"]
    );
}

#[test]
fn errors_have_the_classes_of_their_codes() {
    for (status, error, expect) in [
        (
            400,
            json!({ "code": "invalid_request", "message": "API key not valid." }),
            FailureClass::KeyRefused,
        ),
        (
            404,
            json!({ "code": "not_found", "message": "Model family m is not found." }),
            FailureClass::UnknownModel,
        ),
        (429, json!({ "code": 429, "message": "Slow down." }), FailureClass::RateLimited),
        (503, json!({ "code": "unavailable", "message": "Busy." }), FailureClass::ServiceFailed),
    ] {
        let error = GEMINI_INTERACTIONS.parse_error(&json!({ "error": error }));
        assert_eq!(GEMINI_INTERACTIONS.classify_error(Some(status), &error, "m"), expect, "{error:?}");
    }
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(GEMINI_INTERACTIONS, &[&stream]);
    }
}
