//! The output of the writers follows the contract, and the checker and the reader accept any bytes.

use ibeam_protocol::tool_output::{ReadOutput, ShellOutput, WriteOutput};
use ibeam_protocol::{CallId, Event, Reason, ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_wire::check::check;
use ibeam_wire::{Contract, Event as Read, Reader};
use proptest::prelude::*;
use serde_json::json;

use crate::run_events::{self, RunEvents};
use crate::samples::{ES, JA, checked, documented_run};
use crate::segments;

#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Unprinted,
    Calls(Vec<(Tool, String, Ending)>),
}

#[derive(Clone, Copy, Debug)]
enum Tool {
    Read,
    Write,
    Shell,
    Weather,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Success,
    Failure,
    Rejected,
}

fn step() -> impl Strategy<Value = Step> {
    let tool = prop_oneof![Just(Tool::Read), Just(Tool::Write), Just(Tool::Shell), Just(Tool::Weather)];
    let ending = prop_oneof![Just(Ending::Success), Just(Ending::Failure), Just(Ending::Rejected)];
    prop_oneof![
        4 => ".*".prop_map(Step::Text),
        1 => Just(Step::Unprinted),
        2 => prop::collection::vec((tool, ".*", ending), 1..4).prop_map(Step::Calls),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..12)
}

/// Returns a run. The calls of one answer start together and end in another order.
fn run_for(steps: &[Step]) -> RunEvents {
    let mut number = 0;
    steps.iter().fold(RunEvents::new().user("hi"), |run, step| match step {
        Step::Text(text) => run.text(text),
        Step::Unprinted => run.unprinted("x"),
        Step::Calls(calls) => {
            let calls: Vec<(ToolCall, ToolOutcome)> = calls
                .iter()
                .map(|(tool, text, ending)| {
                    number += 1;
                    let id = CallId::from(format!("{text}{number}").as_str());
                    (ToolCall { id, ..call(*tool, text) }, outcome(*tool, text, *ending))
                })
                .collect();
            let started = calls.iter().fold(run, |run, (call, _)| run.start_call(call));
            calls.iter().rev().fold(started, |run, (call, outcome)| run.finish_call(call, outcome.clone()))
        }
    })
}

fn call(tool: Tool, text: &str) -> ToolCall {
    match tool {
        Tool::Read => run_events::call("read", json!({ "path": text, "limit": 3 })),
        Tool::Write => {
            run_events::call("write", json!({ "path": text, "fileText": text, "toolCallId": "not this" }))
        }
        Tool::Shell => run_events::call("shell", json!(text)),
        Tool::Weather => run_events::call("weather", json!([text])),
    }
}

fn outcome(tool: Tool, text: &str, ending: Ending) -> ToolOutcome {
    let shell = |exit_code| ShellOutput {
        command: text.into(),
        working_directory: "/p".into(),
        exit_code,
        signal: None,
        stdout: text.into(),
        stderr: text.into(),
        interleaved: text.into(),
        execution_ms: 12,
        is_background: text.len().is_multiple_of(2),
    };
    match (ending, tool) {
        (Ending::Rejected, _) => ToolOutcome::Rejected { reason: text.into() },
        (Ending::Failure, Tool::Shell) => {
            ToolOutcome::Failure { failure: ToolFailure::CommandFailed(shell(1)), for_model: text.into() }
        }
        (Ending::Failure, Tool::Read) => ToolOutcome::Failure {
            failure: ToolFailure::FileNotFound { path: text.into() },
            for_model: text.into(),
        },
        (Ending::Failure, _) => ToolOutcome::error(text),
        (Ending::Success, Tool::Read) => run_events::success(ToolOutput::Read(ReadOutput {
            media: Vec::new(),
            content: text.into(),
            is_empty: text.is_empty(),
            exceeded_limit: false,
            total_lines: 1,
            total_chars: 2,
        })),
        (Ending::Success, Tool::Write) => run_events::success(ToolOutput::Write(WriteOutput {
            path: format!("/p/{text}").into(),
            lines_created: 1,
            file_size: 2,
            created: true,
            diff: String::new(),
        })),
        (Ending::Success, Tool::Shell) => run_events::success(ToolOutput::Shell(shell(0))),
        (Ending::Success, Tool::Weather) => run_events::success(ToolOutput::Other(json!(text))),
    }
}

fn ends(steps: &[Step]) -> [Vec<Event>; 2] {
    [run_for(steps).completed(), run_for(steps).failed(Reason::Refused)]
}

