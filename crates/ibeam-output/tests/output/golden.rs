//! Every kind of line of every machine format, compared byte by byte with stored files.
//!
//! The files are the reference of the contract. `write_the_golden_files` renews them after an intended change:
//! `cargo test -p ibeam-output --test output -- --ignored write_the_golden_files`.

use std::path::{Path, PathBuf};

use ibeam_output::error_object;
use ibeam_protocol::run::{Denial, McpServer, McpStatus};
use ibeam_protocol::tool_output::{
    DeleteOutput, Directory, EditOutput, FileMatches, GlobOutput, GrepMatches, GrepOutput, LsOutput,
    McpOutput, ReadOutput, ShellOutput, Todo, TodoStatus, WebFetchOutput, WriteOutput,
};
use ibeam_protocol::{
    BackgroundEnd, CallId, ClassCosts, Event, EventKind, Failure, KeySource, Limits, ModelFallback,
    ModelTotals, PermissionMode, Reason, RunOutcome, RunTotals, Sandbox, SandboxMode, ToolCall, ToolFailure,
    ToolOutcome, ToolOutput, Usage,
};
use serde_json::{Value, json};

use crate::failure_table;
use crate::run_events::{self, RunEvents};

fn failure(failure: ToolFailure) -> ToolOutcome {
    ToolOutcome::Failure { failure, for_model: "for the model only".into() }
}

fn shell_output() -> ShellOutput {
    ShellOutput {
        command: "ls \"a b\"".into(),
        working_directory: "/p".into(),
        exit_code: 0,
        signal: None,
        stdout: "a\n\u{9b}31m".into(),
        stderr: "e\u{2028}\n".into(),
        interleaved: "a\ne\n".into(),
        execution_ms: 12,
        is_background: false,
    }
}

