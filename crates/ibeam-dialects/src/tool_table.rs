//! Converts names and arguments of tools between contract 1 and dialects whose arguments are objects.
//!
//! Each dialect has a table of its tools. Keys of arguments are renamed by the table; other keys are passed through.

pub(crate) use ibeam_wire::tool::mcp::KEY as MCP;
use ibeam_wire::tool::{FUNCTION, Tool};
use serde_json::{Value, json};

use crate::contract::ContractCall;
use crate::json::{Object, into_object, take, take_list, take_object};

/// A tool of a dialect that contract 1 has too.
pub(crate) struct ToolRow {
    /// The key in contract 1: `readToolCall`, …
    pub(crate) key: &'static str,
    /// The names in the dialect; the first one is written.
    pub(crate) names: &'static [&'static str],
    /// Pairs of names, in contract 1 and in the dialect, of the arguments whose names differ.
    pub(crate) args: &'static [(&'static str, &'static str)],
    /// The structure of the arguments in the dialect.
    pub(crate) shape: ArgShape,
}

/// The structure of the arguments in the dialect.
pub(crate) enum ArgShape {
    /// The arguments have the structure of contract 1.
    Plain,
    /// One replacement without nesting: the names of the old text, of the new text, and of the flag for all.
    Edit([&'static str; 3]),
    /// Several replacements under `edits`, each with these names.
    Edits([&'static str; 3]),
    /// A to-do list. The text of each to-do is under this key.
    Todos(&'static str),
}

/// The names of a replacement in contract 1.
const REPLACEMENT_KEYS: [&str; 3] = ["oldText", "newText", "replaceAll"];

/// Pairs of states of a to-do in contract 1 and in all dialects.
const TODO_STATES: &[(&str, &str)] = &[
    ("TODO_STATUS_PENDING", "pending"),
    ("TODO_STATUS_IN_PROGRESS", "in_progress"),
    ("TODO_STATUS_COMPLETED", "completed"),
    ("TODO_STATUS_CANCELLED", "cancelled"),
];

/// Returns the tool for a call of contract 1.
pub(crate) fn find_by_key<'a>(tools: &'a [ToolRow], key: &str, args: &Object) -> Option<&'a ToolRow> {
    let fits = |tool: &&ToolRow| {
        tool.key == key
            && match tool.shape {
                ArgShape::Edit(_) => !args.contains_key("multiStrReplace"),
                ArgShape::Edits(_) => args.contains_key("multiStrReplace"),
                ArgShape::Plain | ArgShape::Todos(_) => true,
            }
    };
    tools.iter().find(fits).or_else(|| tools.iter().find(|tool| tool.key == key))
}

/// Returns the tool with this name in the dialect.
pub(crate) fn find_by_name<'a>(tools: &'a [ToolRow], name: &str) -> Option<&'a ToolRow> {
    tools.iter().find(|tool| tool.names.contains(&name))
}

/// Returns the name in the dialect for a name in the list of tools of contract 1.
pub(crate) fn name_from_contract(tools: &[ToolRow], name: &str) -> String {
    let key = key_for_listed_name(name);
    let tool = key.and_then(|key| tools.iter().find(|tool| tool.key == key));
    tool.and_then(|tool| tool.names.first()).map_or_else(|| name.to_owned(), |name| (*name).to_owned())
}

/// Returns the name in the list of tools of contract 1 for a name in the dialect.
pub(crate) fn name_to_contract(tools: &[ToolRow], name: &str) -> String {
    let key = find_by_name(tools, name).map(|tool| tool.key);
    let contract = key.and_then(listed_name_for_key);
    contract.map_or_else(|| name.to_owned(), str::to_owned)
}

fn key_for_listed_name(name: &str) -> Option<&'static str> {
    Tool::named(name).map(|tool| tool.key)
}

fn listed_name_for_key(key: &str) -> Option<&'static str> {
    Tool::with_key(key)?.name
}

impl ToolRow {
    /// Creates a row of the table of a dialect.
    pub(crate) const fn new(
        key: &'static str,
        names: &'static [&'static str],
        args: &'static [(&'static str, &'static str)],
        shape: ArgShape,
    ) -> Self {
        Self { key, names, args, shape }
    }

    /// Converts arguments of contract 1 into those of the dialect.
    pub(crate) fn args_from_contract(&self, mut args: Object) -> Object {
        match self.shape {
            ArgShape::Plain => rename_keys(args, self.args, false),
            ArgShape::Edit(names) => {
                let replaced = take_object(&mut args, "strReplace").unwrap_or_default();
                let mut args = rename_keys(args, self.args, false);
                args.extend(rename_keys(replaced, &replacement_pairs(names), false));
                args
            }
            ArgShape::Edits(names) => {
                let mut several = take_object(&mut args, "multiStrReplace").unwrap_or_default();
                let edits = take_list(&mut several, "edits").unwrap_or_default();
                let mut args = rename_keys(args, self.args, false);
                args.insert(
                    "edits".to_owned(),
                    rename_keys_of_items(edits, &replacement_pairs(names), false),
                );
                args
            }
            ArgShape::Todos(text) => {
                let todos = take_list(&mut args, "todos").unwrap_or_default();
                let mut args = rename_keys(args, self.args, false);
                args.insert("todos".to_owned(), todos_from_contract(todos, text));
                args
            }
        }
    }

    /// Converts arguments of the dialect into those of contract 1.
    pub(crate) fn args_to_contract(&self, args: Object) -> Object {
        let mut args = rename_keys(args, self.args, true);
        match self.shape {
            ArgShape::Plain => {}
            ArgShape::Edit(names) => {
                let mut replaced = Object::new();
                for (dialect, contract) in names.iter().zip(REPLACEMENT_KEYS) {
                    if let Some(value) = args.shift_remove(*dialect) {
                        replaced.insert(contract.to_owned(), value);
                    }
                }
                if !replaced.is_empty() {
                    args.insert("strReplace".to_owned(), replaced.into());
                }
            }
            ArgShape::Edits(names) => {
                if let Some(edits) = take_list(&mut args, "edits") {
                    let edits = rename_keys_of_items(edits, &replacement_pairs(names), true);
                    args.insert("multiStrReplace".to_owned(), json!({ "edits": edits }));
                }
            }
            ArgShape::Todos(text) => {
                if let Some(todos) = take_list(&mut args, "todos") {
                    args.insert("todos".to_owned(), todos_to_contract(todos, text));
                }
            }
        }
        args
    }
}

