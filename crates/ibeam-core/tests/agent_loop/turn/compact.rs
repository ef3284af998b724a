//! Compaction of a conversation that has become too long.

use super::*;

fn too_long() -> Reply {
    let reason = Reason::ContextTooLong { provider: "p".into(), detail: "prompt is too long".into() };
    Reply::Fail(ProviderError::new(reason, Retry::Never))
}

/// A call whose result is as long as `bytes`.
fn long_call(id: &str, bytes: usize) -> Reply {
    calls_reply(vec![call(id, "look", json!({ "n": id, "say": "x".repeat(bytes) }))])
}

/// Returns `reply` with `prompt` as the provider's count of prompt tokens.
fn with_prompt_tokens(reply: Reply, prompt: u64) -> Reply {
    let Reply::Complete(mut events) = reply else { panic!("an answer") };
    let Some(ModelEvent::Finished(answer)) = events.last_mut() else { panic!("an end") };
    answer.usage = Some(Usage { input: prompt, ..Usage::default() });
    Reply::Complete(events)
}

/// Returns the role and the texts or sizes of a message.
fn describe(message: &Message) -> String {
    match message {
        Message::User(parts) => {
            let texts: Vec<_> = parts.iter().map(UserPart::as_text).collect();
            format!("user: {}", texts.join(" | "))
        }
        Message::Instructions(_) => "instructions".to_owned(),
        Message::Update(_) => "tools".to_owned(),
        Message::Assistant(blocks) => format!("assistant: {} blocks", blocks.len()),
        Message::ToolResults(results) => format!("results: {}", results[0].text.len()),
    }
}

#[test]
fn a_request_that_is_too_long_is_compacted_once_and_sent_again() {
    let fixture = fixture(vec![
        long_call("1", 4000),
        long_call("2", 4000),
        long_call("3", 100),
        too_long(),
        text_reply(&["the user wants it done; 1 and 2 are read"]),
        text_reply(&["ok"]),
    ]);
    let events = check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Answer Call(2) Allowed(2) Done(2) \
         Answer Call(3) Allowed(3) Done(3) Compacted(5) Text(ok) Answer Completed",
    );
    let requests = fixture.provider.requests.lock().unwrap();
    let summary_request = &requests[4];
    assert!(summary_request.tools.is_empty(), "a summary needs no tools");
    let after: Vec<String> = requests[5].messages.iter().map(|message| describe(message)).collect();
    assert_eq!(after.len(), 3, "{after:?}");
    assert!(after[0].contains("1 and 2 are read") && after[0].contains("do it"), "{after:?}");
    assert_eq!(after[1..], ["assistant: 1 blocks", "results: 100"], "results stay with their answer");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!((end.totals.compactions, end.totals.turns), (1, 4), "the summary is not a turn");
    assert_eq!(end.totals.usage.unwrap().output, 10, "but its tokens count");
}

#[test]
fn a_known_context_window_causes_compaction_before_the_request() {
    // The call and its result are 40 kB, counted as 6,700 tokens; 6 kB more do not fit into 9,000 less the answer.
    let second = with_prompt_tokens(long_call("2", 6_000), 6_700);
    let mut fixture =
        fixture(vec![long_call("1", 20_000), second, text_reply(&["short"]), text_reply(&["ok"])]);
    fixture.run.context_window = Some(9_000);
    let events = check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Answer Call(2) Allowed(2) Done(2) Compacted(3) Text(ok) \
         Answer Completed",
    );
    let compacted = events.iter().find_map(|event| match &event.kind {
        EventKind::Compacted(compacted) => Some(compacted),
        _ => None,
    });
    let Compacted { before_tokens, after_tokens, .. } = **compacted.unwrap();
    assert!((7_000..9_000).contains(&before_tokens), "{before_tokens}");
    assert!((1_500..3_500).contains(&after_tokens), "{after_tokens}");
}

/// Returns the sizes in bytes of the tool results in each request.
fn result_bytes(fixture: &Fixture) -> Vec<Vec<usize>> {
    let requests = fixture.provider.requests.lock().unwrap();
    let result_sizes = |message: &Arc<Message>| match message.as_ref() {
        Message::ToolResults(results) => results.iter().map(|result| result.text.len()).collect(),
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => {
            Vec::new()
        }
    };
    requests.iter().map(|request| request.messages.iter().flat_map(result_sizes).collect()).collect()
}

/// A call whose result alone is as long as `bytes`.
fn long_result(id: &str, bytes: usize) -> Reply {
    calls_reply(vec![call(id, "repeat", json!({ "n": id, "bytes": bytes }))])
}

#[test]
fn the_result_of_an_exchange_that_does_not_fit_is_shortened() {
    let mut fixture = fixture(vec![long_result("1", 40_000), text_reply(&["ok"])]);
    fixture.run.context_window = Some(8_000);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Compacted(0) Text(ok) Answer Completed");
    let shown = &result_bytes(&fixture)[1];
    assert!((4_000..20_000).contains(&shown[0]), "{shown:?}");
}

