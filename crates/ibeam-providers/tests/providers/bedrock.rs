//! Recorded streams of Amazon Bedrock and what they mean.

use ibeam_providers::protocols::{BEDROCK, BEDROCK_ANTHROPIC};
use proptest::prelude::*;

use crate::event_stream::{encode, encode_chunks};
use crate::replay;

const TEXT: &str = include_str!("../../fixtures/bedrock-text.frames");
const TOOLS: &str = include_str!("../../fixtures/bedrock-tools.frames");
const TEXT_MEANS: &[&str] =
    &["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 25+40r+10w/15"];

#[track_caller]
fn check(fixture: &str, expect: &[&str]) {
    replay::check(BEDROCK, encode(fixture), expect);
}

#[test]
fn text_is_streamed_and_usage_counts_each_class() {
    check(TEXT, TEXT_MEANS);
}

#[test]
fn reasoning_is_kept_verbatim_and_calls_are_assembled() {
    check(
        TOOLS,
        &[
            "thinking Let me ",
            "thinking look.",
            "text I'll check.",
            r#"= thinking Let me look. {"reasoningContent":{"reasoningText":{"text":"Let me look.","signature":"EqQBCgIYAhIM"}}}"#,
            r#"= thinking  {"reasoningContent":{"redactedContent":"EmwKAhgBEgy3"}}"#,
            "= text I'll check.",
            r#"= call tooluse_01A read {"path":"a.txt"}"#,
            "= call tooluse_01B ls {}",
            "= ToolUse 25+0r+0w/89",
        ],
    );
}

#[test]
fn tools_of_the_service_are_kept_verbatim() {
    check(
        include_str!("../../fixtures/bedrock-server-tools.frames"),
        &[
            "text It is 42.",
            r#"= opaque {"toolUse":{"name":"nova_code_interpreter","toolUseId":"tooluse_1","type":"server_tool_use","input":{"snippet":"6*7"}}}"#,
            r#"= opaque {"toolResult":{"status":"success","toolUseId":"tooluse_1","type":"nova_code_interpreter_result","content":[{"json":{"stdOut":"42","exitCode":0}}]}}"#,
            "= text It is 42.",
            "= EndTurn 25+0r+0w/15",
        ],
    );
}

#[test]
fn an_intervention_of_a_guardrail_is_a_refusal() {
    let stream = include_str!("../../fixtures/bedrock-guardrail.frames");
    check(stream, &["text Sorry.", "= text Sorry.", "= Refusal 25+0r+0w/15"]);
}

#[test]
fn an_answer_that_the_service_cannot_read_is_a_failure() {
    for word in ["malformed_tool_use", "malformed_model_output"] {
        let stream =
            include_str!("../../fixtures/bedrock-guardrail.frames").replace("guardrail_intervened", word);
        let failure = format!("protocol: the model wrote an unreadable answer: {word}");
        check(&stream, &["text Sorry.", &failure]);
    }
}

