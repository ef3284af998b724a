//! The loop with a scripted provider: replies in, events out.

#[path = "turn/background.rs"]
mod background;
#[path = "turn/bound_thinking.rs"]
mod bound_thinking;
#[path = "turn/changed_prompt.rs"]
mod changed_prompt;
#[path = "turn/compact.rs"]
mod compact;
#[path = "turn/continued.rs"]
mod continued;
#[path = "turn/early_request.rs"]
mod early_request;
#[path = "turn/endings.rs"]
mod endings;
#[path = "turn/fallback.rs"]
mod fallback;
#[path = "turn/hooks.rs"]
mod hooks;
#[path = "turn/images.rs"]
mod images;
#[path = "turn/interrupted.rs"]
mod interrupted;
#[path = "turn/limits.rs"]
mod limits;
#[path = "turn/refused_parts.rs"]
mod refused_parts;
#[path = "turn/scoped_rules.rs"]
mod scoped_rules;
#[path = "turn/secrets.rs"]
mod secrets;
#[path = "turn/steering.rs"]
mod steering;
#[path = "turn/strict_service.rs"]
mod strict_service;
#[path = "turn/structured.rs"]
mod structured;
#[path = "turn/usage.rs"]
mod usage;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use ibeam_core::{
    Access, CallPreview, Clock, FailOn, Gate, History, Journal, ModelEvent, ModelRequest, ModelStream,
    NoApprover, PreparedCall, Provider, ProviderError, Redactor, RefusedPart, RequestLimits, ResumedState,
    Retry, RetryPolicy, Run, Stop, Tool, ToolContext, ToolInputError, ToolOrigin, ToolSet,
};
use ibeam_policy::{ApprovalMode, Policy};
use ibeam_protocol::*;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// An image with one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// A secret that must never be recorded.
const SECRET: &str = "sk-0123456789abcdef";
/// The secret inside other bytes, as Base64.
const SECRET_BASE64: &str = "AAAAc2stMDEyMzQ1Njc4OWFiY2RlZgAA";

/// A clock that advances only in `sleep`.
#[derive(Default)]
struct Jumping {
    now_ms: AtomicUsize,
}

impl Clock for Jumping {
    fn unix_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst) as u64
    }
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.unix_ms())
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.now_ms.fetch_add(duration.as_millis() as usize, Ordering::SeqCst);
        Box::pin(tokio::task::yield_now())
    }
}

/// A reply of the scripted provider.
#[derive(Clone)]
enum Reply {
    Complete(Vec<ModelEvent>),
    Fail(ProviderError),
    /// Sends these events and then fails.
    BreakOff(Vec<ModelEvent>, ProviderError),
    /// Sends these events and then never ends.
    Hang(Vec<ModelEvent>),
}

struct ScriptedProvider {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Arc<ModelRequest>>>,
}

impl Provider for ScriptedProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front().expect("the script has another reply");
        match reply {
            Reply::Complete(events) => futures_util::stream::iter(events.into_iter().map(Ok)).boxed(),
            Reply::Fail(error) => futures_util::stream::iter([Err(error)]).boxed(),
            Reply::BreakOff(events, error) => {
                futures_util::stream::iter(events.into_iter().map(Ok).chain([Err(error)])).boxed()
            }
            Reply::Hang(events) => futures_util::stream::iter(events.into_iter().map(Ok))
                .chain(futures_util::stream::pending())
                .boxed(),
        }
    }
}

fn finished(blocks: Vec<Block>, stop: StopReason) -> ModelEvent {
    let usage = Some(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() });
    ModelEvent::Finished(Box::new(Answer {
        blocks,
        stop,
        refusal: None,
        usage,
        request_id: Some("req".to_owned()),
    }))
}

/// Returns an answer in these deltas.
fn text_reply(deltas: &[&str]) -> Reply {
    let mut events: Vec<_> = deltas.iter().map(|text| ModelEvent::TextDelta((*text).to_owned())).collect();
    let text = deltas.concat();
    let blocks = if text.is_empty() { vec![] } else { vec![Block::Text(text)] };
    events.push(finished(blocks, StopReason::EndTurn));
    Reply::Complete(events)
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.to_owned(), arguments }
}

fn calls_reply(calls: Vec<ToolCall>) -> Reply {
    let blocks = calls.into_iter().map(Block::ToolCall).collect();
    Reply::Complete(vec![finished(blocks, StopReason::ToolUse)])
}

