//! Secrets are redacted in the journal, whatever their source.

use super::*;

#[test]
fn a_secret_in_the_output_of_a_tool_reaches_neither_the_journal_nor_the_model() {
    let fixture = fixture(vec![calls_reply(vec![call("1", "leak", json!({}))]), text_reply(&["ok"])]);
    let (_, events) = run_turn(&fixture, &[]);
    let outcome = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallFinished { outcome, .. } => Some(outcome.for_model()),
        _ => None,
    });
    assert_eq!(outcome.as_deref(), Some("the key is ***, *** too"));
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[1].messages.last().unwrap().as_ref() else { panic!() };
    assert_eq!(results[0].text.as_ref(), "the key is ***, *** too");
}

#[test]
fn a_secret_in_a_failure_is_redacted() {
    let reason = Reason::ProviderFailed { provider: "p".into(), detail: format!("bad key {SECRET}") };
    let error = ProviderError::new(reason, Retry::Once);
    let fixture = fixture(vec![Reply::Fail(error.clone()), Reply::Fail(error)]);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET));
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.detail(), "bad key ***", "the caller reports it too");
}

/// Returns the text and the reasoning that were recorded.
fn deltas(events: &[Event]) -> (String, String) {
    let (mut text, mut thinking) = (String::new(), String::new());
    for event in events {
        match &event.kind {
            EventKind::TextDelta { text: delta } => text.push_str(delta),
            EventKind::ThinkingDelta { text: delta } => thinking.push_str(delta),
            _ => {}
        }
    }
    (text, thinking)
}

#[test]
fn a_secret_in_several_deltas_of_the_model_is_redacted() {
    let pieces = ["My key is ", "sk-0123", "456789a", "bcdef", ". And sk", "-o on: sk-01"];
    let fixture = fixture(vec![text_reply(&pieces)]);
    let (_, events) = run_turn(&fixture, &[]);
    let expect = "My key is sk-***. And sk-o on: sk-01";
    assert_eq!(deltas(&events).0, expect, "text without a secret is unchanged");
    let answers: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ModelRequestFinished { answer, .. } => Some(answer.blocks.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [vec![Block::Text(expect.to_owned())]], "the deltas are the answer");
    assert!(!serde_json::to_string(&events).unwrap().contains("0123456789abcdef"));
}

#[test]
fn a_secret_in_reasoning_is_redacted_in_every_copy() {
    let raw = json!({ "type": "thinking", "thinking": format!("It is {SECRET}"), "signature": "s" });
    let thinking = |original| Block::Thinking { text: format!("It is {SECRET}"), original };
    let original = ibeam_protocol::OriginalBlock { wire: "w".to_owned(), raw };
    let events = vec![
        ModelEvent::ThinkingDelta("It is sk-0123456".to_owned()),
        ModelEvent::ThinkingDelta("789abcdef".to_owned()),
        ModelEvent::TextDelta("No sk-0".to_owned()),
        finished(vec![thinking(Some(original)), Block::Text("No sk-0".to_owned())], StopReason::EndTurn),
    ];
    let fixture = fixture(vec![Reply::Complete(events)]);
    let (_, events) = run_turn(&fixture, &[]);
    assert_eq!(deltas(&events), ("No sk-0".to_owned(), "It is sk-***".to_owned()));
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET));
}

#[test]
fn a_call_with_a_secret_is_recorded_without_it_and_not_executed() {
    let fixture = fixture(vec![
        calls_reply(vec![call("1", "look", json!({ "say": format!("x{SECRET}") }))]),
        text_reply(&["ok"]),
    ]);
    let (_, events) = run_turn(&fixture, &[]);
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET));
    let outcomes: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallFinished { call, outcome, .. } => {
                Some((call.arguments["say"].clone(), outcome.for_model()))
            }
            _ => None,
        })
        .collect();
    let [(recorded, outcome)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!(recorded, "xsk-***");
    assert!(outcome.starts_with("not executed: its arguments hold a key"), "{outcome}");
    assert_eq!(fixture.max_running.load(Ordering::SeqCst), 0, "it has not run");
}

#[test]
fn text_before_a_stop_is_part_of_the_failure() {
    let fixture = fixture(vec![Reply::Hang(vec![ModelEvent::TextDelta("so far: sk-0".to_owned())])]);
    let stop = fixture.run.stop.clone();
    let ended = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stop.request(Reason::OutputClosed);
    });
    let (_, events) = run_turn(&fixture, &[]);
    ended.join().unwrap();
    let Some(EventKind::RunFinished(finished)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(finished.partial.as_deref(), Some("so far: sk-0"));
    assert_eq!(deltas(&events).0, "so far: sk-0");
}
