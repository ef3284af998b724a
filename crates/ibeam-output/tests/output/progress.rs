//! The status line, and the details of a run on stderr.

use std::sync::Arc;

use ibeam_output::{Catalogue, Locale, Progress, RunDetails, RunDetailsOptions};
use ibeam_protocol::tool_output::{DeleteOutput, EditOutput, ShellOutput, Todo, TodoStatus, WriteOutput};
use ibeam_protocol::{
    Answer, Block, CallId, Event, EventKind, Reason, RunOutcome, RunTotals, StopReason, ToolCall,
    ToolFailure, ToolOutcome, ToolOutput, Usage,
};
use serde_json::json;

use crate::run_events::{self, RunEvents};

const VERBOSE: RunDetailsOptions =
    RunDetailsOptions { verbose: true, targets: false, actions: false, unfinished_answer_only: false };

fn english() -> Arc<Catalogue> {
    Arc::new(Catalogue::new(Locale::En))
}

/// Returns the activity after each event.
fn activities(events: &[Event]) -> Vec<String> {
    let (mut progress, catalogue) = (Progress::new(0), english());
    let mut activities = Vec::new();
    for event in events {
        progress.on_event(event);
        activities.push(progress.activity(&catalogue).unwrap_or_default());
    }
    activities
}

fn shell(id: &str, command: &str) -> ToolCall {
    let call = run_events::call("shell", json!({ "command": command }));
    ToolCall { id: CallId::from(id), ..call }
}

fn answer(blocks: Vec<Block>) -> EventKind {
    let usage = Usage { input: 900, output: 40, cache_read: 60, ..Usage::default() };
    let answer =
        Answer { blocks, stop: StopReason::EndTurn, refusal: None, usage: Some(usage), request_id: None };
    EventKind::ModelRequestFinished {
        model_call_id: "m1".into(),
        answer: Box::new(answer),
        api_ms: 1,
        cost_micros: None,
        costs: None,
        prefix: None,
    }
}

#[test]
fn the_activity_follows_the_events_of_a_run() {
    let (first, second) = (shell("1", "cargo test"), shell("2", "ls"));
    let reason = Reason::ProviderFailed { provider: "p".into(), detail: "d".into() };
    let events = RunEvents::new()
        .user("do it")
        .thinking("hm")
        .event(EventKind::Retrying { attempt: 1, delay_ms: 1, reason, usage: None })
        .text("I will")
        .event(answer(vec![Block::ToolCall(first.clone())]))
        .start_call(&first)
        .start_call(&second)
        .finish_call(&first, ToolOutcome::error("x"))
        .finish_call(&second, ToolOutcome::error("x"))
        .event(answer(Vec::new()))
        .completed();
    assert_eq!(
        activities(&events),
        [
            "starting",
            "waiting for the model",
            "the model is thinking",
            "waiting to repeat a failed request",
            "the model is writing",
            "waiting for the model",
            "waiting for shell: cargo test",
            "waiting for one more call and shell: cargo test",
            "waiting for shell: ls",
            "waiting for the model",
            "finishing",
            "",
        ],
    );
}

#[test]
fn the_status_has_the_time_of_the_activity_and_the_tokens_of_the_run() {
    let events = RunEvents::new().user("do it").text("a").text("b").event(answer(Vec::new())).events;
    let (mut progress, catalogue) = (Progress::new(0), english());
    let mut status = |count: usize, now_ms| {
        events.iter().skip(count).take(1).for_each(|event| progress.on_event(event));
        progress.status(&catalogue, now_ms)
    };
    assert_eq!(status(0, 3_999).as_deref(), Some("starting (2 s)"));
    assert_eq!(status(1, 4_001).as_deref(), Some("waiting for the model (3 s)"));
    assert_eq!(status(2, 4_001).as_deref(), Some("the model is writing (2 s)"), "since the first delta");
    assert_eq!(status(3, 4_002).as_deref(), Some("the model is writing (3 s)"), "since the first delta");
    assert_eq!(status(4, 1_004).as_deref(), Some("finishing (0 s, 1000 tokens)"));
}

#[test]
fn the_target_of_a_call_is_one_printable_line() {
    let events = RunEvents::new().start_call(&shell("1", "echo \u{1b}[31m\nls")).events;
    let last = activities(&events).pop().unwrap();
    assert_eq!(last, "waiting for shell: echo \\u{1b}[31m\\nls");
}

/// Returns the lines of all events.
fn details(events: &[Event], options: RunDetailsOptions) -> Vec<String> {
    let mut details = RunDetails::new(english(), options);
    events.iter().flat_map(|event| details.on_event(&event.kind)).collect()
}

fn write(path: &str, created: bool) -> ToolOutcome {
    let output =
        WriteOutput { path: path.into(), lines_created: 4, file_size: 9, created, diff: String::new() };
    run_events::success(ToolOutput::Write(output))
}

fn edit(path: &str, lines_added: u64, lines_removed: u64) -> ToolOutcome {
    let (diff, message) = (String::new(), String::new());
    let output = EditOutput { path: path.into(), lines_added, lines_removed, diff, message };
    run_events::success(ToolOutput::Edit(output))
}

fn delete(path: &str) -> ToolOutcome {
    run_events::success(ToolOutput::Delete(DeleteOutput { path: path.into(), file_size: 9 }))
}