/// Converts to-dos of contract 1; `text` is the key of their texts in the dialect.
pub(crate) fn todos_from_contract(todos: Vec<Value>, text: &str) -> Value {
    let mut todos = rename_keys_of_items(todos, &[("content", text)], false);
    replace_states(&mut todos, |state| {
        TODO_STATES.iter().find(|(contract, _)| *contract == state).map(|(_, dialect)| *dialect)
    });
    todos
}

/// Converts to-dos into contract 1; `text` is the key of their texts in the dialect.
pub(crate) fn todos_to_contract(todos: Vec<Value>, text: &str) -> Value {
    let mut todos = rename_keys_of_items(todos, &[("content", text)], true);
    replace_states(&mut todos, |state| {
        TODO_STATES.iter().find(|(_, dialect)| *dialect == state).map(|(contract, _)| *contract)
    });
    todos
}

fn replace_states(todos: &mut Value, replacement: impl Fn(&str) -> Option<&'static str>) {
    for todo in todos.as_array_mut().into_iter().flatten() {
        if let Some(state) = todo.get_mut("status")
            && let Some(replacement) = state.as_str().and_then(&replacement)
        {
            *state = replacement.into();
        }
    }
}

fn replacement_pairs(names: [&'static str; 3]) -> Vec<(&'static str, &'static str)> {
    REPLACEMENT_KEYS.into_iter().zip(names).collect()
}

fn rename_keys_of_items(items: Vec<Value>, pairs: &[(&str, &str)], to_contract: bool) -> Value {
    let rename = |item| match item {
        Value::Object(object) => Value::Object(rename_keys(object, pairs, to_contract)),
        other => other,
    };
    items.into_iter().map(rename).collect()
}

/// Renames keys by pairs of names in contract 1 and in the dialect. A renamed key replaces an existing key of the new
/// name.
fn rename_keys(object: Object, pairs: &[(&str, &str)], to_contract: bool) -> Object {
    let to = |key: &str| {
        let mut both = pairs
            .iter()
            .map(|&(contract, dialect)| if to_contract { (dialect, contract) } else { (contract, dialect) });
        both.find(|(from, _)| *from == key).map(|(_, to)| to)
    };
    let taken: Vec<&str> = object.keys().filter_map(|key| to(key)).collect();
    let mut renamed = Object::new();
    for (key, value) in object {
        match to(&key) {
            Some(to) => drop(renamed.insert(to.to_owned(), value)),
            None if taken.contains(&key.as_str()) => {}
            None => drop(renamed.insert(key, value)),
        }
    }
    renamed
}

/// Returns the call of an MCP server's tool in contract 1.
pub(crate) fn mcp_to_contract(server: &str, tool: &str, args: Value) -> ContractCall {
    let args = json!({
        "name": format!("{server}-{tool}"),
        "args": args,
        "providerIdentifier": server,
        "toolName": tool,
    });
    ContractCall { key: MCP.to_owned(), args: into_object(args), result: None }
}

/// Returns server, tool and arguments of a call of an MCP server's tool.
pub(crate) fn mcp_from_contract(args: &mut Object) -> (String, String, Value) {
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (server, tool) = (text(take(args, "providerIdentifier")), text(take(args, "toolName")));
    (server, tool, take(args, "args"))
}

/// Converts the content of an MCP server's result into contract 1.
pub(crate) fn blocks_to_contract(blocks: Vec<Value>) -> Value {
    let block = |block: Value| match (block.get("type").and_then(Value::as_str), block.get("text")) {
        (Some("text"), Some(text)) => json!({ "text": { "text": text } }),
        _ => block,
    };
    blocks.into_iter().map(block).collect()
}

/// Converts the content of an MCP server's result from contract 1.
pub(crate) fn blocks_from_contract(blocks: Vec<Value>) -> Value {
    let block = |block: Value| match block.pointer("/text/text") {
        Some(text) => json!({ "type": "text", "text": text }),
        None => block,
    };
    blocks.into_iter().map(block).collect()
}

/// Returns the name and the arguments in the dialect of a call that is not of an MCP server's tool.
pub(crate) fn name_and_args(tools: &[ToolRow], mut call: ContractCall) -> (String, Value) {
    if let Some(tool) = find_by_key(tools, &call.key, &call.args) {
        let name = tool.names.first().copied().unwrap_or_default();
        (name.to_owned(), Value::Object(tool.args_from_contract(call.args)))
    } else if is_function(&call.key) {
        let (name, arguments) = call.function_parts();
        (name, Value::Object(arguments))
    } else {
        (call.key, Value::Object(call.args))
    }
}

/// Whether the key is `function`, the key for all tools without their own key in contract 1.
pub(crate) fn is_function(key: &str) -> bool {
    key == FUNCTION
}