/// Returns calls of every tool with every arm, and calls of unknown tools.
pub(crate) fn every_call() -> Vec<(&'static str, Value, ToolOutcome)> {
    let read = || json!({"path": "a.txt", "offset": 3, "limit": 2, "new": {"z": 1, "a": [null, true, -1.5]}});
    let edit = || json!({"path": "a", "strReplace": {"oldText": "x", "newText": "y", "replaceAll": true}});
    let shell =
        || json!({"command": "ls \"a b\"", "workingDirectory": "", "timeout": 1000, "isBackground": false});
    let mcp = || {
        json!({
            "name": "db-query.rows", "args": {"sql": "select 1"}, "providerIdentifier": "db", "toolName": "query.rows",
        })
    };
    let grep = |matches| {
        run_events::success(ToolOutput::Grep(GrepOutput {
            pattern: "fn".into(),
            path: "/p/src".into(),
            matches,
            truncated: true,
        }))
    };
    let below = Directory {
        path: "/p/src".into(),
        num_files: 1,
        files: vec!["lib.rs".into()],
        directories: Vec::new(),
    };
    let root = Directory {
        path: "/p".into(),
        num_files: 2,
        files: vec!["a.txt".into(), "é".into()],
        directories: vec![below],
    };
    let statuses =
        [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Completed, TodoStatus::Cancelled];
    let todos = statuses.map(|status| Todo { id: "1".into(), content: "c".into(), status });
    let refused = || ToolOutcome::Rejected { reason: "outside the workspace".into() };
    let denied =
        || failure(ToolFailure::PermissionDenied { path: "a".into(), error: "Permission denied".into() });
    let missing = || failure(ToolFailure::FileNotFound { path: "a".into() });
    vec![
        (
            "read",
            read(),
            run_events::success(ToolOutput::Read(ReadOutput {
                media: Vec::new(),
                content: "x\n\u{7f}é".into(),
                is_empty: false,
                exceeded_limit: true,
                total_lines: 9,
                total_chars: 99,
            })),
        ),
        ("read", read(), missing()),
        ("read", read(), denied()),
        ("read", read(), refused()),
        ("read", read(), ToolOutcome::error("`a` is a directory")),
        ("read", json!("not json"), ToolOutcome::error("bad arguments")),
        (
            "write",
            json!({"path": "a", "fileText": "x\n", "toolCallId": "made up", "more": 1}),
            run_events::success(ToolOutput::Write(WriteOutput {
                path: "/p/a".into(),
                lines_created: 1,
                file_size: 2,
                created: false,
                diff: String::new(),
            })),
        ),
        ("write", json!({"path": "a", "fileText": ""}), missing()),
        ("write", json!({}), denied()),
        (
            "edit",
            edit(),
            run_events::success(ToolOutput::Edit(EditOutput {
                path: "/p/a".into(),
                lines_added: 1,
                lines_removed: 2,
                diff: "-x\n+y\n".into(),
                message: "edited".into(),
            })),
        ),
        ("edit", edit(), missing()),
        ("edit", json!({"path": "a", "applyPatch": {"patchContent": "@@"}}), refused()),
        ("shell", shell(), run_events::success(ToolOutput::Shell(shell_output()))),
        (
            "shell",
            shell(),
            run_events::success(ToolOutput::Shell(ShellOutput { is_background: true, ..shell_output() })),
        ),
        (
            "shell",
            shell(),
            failure(ToolFailure::CommandFailed(ShellOutput {
                exit_code: 137,
                signal: Some("SIGKILL".into()),
                is_background: true,
                ..shell_output()
            })),
        ),
        (
            "shell",
            shell(),
            failure(ToolFailure::CommandFailed(ShellOutput { exit_code: -2, ..shell_output() })),
        ),
        ("shell", shell(), failure(ToolFailure::TimedOut { timeout_ms: 1000, partial: shell_output() })),
        ("shell", shell(), failure(ToolFailure::SpawnFailed { message: "no bash".into() })),
        ("shell", shell(), failure(ToolFailure::Interrupted)),
        ("shell", shell(), refused()),
        (
            "grep",
            json!({"pattern": "fn", "path": "src", "outputMode": "content"}),
            grep(GrepMatches::Content(vec![
                FileMatches { file: "a.rs".into(), lines: vec![(3, "fn a".into()), (5, "fn b".into())] },
                FileMatches { file: "b.rs".into(), lines: Vec::new() },
            ])),
        ),
        ("grep", json!({"pattern": "fn"}), grep(GrepMatches::Files(vec!["a.rs".into(), "b.rs".into()]))),
        ("grep", json!({"pattern": "fn"}), grep(GrepMatches::Count(vec![("a.rs".into(), 2)]))),
        ("grep", json!({"pattern": "("}), ToolOutcome::error("bad pattern")),
        (
            "glob",
            json!({"globPattern": "*.rs", "targetDirectory": "src"}),
            run_events::success(ToolOutput::Glob(GlobOutput {
                pattern: "*.rs".into(),
                path: "/p".into(),
                files: vec!["a.rs".into()],
                total_files: 7,
            })),
        ),
        ("glob", json!({"globPattern": "*"}), denied()),
        (
            "ls",
            json!({"path": ".", "ignore": ["*.o"]}),
            run_events::success(ToolOutput::Ls(LsOutput { root, truncated: false })),
        ),
        ("ls", json!({"path": "none", "ignore": []}), missing()),
        (
            "delete",
            json!({"path": "a"}),
            run_events::success(ToolOutput::Delete(DeleteOutput { path: "/p/a".into(), file_size: 5 })),
        ),
        ("delete", json!({"path": "a"}), missing()),
        (
            "update_todos",
            json!({
                "todos": [
                    {"id": "1", "content": "c", "status": "pending"},
                    {"id": "2", "status": "TODO_STATUS_IN_PROGRESS"},
                ],
                "merge": true,
            }),
            run_events::success(ToolOutput::Todos(todos.to_vec())),
        ),
        ("update_todos", json!({"todos": "none"}), ToolOutcome::error("bad arguments")),
        (
            "update_todos",
            json!({"todos": [{"status": "asleep", "new": 1}, {"status": 5}, {"status": "completed"}, "five"]}),
            ToolOutcome::error("bad arguments"),
        ),
        (
            "web_fetch",
            json!({"url": "http://docs.example.org/"}),
            run_events::success(ToolOutput::WebFetch(WebFetchOutput {
                url: "https://docs.example.org/".into(),
                markdown: "# Docs".into(),
            })),
        ),
        ("web_fetch", json!({"url": "x"}), ToolOutcome::error("no such host")),
        (
            "mcp_db_query_rows_0a1b2c3d",
            mcp(),
            run_events::success(ToolOutput::Mcp(McpOutput {
                media: Vec::new(),
                content: vec!["1".into(), "[image]".into()],
            })),
        ),
        (
            "mcp_db_query",
            mcp(),
            failure(ToolFailure::McpError(McpOutput {
                media: Vec::new(),
                content: vec!["no such table".into()],
            })),
        ),
        ("mcp_db_query", mcp(), refused()),
        ("mcp_gone", json!({"a": 1}), ToolOutcome::error("there is no tool `mcp_gone`")),
        ("weather", json!({"city": "Oslo"}), run_events::success(ToolOutput::Other(json!({"degrees": -3})))),
        ("weather", json!({"city": "Oslo"}), run_events::success(ToolOutput::Other(json!([1, "two"])))),
        ("teleport", json!("{not json"), ToolOutcome::error("no such tool")),
        ("teleport", json!(null), denied()),
    ]
}

