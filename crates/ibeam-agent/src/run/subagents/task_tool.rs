//! `task`: the tool with which a model starts a sub-agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::{PermissionMode, SessionId, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agent_definition::AgentDefinition;
use super::{CHANGING_TOOLS, SubagentHost, child_run};

pub(super) const TASK_NAME: &str = "task";
/// The number of characters of a prompt that stand for a missing description.
const MAX_DESCRIPTION_CHARS: usize = 60;

/// Starts sub-agents.
pub(super) struct TaskTool {
    host: Arc<SubagentHost>,
}

/// The arguments, in the order of the contract.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskArguments {
    #[serde(default)]
    pub(super) description: String,
    pub(super) prompt: String,
    #[serde(default, alias = "subagent_type", skip_serializing_if = "Option::is_none")]
    pub(super) subagent_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resume: Option<SessionId>,
    #[serde(default, alias = "readOnly", skip_serializing_if = "is_absent_or_false")]
    pub(super) readonly: Option<bool>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn is_absent_or_false(flag: &Option<bool>) -> bool {
    !flag.unwrap_or_default()
}

/// A task that can start.
pub(super) struct Task {
    pub(super) arguments: TaskArguments,
    /// The definition; `None` for a general sub-agent.
    pub(super) definition: Option<AgentDefinition>,
    /// Whether the sub-agent may only read.
    pub(super) read_only: bool,
    /// The session of the sub-agent.
    pub(super) session: SessionId,
}

impl TaskTool {
    /// Returns the tool that starts the sub-agents of `host`.
    pub(super) fn new(host: Arc<SubagentHost>) -> Self {
        Self { host }
    }

    /// Finds the definition that the arguments name.
    ///
    /// # Errors
    /// There is no such definition.
    fn definition(&self, name: Option<&str>) -> Result<Option<AgentDefinition>, ToolInputError> {
        let agents = &self.host.agents;
        match name {
            None | Some("" | "general" | "general-purpose" | "generalPurpose") => {
                Ok(name.and_then(|name| agents.get(name)).cloned())
            }
            Some(name) => match agents.get(name) {
                Some(found) => Ok(Some(found.clone())),
                None => {
                    let names = agents.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                    let names = if names.is_empty() { "none".to_owned() } else { names };
                    Err(wrong(&format!(
                        "there is no sub-agent `{name}`; defined are: {names}; without `subagentType` a general one runs"
                    )))
                }
            },
        }
    }

    /// Whether a sub-agent of this definition may only read: because the run, the definition or the arguments demand it,
    /// or because the definition gives it no tool that changes anything.
    fn is_read_only(&self, definition: Option<&AgentDefinition>, requested: bool) -> bool {
        let mode = self.host.parent().head.permission_mode;
        let reads_by_mode = matches!(mode, PermissionMode::Plan | PermissionMode::Ask);
        let changes = |definition: &AgentDefinition| match &definition.tools {
            None => true,
            Some(tools) => tools.iter().any(|tool| {
                definition.allows_tool(tool)
                    && (CHANGING_TOOLS.contains(&tool.as_str()) || tool.starts_with("mcp_"))
            }),
        };
        let defined = definition.is_some_and(|definition| definition.read_only || !changes(definition));
        reads_by_mode || requested || defined
    }
}

impl Tool for TaskTool {
    fn spec(&self) -> ToolSpec {
        spec(&self.host.agents)
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let mut arguments: TaskArguments =
            serde_json::from_value(arguments.clone()).map_err(|error| wrong(&error.to_string()))?;
        if arguments.prompt.trim().is_empty() {
            return Err(wrong("the `prompt` is empty"));
        }
        if arguments.description.trim().is_empty() {
            let line = arguments.prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            arguments.description = line.trim().chars().take(MAX_DESCRIPTION_CHARS).collect();
        }
        let definition = self.definition(arguments.subagent_type.as_deref())?;
        let requested = arguments.readonly.unwrap_or_default();
        let read_only = self.is_read_only(definition.as_ref(), requested);
        let session = arguments.resume.unwrap_or_else(SessionId::random);
        let mut canonical =
            serde_json::to_value(&arguments).map_err(|error| ToolInputError(error.to_string().into()))?;
        if let Some(canonical) = canonical.as_object_mut() {
            canonical.insert("agentId".to_owned(), session.to_string().into());
        }
        let task = Task { arguments, definition, read_only, session };
        let host = Arc::clone(&self.host);
        Ok(PreparedCall::new(canonical, Access::Task { read_only }, move |context| {
            child_run::run(host, task, context)
        }))
    }

    fn evidence(&self, arguments: &Value) -> Option<String> {
        let id = arguments.get("agentId")?.as_str()?;
        Some(format!("the sub-agent worked in session {id}; `resume` with this id continues it"))
    }
}

/// Returns the tool with these definitions of sub-agents.
pub(super) fn spec(agents: &BTreeMap<String, AgentDefinition>) -> ToolSpec {
    let mut description = include_str!("task.md").trim_end().to_owned();
    let mut properties = json!({
        "description": {"type": "string", "description": "the task in a few words"},
        "prompt": {"type": "string"},
        "readonly": {"type": "boolean"},
        "model": {"type": "string"},
        "resume": {"type": "string"},
    });
    if !agents.is_empty() {
        description.push_str("\nSub-agents for `subagentType`:");
        for (name, agent) in agents {
            description.push_str(&format!("\n- {name}: {}", agent.description));
        }
        if let Some(properties) = properties.as_object_mut() {
            let names: Vec<_> = agents.keys().collect();
            properties.insert("subagentType".to_owned(), json!({"type": "string", "enum": names}));
        }
    }
    let parameters =
        json!({"type": "object", "properties": properties, "required": ["description", "prompt"]});
    ToolSpec { name: TASK_NAME.into(), description: description.into(), parameters: parameters.into() }
}

/// Returns an error about arguments, with an example of valid ones.
fn wrong(what: &str) -> ToolInputError {
    let example = r#"{"description": "find the parser", "prompt": "Find where arguments are parsed."}"#;
    ToolInputError::with_example("task", what, example)
}
