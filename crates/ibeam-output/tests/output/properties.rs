//! What holds for any run.

use ibeam_output::{Catalogue, EventWriter, Json, Locale, StreamJson, Text, TextOptions};
use ibeam_protocol::{Event, Reason, ToolOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::story::{self, Shared, Story};

/// Stands in everything that no writer may print.
const SECRET: &str = "UNSPOKEN";

#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Thinking,
    Backstage,
    Call { name: String, argument: String, outcome: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => ".*".prop_map(Step::Text),
        1 => Just(Step::Thinking),
        1 => Just(Step::Backstage),
        2 => ("read|write|shell|update_todos|weather", ".*", 0..3u8)
            .prop_map(|(name, argument, outcome)| Step::Call { name, argument, outcome }),
    ]
}

fn story(steps: &[Step]) -> Story {
    steps.iter().fold(Story::new().user("hi"), |story, step| match step {
        Step::Text(text) => story.text(text),
        Step::Thinking => story.thinking(SECRET),
        Step::Backstage => story.backstage(SECRET),
        Step::Call { name, argument, outcome } => {
            let call = story::call(name, json!({"path": argument, "command": argument}));
            let outcome = match outcome {
                0 => ToolOutcome::error(argument.clone()),
                2 if name == "weather" => story::success(ibeam_protocol::ToolOutput::Other(json!(argument))),
                _ => ToolOutcome::Rejected { reason: argument.clone() },
            };
            story.call(&call, outcome)
        }
    })
}

fn deltas(steps: &[Step]) -> String {
    let texts = steps.iter().filter_map(|step| match step {
        Step::Text(text) => Some(text.as_str()),
        Step::Thinking | Step::Backstage | Step::Call { .. } => None,
    });
    texts.collect()
}

fn parsed(events: &[Event]) -> Vec<Value> {
    of_lines(&story::stream_json(events))
}

fn of_lines(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts of the assistant lines that `counts` takes.
fn texts(lines: &[Value], counts: impl Fn(&Value) -> bool) -> String {
    let texts = lines.iter().filter(|line| line["type"] == "assistant" && counts(line));
    texts.map(|line| line["message"]["content"][0]["text"].as_str().unwrap()).collect()
}

/// As clients of the later releases tell a delta.
fn is_delta(line: &Value) -> bool {
    line.get("timestamp_ms").is_some() && line.get("model_call_id").is_none()
}

proptest! {
    #[test]
    fn the_result_is_the_concatenation_of_the_deltas(steps in prop::collection::vec(step(), 0..12)) {
        let events = story(&steps).done();
        let lines = parsed(&events);
        let said = texts(&lines, |_| true);
        prop_assert_eq!(&said, &deltas(&steps));
        prop_assert_eq!(&lines.last().unwrap()["result"], &json!(said));
        let object: Value = serde_json::from_str(&story::json(&events)).unwrap();
        prop_assert_eq!(&object["result"], &json!(said));
    }

    #[test]
    fn both_contracts_print_the_same_answer(steps in prop::collection::vec(step(), 0..12)) {
        for events in [story(&steps).done(), story(&steps).failed(Reason::Refused)] {
            let one = parsed(&events);
            let answer = texts(&one, |_| true);
            prop_assert_eq!(&answer, &deltas(&steps));
            for partial in [false, true] {
                let two = of_lines(&story::segments(&events, partial));
                prop_assert_eq!(&texts(&two, |line| !is_delta(line)), &answer);
                prop_assert_eq!(&texts(&two, is_delta), if partial { answer.as_str() } else { "" });
                // All but the text is as under contract 1.
                prop_assert_eq!(one.last(), two.last());
                let calls = |lines: &[Value]| -> Vec<Value> {
                    lines.iter().filter(|line| line["type"] == "tool_call").cloned().collect()
                };
                prop_assert_eq!(calls(&one), calls(&two));
            }
        }
    }

    #[test]
    fn every_line_is_one_object_for_every_kind_of_reader(steps in prop::collection::vec(step(), 0..12)) {
        let text = story::stream_json(&story(&steps).done());
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
        let lines = parsed(&story(&steps).done());
        let count = |subtype: &str| {
            lines.iter().filter(|line| line["type"] == "tool_call" && line["subtype"] == subtype).count()
        };
        prop_assert_eq!(count("started"), count("completed"));
        prop_assert!(lines.iter().all(|line| line["session_id"] == story::SESSION));
        prop_assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 1);
    }

    #[test]
    fn thinking_and_what_is_not_for_stdout_is_never_written(steps in prop::collection::vec(step(), 0..12)) {
        for events in [story(&steps).done(), story(&steps).failed(Reason::Refused)] {
            prop_assert!(!story::stream_json(&events).contains(SECRET));
            prop_assert!(!story::segments(&events, true).contains(SECRET));
            prop_assert!(!story::json(&events).contains(SECRET));
            for live in [false, true] {
                let options = TextOptions { verbose: true, live, ..TextOptions::default() };
                prop_assert!(!story::text(&events, Locale::En, options).contains(SECRET));
            }
        }
    }

    #[test]
    fn a_failed_run_prints_no_success(steps in prop::collection::vec(step(), 0..12)) {
        let events = story(&steps).failed(Reason::Refused);
        let lines = parsed(&events);
        prop_assert!(lines.iter().all(|line| line["type"] != "result" && line["subtype"] != "success"));
        prop_assert_eq!(&lines.last().unwrap()["type"], &json!("error"));
        prop_assert_eq!(story::json(&events), "");
    }

    #[test]
    fn text_has_no_control_character_but_line_ends_and_tabs(steps in prop::collection::vec(step(), 0..12)) {
        for live in [false, true] {
            let options = TextOptions { verbose: true, live, ..TextOptions::default() };
            let text = story::text(&story(&steps).done(), Locale::Ja, options);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
        }
    }

    /// Batches are the pump's business: however it cuts them, the bytes are the same.
    #[test]
    fn bytes_do_not_depend_on_batches(
        steps in prop::collection::vec(step(), 0..12),
        flushes in prop::collection::vec(any::<bool>(), 40),
    ) {
        let events = story(&steps).done();
        let all_at_once = |mut writer: Box<dyn EventWriter>, out: &Shared| {
            for (event, flush) in events.iter().zip(flushes.iter().cycle()) {
                writer.write(event).unwrap();
                if *flush {
                    writer.flush().unwrap();
                }
            }
            writer.flush().unwrap();
            out.text()
        };
        let out = Shared::default();
        let ours = all_at_once(Box::new(StreamJson::new(out.clone())), &out);
        prop_assert_eq!(ours, story::stream_json(&events));
        let out = Shared::default();
        let ours = all_at_once(Box::new(Json::new(out.clone())), &out);
        prop_assert_eq!(ours, story::json(&events));
        let out = Shared::default();
        let catalogue = std::sync::Arc::new(Catalogue::new(Locale::En));
        let options = TextOptions::default();
        let ours = all_at_once(Box::new(Text::new(out.clone(), catalogue, options)), &out);
        prop_assert_eq!(ours, story::text(&events, Locale::En, options));
    }
}
