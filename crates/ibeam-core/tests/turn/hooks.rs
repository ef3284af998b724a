//! Hooks as the loop hears them: they narrow, and never widen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{ApprovalRequest, Approver, Gate, HookBlock, HookDecision, HookEvent, HookOutput, Hooks};
use ibeam_policy::{Access, Policy};
use ibeam_protocol::{EventKind, Notice, PermissionMode, Reason, RunOutcome, ToolCall, ToolOutcome};
use proptest::prelude::*;
use serde_json::json;

use super::{Stage, call, calls, play, say, stage};

/// Says one thing to each call, another to the prompt, and keeps what it was told.
#[derive(Default)]
struct Watcher {
    of_calls: HookDecision,
    of_prompt: HookDecision,
    context: Vec<String>,
    notices: Vec<Notice>,
    observed: Mutex<Vec<String>>,
}

impl Hooks for Watcher {
    fn wants_tool_results(&self) -> bool {
        true
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        let (observed, word) = match event {
            HookEvent::RunStart => ("begin".to_owned(), HookDecision::Continue),
            HookEvent::PromptSubmit(content) => (content.join("|"), self.of_prompt.clone()),
            HookEvent::BeforeToolCall { call, is_rewritten: rewritten, .. } => {
                let again = if rewritten { " again" } else { "" };
                (format!("{} {}{again}", call.name, call.arguments), self.of_calls.clone())
            }
            HookEvent::AfterToolCall(ended) => {
                let how = match ended.outcome {
                    ToolOutcome::Success { .. } => "done",
                    ToolOutcome::Failure { .. } => "failed",
                    ToolOutcome::Rejected { .. } => "rejected",
                };
                (format!("{} {how}", ended.call.name), HookDecision::Continue)
            }
            HookEvent::RunEnd(outcome) => {
                let how = if *outcome == RunOutcome::Completed { "end" } else { "failed end" };
                (how.to_owned(), HookDecision::Continue)
            }
        };
        self.observed.lock().unwrap().push(observed);
        let context = self.context.clone();
        Some(Box::pin(async move { HookOutput { decision: word, context, notices: self.notices.clone() } }))
    }
}

fn block(ask: bool) -> HookDecision {
    let for_people = Some("not on Fridays".into());
    HookDecision::Block(HookBlock { hook: "guard".into(), message: "not here".into(), for_people, ask })
}

fn watched(mut stage: Stage, watcher: Watcher) -> (Stage, Arc<Watcher>) {
    let watcher = Arc::new(watcher);
    stage.run.hooks = watcher.clone();
    (stage, watcher)
}

/// Approves every call.
struct Willing;

impl Approver for Willing {
    fn decide<'a>(&'a self, _: &'a ToolCall, _: &'a Access, _: ApprovalRequest<'a>) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(true))
    }
}

