//! A tool as its server describes it.

use serde::Deserialize;
use serde_json::Value;

use crate::param_headers::ParamHeader;

/// A tool as its server describes it.
#[derive(Clone, Debug, Deserialize)]
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

#[derive(Clone, Debug, Deserialize)]
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
