//! Recorded Chat Completions streams of several services and what they mean.

use ibeam_providers::protocols::OPENAI_CHAT;
use proptest::prelude::*;

use crate::replay;

const TOOLS: &str = include_str!("../../fixtures/openai-tools.sse");

#[track_caller]
fn check(stream: &str, expect: &[&str]) {
    replay::check(OPENAI_CHAT, stream, expect);
}

#[test]
fn text_is_streamed_and_cached_tokens_are_not_input() {
    check(
        include_str!("../../fixtures/openai-text.sse"),
        &["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 36+64r+0w/9"],
    );
}

#[test]
fn tokens_written_to_the_cache_are_not_input() {
    let stream = include_str!("../../fixtures/openai-text.sse")
        .replace(r#""cached_tokens":64"#, r#""cached_tokens":64,"cache_write_tokens":20"#);
    let lines =
        ["text Hello", "text , wörld \u{1f600}!", "= text Hello, wörld \u{1f600}!", "= EndTurn 16+64r+20w/9"];
    check(&stream, &lines);
}

#[test]
fn calls_are_assembled_by_index() {
    check(TOOLS, &[r#"= call call_a read {"path":"a.txt"}"#, "= call call_b ls {}", "= ToolUse 10+0r+0w/5"]);
}

#[test]
fn missing_ids_are_generated_and_calls_make_the_stop_reason_tool_use() {
    check(
        include_str!("../../fixtures/openai-no-ids.sse"),
        &[r#"= call call_1 read {"path":"a"}"#, r#"= call call_2 read {"path":"b"}"#, "= ToolUse -"],
    );
}

#[test]
fn reasoning_is_thinking_with_the_name_of_its_protocol() {
    check(
        include_str!("../../fixtures/deepseek-reasoning.sse"),
        &[
            "thinking Hmm",
            "thinking .",
            "text 42",
            r#"= thinking Hmm. {"reasoning_content":"Hmm."}"#,
            "= text 42",
            "= EndTurn 5+4r+0w/3",
        ],
    );
    check(
        include_str!("../../fixtures/openrouter-comments.sse"),
        &[
            "thinking So",
            "text Hi",
            r#"= thinking So {"reasoning_content":"So"}"#,
            "= text Hi",
            "= EndTurn -",
        ],
    );
}

#[test]
fn details_of_reasoning_are_kept_as_they_came() {
    let delta = |fields: &str| format!("data: {{\"choices\":[{{\"delta\":{{{fields}}}}}]}}\n\n");
    let detail = |text: &str| format!(r#"{{"type":"reasoning.text","text":"{text}","index":0}}"#);
    let stream = [
        delta(&format!(r#""reasoning":"So","reasoning_details":[{}]"#, detail("So"))),
        delta(&format!(r#""reasoning":" so","reasoning_details":[{}]"#, detail(" so"))),
        delta(r#""reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]"#),
        delta(r#""content":"Hi","reasoning_details":[]"#),
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let kept = r#"= thinking So so {"reasoning_content":"So so","reasoning_details":[{"type":"reasoning.text","text":"So so","index":0},{"type":"reasoning.encrypted","data":"x","index":1}]}"#;
    check(&stream, &["thinking So", "thinking  so", "text Hi", kept, "= text Hi", "= EndTurn -"]);
}

#[test]
fn a_stream_is_complete_only_after_its_finish_reason() {
    let done = include_str!("../../fixtures/openai-no-done.sse");
    check(done, &["text Hi", "= text Hi", "= EndTurn -"]);
    check(include_str!("../../fixtures/openai-cut.sse"), &["text Hi", "text  the", "truncated"]);
}

#[test]
fn a_call_cut_by_the_limit_is_dropped() {
    check(include_str!("../../fixtures/openai-length-in-call.sse"), &["= MaxTokens -"]);
}

#[test]
fn an_error_object_takes_precedence_over_choices() {
    check(
        include_str!("../../fixtures/openai-error-in-stream.sse"),
        &["text Hi", "reported [] Provider disconnected"],
    );
}

#[test]
fn invalid_arguments_become_a_string() {
    let stream = include_str!("../../fixtures/openai-bad-arguments.sse");
    check(stream, &[r#"= call call_a read "{\"path\":""#, "= ToolUse -"]);
}

#[test]
fn f044_a_call_that_arrives_twice_is_one() {
    let stream = include_str!("../../fixtures/openai-one-id-twice.sse");
    check(stream, &["= call call_a read {}", "= ToolUse -"]);
}

#[test]
fn f051_the_second_of_two_calls_with_one_id_is_invalid() {
    let stream = include_str!("../../fixtures/openai-one-id-twice.sse").replacen(
        r#""index":1,"id":"call_a","type":"function","function":{"name":"read""#,
        r#""index":1,"id":"call_a","type":"function","function":{"name":"ls""#,
        1,
    );
    check(
        &stream,
        &[
            "= call call_a read {}",
            r#"= call call_a-2 ls "not executed: an earlier call of this answer has the id `call_a` too: {}""#,
            "= ToolUse -",
        ],
    );
}

#[test]
fn a_filtered_answer_is_a_refusal() {
    let stream = include_str!("../../fixtures/openai-content-filter.sse");
    check(stream, &["text I", "= text I", "= Refusal -"]);
}

#[test]
fn absurd_usage_is_accepted_and_an_unknown_finish_reason_is_no_end() {
    let stream = include_str!("../../fixtures/openai-absurd-usage.sse");
    check(stream, &["text Hi", "= text Hi", "= EndTurn -"]);
    for (reason, error) in [
        ("cancelled", "protocol: the answer ended for the unknown reason `cancelled`"),
        ("tool_calls", "protocol: the answer ended for a call that it does not have"),
    ] {
        check(&stream.replace("eos_token", reason), &["text Hi", error]);
    }
}

#[test]
fn a_call_written_as_text_is_a_call() {
    let stream = include_str!("../../fixtures/ollama-text-call.sse");
    check(stream, &[r#"= call call_1 read {"path":"a"}"#, "= ToolUse -"]);
}

#[test]
fn lone_surrogates_are_replaced_in_text_and_invalidate_arguments() {
    check(
        include_str!("../../fixtures/openai-lone-surrogates.sse"),
        &[
            "text a\u{fffd}",
            "= text a\u{fffd}",
            "= call c read \"{\\\"path\\\":\\\"\u{fffd}\\\"}\"",
            "= ToolUse -",
        ],
    );
}

#[test]
fn an_event_that_is_not_json_is_an_error() {
    let got =
        replay::replay(OPENAI_CHAT, &[include_str!("../../fixtures/openai-invalid-json.sse").as_bytes()]);
    assert!(got[1].starts_with("protocol: an event is not valid"), "{got:?}");
}

#[test]
fn a_document_that_is_not_streamed_gives_the_same_answer() {
    let body = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",
        "content":"Hi","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    let expect = ["text Hi", "= text Hi", "= call a ls {}", "= ToolUse 3+0r+0w/4"];
    assert_eq!(replay::replay_document(OPENAI_CHAT, body), expect);
    let error = r#"{"error":{"message":"Bad","type":"invalid_request_error","code":null}}"#;
    assert_eq!(replay::replay_document(OPENAI_CHAT, error), ["reported [invalid_request_error] Bad"]);
    let plain = r#"{"error":"model 'x' not found"}"#;
    assert_eq!(replay::replay_document(OPENAI_CHAT, plain), ["reported [] model 'x' not found"]);
    assert_eq!(replay::replay_document(OPENAI_CHAT, "{}"), ["protocol: the document holds no message"]);
}

#[test]
fn a_document_with_a_message_and_an_empty_delta_is_the_message() {
    for delta in [r#"{"role":"assistant","content":""}"#, r#"{"content":null,"tool_calls":[]}"#] {
        let body = format!(
            r#"{{"choices":[{{"index":0,"delta":{delta},"message":{{"role":"assistant","content":"Hi",
            "tool_calls":[{{"id":"a","function":{{"name":"ls","arguments":"{{}}"}}}}]}},"finish_reason":"stop"}}]}}"#
        );
        let expect = ["text Hi", "= text Hi", "= call a ls {}", "= ToolUse -"];
        assert_eq!(replay::replay_document(OPENAI_CHAT, &body), expect, "{delta}");
    }
}

#[test]
fn a_message_that_repeats_the_deltas_is_ignored() {
    let chunk = |delta: &str, message: &str, reason: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{delta}\"}},\
             \"message\":{{\"content\":\"{message}\"}},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let stream = [
        chunk("", "One", "null"),
        chunk("One", "One", "null"),
        chunk(" two", "One two", "null"),
        chunk("", "One two", r#""stop""#),
    ];
    check(
        &(stream.concat() + "data: [DONE]\n\n"),
        &["text One", "text  two", "= text One two", "= EndTurn -"],
    );
}

#[test]
fn a_call_in_the_older_form_is_a_call() {
    let body = r#"{"choices":[{"index":0,"message":{"content":null,"function_call":{"name":"read",
        "arguments":"{\"path\":\"a\"}"}},"finish_reason":"function_call"}]}"#;
    let expect = [r#"= call call_1 read {"path":"a"}"#, "= ToolUse -"];
    assert_eq!(replay::replay_document(OPENAI_CHAT, body), expect);
    let piece =
        |call: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"function_call\":{call}}}}}]}}\n\n");
    let stream = [
        piece(r#"{"name":"read","arguments":""}"#),
        piece(r#"{"arguments":"{\"path\":"}"#),
        piece(r#"{"arguments":"\"a\"}"}"#),
        "data: [DONE]\n\n".to_owned(),
    ];
    check(&stream.concat(), &expect);
}

#[test]
fn the_older_form_next_to_the_newer_one_is_the_same_call() {
    let body = r#"{"choices":[{"index":0,"message":{"content":null,"function_call":{"name":"ls","arguments":"{}"},
        "tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(replay::replay_document(OPENAI_CHAT, body), ["= call a ls {}", "= ToolUse -"]);
    let none = r#"{"choices":[{"index":0,"message":{"content":"Hi","function_call":{"name":"","arguments":""}},
        "finish_reason":"stop"}]}"#;
    assert_eq!(replay::replay_document(OPENAI_CHAT, none), ["text Hi", "= text Hi", "= EndTurn -"]);
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(at in 0usize..TOOLS.len(), byte in any::<u8>()) {
        let mut stream = TOOLS.as_bytes().to_vec();
        stream[at] = byte & 0x7f;
        replay::replay(OPENAI_CHAT, &[&stream]);
    }
}
