//! The `tool_call` object: one key that names the tool, `args` as the call was made, `result` when it is done.
//!
//! Contract section 4. A tool without a key of its own stands under `function`.

use std::borrow::Cow;

use ibeam_protocol::{CallId, ToolCall, ToolOutcome};
use schemars::JsonSchema;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::tool_result::ToolResultObject;
use super::tool_success::todo_status_named;

/// A call, with its outcome once it is done.
pub(crate) struct ToolCallObject<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) outcome: Option<&'a ToolOutcome>,
}

/// The key of a tool on the wire, and whether its `args` repeat the call's id.
struct Key {
    name: &'static str,
    with_call_id: bool,
}

fn key(tool: &str) -> Option<Key> {
    let (name, with_call_id) = match tool {
        "read" => ("readToolCall", false),
        "write" => ("writeToolCall", true),
        "edit" => ("editToolCall", false),
        "shell" => ("shellToolCall", true),
        "grep" => ("grepToolCall", true),
        "glob" => ("globToolCall", false),
        "ls" => ("lsToolCall", true),
        "delete" => ("deleteToolCall", false),
        "update_todos" => ("updateTodosToolCall", false),
        "web_fetch" => ("webFetchToolCall", false),
        _ => return None,
    };
    Some(Key { name, with_call_id })
}

impl Serialize for ToolCallObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call, outcome } = *self;
        let result = outcome.map(|outcome| ToolResultObject { tool: &call.name, outcome });
        let mut object = serializer.serialize_map(Some(1))?;
        match (key(&call.name), McpArgs::of(call)) {
            (Some(Key { name, with_call_id }), _) => {
                object.serialize_entry(name, &Named { args: Args { call, with_call_id }, result })?;
            }
            (None, Some(args)) => object.serialize_entry("mcpToolCall", &Named { args, result })?,
            (None, None) => object.serialize_entry("function", &Function { call, result })?,
        }
        object.end()
    }
}

#[derive(Serialize)]
struct Named<'a, A> {
    args: A,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ToolResultObject<'a>>,
}

/// The arguments as an object, also where the model did not write one.
struct Args<'a> {
    call: &'a ToolCall,
    with_call_id: bool,
}

impl Serialize for Args<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const CALL_ID: &str = "toolCallId";
        let Self { call, with_call_id } = *self;
        let mut args = serializer.serialize_map(None)?;
        for (name, value) in call.arguments.as_object().into_iter().flatten() {
            if call.name == "update_todos" && name == "todos" {
                args.serialize_entry(name, &todos_in_wire_words(value))?;
            } else if !(with_call_id && name == CALL_ID) {
                args.serialize_entry(name, value)?;
            }
        }
        if with_call_id {
            args.serialize_entry(CALL_ID, &call.id)?;
        }
        args.end()
    }
}

/// A tool of an MCP server, and what it is given.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpArgs<'a> {
    /// Server and tool as one word, `server-tool`.
    name: &'a str,
    /// What the tool is given.
    #[schemars(extend("type" = "object"))]
    args: &'a Value,
    /// The `call_id` again.
    #[schemars(with = "String")]
    tool_call_id: &'a CallId,
    /// The server.
    provider_identifier: &'a str,
    /// The tool, as the server names it.
    tool_name: &'a str,
}

impl<'a> McpArgs<'a> {
    /// The canonical arguments of such a call name server and tool.
    fn of(call: &'a ToolCall) -> Option<Self> {
        if !call.name.starts_with("mcp_") {
            return None;
        }
        let text = |name: &str| call.arguments.get(name)?.as_str();
        Some(Self {
            name: text("name")?,
            args: call.arguments.get("args").filter(|args| args.is_object())?,
            tool_call_id: &call.id,
            provider_identifier: text("providerIdentifier")?,
            tool_name: text("toolName")?,
        })
    }
}

/// `server-tool`, for a call of a tool that an MCP server has.
pub(crate) fn mcp_tool(call: &ToolCall) -> Option<&str> {
    McpArgs::of(call).map(|args| args.name)
}

/// The to-dos as the model sent them, their statuses in the words of the wire.
fn todos_in_wire_words(todos: &Value) -> Value {
    let mut todos = todos.clone();
    for status in todos.as_array_mut().into_iter().flatten().filter_map(|todo| todo.get_mut("status")) {
        if let Some(word) = status.as_str().and_then(todo_status_named) {
            *status = Value::from(word);
        }
    }
    todos
}

/// A tool without a key of its own, or one that does not exist.
struct Function<'a> {
    call: &'a ToolCall,
    result: Option<ToolResultObject<'a>>,
}

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A string is what the model wrote where that was not JSON.
        let arguments = match &self.call.arguments {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            value => Cow::Owned(value.to_string()),
        };
        let mut function = serializer.serialize_struct("Function", 3)?;
        function.serialize_field("name", &self.call.name)?;
        function.serialize_field("arguments", &arguments)?;
        if let Some(result) = &self.result {
            function.serialize_field("result", result)?;
        }
        function.end()
    }
}
