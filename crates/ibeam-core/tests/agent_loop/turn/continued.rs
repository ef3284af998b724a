//! Runs that were killed at any event, and continue.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Returns the script of a run: an answer with these calls each, then a text.
fn script(answers: &[Vec<&'static str>]) -> Vec<Reply> {
    let calls = |(number, names): (usize, &Vec<&'static str>)| {
        let call = |(index, name): (usize, &&'static str)| match *name {
            "untouched" => call(
                &format!("{number}.{index}"),
                "change",
                json!({ "untouched": true, "n": number * 10 + index }),
            ),
            // Equal calls would be warned of.
            name => call(&format!("{number}.{index}"), name, json!({ "n": number * 10 + index })),
        };
        calls_reply(names.iter().enumerate().map(call).collect())
    };
    answers.iter().enumerate().map(calls).chain([text_reply(&["all ", "done"])]).collect()
}

/// Runs the script, forgets the events after the first `kept`, and continues. Returns the first events, those of the
/// continuation, and its requests.
fn kill_and_continue(replies: &[Reply], kept: usize) -> (Vec<Event>, Vec<Event>, Vec<Arc<ModelRequest>>) {
    let (_, events) = run_turn(&fixture(replies.to_vec()), &[]);
    let past = &events[..kept.min(events.len() - 1)];
    let answered = past.iter().filter(|event| matches!(event.kind, EventKind::ModelRequestFinished { .. }));
    // A request too many would find no reply.
    let mut second = fixture(replies[answered.count()..].to_vec());
    second.run.head.continues = true;
    let (outcome, after) = run_turn(&second, past);
    assert_eq!(outcome, RunOutcome::Completed);
    assert_eq!(second.provider.replies.lock().unwrap().len(), 0);
    let requests = second.provider.requests.lock().unwrap().clone();
    (past.to_vec(), after, requests)
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("look"), Just("change"), Just("untouched")]
}

proptest! {
    /// An answer that is in the journal is never requested again, and its calls are executed. The model sees a kill only
    /// if a call may have had its effect or not.
    #[test]
    fn a_killed_run_continues_with_the_answers_that_it_has(
        answers in vec(vec(name(), 1..4), 0..4),
        kept in 2_usize..60,
    ) {
        let replies = script(&answers);
        let (past, after, requests) = kill_and_continue(&replies, kept);
        let history = History::replay(&past);
        let is_unknown = history.interrupted_calls().any(|call| {
            call.name == "change" && call.arguments["untouched"] != true
        });
        let log: Vec<Event> = past.iter().chain(&after).cloned().collect();
        let undisturbed = fixture(replies);
        let (_, events) = run_turn(&undisturbed, &[]);
        if is_unknown {
            let Some(Message::ToolResults(results)) =
                requests[0].messages.iter().rev().nth(1).map(AsRef::as_ref)
            else {
                panic!("{:?}", requests[0].messages)
            };
            prop_assert!(results.iter().any(|result| result.text.contains("its effect is unknown")));
        } else {
            let (continued, expected) = (History::replay(&log), History::replay(&events));
            prop_assert_eq!(continued.messages(), expected.messages());
        }
    }
}

#[test]
fn calls_that_had_not_started_are_executed_unless_the_effect_of_an_earlier_one_is_unknown() {
    let replies = script(&[vec!["look", "change", "look"]]);
    let after = |kept_until: &str| {
        let (_, events) = run_turn(&fixture(replies.clone()), &[]);
        let kept = events.iter().position(|event| kind_name(&event.kind) == kept_until).unwrap() + 1;
        let (_, after, _) = kill_and_continue(&replies, kept);
        after.iter().map(|event| kind_name(&event.kind)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        after("Done(0.0)"),
        "Started Call(0.1) Allowed(0.1) Done(0.1) Call(0.2) Allowed(0.2) Done(0.2) Text(all ) Text(done) Answer Completed"
    );
    assert_eq!(
        after("Allowed(0.1)"),
        "Started Evidence(0.1) Hook([The run was interrupted here. Continue with the task.]) Text(all ) Text(done) \
         Answer Completed"
    );
}

#[test]
fn the_calls_of_an_answer_that_was_cut_are_not_executed_by_the_next_process() {
    let cut = Reply::Complete(vec![finished(
        vec![Block::ToolCall(call("1", "change", json!({})))],
        StopReason::MaxTokens,
    )]);
    let (_, after, _) = kill_and_continue(&[cut, text_reply(&["ok"])], 4);
    assert!(!after.iter().any(|event| matches!(event.kind, EventKind::ToolCallStarted { .. })));
}
