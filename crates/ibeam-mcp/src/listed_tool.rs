//! A tool as its server describes it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::lenient_list::text_or_none;
use crate::param_headers::ParamHeader;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    pub name: String,
    /// The description for the model.
    #[serde(default, deserialize_with = "text_or_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(default)]
    pub input_schema: Value,
    #[serde(default)]
    annotations: Value,
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
    /// The names of tools that are not valid, with the reasons.
    pub(crate) left_out: Vec<String>,
    /// Whether the server announces prompts.
    pub(crate) has_prompts: bool,
    /// Whether the server announces resources.
    pub(crate) has_resources: bool,
}

impl ListedTool {
    /// Whether the server declares that the tool changes nothing. A value of another type declares nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.get("readOnlyHint") == Some(&Value::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_true_declares_that_a_tool_changes_nothing() {
        for (annotations, expect) in [
            (json!({ "readOnlyHint": true }), true),
            (json!({ "readOnlyHint": "true" }), false),
            (json!([{ "readOnlyHint": true }]), false),
            (json!([]), false),
            (json!("x"), false),
            (json!(null), false),
        ] {
            let tool =
                json!({ "name": "a", "description": ["x"], "inputSchema": null, "annotations": annotations });
            let tool: ListedTool = serde_json::from_value(tool).unwrap();
            assert_eq!(tool.is_read_only(), expect, "{annotations}");
        }
    }
}
