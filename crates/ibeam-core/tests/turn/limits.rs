//! Limits: a warning for the model before the limit, and the end of the run at the limit.

use super::*;

/// Calls for ever, each another one; usage is 10 tokens an answer.
fn busy() -> Vec<Line> {
    (0..40)
        .map(|n| {
            let mut blocks = vec![Block::Text(format!("{n} "))];
            blocks.push(Block::ToolCall(call(&n.to_string(), "look", json!({ "n": n }))));
            Line::Say(vec![ModelEvent::TextDelta(format!("{n} ")), finished(blocks, StopReason::ToolUse)])
        })
        .collect()
}

/// Runs into the limit; gives how many requests and calls there were and how often the model was warned.
#[track_caller]
fn check(limits: Limits, reason: Reason, turns: u32, calls: u32) {
    let mut stage = stage(busy());
    stage.run.head.limits = limits;
    stage.run.prices = Some(ibeam_core::Prices { input: 1_000_000, output: 1_000_000, ..Default::default() });
    let (outcome, events) = play(&stage, &[]);
    assert_eq!(outcome, RunOutcome::Failed(reason.into()));
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    let done = events.iter().filter(|event| kind_name(&event.kind).starts_with("Done")).count();
    assert_eq!((end.totals.turns, done as u32), (turns, calls));
    let texts: Vec<String> = (0..turns).map(|n| format!("{n} ")).collect();
    assert_eq!(end.partial, Some(texts.concat()), "the failure has the text until then");
    let warned = events.iter().filter(|event| kind_name(&event.kind) == "LimitNear").count();
    assert_eq!(warned, 1, "the model is asked once to finish");
    let requests = stage.provider.requests.lock().unwrap();
    let Message::User(last) = requests.last().unwrap().messages.last().unwrap().as_ref() else {
        // The warning came earlier and stands before later results.
        return;
    };
    assert!(last.concat().contains("Finish now"), "{last:?}");
}

#[test]
fn requests_are_limited() {
    check(Limits { max_turns: 3, ..Limits::NONE }, Reason::TurnLimit { limit: 3 }, 3, 3);
}

#[test]
fn tokens_are_limited_cached_ones_too() {
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
fn of_one_answer_only_the_calls_within_the_limit_are_executed() {
    let three = calls(vec![
        call("1", "look", json!({})),
        call("2", "change", json!({})),
        call("3", "change", json!({})),
    ]);
    let mut stage = stage(vec![three]);
    stage.run.head.limits.max_tool_calls = Some(2);
    super::check(
        &stage,
        "Started User Answer Call(1) Allowed(1) Done(1) Call(2) Allowed(2) Done(2) Call(3) Failed(3) Failed(limit)",
    );
}

#[test]
fn a_run_whose_calls_are_used_up_may_still_answer() {
    let mut stage = stage(vec![calls(vec![call("1", "look", json!({}))]), say(&["ok"])]);
    stage.run.head.limits.max_tool_calls = Some(1);
    super::check(
        &stage,
        "Started User Answer Call(1) Allowed(1) Done(1) LimitNear Text(ok) Answer Completed",
    );
}

#[test]
fn a_limit_of_one_request_warns_of_nothing() {
    let mut stage = stage(vec![say(&["ok"])]);
    stage.run.head.limits.max_turns = 1;
    super::check(&stage, "Started User Text(ok) Answer Completed");
}