fn failed_reply(retry: Retry) -> Reply {
    let reason = Reason::ProviderFailed { provider: "p".to_owned(), detail: "down".to_owned() };
    Reply::Fail(ProviderError::new(reason, retry))
}

/// A tool whose name decides what it does: `look` and `change` read and write, `repeat` returns a long result, `leak`
/// returns the secret, `wait` ends when the run is stopped, `hang` never ends.
#[derive(Clone)]
struct Probe {
    name: &'static str,
    access: Access,
    running: Arc<AtomicUsize>,
    max_running: Arc<AtomicUsize>,
}

impl Tool for Probe {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.into(),
            description: "a probe".into(),
            parameters: json!({"type": "object"}).into(),
        }
    }
    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        if !arguments.is_object() {
            return Err(ToolInputError("the arguments should be an object".into()));
        }
        let Self { name, running, max_running, .. } = self.clone();
        let wanted = arguments.clone();
        Ok(PreparedCall::new(arguments.clone(), self.access.clone(), async move |context: ToolContext| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            max_running.fetch_max(now, Ordering::SeqCst);
            match name {
                "wait" => drop(context.stop.wait().await),
                "hang" => std::future::pending().await,
                _ => tokio::task::yield_now().await,
            }
            running.fetch_sub(1, Ordering::SeqCst);
            let leak = format!("the key is {SECRET}, c2stMDEyMzQ1Njc4OWFiY2RlZg== too");
            let long = "x".repeat(wanted["bytes"].as_u64().unwrap_or(0) as usize);
            let text = match name {
                "leak" => leak.as_str(),
                "repeat" => long.as_str(),
                _ => wanted["say"].as_str().unwrap_or("done"),
            };
            let text = text.into();
            let image = wanted["image"].as_str();
            if let Some(data) = image.map(image_data) {
                return ToolOutcome::Success { output: image_output(data), for_model: text };
            }
            ToolOutcome::Success { output: ToolOutput::Other(json!(null)), for_model: text }
        }))
    }
    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        _: &'a Access,
        _: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        let failure = arguments["failure"].as_str();
        let preview =
            failure.map_or(CallPreview::Unknown, |why| CallPreview::Failure(ToolOutcome::error(why)));
        Box::pin(std::future::ready(preview))
    }
    fn origin(&self) -> Option<ToolOrigin<'_>> {
        // A tool of a server, for tests of what services refuse.
        self.name.strip_prefix("mcp_s_").map(|tool| ToolOrigin { server: "s", tool })
    }
    fn evidence(&self, arguments: &Value) -> Option<String> {
        (self.name == "change").then(|| format!("{arguments} changed nothing"))
    }
    fn has_no_effect_yet(&self, arguments: &Value) -> bool {
        arguments["untouched"] == true
    }
}

/// Returns the content of an image by its name in a test.
fn image_data(which: &str) -> &str {
    match which {
        "plain" => PNG,
        "secret" => SECRET_BASE64,
        data => data,
    }
}

fn image(data: &str) -> Media {
    Media { name: "a.png".to_owned(), media_type: MediaType::Png, data: data.into() }
}

/// Returns the output of a tool that read an image.
fn image_output(data: &str) -> ToolOutput {
    ToolOutput::Read(ibeam_protocol::tool_output::ReadOutput {
        content: "image/png".to_owned(),
        is_empty: false,
        exceeded_limit: false,
        total_lines: 0,
        total_chars: 0,
        media: vec![image(data)],
    })
}

/// Returns a tool that reads.
fn probe() -> Probe {
    let access = Access::Read("/w/a".into());
    Probe { name: "look", access, running: Arc::default(), max_running: Arc::default() }
}

struct Fixture {
    provider: Arc<ScriptedProvider>,
    run: Run,
    max_running: Arc<AtomicUsize>,
}

