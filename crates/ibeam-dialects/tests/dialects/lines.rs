//! Invalid and unexpected lines.

use ibeam_dialects::{ConvertError, Converter, DialectName, LossKind};
use proptest::prelude::*;

use crate::convert::{converted, try_converted};
use crate::facts::comes_back;

#[track_caller]
fn check(source: &[u8], expect: &ConvertError) {
    for to in [DialectName::Cursor, DialectName::Codex] {
        assert_eq!(try_converted(DialectName::Codex, to, source).unwrap_err(), *expect);
    }
}

const BEGIN: &str = "{\"type\":\"thread.started\",\"thread_id\":\"0199a213-81c0-7800-8aa1-bbab2a035a53\"}\n";

#[test]
fn an_invalid_line_is_an_error_with_its_number() {
    check(b"\xff", &ConvertError::NotUtf8 { line: 1 });
    check(format!("{BEGIN}\n[1]").as_bytes(), &ConvertError::NotAnEvent { line: 3 });
    check(format!("{BEGIN}{{\"type\":7}}").as_bytes(), &ConvertError::NotAnEvent { line: 2 });
    let error = try_converted(DialectName::Codex, DialectName::Cursor, b"\n{\"type\":").unwrap_err();
    assert_eq!(error.line(), 2);
    assert_eq!(error.to_string(), "line 2, column 8: not JSON: EOF while parsing a value");
}

#[test]
fn a_stream_of_another_dialect_is_an_error_at_its_end() {
    let stream = "\n{\"type\":\"init\",\"session_id\":\"s\"}\n{\"type\":\"message\"}\n";
    check(stream.as_bytes(), &ConvertError::OtherDialect { line: 2, dialect: DialectName::Codex });
}

#[test]
fn lines_before_an_invalid_one_are_converted() {
    for to in [DialectName::Claude, DialectName::Codex] {
        let mut converter = Converter::new(DialectName::Codex, to);
        let mut out = Vec::new();
        converter.convert_line(BEGIN.as_bytes(), &mut out).unwrap();
        let before = out.clone();
        assert!(converter.convert_line(b"nothing\n", &mut out).is_err());
        assert!(!before.is_empty() && out == before);
    }
}

#[test]
fn an_empty_stream_is_an_empty_stream() {
    for from in DialectName::ALL {
        for to in DialectName::ALL {
            let (target, losses) = converted(*from, *to, "");
            assert!(target.is_empty() && losses.is_empty());
        }
    }
}

#[test]
fn a_stream_that_ends_after_its_head_comes_back_or_is_lost() {
    let heads = [
        (DialectName::Codex, BEGIN),
        (
            DialectName::Claude,
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}\n",
        ),
        (
            DialectName::Gemini,
            "{\"type\":\"init\",\"timestamp\":\"\",\"session_id\":\"s\",\"model\":\"m\"}\n",
        ),
        (
            DialectName::Cursor,
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}\n",
        ),
    ];
    for (from, head) in heads {
        for to in DialectName::ALL.iter().filter(|to| **to != from) {
            comes_back(from, *to, head);
        }
    }
}

#[test]
fn a_second_head_is_a_loss_by_its_name() {
    let (target, losses) = converted(DialectName::Codex, DialectName::Cursor, &format!("{BEGIN}{BEGIN}"));
    assert_eq!(target.lines().count(), 1);
    let reported: Vec<_> = losses.iter().map(|loss| (loss.key, loss.first_line)).collect();
    assert_eq!(reported, [("thread.started".to_owned(), 2)]);
}

#[test]
fn an_event_that_is_not_known_is_a_loss_with_its_first_line() {
    let stream = format!(
        "{BEGIN}{{\"type\":\"new\"}}\n{{\"type\":\"new\",\"subtype\":\"a\"}}\n{{\"type\":\"new\"}}\n"
    );
    let (_, losses) = converted(DialectName::Codex, DialectName::Cursor, &stream);
    let reported: Vec<_> =
        losses.iter().map(|loss| (loss.key, loss.kind, loss.count, loss.first_line)).collect();
    assert_eq!(
        reported,
        [("new".to_owned(), LossKind::Dropped, 2, 2), ("new/a".to_owned(), LossKind::Dropped, 1, 3)]
    );
}

#[test]
fn events_after_the_end_are_losses() {
    let end = "{\"type\":\"turn.completed\",\"usage\":{}}\n";
    let (target, losses) = converted(DialectName::Codex, DialectName::Cursor, &format!("{BEGIN}{end}{end}"));
    assert_eq!(target.lines().count(), 3, "{target}");
    assert!(losses.iter().any(|loss| loss.key == "turn.completed" && loss.first_line == 3));
}

