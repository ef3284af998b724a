//! Tool calls as an editor shows them: title, kind, locations, diffs and output.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    Content, ContentBlock, Diff, ImageContent, Meta, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    Terminal, TextContent, ToolCall as ShownCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use ibeam_output::{Catalogue, EditorLine};
use ibeam_protocol::tool_output::{ShellOutput, Todo, TodoStatus};
use ibeam_protocol::{Elision, ToolCall, ToolFailure, ToolOutcome, ToolOutput, escape_invisible};
use serde_json::{Value, json};

use crate::diff;

/// Maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 200;

/// The amount of a call that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Everything, for a call that is running.
    Full,
    /// Large payloads are shortened to this number of bytes, and images left out, for calls of the past.
    Shortened(usize),
}

impl Detail {
    fn text(self, text: &str) -> String {
        match self {
            Self::Full => text.to_owned(),
            Self::Shortened(bytes) => Elision::mostly_head(bytes).apply(text).into_owned(),
        }
    }

    fn allows(self, bytes: usize) -> bool {
        match self {
            Self::Full => true,
            Self::Shortened(limit) => bytes <= limit,
        }
    }
}

/// The form in which the calls of a session are shown.
#[derive(Clone, Copy)]
pub(crate) struct CallView<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) detail: Detail,
    pub(crate) catalogue: &'a Catalogue,
    /// Whether the output of commands is shown as that of a terminal.
    pub(crate) has_terminals: bool,
}

impl CallView<'_> {
    /// Whether the call is a command whose output is shown as that of a terminal.
    fn is_terminal(self, call: &ToolCall) -> bool {
        self.has_terminals && call.name == "shell"
    }

    /// Returns what is shown of a call before it ends.
    fn first_content(self, call: &ToolCall) -> Vec<ToolCallContent> {
        match self.is_terminal(call) {
            true => vec![terminal(call)],
            false => Arguments { call, cwd: self.cwd }.diffs(self.detail),
        }
    }
}

/// Returns a call that has started and may still need approval.
pub(crate) fn started(call: &ToolCall, view: CallView<'_>) -> ShownCall {
    let CallView { cwd, detail, catalogue, .. } = view;
    let arguments = Arguments { call, cwd };
    let terminal = view.is_terminal(call).then(|| {
        let info = json!({ "terminal_id": call.id.as_str(), "cwd": arguments.directory() });
        Meta::from_iter([("terminal_info".to_owned(), info)])
    });
    ShownCall::new(call.id.as_str().to_owned(), arguments.title(catalogue))
        .meta(terminal)
        .name(call.name.clone())
        .kind(kind(&call.name))
        .status(ToolCallStatus::Pending)
        .locations(arguments.locations())
        .content(view.first_content(call))
        .raw_input(detail.allows(payload_bytes(&call.arguments)).then(|| call.arguments.clone()))
}

pub(crate) fn title(call: &ToolCall, view: CallView<'_>) -> String {
    Arguments { call, cwd: view.cwd }.title(view.catalogue)
}

/// Returns the update of a call that was approved.
pub(crate) fn approved(call_id: &str) -> ToolCallUpdate {
    ToolCallUpdate::new(call_id.to_owned(), ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
}

/// Returns the call in a question for approval, with its cause. A command is shown whole, with the `directory` in which it
/// starts: clients shorten a title, and some show nothing else of a call.
pub(crate) fn question(
    call: &ToolCall,
    view: CallView<'_>,
    cause: &str,
    directory: Option<&Path>,
) -> ToolCallUpdate {
    let arguments = Arguments { call, cwd: view.cwd };
    let command = directory.zip(arguments.text("command"));
    let command = command.map(|(directory, command)| {
        fenced(&escape_invisible(&format!("{}$ {command}", directory.display())))
    });
    let about = [Some(cause.to_owned()), command].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let content = std::iter::once(text(&about)).chain(view.first_content(call));
    let mut locations = arguments.locations();
    locations.extend(directory.map(ToolCallLocation::new));
    let fields = ToolCallUpdateFields::new()
        .title(arguments.title(view.catalogue))
        .name(call.name.clone())
        .kind(kind(&call.name))
        .status(ToolCallStatus::Pending)
        .locations(locations)
        .content(content.collect::<Vec<_>>())
        .raw_input(call.arguments.clone());
    ToolCallUpdate::new(call.id.as_str().to_owned(), fields)
}

/// Returns the update of a call that has ended.
pub(crate) fn finished(call: &ToolCall, outcome: &ToolOutcome, view: CallView<'_>) -> ToolCallUpdate {
    let status = if outcome.is_error() { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let fields = ToolCallUpdateFields::new().status(status).content(content(call, outcome, view));
    let fields = match outcome {
        ToolOutcome::Success { output: ToolOutput::Edit(output), .. } => {
            let line = diff::hunks(&output.diff).first().and_then(|hunk| hunk.line);
            fields.locations(vec![ToolCallLocation::new(output.path.clone()).line(line)])
        }
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => fields,
    };
    let terminal = shell_output(outcome).filter(|_| view.is_terminal(call)).map(|output| {
        let (id, data) = (call.id.as_str(), view.detail.text(&output.interleaved));
        let code = output.signal.is_none().then_some(output.exit_code);
        let exit = json!({ "terminal_id": id, "exit_code": code, "signal": output.signal });
        let output = json!({ "terminal_id": id, "data": data });
        Meta::from_iter([("terminal_output".to_owned(), output), ("terminal_exit".to_owned(), exit)])
    });
    ToolCallUpdate::new(call.id.as_str().to_owned(), fields).meta(terminal)
}

/// Returns the output of a command.
fn shell_output(outcome: &ToolOutcome) -> Option<&ShellOutput> {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Shell(output), .. }
        | ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. }
        | ToolOutcome::Failure { failure: ToolFailure::TimedOut { partial: output, .. }, .. } => Some(output),
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => None,
    }
}

