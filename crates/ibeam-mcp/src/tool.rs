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
    ToolSpec { name: name.to_owned().into(), description: description.into(), parameters }
}
