//! Converts a call and its outcome into the object `tool_call`. A tool without its own key has the key `function`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ibeam_protocol::tool_output::{
    DeleteOutput, Directory, EditOutput, FileMatches, GlobOutput, GrepMatches, GrepOutput, LsOutput,
    McpOutput, ReadOutput, ShellOutput, TaskOutput, Todo, TodoStatus, WebFetchOutput, WebSearchOutput,
    WriteOutput,
};
use ibeam_protocol::{ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_wire::tool::delete::DeleteSuccess;
use ibeam_wire::tool::edit::EditSuccess;
use ibeam_wire::tool::glob::GlobSuccess;
use ibeam_wire::tool::grep::{
    GrepContent, GrepCount, GrepCounts, GrepFile, GrepFiles, GrepLine, GrepResults, GrepSuccess,
};
use ibeam_wire::tool::ls::{DirectoryNode, FileNode, LsSuccess};
use ibeam_wire::tool::mcp::{self, McpArgs, McpBlock, McpSuccess, McpText};
use ibeam_wire::tool::read::ReadSuccess;
use ibeam_wire::tool::task::TaskSuccess;
use ibeam_wire::tool::update_todos::{TodoEntry, TodosSuccess};
use ibeam_wire::tool::web_fetch::WebFetchSuccess;
use ibeam_wire::tool::web_search::WebSearchSuccess;
use ibeam_wire::tool::write::WriteSuccess;
use ibeam_wire::tool::{
    CALL_ID, CallArm, CallResult, ErrorMessage, FUNCTION, FileNotFound, PermissionDenied, Rejected, Tool,
    shell, update_todos,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::run_lines::{borrowed, path_text};

/// A call, with its outcome if it has ended.
pub struct CallBody<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) outcome: Option<&'a ToolOutcome>,
}

impl Serialize for CallBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call, outcome } = *self;
        let result = outcome.map(|outcome| call_result(&call.name, outcome));
        let mut object = serializer.serialize_map(Some(1))?;
        match (Tool::named(&call.name), mcp_args(call)) {
            (Some(tool), _) => {
                object.serialize_entry(tool.key, &NamedCall { args: Args { call, tool }, result })?;
            }
            (None, Some(args)) => object.serialize_entry(mcp::KEY, &NamedCall { args, result })?,
            (None, None) => {
                // A string is the text of a model that did not write JSON.
                let arguments = match &call.arguments {
                    Value::String(text) => borrowed(text),
                    value => Cow::Owned(value.to_string()),
                };
                object.serialize_entry(FUNCTION, &FunctionCall { name: &call.name, arguments, result })?;
            }
        }
        object.end()
    }
}

#[derive(Serialize)]
struct NamedCall<'a, A> {
    args: A,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<CallResult<Payload<'a>, Cow<'a, str>>>,
}

/// A call of a tool without its own key, or of one that does not exist.
#[derive(Serialize)]
struct FunctionCall<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<CallResult<Payload<'a>, Cow<'a, str>>>,
}

/// The arguments as an object, even if the model wrote something else.
struct Args<'a> {
    call: &'a ToolCall,
    tool: &'static Tool,
}

impl Serialize for Args<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call, tool } = *self;
        let mut args = serializer.serialize_map(None)?;
        for (name, value) in call.arguments.as_object().into_iter().flatten() {
            if tool.key == update_todos::KEY && name == update_todos::TODOS {
                args.serialize_entry(name, &with_contract_statuses(value))?;
            } else if !(tool.repeats_call_id && name == CALL_ID) {
                args.serialize_entry(name, value)?;
            }
        }
        if tool.repeats_call_id {
            args.serialize_entry(CALL_ID, &call.id)?;
        }
        args.end()
    }
}

/// Returns the to-dos of the model with the statuses of the contract.
fn with_contract_statuses(todos: &Value) -> Value {
    let mut todos = todos.clone();
    for status in todos.as_array_mut().into_iter().flatten().filter_map(|todo| todo.get_mut("status")) {
        if let Ok(known) = serde_json::from_value::<TodoStatus>(status.clone()) {
            *status = Value::from(todo_status(known));
        }
    }
    todos
}

/// Returns the arguments of a call of an MCP server's tool, which name the server and the tool.
fn mcp_args(call: &ToolCall) -> Option<McpArgs<Cow<'_, str>, &Value>> {
    if !call.name.starts_with("mcp_") {
        return None;
    }
    let text = |name: &str| call.arguments.get(name)?.as_str().map(borrowed);
    Some(McpArgs {
        name: text("name")?,
        args: call.arguments.get("args").filter(|args| args.is_object())?,
        tool_call_id: borrowed(call.id.as_str()),
        provider_identifier: text("providerIdentifier")?,
        tool_name: text("toolName")?,
    })
}

/// Returns `server-tool` for a call of an MCP server's tool.
pub(crate) fn mcp_tool(call: &ToolCall) -> Option<&str> {
    mcp_args(call)?;
    call.arguments.get("name")?.as_str()
}

