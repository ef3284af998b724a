//! The output under contract 2: complete segments, and only the final message as text.

use ibeam_output::{EventWriter, Locale, StreamJson, TextOptions};
use ibeam_protocol::{Event, Reason, ToolOutcome};
use serde_json::{Value, json};

use crate::run_events::{self, RunEvents, SharedBuffer};

fn calls() -> RunEvents {
    let read = run_events::call("read", json!({ "path": "a" }));
    let failed = || ToolOutcome::error("no".to_owned());
    let two = || {
        let mut second = read.clone();
        second.id = "toolu_2".into();
        second
    };
    RunEvents::new()
        .user("go")
        .text("Let me ")
        .text("look.\n")
        .start_call(&read)
        .start_call(&two())
        .finish_call(&read, failed())
        .finish_call(&two(), failed())
        .call(&read, failed())
        .text("It is ")
        .text("42.")
}

/// Returns a summary of each line: the text and the keys that show its form for `assistant`, the type for others.
fn summarized(printed: &str) -> Vec<String> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let kind = line["type"].as_str().unwrap();
        let keys = ["model_call_id", "timestamp_ms"].map(|key| match &line[key] {
            Value::Null => "-".to_owned(),
            value => value.to_string(),
        });
        let text = line["message"]["content"][0]["text"].as_str();
        text.filter(|_| kind == "assistant")
            .map_or(kind.to_owned(), |text| format!("{text:?} {}", keys.join(" ")))
    };
    printed.lines().map(line).collect()
}

#[track_caller]
fn check(events: &[Event], partial: bool, expect: &[&str]) {
    assert_eq!(summarized(&run_events::segments(events, partial)), expect);
}

const CALL: &str = "tool_call";

#[test]
fn a_segment_is_the_text_between_calls() {
    let expect = [
        "system",
        "user",
        r#""Let me look.\n" "m1" 1004"#,
        CALL,
        CALL,
        CALL,
        CALL,
        CALL,
        CALL,
        r#""It is 42." - -"#,
        "result",
    ];
    check(&calls().completed(), false, &expect);
}

#[test]
fn partial_output_has_deltas_before_each_segment() {
    let expect = [
        "system",
        "user",
        r#""Let me " - 1002"#,
        r#""look.\n" - 1003"#,
        r#""Let me look.\n" "m1" 1004"#,
        CALL,
        CALL,
        CALL,
        CALL,
        CALL,
        CALL,
        r#""It is " - 1010"#,
        r#""42." - 1011"#,
        r#""It is 42." - -"#,
        "result",
    ];
    check(&calls().completed(), true, &expect);
}

#[test]
fn a_failed_run_prints_its_text_before_the_error() {
    let run = || RunEvents::new().user("go").text("Half an ").text("ans");
    let expect = ["system", "user", r#""Half an ans" - -"#, "error"];
    check(&run().failed(Reason::Refused), false, &expect);
    let printed = run_events::segments(&run().failed(Reason::Refused), true);
    assert_eq!(summarized(&printed)[4..], [r#""Half an ans" - -"#, "error"]);
    let error: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(error["result"], "Half an ans");
}

#[test]
fn a_run_without_text_prints_no_segment() {
    let read = run_events::call("read", json!({ "path": "a" }));
    let events = RunEvents::new().user("go").call(&read, ToolOutcome::error("no".to_owned())).completed();
    check(&events, true, &["system", "user", CALL, CALL, "result"]);
}

#[test]
fn a_replay_of_a_run_without_an_end_prints_its_text() {
    let out = SharedBuffer::default();
    let mut writer = StreamJson::for_contract_two(out.clone(), false);
    for event in &RunEvents::new().user("go").text("Half").events {
        writer.write(event).unwrap();
    }
    writer.finish_incomplete_run().unwrap();
    assert_eq!(summarized(&out.text()), ["system", "user", r#""Half" - -"#]);
}

#[test]
fn keys_are_in_their_order_and_init_names_the_contract() {
    let printed = run_events::segments(&calls().completed(), true);
    let init: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert_eq!(init["ibeam"]["contract"], "2");
    let id = run_events::SESSION;
    let text = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"{id}""#
        )
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[2], text("Let me ") + r#","timestamp_ms":1002}"#);
    assert_eq!(lines[4], text("Let me look.\\n") + r#","model_call_id":"m1","timestamp_ms":1004}"#);
    assert_eq!(lines[13], text("It is 42.") + "}");
}

#[test]
fn text_is_only_the_final_message() {
    let options = TextOptions { verbose: true, message_only: true, ..TextOptions::default() };
    let text = |events: &[Event]| run_events::text(events, Locale::Ja, options);
    assert_eq!(text(&calls().completed()), "It is 42.\n");
    assert_eq!(text(&calls().failed(Reason::Refused)), "");
    // Without text after the last call, the last text before it.
    let read = run_events::call("read", json!({ "path": "a" }));
    let with_call = calls().call(&read, ToolOutcome::error("no".to_owned()));
    assert_eq!(text(&with_call.completed()), "It is 42.\n");
    assert_eq!(text(&RunEvents::new().user("go").completed()), "");
}
