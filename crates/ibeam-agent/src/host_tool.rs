//! A tool that a function of the program executes.

use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec};
use serde_json::Value;

/// The name of the program in rules: `Mcp(host:NAME)` allows or denies a tool.
const HOST: &str = "host";

/// A function that executes calls: it gets the arguments, and returns the text for the model, or why it failed.
type Execute = dyn Fn(&Value) -> Result<String, String> + Send + Sync;

/// A tool of the program that embeds the agent.
///
/// Policy and approval decide on its calls as on those of an MCP server with the name `host`.
#[derive(Clone)]
pub struct HostTool {
    spec: ToolSpec,
    is_read_only: bool,
    execute: Arc<Execute>,
}

impl HostTool {
    /// Returns a tool with a name, a description for the model, and the JSON Schema of its arguments, an object.
    ///
    /// `execute` runs on a thread of its own. It is not interrupted: a run that is cancelled ends without its result.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        execute: impl Fn(&Value) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        let (name, description) = (name.into().into(), description.into().into());
        let spec = ToolSpec { name, description, parameters: parameters.into() };
        Self { spec, is_read_only: false, execute: Arc::new(execute) }
    }

    /// Returns the tool as one that changes nothing: read-only modes do not refuse it, and it may run at the same time as other
    /// such calls. A rule or the approval still decides on each call.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }
}

impl Tool for HostTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        if !arguments.is_object() {
            let detail = format!("the arguments of `{}` are not a JSON object", self.spec.name);
            return Err(ToolInputError(detail.into()));
        }
        let access = Access::Mcp {
            server: HOST.to_owned(),
            tool: self.spec.name.clone().into_owned(),
            read_only: self.is_read_only,
        };
        let (execute, given) = (Arc::clone(&self.execute), arguments.clone());
        Ok(PreparedCall::new(arguments.clone(), access, async move |_| {
            let work = tokio::task::spawn_blocking(move || execute(&given));
            match work.await {
                Ok(Ok(text)) => ToolOutcome::Success {
                    output: ToolOutput::Other(text.as_str().into()),
                    for_model: text.into(),
                },
                Ok(Err(message)) => failure(message),
                Err(error) => failure(error.to_string()),
            }
        }))
    }
}

fn failure(message: String) -> ToolOutcome {
    ToolOutcome::error(message)
}
