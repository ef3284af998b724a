//! `tool_call` of each tool, with each arm of `result`. See "Tool calls" in `docs/output-format.md`.

use ibeam_protocol::tool_output::{
    DeleteOutput, Directory, EditOutput, FileMatches, GlobOutput, GrepMatches, GrepOutput, LsOutput,
    McpOutput, ReadOutput, ShellOutput, Todo, TodoStatus, WebFetchOutput, WebSearchOutput, WriteOutput,
};
use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput};
use serde_json::{Value, json};

use crate::run_events::{self, RunEvents};

/// Checks the `tool_call` object of a call byte by byte: `expect` in the completed line, and `expect` without its result in
/// the started line.
#[track_caller]
fn check(name: &str, arguments: Value, outcome: ToolOutcome, expect: &str) {
    let call = run_events::call(name, arguments);
    let lines = run_events::lines(&RunEvents::new().call(&call, outcome).events);
    let object = |line: &str| {
        let (_, rest) = line.split_once(r#""tool_call":"#).unwrap();
        rest.rsplit_once(r#","session_id""#).unwrap().0.to_owned()
    };
    assert_eq!(object(&lines[2]), expect);

    let mut without_result: Value = serde_json::from_str(expect).unwrap();
    let body = without_result.as_object_mut().unwrap().values_mut().next().unwrap();
    assert!(body.as_object_mut().unwrap().shift_remove("result").is_some());
    assert_eq!(object(&lines[1]), without_result.to_string());
}

fn failure(failure: ToolFailure) -> ToolOutcome {
    ToolOutcome::Failure { failure, for_model: "for the model only".into() }
}

fn shell_output() -> ShellOutput {
    ShellOutput {
        command: "ls".into(),
        working_directory: "/p".into(),
        exit_code: 0,
        signal: None,
        stdout: "a\n".into(),
        stderr: "e\n".into(),
        interleaved: "a\ne\n".into(),
        execution_ms: 12,
        is_background: false,
    }
}

#[test]
fn read_succeeds() {
    check(
        "read",
        json!({"path": "a.txt", "offset": 1, "limit": 2}),
        run_events::success(ToolOutput::Read(ReadOutput {
            media: Vec::new(),
            content: "x\n".into(),
            is_empty: false,
            exceeded_limit: true,
            total_lines: 9,
            total_chars: 99,
        })),
        r#"{"readToolCall":{"args":{"path":"a.txt","offset":1,"limit":2},"result":{"success":{"content":"x\n","isEmpty":false,"exceededLimit":true,"totalLines":9,"totalChars":99}}}}"#,
    );
}

#[test]
fn read_does_not_find_its_file() {
    check(
        "read",
        json!({"path": "none"}),
        failure(ToolFailure::FileNotFound { path: "none".into() }),
        r#"{"readToolCall":{"args":{"path":"none"},"result":{"fileNotFound":{"path":"none"}}}}"#,
    );
}

#[test]
fn read_is_denied_by_the_operating_system() {
    check(
        "read",
        json!({"path": "a"}),
        failure(ToolFailure::PermissionDenied { path: "a".into(), error: "Permission denied".into() }),
        r#"{"readToolCall":{"args":{"path":"a"},"result":{"permissionDenied":{"path":"a","error":"Permission denied"}}}}"#,
    );
}

#[test]
fn read_fails() {
    check(
        "read",
        json!({"path": "a"}),
        ToolOutcome::error("`a` is a directory"),
        r#"{"readToolCall":{"args":{"path":"a"},"result":{"error":{"errorMessage":"`a` is a directory"}}}}"#,
    );
}

#[test]
fn write_succeeds_and_repeats_its_call_id() {
    check(
        "write",
        json!({"path": "a", "fileText": "x"}),
        run_events::success(ToolOutput::Write(WriteOutput {
            path: "/p/a".into(),
            lines_created: 1,
            file_size: 1,
            created: false,
            diff: String::new(),
        })),
        r#"{"writeToolCall":{"args":{"path":"a","fileText":"x","toolCallId":"toolu_1"},"result":{"success":{"path":"/p/a","linesCreated":1,"fileSize":1}}}}"#,
    );
}

#[test]
fn write_is_refused() {
    check(
        "write",
        json!({"path": "/etc/x", "fileText": "x"}),
        ToolOutcome::Rejected { reason: "outside the workspace".into() },
        r#"{"writeToolCall":{"args":{"path":"/etc/x","fileText":"x","toolCallId":"toolu_1"},"result":{"rejected":{"reason":"outside the workspace"}}}}"#,
    );
}

#[test]
fn edit_succeeds() {
    check(
        "edit",
        json!({"path": "a", "strReplace": {"oldText": "x", "newText": "y"}}),
        run_events::success(ToolOutput::Edit(EditOutput {
            path: "/p/a".into(),
            lines_added: 1,
            lines_removed: 1,
            diff: "-x\n+y\n".into(),
            message: "edited".into(),
        })),
        r#"{"editToolCall":{"args":{"path":"a","strReplace":{"oldText":"x","newText":"y"}},"result":{"success":{"path":"/p/a","linesAdded":1,"linesRemoved":1,"diffString":"-x\n+y\n","message":"edited"}}}}"#,
    );
}

#[test]
fn edit_has_no_arm_for_a_missing_file_but_error() {
    check(
        "edit",
        json!({"path": "a"}),
        failure(ToolFailure::FileNotFound { path: "a".into() }),
        r#"{"editToolCall":{"args":{"path":"a"},"result":{"error":{"errorMessage":"no such file or directory: `a`"}}}}"#,
    );
}

const SHELL_ARGS: &str =
    r#""args":{"command":"ls","workingDirectory":"/p","timeout":1000,"toolCallId":"toolu_1"}"#;

#[track_caller]
fn check_shell(outcome: ToolOutcome, result: &str) {
    let arguments = json!({"command": "ls", "workingDirectory": "/p", "timeout": 1000});
    check("shell", arguments, outcome, &format!(r#"{{"shellToolCall":{{{SHELL_ARGS},"result":{result}}}}}"#));
}

#[test]
fn shell_succeeds() {
    check_shell(
        run_events::success(ToolOutput::Shell(shell_output())),
        r#"{"success":{"command":"ls","workingDirectory":"/p","exitCode":0,"stdout":"a\n","stderr":"e\n","interleavedOutput":"a\ne\n","executionTime":12}}"#,
    );
}

#[test]
fn a_background_command_has_a_flag_next_to_the_arm() {
    check_shell(
        run_events::success(ToolOutput::Shell(ShellOutput { is_background: true, ..shell_output() })),
        r#"{"success":{"command":"ls","workingDirectory":"/p","exitCode":0,"stdout":"a\n","stderr":"e\n","interleavedOutput":"a\ne\n","executionTime":12},"isBackground":true}"#,
    );
}

#[test]
fn shell_exits_with_an_error() {
    let output = ShellOutput { exit_code: 137, signal: Some("SIGKILL".into()), ..shell_output() };
    check_shell(
        failure(ToolFailure::CommandFailed(output)),
        r#"{"failure":{"command":"ls","workingDirectory":"/p","exitCode":137,"signal":"SIGKILL","stdout":"a\n","stderr":"e\n","interleavedOutput":"a\ne\n","executionTime":12}}"#,
    );
}

#[test]
fn shell_exceeds_its_time_limit() {
    check_shell(
        failure(ToolFailure::TimedOut { timeout_ms: 1000, partial: shell_output() }),
        r#"{"timeout":{"timeoutMs":1000}}"#,
    );
}

#[test]
fn shell_does_not_start() {
    check_shell(
        failure(ToolFailure::SpawnFailed { message: "no bash".into() }),
        r#"{"spawnError":{"errorMessage":"no bash"}}"#,
    );
}

#[test]
fn a_call_interrupted_by_the_end_of_the_run_is_an_error() {
    check_shell(
        failure(ToolFailure::Interrupted),
        r#"{"error":{"errorMessage":"interrupted: the run ended before the call did; its effect is unknown"}}"#,
    );
}

#[track_caller]
fn check_grep(matches: GrepMatches, results: &str) {
    let output = GrepOutput { pattern: "fn".into(), path: "/p/src".into(), matches, truncated: false };
    check(
        "grep",
        json!({"pattern": "fn", "path": "src"}),
        run_events::success(ToolOutput::Grep(output)),
        &format!(
            r#"{{"grepToolCall":{{"args":{{"pattern":"fn","path":"src","toolCallId":"toolu_1"}},"result":{{"success":{{"pattern":"fn","path":"/p/src",{results}}}}}}}}}"#
        ),
    );
}

#[test]
fn grep_finds_lines() {
    check_grep(
        GrepMatches::Content(vec![
            FileMatches { file: "a.rs".into(), lines: vec![(3, "fn a".into()), (5, "fn b".into())] },
            FileMatches { file: "b.rs".into(), lines: vec![(1, "fn c".into())] },
        ]),
        r#""outputMode":"content","workspaceResults":{"/p/src":{"content":{"matches":[{"file":"a.rs","matches":[{"lineNumber":3,"content":"fn a"},{"lineNumber":5,"content":"fn b"}]},{"file":"b.rs","matches":[{"lineNumber":1,"content":"fn c"}]}],"totalLines":3}}}"#,
    );
}

#[test]
fn grep_finds_files() {
    check_grep(
        GrepMatches::Files(vec!["a.rs".into(), "b.rs".into()]),
        r#""outputMode":"files_with_matches","workspaceResults":{"/p/src":{"files":{"files":["a.rs","b.rs"]}}}"#,
    );
}

#[test]
fn grep_counts() {
    check_grep(
        GrepMatches::Count(vec![("a.rs".into(), 2)]),
        r#""outputMode":"count","workspaceResults":{"/p/src":{"count":{"counts":[{"file":"a.rs","count":2}]}}}"#,
    );
}

#[test]
fn glob_succeeds() {
    check(
        "glob",
        json!({"globPattern": "*.rs"}),
        run_events::success(ToolOutput::Glob(GlobOutput {
            pattern: "*.rs".into(),
            path: "/p".into(),
            files: vec!["a.rs".into()],
            total_files: 7,
        })),
        r#"{"globToolCall":{"args":{"globPattern":"*.rs"},"result":{"success":{"pattern":"*.rs","path":"/p","files":["a.rs"],"totalFiles":7}}}}"#,
    );
}

#[test]
fn ls_succeeds() {
    let below = Directory {
        path: "/p/src".into(),
        num_files: 1,
        files: vec!["lib.rs".into()],
        directories: Vec::new(),
    };
    let root =
        Directory { path: "/p".into(), num_files: 2, files: vec!["a.txt".into()], directories: vec![below] };
    check(
        "ls",
        json!({"path": ".", "ignore": []}),
        run_events::success(ToolOutput::Ls(LsOutput { root, truncated: false })),
        r#"{"lsToolCall":{"args":{"path":".","ignore":[],"toolCallId":"toolu_1"},"result":{"success":{"directoryTreeRoot":{"absPath":"/p","numFiles":2,"childrenFiles":[{"name":"a.txt"}],"childrenDirs":[{"absPath":"/p/src","numFiles":1,"childrenFiles":[{"name":"lib.rs"}],"childrenDirs":[]}]}}}}}"#,
    );
}

#[test]
fn delete_succeeds() {
    check(
        "delete",
        json!({"path": "a"}),
        run_events::success(ToolOutput::Delete(DeleteOutput { path: "/p/a".into(), file_size: 5 })),
        r#"{"deleteToolCall":{"args":{"path":"a"},"result":{"success":{"path":"/p/a","fileSize":5}}}}"#,
    );
}

#[test]
fn delete_does_not_find_its_file() {
    check(
        "delete",
        json!({"path": "a"}),
        failure(ToolFailure::FileNotFound { path: "a".into() }),
        r#"{"deleteToolCall":{"args":{"path":"a"},"result":{"fileNotFound":{"path":"a"}}}}"#,
    );
}

#[test]
fn update_todos_prints_the_statuses_of_the_contract() {
    let all = [
        ("1", TodoStatus::Pending),
        ("2", TodoStatus::InProgress),
        ("3", TodoStatus::Completed),
        ("4", TodoStatus::Cancelled),
    ];
    let todos = all.map(|(id, status)| Todo { id: id.into(), content: "c".into(), status });
    check(
        "update_todos",
        json!({"todos": [{"id": "1", "content": "c", "status": "pending"}, {"id": "2", "content": "c", "status": "TODO_STATUS_IN_PROGRESS"}], "merge": true}),
        run_events::success(ToolOutput::Todos(todos.to_vec())),
        r#"{"updateTodosToolCall":{"args":{"todos":[{"id":"1","content":"c","status":"TODO_STATUS_PENDING"},{"id":"2","content":"c","status":"TODO_STATUS_IN_PROGRESS"}],"merge":true},"result":{"success":{"todos":[{"id":"1","content":"c","status":"TODO_STATUS_PENDING"},{"id":"2","content":"c","status":"TODO_STATUS_IN_PROGRESS"},{"id":"3","content":"c","status":"TODO_STATUS_COMPLETED"},{"id":"4","content":"c","status":"TODO_STATUS_CANCELLED"}]}}}}"#,
    );
}

#[test]
fn another_tool_is_a_function_with_its_arguments_as_text() {
    check(
        "weather",
        json!({"city": "Oslo"}),
        run_events::success(ToolOutput::Other(json!({"degrees": -3}))),
        r#"{"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}","result":{"success":{"degrees":-3}}}}"#,
    );
}

#[test]
fn a_tool_that_does_not_exist_is_a_function_that_failed() {
    check(
        "teleport",
        json!("{not json"),
        ToolOutcome::error("no such tool"),
        r#"{"function":{"name":"teleport","arguments":"{not json","result":{"error":{"errorMessage":"no such tool"}}}}"#,
    );
}

#[test]
fn arguments_of_another_type_become_an_empty_object() {
    for arguments in [json!("{broken"), json!(null), json!([1]), json!(7)] {
        check(
            "read",
            arguments,
            ToolOutcome::error("bad arguments"),
            r#"{"readToolCall":{"args":{},"result":{"error":{"errorMessage":"bad arguments"}}}}"#,
        );
    }
}

#[test]
fn a_call_id_that_the_model_wrote_itself_is_not_repeated() {
    check(
        "write",
        json!({"toolCallId": "made up", "path": "a", "fileText": ""}),
        ToolOutcome::error("x"),
        r#"{"writeToolCall":{"args":{"path":"a","fileText":"","toolCallId":"toolu_1"},"result":{"error":{"errorMessage":"x"}}}}"#,
    );
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_still_a_string() {
    use std::os::unix::ffi::OsStringExt;
    let path = std::ffi::OsString::from_vec(b"a\xff".to_vec());
    check(
        "delete",
        json!({"path": "a"}),
        failure(ToolFailure::FileNotFound { path: path.into() }),
        "{\"deleteToolCall\":{\"args\":{\"path\":\"a\"},\"result\":{\"fileNotFound\":{\"path\":\"a\u{fffd}\"}}}}",
    );
}

#[test]
fn a_web_page_has_its_address_after_redirects() {
    check(
        "web_fetch",
        json!({"url": "http://docs.example.org/"}),
        run_events::success(ToolOutput::WebFetch(WebFetchOutput {
            url: "https://docs.example.org/".into(),
            markdown: "# Docs".into(),
        })),
        r##"{"webFetchToolCall":{"args":{"url":"http://docs.example.org/"},"result":{"success":{"url":"https://docs.example.org/","markdown":"# Docs"}}}}"##,
    );
    check(
        "web_fetch",
        json!({"url": "http://docs.example.org/"}),
        ToolOutcome::error("no such host"),
        r#"{"webFetchToolCall":{"args":{"url":"http://docs.example.org/"},"result":{"error":{"errorMessage":"no such host"}}}}"#,
    );
}

#[test]
fn a_web_search_repeats_its_call_id() {
    check(
        "web_search",
        json!({"searchTerm": "rust async"}),
        run_events::success(ToolOutput::WebSearch(WebSearchOutput { content: "1. Docs".into() })),
        r#"{"webSearchToolCall":{"args":{"searchTerm":"rust async","toolCallId":"toolu_1"},"result":{"success":{"content":"1. Docs"}}}}"#,
    );
}

fn mcp_arguments() -> Value {
    json!({
        "name": "db-query.rows",
        "args": {"sql": "select 1"},
        "providerIdentifier": "db",
        "toolName": "query.rows",
    })
}

fn mcp_output() -> McpOutput {
    McpOutput { media: Vec::new(), content: vec!["1".into(), "[image image/png, 4 bytes]".into()] }
}

#[test]
fn an_mcp_tool_succeeds_under_its_server_and_its_own_name() {
    check(
        "mcp_db_query_rows_0a1b2c3d",
        mcp_arguments(),
        run_events::success(ToolOutput::Mcp(mcp_output())),
        r#"{"mcpToolCall":{"args":{"name":"db-query.rows","args":{"sql":"select 1"},"toolCallId":"toolu_1","providerIdentifier":"db","toolName":"query.rows"},"result":{"success":{"content":[{"text":{"text":"1"}},{"text":{"text":"[image image/png, 4 bytes]"}}],"isError":false}}}}"#,
    );
}

#[test]
fn the_failure_of_an_mcp_tool_is_in_the_arm_success() {
    check(
        "mcp_db_query",
        mcp_arguments(),
        failure(ToolFailure::McpError(McpOutput {
            media: Vec::new(),
            content: vec!["no such table".into()],
        })),
        r#"{"mcpToolCall":{"args":{"name":"db-query.rows","args":{"sql":"select 1"},"toolCallId":"toolu_1","providerIdentifier":"db","toolName":"query.rows"},"result":{"success":{"content":[{"text":{"text":"no such table"}}],"isError":true}}}}"#,
    );
}

#[test]
fn an_mcp_tool_is_refused() {
    check(
        "mcp_db_query",
        mcp_arguments(),
        ToolOutcome::Rejected { reason: "no rule".into() },
        r#"{"mcpToolCall":{"args":{"name":"db-query.rows","args":{"sql":"select 1"},"toolCallId":"toolu_1","providerIdentifier":"db","toolName":"query.rows"},"result":{"rejected":{"reason":"no rule"}}}}"#,
    );
}

#[test]
fn a_name_that_only_looks_like_an_mcp_tool_is_a_function() {
    check(
        "mcp_gone",
        json!({"a": 1}),
        ToolOutcome::error("there is no tool `mcp_gone`"),
        r#"{"function":{"name":"mcp_gone","arguments":"{\"a\":1}","result":{"error":{"errorMessage":"there is no tool `mcp_gone`"}}}}"#,
    );
}
