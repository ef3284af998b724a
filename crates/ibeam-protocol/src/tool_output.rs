//! The output of each built-in tool. The names follow `docs/output-format.md`, "Tool calls".

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::SessionId;
use crate::media::Media;
use crate::run::RunTotals;

/// The output of a successful call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    /// `read`
    Read(ReadOutput),
    /// `write`
    Write(WriteOutput),
    /// `edit`
    Edit(EditOutput),
    /// `shell`, exit code 0 or started in the background
    Shell(ShellOutput),
    /// `grep`
    Grep(GrepOutput),
    /// `glob`
    Glob(GlobOutput),
    /// `ls`
    Ls(LsOutput),
    /// `delete`
    Delete(DeleteOutput),
    /// `update_todos`: the whole list
    Todos(Vec<Todo>),
    /// `web_fetch`
    WebFetch(WebFetchOutput),
    /// `web_search`
    WebSearch(WebSearchOutput),
    /// A tool of an MCP server
    Mcp(McpOutput),
    /// `task`
    Task(TaskOutput),
    /// A tool without its own key in the contract
    #[serde(rename = "free")]
    Other(Value),
}

impl ToolOutput {
    /// Returns the images and documents of the output.
    pub fn media(&self) -> &[Media] {
        match self {
            Self::Read(output) => &output.media,
            Self::Mcp(output) => &output.media,
            Self::Write(_)
            | Self::Edit(_)
            | Self::Shell(_)
            | Self::Grep(_)
            | Self::Glob(_)
            | Self::Ls(_)
            | Self::Delete(_)
            | Self::Todos(_)
            | Self::WebFetch(_)
            | Self::WebSearch(_)
            | Self::Task(_)
            | Self::Other(_) => &[],
        }
    }

    /// Returns the images and documents of an output that can have some.
    pub fn media_mut(&mut self) -> Option<&mut Vec<Media>> {
        match self {
            Self::Read(ReadOutput { media, .. }) | Self::Mcp(McpOutput { media, .. }) => Some(media),
            Self::Write(_)
            | Self::Edit(_)
            | Self::Shell(_)
            | Self::Grep(_)
            | Self::Glob(_)
            | Self::Ls(_)
            | Self::Delete(_)
            | Self::Todos(_)
            | Self::WebFetch(_)
            | Self::WebSearch(_)
            | Self::Task(_)
            | Self::Other(_) => None,
        }
    }

    /// Returns the path of the file that the call wrote, edited or deleted.
    pub fn changed_path(&self) -> Option<&PathBuf> {
        match self {
            Self::Write(output) => Some(&output.path),
            Self::Edit(output) => Some(&output.path),
            Self::Delete(output) => Some(&output.path),
            Self::Read(_)
            | Self::Shell(_)
            | Self::Grep(_)
            | Self::Glob(_)
            | Self::Ls(_)
            | Self::Todos(_)
            | Self::WebFetch(_)
            | Self::WebSearch(_)
            | Self::Mcp(_)
            | Self::Task(_)
            | Self::Other(_) => None,
        }
    }
}

/// A part of a text file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOutput {
    /// The text read, without line numbers.
    pub content: String,
    /// Whether the file is empty.
    pub is_empty: bool,
    /// Whether the content was cut because it is longer than one call returns.
    pub exceeded_limit: bool,
    /// The number of lines of the whole file.
    pub total_lines: u64,
    /// The number of characters of the whole file.
    pub total_chars: u64,
    /// The image or document, if the file is one; then `content` describes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A file that was written completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// The number of lines of the new content.
    pub lines_created: u64,
    /// The size of the new file, in bytes.
    pub file_size: u64,
    /// Whether the file did not exist before.
    pub created: bool,
    /// Unified diff, three lines of context. Empty for a new file, for equal or large texts, and in older journals.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

/// A file changed in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// The number of lines that only the new text has.
    pub lines_added: u64,
    /// The number of lines that only the old text had.
    pub lines_removed: u64,
    /// Unified diff, three lines of context.
    pub diff: String,
    /// One sentence for people.
    pub message: String,
}

/// A command that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellOutput {
    /// The command as given to bash.
    pub command: String,
    /// Absolute directory it ran in.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub working_directory: PathBuf,
    /// Exit code; 128 + number when a signal ended it.
    pub exit_code: i32,
    /// The signal's name, e.g. `SIGKILL`.
    pub signal: Option<String>,
    /// Standard output, bounded, lossy UTF-8.
    pub stdout: String,
    /// Standard error, bounded, lossy UTF-8.
    pub stderr: String,
    /// Standard output and standard error in the order of arrival, bounded.
    pub interleaved: String,
    /// From start to end, in milliseconds.
    pub execution_ms: u64,
    /// Whether the command was still running in the background when the call ended.
    pub is_background: bool,
}

/// Lines, files or counts that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepOutput {
    /// The requested pattern.
    pub pattern: String,
    /// Absolute path searched.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// The matches, in the requested mode.
    pub matches: GrepMatches,
    /// Whether more was found than is listed.
    pub truncated: bool,
}

/// The three output modes of `grep`. Paths are relative to the directory searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepMatches {
    /// Lines, by file.
    Content(Vec<FileMatches>),
    /// Files with a match.
    Files(#[serde(serialize_with = "crate::path_text::serialize_paths")] Vec<PathBuf>),
    /// Matching lines, by file.
    Count(#[serde(serialize_with = "crate::path_text::serialize_counted_paths")] Vec<(PathBuf, u64)>),
}

/// The matching lines of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// The file.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub file: PathBuf,
    /// The number of each line, from 1, and the line without its line end.
    pub lines: Vec<(u64, String)>,
}

/// Files whose path matches a glob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobOutput {
    /// The requested glob.
    pub pattern: String,
    /// Absolute directory searched.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// Relative to `path`, newest first, bounded.
    #[serde(serialize_with = "crate::path_text::serialize_paths")]
    pub files: Vec<PathBuf>,
    /// The number of all matches, listed or not.
    pub total_files: u64,
}

/// A listing of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsOutput {
    /// The requested directory.
    pub root: Directory,
    /// Whether more entries exist than are listed.
    pub truncated: bool,
}

/// One directory of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// The number of files that are listed below the directory, at any depth.
    pub num_files: u64,
    /// Names of the files directly in it, sorted.
    pub files: Vec<String>,
    /// The directories directly in it, sorted.
    pub directories: Vec<Directory>,
}

/// A file that was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub path: PathBuf,
    /// The size of the file, in bytes.
    pub file_size: u64,
}

/// A page of the web, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebFetchOutput {
    /// The URL of the page, after redirects.
    pub url: String,
    /// The page as Markdown, bounded; text and JSON unchanged.
    pub markdown: String,
}

/// The results of a web search, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSearchOutput {
    /// Title, address and text of each result, bounded.
    pub content: String,
}

/// The output of a tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpOutput {
    /// Blocks of text, bounded in total; other content is described in one line.
    pub content: Vec<String>,
    /// The images among the blocks that models accept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// The work of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    /// The visible text of each answer, the last of them the result; bounded.
    pub steps: Vec<String>,
    /// The session of the sub-agent.
    pub session_id: SessionId,
    /// From the prompt to the result, in milliseconds.
    pub duration_ms: u64,
    /// The totals of its run.
    pub totals: Box<RunTotals>,
}

/// One line of the to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// The id that the model gave to the task.
    pub id: String,
    /// The task.
    pub content: String,
    /// The state of the task.
    pub status: TodoStatus,
}

/// The state of a to-do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Cancelled.
    Cancelled,
}
