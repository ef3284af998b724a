//! What each tool gives in the arm `success`, in the order of the wire. Contract section 4.

use ibeam_protocol::ToolOutput;
use ibeam_protocol::tool_output::{
    DeleteOutput, Directory, EditOutput, GlobOutput, McpOutput, ReadOutput, ShellOutput, Todo, TodoStatus,
    WebFetchOutput, WriteOutput,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::LossyPath;
use super::grep_success::GrepSuccess;

/// The payload; a variant per tool.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Success<'a> {
    Read(ReadSuccess<'a>),
    Write(WriteSuccess<'a>),
    Edit(EditSuccess<'a>),
    Shell(Shell<'a>),
    Grep(GrepSuccess<'a>),
    Glob(GlobSuccess<'a>),
    Ls(LsSuccess<'a>),
    Delete(DeleteSuccess<'a>),
    Todos(TodosSuccess<'a>),
    WebFetch(WebFetchSuccess<'a>),
    Mcp(McpSuccess<'a>),
    Free(&'a Value),
}

/// What was read of a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadSuccess<'a> {
    /// The text, from `offset` on and no more than `limit` lines.
    content: &'a str,
    /// Whether the file holds nothing at all.
    is_empty: bool,
    /// Whether the file is longer than what one call returns, and was cut.
    exceeded_limit: bool,
    /// The lines of the whole file.
    #[schemars(extend("x-unit" = "lines"))]
    total_lines: u64,
    /// The characters of the whole file.
    #[schemars(extend("x-unit" = "characters"))]
    total_chars: u64,
}

/// The file that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteSuccess<'a> {
    /// Its absolute path.
    path: LossyPath<'a>,
    /// The lines it has now.
    #[schemars(extend("x-unit" = "lines"))]
    lines_created: u64,
    /// Its size now.
    #[schemars(extend("x-unit" = "bytes"))]
    file_size: u64,
}

/// What changed in a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditSuccess<'a> {
    /// The file's absolute path.
    path: LossyPath<'a>,
    /// The lines the change added.
    #[schemars(extend("x-unit" = "lines"))]
    lines_added: u64,
    /// The lines the change removed.
    #[schemars(extend("x-unit" = "lines"))]
    lines_removed: u64,
    /// The change as a unified diff.
    diff_string: &'a str,
    /// One sentence that says what was done.
    message: &'a str,
}

/// What was found by name.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobSuccess<'a> {
    /// The glob that was looked for.
    pattern: &'a str,
    /// Where it was looked for.
    path: LossyPath<'a>,
    /// The files.
    files: Vec<LossyPath<'a>>,
    /// How many files matched, those beyond the limit of `files` included.
    #[schemars(extend("x-unit" = "count"))]
    total_files: u64,
}

/// What is in a directory.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LsSuccess<'a> {
    /// The directory that was listed.
    directory_tree_root: DirectoryNode<'a>,
}

/// The file that was deleted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteSuccess<'a> {
    /// Its absolute path.
    path: LossyPath<'a>,
    /// Its size before.
    #[schemars(extend("x-unit" = "bytes"))]
    file_size: u64,
}

/// The to-do list as it is now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TodosSuccess<'a> {
    /// The whole list.
    todos: Vec<TodoEntry<'a>>,
}

/// A page that was fetched.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WebFetchSuccess<'a> {
    /// The address of the page, after redirects.
    url: &'a str,
    /// Its text as Markdown.
    markdown: &'a str,
}

/// What the tool of an MCP server gave.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpSuccess<'a> {
    /// The blocks of its answer.
    content: Vec<McpBlock<'a>>,
    /// Whether the tool says itself that it failed; such a call counts as failed.
    is_error: bool,
}

impl<'a> Success<'a> {
    pub(crate) fn new(output: &'a ToolOutput) -> Self {
        match output {
            ToolOutput::Read(ReadOutput { content, is_empty, exceeded_limit, total_lines, total_chars }) => {
                Self::Read(ReadSuccess {
                    content,
                    is_empty: *is_empty,
                    exceeded_limit: *exceeded_limit,
                    total_lines: *total_lines,
                    total_chars: *total_chars,
                })
            }
            ToolOutput::Write(WriteOutput { path, lines_created, file_size, created: _ }) => {
                Self::Write(WriteSuccess {
                    path: LossyPath(path),
                    lines_created: *lines_created,
                    file_size: *file_size,
                })
            }
            ToolOutput::Edit(EditOutput { path, lines_added, lines_removed, diff, message }) => {
                Self::Edit(EditSuccess {
                    path: LossyPath(path),
                    lines_added: *lines_added,
                    lines_removed: *lines_removed,
                    diff_string: diff,
                    message,
                })
            }
            ToolOutput::Shell(shell) => Self::Shell(Shell::new(shell)),
            ToolOutput::Grep(output) => Self::Grep(GrepSuccess::new(output)),
            ToolOutput::Glob(GlobOutput { pattern, path, files, total_files }) => Self::Glob(GlobSuccess {
                pattern,
                path: LossyPath(path),
                files: files.iter().map(|file| LossyPath(file)).collect(),
                total_files: *total_files,
            }),
            ToolOutput::Ls(listing) => {
                Self::Ls(LsSuccess { directory_tree_root: DirectoryNode::new(&listing.root) })
            }
            ToolOutput::Delete(DeleteOutput { path, file_size }) => {
                Self::Delete(DeleteSuccess { path: LossyPath(path), file_size: *file_size })
            }
            ToolOutput::Todos(todos) => {
                Self::Todos(TodosSuccess { todos: todos.iter().map(TodoEntry::new).collect() })
            }
            ToolOutput::WebFetch(WebFetchOutput { url, markdown }) => {
                Self::WebFetch(WebFetchSuccess { url, markdown })
            }
            ToolOutput::Mcp(output) => Self::mcp(output, false),
            ToolOutput::Other(value) => Self::Free(value),
        }
    }

    /// What an MCP server gave; its own failures stand in this arm too.
    pub(crate) fn mcp(output: &'a McpOutput, is_error: bool) -> Self {
        let text = |text: &'a String| McpBlock { text: McpText { text } };
        Self::Mcp(McpSuccess { content: output.content.iter().map(text).collect(), is_error })
    }
}

/// A command that ran, whatever its exit code.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellOutput")]
pub(crate) struct Shell<'a> {
    /// The command as it ran.
    command: &'a str,
    /// Where it ran.
    working_directory: LossyPath<'a>,
    /// Its exit code; 128 and the number of the signal where one ended it.
    #[schemars(extend("x-unit" = "exit code"))]
    exit_code: i32,
    /// The signal that ended it, e.g. `SIGKILL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    /// What it wrote to stdout; long output is cut in the middle.
    stdout: &'a str,
    /// What it wrote to stderr; long output is cut in the middle.
    stderr: &'a str,
    /// Both, in the order in which they were read.
    interleaved_output: &'a str,
    /// How long it ran.
    #[schemars(extend("x-unit" = "ms"))]
    execution_time: u64,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(output: &'a ShellOutput) -> Self {
        Self {
            command: &output.command,
            working_directory: LossyPath(&output.working_directory),
            exit_code: output.exit_code,
            signal: output.signal.as_deref(),
            stdout: &output.stdout,
            stderr: &output.stderr,
            interleaved_output: &output.interleaved,
            execution_time: output.execution_ms,
        }
    }
}

/// A directory and what is in it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DirectoryNode<'a> {
    /// Its absolute path.
    abs_path: LossyPath<'a>,
    /// The files listed in it and below it.
    #[schemars(extend("x-unit" = "count"))]
    num_files: u64,
    /// The files in it.
    children_files: Vec<FileNode<'a>>,
    /// The directories in it.
    children_dirs: Vec<DirectoryNode<'a>>,
}

impl<'a> DirectoryNode<'a> {
    fn new(directory: &'a Directory) -> Self {
        Self {
            abs_path: LossyPath(&directory.path),
            num_files: directory.num_files,
            children_files: directory.files.iter().map(|name| FileNode { name }).collect(),
            children_dirs: directory.directories.iter().map(DirectoryNode::new).collect(),
        }
    }
}

/// A file of a directory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FileNode<'a> {
    /// Its name, without the directory.
    name: &'a str,
}

