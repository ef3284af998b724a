//! Limits: a warning for the model before the limit, and the end of the run at the limit.

use super::*;
use ibeam_core::TokenPrices;

/// Returns many answers, each with a different call and a usage of 10 tokens.
fn many_replies() -> Vec<Reply> {
    (0..40)
        .map(|n| {
            let mut blocks = vec![Block::Text(format!("{n} "))];
            blocks.push(Block::ToolCall(call(&n.to_string(), "look", json!({ "n": n }))));
            Reply::Complete(vec![
                ModelEvent::TextDelta(format!("{n} ")),
                finished(blocks, StopReason::ToolUse),
            ])
        })
        .collect()
}

/// Checks that a run with these limits ends for `reason` after this many requests and calls, and after one warning.
#[track_caller]
fn check(limits: Limits, reason: Reason, turns: u32, calls: u32) {
    let mut fixture = fixture(many_replies());
    fixture.run.head.limits = limits;
    let prices = TokenPrices { input: 1_000_000, output: 1_000_000, ..TokenPrices::default() };
    fixture.run.prices = Some(prices.into());
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Failed(reason.into()));
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    let done = events.iter().filter(|event| kind_name(&event.kind).starts_with("Done")).count();
    assert_eq!((end.totals.turns, done as u32), (turns, calls));
    let texts: Vec<String> = (0..turns).map(|n| format!("{n} ")).collect();
    assert_eq!(end.partial, Some(texts.concat()), "the failure has the text until then");
    let warned = events.iter().filter(|event| kind_name(&event.kind) == "LimitNear").count();
    assert_eq!(warned, 1, "the model is asked once to finish");
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::User(last) = requests.last().unwrap().messages.last().unwrap().as_ref() else {
        // The warning came earlier and precedes later results.
        return;
    };
    assert!(last[0].as_text().contains("Finish now"), "{last:?}");
}

#[test]
fn requests_are_limited() {
    check(Limits { max_turns: 3, ..Limits::NONE }, Reason::TurnLimit { limit: 3 }, 3, 3);
}

#[test]
fn cached_tokens_count_towards_the_limit() {
    let limits = Limits { max_tokens: Some(95), ..Limits::NONE };
    check(limits, Reason::TokenLimit { limit: 95 }, 10, 10);
}

#[test]
fn cost_is_limited() {
    // One dollar a million tokens: 3 millionths an answer, the cached ones are free.
    let limits = Limits { max_cost_micros: Some(15), ..Limits::NONE };
    check(limits, Reason::CostLimit { limit_micros: 15 }, 5, 5);
}

#[test]
fn calls_are_limited_and_none_beyond_is_executed() {
    let limits = Limits { max_tool_calls: Some(4), ..Limits::NONE };
    check(limits, Reason::ToolCallLimit { limit: 4 }, 5, 4);
}

#[test]
fn only_the_calls_of_an_answer_within_the_limit_are_executed() {
    let three = calls_reply(vec![
        call("1", "look", json!({})),
        call("2", "change", json!({})),
        call("3", "change", json!({})),
    ]);
    let mut fixture = fixture(vec![three]);
    fixture.run.head.limits.max_tool_calls = Some(2);
    super::check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Call(2) Allowed(2) Done(2) Call(3) Failed(3) Failed(limit)",
    );
}

#[test]
fn a_run_at_its_call_limit_may_still_answer() {
    let mut fixture = fixture(vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["ok"])]);
    fixture.run.head.limits.max_tool_calls = Some(1);
    super::check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) LimitNear Text(ok) Answer Completed",
    );
}

#[test]
fn a_limit_of_one_request_causes_no_warning() {
    let mut fixture = fixture(vec![text_reply(&["ok"])]);
    fixture.run.head.limits.max_turns = 1;
    super::check(&fixture, "Started User Text(ok) Answer Completed");
}