/// Returns the object `result` for the outcome of a call of `tool`.
pub(crate) fn call_result<'a>(tool: &str, outcome: &'a ToolOutcome) -> CallResult<Payload<'a>, Cow<'a, str>> {
    let (arm, is_background) = match outcome {
        ToolOutcome::Success { output, .. } => {
            let is_background = matches!(output, ToolOutput::Shell(shell) if shell.is_background);
            (CallArm::Success(Payload::Output(output)), is_background)
        }
        ToolOutcome::Failure { failure, .. } => {
            let is_background = matches!(failure, ToolFailure::CommandFailed(shell) if shell.is_background);
            (failure_arm(tool, failure), is_background)
        }
        ToolOutcome::Rejected { reason } => (CallArm::Rejected(Rejected { reason: borrowed(reason) }), false),
    };
    CallResult { arm, is_background }
}

/// Returns the object `result` as a value.
pub fn call_result_value(tool: &str, outcome: &ToolOutcome) -> Value {
    // Strings, numbers and lists always become a value.
    serde_json::to_value(call_result(tool, outcome)).unwrap_or_default()
}

fn failure_arm<'a>(tool: &str, failure: &'a ToolFailure) -> CallArm<Payload<'a>, Cow<'a, str>> {
    let error = |message: Cow<'a, str>| CallArm::Error(ErrorMessage { error_message: message });
    match failure {
        ToolFailure::FileNotFound { path } => {
            let arm = CallArm::FileNotFound(FileNotFound { path: path_text(path) });
            let has_arm = Tool::named(tool).is_some_and(|tool| tool.has_arm("fileNotFound"));
            // Other tools report a missing path as an error.
            if has_arm {
                arm
            } else {
                error(format!("no such file or directory: `{}`", path.display()).into())
            }
        }
        ToolFailure::PermissionDenied { path, error } => {
            CallArm::PermissionDenied(PermissionDenied { path: path_text(path), error: borrowed(error) })
        }
        ToolFailure::CommandFailed(shell) => CallArm::Failure(shell_output(shell)),
        ToolFailure::TimedOut { timeout_ms, .. } => {
            CallArm::Timeout(shell::Timeout { timeout_ms: *timeout_ms })
        }
        ToolFailure::SpawnFailed { message } => {
            CallArm::SpawnError(ErrorMessage { error_message: borrowed(message) })
        }
        // A failure that the MCP server itself reports has the arm `success`, with `isError`.
        ToolFailure::McpError(output) => CallArm::Success(Payload::McpError(output)),
        ToolFailure::TaskFailed { message, totals: _ } => error(borrowed(message)),
        ToolFailure::Interrupted => {
            error(borrowed("interrupted: the run ended before the call did; its effect is unknown"))
        }
        ToolFailure::Error { message } => error(borrowed(message)),
    }
}

/// The payload of the arm `success`.
pub(crate) enum Payload<'a> {
    Output(&'a ToolOutput),
    /// The output of an MCP server's tool that reports its own failure.
    McpError(&'a McpOutput),
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let output = match *self {
            Self::Output(output) => output,
            Self::McpError(output) => return mcp_success(output, true).serialize(serializer),
        };
        match output {
            ToolOutput::Read(output) => read_success(output).serialize(serializer),
            ToolOutput::Write(output) => write_success(output).serialize(serializer),
            ToolOutput::Edit(output) => edit_success(output).serialize(serializer),
            ToolOutput::Shell(output) => shell_output(output).serialize(serializer),
            ToolOutput::Grep(output) => grep_success(output).serialize(serializer),
            ToolOutput::Glob(output) => glob_success(output).serialize(serializer),
            ToolOutput::Ls(output) => ls_success(output).serialize(serializer),
            ToolOutput::Delete(output) => delete_success(output).serialize(serializer),
            ToolOutput::Todos(todos) => todos_success(todos).serialize(serializer),
            ToolOutput::WebFetch(output) => web_fetch_success(output).serialize(serializer),
            ToolOutput::WebSearch(output) => web_search_success(output).serialize(serializer),
            ToolOutput::Mcp(output) => mcp_success(output, false).serialize(serializer),
            ToolOutput::Task(output) => task_success(output).serialize(serializer),
            ToolOutput::Other(value) => value.serialize(serializer),
        }
    }
}

fn read_success(output: &ReadOutput) -> ReadSuccess<Cow<'_, str>> {
    let ReadOutput { content, is_empty, exceeded_limit, total_lines, total_chars, media: _ } = output;
    ReadSuccess {
        content: borrowed(content),
        is_empty: *is_empty,
        exceeded_limit: *exceeded_limit,
        total_lines: *total_lines,
        total_chars: *total_chars,
    }
}

fn write_success(output: &WriteOutput) -> WriteSuccess<Cow<'_, str>> {
    let WriteOutput { path, lines_created, file_size, created: _, diff: _ } = output;
    WriteSuccess { path: path_text(path), lines_created: *lines_created, file_size: *file_size }
}

