//! A conversation that has become too long: shortened once, visibly, or ended with the sizes.

use super::*;

fn too_long() -> Line {
    let reason = Reason::ContextTooLong { provider: "p".into(), detail: "prompt is too long".into() };
    Line::Fail(ProviderError { failure: reason.into(), retry: Retry::Never })
}

/// A call whose result is as long as `bytes`.
fn long_call(id: &str, bytes: usize) -> Line {
    calls(vec![call(id, "look", json!({ "n": id, "say": "x".repeat(bytes) }))])
}

/// The same answer, of which the provider counts so many tokens of prompt.
fn counted(line: Line, prompt: u64) -> Line {
    let Line::Say(mut events) = line else { panic!("an answer") };
    let Some(ModelEvent::Finished(answer)) = events.last_mut() else { panic!("an end") };
    answer.usage = Some(Usage { input: prompt, ..Usage::default() });
    Line::Say(events)
}

/// The texts of a message, for a look at what the model is shown.
fn shown(message: &Message) -> String {
    match message {
        Message::User(texts) => format!("user: {}", texts.join(" | ")),
        Message::Assistant(blocks) => format!("assistant: {} blocks", blocks.len()),
        Message::ToolResults(results) => format!("results: {}", results[0].text.len()),
    }
}

#[test]
fn what_the_provider_finds_too_long_is_shortened_once_and_asked_again() {
    let stage = stage(vec![
        long_call("1", 4000),
        long_call("2", 4000),
        long_call("3", 100),
        too_long(),
        say(&["the user wants it done; 1 and 2 are read"]),
        say(&["ok"]),
    ]);
    let events = check(
        &stage,
        "Started User Answer Call(1) Allowed(1) Done(1) Answer Call(2) Allowed(2) Done(2) \
         Answer Call(3) Allowed(3) Done(3) Compacted(5) Text(ok) Answer Completed",
    );
    let requests = stage.provider.requests.lock().unwrap();
    let summary_request = &requests[4];
    assert!(summary_request.tools.is_empty(), "a summary needs no tools");
    let after: Vec<String> = requests[5].messages.iter().map(|message| shown(message)).collect();
    assert_eq!(after.len(), 3, "{after:?}");
    assert!(after[0].contains("1 and 2 are read") && after[0].contains("do it"), "{after:?}");
    assert_eq!(after[1..], ["assistant: 1 blocks", "results: 100"], "results stay with their answer");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!((end.totals.compactions, end.totals.turns), (1, 4), "the summary is no turn");
    assert_eq!(end.totals.usage.unwrap().output, 10, "but its tokens count");
}