#[test]
fn each_turn_is_converted_where_the_target_has_several() {
    let turn = |text: &str| {
        format!(
            "{{\"type\":\"turn.started\"}}\n{{\"type\":\"item.completed\",\"item\":{{\"id\":\"i\",\"type\":\"agent_message\",\
             \"text\":\"{text}\"}}}}\n{{\"type\":\"turn.completed\",\"usage\":{{}}}}\n"
        )
    };
    let other_session = "{\"type\":\"thread.started\",\"thread_id\":\"x\"}\n";
    let stream = [BEGIN, &turn("One."), &turn("Two."), other_session, &turn("Three.")].concat();
    let outline = |to: DialectName| {
        let (target, losses) = converted(DialectName::Codex, to, &stream);
        let count = |text: &str| target.matches(text).count();
        let counts = ["One.", "Two.", "Three.", "\"init\"", "\"type\":\"result\""].map(count);
        let losses = losses.iter().filter(|loss| !loss.key.ends_with(".id"));
        (counts, losses.map(|loss| (loss.key, loss.count)).collect::<Vec<_>>())
    };
    let lost = |key: &str, count| (key.to_owned(), count);
    let of_other_session = vec![
        lost("item.completed/agent_message", 1),
        lost("thread.started", 1),
        lost("turn.completed", 1),
        lost("turn.started", 1),
    ];
    // The texts of a turn are in its last line again.
    assert_eq!(outline(DialectName::Cursor), ([3, 3, 0, 1, 2], of_other_session.clone()));
    assert_eq!(outline(DialectName::Claude), ([2, 2, 0, 2, 2], of_other_session));
    let all_later = vec![
        lost("item.completed/agent_message", 2),
        lost("thread.started", 1),
        lost("turn.completed", 2),
        lost("turn.started", 2),
    ];
    assert_eq!(outline(DialectName::Gemini), ([1, 0, 0, 1, 1], all_later));
}

#[test]
fn a_stream_that_makes_up_keys_has_a_bounded_report() {
    let mut stream = BEGIN.to_owned();
    for number in 0..3000 {
        stream.push_str(&format!("{{\"type\":\"{number}{}\"}}\n", "x".repeat(500)));
    }
    let (_, losses) = converted(DialectName::Codex, DialectName::Cursor, &stream);
    assert!(losses.len() <= 1001);
    assert_eq!(losses.iter().map(|loss| loss.count).sum::<u64>(), 3000);
    assert!(losses.iter().all(|loss| loss.key.chars().count() <= 200));
}

/// Words that have a meaning in some dialect, and some other texts.
fn word() -> impl Strategy<Value = String> {
    let words = "type subtype system init user assistant result error success message content text tool_use \
        tool_result tool_use_id id name input role session_id thread.started thread_id turn.completed turn.failed \
        item.started item.completed item.updated item agent_message command_execution todo_list file_change \
        mcp_tool_call items changes status in_progress completed failed tool_call started call_id readToolCall \
        editToolCall shellToolCall mcpToolCall function args arguments success tool_name tool_id parameters output \
        stats sessionID part state callID messageID time start end step_finish step_start tokens cost usage \
        event delta text_delta content_block_delta stream_event is_error tool_use_result Read Edit Bash bash read \
        strReplace edits todos timestamp timestamp_ms model_call_id";
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    prop_oneof![20 => prop::sample::select(words), 1 => ".{0,6}"]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        8 => word().prop_map(Into::into),
        1 => any::<i64>().prop_map(Into::into),
        1 => any::<bool>().prop_map(Into::into),
        1 => Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            3 => prop::collection::vec((word(), inner.clone()), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            1 => prop::collection::vec(inner, 0..4).prop_map(Into::into),
        ]
    })
}

fn event() -> impl Strategy<Value = String> {
    (word(), word(), prop::collection::vec((word(), value()), 0..6)).prop_map(|(kind, subtype, members)| {
        let mut event = serde_json::json!({ "type": kind, "subtype": subtype });
        event.as_object_mut().unwrap().extend(members.into_iter().filter(|(key, _)| key != "type"));
        format!("{event}\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_converter_accepts_any_events(events in prop::collection::vec(event(), 0..12)) {
        for from in DialectName::ALL {
            for to in DialectName::ALL {
                if let Ok((target, _)) = try_converted(*from, *to, events.concat().as_bytes()) {
                    prop_assert!(target.is_empty() || target.ends_with('\n'));
                    for line in target.lines() {
                        prop_assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
                    }
                }
            }
        }
    }

    #[test]
    fn a_converter_accepts_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for from in DialectName::ALL {
            drop(try_converted(*from, DialectName::Cursor, &bytes));
            drop(try_converted(DialectName::Cursor, *from, &bytes));
        }
    }
}
