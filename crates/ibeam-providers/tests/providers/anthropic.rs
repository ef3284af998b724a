//! Recorded Messages streams and what they mean.

use ibeam_providers::protocols::{ANTHROPIC, VERTEX_ANTHROPIC};
use proptest::prelude::*;

use crate::replay;

const TEXT: &str = include_str!("../../fixtures/anthropic-text.sse");
const TOOLS: &str = include_str!("../../fixtures/anthropic-tools.sse");
const TEXT_MEANS: &[&str] =
    &["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 25+40r+10w/15"];

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(ANTHROPIC, stream, expect);
}

#[test]
fn text_is_streamed_and_usage_counts_each_class() {
    check(TEXT, TEXT_MEANS);
    check(include_str!("../../fixtures/anthropic-text-crlf.sse"), TEXT_MEANS);
}

#[test]
fn thinking_is_kept_verbatim_and_calls_are_assembled() {
    check(
        TOOLS,
        &[
            "thinking Let me ",
            "thinking look.",
            "text I'll check.",
            r#"= thinking Let me look. {"type":"thinking","thinking":"Let me look.","signature":"EqQBCgIYAhIM"}"#,
            r#"= thinking  {"type":"redacted_thinking","data":"EmwKAhgBEgy3"}"#,
            "= text I'll check.",
            r#"= call toolu_01A read {"path":"a.txt"}"#,
            "= call toolu_01B ls {}",
            "= ToolUse 25+0r+0w/89",
        ],
    );
}

#[test]
fn unknown_events_blocks_and_deltas_are_ignored_and_an_unknown_stop_reason_is_no_end() {
    let stream = include_str!("../../fixtures/anthropic-unknown-things.sse");
    check(&stream.replace("cosmic_ray", "end_turn"), &["text Hi", "= text Hi", "= EndTurn 25+0r+0w/15"]);
    check(stream, &["text Hi", "protocol: the answer ended for the unknown reason `cosmic_ray`"]);
}

/// A loss on the way makes an answer incomplete.
#[test]
fn an_answer_without_its_call_its_stop_reason_or_the_end_of_a_block_is_incomplete() {
    let stream = include_str!("../../fixtures/anthropic-text.sse");
    let without = |event: &str| -> String {
        let events = stream.split_inclusive("\n\n");
        events.filter(|text| !text.starts_with(&format!("event: {event}\n"))).collect()
    };
    let texts: Vec<String> = replay::replay(ANTHROPIC, &[stream.as_bytes()]);
    let texts: Vec<&str> =
        texts.iter().map(String::as_str).filter(|line| line.starts_with("text ")).collect();
    let check_lost = |stream: &str, error: &str| check(stream, &[texts.as_slice(), &[error]].concat());
    check_lost(
        &stream.replace("end_turn", "tool_use"),
        "protocol: the answer ended for a call that it does not have",
    );
    check_lost(&without("message_delta"), "protocol: the answer ended without a stop reason");
    check_lost(&without("content_block_stop"), "protocol: the answer ended before one of its content blocks");
}

#[test]
fn tools_of_the_service_citations_and_callers_are_kept() {
    check(
        include_str!("../../fixtures/anthropic-server-tools.sse"),
        &[
            "text Rust is fast.",
            r#"= opaque {"type":"compaction","content":"Summary so far."}"#,
            r#"= opaque {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rust"}}"#,
            r#"= opaque {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Rust","url":"https://rust-lang.org","encrypted_content":"RW5j","page_age":null}]}"#,
            r#"= opaque {"type":"text","citations":[{"type":"web_search_result_location","url":"https://rust-lang.org","title":"Rust","encrypted_index":"RW8=","cited_text":"fast"}]}"#,
            "= text Rust is fast.",
            r#"= opaque {"type":"tool_use","caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_2"}}"#,
            r#"= call toolu_1 read {"path":"a"}"#,
            "= call toolu_2 ls {}",
            r#"= opaque {"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}"#,
            "= ToolUse 25+0r+0w/15",
        ],
    );
}