fn fixture(replies: Vec<Reply>) -> Fixture {
    let provider =
        Arc::new(ScriptedProvider { replies: Mutex::new(replies.into()), requests: Mutex::default() });
    let (running, max_running) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let workspace = PathBuf::from("/w");
    let mut tools = ToolSet::new();
    for (name, access) in [
        ("look", Access::Read(workspace.join("a"))),
        ("repeat", Access::Read(workspace.join("a"))),
        ("leak", Access::Read(workspace.join("a"))),
        ("change", Access::Write(workspace.join("a"))),
        ("outside", Access::Write("/elsewhere/a".into())),
        ("wait", Access::Nothing),
        ("hang", Access::Nothing),
    ] {
        let probe =
            Probe { name, access, running: Arc::clone(&running), max_running: Arc::clone(&max_running) };
        tools.insert(name.to_owned(), Arc::new(probe));
    }
    let mut policy = Policy::new(PermissionMode::Default, workspace.clone(), "/home/ann".into());
    policy.approval = ApprovalMode::Allowlist;
    let head = RunStarted {
        session_id: SessionId::random(),
        cwd: workspace,
        model: ModelInfo { provider: "p".into(), id: "m".into(), display: "M".into() },
        key_source: KeySource::None,
        permission_mode: PermissionMode::Default,
        tools: tools.keys().cloned().collect(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: "0".into(),
        limits: Limits { max_turns: 50, ..Limits::NONE },
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
        ephemeral: false,
        environment: None,
    };
    let run = Run {
        head,
        provider: provider.clone(),
        fallbacks: Vec::new(),
        default_model: None,
        tools,
        gate: Gate::new(policy, Arc::new(NoApprover)),
        hooks: Arc::new(ibeam_core::NoHooks),
        retry: RetryPolicy::default(),
        fail_on: FailOn::default(),
        answer_schema: None,
        clock: Arc::new(Jumping::default()),
        prompt: vec![prompt_part("role", PromptOwner::User, "be good")],
        max_output_tokens: None,
        context_window: None,
        binds_thinking: false,
        request_limits: RequestLimits::default(),
        prices: None,
        checkpoints: Arc::new(ibeam_core::NoCheckpoints),
        background: Arc::new(ibeam_core::NoBackground),
        await_background: false,
        precondition: Arc::new(|| None),
        file_timeout: Duration::from_secs(60),
        steering: Arc::new(ibeam_core::NoSteering),
        output_observer: None,
        scoped_rules: Arc::new(ibeam_core::NoScopedRules),
        stop: Stop::default(),
    };
    Fixture { provider, run, max_running }
}

fn prompt_part(name: &str, owner: PromptOwner, text: &str) -> PromptPart {
    PromptPart { name: name.to_owned(), owner, text: text.to_owned() }
}

/// Runs a turn on the session `past`. Returns the outcome and all events.
fn run_turn(fixture: &Fixture, past: &[Event]) -> (RunOutcome, Vec<Event>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (sender, mut receiver) = mpsc::channel::<ibeam_core::Envelope>(4);
        let mut state = match fixture.run.head.continues {
            true => ResumedState::for_continuation(),
            false => ResumedState::default(),
        };
        past.iter().for_each(|event| state.fold(event));
        let mut journal = Journal::new(state, Arc::clone(&fixture.run.clock), sender)
            .with_redactor(Redactor::new([SECRET.to_owned()]));
        let reader = async {
            let mut events = Vec::new();
            while let Some(envelope) = receiver.recv().await {
                if let Some(receipt) = envelope.receipt {
                    let _ = receipt.send(());
                }
                events.push(envelope.event);
            }
            events
        };
        let turn = async move {
            let outcome = fixture
                .run
                .run_turn(&mut journal, vec!["do it".to_owned()].into(), vec![])
                .await
                .unwrap()
                .outcome;
            let messages = journal.history().messages().to_vec();
            (outcome, messages)
        };
        let ((outcome, messages), events) = futures_util::future::join(turn, reader).await;
        // A resumed session depends on this: a replay of the log returns the history of the loop.
        let log: Vec<Event> = past.iter().chain(&events).cloned().collect();
        assert_eq!(History::replay(&log).messages(), messages);
        // Numbers have no gaps.
        for (seq, event) in log.iter().enumerate() {
            assert_eq!(event.seq, seq as u64);
        }
        (outcome, events)
    })
}

