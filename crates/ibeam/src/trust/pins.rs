//! The tools of MCP servers as a person approved them: a tool that is another one since is not called.

use std::collections::BTreeMap;
use std::path::Path;

use ibeam_mcp::{ListedTool, Server};
use serde_json::{Value, json};

use super::files::fingerprint;
use super::store::{ApprovedServer, TrustFile};
use super::{TrustStore, now_ms};

/// The tools of `server` that are not what was approved, by name. Empty for a server that nobody approved.
///
/// `project` is the workspace whose file names the server; `None` for a server of the user's.
pub(crate) fn changed_tools(document: &TrustFile, server: &Server, project: Option<&Path>) -> Vec<String> {
    let pinned = key(server.name(), project).and_then(|key| document.servers.get(&key));
    let Some(pinned) = pinned else { return Vec::new() };
    let is_other = |tool: &&ListedTool| pinned.tools.get(&tool.name) != Some(&of(tool));
    server.tools().iter().filter(is_other).map(|tool| tool.name.clone()).collect()
}

/// Remembers the tools of these servers as they are now.
///
/// # Errors
/// Why not, in words.
pub(crate) fn approve_tools<'a>(
    store: &TrustStore,
    servers: impl IntoIterator<Item = (&'a Server, Option<&'a Path>)>,
) -> Result<(), String> {
    let pins: BTreeMap<String, ApprovedServer> = servers
        .into_iter()
        .filter_map(|(server, project)| {
            let tools = server.tools().iter().map(|tool| (tool.name.clone(), of(tool))).collect();
            Some((key(server.name(), project)?, ApprovedServer { at_ms: now_ms(), tools }))
        })
        .collect();
    store.change(|document| {
        for (key, pinned) in pins {
            let is_same = document.servers.get(&key).is_some_and(|known| known.tools == pinned.tools);
            if !is_same {
                document.servers.insert(key, pinned);
            }
        }
    })
}

/// `None` where the path of the workspace is no text.
fn key(server: &str, project: Option<&Path>) -> Option<String> {
    Some(match project {
        None => server.to_owned(),
        // No name of a server begins so, and no path has a NUL.
        Some(workspace) => format!("{}\0{server}", workspace.to_str()?),
    })
}

/// What a tool is known by: all that the model is told of it.
fn of(tool: &ListedTool) -> String {
    let told = json!([tool.name, tool.description, sorted(&tool.input_schema), tool.is_read_only()]);
    fingerprint(told.to_string().as_bytes())
}

/// The same value whatever order a server writes its keys in.
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
        let of = |tool: &Value| of(&serde_json::from_value(tool.clone()).unwrap());
        assert_eq!(of(&one) == of(&other), same, "{one} {other}");
    }

    #[test]
    fn a_tool_is_known_by_all_that_the_model_is_told_of_it() {
        let tool = |description: &str, schema: &str| -> Value {
            let schema: Value = serde_json::from_str(schema).unwrap();
            json!({"name": "t", "description": description, "inputSchema": schema})
        };
        let first = tool("does t", r#"{"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}"#);
        let turned =
            tool("does t", r#"{"properties": {"b": {"type": "string"}, "a": {}}, "type": "object"}"#);
        check(first.clone(), turned, true);
        check(first.clone(), tool("does u", r#"{"type": "object", "properties": {}}"#), false);
        check(first.clone(), tool("does t", r#"{"type": "object", "properties": {"a": {}}}"#), false);
        let mut reads = first.clone();
        reads["annotations"] = json!({"readOnlyHint": true});
        check(first, reads, false);
    }

    #[test]
    fn servers_of_other_workspaces_are_others() {
        let keys = [key("x", None), key("x", Some(Path::new("/a"))), key("x", Some(Path::new("/b")))];
        assert!(keys.iter().all(Option::is_some) && keys[0] != keys[1] && keys[1] != keys[2]);
    }
}
