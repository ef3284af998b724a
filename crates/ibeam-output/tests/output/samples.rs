//! The five published sample streams, told as events and written again.
//!
//! What we add stands after what is published, so each sample line but for its last brace begins ours.

use ibeam_protocol::tool_output::{ReadOutput, WriteOutput};
use ibeam_protocol::{CallId, Event, RunOutcome, RunTotals, ToolCall, ToolOutcome, ToolOutput};
use serde_json::Value;

use crate::story::{self, Story};

#[track_caller]
fn check(sample: &str) {
    let ours = story::lines(&events(sample));
    assert_eq!(ours.len(), sample.lines().count());
    for (ours, sample) in ours.iter().zip(sample.lines()) {
        let published = sample.strip_suffix('}').unwrap();
        assert!(ours.starts_with(published), "\n  ours: {ours}\nsample: {sample}");
        assert!(ours[published.len()..].starts_with([',', '}']), "\n  ours: {ours}\nsample: {sample}");
    }
}

/// The run that a sample tells of.
fn events(sample: &str) -> Vec<Event> {
    let mut story = Story::new();
    for line in sample.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let text = || line["message"]["content"][0]["text"].as_str().unwrap();
        story = match (line["type"].as_str().unwrap(), line["subtype"].as_str()) {
            ("system", Some("init")) => story,
            ("user", None) => story.user(text()),
            ("assistant", None) => story.text(text()),
            ("tool_call", Some("started")) => story.begin(&call(&line)),
            ("tool_call", Some("completed")) => story.end(&call(&line), outcome(&line)),
            ("result", Some("success")) => {
                let request_id = line["request_id"].as_str().map(str::to_owned);
                let totals = RunTotals { request_id, ..RunTotals::default() };
                return story.ended(RunOutcome::Completed, totals);
            }
            other => panic!("an event that the contract does not know: {other:?}"),
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
    let facts = &body["result"]["success"];
    story::success(match key.as_str() {
        "readToolCall" => ToolOutput::Read(ReadOutput {
            content: facts["content"].as_str().unwrap().into(),
            is_empty: facts["isEmpty"].as_bool().unwrap(),
            exceeded_limit: facts["exceededLimit"].as_bool().unwrap(),
            total_lines: facts["totalLines"].as_u64().unwrap(),
            total_chars: facts["totalChars"].as_u64().unwrap(),
        }),
        "writeToolCall" => ToolOutput::Write(WriteOutput {
            path: facts["path"].as_str().unwrap().into(),
            lines_created: facts["linesCreated"].as_u64().unwrap(),
            file_size: facts["fileSize"].as_u64().unwrap(),
            created: true,
        }),
        other => panic!("no such tool in the samples: {other}"),
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

/// Its `result` is not the concatenation of its own deltas, against its own rule: a slip of the translation.
#[test]
fn the_japanese_sample_is_reproduced_but_for_its_slip() {
    let slip = r#""result":"README.md を読んで要約を作るね""#;
    let deltas = r#""result":"了解README.md を読むねそれから要約を作るよ""#;
    let sample = include_str!("../samples/ja.ndjson");
    assert!(sample.contains(slip));
    check(&sample.replace(slip, deltas));
}
