//! The reader: streams as events.

use ibeam_wire::tool::{self, CallResult};
use ibeam_wire::{ApiKeySource, CallPhase, Event, ReadError, Reader, ResultEvent};

use crate::run_events::{self, RunEvents};
use crate::samples::{ES, JA, documented_run};

fn read(stream: &str) -> Vec<Event> {
    Reader::new(stream.as_bytes()).collect::<Result<_, ReadError>>().unwrap()
}

#[test]
fn the_documented_run_is_read() {
    let events = read(documented_run());
    let [
        Event::Init(init),
        Event::User(user),
        Event::Assistant(first),
        Event::Assistant(second),
        Event::ToolCall(started),
        Event::ToolCall(completed),
        Event::Result(end),
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    let ibeam = init.ibeam.as_ref().unwrap();
    assert_eq!(
        (ibeam.contract.as_str(), ibeam.api_key, ibeam.limits.max_turns),
        ("1", ApiKeySource::Login, 100)
    );
    assert_eq!(
        (init.api_key_source.as_str(), init.tools.as_slice()),
        ("login", ["read".into(), "write".into()].as_slice())
    );
    assert_eq!(user.message.text(), "Read README.md");
    assert_eq!(first.message.text() + &second.message.text(), end.result);
    assert_eq!(second.timestamp_ms, Some(1_764_000_000_040));
    assert_eq!((started.phase, completed.phase), (CallPhase::Started, CallPhase::Completed));
    assert_eq!((started.tool_call.tool(), started.tool_call.arm()), ("read", None));
    assert_eq!(started.tool_call.args, completed.tool_call.args);
    let (arm, payload) = completed.tool_call.arm().unwrap();
    assert_eq!((arm, payload["totalLines"].as_u64()), ("success", Some(1)));
    assert_eq!(end.usage.as_ref().unwrap().input_tokens, 900);
    assert_eq!(end.ibeam.as_ref().unwrap().turns, 2);
    assert!(events.iter().all(|event| event.session_id() == Some(run_events::SESSION)));
}

#[test]
fn published_samples_are_read_without_the_additions_of_ibeam() {
    for sample in [ES, JA] {
        let events = read(sample);
        assert_eq!(events.len(), 10);
        let Event::Init(init) = &events[0] else { panic!("{:?}", events[0]) };
        assert_eq!((init.model.as_str(), &init.ibeam), ("Claude 4 Sonnet", &None));
        let Event::Result(end) = &events[9] else { panic!("{:?}", events[9]) };
        assert_eq!((end.duration_ms, &end.usage), (5234, &None));
    }
}

#[test]
fn the_object_of_json_is_read() {
    let object = run_events::json(&RunEvents::new().user("hi").text("né").completed());
    let end: ResultEvent = serde_json::from_str(&object).unwrap();
    assert_eq!((end.result.as_str(), end.is_error), ("né", false));
}

#[test]
fn a_failed_run_ends_in_its_error() {
    let reason = ibeam_protocol::Reason::Refused;
    let events = read(&run_events::stream_json(&RunEvents::new().user("hi").text("I").failed(reason)));
    let Some(Event::Error(end)) = events.last() else { panic!("{events:?}") };
    assert_eq!((end.code.as_str(), end.exit_code, end.retryable), ("refused", 32, false));
    assert_eq!((end.result.as_deref(), end.resumable), (Some("I"), Some(true)));
}

#[test]
fn a_tool_without_its_own_key_has_its_name() {
    let call = run_events::call("weather", serde_json::json!({"at": "sea"}));
    let events = read(&run_events::stream_json(
        &RunEvents::new()
            .user("hi")
            .start_call(&call)
            .finish_call(&call, ibeam_protocol::ToolOutcome::error("fog"))
            .completed(),
    ));
    let Event::ToolCall(completed) = &events[3] else { panic!("{:?}", events[3]) };
    assert_eq!((completed.tool_call.key.as_str(), completed.tool_call.tool()), ("function", "weather"));
    assert_eq!(completed.tool_call.args, r#"{"at":"sea"}"#);
    assert_eq!(completed.tool_call.arm().unwrap().0, "error");
}

#[test]
fn unknown_keys_and_events_are_accepted() {
    let stream = format!(
        "\r\n{{\"type\":\"progress\",\"percent\":3}}\r\n\n{}",
        documented_run().replace(r#""session_id""#, r#""new":[{}],"session_id""#)
    );
    let events = read(&stream);
    assert!(matches!(&events[0], Event::Other(value) if value["percent"] == 3));
    assert_eq!(events[1..].len(), 7);
}

#[track_caller]
fn check(stream: &[u8], expect: &str) {
    let error = Reader::new(stream).find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn errors_have_line_and_column() {
    check(b"{}\n", "line 1, column 2: missing field `type`");
    check(b"\n\n{\"type\":1}\n", "line 3, column 9: invalid type: integer `1`, expected a string");
    check("\n{\"é\":\"é\" 1}\n".as_bytes(), "line 2, column 10: expected `,` or `}`");
    check(b"{\"type\":\"x\"}\n{\"type\":\"\xff\"}\n", "line 2, column 10: not UTF-8");
    check(b"{\"type\":\"result\",\"subtype\":\"success\"}", "line 1, column 37: missing field `duration_ms`");
}

#[test]
fn the_reader_continues_after_a_line_that_it_cannot_read() {
    let stream = documented_run().replacen("\"type\":\"user\"", "\"type\":user", 1);
    let read: Vec<_> = Reader::new(stream.as_bytes()).collect();
    assert_eq!((read.len(), read.iter().filter(|event| event.is_ok()).count()), (7, 6));
}

#[test]
fn arguments_may_be_nested_as_deeply_as_in_a_session() {
    let deep = format!("{}{}", "[".repeat(190), "]".repeat(190));
    let stream = documented_run().replace(r#""README.md"}}"#, &format!("{deep}}}}}"));
    assert!(Reader::new(stream.as_bytes()).all(|event| event.is_ok()));
}

/// The types serialize an event with the same keys in the same order as they deserialized it.
#[test]
fn every_event_is_written_as_it_was_read() {
    let golden = [
        include_str!("../../../ibeam-output/tests/golden/contract-1.ndjson"),
        include_str!("../../../ibeam-output/tests/golden/contract-2-partial.ndjson"),
        documented_run(),
    ];
    for line in golden.iter().flat_map(|stream| stream.lines()) {
        let event = Event::from_line(line).unwrap();
        assert!(!matches!(event, Event::Other(_)), "{line}");
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), value.to_string());
    }
}

#[track_caller]
fn check_payload<T: serde::de::DeserializeOwned + serde::Serialize>(key: &str) {
    let golden = include_str!("../../../ibeam-output/tests/golden/contract-1.ndjson");
    let mut count = 0;
    for line in golden.lines() {
        let Event::ToolCall(event) = Event::from_line(line).unwrap() else { continue };
        let Some(result) = event.tool_call.result.filter(|_| event.tool_call.key == key) else { continue };
        let typed: CallResult<T> = serde_json::from_value(result.clone()).unwrap();
        assert_eq!(serde_json::to_string(&typed).unwrap(), result.to_string());
        count += 1;
    }
    assert!(count > 0, "{key}");
}

#[test]
fn every_result_is_read_as_the_type_of_its_tool() {
    check_payload::<tool::read::ReadSuccess>("readToolCall");
    check_payload::<tool::write::WriteSuccess>("writeToolCall");
    check_payload::<tool::edit::EditSuccess>("editToolCall");
    check_payload::<tool::shell::ShellOutput>("shellToolCall");
    check_payload::<tool::grep::GrepSuccess>("grepToolCall");
    check_payload::<tool::glob::GlobSuccess>("globToolCall");
    check_payload::<tool::ls::LsSuccess>("lsToolCall");
    check_payload::<tool::delete::DeleteSuccess>("deleteToolCall");
    check_payload::<tool::update_todos::TodosSuccess>("updateTodosToolCall");
    check_payload::<tool::web_fetch::WebFetchSuccess>("webFetchToolCall");
    check_payload::<tool::mcp::McpSuccess>("mcpToolCall");
}