#[test]
fn hooks_run_on_every_event_in_order() {
    let both = calls(vec![call("1", "look", json!({})), call("2", "change", json!({}))]);
    let (stage, watcher) = watched(stage(vec![both, say(&["done"])]), Watcher::default());
    let (outcome, _) = play(&stage, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    let observed = watcher.observed.lock().unwrap().clone();
    let expect = ["begin", "do it", "look {}", "look done", "change {}", "change done", "end"];
    assert_eq!(observed, expect);
}

#[test]
fn a_blocked_call_does_not_run_and_names_the_hook() {
    for ask in [false, true] {
        let line = calls(vec![call("1", "change", json!({}))]);
        let watcher = Watcher { of_calls: block(ask), ..Watcher::default() };
        let (stage, watcher) = watched(stage(vec![line, say(&["done"])]), watcher);
        let (outcome, events) = play(&stage, &[]);
        assert_eq!(outcome, RunOutcome::Completed);
        let decided = events.iter().find_map(|event| match &event.kind {
            EventKind::PermissionDecided(decided) => Some((decided.allowed, decided.rule.clone())),
            _ => None,
        });
        assert_eq!(decided, Some((false, "hook: guard".to_owned())));
        let rejected = events.iter().any(|event| match &event.kind {
            EventKind::ToolCallFinished { outcome: ToolOutcome::Rejected { reason }, .. } => {
                reason == "not here"
            }
            _ => false,
        });
        assert!(rejected, "{events:?}");
        let observed = events.iter().find_map(|event| match &event.kind {
            EventKind::Notice(Notice::CallsDenied { count: 1, reasons }) => Some(reasons.clone()),
            _ => None,
        });
        assert_eq!(observed, Some(vec!["the hook `guard` refused it: not on Fridays".to_owned()]));
        assert!(watcher.observed.lock().unwrap().contains(&"change rejected".to_owned()));
    }
}

#[test]
fn a_person_may_lift_what_a_hook_asks_about_and_nothing_else() {
    for (ask, runs) in [(true, true), (false, false)] {
        let line = calls(vec![call("1", "change", json!({}))]);
        let watcher = Watcher { of_calls: block(ask), ..Watcher::default() };
        let (mut stage, _) = watched(stage(vec![line, say(&["done"])]), watcher);
        let policy = Policy::new(PermissionMode::Default, "/w".into(), "/home/nobody".into());
        stage.run.gate = Gate::new(policy, Arc::new(Willing));
        let (_, events) = play(&stage, &[]);
        assert_eq!(finished_well(&events), runs);
    }
}

#[test]
fn other_arguments_of_a_hook_are_what_runs_and_they_are_judged_again() {
    let line = calls(vec![call("1", "look", json!({"say": "a"}))]);
    let word = HookDecision::UpdateInput { hook: "guard".into(), arguments: json!({"say": "b"}) };
    let watcher = Watcher { of_calls: word, ..Watcher::default() };
    let (stage, watcher) = watched(stage(vec![line, say(&["done"])]), watcher);
    let (_, events) = play(&stage, &[]);
    let started = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallStarted { call, .. } => Some(call.arguments.clone()),
        _ => None,
    });
    assert_eq!(started, Some(json!({"say": "b"})));
    let observed = watcher.observed.lock().unwrap().clone();
    assert_eq!(observed[2..4], ["look {\"say\":\"a\"}", "look {\"say\":\"b\"} again"]);
}

#[test]
fn arguments_of_a_hook_that_cannot_be_refuse_the_call() {
    let line = calls(vec![call("1", "look", json!({}))]);
    let word = HookDecision::UpdateInput { hook: "guard".into(), arguments: json!("no object") };
    let watcher = Watcher { of_calls: word, ..Watcher::default() };
    let (stage, _) = watched(stage(vec![line, say(&["done"])]), watcher);
    let (_, events) = play(&stage, &[]);
    assert!(!finished_well(&events), "{events:?}");
}

#[test]
fn a_refused_prompt_never_becomes_part_of_the_conversation() {
    let watcher = Watcher { of_prompt: block(false), ..Watcher::default() };
    let (stage, watcher) = watched(stage(vec![]), watcher);
    let (outcome, events) = play(&stage, &[]);
    let RunOutcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        failure.reason,
        Reason::PromptRefused { hook: "guard".into(), detail: "not on Fridays".into() }
    );
    assert!(!events.iter().any(|event| matches!(event.kind, EventKind::UserMessage { .. })));
    assert!(ibeam_core::History::replay(&events).messages().is_empty());
    let observed =
        events.iter().any(|event| event.kind == EventKind::PromptWithheld { content: vec!["do it".into()] });
    assert!(observed, "{events:?}");
    assert_eq!(watcher.observed.lock().unwrap().last().unwrap(), "failed end");
}

#[test]
fn context_of_a_hook_is_text_of_the_users() {
    let watcher = Watcher { context: vec!["it is Monday".into()], ..Watcher::default() };
    let (stage, _) = watched(stage(vec![say(&["done"])]), watcher);
    let (_, events) = play(&stage, &[]);
    let texts = events.iter().find_map(|event| match &event.kind {
        EventKind::UserMessage { content } => Some(content.clone()),
        _ => None,
    });
    // Of the beginning, and of the prompt.
    assert_eq!(texts.unwrap(), ["do it", "it is Monday", "it is Monday"]);
}