#[test]
fn a_tool_of_the_service_that_the_limit_cut_is_left_out() {
    check(
        include_str!("../../fixtures/anthropic-cut-server-tool.sse"),
        &["text Searching.", "= text Searching.", "= MaxTokens 25+0r+0w/15"],
    );
}

#[test]
fn claude_on_vertex_streams_the_same_events() {
    replay::check(VERTEX_ANTHROPIC, TEXT, TEXT_MEANS);
}

#[test]
fn an_error_event_is_reported_after_the_text_before_it() {
    check(
        include_str!("../../fixtures/anthropic-overloaded.sse"),
        &["text Hel", "reported [overloaded_error] Overloaded"],
    );
}

#[test]
fn an_answer_cut_by_its_limit_keeps_only_complete_calls() {
    check(
        include_str!("../../fixtures/anthropic-cut-call.sse"),
        &[r#"= call toolu_01A read {"path":"a.txt"}"#, "= MaxTokens 25+0r+0w/15"],
    );
}

#[test]
fn f044_a_call_that_arrives_twice_is_one() {
    check(
        include_str!("../../fixtures/anthropic-one-id-twice.sse"),
        &["= call toolu_01A read {}", "= ToolUse 25+0r+0w/15"],
    );
}

#[test]
fn f051_the_second_of_two_calls_with_one_id_is_invalid() {
    let twice = include_str!("../../fixtures/anthropic-one-id-twice.sse");
    let second = r#""index":1,"content_block":{"type":"tool_use","id":"toolu_01A","name":"read","input":"#;
    let differing = twice.replace(&format!("{second}{{}}"), &format!(r#"{second}{{"path":"b"}}"#));
    check(
        &differing,
        &[
            "= call toolu_01A read {}",
            r#"= call toolu_01A-2 read "not executed: an earlier call of this answer has the id `toolu_01A` too: {\"path\":\"b\"}""#,
            "= ToolUse 25+0r+0w/15",
        ],
    );
}

#[test]
fn a_refusal_is_the_stop_reason() {
    let stream = include_str!("../../fixtures/anthropic-refusal.sse");
    check(stream, &["text I", "= text I", "= Refusal 25+0r+0w/15"]);
}

#[test]
fn the_details_of_a_refusal_are_read_as_far_as_they_are_there() {
    let stream = include_str!("../../fixtures/anthropic-refusal.sse");
    for (details, expect) in [
        (
            r#"{"type":"refusal","category":"cyber","explanation":"It may help an attack."}"#,
            Some("= refused cyber: It may help an attack."),
        ),
        (r#"{"type":"refusal","category":"bio","explanation":null}"#, Some("= refused bio: -")),
        (r#"{"type":"refusal","category":null,"explanation":"No."}"#, Some("= refused -: No.")),
        (r#"{"type":"refusal","category":null,"explanation":""}"#, None),
        ("null", None),
        (r#"["cyber"]"#, None),
    ] {
        let with_details = format!(r#""stop_reason":"refusal","stop_details":{details}"#);
        let stream = stream.replace(r#""stop_reason":"refusal""#, &with_details);
        let lines: Vec<&str> =
            ["text I", "= text I"].into_iter().chain(expect).chain(["= Refusal 25+0r+0w/15"]).collect();
        check(&stream, &lines);
    }
    let document = r#"{"id":"msg_1","content":[],"stop_reason":"refusal",
        "stop_details":{"type":"refusal","category":"cyber","explanation":null},"usage":{"input_tokens":1,"output_tokens":0}}"#;
    let got = replay::replay_document(ANTHROPIC, document);
    assert_eq!(got, ["= refused cyber: -", "= Refusal 1+0r+0w/0"]);
    let without_refusal = document.replace(r#""stop_reason":"refusal""#, r#""stop_reason":"end_turn""#);
    let got = replay::replay_document(ANTHROPIC, &without_refusal);
    assert_eq!(got, ["= EndTurn 1+0r+0w/0"]);
}

#[test]
fn thinking_without_a_text_keeps_its_signature() {
    check(
        include_str!("../../fixtures/anthropic-empty-thinking.sse"),
        &[
            "text Hi",
            r#"= thinking  {"type":"thinking","thinking":"","signature":"EqQBCgIYAhIM"}"#,
            "= text Hi",
            "= EndTurn 25+40r+10w/15",
        ],
    );
}

#[test]
fn a_stream_is_complete_after_the_name_of_its_last_event() {
    let last = TEXT.find("event: message_stop\n").unwrap() + "event: message_stop".len();
    for cut in 1..TEXT.len() {
        let got = replay::replay(ANTHROPIC, &[&TEXT.as_bytes()[..cut]]);
        if cut >= last {
            assert_eq!(got, TEXT_MEANS, "cut at {cut}");
        } else {
            assert_eq!(got.last().unwrap(), "truncated", "cut at {cut}");
        }
    }
}

#[test]
fn events_out_of_order_are_an_error() {
    let start = r#"data: {"type":"message_start","message":{"usage":{}}}"#;
    let delta = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#;
    let block = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    for events in [&[delta][..], &[start, delta], &[start, start], &[start, block, block]] {
        let got = replay::replay(ANTHROPIC, &[(events.join("\n\n") + "\n\n").as_bytes()]);
        assert!(got.last().unwrap().starts_with("protocol: events out of order"), "{events:?} {got:?}");
    }
}

#[test]
fn a_document_that_is_not_streamed_gives_the_same_answer() {
    let body = r#"{"id":"msg_1","type":"message","role":"assistant","content":[
        {"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}],
        "stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    let expect = ["text Hi", "= text Hi", r#"= call t1 read {"path":"a"}"#, "= ToolUse 3+0r+0w/4"];
    assert_eq!(replay::replay_document(ANTHROPIC, body), expect);
    let error = r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#;
    assert_eq!(replay::replay_document(ANTHROPIC, error), ["reported [api_error] Internal"]);
}

/// Calls by a program that the service runs are complete in the first event.
fn opening(content: &str, stop_reason: &str) -> String {
    let message = format!(
        r#"{{"id":"m","content":{content},"stop_reason":{stop_reason},"usage":{{"input_tokens":3,"output_tokens":4}}}}"#
    );
    format!("event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{message}}}\n\n")
}

const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[test]
fn content_in_the_first_event_belongs_to_the_answer() {
    let content = r#"[{"type":"text","text":"Rolling."},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}]"#;
    let stream = opening(content, r#""tool_use""#) + STOP;
    check(
        &stream,
        &["text Rolling.", "= text Rolling.", r#"= call t1 read {"path":"a"}"#, "= ToolUse 3+0r+0w/4"],
    );
}

#[test]
fn content_in_the_first_event_that_is_started_again_counts_once() {
    let content = r#"[{"type":"text","text":"A"},{"type":"text","text":"B"}]"#;
    let block = |index: u32| {
        let block = r#"{"type":"text","text":"C"}"#;
        let end = format!("data: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n");
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{block}}}\n\n{end}"
        )
    };
    for (index, expect) in [
        (0, &["text C", "= text C", "= EndTurn 3+0r+0w/4"][..]),
        (1, &["text A", "text C", "= text A", "= text C", "= EndTurn 3+0r+0w/4"]),
        (2, &["text A", "text B", "text C", "= text A", "= text B", "= text C", "= EndTurn 3+0r+0w/4"]),
    ] {
        check(&(opening(content, r#""end_turn""#) + &block(index) + STOP), expect);
    }
    check(
        &(opening("null", r#""end_turn""#) + &block(0) + STOP),
        &["text C", "= text C", "= EndTurn 3+0r+0w/4"],
    );
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(ANTHROPIC, &[&stream]);
    }
}
