//! Contract 2: its rules broken by hand, in both of its forms, and the text of its streams.

use ibeam_protocol::{Event, Reason, ToolOutcome};
use ibeam_wire::check::{Rule, Severity, check_with_contract};
use ibeam_wire::{Contract, Event as Read, NewText, Reader};
use serde_json::json;

use crate::samples::{ES, JA, checked};
use crate::story::{self, Story};
use crate::violations::Slip;
use crate::violations::Slip::{Copy, Drop, Insert, Replace, Swap};

fn sample_story() -> Story {
    let read = story::call("read", json!({ "path": "a" }));
    let call = || read.clone();
    Story::new()
        .user("go")
        .text("I will ")
        .text("read it.")
        .begin(&call())
        .end(&call(), ToolOutcome::error("no"))
        .text("It is ")
        .text("42.")
}

/// 3 the segment, 4 and 5 the call, 6 the last segment, 7 the end.
pub(crate) fn whole() -> String {
    story::segments(&sample_story().done(), false)
}

/// 3 and 4 deltas, 5 their segment, 6 and 7 the call, 8 and 9 deltas, 10 the last segment, 11 the end.
pub(crate) fn partial() -> String {
    story::segments(&sample_story().done(), true)
}

const FIRST: &str = r#","model_call_id":"m1","timestamp_ms":1004}"#;

/// Rule, line, slip.
pub(crate) const OF_WHOLE: &[(Rule, u64, Slip)] = &[
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

pub(crate) const OF_PARTIAL: &[(Rule, u64, Slip)] = &[
    (Rule::SegmentDiffers, 4, Drop(3)),
    (Rule::SegmentDiffers, 6, Copy(4, 5)),
    (Rule::SegmentDiffers, 5, Swap(3, 4)),
    (Rule::SegmentDiffers, 5, Replace(5, "I will", "I shall")),
    // As a forum says that the last flush is the whole answer.
    (Rule::SegmentDiffers, 10, Replace(10, "It is", "I will read it.It is")),
    (Rule::SegmentMissing, 5, Drop(5)),
    (Rule::SegmentMissing, 10, Drop(10)),
    (Rule::MixedForms, 6, Copy(5, 6)),
    (Rule::ResultDiffers, 12, Copy(5, 6)),
    (Rule::SegmentMisplaced, 11, Copy(9, 11)),
    (Rule::FinalDiffers, 11, Replace(11, r#""final":"It is 42.""#, r#""final":"It is ""#)),
];

#[track_caller]
fn refused(stream: &str, rule: Rule, line: u64, slip: &Slip) {
    let slipped = slip.done_to(stream);
    let report = checked(&slipped);
    let text = String::from_utf8(slipped).unwrap();
    let found = report.findings.iter().find(|finding| finding.rule == rule && finding.line == line);
    let found = found.unwrap_or_else(|| panic!("{rule} in line {line}: {:#?}\n{text}", report.findings));
    assert_eq!(found.severity, Severity::Error);
    assert!(!report.is_valid() && report.findings.len() <= 3, "{:#?}\n{text}", report.findings);
}

#[test]
fn what_the_writer_prints_keeps_contract_2() {
    for events in [
        sample_story().done(),
        sample_story().failed(Reason::Refused),
        sample_story().text("").failed(Reason::Refused),
    ] {
        for partial in [false, true] {
            let report = checked(story::segments(&events, partial));
            assert_eq!(report.findings, []);
            assert_eq!((report.contract, report.is_from_ibeam), (Contract::Two, true));
        }
    }
}

#[test]
fn each_violation_is_refused_by_its_rule_in_its_line() {
    for (rule, line, slip) in OF_WHOLE {
        refused(&whole(), *rule, *line, slip);
    }
    for (rule, line, slip) in OF_PARTIAL {
        refused(&partial(), *rule, *line, slip);
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
        assert!(OF_WHOLE.iter().chain(OF_PARTIAL).any(|(broken, ..)| *broken == rule), "{rule}");
    }
}

/// One slip is not ten findings.
#[test]
fn a_line_that_cannot_be_read_brings_no_findings_on_others() {
    for stream in [whole(), partial()] {
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
            check_with_contract(given, story::stream_json(&sample_story().done()).as_bytes(), 9).unwrap();
        assert_eq!((one.contract, one.findings), (Contract::One, Vec::new()));
        let two = check_with_contract(given, whole().as_bytes(), 9).unwrap();
        assert_eq!((two.contract, two.findings), (Contract::Two, Vec::new()));
    }
}

#[test]
fn a_stream_of_another_program_is_held_to_the_contract_that_is_given() {
    // As later releases print it: the keys of contract 2, and nothing that ibeam adds.
    let foreign = |stream: String| {
        let (_, extras) = stream.split_once(r#","ibeam":{"#).unwrap();
        let (extras, _) = extras.split_once("}}\n").unwrap();
        stream.replace(&format!(r#","ibeam":{{{extras}}}"#), "")
    };
    for stream in [foreign(whole()), foreign(partial())] {
        let report = check_with_contract(Contract::Two, stream.as_bytes(), 9).unwrap();
        assert_eq!(
            (report.contract, report.is_from_ibeam, report.findings),
            (Contract::Two, false, Vec::new())
        );
    }
    let slip = Replace(5, "I will", "I shall").done_to(&foreign(partial()));
    let report = check_with_contract(Contract::Two, slip.as_slice(), 9).unwrap();
    let [told] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
    assert_eq!((told.rule, told.severity), (Rule::SegmentDiffers, Severity::Warning));
    // The page's deltas have no time, so under contract 2 each is a segment that is not the last.
    let report = check_with_contract(Contract::Two, ES.as_bytes(), 99).unwrap();
    assert!(report.is_valid() && report.warnings > 0, "{:#?}", report.findings);
    assert!(report.findings.iter().all(|finding| finding.rule == Rule::SegmentMisplaced));
    assert_eq!(check_with_contract(Contract::One, ES.as_bytes(), 9).unwrap().findings, []);
}

fn answer_text(stream: &str) -> String {
    let mut new_text = NewText::default();
    let events = Reader::new(stream.as_bytes()).map(Result::unwrap);
    let texts = events.filter_map(|event| match event {
        Read::Assistant(said) => new_text.extract(&said),
        _ => None,
    });
    texts.collect()
}

/// What any stream of the run tells is the answer.
pub(crate) fn check_answer(events: &[Event], answer: &str) {
    assert_eq!(answer_text(&story::stream_json(events)), answer);
    for partial in [false, true] {
        assert_eq!(answer_text(&story::segments(events, partial)), answer, "partial: {partial}");
    }
}

#[test]
fn the_text_of_a_stream_is_returned_once() {
    check_answer(&sample_story().done(), "I will read it.It is 42.");
    // The same segment again.
    let twice = sample_story().begin(&story::call("read", json!({}))).text("It is 42.").text("It is 42.");
    check_answer(&twice.done(), "I will read it.It is 42.It is 42.It is 42.");
    check_answer(&Story::new().user("go").done(), "");
    for sample in [ES, JA] {
        let said: String = Reader::new(sample.as_bytes())
            .filter_map(|event| match event.unwrap() {
                Read::Assistant(said) => Some(said.message.text()),
                _ => None,
            })
            .collect();
        assert_eq!(answer_text(sample), said);
    }
}