/// Returns a run whose first event has every key, with every call.
fn full_run() -> RunEvents {
    let mut head = run_events::run_started();
    head.key_source = KeySource::None;
    head.permission_mode = PermissionMode::Ask;
    head.tools = vec!["read".into(), "mcp_db_query".into()];
    let statuses = [
        McpStatus::Connected,
        McpStatus::Failed,
        McpStatus::Untrusted,
        McpStatus::Unsupported,
        McpStatus::Disabled,
    ];
    head.mcp_servers = statuses.map(|status| McpServer { name: "s".into(), status }).to_vec();
    head.sandbox = Sandbox {
        mode: SandboxMode::Namespaces,
        layers: vec!["namespaces".into(), "seccomp".into()],
        network: false,
        writable: vec!["/cache".into()],
        reason: "default".into(),
    };
    head.limits = Limits {
        max_turns: 5,
        max_tokens: Some(10),
        max_cost_micros: Some(1_500_000),
        max_tool_calls: Some(7),
        timeout_ms: Some(60_000),
    };
    head.journal_gaps = 2;
    head.ephemeral = true;
    let content = vec!["explain \"this\"".into(), "line 1\nline 2\u{85}".into()];
    let run = RunEvents::from_start(head)
        .event(EventKind::UserMessage { content, attachments: Vec::new() })
        .thinking("hm")
        .text("I will ")
        .text("");
    let run = run.text("look\u{2028}.\n").unprinted("x");
    every_call().into_iter().enumerate().fold(run, |run, (index, (name, arguments, outcome))| {
        let id = CallId::from(format!("toolu_{index}").as_str());
        let call = ToolCall { id, name: name.into(), arguments };
        let run = run.call(&call, outcome);
        if index % 7 == 0 { run.text("So ").text("far.") } else { run }
    })
}

fn totals() -> RunTotals {
    RunTotals {
        turns: 2,
        api_ms: 4000,
        usage: Some(Usage { input: 11, output: 22, cache_read: 33, cache_write: 44, ..Usage::default() }),
        denials: vec![Denial { call_id: "toolu_9".into(), tool: "shell".into(), rule: "default".into() }],
        failed_tool_calls: 1,
        files_changed: vec!["/p/a.txt".into(), "/p/é".into()],
        retries: 3,
        continuations: 2,
        compactions: 4,
        cost_micros: Some(12_500),
        fallbacks: fallback_of_a_run(),
        models: models_of_a_run(),
        tool_calls: 5,
        background_stopped: 6,
        background_ended: vec![BackgroundEnd {
            call_id: "toolu_2".into(),
            command: "make".to_owned(),
            exit_code: 2,
        }],
        unsynced: true,
        effort_used: None,
        request_id: Some("req_1".into()),
    }
}

fn rate_limited() -> Failure {
    Failure {
        reason: Reason::Refused,
        http_status: Some(429),
        request_id: Some("req_7".into()),
        retry_after_ms: Some(2000),
    }
}

