//! Hooks in the loop: they can narrow what the rules allow, and never widen it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{
    Approval, ApprovalRequest, Approver, Gate, HookBlock, HookDecision, HookEvent, HookOutput, Hooks,
};
use ibeam_policy::{Access, ApprovalMode, Policy};
use ibeam_protocol::{EventKind, Notice, PermissionMode, Reason, RunOutcome, ToolCall, ToolOutcome};
use proptest::prelude::*;
use serde_json::json;

use super::{Fixture, call, calls_reply, fixture, run_turn, text_reply};

/// Hooks with one decision for every call and one for the prompt, which record the events.
#[derive(Default)]
struct RecordingHooks {
    call_decision: HookDecision,
    prompt_decision: HookDecision,
    context: Vec<String>,
    /// The messages with which the hooks continue a run, one after another.
    follow_ups: Vec<&'static str>,
    notices: Vec<Notice>,
    observed: Mutex<Vec<String>>,
}

impl Hooks for RecordingHooks {
    fn wants_tool_results(&self) -> bool {
        true
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        let mut follow_up = None;
        let (observed, decision) = match event {
            HookEvent::RunStart => ("begin".to_owned(), HookDecision::Continue),
            HookEvent::PromptSubmit(content) => (content.join("|"), self.prompt_decision.clone()),
            HookEvent::BeforeToolCall { call, is_rewritten: rewritten, .. } => {
                let again = if rewritten { " again" } else { "" };
                (format!("{} {}{again}", call.name, call.arguments), self.call_decision.clone())
            }
            HookEvent::AfterToolCall(ended) => {
                let result = match ended.outcome {
                    ToolOutcome::Success { .. } => "done",
                    ToolOutcome::Failure { .. } => "failed",
                    ToolOutcome::Rejected { .. } => "rejected",
                };
                (format!("{} {result}", ended.call.name), HookDecision::Continue)
            }
            HookEvent::AnswerEnd(end) => {
                follow_up = self.follow_ups.get(end.follow_ups as usize).map(|message| (*message).to_owned());
                (format!("answer end: {}", end.text), HookDecision::Continue)
            }
            HookEvent::AnswerReceived(_) | HookEvent::Compaction(_) => return None,
            HookEvent::SubagentEnd { .. } => return None,
            HookEvent::RunEnd(outcome) => {
                let end = if *outcome == RunOutcome::Completed { "end" } else { "failed end" };
                (end.to_owned(), HookDecision::Continue)
            }
        };
        self.observed.lock().unwrap().push(observed);
        let context = self.context.clone();
        let notices = self.notices.clone();
        Some(Box::pin(
            async move { HookOutput { decision, context, follow_up, notices, requests: Vec::new() } },
        ))
    }
}

fn block(ask: bool) -> HookDecision {
    let for_people = Some("not on Fridays".into());
    HookDecision::Block(HookBlock { hook: "guard".into(), message: "not here".into(), for_people, ask })
}

fn with_hooks(mut fixture: Fixture, hooks: RecordingHooks) -> (Fixture, Arc<RecordingHooks>) {
    let hooks = Arc::new(hooks);
    fixture.run.hooks = hooks.clone();
    (fixture, hooks)
}

/// Approves every call.
struct ApproveAll;

impl Approver for ApproveAll {
    fn decide<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a Access,
        _: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(Approval::Granted))
    }
}

#[test]
fn hooks_run_on_every_event_in_order() {
    let both = calls_reply(vec![call("1", "look", json!({})), call("2", "change", json!({}))]);
    let (fixture, hooks) = with_hooks(fixture(vec![both, text_reply(&["done"])]), RecordingHooks::default());
    let (outcome, _) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    let observed = hooks.observed.lock().unwrap().clone();
    let expect =
        ["begin", "do it", "look {}", "look done", "change {}", "change done", "answer end: done", "end"];
    assert_eq!(observed, expect);
}

