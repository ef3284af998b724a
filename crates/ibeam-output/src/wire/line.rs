//! One line of `stream-json`: the table of contract section 3, a variant per row.

use std::borrow::Cow;

use ibeam_protocol::{CallId, ModelCallId, SessionId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::schemas::Uuid;
use super::{ErrorLine, InitExtras, LossyPath, RunSummary, ServerEntry, TokenUsage, ToolCallObject};

/// A line of `stream-json`, told by `type` and `subtype`. Fields stand in the order of the wire.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// The head of the run: the first line, once.
    #[serde(rename = "system")]
    #[schemars(title = "InitEvent")]
    Init {
        /// Which line of its type this is.
        #[schemars(with = "String", extend("const" = "init"))]
        subtype: Subtype,
        /// Where the key of the provider comes from; `env` too where the model needs none, see `ibeam.api_key`.
        #[serde(rename = "apiKeySource")]
        #[schemars(extend("enum" = ["env", "flag", "login"]))]
        api_key_source: &'static str,
        /// The absolute path of the directory the run works in.
        #[schemars(extend("pattern" = "^(/|[A-Za-z]:)"))]
        cwd: LossyPath<'a>,
        /// The session of the run: the same in every line, and what `--resume` takes.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
        /// The name of the model for people, e.g. `Claude 4 Sonnet`; not its id.
        model: &'a str,
        /// What may be done without asking.
        #[serde(rename = "permissionMode")]
        #[schemars(extend("enum" = ["default", "force", "plan", "ask"]))]
        permission_mode: &'static str,
        /// The names of the tools that the model is offered.
        #[schemars(extend("x-origin" = "ibeam"))]
        tools: &'a [String],
        /// The MCP servers that are configured.
        #[schemars(extend("x-origin" = "ibeam"))]
        mcp_servers: Vec<ServerEntry<'a>>,
        /// What the run begins with, beyond the published keys.
        #[schemars(extend("x-origin" = "ibeam"))]
        ibeam: InitExtras<'a>,
    },
    /// The prompt, verbatim; one line for each prompt.
    #[schemars(title = "UserEvent")]
    User {
        /// The prompt: a block each for the words, for piped context, and for the context of hooks.
        #[schemars(extend("properties" = { "role": { "const": "user" } }))]
        message: Message<'a>,
        /// The session of the run.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
    },
    /// A piece of the answer. The texts of all of them, in order and with nothing in between, are the answer.
    #[schemars(title = "AssistantEvent")]
    Assistant {
        /// The piece of text, as the model writes it.
        #[schemars(extend("properties" = { "role": { "const": "assistant" } }))]
        message: Message<'a>,
        /// The session of the run.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
        /// When it was written, since 1970-01-01 UTC.
        #[schemars(extend("x-unit" = "ms", "x-origin" = "ibeam"))]
        timestamp_ms: u64,
    },
    /// A call of a tool begins.
    #[serde(rename = "tool_call")]
    #[schemars(title = "ToolCallStartedEvent")]
    ToolCallStarted {
        /// Which line of its type this is.
        #[schemars(with = "String", extend("const" = "started"))]
        subtype: Subtype,
        /// The provider's id of the call, any characters; joins `started` and `completed`.
        #[schemars(with = "String")]
        call_id: &'a CallId,
        /// The tool and its arguments; no `result` yet.
        #[schemars(extend("additionalProperties" = { "properties": { "result": false } }))]
        tool_call: ToolCallObject<'a>,
        /// The session of the run.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
        /// The answer of the model that the call belongs to; calls of one answer share it.
        #[schemars(with = "String", extend("x-origin" = "ibeam"))]
        model_call_id: &'a ModelCallId,
        /// When it began, since 1970-01-01 UTC.
        #[schemars(extend("x-unit" = "ms", "x-origin" = "ibeam"))]
        timestamp_ms: u64,
    },
    /// A call of a tool has ended: done, failed, refused or cut off. Each started call has exactly one such line.
    #[serde(rename = "tool_call")]
    #[schemars(title = "ToolCallCompletedEvent")]
    ToolCallCompleted {
        /// Which line of its type this is.
        #[schemars(with = "String", extend("const" = "completed"))]
        subtype: Subtype,
        /// The `call_id` of the line `started`.
        #[schemars(with = "String")]
        call_id: &'a CallId,
        /// The tool, its arguments again, and its `result`.
        #[schemars(extend("additionalProperties" = { "required": ["result"] }))]
        tool_call: ToolCallObject<'a>,
        /// The session of the run.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
        /// The answer of the model that the call belongs to; calls of one answer share it.
        #[schemars(with = "String", extend("x-origin" = "ibeam"))]
        model_call_id: &'a ModelCallId,
        /// When it ended, since 1970-01-01 UTC.
        #[schemars(extend("x-unit" = "ms", "x-origin" = "ibeam"))]
        timestamp_ms: u64,
    },
    /// The end of a run that succeeded: the last line.
    #[schemars(title = "ResultEvent")]
    Result {
        /// How the run ended.
        #[schemars(with = "String", extend("const" = "success"))]
        subtype: Subtype,
        /// How long the run took.
        #[schemars(extend("x-unit" = "ms"))]
        duration_ms: u64,
        /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
        #[schemars(extend("x-unit" = "ms"))]
        duration_api_ms: u64,
        /// Always false: a run that failed ends with the line `error`.
        #[schemars(extend("const" = false))]
        is_error: bool,
        /// The texts of all `assistant` lines, in order, with nothing in between.
        result: &'a str,
        /// The session of the run.
        #[schemars(with = "Uuid")]
        session_id: SessionId,
        /// The provider's id of the last request.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        /// The tokens of the run, where the provider counts them.
        #[schemars(extend("x-origin" = "ibeam"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        /// Sums over the run.
        #[schemars(extend("x-origin" = "ibeam"))]
        ibeam: RunSummary<'a>,
    },
    /// The end of a run that failed: the last line.
    #[schemars(title = "ErrorEvent")]
    Error(ErrorLine<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subtype {
    Init,
    Started,
    Completed,
    Success,
}

/// What one side says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Message<'a> {
    /// Who says it.
    #[schemars(with = "String", extend("enum" = ["user", "assistant"]))]
    pub(crate) role: Role,
    /// The blocks of it.
    #[schemars(extend("minItems" = 1))]
    pub(crate) content: &'a [TextBlock<'a>],
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    User,
    Assistant,
}

/// A block of text.
#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(crate) struct TextBlock<'a> {
    pub(crate) text: &'a str,
}

/// By hand, for the name of a type with a tag is that tag.
impl JsonSchema for TextBlock<'_> {
    fn schema_name() -> Cow<'static, str> {
        "TextBlock".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A block of text.",
            "type": "object",
            "properties": {
                "type": { "type": "string", "const": "text" },
                "text": { "type": "string", "description": "The text." },
            },
            "required": ["type", "text"],
        })
    }
}