/// A block of the answer of an MCP server.
#[derive(Serialize, JsonSchema)]
pub(crate) struct McpBlock<'a> {
    /// The text of the block.
    text: McpText<'a>,
}

/// The text of a block.
#[derive(Serialize, JsonSchema)]
struct McpText<'a> {
    /// The text itself.
    text: &'a str,
}

/// A to-do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TodoEntry<'a> {
    /// Its id within the list.
    id: &'a str,
    /// What is to be done.
    content: &'a str,
    /// How far it is.
    #[schemars(extend("enum" = ["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]))]
    status: &'static str,
}

impl<'a> TodoEntry<'a> {
    fn new(todo: &'a Todo) -> Self {
        Self { id: &todo.id, content: &todo.content, status: todo_status(todo.status) }
    }
}

fn todo_status(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "TODO_STATUS_PENDING",
        TodoStatus::InProgress => "TODO_STATUS_IN_PROGRESS",
        TodoStatus::Completed => "TODO_STATUS_COMPLETED",
        TodoStatus::Cancelled => "TODO_STATUS_CANCELLED",
    }
}

/// The word of the wire for a status as models write it.
pub(crate) fn todo_status_named(word: &str) -> Option<&'static str> {
    serde_json::from_value(Value::from(word)).ok().map(todo_status)
}