fn kind_name(kind: &EventKind) -> String {
    match kind {
        EventKind::RunStarted(_) => "Started".into(),
        EventKind::UserMessage { .. } => "User".into(),
        EventKind::PromptWithheld { .. } => "Refused".into(),
        EventKind::PromptRecorded(record) => match record.as_ref() {
            PromptRecord::Complete { .. } => "Prompt".to_owned(),
            PromptRecord::Change { .. } => "Change".to_owned(),
        },
        EventKind::RulesAdded { files, .. } => format!("Rules({})", files.join(", ")),
        EventKind::HookMessage { text } => format!("Hook({text})"),
        EventKind::HookRequestFinished(request) => format!("HookRequest({})", request.model),
        EventKind::TextDelta { text } => format!("Text({text})"),
        EventKind::ThinkingDelta { text } => format!("Thinking({text})"),
        EventKind::ModelRequestFinished { .. } => "Answer".into(),
        EventKind::PermissionDecided(decision) => {
            format!("{}({})", if decision.allowed { "Allowed" } else { "Refused" }, decision.call_id)
        }
        EventKind::ToolCallStarted { call, .. } => format!("Call({})", call.id),
        EventKind::ToolCallFinished { call, outcome, .. } => {
            let result = match outcome.as_ref() {
                ToolOutcome::Success { .. } => "Done",
                ToolOutcome::Failure { failure: ToolFailure::Interrupted, .. } => "Interrupted",
                ToolOutcome::Failure { .. } => "Failed",
                ToolOutcome::Rejected { .. } => "Rejected",
            };
            format!("{result}({})", call.id)
        }
        EventKind::ThinkingOmitted { messages } => format!("ThinkingOmitted({messages})"),
        EventKind::PartsOmitted(parts) => {
            let media = parts.media.iter().map(|_| "media".to_owned());
            format!(
                "PartsOmitted({})",
                parts.tools.iter().cloned().chain(media).collect::<Vec<_>>().join(",")
            )
        }
        EventKind::CallInterrupted { call_id, .. } => format!("Evidence({call_id})"),
        EventKind::CheckpointTaken(checkpoint) => format!("Checkpoint({})", checkpoint.commit),
        EventKind::Compacted(compacted) => format!("Compacted({})", compacted.replaced),
        EventKind::Retrying { attempt, .. } => format!("Retrying({attempt})"),
        EventKind::ModelRequestFailed { .. } => "RequestFailed".into(),
        EventKind::Notice(notice) => format!("{notice:?}").split([' ', '{']).next().unwrap().to_owned(),
        EventKind::RunFinished(end) => match &end.outcome {
            RunOutcome::Completed => "Completed".into(),
            RunOutcome::Failed(failure) => format!("Failed({})", failure.reason.code().as_str()),
        },
    }
}

#[track_caller]
fn check(fixture: &Fixture, expect: &str) -> Vec<Event> {
    let (_, events) = run_turn(fixture, &[]);
    // Every failure of a request has its own event before what follows from it.
    let is_shown = |event: &&Event| {
        !matches!(event.kind, EventKind::ModelRequestFailed { .. } | EventKind::PromptRecorded(_))
    };
    let kinds: Vec<String> = events.iter().filter(is_shown).map(|event| kind_name(&event.kind)).collect();
    assert_eq!(kinds.join(" "), expect);
    events
}

#[test]
fn an_answer_is_deltas_then_the_end() {
    check(&fixture(vec![text_reply(&["Hel", "lo"])]), "Started User Text(Hel) Text(lo) Answer Completed");
}

#[test]
fn a_call_is_started_decided_executed_and_reported_to_the_model() {
    let fixture = fixture(vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["ok"])]);
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Text(ok) Answer Completed");
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[1].messages.last().unwrap().as_ref() else { panic!() };
    assert_eq!((results[0].text.as_ref(), results[0].is_error), ("done", false));
}

/// A preface is part of every request and never of a message in the record.
#[test]
fn a_preface_precedes_the_conversation_in_every_request() {
    let mut fixture = fixture(vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["ok"])]);
    fixture.run.prompt.push(prompt_part("repository", PromptOwner::Repository, "the repository says"));
    check(&fixture, "Started User Answer Call(1) Allowed(1) Done(1) Text(ok) Answer Completed");
    for request in fixture.provider.requests.lock().unwrap().iter() {
        let Message::User(parts) = request.messages[0].as_ref() else { panic!() };
        assert_eq!(parts, &["the repository says".into(), "do it".into()]);
    }
}

#[test]
fn read_only_calls_run_concurrently_until_the_first_other_call() {
    let fixture = fixture(vec![
        calls_reply(vec![
            call("1", "look", json!({})),
            call("2", "look", json!({})),
            call("3", "change", json!({})),
            call("4", "look", json!({})),
        ]),
        text_reply(&["ok"]),
    ]);
    check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Call(2) Allowed(2) Done(2) Done(1) Call(3) Allowed(3) Done(3) \
         Call(4) Allowed(4) Done(4) Text(ok) Answer Completed",
    );
    assert_eq!(fixture.max_running.load(Ordering::SeqCst), 2);
}