#[test]
fn an_answer_cut_by_its_limit_keeps_only_complete_calls() {
    check(
        include_str!("../../fixtures/bedrock-cut-call.frames"),
        &[r#"= call tooluse_1 read {"path":"a.txt"}"#, "= MaxTokens 25+0r+0w/15"],
    );
}

#[test]
fn an_exception_is_reported_after_the_text_before_it() {
    check(
        include_str!("../../fixtures/bedrock-throttled.frames"),
        &["text Hel", "reported [throttlingException] Too many requests, please wait before trying again."],
    );
}

#[test]
fn unknown_events_blocks_and_deltas_are_ignored_and_an_unknown_stop_reason_is_no_end() {
    check(
        include_str!("../../fixtures/bedrock-unknown-things.frames"),
        &["text Hi", "protocol: the answer ended for the unknown reason `cosmic_ray`"],
    );
}

#[test]
fn a_stream_is_complete_after_its_stop_reason() {
    let complete = TEXT.lines().position(|line| line.starts_with("messageStop")).unwrap() + 1;
    for length in 0..TEXT.lines().count() {
        let lines: Vec<&str> = TEXT.lines().take(length).collect();
        let got = replay::replay(BEDROCK, &[&encode(&lines.join("\n"))]);
        if length >= complete {
            assert_eq!(got.last().unwrap(), "= EndTurn -", "{length} events");
        } else {
            assert_eq!(got.last().unwrap(), "truncated", "{length} events");
        }
    }
    let bytes = encode(TEXT);
    for cut in 0..bytes.len() {
        let got = replay::replay(BEDROCK, &[&bytes[..cut]]);
        assert!(
            got.last().is_some_and(|line| line == "truncated" || line == "= EndTurn -"),
            "cut at {cut}: {got:?}"
        );
    }
}

#[test]
fn events_out_of_order_are_an_error() {
    let start = "messageStart {}";
    let text = r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"x"}}"#;
    let stop = r#"contentBlockStop {"contentBlockIndex":0}"#;
    let input = r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#;
    let call = r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"name":"read"}}}"#;
    for events in
        [&[text][..], &[start, start], &[start, text, stop, text], &[start, input], &[start, call, call]]
    {
        let got = replay::replay(BEDROCK, &[&encode(&events.join("\n"))]);
        assert!(got.last().unwrap().starts_with("protocol: events out of order"), "{events:?} {got:?}");
    }
}

#[test]
fn a_document_that_is_not_streamed_gives_the_same_answer() {
    let body = r#"{"output":{"message":{"role":"assistant","content":[
        {"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln"}}},
        {"text":"Hi"},{"citationsContent":{"content":[{"text":" there"}],"citations":[{"title":"a"}]}},
        {"toolUse":{"toolUseId":"t1","name":"read","input":{"path":"a"}}},
        {"toolUse":{"toolUseId":"t2","name":"nova_grounding","input":{"query":"x"},"type":"server_tool_use"}},
        {"toolResult":{"toolUseId":"t2","content":[{"text":"[HIDDEN]"}],"status":"success"}},
        {"hologram":{}}]}},
        "stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}"#;
    let expect = [
        "thinking Hm.",
        "text Hi",
        "text  there",
        r#"= thinking Hm. {"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln"}}}"#,
        "= text Hi",
        "= text  there",
        r#"= call t1 read {"path":"a"}"#,
        r#"= opaque {"toolUse":{"toolUseId":"t2","name":"nova_grounding","type":"server_tool_use","input":{"query":"x"}}}"#,
        r#"= opaque {"toolResult":{"toolUseId":"t2","status":"success","content":[{"text":"[HIDDEN]"}]}}"#,
        "= ToolUse 3+0r+0w/4",
    ];
    assert_eq!(replay::replay_document(BEDROCK, body), expect);
    assert_eq!(replay::replay_document(BEDROCK_ANTHROPIC, body), expect, "Amazon Nova through InvokeModel");
    assert_eq!(replay::replay_document(BEDROCK, r#"{"message":"Oh."}"#), ["reported [] Oh."]);
    assert_eq!(replay::replay_document(BEDROCK, "{}"), ["protocol: the document holds no message"]);
}

#[test]
fn chunks_hold_the_events_of_messages() {
    let text = include_str!("../../fixtures/anthropic-text.sse");
    replay::check(BEDROCK_ANTHROPIC, encode_chunks(text), TEXT_MEANS);
    let mut throttled = encode_chunks(text.split("event: content_block_stop").next().unwrap());
    throttled.extend(encode(r#"!throttlingException {"message":"Slow down."}"#));
    let got = replay::replay(BEDROCK_ANTHROPIC, &[&throttled]);
    assert_eq!(got.last().unwrap(), "reported [throttlingException] Slow down.");
}

proptest! {
    #[test]
    fn a_damaged_event_never_panics(at in 0usize..TOOLS.len(), byte in 0u8..0x80) {
        let mut fixture = TOOLS.as_bytes().to_vec();
        fixture[at] = byte;
        let text = String::from_utf8_lossy(&fixture).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(' ')).collect();
        replay::replay(BEDROCK, &[&encode(&lines.join("\n"))]);
    }
}
