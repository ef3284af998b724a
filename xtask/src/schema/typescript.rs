//! `types/ibeam.d.ts`: the definitions as TypeScript.

use serde_json::Value;

use super::definition::{Definition, ValueType};

/// The start of the file.
const FILE_HEADER: &str = "\
// What `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.
// Generated from docs/schema by `cargo xtask schema`; do not edit.
//
// Keys are only ever added, so there may be others. A key with `?` may be absent; none is ever null.
";

/// Returns the text of the file.
pub(super) fn render(definitions: &[Definition]) -> String {
    let events: Vec<&str> = definitions
        .iter()
        .filter(|definition| definition.is_event())
        .map(|event| event.name.as_str())
        .collect();
    let mut text = format!(
        "{FILE_HEADER}\n/** A line of `--output-format stream-json`, distinguished by `type` and `subtype`. */\n\
         export type StreamEvent =\n  | {};\n",
        events.join("\n  | ")
    );
    for definition in definitions {
        let Definition { name, description, keys } = definition;
        text.push_str(&format!("\n/** {description} */\nexport interface {name} {{\n"));
        for key in keys {
            let absent = if key.required { "" } else { "?" };
            text.push_str(&format!(
                "  /** {} */\n  {}{absent}: {};\n",
                key.description,
                key.name,
                type_name(&key.kind)
            ));
        }
        text.push_str("}\n");
    }
    text
}

fn type_name(kind: &ValueType) -> String {
    match kind {
        ValueType::Named(name) => name.clone(),
        ValueType::OneOf(values) => join_choices(values.iter().map(Value::to_string)),
        ValueType::Text => "string".to_owned(),
        ValueType::Integer | ValueType::Number => "number".to_owned(),
        ValueType::Boolean => "boolean".to_owned(),
        ValueType::List(item) => format!("Array<{}>", type_name(item)),
        ValueType::Dictionary(value) => format!("Record<string, {}>", type_name(value)),
        ValueType::Either(kinds) => join_choices(kinds.iter().map(type_name)),
        ValueType::Anything => "unknown".to_owned(),
    }
}

fn join_choices(choices: impl Iterator<Item = String>) -> String {
    choices.collect::<Vec<_>>().join(" | ")
}
