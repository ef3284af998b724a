//! A tool as its server describes it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::param_headers::ParamHeader;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// The name, any text.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(default)]
    pub input_schema: Value,
    #[serde(default)]
    annotations: Option<ToolAnnotations>,
    /// The arguments that a call over HTTP repeats in headers.
    #[serde(skip)]
    pub(crate) param_headers: Vec<ParamHeader>,
}

/// The tools of a server, and the other lists that it announces.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The tools in the order of the server's list.
    pub(crate) tools: Arc<[ListedTool]>,
    /// The time for which the list of tools holds; `None` if the server does not say.
    pub(crate) ttl: Option<Duration>,
    /// The names of tools whose headers are not valid.
    pub(crate) left_out: Vec<String>,
    /// Whether the server announces prompts.
    pub(crate) has_prompts: bool,
    /// Whether the server announces resources.
    pub(crate) has_resources: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolAnnotations {
    read_only_hint: Option<bool>,
}

impl ListedTool {
    /// Whether the server declares that the tool changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true)
    }
}
