//! What contract 2 prints otherwise: whole segments, and the final message alone.

use ibeam_output::{EventWriter, Locale, StreamJson, TextOptions};
use ibeam_protocol::{Event, Reason, ToolOutcome};
use serde_json::{Value, json};

use crate::story::{self, Shared, Story};

fn calls() -> Story {
    let read = story::call("read", json!({ "path": "a" }));
    let failed = || ToolOutcome::error("no".to_owned());
    let two = || {
        let mut second = read.clone();
        second.id = "toolu_2".into();
        second
    };
    Story::new()
        .user("go")
        .text("Let me ")
        .text("look.\n")
        .begin(&read)
        .begin(&two())
        .end(&read, failed())
        .end(&two(), failed())
        .call(&read, failed())
        .text("It is ")
        .text("42.")
}

/// The lines in short: of the text what it says, then the keys that tell its form; of others the type.
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
    assert_eq!(summarized(&story::segments(events, partial)), expect);
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
    check(&calls().done(), false, &expect);
}

#[test]
fn partial_output_is_deltas_and_then_the_segment_again() {
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
    check(&calls().done(), true, &expect);
}

#[test]
fn a_failed_run_prints_its_text_before_the_error() {
    let story = || Story::new().user("go").text("Half an ").text("ans");
    let expect = ["system", "user", r#""Half an ans" - -"#, "error"];
    check(&story().failed(Reason::Refused), false, &expect);
    let printed = story::segments(&story().failed(Reason::Refused), true);
    assert_eq!(summarized(&printed)[4..], [r#""Half an ans" - -"#, "error"]);
    let error: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(error["result"], "Half an ans");
}

#[test]
fn a_run_that_only_acts_prints_no_segment() {
    let read = story::call("read", json!({ "path": "a" }));
    let events = Story::new().user("go").call(&read, ToolOutcome::error("no".to_owned())).done();
    check(&events, true, &["system", "user", CALL, CALL, "result"]);
}

#[test]
fn a_replay_of_a_run_without_an_end_prints_its_text() {
    let out = Shared::default();
    let mut writer = StreamJson::for_contract_two(out.clone(), false);
    for event in &Story::new().user("go").text("Half").events {
        writer.write(event).unwrap();
    }
    writer.finish_incomplete().unwrap();
    assert_eq!(summarized(&out.text()), ["system", "user", r#""Half" - -"#]);
}

#[test]
fn keys_are_in_their_order_and_init_names_the_contract() {
    let printed = story::segments(&calls().done(), true);
    let init: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert_eq!(init["ibeam"]["contract"], "2");
    let id = story::SESSION;
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
fn text_is_the_final_message_alone() {
    let options = TextOptions { verbose: true, message_only: true, ..TextOptions::default() };
    let text = |events: &[Event]| story::text(events, Locale::Ja, options);
    assert_eq!(text(&calls().done()), "It is 42.\n");
    assert_eq!(text(&calls().failed(Reason::Refused)), "");
    // No text after the last call: the last one that was said.
    let read = story::call("read", json!({ "path": "a" }));
    let acted = calls().call(&read, ToolOutcome::error("no".to_owned()));
    assert_eq!(text(&acted.done()), "It is 42.\n");
    assert_eq!(text(&Story::new().user("go").done()), "");
}
