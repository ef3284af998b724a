//! Contract 2: streams in both forms that break each rule, and the text of the streams.

use ibeam_protocol::{Event, Reason, ToolOutcome};
use ibeam_wire::check::{Rule, Severity, check_with_contract};
use ibeam_wire::{Contract, Event as Read, NewText, Reader};
use serde_json::json;

use crate::run_events::{self, RunEvents};
use crate::samples::{ES, JA, checked};
use crate::violations::Edit;
use crate::violations::Edit::{Copy, Drop, Insert, Replace, Swap};

fn sample_run() -> RunEvents {
    let read = run_events::call("read", json!({ "path": "a" }));
    let call = || read.clone();
    RunEvents::new()
        .user("go")
        .text("I will ")
        .text("read it.")
        .start_call(&call())
        .finish_call(&call(), ToolOutcome::error("no"))
        .text("It is ")
        .text("42.")
}

/// Returns a stream without deltas. Line 3 is the segment, 4 and 5 are the call, 6 is the last segment, 7 the end.
pub(crate) fn without_deltas() -> String {
    run_events::segments(&sample_run().completed(), false)
}

/// Returns a stream with deltas. Lines 3 and 4 are deltas, 5 is their segment, 6 and 7 are the call, 8 and 9 are deltas, 10
/// is the last segment, 11 the end.
pub(crate) fn with_deltas() -> String {
    run_events::segments(&sample_run().completed(), true)
}

const FIRST: &str = r#","model_call_id":"m1","timestamp_ms":1004}"#;

