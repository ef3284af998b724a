//! The tools of MCP servers, as tools of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolContext, ToolInputError, ToolOrigin, ToolSet};
use ibeam_protocol::{ToolSpec, escape_invisible, escape_to_one_line};
use serde_json::{Value, json};

use crate::listed_tool::ListedTool;
use crate::model_schema::{ModelSchema, RenamedProperties};
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
            let tool = McpTool::new(server, tool, &name);
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
    let name = name_for_model(server.name(), &tool.name, |_| false);
    Some(Arc::new(McpTool::new(server, tool, &name)))
}

struct McpTool {
    server: Arc<Server>,
    tool: Arc<ListedTool>,
    spec: ToolSpec,
    renamed: RenamedProperties,
}

impl McpTool {
    fn new(server: &Arc<Server>, tool: &ListedTool, name: &str) -> Self {
        let ModelSchema { schema, renamed } = ModelSchema::new(&tool.input_schema);
        let spec = spec(name, server.name(), tool, schema);
        Self { server: Arc::clone(server), tool: Arc::new(tool.clone()), spec, renamed }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn origin(&self) -> Option<ToolOrigin<'_>> {
        Some(ToolOrigin { server: self.server.name(), tool: &self.tool.name })
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = match arguments {
            Value::Object(arguments) => Value::Object(self.renamed.arguments_for_server(arguments.clone())),
            Value::Null => json!({}),
            Value::String(text) if text.trim().is_empty() => json!({}),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let problem = format!("the arguments of `{}` are not a JSON object", self.spec.name);
                return Err(ToolInputError(problem.into()));
            }
        };
        let args = decode_json_texts(args, &self.tool.input_schema);
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

/// Decodes the lists and objects that a model wrote as JSON text, where the schema wants a list or an object and no text.
fn decode_json_texts(value: Value, schema: &Value) -> Value {
    let is_wanted = |kind: &str| match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => false,
    };
    match value {
        Value::String(text) if !is_wanted("string") && (is_wanted("array") || is_wanted("object")) => {
            match serde_json::from_str(&text) {
                Ok(list @ Value::Array(_)) if is_wanted("array") => decode_json_texts(list, schema),
                Ok(object @ Value::Object(_)) if is_wanted("object") => decode_json_texts(object, schema),
                Ok(_) | Err(_) => Value::String(text),
            }
        }
        Value::Array(values) => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(values.into_iter().map(|value| decode_json_texts(value, items)).collect())
        }
        Value::Object(fields) => {
            let properties = schema.get("properties").unwrap_or(&Value::Null);
            let decoded = fields.into_iter().map(|(name, value)| {
                let schema = properties.get(&name).unwrap_or(&Value::Null);
                (name, decode_json_texts(value, schema))
            });
            Value::Object(decoded.collect())
        }
        value => value,
    }
}

fn spec(name: &str, server: &str, tool: &ListedTool, parameters: Value) -> ToolSpec {
    // A description is an instruction to the model, so all of it must be visible to people.
    let description = escape_invisible(tool.description.as_deref().unwrap_or_default());
    let description = match description.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", description.get(..end).unwrap_or_default()),
        None if description.trim().is_empty() => {
            format!("`{}` of the MCP server `{server}`", escape_to_one_line(&tool.name))
        }
        None => description.into_owned(),
    };
    ToolSpec { name: name.to_owned().into(), description: description.into(), parameters: parameters.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_objects_as_json_text_are_decoded_where_no_text_is_wanted() {
        let schema = json!({ "type": "object", "properties": {
            "list": { "type": "array", "items": { "type": "object", "properties": { "tags": { "type": ["array", "null"] } } } },
            "text": { "type": "string" }, "either": { "type": ["string", "object"] }, "any": {},
        } });
        let args = json!({
            "list": r#"[{"tags":"[1]"}]"#, "text": "[1]", "either": "{}", "any": "[1]", "other": "{}",
        });
        let expect = json!({
            "list": [{ "tags": [1] }], "text": "[1]", "either": "{}", "any": "[1]", "other": "{}",
        });
        assert_eq!(decode_json_texts(args, &schema), expect);
        let wrong = json!({ "list": "[1", "text": 5 });
        assert_eq!(decode_json_texts(wrong.clone(), &schema), wrong);
        assert_eq!(decode_json_texts(json!({ "list": "{}" }), &schema), json!({ "list": "{}" }));
    }
}