#[test]
fn a_blocked_call_does_not_run_and_names_the_hook() {
    for ask in [false, true] {
        let reply = calls_reply(vec![call("1", "change", json!({}))]);
        let hooks = RecordingHooks { call_decision: block(ask), ..RecordingHooks::default() };
        let (fixture, hooks) = with_hooks(fixture(vec![reply, text_reply(&["done"])]), hooks);
        let (outcome, events) = run_turn(&fixture, &[]);
        assert_eq!(outcome, RunOutcome::Completed);
        let decided = events.iter().find_map(|event| match &event.kind {
            EventKind::PermissionDecided(decided) => Some((decided.allowed, decided.rule.clone())),
            _ => None,
        });
        assert_eq!(decided, Some((false, "hook: guard".to_owned())));
        let rejected = events.iter().any(|event| match &event.kind {
            EventKind::ToolCallFinished { outcome, .. } => {
                matches!(outcome.as_ref(), ToolOutcome::Rejected { reason } if reason == "not here")
            }
            _ => false,
        });
        assert!(rejected, "{events:?}");
        let observed = events.iter().find_map(|event| match &event.kind {
            EventKind::Notice(Notice::CallsDenied { count: 1, reasons }) => Some(reasons.clone()),
            _ => None,
        });
        assert_eq!(observed, Some(vec!["the hook `guard` refused it: not on Fridays".into()]));
        assert!(hooks.observed.lock().unwrap().contains(&"change rejected".to_owned()));
    }
}

#[test]
fn an_approval_lifts_only_a_block_that_asks() {
    for (ask, runs) in [(true, true), (false, false)] {
        let reply = calls_reply(vec![call("1", "change", json!({}))]);
        let hooks = RecordingHooks { call_decision: block(ask), ..RecordingHooks::default() };
        let (mut fixture, _) = with_hooks(fixture(vec![reply, text_reply(&["done"])]), hooks);
        let policy = Policy::new(PermissionMode::Default, "/w".into(), "/home/ann".into());
        fixture.run.gate = Gate::new(policy, Arc::new(ApproveAll));
        let (_, events) = run_turn(&fixture, &[]);
        assert_eq!(has_successful_call(&events), runs);
    }
}

/// Counts the questions, and approves every call.
struct CountingApprover {
    wants_preview: bool,
    questions: AtomicUsize,
}

impl Approver for CountingApprover {
    fn wants_preview(&self) -> bool {
        self.wants_preview
    }

    fn decide<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a Access,
        _: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        self.questions.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Approval::Granted))
    }
}

#[test]
fn a_call_that_would_fail_is_not_asked_about_and_not_executed() {
    for (tool, wants_preview, is_asked) in
        [("change", true, false), ("change", false, true), ("outside", true, true)]
    {
        let reply = calls_reply(vec![call("1", tool, json!({"failure": "does not fit"}))]);
        let mut fixture = fixture(vec![reply, text_reply(&["done"])]);
        let approver = Arc::new(CountingApprover { wants_preview, questions: AtomicUsize::new(0) });
        let mut policy = Policy::new(PermissionMode::Default, "/w".into(), "/home/ann".into());
        policy.approval = ApprovalMode::Strict;
        policy.asks_about_outside = true;
        fixture.run.gate = Gate::new(policy, approver.clone());
        let (outcome, events) = run_turn(&fixture, &[]);
        assert_eq!(outcome, RunOutcome::Completed);
        assert_eq!(approver.questions.load(Ordering::SeqCst), usize::from(is_asked), "{tool}");
        // A file that may not be read without a question is not read for a preview either.
        assert_eq!(has_successful_call(&events), is_asked, "{tool}");
        let is_decided = events.iter().any(|event| matches!(event.kind, EventKind::PermissionDecided(_)));
        assert_eq!(is_decided, is_asked, "{tool}");
    }
}