/// The rule, the line of the finding, and the edit that breaks the rule.
pub(crate) const VIOLATIONS_WITHOUT_DELTAS: &[(Rule, u64, Edit)] = &[
    (Rule::SegmentForm, 3, Replace(3, r#","timestamp_ms":1004"#, "")),
    (Rule::SegmentMisplaced, 4, Replace(3, FIRST, "}")),
    (Rule::SegmentMisplaced, 4, Replace(3, r#""model_call_id":"m1""#, r#""model_call_id":"m2""#)),
    (Rule::SegmentMisplaced, 7, Replace(6, "}]},", "}]},\"model_call_id\":\"m1\",\"timestamp_ms\":1,")),
    (
        Rule::SegmentMisplaced,
        4,
        Insert(
            4,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""}]},"session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","model_call_id":"m1","timestamp_ms":1}"#,
        ),
    ),
    (Rule::SegmentMissing, 4, Replace(3, r#""model_call_id":"m1","#, "")),
    (Rule::MixedForms, 6, Replace(3, r#""model_call_id":"m1","#, "")),
    (Rule::FinalDiffers, 7, Replace(7, r#""final":"It is 42.""#, r#""final":"42.""#)),
    (Rule::ResultDiffers, 6, Drop(3)),
    (Rule::ResultDiffers, 6, Drop(6)),
    (Rule::ResultDiffers, 7, Replace(6, "42", "43")),
    (Rule::WrongType, 3, Replace(3, r#""timestamp_ms":1004"#, r#""timestamp_ms":"now""#)),
    (Rule::WrongType, 3, Replace(3, r#""model_call_id":"m1""#, r#""model_call_id":1"#)),
    (Rule::KeyOrder, 3, Replace(3, FIRST, r#","timestamp_ms":1004,"model_call_id":"m1"}"#)),
    (Rule::WrongValue, 1, Replace(1, r#""contract":"2""#, r#""contract":"3""#)),
];

pub(crate) const VIOLATIONS_WITH_DELTAS: &[(Rule, u64, Edit)] = &[
    (Rule::SegmentDiffers, 4, Drop(3)),
    (Rule::SegmentDiffers, 6, Copy(4, 5)),
    (Rule::SegmentDiffers, 5, Swap(3, 4)),
    (Rule::SegmentDiffers, 5, Replace(5, "I will", "I shall")),
    // Some releases of the original repeat the complete answer at the end.
    (Rule::SegmentDiffers, 10, Replace(10, "It is", "I will read it.It is")),
    (Rule::SegmentMissing, 5, Drop(5)),
    (Rule::SegmentMissing, 10, Drop(10)),
    (Rule::MixedForms, 6, Copy(5, 6)),
    (Rule::ResultDiffers, 12, Copy(5, 6)),
    (Rule::SegmentMisplaced, 11, Copy(9, 11)),
    (Rule::FinalDiffers, 11, Replace(11, r#""final":"It is 42.""#, r#""final":"It is ""#)),
];

#[track_caller]
fn check_violation(stream: &str, rule: Rule, line: u64, edit: &Edit) {
    let edited = edit.apply_to(stream);
    let report = checked(&edited);
    let text = String::from_utf8(edited).unwrap();
    let found = report.findings.iter().find(|finding| finding.rule == rule && finding.line == line);
    let found = found.unwrap_or_else(|| panic!("{rule} in line {line}: {:#?}\n{text}", report.findings));
    assert_eq!(found.severity, Severity::Error);
    assert!(!report.is_valid() && report.findings.len() <= 3, "{:#?}\n{text}", report.findings);
}

#[test]
fn the_output_of_the_writer_follows_contract_2() {
    for events in [
        sample_run().completed(),
        sample_run().failed(Reason::Refused),
        sample_run().text("").failed(Reason::Refused),
    ] {
        for partial in [false, true] {
            let report = checked(run_events::segments(&events, partial));
            assert_eq!(report.findings, []);
            assert_eq!((report.contract, report.is_from_ibeam), (Contract::Two, true));
        }
    }
}

#[test]
fn each_violation_is_found_by_its_rule_in_its_line() {
    for (rule, line, edit) in VIOLATIONS_WITHOUT_DELTAS {
        check_violation(&without_deltas(), *rule, *line, edit);
    }
    for (rule, line, edit) in VIOLATIONS_WITH_DELTAS {
        check_violation(&with_deltas(), *rule, *line, edit);
    }
}

#[test]
fn every_rule_of_contract_2_is_broken_by_some_stream() {
    let rules = [
        Rule::SegmentForm,
        Rule::SegmentDiffers,
        Rule::SegmentMissing,
        Rule::SegmentMisplaced,
        Rule::MixedForms,
    ];
    for rule in rules {
        assert!(
            VIOLATIONS_WITHOUT_DELTAS
                .iter()
                .chain(VIOLATIONS_WITH_DELTAS)
                .any(|(broken, ..)| *broken == rule),
            "{rule}"
        );
    }
}

#[test]
fn an_unreadable_line_causes_no_findings_in_other_lines() {
    for stream in [without_deltas(), with_deltas()] {
        let lines = stream.lines().count();
        for line in 2..lines {
            let mut broken: Vec<&str> = stream.lines().collect();
            broken[line - 1] = "oops";
            let report = checked(broken.join("\n") + "\n");
            let [finding] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
            assert_eq!((finding.rule, finding.line), (Rule::NotJson, line as u64));
        }
    }
}

#[test]
fn a_stream_is_checked_against_the_contract_that_it_names() {
    for given in Contract::ALL {
        let one =
            check_with_contract(given, run_events::stream_json(&sample_run().completed()).as_bytes(), 9)
                .unwrap();
        assert_eq!((one.contract, one.findings), (Contract::One, Vec::new()));
        let two = check_with_contract(given, without_deltas().as_bytes(), 9).unwrap();
        assert_eq!((two.contract, two.findings), (Contract::Two, Vec::new()));
    }
}

#[test]
fn a_stream_of_another_program_is_checked_against_the_given_contract() {
    // The later releases print the keys of contract 2 without the additions of ibeam.
    let foreign = |stream: String| {
        let (_, extras) = stream.split_once(r#","ibeam":{"#).unwrap();
        let (extras, _) = extras.split_once("}}\n").unwrap();
        stream.replace(&format!(r#","ibeam":{{{extras}}}"#), "")
    };
    for stream in [foreign(without_deltas()), foreign(with_deltas())] {
        let report = check_with_contract(Contract::Two, stream.as_bytes(), 9).unwrap();
        assert_eq!(
            (report.contract, report.is_from_ibeam, report.findings),
            (Contract::Two, false, Vec::new())
        );
    }
    let edited = Replace(5, "I will", "I shall").apply_to(&foreign(with_deltas()));
    let report = check_with_contract(Contract::Two, edited.as_slice(), 9).unwrap();
    let [finding] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
    assert_eq!((finding.rule, finding.severity), (Rule::SegmentDiffers, Severity::Warning));
    // The deltas of the published page have no time, so under contract 2 each is a segment that claims to be the last.
    let report = check_with_contract(Contract::Two, ES.as_bytes(), 99).unwrap();
    assert!(report.is_valid() && report.warnings > 0, "{:#?}", report.findings);
    assert!(report.findings.iter().all(|finding| finding.rule == Rule::SegmentMisplaced));
    assert_eq!(check_with_contract(Contract::One, ES.as_bytes(), 9).unwrap().findings, []);
}

fn answer_text(stream: &str) -> String {
    let mut new_text = NewText::default();
    let events = Reader::new(stream.as_bytes()).map(Result::unwrap);
    let texts = events.filter_map(|event| match event {
        Read::Assistant(event) => new_text.extract(&event),
        _ => None,
    });
    texts.collect()
}

/// Checks that every stream of the run contains the answer.
pub(crate) fn check_answer(events: &[Event], answer: &str) {
    assert_eq!(answer_text(&run_events::stream_json(events)), answer);
    for partial in [false, true] {
        assert_eq!(answer_text(&run_events::segments(events, partial)), answer, "partial: {partial}");
    }
}

#[test]
fn the_text_of_a_stream_is_returned_once() {
    check_answer(&sample_run().completed(), "I will read it.It is 42.");
    // The same segment again.
    let twice =
        sample_run().start_call(&run_events::call("read", json!({}))).text("It is 42.").text("It is 42.");
    check_answer(&twice.completed(), "I will read it.It is 42.It is 42.It is 42.");
    check_answer(&RunEvents::new().user("go").completed(), "");
    for sample in [ES, JA] {
        let answer: String = Reader::new(sample.as_bytes())
            .filter_map(|event| match event.unwrap() {
                Read::Assistant(event) => Some(event.message.text()),
                _ => None,
            })
            .collect();
        assert_eq!(answer_text(sample), answer);
    }
}