#[test]
fn many_calls_run_eight_at_a_time_and_their_results_keep_the_order_of_the_calls() {
    let many: Vec<ToolCall> = (0..40).map(|n| call(&format!("c{n}"), "look", json!({ "n": n }))).collect();
    let fixture = fixture(vec![calls_reply(many.clone()), text_reply(&["ok"])]);
    run_turn(&fixture, &[]);
    assert_eq!(fixture.max_running.load(Ordering::SeqCst), 8);
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[1].messages.last().unwrap().as_ref() else { panic!() };
    assert!(results.iter().map(|result| &result.call_id).eq(many.iter().map(|call| &call.id)));
}

/// The number of calls is the largest that a provider accepts.
#[test]
fn each_of_thousands_of_calls_in_one_answer_has_a_result() {
    let many: Vec<ToolCall> = (0..4096).map(|n| call(&format!("c{n}"), "look", json!({ "n": n }))).collect();
    let fixture = fixture(vec![calls_reply(many.clone()), text_reply(&["ok"])]);
    assert_eq!(run_turn(&fixture, &[]).0, RunOutcome::Completed);
    let requests = fixture.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[1].messages.last().unwrap().as_ref() else { panic!() };
    assert!(results.iter().map(|result| &result.call_id).eq(many.iter().map(|call| &call.id)));
}

#[test]
fn a_refused_call_ends_as_rejected_and_is_counted() {
    let fixture = fixture(vec![calls_reply(vec![call("1", "outside", json!({}))]), text_reply(&["ok"])]);
    let events = check(
        &fixture,
        "Started User Answer Call(1) Refused(1) Rejected(1) Text(ok) Answer CallsDenied Completed",
    );
    let EventKind::RunFinished(end) = &events.last().unwrap().kind else { panic!() };
    assert_eq!(end.totals.denials.len(), 1);
    assert_eq!(end.totals.turns, 2);
    assert_eq!(
        end.totals.usage,
        Some(Usage { input: 2, output: 4, cache_read: 6, cache_write: 8, ..Usage::default() })
    );
}

#[test]
fn an_unknown_tool_and_broken_arguments_fail_the_call_and_not_the_run() {
    let fixture = fixture(vec![
        calls_reply(vec![call("1", "nope", json!({})), call("2", "look", json!("{broken"))]),
        text_reply(&["ok"]),
    ]);
    check(&fixture, "Started User Answer Call(1) Failed(1) Call(2) Failed(2) Text(ok) Answer Completed");
}

#[test]
fn a_failed_request_is_retried_only_before_its_first_text() {
    check(
        &fixture(vec![failed_reply(Retry::Backoff), failed_reply(Retry::Fast), text_reply(&["ok"])]),
        "Started User Retrying(1) Retrying(2) Text(ok) Answer Completed",
    );
    check(&fixture(vec![failed_reply(Retry::Never)]), "Started User Failed(provider)");
    let half = || vec![ModelEvent::TextDelta("half".into())];
    check(&fixture(vec![Reply::Complete(half())]), "Started User Text(half) Failed(internal)");
}

#[test]
fn the_number_of_retries_is_limited() {
    let replies = vec![failed_reply(Retry::Backoff); 6];
    check(
        &fixture(replies),
        "Started User Retrying(1) Retrying(2) Retrying(3) Retrying(4) Retrying(5) Failed(provider)",
    );
}

#[test]
fn an_empty_answer_is_requested_again_once_and_then_fails() {
    check(
        &fixture(vec![text_reply(&[]), text_reply(&["ok"])]),
        "Started User Answer EmptyAnswer Text(ok) Answer Completed",
    );
    check(
        &fixture(vec![text_reply(&[]), text_reply(&[" "])]),
        "Started User Answer EmptyAnswer Text( ) Answer Failed(empty)",
    );
}

#[test]
fn an_empty_last_answer_after_tool_work_is_a_success() {
    let replies = vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&[])];
    check(&fixture(replies.clone()), "Started User Answer Call(1) Allowed(1) Done(1) Answer Completed");
    let mut strict = fixture(replies);
    strict.run.fail_on.empty = true;
    check(&strict, "Started User Answer Call(1) Allowed(1) Done(1) Answer Failed(denied)");
}

#[test]
fn a_repeated_call_causes_a_warning_and_then_ends_the_run() {
    let same = || calls_reply(vec![call("1", "look", json!({}))]);
    let (_, events) = run_turn(&fixture((0..20).map(|_| same()).collect()), &[]);
    let notices = events.iter().filter(|event| kind_name(&event.kind) == "RepeatedCall").count();
    let done = events.iter().filter(|event| kind_name(&event.kind) == "Done(1)").count();
    assert_eq!((notices, done), (1, 10));
    assert_eq!(kind_name(&events.last().unwrap().kind), "Failed(limit)");
}