/// Returns the place of the output of a command. The command does not run in a terminal of the client, so its id is that of
/// the call.
fn terminal(call: &ToolCall) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(call.id.as_str().to_owned()))
}

/// Returns the plan that a to-do list is. Cancelled tasks are left out: a plan has no such state.
pub(crate) fn plan(todos: &[Todo]) -> Plan {
    let entry = |todo: &Todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Completed => PlanEntryStatus::Completed,
            TodoStatus::Cancelled => return None,
        };
        Some(PlanEntry::new(todo.content.as_str(), PlanEntryPriority::Medium, status))
    };
    Plan::new(todos.iter().filter_map(entry).collect())
}

pub(crate) fn text_block(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read" | "ls" => ToolKind::Read,
        "grep" | "glob" | "web_search" => ToolKind::Search,
        "write" | "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "shell" => ToolKind::Execute,
        "web_fetch" => ToolKind::Fetch,
        "update_todos" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// Returns the content of a finished call. It replaces what its start, or the question about it, showed.
fn content(call: &ToolCall, outcome: &ToolOutcome, view: CallView<'_>) -> Vec<ToolCallContent> {
    let CallView { cwd, detail, catalogue, .. } = view;
    if let Some(output) = shell_output(outcome) {
        let code = output.exit_code.to_string();
        let end = match (&output.signal, outcome) {
            (_, ToolOutcome::Failure { failure: ToolFailure::TimedOut { timeout_ms, .. }, .. }) => {
                EditorLine::TimedOut { timeout_ms: *timeout_ms }
            }
            (Some(signal), _) => EditorLine::EndedBy { signal },
            (None, _) => EditorLine::ExitCode { code: &code },
        };
        let end = outcome.is_error().then(|| catalogue.line(&end));
        if view.is_terminal(call) {
            return std::iter::once(terminal(call)).chain(end.as_deref().map(text)).collect();
        }
        let shown = [Some(fenced(&detail.text(&output.interleaved))), end].into_iter().flatten();
        return vec![text(&shown.collect::<Vec<_>>().join("\n"))];
    }
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Edit(output), .. } => {
            let is_shown = detail.allows(output.diff.len());
            let hunks = if is_shown { diff::hunks(&output.diff) } else { Vec::new() };
            if hunks.is_empty() {
                return vec![text(&output.message)];
            }
            let diff = |hunk: diff::Hunk| {
                ToolCallContent::Diff(Diff::new(output.path.clone(), hunk.new).old_text(hunk.old))
            };
            hunks.into_iter().map(diff).collect()
        }
        ToolOutcome::Success { output: ToolOutput::Write(_), .. } => {
            let diffs = Arguments { call, cwd }.diffs(detail);
            if diffs.is_empty() { vec![text(&outcome.for_model())] } else { diffs }
        }
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => {
            let mut content = vec![text(&detail.text(&outcome.for_model()))];
            if detail == Detail::Full {
                let images = outcome.media().iter().filter(|media| media.media_type.is_image());
                content.extend(images.map(|media| {
                    let image = ImageContent::new(&*media.data, media.media_type.name());
                    ToolCallContent::Content(Content::new(ContentBlock::Image(image)))
                }));
            }
            content
        }
    }
}

fn text(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(text_block(text)))
}