proptest! {
    #[test]
    fn what_our_writers_print_keeps_the_contract(steps in steps()) {
        for events in ends(&steps) {
            let report = checked(run_events::stream_json(&events));
            prop_assert_eq!(&report.findings, &[]);
            prop_assert!(report.is_from_ibeam);
            for partial in [false, true] {
                let report = checked(run_events::segments(&events, partial));
                prop_assert_eq!(&report.findings, &[]);
                prop_assert_eq!(report.contract, Contract::Two);
            }
            let texts = steps.iter().filter_map(|step| match step {
                Step::Text(text) => Some(text.as_str()),
                Step::Unprinted | Step::Calls(_) => None,
            });
            segments::check_answer(&events, &texts.collect::<String>());
        }
        let report = checked(run_events::json(&run_for(&steps).completed()));
        prop_assert_eq!(&report.findings, &[]);
        prop_assert!(report.is_single_object);
    }

    #[test]
    fn the_reader_knows_every_event_of_the_writers(steps in steps()) {
        for events in ends(&steps) {
            let stream = run_events::stream_json(&events);
            let read: Vec<_> = Reader::new(stream.as_bytes()).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(read.len(), stream.lines().count());
            prop_assert!(!read.iter().any(|event| matches!(event, Read::Other(_))));
        }
    }

    #[test]
    fn a_missing_line_is_a_finding(steps in steps(), lost: prop::sample::Index, segmented: bool) {
        let events = run_for(&steps).completed();
        let stream = if segmented { run_events::segments(&events, false) } else { run_events::stream_json(&events) };
        let lines: Vec<&str> = stream.lines().collect();
        let lost = lost.index(lines.len());
        let is_empty_delta = lines[lost].contains(r#"[{"type":"text","text":""}]"#) && lines[lost].contains("assistant");
        let rest = lines.iter().enumerate().filter(|(index, _)| *index != lost);
        let rest: String = rest.map(|(_, line)| format!("{line}\n")).collect();
        // A stream without its first line may be of another program, and a single result is the object of `json`.
        let report = checked(&rest);
        prop_assert!(is_empty_delta || report.errors + report.warnings > 0, "{}", rest);
    }

    #[test]
    fn any_bytes_can_be_checked_and_read(
        stream in prop::sample::select(vec![documented_run(), ES, JA]),
        inserted in prop::collection::vec(any::<u8>(), 0..60),
        removed in 0..60usize,
        at: prop::sample::Index,
    ) {
        let mut stream = stream.as_bytes().to_vec();
        let at = at.index(stream.len());
        let end = stream.len().min(at + removed);
        stream.splice(at..end, inserted);
        check_and_read(&stream);
    }

    #[test]
    fn any_value_in_any_place_can_be_checked_and_read(
        stream in prop::sample::select(vec![documented_run(), ES, JA]),
        token in prop::sample::select(vec![
            "null", "1", "-1", "1.5", "true", "\"\"", "\"x\"", "[]", "{}", "[1]", "{\"success\":1}", "1e99", "\"\\ud800\"",
        ]),
        at: prop::sample::Index,
    ) {
        let places: Vec<usize> = stream.match_indices("\":").map(|(place, _)| place + 2).collect();
        let at = places[at.index(places.len())];
        let value = serde_json::Deserializer::from_str(&stream[at..]).into_iter::<serde::de::IgnoredAny>();
        let mut values = value;
        values.next().unwrap().unwrap();
        let end = at + values.byte_offset();
        check_and_read(format!("{}{token}{}", &stream[..at], &stream[end..]).as_bytes());
    }
}

/// Checks and reads a stream like the fuzz target `wire`.
fn check_and_read(bytes: &[u8]) {
    let report = check(bytes, usize::MAX).unwrap();
    assert_eq!(report.errors + report.warnings, report.findings.len() as u64);
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    for finding in &report.findings {
        assert!(finding.column > 0 && (1..=lines + 1).contains(&finding.line), "{finding:?}");
        assert!(!finding.message.contains(char::is_control), "{finding:?}");
    }
    let read: Vec<_> = Reader::new(bytes).collect();
    assert!(read.len() as u64 <= lines);
    // A stream that follows the contract can be read, event by event.
    if report.is_valid() {
        assert!(read.iter().all(Result::is_ok), "{}: {read:?}", String::from_utf8_lossy(bytes));
        assert_eq!(read.len() as u64, report.events);
    }
}
