//! Properties of the output of any run.

use ibeam_output::{Catalogue, EventWriter, Json, Locale, StreamJson, Text, TextOptions};
use ibeam_protocol::{Event, Reason, ToolOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run_events::{self, RunEvents, SharedBuffer};

/// A text in every event that no writer may print.
const SECRET: &str = "UNPRINTED";

#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Thinking,
    Unprinted,
    Call { name: String, argument: String, outcome: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => ".*".prop_map(Step::Text),
        1 => Just(Step::Thinking),
        1 => Just(Step::Unprinted),
        2 => ("read|write|shell|update_todos|weather", ".*", 0..3u8)
            .prop_map(|(name, argument, outcome)| Step::Call { name, argument, outcome }),
    ]
}

fn run_for(steps: &[Step]) -> RunEvents {
    steps.iter().fold(RunEvents::new().user("hi"), |run, step| match step {
        Step::Text(text) => run.text(text),
        Step::Thinking => run.thinking(SECRET),
        Step::Unprinted => run.unprinted(SECRET),
        Step::Call { name, argument, outcome } => {
            let call = run_events::call(name, json!({"path": argument, "command": argument}));
            let outcome = match outcome {
                0 => ToolOutcome::error(argument.clone()),
                2 if name == "weather" => {
                    run_events::success(ibeam_protocol::ToolOutput::Other(json!(argument)))
                }
                _ => ToolOutcome::Rejected { reason: argument.as_str().into() },
            };
            run.call(&call, outcome)
        }
    })
}

fn deltas(steps: &[Step]) -> String {
    let texts = steps.iter().filter_map(|step| match step {
        Step::Text(text) => Some(text.as_str()),
        Step::Thinking | Step::Unprinted | Step::Call { .. } => None,
    });
    texts.collect()
}

fn parsed(events: &[Event]) -> Vec<Value> {
    parse_lines(&run_events::stream_json(events))
}

