//! `context`: what a run would send to the model first, with the bytes and the estimated tokens of each part.

use std::ffi::OsString;

use ibeam_core::{CurrentPrompt, History, SessionPrompt, estimated_tokens, size_bytes};
use ibeam_output::{ContextLine, escape_to_one_line};
use ibeam_protocol::{
    Attachment, Environment, EventKind, Failure, McpStatus, Message, PromptOwner, PromptPart, PromptRecord,
    ToolSpec, UserPart,
};
use ibeam_session::SessionError;
use serde_json::{Map, Value, json};

use super::Report;
use crate::app::AppContext;
use crate::run::context_preview::ContextPreview;
use crate::run::{SessionTarget, session_error_reason};
use crate::session_name;
use crate::system_prompt::{PartKind, SystemPromptPart};

struct Part {
    /// The kind of the part: the key `kind` in JSON.
    kind: String,
    /// The key and the value that identify the part, if there are several of its kind.
    name: Option<(&'static str, String)>,
    text: String,
    /// The size for the estimate, which differs from that of the text for images and documents.
    bytes: usize,
    /// The number of tools of an MCP server.
    tools: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ContextOptions {
    /// Include the texts.
    pub full: bool,
    /// Start the MCP servers, and count their tools.
    pub start_servers: bool,
    /// Show what a conversation would send, instead of print mode.
    pub conversation: bool,
}

/// The parts under one heading.
struct Section {
    /// The key in JSON.
    key: &'static str,
    heading: ContextLine<'static>,
    parts: Vec<Part>,
}

/// Returns the parts of the first request of a run with the options of `app` and the prompt `words`.
///
/// # Errors
/// The errors with which such a run would not start; the reason why its session cannot be read.
pub fn context_report(
    app: &AppContext,
    words: &[OsString],
    options: ContextOptions,
) -> Result<Report, Failure> {
    let ContextOptions { full, start_servers, conversation: has_person } = options;
    let StoredSession { history, environment } = StoredSession::load(app)?;
    let preview = ContextPreview::new(app, words, start_servers, has_person, environment)?;
    let sections = sections(&preview, Continuation::new(app, &preview, history));
    Ok(Report {
        text: as_text(app, &preview, &sections, full),
        json: as_json(app, &preview, &sections, full),
        warnings: preview.notices.iter().map(|notice| app.base.catalogue.notice(notice)).collect(),
    })
}

/// The session that the flags resume; empty if they resume none.
#[derive(Default)]
struct StoredSession {
    history: History,
    /// The environment at its start, if it was in this workspace.
    environment: Option<Environment>,
}

impl StoredSession {
    /// Reads the session.
    ///
    /// # Errors
    /// The reason why there is no such session, or why it cannot be read.
    fn load(app: &AppContext) -> Result<Self, Failure> {
        let mut stored = Self::default();
        let name = match &app.base.options.session {
            SessionTarget::New => return Ok(stored),
            SessionTarget::Newest => "-1",
            SessionTarget::Named(name) | SessionTarget::Before { session: name, .. } => name,
        };
        let sessions = app.dirs.sessions();
        let id = session_name::find_session(&sessions, &app.workspace, name)?;
        let read = ibeam_session::read::<SessionError>(&sessions, id, &mut |event| {
            stored.history.fold(&event.kind);
            if let EventKind::RunStarted(head) = event.kind {
                let is_here = head.cwd == app.workspace;
                stored.environment = head.environment.or(stored.environment.take()).filter(|_| is_here);
            }
            Ok(())
        });
        read.map_err(|error| session_error_reason(&error, id))?;
        Ok(stored)
    }
}

/// The prompt and the conversation of the next request of a stored session.
struct Continuation {
    /// The prompt that its requests have; `None` if they get the current one.
    prompt: Option<SessionPrompt>,
    /// The messages and the results of tools, without their texts, and the changes that the model would receive.
    conversation: Vec<Part>,
}

impl Continuation {
    fn new(app: &AppContext, preview: &ContextPreview, mut history: History) -> Self {
        let stored = history.messages().len();
        let prompt = sent_prompt(app, preview, &mut history);
        let (stored, changes) = history.messages().split_at(stored);
        let (results, messages): (Vec<_>, Vec<_>) =
            stored.iter().partition(|message| matches!(message.as_ref(), Message::ToolResults(_)));
        let parts = [("messages", messages), ("tool_results", results)];
        let sized = parts.into_iter().map(|(kind, found)| {
            let bytes = found.iter().map(|message| size_bytes(std::slice::from_ref(*message))).sum();
            Part { bytes, ..part(kind, None, String::new()) }
        });
        let changes = changes.iter().flat_map(|message| match message.as_ref() {
            Message::User(parts) | Message::Instructions(parts) => parts.as_slice(),
            Message::Update(_) | Message::Assistant(_) | Message::ToolResults(_) => &[],
        });
        let changes = changes.map(|text| part("changes", None, text.as_text().into_owned()));
        let conversation = sized.chain(changes).filter(|part| part.bytes > 0).collect();
        Self { prompt, conversation }
    }
}

/// Returns the prompt of the next request, after adding the messages about what has changed since. Which tools
/// a run would have is not known before its MCP servers are started, so no change of a tool is among them.
fn sent_prompt(app: &AppContext, preview: &ContextPreview, history: &mut History) -> Option<SessionPrompt> {
    let tools = history.prompt()?.sent_tools().to_vec();
    let record =
        CurrentPrompt::new(preview.system_prompt.prompt_parts(), tools, app.redactor()).record(history, None);
    match record {
        None => {}
        Some(change @ PromptRecord::Change { .. }) => {
            history.fold(&EventKind::PromptRecorded(Box::new(change)));
        }
        Some(PromptRecord::Complete { .. }) => return None,
    }
    history.prompt().cloned()
}

fn sections(preview: &ContextPreview, continuation: Continuation) -> [Section; 6] {
    let Continuation { prompt: sent, conversation } = continuation;
    let (system, repository) = match &sent {
        Some(sent) => {
            let is_repository = |part: &&PromptPart| part.owner == PromptOwner::Repository;
            let (repository, system): (Vec<_>, Vec<_>) = sent.sent_parts().iter().partition(is_repository);
            let parts = |found: Vec<&PromptPart>| found.into_iter().map(recorded_part).collect();
            (parts(system), parts(repository))
        }
        None => (
            preview.system_prompt.parts().iter().map(system_prompt_part).collect::<Vec<_>>(),
            repository_parts(preview),
        ),
    };
    let (tools, server_tools) = match &sent {
        // The recorded tools are those of servers too.
        Some(sent) => (sent.sent_tools(), [].as_slice()),
        None => (preview.tools.as_slice(), preview.server_tools.as_slice()),
    };
    let texts = preview.prompt.texts.iter().map(|text| part("text", None, text.clone()));
    let attachments = preview.prompt.attachments.iter().map(attachment_part);
    [
        Section { key: "system", heading: ContextLine::System, parts: system },
        Section { key: "tools", heading: ContextLine::Tools, parts: tools.iter().map(tool_part).collect() },
        Section {
            key: "mcp_tools",
            heading: ContextLine::ServerTools,
            parts: server_tools.iter().map(|(name, tools)| server_part(name, tools)).collect(),
        },
        Section { key: "repository", heading: ContextLine::Repository, parts: repository },
        Section { key: "conversation", heading: ContextLine::Conversation, parts: conversation },
        Section { key: "prompt", heading: ContextLine::Prompt, parts: texts.chain(attachments).collect() },
    ]
}

fn part(kind: &str, name: Option<(&'static str, String)>, text: String) -> Part {
    Part { kind: kind.to_owned(), name, bytes: text.len(), text, tools: None }
}

/// Returns the content of the repository, and what marks it.
fn repository_parts(preview: &ContextPreview) -> Vec<Part> {
    let mut repository: Vec<Part> =
        preview.system_prompt.repository_parts().iter().map(system_prompt_part).collect();
    if let Some(content) = preview.system_prompt.repository() {
        let bytes = content.len() - repository.iter().map(|part| part.bytes).sum::<usize>();
        repository.insert(0, Part { bytes, ..part("marker", None, String::new()) });
    }
    repository
}

fn system_prompt_part(found: &SystemPromptPart) -> Part {
    part(found.kind.word(), found.path.clone().map(|path| ("path", path)), found.text.clone())
}

/// Returns the part for a recorded one. Its name is its kind, and for a file the path.
fn recorded_part(found: &PromptPart) -> Part {
    let (kind, rest) = found.name.split_once(' ').unwrap_or((&found.name, ""));
    let path = Some(rest).filter(|_| kind == PartKind::Rules.word()).map(|path| ("path", path.to_owned()));
    part(kind, path, found.text.clone())
}

fn tool_part(tool: &ToolSpec) -> Part {
    let text = format!("{}\n{}", tool.description, tool.parameters);
    // The name, without the line break before the parameters.
    let bytes = tool.name.len() + text.len() - 1;
    Part { bytes, ..part("tool", Some(("name", tool.name.to_string())), text) }
}

/// Returns the part for all tools of an MCP server.
fn server_part(server: &str, tools: &[ToolSpec]) -> Part {
    let parts: Vec<Part> = tools.iter().map(tool_part).collect();
    let named = parts.iter().zip(tools).map(|(part, tool)| format!("{}\n{}", tool.name, part.text));
    let text = named.collect::<Vec<_>>().join("\n");
    let bytes = parts.iter().map(|part| part.bytes).sum();
    Part { bytes, tools: Some(tools.len()), ..part("server", Some(("name", server.to_owned())), text) }
}

fn attachment_part(attachment: &Attachment) -> Part {
    let (name, media_bytes) = match attachment {
        Attachment::Text { name, .. } => (name.clone(), 0),
        Attachment::Media(media) => (media.name.clone(), media.estimated_bytes()),
    };
    let parts = UserPart::from_attachment(attachment);
    let texts = parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.as_str()),
        UserPart::Media(_) => None,
    });
    let found = part("attachment", Some(("name", name)), texts.collect());
    Part { bytes: found.bytes + media_bytes, ..found }
}

