//! The five published sample streams, converted into events and written again.
//!
//! Additions follow the published keys, so each printed line starts with the sample line without its last brace.

use ibeam_protocol::tool_output::{ReadOutput, WriteOutput};
use ibeam_protocol::{CallId, Event, RunOutcome, RunTotals, ToolCall, ToolOutcome, ToolOutput};
use serde_json::Value;

use crate::run_events::{self, RunEvents};

#[track_caller]
fn check(sample: &str) {
    let printed = run_events::lines(&events(sample));
    assert_eq!(printed.len(), sample.lines().count());
    for (printed, sample) in printed.iter().zip(sample.lines()) {
        let published = sample.strip_suffix('}').unwrap();
        assert!(printed.starts_with(published), "\nprinted: {printed}\n sample: {sample}");
        assert!(
            printed[published.len()..].starts_with([',', '}']),
            "\nprinted: {printed}\n sample: {sample}"
        );
    }
}

fn events(sample: &str) -> Vec<Event> {
    let mut run = RunEvents::new();
    for line in sample.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let text = || line["message"]["content"][0]["text"].as_str().unwrap();
        run = match (line["type"].as_str().unwrap(), line["subtype"].as_str()) {
            ("system", Some("init")) => run,
            ("user", None) => run.user(text()),
            ("assistant", None) => run.text(text()),
            ("tool_call", Some("started")) => run.start_call(&call(&line)),
            ("tool_call", Some("completed")) => run.finish_call(&call(&line), outcome(&line)),
            ("result", Some("success")) => {
                let request_id = line["request_id"].as_str().map(str::to_owned);
                let totals = RunTotals { request_id, ..RunTotals::default() };
                return run.finish(RunOutcome::Completed, totals);
            }
            other => panic!("unknown event: {other:?}"),
        };
    }
    panic!("the sample has no terminal event");
}

fn call(line: &Value) -> ToolCall {
    let (key, body) = line["tool_call"].as_object().unwrap().iter().next().unwrap();
    let mut arguments = body["args"].clone();
    arguments.as_object_mut().unwrap().remove("toolCallId");
    let name = key.strip_suffix("ToolCall").unwrap().to_owned();
    ToolCall { id: CallId::from(line["call_id"].as_str().unwrap()), name, arguments }
}

fn outcome(line: &Value) -> ToolOutcome {
    let (key, body) = line["tool_call"].as_object().unwrap().iter().next().unwrap();
    let success = &body["result"]["success"];
    run_events::success(match key.as_str() {
        "readToolCall" => ToolOutput::Read(ReadOutput {
            media: Vec::new(),
            content: success["content"].as_str().unwrap().into(),
            is_empty: success["isEmpty"].as_bool().unwrap(),
            exceeded_limit: success["exceededLimit"].as_bool().unwrap(),
            total_lines: success["totalLines"].as_u64().unwrap(),
            total_chars: success["totalChars"].as_u64().unwrap(),
        }),
        "writeToolCall" => ToolOutput::Write(WriteOutput {
            path: success["path"].as_str().unwrap().into(),
            lines_created: success["linesCreated"].as_u64().unwrap(),
            file_size: success["fileSize"].as_u64().unwrap(),
            created: true,
            diff: String::new(),
        }),
        other => panic!("unknown tool: {other}"),
    })
}

#[test]
fn the_spanish_sample_is_reproduced() {
    check(include_str!("../samples/es.ndjson"));
}

#[test]
fn the_french_sample_is_reproduced() {
    check(include_str!("../samples/fr.ndjson"));
}

#[test]
fn the_indonesian_sample_is_reproduced() {
    check(include_str!("../samples/id.ndjson"));
}

#[test]
fn the_portuguese_sample_is_reproduced() {
    check(include_str!("../samples/pt.ndjson"));
}

/// The `result` of this sample is not the concatenation of its deltas, which breaks the published rule.
#[test]
fn the_japanese_sample_is_reproduced_except_its_wrong_result() {
    let wrong = r#""result":"README.md を読んで要約を作るね""#;
    let deltas = r#""result":"了解README.md を読むねそれから要約を作るよ""#;
    let sample = include_str!("../samples/ja.ndjson");
    assert!(sample.contains(wrong));
    check(&sample.replace(wrong, deltas));
}
