//! Thinking that its model binds to what came before it, and thinking that a service refuses.

use ibeam_core::FallbackModel;

use super::*;

/// Returns a block of thinking that later requests contain.
fn thought(name: &str) -> Block {
    let original = OriginalBlock { wire: "w".to_owned(), raw: json!({ "signature": name }) };
    Block::Thinking { text: String::new(), original: Some(original) }
}

/// Returns an answer whose thinking and only call have this name.
fn thoughtful_call(name: &str) -> Reply {
    let call = Block::ToolCall(call(name, "look", json!({ "n": name, "say": "x".repeat(2000) })));
    Reply::Complete(vec![finished(vec![thought(name), call], StopReason::ToolUse)])
}

/// Returns the last answer of a run, whose thinking has this name.
fn thoughtful_text(name: &str) -> Reply {
    let blocks = vec![thought(name), Block::Text(name.to_owned())];
    Reply::Complete(vec![ModelEvent::TextDelta(name.to_owned()), finished(blocks, StopReason::EndTurn)])
}

fn too_long() -> Reply {
    let reason = Reason::ContextTooLong { provider: "p".into(), detail: String::new() };
    Reply::Fail(ProviderError::new(reason, Retry::Never))
}

/// Returns the failure of a service that refuses the thinking in a request.
fn refused_thinking() -> Reply {
    let part = ibeam_protocol::RequestPart::Reasoning;
    let reason = Reason::BadRequest { provider: "p".into(), detail: "bound".into(), part };
    Reply::Fail(ProviderError::new(reason, Retry::without(RefusedPart::Thinking)))
}

fn bound_fixture(replies: Vec<Reply>) -> Fixture {
    let mut fixture = fixture(replies);
    fixture.run.binds_thinking = true;
    fixture
}

/// Returns the names of the thinking in a request.
fn thoughts(request: &ModelRequest) -> String {
    let signature = |block: &Block| match block {
        Block::Thinking { original: Some(original), .. } => {
            Some(original.raw["signature"].as_str().unwrap().to_owned())
        }
        Block::Thinking { .. } | Block::Text(_) | Block::ToolCall(_) | Block::Opaque(_) => None,
    };
    let signatures = |message: &Arc<Message>| match message.as_ref() {
        Message::Assistant(blocks) => blocks.iter().filter_map(signature).collect(),
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_) => {
            Vec::new()
        }
    };
    request.messages.iter().flat_map(signatures).collect::<Vec<_>>().join(" ")
}

/// Returns the names of the thinking in each request to a model.
fn sent(provider: &ScriptedProvider) -> Vec<String> {
    provider.requests.lock().unwrap().iter().map(|request| thoughts(request)).collect()
}

