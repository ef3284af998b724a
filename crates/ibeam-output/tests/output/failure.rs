//! Failed runs: an `error` line in the stream, and no output in other formats.

use ibeam_output::{Catalogue, Locale, TextOptions, error_object};
use ibeam_protocol::{EventKind, Failure, Reason, RunOutcome, RunTotals, Signal};
use serde_json::{Value, json};

use crate::run_events::{self, RunEvents};

fn rate_limited() -> Failure {
    Failure {
        reason: Reason::RateLimited { provider: "openai".into(), detail: "slow\u{7} down\nplease".into() },
        http_status: Some(429),
        request_id: Some("req_7".into()),
        retry_after_ms: Some(2000),
    }
}

#[test]
fn a_failed_run_ends_with_an_error_line_and_no_result() {
    let events =
        RunEvents::new().text("Hal").finish(RunOutcome::Failed(rate_limited()), RunTotals::default());
    let lines = run_events::lines(&events);
    assert_eq!(
        lines.last().unwrap(),
        concat!(
            r#"{"type":"error","code":"rate_limited","#,
            r#""message":"`openai` limits the rate of requests: slow\\u{7} down\\nplease","#,
            r#""exit_code":24,"retryable":true,"retry_after_ms":2000,"http_status":429,"request_id":"req_7","#,
            r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","ibeam":{"turns":0,"api_ms":0,"#,
            r#""permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":0,"background_stopped":0},"resumable":true,"result":"Hal"}"#
        )
    );
    assert!(lines.iter().all(|line| !line.contains(r#""type":"result""#) && !line.contains(r#""success""#)));
}

#[test]
fn a_long_wait_that_the_provider_requests_is_part_of_the_message() {
    for (ms, expect) in
        [(86_400_000, Some("24 h")), (5_400_000, Some("1 h 30 min")), (60_001, Some("2 min")), (59_999, None)]
    {
        let failure = Failure { retry_after_ms: Some(ms), ..rate_limited() };
        let object: Value = serde_json::from_str(&error_object(&failure, None)).unwrap();
        let events = RunEvents::new().finish(RunOutcome::Failed(failure.clone()), RunTotals::default());
        let line: Value = serde_json::from_str(run_events::lines(&events).last().unwrap()).unwrap();
        let message = Catalogue::new(Locale::En).failure(&failure).message;
        assert_eq!((&object["message"], &line["message"]), (&json!(message), &json!(message)));
        assert!(
            expect.is_none_or(|expect| message.ends_with(&format!("; try again in {expect}"))),
            "{message}"
        );
        assert_eq!(message.contains("try again"), expect.is_some(), "{message}");
        for locale in [Locale::Es, Locale::Fr, Locale::Id, Locale::Ja, Locale::Pt] {
            let message = Catalogue::new(locale).failure(&failure).message;
            assert!(expect.is_none_or(|expect| message.contains(expect)), "{message}");
        }
    }
}

#[test]
fn optional_keys_without_a_value_are_absent() {
    let events = RunEvents::new().failed(Reason::Signalled(Signal::Int));
    let line: Value = serde_json::from_str(run_events::lines(&events).last().unwrap()).unwrap();
    let keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["type", "code", "message", "exit_code", "retryable", "session_id", "ibeam", "resumable"]
    );
    assert_eq!(line["exit_code"], json!(130));
}

#[test]
fn a_failure_has_the_text_of_the_answer_so_far() {
    let mut events =
        RunEvents::new().text("Half an ").text("answer").failed(Reason::TimedOut { timeout_ms: 1000 });
    if let Some(EventKind::RunFinished(run)) = events.last_mut().map(|event| &mut event.kind) {
        run.partial = Some("Half an answer".into());
    }
    let line: Value = serde_json::from_str(run_events::lines(&events).last().unwrap()).unwrap();
    assert_eq!(line["result"], "Half an answer");
    let Some(EventKind::RunFinished(run)) = events.last().map(|event| &event.kind) else { panic!("an end") };
    let object: Value = serde_json::from_str(&error_object(run.failure().unwrap(), Some(run))).unwrap();
    assert_eq!(object, line, "the object equals the line");
}

#[test]
fn json_prints_nothing_when_the_run_fails() {
    assert_eq!(run_events::json(&RunEvents::new().text("Half an answer").failed(Reason::Refused)), "");
}

#[test]
fn text_prints_no_message_when_the_run_fails() {
    let events = RunEvents::new().text("Half an answer").failed(Reason::Refused);
    assert_eq!(run_events::text(&events, Locale::En, TextOptions::default()), "");
}

#[test]
fn the_error_object_of_a_run_that_never_started_has_no_session() {
    assert_eq!(
        error_object(&Failure::from(Reason::EmptyPrompt), None),
        r#"{"type":"error","code":"usage","message":"the prompt is empty","exit_code":2,"retryable":false}"#
    );
}