fn edit_success(output: &EditOutput) -> EditSuccess<Cow<'_, str>> {
    let EditOutput { path, lines_added, lines_removed, diff, message } = output;
    EditSuccess {
        path: path_text(path),
        lines_added: *lines_added,
        lines_removed: *lines_removed,
        diff_string: borrowed(diff),
        message: borrowed(message),
    }
}

fn shell_output(output: &ShellOutput) -> shell::ShellOutput<Cow<'_, str>> {
    shell::ShellOutput {
        command: borrowed(&output.command),
        working_directory: path_text(&output.working_directory),
        exit_code: output.exit_code,
        signal: output.signal.as_deref().map(borrowed),
        stdout: borrowed(&output.stdout),
        stderr: borrowed(&output.stderr),
        interleaved_output: borrowed(&output.interleaved),
        execution_time: output.execution_ms,
    }
}

fn grep_success(output: &GrepOutput) -> GrepSuccess<Cow<'_, str>> {
    let GrepOutput { pattern, path, matches, truncated: _ } = output;
    let (output_mode, results) = match matches {
        GrepMatches::Content(files) => {
            let total_lines = files.iter().map(|file| file.lines.len() as u64).sum();
            let matches = files.iter().map(grep_file).collect();
            ("content", GrepResults::Content(GrepContent { matches, total_lines }))
        }
        GrepMatches::Files(files) => {
            let files = files.iter().map(|file| path_text(file)).collect();
            ("files_with_matches", GrepResults::Files(GrepFiles { files }))
        }
        GrepMatches::Count(counts) => {
            let counts = counts
                .iter()
                .map(|(file, count)| GrepCount { file: path_text(file), count: *count })
                .collect();
            ("count", GrepResults::Count(GrepCounts { counts }))
        }
    };
    GrepSuccess {
        pattern: borrowed(pattern),
        path: path_text(path),
        output_mode: borrowed(output_mode),
        workspace_results: BTreeMap::from([(path_text(path).into_owned(), results)]),
    }
}

fn grep_file(file: &FileMatches) -> GrepFile<Cow<'_, str>> {
    let lines = file.lines.iter();
    let matches =
        lines.map(|(number, line)| GrepLine { line_number: *number, content: borrowed(line) }).collect();
    GrepFile { file: path_text(&file.file), matches }
}

fn glob_success(output: &GlobOutput) -> GlobSuccess<Cow<'_, str>> {
    let GlobOutput { pattern, path, files, total_files } = output;
    GlobSuccess {
        pattern: borrowed(pattern),
        path: path_text(path),
        files: files.iter().map(|file| path_text(file)).collect(),
        total_files: *total_files,
    }
}

fn ls_success(output: &LsOutput) -> LsSuccess<Cow<'_, str>> {
    LsSuccess { directory_tree_root: directory_node(&output.root) }
}

fn directory_node(directory: &Directory) -> DirectoryNode<Cow<'_, str>> {
    DirectoryNode {
        abs_path: path_text(&directory.path),
        num_files: directory.num_files,
        children_files: directory.files.iter().map(|name| FileNode { name: borrowed(name) }).collect(),
        children_dirs: directory.directories.iter().map(directory_node).collect(),
    }
}

fn delete_success(output: &DeleteOutput) -> DeleteSuccess<Cow<'_, str>> {
    DeleteSuccess { path: path_text(&output.path), file_size: output.file_size }
}

fn todos_success(todos: &[Todo]) -> TodosSuccess<Cow<'_, str>> {
    let todos = todos.iter().map(|todo| TodoEntry {
        id: borrowed(&todo.id),
        content: borrowed(&todo.content),
        status: borrowed(todo_status(todo.status)),
    });
    TodosSuccess { todos: todos.collect() }
}

fn todo_status(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "TODO_STATUS_PENDING",
        TodoStatus::InProgress => "TODO_STATUS_IN_PROGRESS",
        TodoStatus::Completed => "TODO_STATUS_COMPLETED",
        TodoStatus::Cancelled => "TODO_STATUS_CANCELLED",
    }
}

fn web_fetch_success(output: &WebFetchOutput) -> WebFetchSuccess<Cow<'_, str>> {
    WebFetchSuccess { url: borrowed(&output.url), markdown: borrowed(&output.markdown) }
}

fn web_search_success(output: &WebSearchOutput) -> WebSearchSuccess<Cow<'_, str>> {
    WebSearchSuccess { content: borrowed(&output.content) }
}

fn mcp_success(output: &McpOutput, is_error: bool) -> McpSuccess<Cow<'_, str>> {
    let blocks = output.content.iter().map(|text| McpBlock { text: McpText { text: borrowed(text) } });
    McpSuccess { content: blocks.collect(), is_error }
}

fn task_success(output: &TaskOutput) -> TaskSuccess<Cow<'_, str>> {
    let TaskOutput { steps, session_id, duration_ms, totals: _ } = output;
    let steps = steps.iter().map(|text| json!({"assistantMessage": {"text": text}}));
    TaskSuccess {
        conversation_steps: steps.collect(),
        agent_id: Cow::Owned(session_id.to_string()),
        duration_ms: Some(*duration_ms),
    }
}
