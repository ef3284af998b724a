//! The tools and resources of the server, as clients see them.

use ibeam_mcp_server::{ResourceTemplate, Tool};
use serde_json::{Value, json};

use super::served_sessions::{TRANSCRIPT_TYPE, URI_TEMPLATE};

pub(super) const RUN: &str = "run";
pub(super) const LIST_SESSIONS: &str = "list_sessions";
pub(super) const SHOW_SESSION: &str = "show_session";

/// Maximum number of sessions that `list_sessions` returns.
pub(super) const MAX_LISTED: usize = 100;

pub(super) const INSTRUCTIONS: &str = "ibeam is a coding agent. `run` gives it a task in a directory and returns its final \
     message; a task may take many minutes. Continue with `session_id`. `list_sessions` and `show_session` show earlier \
     tasks.";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: RUN,
            title: "Run a task",
            description: "Gives a task to a coding agent, which reads and changes files and runs commands in the workspace \
                          until the task is done. Returns its final message and the ID of the session. The server may \
                          refuse actions; nobody is asked."
                .to_owned(),
            input_schema: run_schema(),
            output_schema: Some(run_result_schema()),
            annotations: json!({
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": false,
                "openWorldHint": true,
            }),
        },
        Tool {
            name: LIST_SESSIONS,
            title: "List sessions",
            description: "Lists the stored sessions, the latest first.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "workspace": {
                        "type": "string",
                        "description": "Only the sessions of this directory, an absolute path",
                    },
                    "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": 20 },
                },
                "additionalProperties": false,
            }),
            output_schema: Some(json!({
                "type": "object",
                "properties": {
                    "sessions": {
                        "type": "array",
                        "items": { "type": "object", "properties": { "session_id": { "type": "string" } } },
                    },
                },
            })),
            annotations: read_only(),
        },
        Tool {
            name: SHOW_SESSION,
            title: "Show a session",
            description: "Shows the prompts, the actions and the final messages of a session.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": { "session_id": { "type": "string" } },
                "required": ["session_id"],
                "additionalProperties": false,
            }),
            output_schema: None,
            annotations: read_only(),
        },
    ]
}

pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate {
        uri_template: URI_TEMPLATE,
        name: "session",
        title: "Transcript of a session",
        description: "The prompts, the actions and the final messages of a stored session",
        mime_type: TRANSCRIPT_TYPE,
    }]
}

fn read_only() -> Value {
    json!({ "readOnlyHint": true, "openWorldHint": false })
}

/// Returns the schema of the arguments of `run`, which `RunArguments` parses.
fn run_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "prompt": { "type": "string", "minLength": 1, "description": "The task" },
            "workspace": {
                "type": "string",
                "description": "The directory to work in, beneath those of the server [default: that of the server]",
            },
            "session_id": { "type": "string", "description": "Continue this session" },
            "model": { "type": "string", "description": "The model: `provider/name`, a bare name or an alias" },
            "mode": {
                "type": "string",
                "enum": ["agent", "plan", "ask"],
                "description": "`plan` and `ask` change nothing; `plan` ends with a plan",
            },
            "force": {
                "type": "boolean",
                "description": "Allow everything that is not denied; only if the server was started with `--force`",
            },
            "max_turns": { "type": "integer", "minimum": 1, "description": "Maximum number of model requests" },
            "max_tokens": {
                "type": "integer",
                "minimum": 1,
                "description": "Maximum number of tokens, prompts and answers together",
            },
            "max_cost_usd": { "type": "number", "exclusiveMinimum": 0, "description": "Maximum cost in US dollars" },
            "max_tool_calls": { "type": "integer", "minimum": 0, "description": "Maximum number of tool calls" },
            "timeout_seconds": { "type": "integer", "minimum": 1, "description": "Maximum duration" },
            "json_schema": {
                "type": "object",
                "description": "Require a final message that is one JSON document matching this JSON Schema (2020-12)",
            },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    })
}

/// Returns the schema of what `run` returns: the object of `--output-format json`, or the object of a failure.
fn run_result_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string", "enum": ["result", "error"] },
            "session_id": { "type": "string" },
            "result": { "type": "string", "description": "All texts of the answer" },
            "ibeam": {
                "type": "object",
                "description": "Totals of the run",
                "properties": {
                    "final": { "type": "string", "description": "The final message" },
                    "structured": { "description": "The final message as a value, with `json_schema`" },
                },
            },
            "code": { "type": "string", "description": "The class of a failure" },
            "message": { "type": "string", "description": "The message of a failure" },
            "resumable": { "type": "boolean", "description": "Whether `session_id` can continue a failed run" },
        },
        "required": ["type"],
    })
}

#[cfg(test)]
mod tests {
    use super::super::run_request::RunArguments;
    use super::*;

    #[test]
    fn the_schema_of_run_lists_the_arguments_that_are_parsed() {
        let schema = run_schema();
        let examples = json!({
            "prompt": "x", "workspace": "/w", "session_id": "s", "model": "m", "mode": "plan", "force": false,
            "max_turns": 1, "max_tokens": 1, "max_cost_usd": 0.5, "max_tool_calls": 0, "timeout_seconds": 1,
            "json_schema": {},
        });
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&schema["properties"]), names(&examples));
        RunArguments::parse(examples.as_object().unwrap().clone()).unwrap();
    }
}
