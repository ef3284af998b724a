//! Answers that the service ended early, and runs that must end: loops, invalid arguments, refusals.

use super::*;

/// Returns an answer with this text and stop reason.
fn stopped_reply(text: &str, stop: StopReason) -> Reply {
    let blocks = if text.is_empty() { Vec::new() } else { vec![Block::Text(text.to_owned())] };
    Reply::Complete(vec![ModelEvent::TextDelta(text.to_owned()), finished(blocks, stop)])
}

/// Returns one answer with a call of `look` for each of the arguments.
fn look_calls(arguments: &[Value]) -> Reply {
    let call = |(number, arguments): (usize, &Value)| call(&format!("c{number}"), "look", arguments.clone());
    calls_reply(arguments.iter().enumerate().map(call).collect())
}

#[test]
fn a_paused_answer_is_sent_back_and_completed() {
    let fixture = fixture(vec![stopped_reply("one ", StopReason::Paused), text_reply(&["two"])]);
    check(&fixture, "Started User Text(one ) Answer AnswerPaused Text(two) Answer Completed");
    let requests = fixture.provider.requests.lock().unwrap();
    assert_eq!(
        requests[1].messages[1].as_ref(),
        &Message::Assistant(vec![Block::Text("one ".to_owned())]),
        "the answer is sent back"
    );
}

#[test]
fn an_answer_that_is_paused_in_a_tool_of_the_service_is_sent_back_as_it_is() {
    let raw = json!({ "type": "server_tool_use" });
    let blocks = vec![Block::Opaque(OriginalBlock { wire: "anthropic".to_owned(), raw })];
    let paused = Reply::Complete(vec![finished(blocks.clone(), StopReason::Paused)]);
    let fixture = fixture(vec![paused, text_reply(&["two"])]);
    check(&fixture, "Started User Answer AnswerPaused Text(two) Answer Completed");
    let requests = fixture.provider.requests.lock().unwrap();
    assert_eq!(requests[1].messages.last().unwrap().as_ref(), &Message::Assistant(blocks));
}

#[test]
fn an_answer_that_is_paused_repeatedly_is_a_failure() {
    let fixture = fixture((0..50).map(|_| stopped_reply("x", StopReason::Paused)).collect());
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::AnswerPaused { count: 10 }.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 10);
}

#[test]
fn calls_of_a_paused_answer_are_executed() {
    let blocks = vec![Block::ToolCall(call("1", "look", json!({})))];
    let fixture =
        fixture(vec![Reply::Complete(vec![finished(blocks, StopReason::Paused)]), text_reply(&["ok"])]);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Text(ok) Answer Completed");
}

#[test]
fn the_same_call_many_times_in_one_answer_is_not_a_loop() {
    let fixture = fixture(vec![look_calls(&vec![json!({}); 30]), text_reply(&["ok"])]);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Done")).count(), 30);
    assert!(events.iter().all(|event| kind_name(&event.kind) != "RepeatedCall"));
}

#[test]
fn the_same_calls_in_answer_after_answer_are_a_loop() {
    let fixture = fixture((0..20).map(|_| look_calls(&[json!({}), json!({}), json!({})])).collect());
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::LoopGuard { tool: "look".into(), count: 10 }.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 10);
}

#[test]
fn up_to_three_calls_in_rotation_are_a_loop() {
    for length in [1, 2, 3] {
        let turn = |number: usize| look_calls(&[json!({ "number": number % length })]);
        let fixture = fixture((0..40).map(turn).collect());
        let (outcome, _) = run_turn(&fixture, &[]);
        let reason = Reason::LoopGuard { tool: "look".into(), count: 10 };
        assert_eq!(outcome, RunOutcome::Failed(reason.into()), "{length}");
    }
}

#[test]
fn three_answers_in_a_row_with_invalid_arguments_end_the_run() {
    let broken = |number: usize| look_calls(&[json!(format!("{{broken {number}")), json!("{also")]);
    let fixture = fixture((0..10).map(broken).collect());
    let (outcome, events) = run_turn(&fixture, &[]);
    let reason = Reason::InvalidArguments { tool: "look".into(), count: 3 };
    assert_eq!(outcome, RunOutcome::Failed(reason.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 3);
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind).starts_with("Failed(c")).count(), 6);
}

#[test]
fn a_valid_call_between_invalid_ones_resets_the_count() {
    let broken = |number: usize| look_calls(&[json!(format!("{{broken {number}"))]);
    let both = look_calls(&[json!("{broken"), json!({})]);
    let fixture = fixture(vec![broken(1), broken(2), both, broken(3), broken(4), text_reply(&["ok"])]);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
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
        let fixture = fixture(vec![stopped_reply(text, StopReason::Refusal)]);
        assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Failed(expect.into()));
    }
}

#[test]
fn the_details_of_a_refusal_take_precedence_over_its_text() {
    let (category, message) = ("cyber".to_owned(), "It may help an attack".to_owned());
    for (details, text, expect) in [
        (
            (Some("cyber"), Some("It may help\nan attack.")),
            "I cannot.",
            Reason::RefusedInCategory { category: category.clone(), message: message.clone() },
        ),
        ((None, Some("It may help an attack.")), "I cannot.", Reason::RefusedWithMessage { message }),
        (
            (Some("cyber"), None),
            "I cannot.",
            Reason::RefusedInCategory { category: category.clone(), message: "I cannot".into() },
        ),
        ((Some("cyber"), None), "", Reason::RefusedWithMessage { message: category }),
    ] {
        let refusal = RefusalDetails {
            category: details.0.map(str::to_owned),
            explanation: details.1.map(str::to_owned),
        };
        let answer = Answer {
            blocks: vec![Block::Text(text.to_owned())],
            stop: StopReason::Refusal,
            refusal: Some(refusal),
            usage: None,
            request_id: None,
        };
        let fixture = fixture(vec![Reply::Complete(vec![ModelEvent::Finished(Box::new(answer))])]);
        assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Failed(expect.into()));
    }
}
