//! The models that take over while the models before them are unavailable.

use super::*;
use ibeam_core::FallbackModel;

fn scripted(replies: Vec<Reply>) -> Arc<ScriptedProvider> {
    Arc::new(ScriptedProvider { replies: Mutex::new(replies.into()), requests: Mutex::default() })
}

/// Returns a run whose first model has the first replies, and the next models the others.
fn chain(replies: Vec<Vec<Reply>>) -> (Fixture, Vec<Arc<ScriptedProvider>>) {
    let mut replies = replies.into_iter();
    let mut fixture = fixture(replies.next().unwrap());
    fixture.run.retry.backoff_attempts = 2;
    let providers: Vec<_> = replies.map(scripted).collect();
    let model = |(index, provider): (usize, &Arc<ScriptedProvider>)| FallbackModel {
        model: ModelInfo { provider: "q".into(), id: format!("n{index}"), display: "N".into() },
        provider: provider.clone(),
        context_window: None,
        max_output_tokens: Some(7),
        binds_thinking: false,
        request_limits: RequestLimits::default(),
        prices: None,
    };
    fixture.run.fallbacks = providers.iter().enumerate().map(model).collect();
    (fixture, providers)
}

fn unavailable(retry: Retry) -> ProviderError {
    let reason = Reason::RateLimited { provider: "p".to_owned(), detail: "no more".to_owned() };
    ProviderError { is_unavailable: true, ..ProviderError::new(reason, retry) }
}

fn unavailable_reply(retry: Retry) -> Reply {
    Reply::Fail(unavailable(retry))
}

fn totals(events: &[Event]) -> RunTotals {
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    end.totals.clone()
}

#[test]
fn the_next_model_answers_after_the_retries_and_keeps_answering() {
    let first = vec![
        calls_reply(vec![call("1", "look", json!({}))]),
        unavailable_reply(Retry::Backoff),
        unavailable_reply(Retry::Backoff),
    ];
    let second = vec![calls_reply(vec![call("2", "look", json!({}))]), text_reply(&["ok"])];
    let (fixture, providers) = chain(vec![first, second]);
    let events = check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Retrying(1) ModelFallback Answer Call(2) Allowed(2) Done(2) \
         Text(ok) Answer Completed",
    );
    let totals = totals(&events);
    let [fallback] = totals.fallbacks.as_slice() else { panic!("{totals:?}") };
    assert_eq!((fallback.from.as_str(), fallback.to.as_str()), ("p/m", "q/n0"));
    let counts: Vec<_> = totals
        .models
        .iter()
        .map(|model| (model.model.as_str(), model.requests, model.failed_requests))
        .collect();
    assert_eq!(counts, [("p/m", 1, 2), ("q/n0", 2, 0)]);
    let requests = providers[0].requests.lock().unwrap();
    assert_eq!(requests[0].messages.len(), 3, "the next model gets the conversation");
}

#[test]
fn an_exhausted_quota_is_not_retried_and_each_model_is_tried_once() {
    let exhausted = || vec![unavailable_reply(Retry::Never)];
    let (fixture, _) = chain(vec![exhausted(), exhausted(), vec![failed_reply(Retry::Never)]]);
    check(&fixture, "Started User ModelFallback ModelFallback Failed(provider)");
    let (fixture, _) = chain(vec![exhausted(), exhausted()]);
    check(&fixture, "Started User ModelFallback Failed(rate_limited)");
}

#[test]
fn another_failure_ends_the_run() {
    let (fixture, providers) = chain(vec![vec![failed_reply(Retry::Never)], vec![]]);
    check(&fixture, "Started User Failed(provider)");
    assert!(providers[0].requests.lock().unwrap().is_empty());
}

#[test]
fn no_other_model_takes_over_in_an_answer_whose_text_is_recorded() {
    let deltas = vec![ModelEvent::TextDelta("half ".to_owned())];
    let with_call = vec![ModelEvent::TextDelta("half ".to_owned()), ModelEvent::ToolCallAnnounced];
    let (fixture, _) = chain(vec![vec![Reply::BreakOff(with_call, unavailable(Retry::Fast))], vec![]]);
    check(&fixture, "Started User Text(half ) Failed(rate_limited)");
    // The continuation is another request.
    let first = vec![Reply::BreakOff(deltas, unavailable(Retry::Fast)), unavailable_reply(Retry::Never)];
    let (fixture, _) = chain(vec![first, vec![text_reply(&["whole"])]]);
    check(&fixture, "Started User Text(half ) AnswerInterrupted ModelFallback Text(whole) Answer Completed");
}

#[test]
fn the_next_run_begins_with_the_first_model_again() {
    let first = vec![unavailable_reply(Retry::Never), text_reply(&["two"])];
    let (fixture, _) = chain(vec![first, vec![text_reply(&["one"])]]);
    let (_, past) = run_turn(&fixture, &[]);
    let (_, events) = run_turn(&fixture, &past);
    let totals = totals(&events);
    assert_eq!((totals.fallbacks.len(), totals.models[0].model.as_str()), (0, "p/m"));
}

#[test]
fn the_next_model_continues_an_answer_that_the_service_had_paused() {
    let original = OriginalBlock { wire: "a".into(), raw: json!({ "type": "server_tool_use" }) };
    let paused = Reply::Complete(vec![finished(vec![Block::Opaque(original)], StopReason::Paused)]);
    let (fixture, providers) =
        chain(vec![vec![paused, unavailable_reply(Retry::Never)], vec![text_reply(&["ok"])]]);
    check(&fixture, "Started User Answer AnswerPaused ModelFallback Text(ok) Answer Completed");
    let requests = providers[0].requests.lock().unwrap();
    assert!(matches!(requests[0].messages.last().unwrap().as_ref(), Message::User(_)));
}

#[test]
fn the_conversation_is_shortened_for_a_smaller_model() {
    let long = |id: &str| calls_reply(vec![call(id, "look", json!({ "n": id, "say": "x".repeat(20_000) }))]);
    let first = vec![long("1"), long("2"), unavailable_reply(Retry::Never)];
    let (mut fixture, _) = chain(vec![first, vec![text_reply(&["summary"]), text_reply(&["ok"])]]);
    fixture.run.context_window = Some(1_000_000);
    fixture.run.fallbacks[0].context_window = Some(6_000);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    assert!(totals(&events).compactions > 0);
}
