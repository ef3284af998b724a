//! Schemas of what is serialised by hand: session ids, failure codes, `tool_call`.
//!
//! The types beside them derive theirs. A tool has one row here.

use std::borrow::Cow;

use ibeam_protocol::FailureCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::grep_success::GrepSuccess;
use super::tool_args::{
    DeleteArgs, EditArgs, GlobArgs, GrepArgs, LsArgs, ReadArgs, ShellArgs, UpdateTodosArgs, WebFetchArgs,
    WriteArgs,
};
use super::tool_call::{McpArgs, ToolCallObject};
use super::tool_result::{ErrorMessage, FileNotFound, PermissionDenied, Rejected, Timeout};
use super::tool_success::{
    DeleteSuccess, EditSuccess, GlobSuccess, LsSuccess, McpSuccess, ReadSuccess, Shell, TodosSuccess,
    WebFetchSuccess, WriteSuccess,
};

/// A UUID in lower case, as session ids are.
pub(super) struct Uuid;

impl JsonSchema for Uuid {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Uuid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "uuid",
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        })
    }
}

/// The word for a class of failures.
pub(super) struct FailureWord;

impl JsonSchema for FailureWord {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FailureWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut words: Vec<&str> = FailureCode::ALL.iter().map(|code| code.as_str()).collect();
        words.dedup();
        json_schema!({ "type": "string", "enum": words })
    }
}

/// A tool with a key of its own.
struct Tool {
    key: &'static str,
    description: &'static str,
    args: Schema,
    /// Key, meaning and payload of each arm of `result`.
    arms: Vec<(&'static str, &'static str, Schema)>,
}

impl Tool {
    /// A tool with the arms that every tool has.
    fn new<Args: JsonSchema, Success: JsonSchema>(
        generator: &mut SchemaGenerator,
        key: &'static str,
        description: &'static str,
    ) -> Self {
        let args = generator.subschema_for::<Args>();
        Self { key, description, args, arms: Vec::new() }
            .or::<Success>(generator, "success", "It was done.")
            .or::<Rejected>(generator, "rejected", "It was refused, and did not run.")
            .or::<PermissionDenied>(generator, "permissionDenied", "The system denied access.")
            .or::<ErrorMessage>(generator, "error", "It failed, or was cut off by the end of the run.")
    }

    /// A further arm.
    fn or<Payload: JsonSchema>(
        mut self,
        generator: &mut SchemaGenerator,
        key: &'static str,
        description: &'static str,
    ) -> Self {
        self.arms.push((key, description, generator.subschema_for::<Payload>()));
        self
    }

    /// `readToolCall` as `Read`.
    fn name(&self) -> String {
        let word = self.key.trim_end_matches("ToolCall");
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        format!("{}{rest}", first.to_uppercase())
    }

    /// `result`: exactly one of the arms.
    fn result(&self) -> Schema {
        let mut properties: Map<String, Value> = self
            .arms
            .iter()
            .map(|(key, description, payload)| ((*key).to_owned(), described(payload, description)))
            .collect();
        if self.key == "shellToolCall" {
            let description = "True, beside the arm, for a command that goes on in the background.";
            let flag = json!({ "type": "boolean", "description": description });
            properties.insert("isBackground".to_owned(), flag);
        }
        let one_of: Vec<_> = self.arms.iter().map(|(key, ..)| json!({ "required": [key] })).collect();
        json_schema!({
            "description": format!("How `{}` ended: exactly one arm.", self.key),
            "type": "object",
            "properties": properties,
            "oneOf": one_of,
        })
    }

    /// What stands under the key. A call that was done had arguments that fit; one that failed or was refused may
    /// have had any.
    fn call(&self, result: &Schema) -> Schema {
        let args = &self.args;
        json_schema!({
            "description": self.description,
            "type": "object",
            "properties": {
                "args": {
                    "description": "The arguments; what the model wrote instead, where they do not fit the tool.",
                    "anyOf": [args, {
                        "description": "What a model wrote that does not fit the tool; such a call is not done.",
                        "type": "object",
                    }],
                },
                "result": described(result, "How it ended; in `completed` only."),
            },
            "required": ["args"],
            "if": { "required": ["result"], "properties": { "result": { "required": ["success"] } } },
            "then": { "properties": { "args": args } },
        })
    }
}

