//! `types/ibeam_events.py`: the definitions as typed dictionaries of Python's standard library.

use serde_json::Value;

use super::definition::{Definition, ValueType};

/// The start of the file.
const FILE_HEADER: &str = "\
\"\"\"What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.

Generated from docs/schema by `cargo xtask schema`; do not edit. Needs Python 3.11 and nothing else.
Keys are only ever added, so there may be others. A key that is `NotRequired` may be absent; none is ever None.
\"\"\"

from typing import Any, Literal, NotRequired, TypedDict, Union
";

/// Returns the text of the file.
pub(super) fn render(definitions: &[Definition]) -> String {
    let mut text = FILE_HEADER.to_owned();
    for Definition { name, description, keys } in definitions {
        text.push_str(&format!("\n\nclass {name}(TypedDict):\n    \"\"\"{description}\"\"\"\n"));
        for key in keys {
            let kind = type_name(&key.kind);
            let kind = if key.required { kind } else { format!("NotRequired[{kind}]") };
            text.push_str(&format!("\n    {}: {kind}\n    \"\"\"{}\"\"\"\n", key.name, key.description));
        }
    }
    let events: Vec<&str> = definitions
        .iter()
        .filter(|definition| definition.is_event())
        .map(|event| event.name.as_str())
        .collect();
    text.push_str(&format!(
        "\n\nStreamEvent = Union[\n    {},\n]\n\
         \"\"\"A line of `--output-format stream-json`, distinguished by `type` and `subtype`.\"\"\"\n",
        events.join(",\n    ")
    ));
    text
}

fn type_name(kind: &ValueType) -> String {
    match kind {
        // The name is quoted, since its class may be defined later. `from __future__ import annotations` cannot be used
        // instead, because it hides `NotRequired`.
        ValueType::Named(name) => format!("\"{name}\""),
        ValueType::OneOf(values) => format!("Literal[{}]", join_choices(values.iter().map(literal))),
        ValueType::Text => "str".to_owned(),
        ValueType::Integer => "int".to_owned(),
        ValueType::Number => "float".to_owned(),
        ValueType::Boolean => "bool".to_owned(),
        ValueType::List(item) => format!("list[{}]", type_name(item)),
        ValueType::Dictionary(value) => format!("dict[str, {}]", type_name(value)),
        ValueType::Either(kinds) => format!("Union[{}]", join_choices(kinds.iter().map(type_name))),
        ValueType::Anything => "Any".to_owned(),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Null => "None".to_owned(),
        // A JSON string is also a valid Python string, unless it has special escapes.
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn join_choices(choices: impl Iterator<Item = String>) -> String {
    choices.collect::<Vec<_>>().join(", ")
}