impl Section {
    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// Returns all bytes of the request.
fn total(sections: &[Section]) -> usize {
    sections.iter().map(Section::bytes).sum()
}

/// Returns the tokens of the context window that the request leaves.
fn free_tokens(preview: &ContextPreview, bytes: usize) -> Option<u64> {
    preview.context_window.map(|window| window.saturating_sub(estimated_tokens(bytes)))
}

/// Returns a row of the table.
fn row(bytes: usize, text: &str) -> String {
    format!("{bytes:>9} {:>8}  {text}\n", estimated_tokens(bytes))
}

fn as_text(app: &AppContext, preview: &ContextPreview, sections: &[Section], full: bool) -> String {
    let line = |line: ContextLine<'_>| app.base.catalogue.line(&line);
    let mut text = format!("{:>9} {:>8}\n", line(ContextLine::Bytes), line(ContextLine::Tokens));
    for section in sections.iter().filter(|section| !section.parts.is_empty()) {
        text.push_str(&row(section.bytes(), &line(section.heading)));
        for part in &section.parts {
            let name = part.name.as_ref().map(|(_, name)| format!(" {}", escape_to_one_line(name)));
            let tools = part.tools.map(|tools| format!(", tools: {tools}"));
            let (name, tools) = (name.unwrap_or_default(), tools.unwrap_or_default());
            text.push_str(&row(part.bytes, &format!("  {}{name}{tools}", part.kind)));
            if full && !part.text.is_empty() {
                let indented = part.text.trim_matches('\n').lines().map(|line| format!("    | {line}\n"));
                text.extend(indented);
            }
        }
    }
    let bytes = total(sections);
    text.push_str(&row(bytes, &line(ContextLine::Total)));
    if let Some(free) = free_tokens(preview, bytes) {
        text.push_str(&format!("{:>9} {free:>8}  {}\n", "", line(ContextLine::Free)));
    }
    if let (Some(model), Some(tokens)) = (&preview.model, preview.context_window) {
        text.push_str(&format!("{}\n", line(ContextLine::Window { model: &model.id, tokens })));
    }
    let starts = preview
        .servers
        .iter()
        .filter(|server| !preview.has_started_servers && server.status == McpStatus::Connected);
    let servers: Vec<&str> = starts.map(|server| server.name.as_str()).collect();
    if !servers.is_empty() {
        let servers = escape_to_one_line(&servers.join(", "));
        text.push_str(&format!("{}\n", line(ContextLine::Servers { servers: &servers })));
    }
    if !preview.commands.is_empty() {
        text.push_str(&format!("{}\n", line(ContextLine::Commands)));
        for command in &preview.commands {
            let hint = command.argument_hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
            text.push_str(&format!("  /{}{hint}: {}\n", command.name, command.description));
        }
    }
    text
}

fn as_json(app: &AppContext, preview: &ContextPreview, sections: &[Section], full: bool) -> Value {
    let mut object = Map::new();
    object.insert("workspace".to_owned(), json!(app.workspace.display().to_string()));
    object.insert("trusted".to_owned(), json!(app.trust.is_trusted()));
    for section in sections {
        let parts: Vec<Value> = section.parts.iter().map(|part| part_json(part, full)).collect();
        object.insert(section.key.to_owned(), json!(parts));
    }
    let servers: Vec<Value> = preview
        .servers
        .iter()
        .map(|server| {
            json!({ "name": server.name, "status": status(server.status, preview.has_started_servers) })
        })
        .collect();
    object.insert("mcp_servers".to_owned(), json!(servers));
    object.insert("commands".to_owned(), json!(preview.commands));
    let bytes = total(sections);
    object.insert("total".to_owned(), json!({ "bytes": bytes, "tokens": estimated_tokens(bytes) }));
    object.insert("model".to_owned(), json!(preview.model.as_ref().map(|model| &model.id)));
    object.insert("context_window".to_owned(), json!(preview.context_window));
    object.insert("free_tokens".to_owned(), json!(free_tokens(preview, bytes)));
    Value::Object(object)
}

fn part_json(part: &Part, full: bool) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_owned(), json!(part.kind));
    if let Some((key, name)) = &part.name {
        object.insert((*key).to_owned(), json!(name));
    }
    object.insert("bytes".to_owned(), json!(part.bytes));
    object.insert("tokens".to_owned(), json!(estimated_tokens(part.bytes)));
    if let Some(tools) = part.tools {
        object.insert("tools".to_owned(), json!(tools));
    }
    if full {
        object.insert("text".to_owned(), json!(part.text));
    }
    Value::Object(object)
}

/// Returns the status of a server, where servers were started or not.
fn status(status: McpStatus, is_started: bool) -> &'static str {
    match status {
        McpStatus::Connected if is_started => "connected",
        McpStatus::Failed if is_started => "failed",
        McpStatus::Connected | McpStatus::Failed => "not_started",
        McpStatus::Untrusted => "untrusted",
        McpStatus::Unsupported => "unsupported",
        McpStatus::Disabled => "disabled",
    }
}