#[test]
fn arguments_from_a_hook_are_checked_again_and_executed() {
    let reply = calls_reply(vec![call("1", "look", json!({"say": "a"}))]);
    let decision = HookDecision::UpdateInput { hook: "guard".into(), arguments: json!({"say": "b"}) };
    let hooks = RecordingHooks { call_decision: decision, ..RecordingHooks::default() };
    let (fixture, hooks) = with_hooks(fixture(vec![reply, text_reply(&["done"])]), hooks);
    let (_, events) = run_turn(&fixture, &[]);
    let started = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallStarted { call, .. } => Some(call.arguments.clone()),
        _ => None,
    });
    assert_eq!(started, Some(json!({"say": "b"})));
    let observed = hooks.observed.lock().unwrap().clone();
    assert_eq!(observed[2..4], ["look {\"say\":\"a\"}", "look {\"say\":\"b\"} again"]);
}

#[test]
fn invalid_arguments_from_a_hook_refuse_the_call() {
    let reply = calls_reply(vec![call("1", "look", json!({}))]);
    let decision = HookDecision::UpdateInput { hook: "guard".into(), arguments: json!("no object") };
    let hooks = RecordingHooks { call_decision: decision, ..RecordingHooks::default() };
    let (fixture, _) = with_hooks(fixture(vec![reply, text_reply(&["done"])]), hooks);
    let (_, events) = run_turn(&fixture, &[]);
    assert!(!has_successful_call(&events), "{events:?}");
}

#[test]
fn a_refused_prompt_is_not_part_of_the_conversation() {
    let hooks = RecordingHooks { prompt_decision: block(false), ..RecordingHooks::default() };
    let (fixture, hooks) = with_hooks(fixture(vec![]), hooks);
    let (outcome, events) = run_turn(&fixture, &[]);
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
    assert_eq!(hooks.observed.lock().unwrap().last().unwrap(), "failed end");
}

#[test]
fn context_from_a_hook_is_user_text() {
    let hooks = RecordingHooks { context: vec!["it is Monday".into()], ..RecordingHooks::default() };
    let (fixture, _) = with_hooks(fixture(vec![text_reply(&["done"])]), hooks);
    let (_, events) = run_turn(&fixture, &[]);
    let texts = events.iter().find_map(|event| match &event.kind {
        EventKind::UserMessage { content, .. } => Some(content.clone()),
        _ => None,
    });
    // The hook adds it at the start of the run and at the prompt.
    assert_eq!(texts.unwrap(), ["do it", "it is Monday", "it is Monday"]);
}

#[test]
fn notices_from_hooks_are_recorded() {
    let notice = Notice::HookFailed { hook: "h".into(), event: "e".into(), detail: "s".into() };
    let hooks = RecordingHooks { notices: vec![notice.clone()], ..RecordingHooks::default() };
    let (fixture, _) = with_hooks(fixture(vec![text_reply(&["done"])]), hooks);
    let (_, events) = run_turn(&fixture, &[]);
    let observed = events.iter().filter(|event| event.kind == EventKind::Notice(notice.clone()));
    // At the start, the prompt, the end of the answer and the end.
    assert_eq!(observed.count(), 4);
}

/// Each message of a hook is answered, and the hooks run again at the end of that answer.
#[test]
fn hooks_continue_a_run_with_messages() {
    let hooks = RecordingHooks { follow_ups: vec!["run the tests", "again"], ..RecordingHooks::default() };
    let replies = vec![text_reply(&["one"]), text_reply(&["two"]), text_reply(&["three"])];
    let (fixture, hooks) = with_hooks(fixture(replies), hooks);
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Completed);
    let messages = events.iter().filter_map(|event| match &event.kind {
        EventKind::UserMessage { content, .. } => Some(content.join("|")),
        EventKind::HookMessage { text } => Some(format!("hook: {text}")),
        _ => None,
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["do it", "hook: run the tests", "hook: again"]);
    let observed = hooks.observed.lock().unwrap().clone();
    let expect = ["begin", "do it", "answer end: one", "answer end: two", "answer end: three", "end"];
    assert_eq!(observed, expect);
}

