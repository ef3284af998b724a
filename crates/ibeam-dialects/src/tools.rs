//! Names and arguments of tools between contract 1 and a dialect that has them as an object.
//!
//! Keys are renamed by table; a key that is in no table goes through as it is.

use serde_json::{Value, json};

use crate::json::{Object, into_object, take, take_list, take_object};
use crate::ours::{FUNCTION, OurCall};

/// A tool of a dialect that contract 1 has too.
pub(crate) struct Tool {
    /// `readToolCall`, …
    pub(crate) key: &'static str,
    /// Its names in the dialect; the first is the one that is written.
    pub(crate) names: &'static [&'static str],
    /// Arguments that are named differently: ours, theirs.
    pub(crate) args: &'static [(&'static str, &'static str)],
    pub(crate) shape: Shape,
}

/// How the arguments are built where names are not the only difference.
pub(crate) enum Shape {
    /// As ours.
    Plain,
    /// One replacement, flat: the names of the old text, the new text, and of the flag for all.
    Edit([&'static str; 3]),
    /// Several replacements under `edits`, each with these names.
    Edits([&'static str; 3]),
    /// A to-do list whose texts have this name.
    Todos(&'static str),
}

/// The names of a replacement in contract 1.
const OURS: [&str; 3] = ["oldText", "newText", "replaceAll"];

/// States of a to-do: ours, everybody else's.
const STATES: &[(&str, &str)] = &[
    ("TODO_STATUS_PENDING", "pending"),
    ("TODO_STATUS_IN_PROGRESS", "in_progress"),
    ("TODO_STATUS_COMPLETED", "completed"),
    ("TODO_STATUS_CANCELLED", "cancelled"),
];

/// The tool of a call of ours.
pub(crate) fn of_key<'a>(tools: &'a [Tool], key: &str, args: &Object) -> Option<&'a Tool> {
    let fits = |tool: &&Tool| {
        tool.key == key
            && match tool.shape {
                Shape::Edit(_) => !args.contains_key("multiStrReplace"),
                Shape::Edits(_) => args.contains_key("multiStrReplace"),
                Shape::Plain | Shape::Todos(_) => true,
            }
    };
    tools.iter().find(fits).or_else(|| tools.iter().find(|tool| tool.key == key))
}

/// The tool of a name of theirs.
pub(crate) fn of_name<'a>(tools: &'a [Tool], name: &str) -> Option<&'a Tool> {
    tools.iter().find(|tool| tool.names.contains(&name))
}

/// A name in the list of `init`: theirs for ours.
pub(crate) fn name_from_ours(tools: &[Tool], name: &str) -> String {
    let key = OUR_NAMES.iter().find(|(ours, _)| *ours == name).map(|(_, key)| *key);
    let tool = key.and_then(|key| tools.iter().find(|tool| tool.key == key));
    tool.and_then(|tool| tool.names.first()).map_or_else(|| name.to_owned(), |name| (*name).to_owned())
}

/// A name in the list of `init`: ours for theirs.
pub(crate) fn name_to_ours(tools: &[Tool], name: &str) -> String {
    let key = of_name(tools, name).map(|tool| tool.key);
    let ours = key.and_then(|key| OUR_NAMES.iter().find(|(_, known)| *known == key));
    ours.map_or_else(|| name.to_owned(), |(ours, _)| (*ours).to_owned())
}

/// The names that contract 1 has in the list of `init`.
const OUR_NAMES: &[(&str, &str)] = &[
    ("read", "readToolCall"),
    ("write", "writeToolCall"),
    ("edit", "editToolCall"),
    ("shell", "shellToolCall"),
    ("grep", "grepToolCall"),
    ("glob", "globToolCall"),
    ("ls", "lsToolCall"),
    ("delete", "deleteToolCall"),
    ("update_todos", "updateTodosToolCall"),
    ("web_fetch", "webFetchToolCall"),
    ("task", "taskToolCall"),
];

impl Tool {
    /// A row of the table of a dialect.
    pub(crate) const fn new(
        key: &'static str,
        names: &'static [&'static str],
        args: &'static [(&'static str, &'static str)],
        shape: Shape,
    ) -> Self {
        Self { key, names, args, shape }
    }

    /// Their arguments for ours.
    pub(crate) fn theirs(&self, mut args: Object) -> Object {
        match self.shape {
            Shape::Plain => renamed(args, self.args, false),
            Shape::Edit(names) => {
                let replaced = take_object(&mut args, "strReplace").unwrap_or_default();
                let mut args = renamed(args, self.args, false);
                args.extend(renamed(replaced, &pairs(names), false));
                args
            }
            Shape::Edits(names) => {
                let mut several = take_object(&mut args, "multiStrReplace").unwrap_or_default();
                let edits = take_list(&mut several, "edits").unwrap_or_default();
                let mut args = renamed(args, self.args, false);
                args.insert("edits".to_owned(), each(edits, &pairs(names), false));
                args
            }
            Shape::Todos(text) => {
                let todos = take_list(&mut args, "todos").unwrap_or_default();
                let mut args = renamed(args, self.args, false);
                args.insert("todos".to_owned(), todos_from_ours(todos, text));
                args
            }
        }
    }