/// Returns the events of a run with the thinking `a` and `b`.
fn first_run() -> Vec<Event> {
    let (outcome, events) = run_turn(&bound_fixture(vec![thoughtful_call("a"), thoughtful_text("b")]), &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    events
}

/// Runs again after a change of the run. Returns the thinking of its requests, and all events of the session.
fn second_run(past: &[Event], change: impl FnOnce(&mut Run)) -> (Vec<String>, Vec<Event>) {
    let mut fixture = bound_fixture(vec![thoughtful_call("c"), thoughtful_text("d")]);
    change(&mut fixture.run);
    let (outcome, events) = run_turn(&fixture, past);
    assert_eq!(outcome, RunOutcome::Completed);
    (sent(&fixture.provider), past.iter().chain(&events).cloned().collect())
}

fn omissions(events: &[Event]) -> Vec<usize> {
    let omitted = |event: &Event| match event.kind {
        EventKind::ThinkingOmitted { messages } => Some(messages),
        _ => None,
    };
    events.iter().filter_map(omitted).collect()
}

#[test]
fn thinking_is_sent_back_as_long_as_nothing_before_it_changes() {
    let past = first_run();
    let bound =
        |event: &&Event| matches!(event.kind, EventKind::ModelRequestFinished { prefix: Some(_), .. });
    assert_eq!(past.iter().filter(bound).count(), 2);
    let (sent, events) = second_run(&past, |_| ());
    assert_eq!((sent, omissions(&events)), (vec!["a b".to_owned(), "a b c".to_owned()], vec![]));
    // The journal is read as it was written.
    let read: Vec<Event> = serde_json::from_str(&serde_json::to_string(&past).unwrap()).unwrap();
    assert_eq!(read, past);
}

#[test]
fn thinking_is_left_out_after_a_change_of_what_precedes_it() {
    type Change = (&'static str, &'static str, fn(&mut Run));
    let changes: [Change; 2] = [
        // A tool that was added stays.
        ("tools", "c d", |run| {
            let added = Probe { name: "new", ..probe() };
            run.tools.insert("new".to_owned(), Arc::new(added));
        }),
        ("provider", "", |run| run.head.model.provider = "q".into()),
    ];
    for (what, later, change) in changes {
        let past = first_run();
        let (sent, events) = second_run(&past, change);
        assert_eq!(sent, ["", "c"], "{what}");
        assert_eq!(omissions(&events), [4], "{what}: prompt, call, result, answer");
        assert!(events.iter().all(|event| !matches!(event.kind, EventKind::Notice(_))), "{what}: silent");
        // What was left out once does not come back with its prefix.
        assert_eq!(second_run(&events, |_| ()).0[0], later, "{what}");
    }
}

#[test]
fn thinking_stays_when_instructions_change_and_tools_go() {
    type Change = (&'static str, fn(&mut Run));
    let changes: [Change; 4] = [
        ("instructions", |run| run.prompt[0].text = "be better".to_owned()),
        ("no instructions", |run| run.prompt.clear()),
        ("repository", |run| run.prompt.push(prompt_part("repository", PromptOwner::Repository, "rules"))),
        ("tools", |run| drop(run.tools.remove("hang"))),
    ];
    for (what, change) in changes {
        let (sent, events) = second_run(&first_run(), change);
        assert_eq!(
            (sent, omissions(&events)),
            (vec!["a b".to_owned(), "a b c".to_owned()], vec![]),
            "{what}"
        );
        assert_eq!(second_run(&events, |_| ()).0, ["a b c d", "a b c d c"], "{what}");
    }
}

#[test]
fn another_model_of_the_same_provider_keeps_the_thinking() {
    assert_eq!(second_run(&first_run(), |run| run.head.model.id = "n".into()).0, ["a b", "a b c"]);
}

#[test]
fn thinking_that_is_not_bound_is_always_sent_back() {
    let (sent, events) = second_run(&first_run(), |run| {
        run.tools.remove("hang");
        run.binds_thinking = false;
    });
    assert_eq!((sent, omissions(&events)), (vec!["a b".to_owned(), "a b c".to_owned()], vec![]));
    let bound =
        |event: &&Event| matches!(event.kind, EventKind::ModelRequestFinished { prefix: Some(_), .. });
    assert_eq!(events.iter().filter(bound).count(), 2, "those of the first run");
}

#[test]
fn thinking_without_a_fingerprint_is_left_out_with_all_before_it() {
    let mut past = first_run();
    let last = past.iter_mut().rfind(|event| matches!(event.kind, EventKind::ModelRequestFinished { .. }));
    let last = last.unwrap();
    // An earlier version recorded the answer, or a model that does not bind its thinking gave it.
    let mut record = serde_json::to_value(&last.kind).unwrap();
    assert!(record["model_request_finished"].as_object_mut().unwrap().remove("prefix").is_some());
    last.kind = serde_json::from_value(record.clone()).unwrap();
    assert_eq!(serde_json::to_value(&last.kind).unwrap(), record, "it is written as before");
    assert_eq!(second_run(&past, |_| ()).0, ["", "c"]);
}

#[test]
fn messages_of_the_user_and_of_hooks_after_thinking_keep_it() {
    let mut past = first_run();
    let seq = past.len() as u64;
    past.push(Event { seq, at_ms: 0, kind: EventKind::HookMessage { text: "go on".into() } });
    assert_eq!(second_run(&past, |_| ()).0, ["a b", "a b c"]);
}

#[test]
fn thinking_of_retained_answers_is_left_out_after_a_compaction() {
    let fixture = bound_fixture(vec![
        thoughtful_call("a"),
        thoughtful_call("b"),
        thoughtful_call("c"),
        too_long(),
        text_reply(&["a summary"]),
        thoughtful_call("d"),
        thoughtful_text("e"),
    ]);
    check(
        &fixture,
        "Started User Answer Call(a) Allowed(a) Done(a) Answer Call(b) Allowed(b) Done(b) \
         Answer Call(c) Allowed(c) Done(c) Compacted(5) ThinkingOmitted(2) Answer Call(d) Allowed(d) Done(d) Text(e) \
         Answer Completed",
    );
    assert_eq!(sent(&fixture.provider), ["", "a", "a b", "a b c", "", "", "d"]);
}

/// Returns an answer whose thinking has this name, with a call whose result is as long as `bytes`.
fn thoughtful_result(name: &str, bytes: usize) -> Reply {
    let call = Block::ToolCall(call(name, "repeat", json!({ "n": name, "bytes": bytes })));
    Reply::Complete(vec![finished(vec![thought(name), call], StopReason::ToolUse)])
}

#[test]
fn thinking_before_a_shortened_result_stays() {
    let replies =
        vec![thoughtful_call("a"), thoughtful_result("b", 100_000), too_long(), text_reply(&["ok"])];
    let fixture = bound_fixture(replies);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
    assert_eq!(sent(&fixture.provider), ["", "a", "a b", "a b"]);
}

#[test]
fn thinking_after_a_shortened_result_is_left_out_with_all_before_it() {
    let fixture = bound_fixture(vec![
        thoughtful_result("a", 30_000),
        thoughtful_result("b", 30_000),
        thoughtful_result("c", 5_000),
        too_long(),
        // The request for a summary is too long too, so results are shortened.
        too_long(),
        thoughtful_text("d"),
    ]);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    assert_eq!(sent(&fixture.provider), ["", "a", "a b", "a b c", "", ""]);
    assert_eq!(second_run(&events, |_| ()).0[0], "d");
}

#[test]
fn the_model_of_another_provider_gets_no_thinking_and_one_of_the_same_keeps_it() {
    for (provider, expect) in [("q", ["", "b"]), ("p", ["a", "a b"])] {
        let reason = Reason::QuotaExhausted { provider: "p".into(), detail: String::new() };
        let unavailable = ProviderError { is_unavailable: true, ..ProviderError::new(reason, Retry::Never) };
        let mut fixture = bound_fixture(vec![thoughtful_call("a"), Reply::Fail(unavailable)]);
        let second = bound_fixture(vec![thoughtful_call("b"), thoughtful_text("c")]).provider;
        fixture.run.fallbacks = vec![FallbackModel {
            model: ModelInfo { provider: provider.into(), id: "n".into(), display: "N".into() },
            provider: second.clone(),
            context_window: None,
            max_output_tokens: None,
            binds_thinking: true,
            request_limits: RequestLimits::default(),
            prices: None,
        }];
        assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
        assert_eq!(sent(&second), expect, "{provider}");
    }
}

#[test]
fn an_answer_of_thinking_alone_disappears_without_it() {
    let alone = Reply::Complete(vec![finished(vec![thought("a")], StopReason::EndTurn)]);
    let (_, past) = run_turn(&bound_fixture(vec![alone, thoughtful_text("b")]), &[]);
    let (sent, events) = second_run(&past, |run| run.head.model.provider = "q".into());
    assert_eq!(sent, ["", "c"]);
    let history = History::replay(&events);
    assert_eq!(history.messages()[1].as_ref(), &Message::Assistant(Vec::new()), "the positions stay");
}

/// The later messages were made after a message that no request contains any more.
#[test]
fn thinking_after_an_answer_that_disappeared_is_left_out_too() {
    let alone = Reply::Complete(vec![finished(vec![thought("a")], StopReason::EndTurn)]);
    let (_, mut past) = run_turn(&bound_fixture(vec![alone, thoughtful_text("b")]), &[]);
    let first = past.iter_mut().find_map(|event| match &mut event.kind {
        EventKind::ModelRequestFinished { prefix, .. } => Some(prefix),
        _ => None,
    });
    *first.unwrap() = None;
    let (sent, events) = second_run(&past, |_| ());
    assert_eq!((sent, omissions(&events)), (vec![String::new(), "c".to_owned()], vec![2, 4]));
}

#[test]
fn thinking_after_a_redacted_text_of_its_answer_is_left_out() {
    let leak = |blocks: [Block; 2]| {
        let blocks = blocks.into_iter().chain([Block::ToolCall(call("1", "look", json!({})))]).collect();
        Reply::Complete(vec![finished(blocks, StopReason::ToolUse)])
    };
    let secret = || Block::Text(format!("the key is {SECRET}"));
    for (blocks, expect) in
        [([secret(), thought("a")], ["", "", "c"]), ([thought("a"), secret()], ["", "a", "a c"])]
    {
        let fixture = bound_fixture(vec![leak(blocks), thoughtful_call("c"), thoughtful_text("d")]);
        run_turn(&fixture, &[]);
        assert_eq!(sent(&fixture.provider), expect);
    }
}

#[test]
fn a_request_whose_thinking_is_refused_is_repeated_without_it() {
    for binds in [true, false] {
        let mut fixture = fixture(vec![
            thoughtful_call("a"),
            refused_thinking(),
            thoughtful_call("b"),
            thoughtful_text("c"),
        ]);
        fixture.run.binds_thinking = binds;
        let events = check(
            &fixture,
            "Started User Answer Call(a) Allowed(a) Done(a) ThinkingOmitted(3) ThinkingRefused \
             Answer Call(b) Allowed(b) Done(b) Text(c) Answer Completed",
        );
        assert_eq!(sent(&fixture.provider), ["", "a", "", "b"]);
        assert_eq!(second_run(&events, |run| run.binds_thinking = binds).0[0], "b c");
    }
}

#[test]
fn a_request_is_repeated_without_thinking_only_once() {
    let replies = vec![thoughtful_call("a"), refused_thinking(), refused_thinking()];
    check(
        &fixture(replies),
        "Started User Answer Call(a) Allowed(a) Done(a) ThinkingOmitted(3) ThinkingRefused Failed(request)",
    );
    check(&fixture(vec![refused_thinking()]), "Started User Failed(request)");
}

/// The request for a summary has no thinking, so the failure of the service has another cause.
#[test]
fn a_summary_that_is_refused_is_not_repeated() {
    let replies = vec![
        thoughtful_call("a"),
        thoughtful_call("b"),
        thoughtful_call("c"),
        too_long(),
        refused_thinking(),
    ];
    let fixture = fixture(replies);
    let (outcome, events) = run_turn(&fixture, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!((failure.reason.code(), omissions(&events)), (FailureCode::Context, vec![]));
}

#[test]
fn text_that_was_printed_is_not_withdrawn_for_refused_thinking() {
    let Reply::Fail(error) = refused_thinking() else { panic!() };
    let broken = Reply::BreakOff(vec![ModelEvent::TextDelta("half".to_owned())], error);
    check(
        &fixture(vec![thoughtful_call("a"), broken]),
        "Started User Answer Call(a) Allowed(a) Done(a) Text(half) Failed(request)",
    );
}