fn tools(of: &mut SchemaGenerator) -> [Tool; 11] {
    const MISSING: &str = "There is no such file.";
    [
        Tool::new::<ReadArgs, ReadSuccess>(of, "readToolCall", "Reads a file.").or::<FileNotFound>(
            of,
            "fileNotFound",
            MISSING,
        ),
        Tool::new::<WriteArgs, WriteSuccess>(of, "writeToolCall", "Makes a file or replaces its content."),
        Tool::new::<EditArgs, EditSuccess>(of, "editToolCall", "Changes parts of a file."),
        Tool::new::<ShellArgs, Shell>(of, "shellToolCall", "Runs a command.")
            .or::<Shell>(of, "failure", "It ran, and exited non-zero or was ended by a signal.")
            .or::<Timeout>(of, "timeout", "It took longer than it may.")
            .or::<ErrorMessage>(of, "spawnError", "It could not be started."),
        Tool::new::<GrepArgs, GrepSuccess>(of, "grepToolCall", "Searches the content of files."),
        Tool::new::<GlobArgs, GlobSuccess>(of, "globToolCall", "Finds files by name."),
        Tool::new::<LsArgs, LsSuccess>(of, "lsToolCall", "Lists a directory."),
        Tool::new::<DeleteArgs, DeleteSuccess>(of, "deleteToolCall", "Deletes a file.").or::<FileNotFound>(
            of,
            "fileNotFound",
            MISSING,
        ),
        Tool::new::<UpdateTodosArgs, TodosSuccess>(of, "updateTodosToolCall", "Changes the to-do list."),
        Tool::new::<WebFetchArgs, WebFetchSuccess>(of, "webFetchToolCall", "Fetches a page."),
        Tool::new::<McpArgs, McpSuccess>(of, "mcpToolCall", "Calls a tool of an MCP server."),
    ]
}

impl JsonSchema for ToolCallObject<'_> {
    fn schema_name() -> Cow<'static, str> {
        "ToolCall".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        const FUNCTION: &str = "function";
        let mut properties = Map::new();
        for tool in tools(generator) {
            let result = defined(generator, &format!("{}Result", tool.name()), tool.result());
            let call = defined(generator, &format!("{}Call", tool.name()), tool.call(&result));
            properties.insert(tool.key.to_owned(), described(&call, tool.description));
        }
        let function = defined(generator, "FunctionCall", function());
        properties.insert(
            FUNCTION.to_owned(),
            described(&function, "Calls a tool without a key of its own, or one that does not exist."),
        );
        let keys: Vec<&String> = properties.keys().collect();
        let mut one_of: Vec<_> = keys.iter().map(|key| json!({ "required": [key] })).collect();
        one_of.push(json!({
            "description": "A tool of a later version.",
            "propertyNames": { "not": { "enum": keys } },
            "not": { "propertyNames": { "not": { "pattern": LATER } } },
        }));
        json_schema!({
            "description": "A call: one key, which names the tool.",
            "type": "object",
            "properties": properties,
            "patternProperties": { LATER: { "type": "object", "required": ["args"] } },
            "oneOf": one_of,
        })
    }
}

/// The keys of tools, those to come included.
const LATER: &str = "^[a-z][A-Za-z]*ToolCall$";

fn function() -> Schema {
    json_schema!({
        "description": "A call of a tool without a key of its own.",
        "type": "object",
        "properties": {
            "name": { "description": "The tool.", "type": "string" },
            "arguments": {
                "description": "The arguments as the model wrote them: JSON as a string, if the model wrote JSON.",
                "type": "string",
            },
            "result": { "description": "What the tool gave; in `completed` only." },
        },
        "required": ["name", "arguments"],
    })
}

/// Puts `schema` under `name` and gives the way to it.
fn defined(generator: &mut SchemaGenerator, name: &str, schema: Schema) -> Schema {
    generator.definitions_mut().insert(name.to_owned(), schema.to_value());
    Schema::new_ref(format!("#/$defs/{name}"))
}

/// The schema with a description beside it.
fn described(schema: &Schema, description: &str) -> Value {
    let mut schema = schema.clone();
    schema.insert("description".to_owned(), Value::from(description));
    schema.to_value()
}