    /// Our arguments for theirs.
    pub(crate) fn ours(&self, args: Object) -> Object {
        let mut args = renamed(args, self.args, true);
        match self.shape {
            Shape::Plain => {}
            Shape::Edit(names) => {
                let mut replaced = Object::new();
                for (theirs, ours) in names.iter().zip(OURS) {
                    if let Some(value) = args.shift_remove(*theirs) {
                        replaced.insert(ours.to_owned(), value);
                    }
                }
                if !replaced.is_empty() {
                    args.insert("strReplace".to_owned(), replaced.into());
                }
            }
            Shape::Edits(names) => {
                if let Some(edits) = take_list(&mut args, "edits") {
                    let edits = each(edits, &pairs(names), true);
                    args.insert("multiStrReplace".to_owned(), json!({ "edits": edits }));
                }
            }
            Shape::Todos(text) => {
                if let Some(todos) = take_list(&mut args, "todos") {
                    args.insert("todos".to_owned(), todos_to_ours(todos, text));
                }
            }
        }
        args
    }
}

/// To-dos of theirs.
pub(crate) fn todos_from_ours(todos: Vec<Value>, text: &str) -> Value {
    let mut todos = each(todos, &[("content", text)], false);
    states(&mut todos, |state| STATES.iter().find(|(ours, _)| *ours == state).map(|(_, theirs)| *theirs));
    todos
}

/// To-dos of ours.
pub(crate) fn todos_to_ours(todos: Vec<Value>, text: &str) -> Value {
    let mut todos = each(todos, &[("content", text)], true);
    states(&mut todos, |state| STATES.iter().find(|(_, theirs)| *theirs == state).map(|(ours, _)| *ours));
    todos
}

fn states(todos: &mut Value, word: impl Fn(&str) -> Option<&'static str>) {
    for todo in todos.as_array_mut().into_iter().flatten() {
        if let Some(state) = todo.get_mut("status")
            && let Some(word) = state.as_str().and_then(&word)
        {
            *state = word.into();
        }
    }
}

fn pairs(theirs: [&'static str; 3]) -> Vec<(&'static str, &'static str)> {
    OURS.into_iter().zip(theirs).collect()
}

fn each(items: Vec<Value>, pairs: &[(&str, &str)], back: bool) -> Value {
    let rename = |item| match item {
        Value::Object(object) => Value::Object(renamed(object, pairs, back)),
        other => other,
    };
    items.into_iter().map(rename).collect()
}

/// Ours to theirs, or `back`. Of two that come to have one name the one that is renamed stays.
fn renamed(object: Object, pairs: &[(&str, &str)], back: bool) -> Object {
    let to = |key: &str| {
        let mut both = pairs.iter().map(|&(ours, theirs)| if back { (theirs, ours) } else { (ours, theirs) });
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

/// The tool of a server, `mcp__server__tool`, as contract 1 has it.
pub(crate) fn mcp_to_ours(server: &str, tool: &str, args: Value) -> OurCall {
    let args = json!({
        "name": format!("{server}-{tool}"),
        "args": args,
        "providerIdentifier": server,
        "toolName": tool,
    });
    OurCall { key: MCP.to_owned(), args: into_object(args), result: None }
}

/// The key of tools of servers.
pub(crate) const MCP: &str = "mcpToolCall";

/// Server, tool and arguments of a call of ours.
pub(crate) fn mcp_from_ours(args: &mut Object) -> (String, String, Value) {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (server, tool) = (word(take(args, "providerIdentifier")), word(take(args, "toolName")));
    (server, tool, take(args, "args"))
}

/// What a server's tool gave, block by block: ours for theirs.
pub(crate) fn blocks_to_ours(blocks: Vec<Value>) -> Value {
    let block = |block: Value| match (block.get("type").and_then(Value::as_str), block.get("text")) {
        (Some("text"), Some(text)) => json!({ "text": { "text": text } }),
        _ => block,
    };
    blocks.into_iter().map(block).collect()
}

/// What a server's tool gave, block by block: theirs for ours.
pub(crate) fn blocks_from_ours(blocks: Vec<Value>) -> Value {
    let block = |block: Value| match block.pointer("/text/text") {
        Some(text) => json!({ "type": "text", "text": text }),
        None => block,
    };
    blocks.into_iter().map(block).collect()
}

/// Name and arguments in the dialect of these tools, of a call of ours that is none of a server's.
pub(crate) fn named(tools: &[Tool], mut call: OurCall) -> (String, Value) {
    if let Some(tool) = of_key(tools, &call.key, &call.args) {
        let name = tool.names.first().copied().unwrap_or_default();
        (name.to_owned(), Value::Object(tool.theirs(call.args)))
    } else if is_function(&call.key) {
        let (name, arguments) = call.function_parts();
        (name, Value::Object(arguments))
    } else {
        (call.key, Value::Object(call.args))
    }
}

/// A call of a tool that is no key of contract 1.
pub(crate) fn is_function(key: &str) -> bool {
    key == FUNCTION
}