#[test]
fn room_is_made_before_the_request_where_the_window_is_known() {
    // The call and its result are 40 kB, counted as 6,700 tokens; 6 kB more do not fit into 9,000 less the answer.
    let second = counted(long_call("2", 6_000), 6_700);
    let mut stage = stage(vec![long_call("1", 20_000), second, say(&["short"]), say(&["ok"])]);
    stage.run.context_window = Some(9_000);
    let events = check(
        &stage,
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

/// The bytes of the results that each request showed to the model.
fn result_bytes(stage: &Stage) -> Vec<Vec<usize>> {
    let requests = stage.provider.requests.lock().unwrap();
    let of_message = |message: &Arc<Message>| match message.as_ref() {
        Message::ToolResults(results) => results.iter().map(|result| result.text.len()).collect(),
        Message::User(_) | Message::Assistant(_) => Vec::new(),
    };
    requests.iter().map(|request| request.messages.iter().flat_map(of_message).collect()).collect()
}

/// A call whose result alone is as long as `bytes`.
fn long_result(id: &str, bytes: usize) -> Line {
    calls(vec![call(id, "repeat", json!({ "n": id, "bytes": bytes }))])
}

#[test]
fn a_single_exchange_that_does_not_fit_has_its_result_shortened() {
    let mut stage = stage(vec![long_result("1", 40_000), say(&["ok"])]);
    stage.run.context_window = Some(8_000);
    check(&stage, "Started User Answer Call(1) Allowed(1) Done(1) Compacted(0) Text(ok) Answer Completed");
    let shown = &result_bytes(&stage)[1];
    assert!((4_000..20_000).contains(&shown[0]), "{shown:?}");
}

#[test]
fn a_single_exchange_that_the_provider_refuses_has_its_result_shortened_until_it_is_taken() {
    let stage = stage(vec![long_result("1", 100_000), too_long(), too_long(), say(&["ok"])]);
    let events = check(
        &stage,
        "Started User Answer Call(1) Allowed(1) Done(1) Compacted(0) Compacted(0) Text(ok) Answer Completed",
    );
    let shown = result_bytes(&stage);
    assert!(shown[3][0] < shown[2][0] && shown[2][0] < shown[1][0], "{shown:?}");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.totals.compactions, 2);
    // The session is replayed as it stood.
    let second = super::stage(vec![say(&["again"])]);
    play(&second, &events);
    assert_eq!(result_bytes(&second)[0], shown[3]);
}

#[test]
fn older_results_are_shortened_before_the_newest() {
    let stage = stage(vec![
        long_result("1", 30_000),
        long_result("2", 30_000),
        long_result("3", 5_000),
        too_long(),
        // The request for a summary is too long too.
        too_long(),
        say(&["ok"]),
    ]);
    check(
        &stage,
        "Started User Answer Call(1) Allowed(1) Done(1) Answer Call(2) Allowed(2) Done(2) Answer Call(3) Allowed(3) \
         Done(3) Compacted(0) Text(ok) Answer Completed",
    );
    let shown = result_bytes(&stage).pop().unwrap();
    assert!(shown[0] < 4_200 && shown[1] < 4_200 && shown[2] == 5_000, "{shown:?}");
}

#[test]
fn results_are_shortened_a_bounded_number_of_times() {
    let mut lines = vec![long_result("1", 1_000_000)];
    lines.extend((0..20).map(|_| too_long()));
    let stage = stage(lines);
    let (outcome, events) = play(&stage, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.code(), FailureCode::Context);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Compacted")).count(), 4);
}

#[test]
fn a_second_overflow_at_the_same_request_ends_the_run() {
    let stage =
        stage(vec![long_call("1", 4000), long_call("2", 100), too_long(), say(&["a summary"]), too_long()]);
    let (outcome, events) = play(&stage, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.code(), FailureCode::Context);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Compacted")).count(), 1);
}

#[test]
fn f060_a_summary_that_fails_leaves_the_conversation_as_it_was() {
    for broken in [failing(Retry::Never), say(&[" "])] {
        let stage = stage(vec![long_call("1", 4000), long_call("2", 100), too_long(), broken]);
        let (outcome, events) = play(&stage, &[]);
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
    let stage = stage(vec![long_call("1", 400), long_call("2", 100), too_long(), say(&[&long])]);
    let (outcome, _) = play(&stage, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert!(failure.reason.detail().contains("with a summary"), "{:?}", failure.reason);
}

#[test]
fn a_first_prompt_that_is_too_long_cannot_be_shortened() {
    let stage = stage(vec![too_long()]);
    let (outcome, _) = play(&stage, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert!(failure.reason.detail().contains("no older part"), "{:?}", failure.reason);
}

#[test]
fn a_session_that_was_shortened_is_replayed_as_it_stood() {
    let first =
        stage(vec![long_call("1", 4000), long_call("2", 100), too_long(), say(&["a summary"]), say(&["ok"])]);
    // `play` itself holds that the replayed history is the one the loop had.
    let (_, events) = play(&first, &[]);
    let second = stage(vec![say(&["again"])]);
    let (outcome, _) = play(&second, &events);
    assert_eq!(outcome, RunOutcome::Completed);
    assert!(shown(&second.provider.requests.lock().unwrap()[0].messages[0]).contains("a summary"));
}

#[test]
fn the_model_receives_the_evidence_of_an_interrupted_call() {
    let (_, events) = play(&stage(vec![calls(vec![call("1", "change", json!({}))]), say(&["x"])]), &[]);
    let started = events.iter().position(|event| kind_name(&event.kind) == "Allowed(1)").unwrap();
    let second = stage(vec![say(&["again"])]);
    let (_, after) = play(&second, &events[..=started]);
    let words: Vec<String> = after.iter().map(|event| kind_name(&event.kind)).collect();
    assert_eq!(words[..3], ["Started", "Evidence(1)", "User"]);
    let requests = second.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[0].messages[2].as_ref() else { panic!() };
    assert_eq!(
        results[0].text.as_ref(),
        "interrupted: the run ended before this call did; its effect is unknown. Now: {} changed nothing"
    );
}
