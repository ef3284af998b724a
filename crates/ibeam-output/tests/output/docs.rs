//! The examples of `docs/output-format.md` match the output.

use ibeam_protocol::tool_output::ReadOutput;
use ibeam_protocol::{Event, EventKind, FailureCode, RunFinished, RunOutcome, RunTotals, ToolOutput, Usage};
use serde_json::json;

use crate::catalogue_texts::every_reason;
use crate::run_events::{self, RunEvents};

const DOCS: &str = include_str!("../../../../docs/output-format.md");

fn documented_run() -> Vec<Event> {
    let mut head = run_events::run_started();
    head.cwd = "/home/me/project".into();
    let mut call = run_events::call("read", json!({"path": "README.md"}));
    call.id = "toolu_01".into();
    let read = run_events::success(ToolOutput::Read(ReadOutput {
        media: Vec::new(),
        content: "# Project\n".into(),
        is_empty: false,
        exceeded_limit: false,
        total_lines: 1,
        total_chars: 10,
    }));
    let totals = RunTotals {
        turns: 2,
        api_ms: 1200,
        usage: Some(Usage { input: 900, output: 40, cache_read: 0, cache_write: 0, ..Usage::default() }),
        request_id: Some("req_01".into()),
        ..RunTotals::default()
    };
    let end = RunFinished {
        session_id: run_events::session_id(),
        outcome: RunOutcome::Completed,
        duration_ms: 1234,
        totals,
        partial: None,
        structured: None,
        ephemeral: false,
    };
    let mut events = RunEvents::from_start(head)
        .user("Read README.md")
        .text("I will ")
        .text("read it.")
        .event(EventKind::ToolCallStarted { model_call_id: "1".into(), call: call.clone() })
        .event(EventKind::ToolCallFinished { model_call_id: "1".into(), call, outcome: Box::new(read) })
        .event(EventKind::RunFinished(Box::new(end)))
        .events;
    for (event, ms) in events.iter_mut().zip([0, 0, 0, 40, 300, 302, 0]) {
        event.at_ms = 1_764_000_000_000 + ms;
    }
    events
}

#[test]
fn the_sample_run_is_what_the_writer_prints() {
    let (_, rest) = DOCS.split_once("```json\n").unwrap();
    let (sample, _) = rest.split_once("```").unwrap();
    assert_eq!(run_events::stream_json(&documented_run()), sample);
}

#[test]
fn the_sample_segment_is_what_the_writer_prints_under_contract_2() {
    let (_, section) = DOCS.split_once("## Contract 2\n").unwrap();
    let (_, rest) = section.split_once("```json\n").unwrap();
    let (sample, _) = rest.split_once("```").unwrap();
    let printed = run_events::segments(&documented_run(), false);
    assert_eq!(printed.split_inclusive('\n').nth(2), Some(sample));
}

#[test]
fn every_exit_code_has_its_row() {
    for code in every_reason().iter().map(ibeam_protocol::Reason::code) {
        let exit = match code {
            FailureCode::Signal(_) => "129, 130, 131, 143".to_owned(),
            other => other.exit_code().to_string(),
        };
        let start = format!("| {exit} | `{}` |", code.as_str());
        let row = DOCS.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row starts with {start}"));
        assert_eq!(row.ends_with("| yes |"), code.is_retryable(), "{row}");
    }
}

#[test]
fn the_published_action_lines_are_documented() {
    for line in ["Read file", "Edited file", "Ran terminal command", "Created new file"] {
        assert!(DOCS.contains(&format!("`{line}`")), "{line}");
    }
}