/// The context that hooks add after a call reaches the model with the next request.
#[test]
fn context_after_a_call_is_a_message_of_the_user() {
    let reply = calls_reply(vec![call("1", "look", json!({}))]);
    let hooks = RecordingHooks { context: vec!["format it".to_owned()], ..RecordingHooks::default() };
    let (fixture, _) = with_hooks(fixture(vec![reply, text_reply(&["done"])]), hooks);
    let (_, events) = run_turn(&fixture, &[]);
    let messages = events.iter().filter_map(|event| match &event.kind {
        EventKind::HookMessage { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["format it"]);
}

/// A hook that never answers: the stop of the run does not wait for it.
#[test]
fn a_stop_does_not_wait_for_hooks() {
    struct HangingHooks;
    impl Hooks for HangingHooks {
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
                HookEvent::RunStart
                | HookEvent::PromptSubmit(_)
                | HookEvent::AfterToolCall(_)
                | HookEvent::AnswerReceived(_)
                | HookEvent::Compaction(_)
                | HookEvent::AnswerEnd(_)
                | HookEvent::SubagentEnd { .. } => None,
            }
        }
    }
    let reply = calls_reply(vec![call("1", "change", json!({}))]);
    let mut fixture = fixture(vec![reply]);
    fixture.run.hooks = Arc::new(HangingHooks);
    let stop = fixture.run.stop.clone();
    let request = std::thread::spawn(move || stop.request(Reason::TimedOut { timeout_ms: 1 }));
    let (outcome, _) = run_turn(&fixture, &[]);
    request.join().unwrap();
    let RunOutcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.reason, Reason::TimedOut { timeout_ms: 1 });
}

/// If a stop comes before the hooks have checked the prompt, no later run sends it.
#[test]
fn a_prompt_that_hooks_have_not_checked_is_not_part_of_the_conversation() {
    struct HangingHooks;
    impl Hooks for HangingHooks {
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
    let mut fixture = fixture(vec![]);
    fixture.run.hooks = Arc::new(HangingHooks);
    fixture.run.stop.request(Reason::TimedOut { timeout_ms: 1 });
    let (_, events) = run_turn(&fixture, &[]);
    assert!(ibeam_core::History::replay(&events).messages().is_empty(), "{events:?}");
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::PromptWithheld { .. })));
}

fn has_successful_call(events: &[ibeam_protocol::Event]) -> bool {
    events.iter().any(|event| {
        matches!(
            &event.kind,
            EventKind::ToolCallFinished { outcome, .. } if matches!(**outcome, ToolOutcome::Success { .. })
        )
    })
}

proptest! {
    /// A call that the rules refuse does not run, whatever the hook decides.
    #[test]
    fn no_decision_of_a_hook_allows_a_refused_call(
        tool in prop::sample::select(vec!["outside", "change", "look"]),
        kind in 0..4,
        key in "[a-z]{0,6}",
        value in "[a-z]{0,6}",
    ) {
        let decision = match kind {
            0 => HookDecision::Continue,
            1 => HookDecision::UpdateInput { hook: "h".into(), arguments: json!({ key: value }) },
            kind => block(kind == 2),
        };
        let reply = || calls_reply(vec![call("1", tool, json!({}))]);
        let alone = has_successful_call(&run_turn(&fixture(vec![reply(), text_reply(&["done"])]), &[]).1);
        let hooks = RecordingHooks { call_decision: decision, ..RecordingHooks::default() };
        let (fixture, _) = with_hooks(fixture(vec![reply(), text_reply(&["done"])]), hooks);
        let hooked = has_successful_call(&run_turn(&fixture, &[]).1);
        prop_assert!(alone || !hooked);
    }
}
