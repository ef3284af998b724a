//! Runs with a schema for the final answer.

use ibeam_core::JsonSchema;

use super::*;

fn with_schema(replies: Vec<Reply>) -> Fixture {
    let mut fixture = fixture(replies);
    let schema = json!({
        "type": "object",
        "properties": { "count": { "type": "integer" } },
        "required": ["count"],
        "additionalProperties": false,
    });
    fixture.run.answer_schema = Some(Arc::new(JsonSchema::new(schema).unwrap()));
    fixture
}

/// Returns the document of the last event.
fn structured(events: &[Event]) -> Option<Value> {
    match &events.last().unwrap().kind {
        EventKind::RunFinished(end) => end.structured.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_the_valid_document_is_text_of_the_run() {
    let call = Reply::Complete(vec![
        ModelEvent::TextDelta("I look.".to_owned()),
        finished(
            vec![Block::Text("I look.".to_owned()), Block::ToolCall(call("1", "look", json!({})))],
            StopReason::ToolUse,
        ),
    ]);
    let fixture = with_schema(vec![call, text_reply(&["```json\n{\"cou", "nt\": 3}\n```"])]);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Text({\"count\": 3}) Answer Completed");
    let requests = fixture.provider.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.answer_schema.is_some()));
}

#[test]
fn an_invalid_answer_is_corrected_twice_at_most() {
    let replies = |last: &str| {
        vec![text_reply(&["three"]), text_reply(&["{\"count\": \"three\"}"]), text_reply(&[last])]
    };
    let fixture = with_schema(replies("{\"count\":3}"));
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!((outcome, structured(&events)), (RunOutcome::Completed, Some(json!({ "count": 3 }))));
    let corrections: Vec<String> = {
        let requests = fixture.provider.requests.lock().unwrap();
        let last = |request: &Arc<ModelRequest>| format!("{:?}", request.messages.last().unwrap());
        requests.iter().skip(1).map(last).collect()
    };
    assert!(corrections[0].contains("not exactly one JSON document"), "{corrections:?}");
    assert!(corrections[1].contains("`/count` should be of type integer, not string"), "{corrections:?}");

    let (outcome, events) = run_turn(&with_schema(replies("{}")), &[]);
    let detail = "the document lacks the property `count`".into();
    assert_eq!(outcome, RunOutcome::Failed(Reason::AnswerMismatch { repairs: 2, detail }.into()));
    let RunOutcome::Failed(failure) = outcome else { unreachable!() };
    assert_eq!(failure.reason.code().exit_code(), 1);
    assert_eq!(structured(&events), None);
    let texts = events.iter().filter(|event| matches!(event.kind, EventKind::TextDelta { .. }));
    assert_eq!(texts.count(), 1, "the last answer is the text of the failed run");
}

#[test]
fn a_document_that_was_cut_is_put_together() {
    let cut = |text: &str| {
        Reply::Complete(vec![
            ModelEvent::TextDelta(text.to_owned()),
            finished(vec![Block::Text(text.to_owned())], StopReason::MaxTokens),
        ])
    };
    let continued = with_schema(vec![cut("{\"count\":"), text_reply(&["4}"])]);
    check(&continued, "Started User Answer AnswerCut Text({\"count\":4}) Answer Completed");
    let repeated = with_schema(vec![cut("{\"count\":"), text_reply(&["{\"count\":5}"])]);
    check(&repeated, "Started User Answer AnswerCut Text({\"count\":5}) Answer Completed");
}

#[test]
fn an_empty_answer_after_tool_work_is_corrected() {
    let replies = vec![
        calls_reply(vec![call("1", "look", json!({}))]),
        text_reply(&[]),
        text_reply(&["{\"count\":6}"]),
    ];
    check(
        &with_schema(replies),
        "Started User Answer Call(1) Allowed(1) Done(1) Answer AnswerMismatch Text({\"count\":6}) Answer Completed",
    );
}

#[test]
fn an_answer_that_breaks_off_is_requested_again() {
    let error = ProviderError::new(Reason::AnswerTruncated { provider: "p".into() }, Retry::Fast);
    let broken = Reply::BreakOff(vec![ModelEvent::TextDelta("{\"cou".to_owned())], error);
    check(
        &with_schema(vec![broken, text_reply(&["{\"count\":7}"])]),
        "Started User Retrying(1) Text({\"count\":7}) Answer Completed",
    );
}

#[test]
fn a_secret_in_the_document_is_redacted_in_text_and_value() {
    let mut fixture = with_schema(vec![text_reply(&[&format!("\"a {SECRET} b\"")])]);
    fixture.run.answer_schema = Some(Arc::new(JsonSchema::new(json!({ "type": "string" })).unwrap()));
    let (_, events) = run_turn(&fixture, &[]);
    let value = structured(&events).unwrap();
    let text: String = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(!text.contains(SECRET) && !value.to_string().contains(SECRET), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}