fn parse_lines(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the texts of the assistant lines that `is_included` selects.
fn texts(lines: &[Value], is_included: impl Fn(&Value) -> bool) -> String {
    let texts = lines.iter().filter(|line| line["type"] == "assistant" && is_included(line));
    texts.map(|line| line["message"]["content"][0]["text"].as_str().unwrap()).collect()
}

/// Whether a line is a delta, by the rule of clients of the later releases.
fn is_delta(line: &Value) -> bool {
    line.get("timestamp_ms").is_some() && line.get("model_call_id").is_none()
}

proptest! {
    #[test]
    fn the_result_is_the_concatenation_of_the_deltas(steps in prop::collection::vec(step(), 0..12)) {
        let events = run_for(&steps).completed();
        let lines = parsed(&events);
        let answer = texts(&lines, |_| true);
        prop_assert_eq!(&answer, &deltas(&steps));
        prop_assert_eq!(&lines.last().unwrap()["result"], &json!(answer));
        let object: Value = serde_json::from_str(&run_events::json(&events)).unwrap();
        prop_assert_eq!(&object["result"], &json!(answer));
    }

    #[test]
    fn both_contracts_print_the_same_answer(steps in prop::collection::vec(step(), 0..12)) {
        for events in [run_for(&steps).completed(), run_for(&steps).failed(Reason::Refused)] {
            let one = parsed(&events);
            let answer = texts(&one, |_| true);
            prop_assert_eq!(&answer, &deltas(&steps));
            for partial in [false, true] {
                let two = parse_lines(&run_events::segments(&events, partial));
                prop_assert_eq!(&texts(&two, |line| !is_delta(line)), &answer);
                prop_assert_eq!(&texts(&two, is_delta), if partial { answer.as_str() } else { "" });
                // Everything except the text is as under contract 1.
                prop_assert_eq!(one.last(), two.last());
                let calls = |lines: &[Value]| -> Vec<Value> {
                    lines.iter().filter(|line| line["type"] == "tool_call").cloned().collect()
                };
                prop_assert_eq!(calls(&one), calls(&two));
            }
        }
    }

    #[test]
    fn every_line_is_one_object_for_every_definition_of_a_line(steps in prop::collection::vec(step(), 0..12)) {
        let text = run_events::stream_json(&run_for(&steps).completed());
        let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
        let lines: Vec<_> = text.split(ends).collect();
        prop_assert_eq!(lines.last(), Some(&""));
        for line in &lines[..lines.len() - 1] {
            prop_assert!(serde_json::from_str::<Value>(line).unwrap().is_object());
        }
    }

    #[test]
    fn every_started_call_is_completed_once_and_every_line_has_the_session(
        steps in prop::collection::vec(step(), 0..12),
    ) {
        let lines = parsed(&run_for(&steps).completed());
        let count = |subtype: &str| {
            lines.iter().filter(|line| line["type"] == "tool_call" && line["subtype"] == subtype).count()
        };
        prop_assert_eq!(count("started"), count("completed"));
        prop_assert!(lines.iter().all(|line| line["session_id"] == run_events::SESSION));
        prop_assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 1);
    }

    #[test]
    fn thinking_and_other_unprinted_events_are_never_written(steps in prop::collection::vec(step(), 0..12)) {
        for events in [run_for(&steps).completed(), run_for(&steps).failed(Reason::Refused)] {
            prop_assert!(!run_events::stream_json(&events).contains(SECRET));
            prop_assert!(!run_events::segments(&events, true).contains(SECRET));
            prop_assert!(!run_events::json(&events).contains(SECRET));
            for live in [false, true] {
                let options = TextOptions { verbose: true, live, ..TextOptions::default() };
                prop_assert!(!run_events::text(&events, Locale::En, options).contains(SECRET));
            }
        }
    }

    #[test]
    fn a_failed_run_prints_no_success(steps in prop::collection::vec(step(), 0..12)) {
        let events = run_for(&steps).failed(Reason::Refused);
        let lines = parsed(&events);
        prop_assert!(lines.iter().all(|line| line["type"] != "result" && line["subtype"] != "success"));
        prop_assert_eq!(&lines.last().unwrap()["type"], &json!("error"));
        prop_assert_eq!(run_events::json(&events), "");
    }

    #[test]
    fn text_has_no_control_character_except_line_ends_and_tabs(steps in prop::collection::vec(step(), 0..12)) {
        for live in [false, true] {
            let options = TextOptions { verbose: true, live, ..TextOptions::default() };
            let text = run_events::text(&run_for(&steps).completed(), Locale::Ja, options);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
        }
    }

    #[test]
    fn bytes_do_not_depend_on_flushes(
        steps in prop::collection::vec(step(), 0..12),
        flushes in prop::collection::vec(any::<bool>(), 40),
    ) {
        let events = run_for(&steps).completed();
        let write_all = |mut writer: Box<dyn EventWriter>, out: &SharedBuffer| {
            for (event, flush) in events.iter().zip(flushes.iter().cycle()) {
                writer.write(event).unwrap();
                if *flush {
                    writer.flush().unwrap();
                }
            }
            writer.flush().unwrap();
            out.text()
        };
        let out = SharedBuffer::default();
        let printed = write_all(Box::new(StreamJson::new(out.clone())), &out);
        prop_assert_eq!(printed, run_events::stream_json(&events));
        let out = SharedBuffer::default();
        let printed = write_all(Box::new(Json::new(out.clone())), &out);
        prop_assert_eq!(printed, run_events::json(&events));
        let out = SharedBuffer::default();
        let catalogue = std::sync::Arc::new(Catalogue::new(Locale::En));
        let options = TextOptions::default();
        let printed = write_all(Box::new(Text::new(out.clone(), catalogue, options)), &out);
        prop_assert_eq!(printed, run_events::text(&events, Locale::En, options));
    }
}