/// Returns the output of a command as a block of Markdown. The fence is longer than each in the output.
fn fenced(output: &str) -> String {
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if output.ends_with('\n') || output.is_empty() { "" } else { "\n" };
    format!("{fence}console\n{output}{end}{fence}")
}

/// Returns the number of bytes of all texts in a value, as an estimate of its size.
fn payload_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(payload_bytes).sum(),
        Value::Object(fields) => fields.values().map(payload_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The arguments of a call in the workspace `cwd`.
struct Arguments<'a> {
    call: &'a ToolCall,
    cwd: &'a Path,
}

impl Arguments<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.call.arguments.get(name)?.as_str()
    }

    fn path(&self) -> Option<&str> {
        self.text("path").or_else(|| self.text("targetDirectory")).filter(|path| !path.is_empty())
    }

    /// Returns the path for people: relative to the workspace where it is in it.
    fn shown_path(&self) -> String {
        let path = self.path().unwrap_or(".");
        let relative = Path::new(path).strip_prefix(self.cwd).ok().filter(|path| *path != Path::new(""));
        relative.map_or_else(|| path.to_owned(), |path| path.display().to_string())
    }

    fn title(&self, catalogue: &Catalogue) -> String {
        let path = self.shown_path();
        let argument = |name: &str| first_line(self.text(name).unwrap_or_default());
        let line = |line: EditorLine<'_>| catalogue.line(&line);
        let title = match self.call.name.as_str() {
            "shell" => format!("`{}`", self.text("command").unwrap_or_default()),
            "read" => line(EditorLine::Read { file: &path }),
            "write" => line(EditorLine::Write { file: &path }),
            "edit" => line(EditorLine::Edit { file: &path }),
            "delete" => line(EditorLine::Delete { file: &path }),
            "ls" => line(EditorLine::List { file: &path }),
            "grep" => line(EditorLine::Search { pattern: argument("pattern") }),
            "glob" => line(EditorLine::Find { pattern: argument("globPattern") }),
            "web_fetch" => line(EditorLine::Fetch { url: argument("url") }),
            "web_search" => line(EditorLine::WebSearch { query: argument("searchTerm") }),
            "update_todos" => line(EditorLine::Todos),
            "task" => {
                let description = argument("description");
                let task = if description.is_empty() { argument("prompt") } else { description };
                line(EditorLine::Subagent { task })
            }
            name => match (self.text("providerIdentifier"), self.text("toolName")) {
                (Some(server), Some(tool)) => format!("{server}: {tool}"),
                _ => name.to_owned(),
            },
        };
        let line: String = title.lines().next().unwrap_or_default().chars().take(MAX_TITLE_CHARS).collect();
        if line.len() < title.len() { format!("{line}…") } else { line }
    }

    fn locations(&self) -> Vec<ToolCallLocation> {
        let is_file = matches!(self.call.name.as_str(), "read" | "write" | "edit" | "delete");
        let Some(path) = self.path().filter(|_| is_file) else { return Vec::new() };
        let line = self.call.arguments.get("offset").and_then(Value::as_u64).filter(|line| *line > 0);
        let line = line.and_then(|line| u32::try_from(line).ok());
        vec![ToolCallLocation::new(self.absolute(path)).line(line)]
    }

    /// Returns the directory in which a command starts.
    fn directory(&self) -> PathBuf {
        let given = self.text("workingDirectory").filter(|given| !given.is_empty());
        given.map_or_else(|| self.cwd.to_owned(), |given| self.absolute(given))
    }

    fn absolute(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// Returns the changes that the arguments state, before the call has run.
    fn diffs(&self, detail: Detail) -> Vec<ToolCallContent> {
        let Some(path) = self.path() else { return Vec::new() };
        if !detail.allows(payload_bytes(&self.call.arguments)) {
            return Vec::new();
        }
        let path = self.absolute(path);
        let replacement = |edit: &Value| {
            let text = |name: &str| Some(edit.get(name)?.as_str()?.to_owned());
            Some(Diff::new(path.clone(), text("newText")?).old_text(text("oldText")?))
        };
        let arguments = &self.call.arguments;
        let diffs: Vec<Diff> = match self.call.name.as_str() {
            "write" => self.text("fileText").map(|text| Diff::new(path.clone(), text)).into_iter().collect(),
            "edit" => {
                let one = arguments.get("strReplace").into_iter();
                let several = arguments.pointer("/multiStrReplace/edits").and_then(Value::as_array);
                one.chain(several.into_iter().flatten()).filter_map(replacement).collect()
            }
            _ => Vec::new(),
        };
        diffs.into_iter().map(ToolCallContent::Diff).collect()
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;
    use serde_json::json;

    use super::*;

    static ENGLISH: Catalogue = Catalogue::new(Locale::En);

    fn view(detail: Detail, has_terminals: bool) -> CallView<'static> {
        CallView { cwd: Path::new("/w"), detail, catalogue: &ENGLISH, has_terminals }
    }

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: "c".into(), name: name.to_owned(), arguments }
    }

    #[track_caller]
    fn check_start(call: &ToolCall, expect: Value) {
        let shown = serde_json::to_value(started(call, view(Detail::Full, false))).unwrap();
        for (key, value) in expect.as_object().unwrap() {
            assert_eq!(shown.get(key).unwrap_or(&Value::Null), value, "{key} of {shown}");
        }
    }

    #[test]
    fn a_call_is_shown_with_its_title_kind_and_place() {
        check_start(
            &call("read", json!({ "path": "/w/src/a.rs", "offset": 7 })),
            json!({ "title": "Read src/a.rs", "kind": "read",
                "locations": [{ "path": "/w/src/a.rs", "line": 7 }] }),
        );
        check_start(
            &call("shell", json!({ "command": "make\nmake test" })),
            json!({ "title": "`make…", "kind": "execute" }),
        );
        check_start(
            &call("edit", json!({ "path": "a", "strReplace": { "oldText": "x", "newText": "y" } })),
            json!({ "title": "Edit a", "kind": "edit",
                "content": [{ "type": "diff", "path": "/w/a", "oldText": "x", "newText": "y" }] }),
        );
    }

    #[test]
    fn the_past_is_shortened() {
        let call = call("write", json!({ "path": "a", "fileText": "x".repeat(100) }));
        let shown = serde_json::to_string(&started(&call, view(Detail::Shortened(50), false))).unwrap();
        assert!(!shown.contains("xxx"), "{shown}");
        let outcome = ToolOutcome::error("y".repeat(100));
        let shown = finished(&call, &outcome, view(Detail::Shortened(50), false));
        let shown = serde_json::to_string(&shown).unwrap();
        assert!(!shown.contains(&"y".repeat(51)) && shown.contains("\"failed\""), "{shown}");
    }

    #[test]
    fn a_command_has_a_terminal_only_where_the_client_shows_its_output() {
        let call = call("shell", json!({ "command": "false" }));
        let output = ShellOutput { exit_code: 1, interleaved: "out\n".to_owned(), ..ShellOutput::default() };
        let outcome =
            ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), for_model: "".into() };
        let shown = |has_terminals| {
            let view = view(Detail::Full, has_terminals);
            let start = serde_json::to_value(started(&call, view)).unwrap();
            (start, serde_json::to_value(finished(&call, &outcome, view)).unwrap())
        };
        let (start, end) = shown(true);
        assert_eq!(start["content"], json!([{ "type": "terminal", "terminalId": "c" }]));
        assert_eq!(start["_meta"]["terminal_info"], json!({ "terminal_id": "c", "cwd": "/w" }));
        assert_eq!(end["_meta"]["terminal_output"], json!({ "terminal_id": "c", "data": "out\n" }));
        assert_eq!(end["_meta"]["terminal_exit"]["exit_code"], 1);
        assert_eq!(end["content"][1]["content"]["text"], "Exit code 1");
        let (start, end) = shown(false);
        assert!(start.get("_meta").is_none() && end.get("_meta").is_none(), "{start} {end}");
        assert_eq!(end["content"][0]["content"]["text"], "```console\nout\n```\nExit code 1");
    }

    #[test]
    fn a_question_has_its_cause_the_whole_command_and_its_directory() {
        let call = call("shell", json!({ "command": "make\nmake \u{202e}x", "workingDirectory": "sub" }));
        let shown = |has_terminals| {
            let view = view(Detail::Full, has_terminals);
            serde_json::to_value(question(&call, view, "asked", Some(Path::new("/w/sub")))).unwrap()
        };
        let question = shown(true);
        let content = &question["content"];
        let expect = "asked\n\n```console\n/w/sub$ make\nmake <U+202E>x\n```";
        assert_eq!(
            (&content[0]["content"]["text"], &content[1]["type"]),
            (&json!(expect), &json!("terminal"))
        );
        assert_eq!(question["locations"], json!([{ "path": "/w/sub" }]));
        assert_eq!(shown(false)["content"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_fence_is_longer_than_each_in_the_output() {
        assert_eq!(fenced("a"), "```console\na\n```");
        assert_eq!(fenced("````\n"), "`````console\n````\n`````");
    }
}
