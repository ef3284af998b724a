//! What each tool gives in the arm `success`, in the order of the wire. Contract section 4.

use std::collections::BTreeMap;

use ibeam_protocol::ToolOutput;
use ibeam_protocol::tool_output::{
    DeleteOutput, Directory, EditOutput, FileMatches, GlobOutput, GrepMatches, GrepOutput, McpOutput,
    ReadOutput, ShellOutput, Todo, TodoStatus, WebFetchOutput, WriteOutput,
};
use serde::Serialize;
use serde_json::Value;

use super::LossyPath;

/// The payload; a variant per tool.
#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum Success<'a> {
    Read {
        content: &'a str,
        is_empty: bool,
        exceeded_limit: bool,
        total_lines: u64,
        total_chars: u64,
    },
    Write {
        path: LossyPath<'a>,
        lines_created: u64,
        file_size: u64,
    },
    Edit {
        path: LossyPath<'a>,
        lines_added: u64,
        lines_removed: u64,
        diff_string: &'a str,
        message: &'a str,
    },
    Shell(Shell<'a>),
    Grep {
        pattern: &'a str,
        path: LossyPath<'a>,
        output_mode: &'static str,
        workspace_results: BTreeMap<String, GrepResults<'a>>,
    },
    Glob {
        pattern: &'a str,
        path: LossyPath<'a>,
        files: Vec<LossyPath<'a>>,
        total_files: u64,
    },
    Ls {
        directory_tree_root: DirectoryNode<'a>,
    },
    Delete {
        path: LossyPath<'a>,
        file_size: u64,
    },
    Todos {
        todos: Vec<TodoEntry<'a>>,
    },
    WebFetch {
        url: &'a str,
        markdown: &'a str,
    },
    Mcp {
        content: Vec<TextContent<'a>>,
        is_error: bool,
    },
    Free(&'a Value),
}

impl<'a> Success<'a> {
    pub(crate) fn new(output: &'a ToolOutput) -> Self {
        match output {
            ToolOutput::Read(ReadOutput { content, is_empty, exceeded_limit, total_lines, total_chars }) => {
                Self::Read {
                    content,
                    is_empty: *is_empty,
                    exceeded_limit: *exceeded_limit,
                    total_lines: *total_lines,
                    total_chars: *total_chars,
                }
            }
            ToolOutput::Write(WriteOutput { path, lines_created, file_size, created: _ }) => {
                Self::Write { path: LossyPath(path), lines_created: *lines_created, file_size: *file_size }
            }
            ToolOutput::Edit(EditOutput { path, lines_added, lines_removed, diff, message }) => Self::Edit {
                path: LossyPath(path),
                lines_added: *lines_added,
                lines_removed: *lines_removed,
                diff_string: diff,
                message,
            },
            ToolOutput::Shell(shell) => Self::Shell(Shell::new(shell)),
            ToolOutput::Grep(GrepOutput { pattern, path, matches, truncated: _ }) => Self::Grep {
                pattern,
                path: LossyPath(path),
                output_mode: output_mode(matches),
                workspace_results: BTreeMap::from([(
                    path.to_string_lossy().into_owned(),
                    GrepResults::new(matches),
                )]),
            },
            ToolOutput::Glob(GlobOutput { pattern, path, files, total_files }) => Self::Glob {
                pattern,
                path: LossyPath(path),
                files: files.iter().map(|file| LossyPath(file)).collect(),
                total_files: *total_files,
            },
            ToolOutput::Ls(listing) => Self::Ls { directory_tree_root: DirectoryNode::new(&listing.root) },
            ToolOutput::Delete(DeleteOutput { path, file_size }) => {
                Self::Delete { path: LossyPath(path), file_size: *file_size }
            }
            ToolOutput::Todos(todos) => Self::Todos { todos: todos.iter().map(TodoEntry::new).collect() },
            ToolOutput::WebFetch(WebFetchOutput { url, markdown }) => Self::WebFetch { url, markdown },
            ToolOutput::Mcp(output) => Self::mcp(output, false),
            ToolOutput::Free(value) => Self::Free(value),
        }
    }

    /// What an MCP server gave; its own failures stand in this arm too.
    pub(crate) fn mcp(output: &'a McpOutput, is_error: bool) -> Self {
        let text = |text: &'a String| TextContent { text: Text { text } };
        Self::Mcp { content: output.content.iter().map(text).collect(), is_error }
    }
}

/// A command that ran, whatever its exit code.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shell<'a> {
    command: &'a str,
    working_directory: LossyPath<'a>,
    exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    stdout: &'a str,
    stderr: &'a str,
    interleaved_output: &'a str,
    /// Milliseconds.
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

fn output_mode(matches: &GrepMatches) -> &'static str {
    match matches {
        GrepMatches::Content(_) => "content",
        GrepMatches::Files(_) => "files_with_matches",
        GrepMatches::Count(_) => "count",
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum GrepResults<'a> {
    Content { matches: Vec<GrepFile<'a>>, total_lines: usize },
    Files { files: Vec<LossyPath<'a>> },
    Count { counts: Vec<GrepCount<'a>> },
}

impl<'a> GrepResults<'a> {
    fn new(matches: &'a GrepMatches) -> Self {
        match matches {
            GrepMatches::Content(files) => Self::Content {
                total_lines: files.iter().map(|file| file.lines.len()).sum(),
                matches: files.iter().map(GrepFile::new).collect(),
            },
            GrepMatches::Files(files) => {
                Self::Files { files: files.iter().map(|file| LossyPath(file)).collect() }
            }
            GrepMatches::Count(counts) => Self::Count {
                counts: counts
                    .iter()
                    .map(|(file, count)| GrepCount { file: LossyPath(file), count: *count })
                    .collect(),
            },
        }
    }
}

#[derive(Serialize)]
pub(crate) struct GrepFile<'a> {
    file: LossyPath<'a>,
    matches: Vec<GrepLine<'a>>,
}

impl<'a> GrepFile<'a> {
    fn new(file: &'a FileMatches) -> Self {
        let matches = file
            .lines
            .iter()
            .map(|(number, line)| GrepLine { line_number: *number, content: line })
            .collect();
        Self { file: LossyPath(&file.file), matches }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepLine<'a> {
    line_number: u64,
    content: &'a str,
}

#[derive(Serialize)]
pub(crate) struct GrepCount<'a> {
    file: LossyPath<'a>,
    count: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DirectoryNode<'a> {
    abs_path: LossyPath<'a>,
    num_files: u64,
    children_files: Vec<FileNode<'a>>,
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

#[derive(Serialize)]
pub(crate) struct FileNode<'a> {
    name: &'a str,
}

#[derive(Serialize)]
pub(crate) struct TextContent<'a> {
    text: Text<'a>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
pub(crate) struct TodoEntry<'a> {
    id: &'a str,
    content: &'a str,
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
