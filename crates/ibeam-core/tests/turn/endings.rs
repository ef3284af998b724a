//! Answers that are not the end of a run although the service ended them, and runs that must not go on.

use super::*;

/// An answer of this text that ends for this reason.
fn stopped(text: &str, stop: StopReason) -> Line {
    let blocks = if text.is_empty() { Vec::new() } else { vec![Block::Text(text.to_owned())] };
    Line::Say(vec![ModelEvent::TextDelta(text.to_owned()), finished(blocks, stop)])
}

/// Calls of `look` with these arguments, in one answer.
fn looks(arguments: &[Value]) -> Line {
    let call = |(number, arguments): (usize, &Value)| call(&format!("c{number}"), "look", arguments.clone());
    calls(arguments.iter().enumerate().map(call).collect())
}

#[test]
fn a_paused_answer_is_sent_back_and_completed() {
    let stage = stage(vec![stopped("one ", StopReason::Paused), say(&["two"])]);
    check(&stage, "Started User Text(one ) Answer AnswerPaused Text(two) Answer Completed");
    let requests = stage.provider.requests.lock().unwrap();
    assert_eq!(
        requests[1].messages[1].as_ref(),
        &Message::Assistant(vec![Block::Text("one ".to_owned())]),
        "the answer is sent back"
    );
}

#[test]
fn an_answer_that_is_paused_again_and_again_is_no_success() {
    let stage = stage((0..50).map(|_| stopped("x", StopReason::Paused)).collect());
    let (outcome, events) = play(&stage, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::AnswerPaused { count: 10 }.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 10);
}

#[test]
fn calls_of_a_paused_answer_are_executed() {
    let blocks = vec![Block::ToolCall(call("1", "look", json!({})))];
    let stage = stage(vec![Line::Say(vec![finished(blocks, StopReason::Paused)]), say(&["ok"])]);
    check(&stage, "Started User Answer Call(1) Allowed(1) Done(1) Text(ok) Answer Completed");
}

#[test]
fn the_same_call_many_times_in_one_answer_is_no_loop() {
    let stage = stage(vec![looks(&vec![json!({}); 30]), say(&["ok"])]);
    let (outcome, events) = play(&stage, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Done")).count(), 30);
    assert!(events.iter().all(|event| kind_name(&event.kind) != "RepeatedCall"));
}

#[test]
fn the_same_calls_in_answer_after_answer_are_a_loop() {
    let stage = stage((0..20).map(|_| looks(&[json!({}), json!({}), json!({})])).collect());
    let (outcome, events) = play(&stage, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::LoopGuard { tool: "look".into(), count: 10 }.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 10);
}

#[test]
fn three_answers_in_a_row_with_invalid_arguments_end_the_run() {
    let broken = |number: usize| looks(&[json!(format!("{{broken {number}")), json!("{also")]);
    let stage = stage((0..10).map(broken).collect());
    let (outcome, events) = play(&stage, &[]);
    let reason = Reason::InvalidArguments { tool: "look".into(), count: 3 };
    assert_eq!(outcome, RunOutcome::Failed(reason.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 3);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Failed(c")).count(), 6);
}

#[test]
fn a_valid_call_between_invalid_ones_resets_the_count() {
    let broken = |number: usize| looks(&[json!(format!("{{broken {number}"))]);
    let both = looks(&[json!("{broken"), json!({})]);
    let stage = stage(vec![broken(1), broken(2), both, broken(3), broken(4), say(&["ok"])]);
    assert_eq!(play(&stage, &[]).0, RunOutcome::Completed);
}

#[test]
fn the_text_of_a_refusal_is_part_of_the_failure() {
    let long = "no ".repeat(1000);
    for (text, expect) in [
        ("", Reason::Refused),
        (" \n", Reason::Refused),
        ("I cannot\nhelp.\n", Reason::RefusedWithMessage { message: "I cannot help".into() }),
        (&long, Reason::RefusedWithMessage { message: format!("{}…", &long[..500]) }),
    ] {
        let stage = stage(vec![stopped(text, StopReason::Refusal)]);
        assert_eq!(play(&stage, &[]).0, RunOutcome::Failed(expect.into()));
    }
}
