//! `args` of each tool, for the schema alone: the wire repeats what the tools made of the model's arguments.
//!
//! That these shapes are those of the tools is held by the end-to-end tests, which hold real runs against the schema.
#![expect(dead_code, reason = "only their schema is made")]

use schemars::JsonSchema;

/// Which part of which file is read.
#[derive(JsonSchema)]
pub(super) struct ReadArgs {
    /// The file.
    path: String,
    /// The first line, from 1.
    #[schemars(extend("x-unit" = "line number"))]
    #[schemars(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// The most lines.
    #[schemars(extend("x-unit" = "lines"))]
    #[schemars(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

/// A file and its whole new content.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct WriteArgs {
    /// The file.
    path: String,
    /// Its whole new content.
    file_text: String,
    /// The `call_id` again.
    tool_call_id: String,
}

/// A file and one of three ways to say what changes in it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [
    { "required": ["strReplace"] }, { "required": ["multiStrReplace"] }, { "required": ["applyPatch"] },
]))]
pub(super) struct EditArgs {
    /// The file.
    path: String,
    /// One exact replacement.
    #[schemars(skip_serializing_if = "Option::is_none")]
    str_replace: Option<Replacement>,
    /// Several, each applied to the result of the one before.
    #[schemars(skip_serializing_if = "Option::is_none")]
    multi_str_replace: Option<Replacements>,
    /// A patch.
    #[schemars(skip_serializing_if = "Option::is_none")]
    apply_patch: Option<Patch>,
}

/// One exact replacement.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Replacement {
    /// The text that is there.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
    /// Whether every occurrence is replaced.
    #[schemars(skip_serializing_if = "Option::is_none")]
    replace_all: Option<bool>,
}

/// Several exact replacements.
#[derive(JsonSchema)]
struct Replacements {
    /// The replacements, in their order.
    edits: Vec<Replacement>,
}

/// A patch of one file.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Patch {
    /// A unified diff.
    patch_content: String,
}

/// A command and where it runs.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ShellArgs {
    /// The command, for bash.
    command: String,
    /// The directory it runs in; empty for that of the run.
    working_directory: String,
    /// The longest it may take.
    #[schemars(extend("x-unit" = "ms"))]
    timeout: u64,
    /// Whether it goes on in the background.
    #[schemars(skip_serializing_if = "Option::is_none")]
    is_background: Option<bool>,
    /// The `call_id` again.
    tool_call_id: String,
}

/// What is searched for, and where.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct GrepArgs {
    /// A regular expression.
    pattern: String,
    /// The file or directory.
    #[schemars(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// A glob of the files to search.
    #[schemars(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    /// What is told of the findings.
    #[schemars(extend("enum" = ["content", "files_with_matches", "count"]))]
    #[schemars(skip_serializing_if = "Option::is_none")]
    output_mode: Option<String>,
    /// Whether upper and lower case are the same.
    #[schemars(skip_serializing_if = "Option::is_none")]
    case_insensitive: Option<bool>,
    /// Whether the expression may span lines.
    #[schemars(skip_serializing_if = "Option::is_none")]
    multiline: Option<bool>,
    /// The most findings.
    #[schemars(extend("x-unit" = "count"))]
    #[schemars(skip_serializing_if = "Option::is_none")]
    head_limit: Option<u64>,
    /// A type of files, e.g. `rust`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    /// The `call_id` again.
    tool_call_id: String,
}

/// Which names are looked for, and where.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct GlobArgs {
    /// The glob.
    glob_pattern: String,
    /// The directory.
    #[schemars(skip_serializing_if = "Option::is_none")]
    target_directory: Option<String>,
}

/// Which directory is listed.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct LsArgs {
    /// The directory.
    path: String,
    /// Globs of what is left out.
    ignore: Vec<String>,
    /// The `call_id` again.
    tool_call_id: String,
}

/// Which file is deleted.
#[derive(JsonSchema)]
pub(super) struct DeleteArgs {
    /// The file.
    path: String,
}

/// Items for the to-do list.
#[derive(JsonSchema)]
pub(super) struct UpdateTodosArgs {
    /// The items.
    todos: Vec<TodoArgs>,
    /// Whether they are merged into the list by their ids, or replace it.
    merge: bool,
}

/// An item as it was asked for; in a merge, what is absent stays as it was.
#[derive(JsonSchema)]
struct TodoArgs {
    /// Its id within the list.
    id: String,
    /// What is to be done.
    #[schemars(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// How far it is.
    #[schemars(extend("enum" = ["TODO_STATUS_PENDING", "TODO_STATUS_IN_PROGRESS", "TODO_STATUS_COMPLETED", "TODO_STATUS_CANCELLED"]))]
    #[schemars(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

/// Which page is fetched.
#[derive(JsonSchema)]
pub(super) struct WebFetchArgs {
    /// Its address.
    url: String,
}
