//! Answers that break off in their text: the text stays, and one request continues it.

use super::*;

/// Returns a reply that sends this text and then fails.
fn broken_reply(text: &str, retry: Retry) -> Reply {
    broken_reply_after(vec![ModelEvent::TextDelta(text.to_owned())], retry)
}

fn broken_reply_after(events: Vec<ModelEvent>, retry: Retry) -> Reply {
    let Reply::Fail(error) = failed_reply(retry) else { panic!("a failure") };
    Reply::BreakOff(events, error)
}

fn totals(events: &[Event]) -> &RunTotals {
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!("an end") };
    &end.totals
}

#[test]
fn an_answer_that_breaks_off_in_its_text_is_continued() {
    for retry in [Retry::Once, Retry::Fast, Retry::Backoff] {
        let fixture = fixture(vec![broken_reply("one ", retry), text_reply(&["two"])]);
        let events = check(&fixture, "Started User Text(one ) AnswerInterrupted Text(two) Answer Completed");
        let requests = fixture.provider.requests.lock().unwrap();
        let [prompt, partial, instruction] = requests[1].messages.as_slice() else {
            panic!("{:?}", requests[1].messages)
        };
        assert_eq!(prompt, &requests[0].messages[0]);
        assert_eq!(partial.as_ref(), &Message::Assistant(vec![Block::Text("one ".to_owned())]));
        let Message::User(parts) = instruction.as_ref() else { panic!("{instruction:?}") };
        assert!(parts[0].as_text().contains("Continue exactly where that text stops"), "{parts:?}");
        let totals = totals(&events);
        assert_eq!((totals.continuations, totals.retries, totals.turns), (1, 0, 1));
    }
}

#[test]
fn an_answer_that_breaks_off_again_ends_the_run() {
    let fixture = fixture(vec![
        broken_reply("one ", Retry::Fast),
        broken_reply("two ", Retry::Fast),
        text_reply(&["never"]),
    ]);
    let events = check(&fixture, "Started User Text(one ) AnswerInterrupted Text(two ) Failed(provider)");
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(end.partial.as_deref(), Some("one two "));
}

#[test]
fn the_continuation_request_is_retried_before_its_first_text() {
    check(
        &fixture(vec![broken_reply("one ", Retry::Fast), failed_reply(Retry::Fast), text_reply(&["two"])]),
        "Started User Text(one ) AnswerInterrupted Retrying(1) Text(two) Answer Completed",
    );
}

#[test]
fn each_answer_of_a_run_may_be_continued_once() {
    let called = calls_reply(vec![call("1", "look", json!({}))]);
    let fixture = fixture(vec![
        broken_reply("one ", Retry::Fast),
        called,
        broken_reply("two ", Retry::Fast),
        text_reply(&["three"]),
    ]);
    let events = check(
        &fixture,
        "Started User Text(one ) AnswerInterrupted Answer Call(1) Allowed(1) Done(1) Text(two ) AnswerInterrupted \
         Text(three) Answer Completed",
    );
    assert_eq!(totals(&events).continuations, 2);
}

/// The rest of the call is unknown, so the answer cannot be continued.
#[test]
fn an_answer_that_breaks_off_after_a_call_began_is_not_continued() {
    let events = vec![ModelEvent::TextDelta("one ".to_owned()), ModelEvent::ToolCallAnnounced];
    check(
        &fixture(vec![broken_reply_after(events, Retry::Fast), text_reply(&["never"])]),
        "Started User Text(one ) Failed(provider)",
    );
    // Without any text the request is simply repeated.
    check(
        &fixture(vec![
            broken_reply_after(vec![ModelEvent::ToolCallAnnounced], Retry::Fast),
            text_reply(&["ok"]),
        ]),
        "Started User Retrying(1) Text(ok) Answer Completed",
    );
}

#[test]
fn an_answer_is_not_continued_after_a_permanent_failure() {
    check(&fixture(vec![broken_reply("one ", Retry::Never)]), "Started User Text(one ) Failed(provider)");
}

#[test]
fn an_empty_continuation_completes_the_answer() {
    check(
        &fixture(vec![broken_reply("all of it", Retry::Fast), text_reply(&[])]),
        "Started User Text(all of it) AnswerInterrupted Answer Completed",
    );
    check(
        &fixture(vec![broken_reply(" ", Retry::Fast), text_reply(&[]), text_reply(&["ok"])]),
        "Started User Text( ) AnswerInterrupted Answer EmptyAnswer Text(ok) Answer Completed",
    );
}

#[test]
fn a_session_that_ended_at_any_point_of_a_continuation_is_resumed() {
    let first = fixture(vec![broken_reply("one ", Retry::Fast), text_reply(&["two"])]);
    let (_, events) = run_turn(&first, &[]);
    for cut in 4..=events.len() {
        let second = fixture(vec![text_reply(&["again"])]);
        // `run_turn` checks that the replayed history equals the history of the loop.
        let (outcome, _) = run_turn(&second, &events[..cut]);
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
    let fixture = fixture(vec![broken_reply_after(deltas, Retry::Fast), text_reply(&[" done"])]);
    let (_, events) = run_turn(&fixture, &[]);
    let requests = fixture.provider.requests.lock().unwrap();
    assert!(!format!("{:?}", requests[1].messages).contains(SECRET));
    assert!(!format!("{events:?}").contains(SECRET));
}
