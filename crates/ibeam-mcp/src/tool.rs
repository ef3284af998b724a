//! The tools of MCP servers, as tools of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolContext, ToolInputError, ToolSet};
use ibeam_protocol::{ToolSpec, escape_invisible, escape_to_one_line};
use serde_json::{Value, json};

use crate::listed_tool::ListedTool;
use crate::resources::is_resource_tool;
use crate::server::{Server, interrupted_outcome};
use crate::tool_name::name_for_model;

/// Maximum number of characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 4000;

/// Returns the tools of `servers`, under names that every model API accepts; with `is_read_only`, only the tools that
/// change nothing.
pub fn tool_set(servers: &[Arc<Server>], is_read_only: bool) -> ToolSet {
    let mut tools: ToolSet = BTreeMap::new();
    for server in servers {
        for tool in server.tools().iter().filter(|tool| !is_read_only || tool.is_read_only()) {
            let is_taken = |name: &str| tools.contains_key(name) || is_resource_tool(name);
            let name = name_for_model(server.name(), &tool.name, is_taken);
            let spec = spec(&name, server.name(), tool);
            let tool = McpTool { server: Arc::clone(server), tool: Arc::new(tool.clone()), spec };
            tools.insert(name, Arc::new(tool));
        }
    }
    tools
}

/// Returns one tool of `servers` by the name that its server gives it; with `is_read_only`, only if it changes nothing.
pub fn find_tool(
    servers: &[Arc<Server>],
    server: &str,
    tool: &str,
    is_read_only: bool,
) -> Option<Arc<dyn Tool>> {
    let server = servers.iter().find(|running| running.name() == server)?;
    let tools = server.tools();
    let tool = tools.iter().find(|listed| listed.name == tool && (!is_read_only || listed.is_read_only()))?;
    let spec = spec(&name_for_model(server.name(), &tool.name, |_| false), server.name(), tool);
    Some(Arc::new(McpTool { server: Arc::clone(server), tool: Arc::new(tool.clone()), spec }))
}

struct McpTool {
    server: Arc<Server>,
    tool: Arc<ListedTool>,
    spec: ToolSpec,
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = match arguments {
            Value::Object(_) => arguments.clone(),
            Value::Null => json!({}),
            Value::String(text) if text.trim().is_empty() => json!({}),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(ToolInputError(format!(
                    "the arguments of `{}` are not a JSON object",
                    self.spec.name
                )));
            }
        };
        let server = self.server.name();
        let canonical = json!({
            "name": format!("{server}-{}", self.tool.name),
            "args": args.clone(),
            "providerIdentifier": server,
            "toolName": self.tool.name,
        });
        let access = Access::Mcp {
            server: server.to_owned(),
            tool: self.tool.name.clone(),
            read_only: self.tool.is_read_only(),
        };
        let (server, tool) = (Arc::clone(&self.server), Arc::clone(&self.tool));
        Ok(PreparedCall::new(canonical, access, async move |context: ToolContext| {
            tokio::select! {
                biased;
                outcome = server.call(&tool, &args) => outcome,
                _ = context.stop.wait() => interrupted_outcome(),
            }
        }))
    }
}

fn spec(name: &str, server: &str, tool: &ListedTool) -> ToolSpec {
    // A description is an instruction to the model, so all of it must be visible to people.
    let description = escape_invisible(tool.description.as_deref().unwrap_or_default());
    let description = match description.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", description.get(..end).unwrap_or_default()),
        None if description.trim().is_empty() => {
            format!("`{}` of the MCP server `{server}`", escape_to_one_line(&tool.name))
        }
        None => description.into_owned(),
    };
    ToolSpec {
        name: name.to_owned().into(),
        description: description.into(),
        parameters: parameters(&tool.input_schema),
    }
}

/// Returns the server's schema, with the fields that model APIs require.
fn parameters(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.shift_remove("$schema");
    schema.insert("type".to_owned(), json!("object"));
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let mut schema = Value::Object(schema);
    escape_texts(&mut schema);
    schema
}

/// Escapes invisible characters in the texts of a schema. Names and values stay unchanged, because a call must contain
/// them exactly.
fn escape_texts(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if matches!(name.as_str(), "description" | "title" | "$comment") => {
                        *text = escape_invisible(text).into_owned();
                    }
                    value => escape_texts(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(escape_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, expect: Value) {
        assert_eq!(parameters(&schema), expect);
    }

    #[test]
    fn invisible_characters_in_a_description_are_escaped() {
        let description = |text: &str| json!({ "type": "string", "description": text, "enum": ["\u{200b}"] });
        check(
            json!({ "type": "object", "properties": { "a": description("x\u{e0041}\u{202e}y") } }),
            json!({ "type": "object", "properties": { "a": description("x<U+E0041><U+202E>y") } }),
        );
    }

    #[test]
    fn a_schema_is_completed() {
        check(Value::Null, json!({ "type": "object", "properties": {} }));
        check(json!({ "type": "object" }), json!({ "type": "object", "properties": {} }));
        let complete =
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        check(complete.clone(), complete);
        check(
            json!({ "$schema": "x", "properties": { "a": true } }),
            json!({ "properties": { "a": true }, "type": "object" }),
        );
    }
}