#[test]
fn what_hooks_have_for_people_is_recorded() {
    let notice = Notice::HookFailed { hook: "h".into(), event: "e".into(), detail: "s".into() };
    let watcher = Watcher { notices: vec![notice.clone()], ..Watcher::default() };
    let (stage, _) = watched(stage(vec![say(&["done"])]), watcher);
    let (_, events) = play(&stage, &[]);
    let observed = events.iter().filter(|event| event.kind == EventKind::Notice(notice.clone()));
    // Beginning, prompt and end.
    assert_eq!(observed.count(), 3);
}

/// A hook that never answers: the stop of the run does not wait for it.
#[test]
fn a_stop_does_not_wait_for_hooks() {
    struct Silent;
    impl Hooks for Silent {
        fn wants_tool_results(&self) -> bool {
            false
        }
        fn grace(&self) -> Duration {
            Duration::from_secs(1)
        }
        fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
            match event {
                HookEvent::BeforeToolCall { .. } | HookEvent::RunEnd(_) => {
                    Some(Box::pin(std::future::pending()))
                }
                HookEvent::RunStart | HookEvent::PromptSubmit(_) | HookEvent::AfterToolCall(_) => None,
            }
        }
    }
    let line = calls(vec![call("1", "change", json!({}))]);
    let mut stage = stage(vec![line]);
    stage.run.hooks = Arc::new(Silent);
    let stop = stage.run.stop.clone();
    let asked = std::thread::spawn(move || stop.request(Reason::TimedOut { timeout_ms: 1 }));
    let (outcome, _) = play(&stage, &[]);
    asked.join().unwrap();
    let RunOutcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.reason, Reason::TimedOut { timeout_ms: 1 });
}

/// A stop that comes before the hooks have judged the prompt: no later run sends it.
#[test]
fn a_prompt_that_was_not_judged_is_no_part_of_the_conversation() {
    struct Silent;
    impl Hooks for Silent {
        fn wants_tool_results(&self) -> bool {
            false
        }
        fn grace(&self) -> Duration {
            Duration::ZERO
        }
        fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
            matches!(event, HookEvent::PromptSubmit(_))
                .then(|| Box::pin(std::future::pending()) as BoxFuture<'a, HookOutput>)
        }
    }
    let mut stage = stage(vec![]);
    stage.run.hooks = Arc::new(Silent);
    stage.run.stop.request(Reason::TimedOut { timeout_ms: 1 });
    let (_, events) = play(&stage, &[]);
    assert!(ibeam_core::History::replay(&events).messages().is_empty(), "{events:?}");
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::PromptWithheld { .. })));
}

fn finished_well(events: &[ibeam_protocol::Event]) -> bool {
    events.iter().any(|event| {
        matches!(&event.kind, EventKind::ToolCallFinished { outcome: ToolOutcome::Success { .. }, .. })
    })
}

proptest! {
    /// Whatever a hook says, a call that the rules refuse does not run.
    #[test]
    fn no_decision_of_a_hook_allows_a_refused_call(
        tool in prop::sample::select(vec!["outside", "change", "look"]),
        kind in 0..4,
        key in "[a-z]{0,6}",
        value in "[a-z]{0,6}",
    ) {
        let word = match kind {
            0 => HookDecision::Continue,
            1 => HookDecision::UpdateInput { hook: "h".into(), arguments: json!({ key: value }) },
            kind => block(kind == 2),
        };
        let line = || calls(vec![call("1", tool, json!({}))]);
        let alone = finished_well(&play(&stage(vec![line(), say(&["done"])]), &[]).1);
        let watcher = Watcher { of_calls: word, ..Watcher::default() };
        let (stage, _) = watched(stage(vec![line(), say(&["done"])]), watcher);
        let hooked = finished_well(&play(&stage, &[]).1);
        prop_assert!(alone || !hooked);
    }
}
