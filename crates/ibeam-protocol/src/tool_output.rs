//! What each built-in tool found or did. The names follow contract section 4; the wire's own types are in
//! `ibeam-output`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The facts of a successful call.
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
    /// A tool of an MCP server
    Mcp(McpOutput),
    /// A tool without a key of its own on the wire
    #[serde(rename = "free")]
    Other(Value),
}

/// A part of a text file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOutput {
    /// The text read, without line numbers.
    pub content: String,
    /// The file has no bytes.
    pub is_empty: bool,
    /// The file is longer than what one call returns and was cut.
    pub exceeded_limit: bool,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// Characters of the whole file.
    pub total_chars: u64,
}

/// A file written whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// Lines of the new content.
    pub lines_created: u64,
    /// Bytes of the new file.
    pub file_size: u64,
    /// The file did not exist before.
    pub created: bool,
}

/// A file changed in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// Lines that only the new text has.
    pub lines_added: u64,
    /// Lines that only the old text had.
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
    #[serde(serialize_with = "crate::path_text::one")]
    pub working_directory: PathBuf,
    /// Exit code; 128 + number when a signal ended it.
    pub exit_code: i32,
    /// The signal's name, e.g. `SIGKILL`.
    pub signal: Option<String>,
    /// Standard output, bounded, lossy UTF-8.
    pub stdout: String,
    /// Standard error, bounded, lossy UTF-8.
    pub stderr: String,
    /// Both in order of arrival, bounded.
    pub interleaved: String,
    /// From start to end, in milliseconds.
    pub execution_ms: u64,
    /// Started in the background and still running when the call ended.
    pub is_background: bool,
}

/// Lines, files or counts that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepOutput {
    /// The pattern as asked.
    pub pattern: String,
    /// Absolute path searched.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// What was found, in the mode asked for.
    pub matches: GrepMatches,
    /// More was found than is listed.
    pub truncated: bool,
}

/// The three output modes of `grep`. Paths are relative to the directory searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepMatches {
    /// Lines, by file.
    Content(Vec<FileMatches>),
    /// Files with a match.
    Files(#[serde(serialize_with = "crate::path_text::many")] Vec<PathBuf>),
    /// Matching lines, by file.
    Count(#[serde(serialize_with = "crate::path_text::counted")] Vec<(PathBuf, u64)>),
}

/// The matching lines of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// The file.
    #[serde(serialize_with = "crate::path_text::one")]
    pub file: PathBuf,
    /// (line number from 1, line without its end)
    pub lines: Vec<(u64, String)>,
}

/// Files whose path matches a glob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobOutput {
    /// The glob as asked.
    pub pattern: String,
    /// Absolute directory searched.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// Relative to `path`, newest first, bounded.
    #[serde(serialize_with = "crate::path_text::many")]
    pub files: Vec<PathBuf>,
    /// All that matched, listed or not.
    pub total_files: u64,
}

/// A directory, as deep as was listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsOutput {
    /// The directory asked for.
    pub root: Directory,
    /// More entries exist than are listed.
    pub truncated: bool,
}

/// One directory of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// Files listed below it, at any depth.
    pub num_files: u64,
    /// Names of its own files, sorted.
    pub files: Vec<String>,
    /// Its directories, sorted.
    pub directories: Vec<Directory>,
}

/// A file removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteOutput {
    /// Absolute path.
    #[serde(serialize_with = "crate::path_text::one")]
    pub path: PathBuf,
    /// Bytes it had.
    pub file_size: u64,
}

/// A page of the web, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebFetchOutput {
    /// Where the page came from: the address asked for, or where that one's redirects led.
    pub url: String,
    /// The page as Markdown, bounded; text and JSON as they are.
    pub markdown: String,
}

/// What a tool of an MCP server gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpOutput {
    /// Blocks of text, bounded in sum; what is no text is told in a line.
    pub content: Vec<String>,
}

/// One line of the to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// The model's id for it.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a to-do is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}
