//! The fingerprint of an MCP tool: it changes with everything that the model receives about the tool.

use std::collections::BTreeMap;

use ibeam_config::fingerprint;
use ibeam_mcp::ListedTool;
use serde_json::{Value, json};

/// Returns the fingerprint of `tool`.
pub(super) fn tool_fingerprint(tool: &ListedTool) -> String {
    let content = json!([tool.name, tool.description, sorted(&tool.input_schema), tool.is_read_only()]);
    fingerprint(content.to_string().as_bytes())
}

/// Returns the value with its keys sorted: a server may send them in any order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<&String, Value> = map.iter().map(|(key, value)| (key, sorted(value))).collect();
            json!(map)
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: Value, other: Value, same: bool) {
        let of = |tool: &Value| tool_fingerprint(&serde_json::from_value(tool.clone()).unwrap());
        assert_eq!(of(&one) == of(&other), same, "{one} {other}");
    }

    #[test]
    fn the_fingerprint_changes_with_everything_that_the_model_receives() {
        let tool = |description: &str, schema: &str| -> Value {
            let schema: Value = serde_json::from_str(schema).unwrap();
            json!({"name": "t", "description": description, "inputSchema": schema})
        };
        let first = tool("does t", r#"{"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}"#);
        let reordered =
            tool("does t", r#"{"properties": {"b": {"type": "string"}, "a": {}}, "type": "object"}"#);
        check(first.clone(), reordered, true);
        check(first.clone(), tool("does u", r#"{"type": "object", "properties": {}}"#), false);
        check(first.clone(), tool("does t", r#"{"type": "object", "properties": {"a": {}}}"#), false);
        let mut reads = first.clone();
        reads["annotations"] = json!({"readOnlyHint": true});
        check(first, reads, false);
    }
}