/// Returns runs of which each format prints every kind of line.
fn runs() -> Vec<Vec<Event>> {
    let modes = [
        (KeySource::Env, PermissionMode::Default, SandboxMode::Off),
        (KeySource::Flag, PermissionMode::Force, SandboxMode::Landlock),
        (KeySource::Login, PermissionMode::Plan, SandboxMode::Namespaces),
    ];
    let heads = modes.map(|(key_source, permission_mode, mode)| {
        let sandbox = Sandbox { mode, ..Sandbox::default() };
        let head =
            ibeam_protocol::RunStarted { key_source, permission_mode, sandbox, ..run_events::run_started() };
        let withheld = EventKind::PromptWithheld { content: vec!["no".into()] };
        RunEvents::from_start(head).event(withheld).text("Done.").completed()
    });
    let mut ephemeral = full_run().text("Half").finish(RunOutcome::Failed(rate_limited()), totals());
    if let Some(EventKind::RunFinished(run)) = ephemeral.last_mut().map(|event| &mut event.kind) {
        run.ephemeral = true;
    }
    let mut runs = vec![
        full_run().text("It is ").text("42.").finish(RunOutcome::Completed, totals()),
        ephemeral,
        RunEvents::new().user("hi").failed(Reason::Refused),
        RunEvents::new().user("hi").completed(),
    ];
    runs.extend(heads);
    runs
}

/// Returns the name and the content of each golden file.
fn files() -> Vec<(&'static str, String)> {
    let all = |print: &dyn Fn(&[Event]) -> String| runs().iter().map(|run| print(run)).collect::<String>();
    let run = run_events::run_finished(RunOutcome::Failed(rate_limited()));
    let errors = [error_object(&rate_limited(), None), error_object(&rate_limited(), Some(&run))];
    vec![
        ("contract-1.ndjson", all(&|run| run_events::stream_json(run))),
        ("contract-2.ndjson", all(&|run| run_events::segments(run, false))),
        ("contract-2-partial.ndjson", all(&|run| run_events::segments(run, true))),
        ("json.ndjson", all(&|run| run_events::json(run))),
        ("errors.ndjson", errors.map(|error| error + "\n").concat()),
        ("failures.txt", failure_table::table()),
    ]
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the files are read here to be compared")]
fn every_line_is_printed_as_in_the_golden_files() {
    for (name, printed) in files() {
        let golden = std::fs::read_to_string(path(name)).unwrap();
        let lines = printed.lines().zip(golden.lines()).enumerate();
        for (index, (printed, golden)) in lines {
            assert_eq!(printed, golden, "line {} of {name}", index + 1);
        }
        assert_eq!(printed.len(), golden.len(), "{name}");
    }
}

#[test]
#[ignore = "writes the files that the other test compares with"]
#[allow(clippy::disallowed_methods, reason = "the files are written here")]
fn write_the_golden_files() {
    for (name, printed) in files() {
        std::fs::write(path(name), printed).unwrap();
    }
}

/// Returns the change of the model in a run with two models.
pub(crate) fn fallback_of_a_run() -> Vec<ModelFallback> {
    vec![ModelFallback {
        from: "anthropic/claude-sonnet-4-5".into(),
        to: "openai/gpt-5".into(),
        reason: Box::new(Reason::RateLimited { provider: "anthropic".into(), detail: "slow down".into() }),
    }]
}

/// Returns the totals of a run with two models.
pub(crate) fn models_of_a_run() -> Vec<ModelTotals> {
    vec![
        ModelTotals {
            model: "anthropic/claude-sonnet-4-5".into(),
            requests: 2,
            failed_requests: 3,
            uncounted_requests: 1,
            usage: Some(Usage { input: 11, output: 22, cache_read: 33, cache_write: 44, reasoning: 5 }),
            cost_micros: Some(12_500),
            costs: Some(ClassCosts {
                input: 33_000_000,
                output: 330_000_000,
                cache_read: 9_900_000,
                cache_write: 165_000_000,
                reasoning: 75_000_000,
            }),
        },
        ModelTotals { model: "openai/gpt-5".into(), failed_requests: 1, ..ModelTotals::default() },
    ]
}
