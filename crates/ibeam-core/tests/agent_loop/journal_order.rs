//! Requests from a journal whose lines were lost, repeated or moved: each call has exactly one result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Clock, Journal, ResumedState};
use ibeam_protocol::*;
use proptest::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

/// A clock that does not advance.
struct StoppedClock;

impl Clock for StoppedClock {
    fn unix_ms(&self) -> u64 {
        0
    }
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "read".to_owned(), arguments: json!({ "path": id }) }
}

fn user(text: &str) -> EventKind {
    EventKind::UserMessage { content: vec![text.to_owned()], attachments: Vec::new() }
}

fn answer(text: &str, calls: &[ToolCall]) -> EventKind {
    let text = (!text.is_empty()).then(|| Block::Text(text.to_owned()));
    let calls = calls.iter().cloned().map(Block::ToolCall);
    EventKind::ModelRequestFinished {
        model_call_id: "m".into(),
        answer: Box::new(Answer {
            blocks: text.into_iter().chain(calls).collect(),
            stop: StopReason::EndTurn,
            usage: None,
            refusal: None,
            request_id: None,
        }),
        api_ms: 1,
        cost_micros: None,
        costs: None,
        prefix: None,
    }
}

fn started(call: &ToolCall) -> EventKind {
    EventKind::ToolCallStarted { model_call_id: "m".into(), call: call.clone() }
}

fn finished(call: &ToolCall) -> EventKind {
    let for_model = format!("content of {}", call.id).as_str().into();
    let outcome = ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model };
    EventKind::ToolCallFinished { model_call_id: "m".into(), call: call.clone(), outcome: Box::new(outcome) }
}

/// Returns a journal: for each turn, an answer for each of the numbers, with that number of calls.
fn journal(turns: &[Vec<usize>]) -> Vec<Event> {
    let mut kinds = Vec::new();
    let mut number = 0;
    for (turn, answers) in turns.iter().enumerate() {
        kinds.push(user(&format!("prompt {turn}")));
        for count in answers {
            let calls: Vec<ToolCall> = (0..*count)
                .map(|_| {
                    number += 1;
                    call(&format!("c{number}"))
                })
                .collect();
            kinds.push(EventKind::TextDelta { text: "let me see".to_owned() });
            kinds.push(answer("let me see", &calls));
            kinds.extend(calls.iter().map(started));
            kinds.extend(calls.iter().map(finished));
        }
        kinds.push(answer("done", &[]));
        if turn % 3 == 2 {
            kinds.push(EventKind::Compacted(Box::new(Compacted {
                replaced: 3,
                summary: "so far".to_owned(),
                before_tokens: 9,
                after_tokens: 1,
                usage: None,
                api_ms: 1,
                cost_micros: None,
                costs: None,
                shortened_results: Vec::new(),
            })));
        }
    }
    let number = |(seq, kind)| Event { seq: seq as u64, at_ms: 0, kind };
    kinds.into_iter().enumerate().map(number).collect()
}

/// Returns the messages of the next request after a prompt, and the number of gaps.
fn resume(events: &[Event]) -> (Vec<Arc<Message>>, u64) {
    let mut past: ResumedState = events.iter().collect();
    let gaps = past.gaps();
    let seq = events.iter().map(|event| event.seq + 1).max().unwrap_or_default();
    past.fold(&Event { seq, at_ms: 0, kind: user("go on") });
    let (sender, _receiver) = mpsc::channel(1);
    (Journal::new(past, Arc::new(StoppedClock), sender).history().messages().to_vec(), gaps)
}

fn calls_of(message: &Message) -> Vec<CallId> {
    let Message::Assistant(blocks) = message else { return Vec::new() };
    let call = |block: &Block| match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        Block::Text(_) | Block::Thinking { .. } | Block::Opaque(_) => None,
    };
    blocks.iter().filter_map(call).collect()
}

/// Returns the first violation of the order of messages that every provider requires.
fn violation(messages: &[Arc<Message>]) -> Option<String> {
    if !matches!(messages.first().map(Arc::as_ref), Some(Message::User(_))) {
        return Some("the first message is not from the user".to_owned());
    }
    let mut ids = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let calls = calls_of(message);
        let results: Vec<CallId> = match messages.get(at + 1).map(Arc::as_ref) {
            Some(Message::ToolResults(results)) => results.iter().map(|it| it.call_id.clone()).collect(),
            Some(
                Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::Assistant(_),
            )
            | None => Vec::new(),
        };
        if calls != results {
            return Some(format!("calls {calls:?} have the results {results:?}"));
        }
        ids.extend(calls);
    }
    let total = ids.len();
    ids.sort();
    ids.dedup();
    (ids.len() < total).then(|| "a call is repeated".to_owned())
}

fn result_text(messages: &[Arc<Message>], id: &str) -> String {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(results),
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => None,
    });
    results
        .flatten()
        .find(|result| result.call_id == id.into())
        .map(|it| it.text.to_string())
        .unwrap_or_default()
}

/// Checks the request, the number of gaps, and the result of call `c1` after `edit`.
#[track_caller]
fn check(edit: fn(&mut Vec<Event>), gaps: u64, expect: &str) {
    // 0 prompt, 1 text, 2 answer, 3 and 4 starts, 5 and 6 results of c1 and c2, 7 text, 8 answer, …
    let mut events = journal(&[vec![2, 1]]);
    edit(&mut events);
    let (messages, counted) = resume(&events);
    assert_eq!(violation(&messages), None, "{messages:?}");
    assert_eq!(counted, gaps);
    let result = result_text(&messages, "c1");
    assert!(result.contains(expect) && result.is_empty() == expect.is_empty(), "{result}");
}

#[test]
fn calls_and_results_are_paired_whatever_line_is_lost_repeated_or_moved() {
    let content = "content of c1";
    check(|_| {}, 0, content);
    check(|events| drop(events.remove(5)), 1, "effect is unknown");
    check(|events| drop(events.drain(3..7)), 1, "may have been executed");
    check(|events| drop(events.remove(2)), 1, "");
    check(|events| drop(events.remove(0)), 1, content);
    check(|events| events.insert(2, events[2].clone()), 1, content);
    check(|events| events.insert(6, events[5].clone()), 1, content);
    check(|events| events.insert(9, events[2].clone()), 2, content);
    check(|events| events.swap(2, 5), 4, content);
    check(|events| events.swap(5, 8), 4, content);
    check(|events| events.swap(4, 5), 3, content);
}

#[test]
fn a_journal_in_order_has_no_gaps() {
    let events = journal(&[vec![2, 0], vec![], vec![1], vec![3, 3]]);
    let (messages, gaps) = resume(&events);
    assert_eq!((violation(&messages), gaps), (None, 0));
}

proptest! {
    #[test]
    fn no_request_has_unpaired_calls(
        turns in prop::collection::vec(prop::collection::vec(0..4_usize, 0..4), 1..5),
        edits in prop::collection::vec((0..3, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let mut events = journal(&turns);
        for (kind, one, other) in edits {
            if events.is_empty() {
                break;
            }
            let (one, other) = (one.index(events.len()), other.index(events.len()));
            match kind {
                0 => drop(events.remove(one)),
                1 => events.insert(other, events[one].clone()),
                _ => events.swap(one, other),
            }
        }
        let (messages, gaps) = resume(&events);
        prop_assert_eq!(violation(&messages), None);
        let in_order = events.iter().enumerate().all(|(at, event)| event.seq == at as u64);
        prop_assert_eq!(gaps == 0, in_order);
    }
}
