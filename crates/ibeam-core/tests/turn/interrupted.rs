//! An answer that breaks off in its text: the text stays, and the model is asked once to continue it.

use super::*;

/// Writes this text and then fails.
fn broken(text: &str, retry: Retry) -> Line {
    broken_after(vec![ModelEvent::TextDelta(text.to_owned())], retry)
}

fn broken_after(events: Vec<ModelEvent>, retry: Retry) -> Line {
    let Line::Fail(error) = failing(retry) else { panic!("a failure") };
    Line::Break(events, error)
}

fn totals(events: &[Event]) -> &RunTotals {
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!("an end") };
    &end.totals
}

#[test]
fn an_answer_that_breaks_off_in_its_text_is_continued() {
    for retry in [Retry::Once, Retry::Fast, Retry::Backoff] {
        let stage = stage(vec![broken("one ", retry), say(&["two"])]);
        let events = check(&stage, "Started User Text(one ) AnswerInterrupted Text(two) Answer Completed");
        let requests = stage.provider.requests.lock().unwrap();
        let [prompt, partial, instruction] = requests[1].messages.as_slice() else {
            panic!("{:?}", requests[1].messages)
        };
        assert_eq!(prompt, &requests[0].messages[0]);
        assert_eq!(partial.as_ref(), &Message::Assistant(vec![Block::Text("one ".to_owned())]));
        let Message::User(texts) = instruction.as_ref() else { panic!("{instruction:?}") };
        assert!(texts.concat().contains("Continue exactly where that text stops"), "{texts:?}");
        let totals = totals(&events);
        assert_eq!((totals.continuations, totals.retries, totals.turns), (1, 0, 1));
    }
}

#[test]
fn an_answer_that_breaks_off_again_ends_the_run() {
    let stage = stage(vec![broken("one ", Retry::Fast), broken("two ", Retry::Fast), say(&["never"])]);
    let events = check(&stage, "Started User Text(one ) AnswerInterrupted Text(two ) Failed(provider)");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.partial.as_deref(), Some("one two "));
}

#[test]
fn the_request_for_the_rest_is_retried_before_its_first_text_like_any_other() {
    check(
        &stage(vec![broken("one ", Retry::Fast), failing(Retry::Fast), say(&["two"])]),
        "Started User Text(one ) AnswerInterrupted Retrying(1) Text(two) Answer Completed",
    );
}

#[test]
fn each_answer_of_a_run_may_be_continued_once() {
    let called = calls(vec![call("1", "look", json!({}))]);
    let stage =
        stage(vec![broken("one ", Retry::Fast), called, broken("two ", Retry::Fast), say(&["three"])]);
    let events = check(
        &stage,
        "Started User Text(one ) AnswerInterrupted Answer Call(1) Allowed(1) Done(1) Text(two ) AnswerInterrupted \
         Text(three) Answer Completed",
    );
    assert_eq!(totals(&events).continuations, 2);
}

/// What follows in the answer is not known, so nothing may be made of it.
#[test]
fn an_answer_that_breaks_off_after_a_call_began_is_not_continued() {
    let events = vec![ModelEvent::TextDelta("one ".to_owned()), ModelEvent::ToolCallStarted];
    check(
        &stage(vec![broken_after(events, Retry::Fast), say(&["never"])]),
        "Started User Text(one ) Failed(provider)",
    );
    // Without any text the request is simply repeated.
    check(
        &stage(vec![broken_after(vec![ModelEvent::ToolCallStarted], Retry::Fast), say(&["ok"])]),
        "Started User Retrying(1) Text(ok) Answer Completed",
    );
}

#[test]
fn a_failure_that_would_come_again_is_not_continued() {
    check(&stage(vec![broken("one ", Retry::Never)]), "Started User Text(one ) Failed(provider)");
}

#[test]
fn a_rest_that_is_empty_completes_the_answer() {
    check(
        &stage(vec![broken("all of it", Retry::Fast), say(&[])]),
        "Started User Text(all of it) AnswerInterrupted Answer Completed",
    );
    check(
        &stage(vec![broken(" ", Retry::Fast), say(&[]), say(&["ok"])]),
        "Started User Text( ) AnswerInterrupted Answer EmptyAnswer Text(ok) Answer Completed",
    );
}

#[test]
fn a_session_that_ended_at_any_point_of_a_continuation_is_resumed() {
    let first = stage(vec![broken("one ", Retry::Fast), say(&["two"])]);
    let (_, events) = play(&first, &[]);
    for cut in 3..=events.len() {
        let second = stage(vec![say(&["again"])]);
        // `play` itself holds that the replayed history is the one that the loop had.
        let (outcome, _) = play(&second, &events[..cut]);
        assert_eq!(outcome, RunOutcome::Completed, "cut {cut}");
        let requests = second.provider.requests.lock().unwrap();
        let partial = Message::Assistant(vec![Block::Text("one ".to_owned())]);
        assert_eq!(
            requests[0].messages.iter().filter(|message| ***message == partial).count(),
            1,
            "cut {cut}"
        );
        assert!(matches!(requests[0].messages.last().unwrap().as_ref(), Message::User(_)), "cut {cut}");
    }
}

#[test]
fn a_secret_at_the_break_is_kept_out_of_the_record_and_of_the_next_request() {
    let (begin, end) = SECRET.split_at(8);
    let deltas = [begin, end].map(|text| ModelEvent::TextDelta(text.to_owned())).to_vec();
    let stage = stage(vec![broken_after(deltas, Retry::Fast), say(&[" done"])]);
    let (_, events) = play(&stage, &[]);
    let requests = stage.provider.requests.lock().unwrap();
    assert!(!format!("{:?}", requests[1].messages).contains(SECRET));
    assert!(!format!("{events:?}").contains(SECRET));
}