#[test]
fn turns_are_limited() {
    let mut fixture =
        fixture((0..5).map(|n| calls_reply(vec![call("1", "look", json!({ "n": n }))])).collect());
    fixture.run.head.limits.max_turns = 3;
    let (outcome, events) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::TurnLimit { limit: 3 }.into()));
    assert_eq!(events.iter().filter(|event| kind_name(&event.kind) == "Answer").count(), 3);
}

#[test]
fn calls_of_an_answer_that_was_cut_are_not_executed() {
    let cut = Reply::Complete(vec![finished(
        vec![Block::ToolCall(call("1", "change", json!({})))],
        StopReason::MaxTokens,
    )]);
    let fixture = fixture(vec![cut, text_reply(&["ok"])]);
    check(&fixture, "Started User Answer Call(1) Failed(1) AnswerCut Text(ok) Answer Completed");
    assert_eq!(fixture.max_running.load(Ordering::SeqCst), 0);
}

#[test]
fn a_stop_during_an_answer_retains_its_text() {
    let fixture = fixture(vec![Reply::Hang(vec![ModelEvent::TextDelta("half".into())])]);
    fixture.run.stop.request(Reason::Signalled(Signal::Int));
    let (outcome, _) = run_turn(&fixture, &[]);
    assert_eq!(outcome, RunOutcome::Failed(Reason::Signalled(Signal::Int).into()));
}

#[test]
fn a_stop_ends_running_calls_each_exactly_once() {
    let fixture =
        fixture(vec![calls_reply(vec![call("1", "wait", json!({})), call("2", "hang", json!({}))])]);
    let stop = fixture.run.stop.clone();
    let max_running = Arc::clone(&fixture.max_running);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while max_running.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            stop.request(Reason::TimedOut { timeout_ms: 1 });
        });
        let events = check(
            &fixture,
            "Started User Answer Call(1) Allowed(1) Call(2) Allowed(2) Done(1) Interrupted(2) Failed(timeout)",
        );
        // The next run must not show the model an open call.
        let replayed = History::replay(&events);
        let Message::ToolResults(results) = replayed.messages().last().unwrap().as_ref() else { panic!() };
        assert_eq!(results.len(), 2);
    });
}

#[test]
fn a_run_on_an_interrupted_session_closes_open_calls() {
    let first = fixture(vec![
        calls_reply(vec![call("1", "look", json!({})), call("2", "look", json!({}))]),
        text_reply(&["x"]),
    ]);
    let (_, events) = run_turn(&first, &[]);
    for cut in 1..events.len() {
        let past = &events[..cut];
        let second = fixture(vec![text_reply(&["again"])]);
        let (outcome, _) = run_turn(&second, past);
        assert_eq!(outcome, RunOutcome::Completed);
        let requests = second.provider.requests.lock().unwrap();
        let messages = &requests[0].messages;
        for (position, message) in messages.iter().enumerate() {
            if let Message::Assistant(blocks) = message.as_ref() {
                let called = blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count();
                if called > 0 {
                    let Message::ToolResults(results) = messages[position + 1].as_ref() else {
                        panic!("cut {cut}")
                    };
                    assert_eq!(results.len(), called, "cut {cut}");
                }
            }
        }
        assert!(matches!(messages.last().unwrap().as_ref(), Message::User(_)));
    }
}

#[test]
fn retry_delays_respect_the_provider_and_stay_within_bounds() {
    let policy = RetryPolicy::default();
    let error = |retry, retry_after_ms| {
        let reason = Reason::RateLimited { provider: "p".into(), detail: String::new() };
        let failure = Failure { retry_after_ms, ..reason.into() };
        ProviderError::new(failure, retry)
    };
    let overloaded = error(Retry::Backoff, None);
    for jitter in [0.0, 0.5, 1.0] {
        for attempt in 1..6 {
            let delay = policy.delay(&overloaded, attempt, jitter).unwrap();
            assert!(delay >= policy.backoff_base && delay <= policy.max_delay);
        }
    }
    assert_eq!(policy.delay(&overloaded, 6, 0.0), None);
    assert!(policy.delay(&error(Retry::Backoff, Some(2000)), 1, 0.0).unwrap() >= Duration::from_secs(2));
    assert_eq!(policy.delay(&error(Retry::Backoff, Some(3_600_000)), 1, 0.0), None);
    assert_eq!(policy.delay(&error(Retry::Never, None), 1, 0.0), None);
}