#[test]
fn the_result_of_a_refused_exchange_is_shortened_until_the_provider_accepts_it() {
    let fixture = fixture(vec![long_result("1", 100_000), too_long(), too_long(), text_reply(&["ok"])]);
    let events = check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Compacted(0) Compacted(0) Text(ok) Answer Completed",
    );
    let shown = result_bytes(&fixture);
    assert!(shown[3][0] < shown[2][0] && shown[2][0] < shown[1][0], "{shown:?}");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.totals.compactions, 2);
    // A replay has the shortened result.
    let second = super::fixture(vec![text_reply(&["again"])]);
    run_turn(&second, &events);
    assert_eq!(result_bytes(&second)[0], shown[3]);
}

#[test]
fn older_results_are_shortened_before_the_newest() {
    let fixture = fixture(vec![
        long_result("1", 30_000),
        long_result("2", 30_000),
        long_result("3", 5_000),
        too_long(),
        // The request for a summary is too long too.
        too_long(),
        text_reply(&["ok"]),
    ]);
    check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Answer Call(2) Allowed(2) Done(2) Answer Call(3) Allowed(3) \
         Done(3) Compacted(0) Text(ok) Answer Completed",
    );
    let shown = result_bytes(&fixture).pop().unwrap();
    assert!(shown[0] < 4_200 && shown[1] < 4_200 && shown[2] == 5_000, "{shown:?}");
}

#[test]
fn results_are_shortened_a_bounded_number_of_times() {
    let mut replies = vec![long_result("1", 1_000_000)];
    replies.extend((0..20).map(|_| too_long()));
    let fixture = fixture(replies);
    let (outcome, events) = run_turn(&fixture, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.code(), FailureCode::Context);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Compacted")).count(), 4);
}

#[test]
fn a_second_overflow_at_the_same_request_ends_the_run() {
    let fixture = fixture(vec![
        long_call("1", 4000),
        long_call("2", 100),
        too_long(),
        text_reply(&["a summary"]),
        too_long(),
    ]);
    let (outcome, events) = run_turn(&fixture, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.code(), FailureCode::Context);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Compacted")).count(), 1);
}

#[test]
fn f060_a_summary_that_fails_leaves_the_conversation_as_it_was() {
    for broken in [failed_reply(Retry::Never), text_reply(&[" "])] {
        let fixture = fixture(vec![long_call("1", 4000), long_call("2", 100), too_long(), broken]);
        let (outcome, events) = run_turn(&fixture, &[]);
        let RunOutcome::Failed(failure) = outcome else { panic!() };
        assert_eq!(failure.reason.code(), FailureCode::Context);
        assert!(failure.reason.detail().contains("prompt is too long; about "), "{:?}", failure.reason);
        assert!(events.iter().all(|event| !kind_name(&event.kind).starts_with("Compacted")));
        let history = History::replay(&events);
        assert_eq!(history.messages().len(), 5, "prompt, two answers, two results");
    }
}

#[test]
fn a_summary_that_does_not_shorten_ends_the_run() {
    let long = "x".repeat(9000);
    let fixture = fixture(vec![long_call("1", 400), long_call("2", 100), too_long(), text_reply(&[&long])]);
    let (outcome, _) = run_turn(&fixture, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert!(failure.reason.detail().contains("with a summary"), "{:?}", failure.reason);
}

#[test]
fn a_first_prompt_that_is_too_long_cannot_be_shortened() {
    let fixture = fixture(vec![too_long()]);
    let (outcome, _) = run_turn(&fixture, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert!(failure.reason.detail().contains("no older part"), "{:?}", failure.reason);
}

#[test]
fn a_compacted_session_is_replayed_with_its_summary() {
    let first = fixture(vec![
        long_call("1", 4000),
        long_call("2", 100),
        too_long(),
        text_reply(&["a summary"]),
        text_reply(&["ok"]),
    ]);
    // `run_turn` checks that the replayed history equals the history of the loop.
    let (_, events) = run_turn(&first, &[]);
    let second = fixture(vec![text_reply(&["again"])]);
    let (outcome, _) = run_turn(&second, &events);
    assert_eq!(outcome, RunOutcome::Completed);
    assert!(describe(&second.provider.requests.lock().unwrap()[0].messages[0]).contains("a summary"));
}

#[test]
fn the_model_receives_the_evidence_of_an_interrupted_call() {
    let (_, events) =
        run_turn(&fixture(vec![calls_reply(vec![call("1", "change", json!({}))]), text_reply(&["x"])]), &[]);
    let started = events.iter().position(|event| kind_name(&event.kind) == "Allowed(1)").unwrap();
    let second = fixture(vec![text_reply(&["again"])]);
    let (_, after) = run_turn(&second, &events[..=started]);
    let words: Vec<String> = after.iter().map(|event| kind_name(&event.kind)).collect();
    assert_eq!(words[..3], ["Started", "Evidence(1)", "User"]);
    let requests = second.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[0].messages[2].as_ref() else { panic!() };
    assert_eq!(
        results[0].text.as_ref(),
        "interrupted: the run ended before this call did; its effect is unknown. Now: {} changed nothing"
    );
}