#[test]
fn changed_files_have_the_sums_of_their_lines() {
    let call = run_events::call("edit", json!({}));
    let outcomes = [
        edit("/Users/user/project/src/a.rs", 3, 1),
        write("/Users/user/project/new.txt", true),
        edit("/Users/user/project/src/a.rs", 1, 4),
        edit("/Users/user/project/new.txt", 2, 1),
        write("/Users/user/project/old.txt", false),
        delete("/elsewhere/b.txt"),
        write("/Users/user/project/gone.txt", true),
        delete("/Users/user/project/gone.txt"),
    ];
    let run = outcomes.into_iter().fold(RunEvents::new(), |run, outcome| run.call(&call, outcome));
    assert_eq!(
        details(&run.completed(), RunDetailsOptions::default()),
        ["changed files", "  M src/a.rs +4 -5", "  A new.txt +5", "  M old.txt", "  D /elsewhere/b.txt",],
    );
}

#[test]
fn reasons_and_todos_follow_their_calls() {
    let shell = shell("1", "make");
    let output = ShellOutput {
        exit_code: 2,
        interleaved: "one\nmake: *** No rule\n\n".into(),
        ..ShellOutput::default()
    };
    let failed = |failure| ToolOutcome::Failure { failure, for_model: "for the model only".into() };
    let todo = |content: &str, status| Todo { id: "1".into(), content: content.into(), status };
    let todos = vec![todo("first", TodoStatus::Completed), todo("second", TodoStatus::InProgress)];
    let run = RunEvents::new()
        .call(&shell, failed(ToolFailure::CommandFailed(output)))
        .call(&shell, ToolOutcome::Rejected { reason: "no rule allows\nit".into() })
        .call(&run_events::call("update_todos", json!({})), run_events::success(ToolOutput::Todos(todos)));
    let usage = Usage { input: 900, output: 40, cache_read: 60, ..Usage::default() };
    let totals = RunTotals {
        turns: 2,
        tool_calls: 3,
        usage: Some(usage),
        cost_micros: Some(12_300),
        ..RunTotals::default()
    };
    let events = run.finish(RunOutcome::Completed, totals);
    assert_eq!(
        details(&events, VERBOSE),
        [
            "  exit code 2: make: *** No rule",
            "  no rule allows\\nit",
            "  [x] first",
            "  [>] second",
            "0 files changed by the file tools; what commands and MCP tools changed is not counted",
            "model requests: 2, calls: 3, time: 5.2 s",
            "tokens read: 960 (cached: 60), written: 40",
            "cost: $0.0123",
        ],
    );
    let closing = "0 files changed by the file tools; what commands and MCP tools changed is not counted";
    assert_eq!(details(&events, RunDetailsOptions::default()), [closing]);
}

#[test]
fn targets_reasons_and_changed_todos_follow_the_lines_of_actions() {
    let todo = |content: &str, status| Todo { id: "1".into(), content: content.into(), status };
    let todos = |first, second| {
        run_events::success(ToolOutput::Todos(vec![todo("first", first), todo("second", second)]))
    };
    let update = run_events::call("update_todos", json!({}));
    let read = |path: &str| run_events::call("read", json!({ "path": path }));
    let events = RunEvents::new()
        .call(&update, todos(TodoStatus::InProgress, TodoStatus::Pending))
        .call(&read("/Users/user/project/src/a.rs"), ToolOutcome::error("no such file"))
        .call(&read("/elsewhere/b.rs"), ToolOutcome::Rejected { reason: "no rule allows it".into() })
        .call(&shell("1", "ls"), run_events::success(ToolOutput::Shell(ShellOutput::default())))
        .call(&update, todos(TodoStatus::Completed, TodoStatus::Pending))
        .call(&update, todos(TodoStatus::Completed, TodoStatus::Pending))
        .completed();
    let targets = RunDetailsOptions { targets: true, ..RunDetailsOptions::default() };
    assert_eq!(
        details(&events, targets),
        [
            "  [>] first",
            "  [ ] second",
            "  src/a.rs",
            "  no such file",
            "  /elsewhere/b.rs",
            "  no rule allows it",
            "  ls",
            "  [x] first",
            "0 files changed by the file tools; what commands and MCP tools changed is not counted",
        ],
    );
}

#[test]
fn the_lines_of_actions_are_added_where_text_has_none() {
    let call = shell("1", "ls -l");
    let outcome = run_events::success(ToolOutput::Shell(ShellOutput::default()));
    let options = RunDetailsOptions { actions: true, ..VERBOSE };
    let lines = details(&RunEvents::new().call(&call, outcome).completed(), options);
    assert_eq!(lines.first().map(String::as_str), Some("Ran terminal command: ls -l"));
}

#[test]
fn the_text_of_a_failed_run_is_not_lost() {
    let reason = || Reason::Signalled(ibeam_protocol::Signal::Int);
    let run = || RunEvents::new().text("I will look.").call(&shell("1", "ls"), ToolOutcome::error("x"));
    let unfinished = |events: &[Event]| details(events, RunDetailsOptions::default());
    assert_eq!(unfinished(&run().failed(reason())), ["the answer so far", "I will look.", "0 files changed"]);
    let later = run().text("It is\u{1b} ").text("half").failed(reason());
    assert_eq!(unfinished(&later), ["the answer so far", "It is\\u{1b} half", "0 files changed"]);
    assert_eq!(unfinished(&run().text("done").completed()), ["0 files changed"], "`text` prints it");
    let complete = run().text("done").failed(Reason::ToolErrors { count: 1 });
    assert_eq!(unfinished(&complete), ["0 files changed"], "`text` prints it");
}

#[test]
fn without_a_person_only_the_unfinished_answer_remains() {
    let options = RunDetailsOptions { unfinished_answer_only: true, ..RunDetailsOptions::default() };
    let run = || {
        let call = run_events::call("write", json!({}));
        RunEvents::new().call(&call, write("/Users/user/project/a.txt", true)).text("It is half")
    };
    assert!(details(&run().completed(), options).is_empty());
    assert_eq!(details(&run().failed(Reason::Refused), options), ["the answer so far", "It is half"]);
}
