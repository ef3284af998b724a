//! The schema of a tool in the form that model APIs accept.
//!
//! Pure. Servers may use any JSON Schema. Services refuse a whole request because of one schema that has alternatives at its
//! top, a list without the schema of its elements, or a property whose name has other characters.
//! Sources: the errors "input_schema does not support oneOf, allOf, or anyOf at the top level" and "Property keys should match
//! pattern '^[a-zA-Z0-9_.-]{1,64}$'" of Anthropic, and "array schema missing items" of OpenAI.
//!
//! A schema only becomes wider: what the server accepts, the model may still write. The server checks the arguments itself.

use std::collections::{BTreeMap, BTreeSet};

use ibeam_protocol::escape_invisible;
use serde_json::{Map, Value, json};

/// The maximum length of the name of a property.
const MAX_NAME_LENGTH: usize = 64;
/// The maximum depth to which references at the top of a schema are followed.
const MAX_REFERENCES: usize = 8;

/// A schema for the model.
#[derive(Debug, PartialEq)]
pub(crate) struct ModelSchema {
    /// The schema: an object with `properties`, without alternatives at its top.
    pub(crate) schema: Value,
    /// The properties that have another name at the server.
    pub(crate) renamed: RenamedProperties,
}

/// The name at the server of each property that the model sees under another name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RenamedProperties(BTreeMap<String, String>);

impl ModelSchema {
    /// Returns the server's schema in the form that model APIs accept.
    pub(crate) fn new(schema: &Value) -> Self {
        let definitions = schema.clone();
        let mut schema = fold(schema.as_object().cloned().unwrap_or_default(), &definitions, MAX_REFERENCES);
        schema.shift_remove("$schema");
        schema.insert("type".to_owned(), json!("object"));
        if !schema.get("properties").is_some_and(Value::is_object) {
            schema.insert("properties".to_owned(), json!({}));
        }
        let renamed = rename_properties(&mut schema);
        let mut schema = Value::Object(schema);
        repair(&mut schema);
        escape_texts(&mut schema);
        Self { schema, renamed }
    }
}

impl RenamedProperties {
    /// Returns the arguments of the model with the names that the server knows.
    pub(crate) fn arguments_for_server(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let original = |name: String| self.0.get(&name).cloned().unwrap_or(name);
        arguments.into_iter().map(|(name, value)| (original(name), value)).collect()
    }
}

/// Returns an object schema without `allOf`, `anyOf`, `oneOf`, `not`, `enum`, `if` and `$ref` at its top: the properties of
/// all alternatives, of which those are required that every alternative requires.
fn fold(mut schema: Map<String, Value>, root: &Value, depth: usize) -> Map<String, Value> {
    let mut part = |name: &str| schema.shift_remove(name);
    let referenced = part("$ref").and_then(|reference| find_definition(root, reference.as_str()?).cloned());
    let conditions = [part("then"), part("else")];
    for dropped in ["if", "not", "enum", "const"] {
        drop(part(dropped));
    }
    let all = elements(part("allOf")).chain(referenced);
    let alternatives = [part("anyOf"), part("oneOf")];
    if depth == 0 {
        return schema;
    }
    for every in all {
        let every = folded(every, root, depth);
        require(&mut schema, &required(&every));
        merge_properties(&mut schema, every);
    }
    for conditional in conditions.into_iter().flatten() {
        merge_properties(&mut schema, folded(conditional, root, depth));
    }
    for alternatives in alternatives {
        let alternatives: Vec<_> = elements(alternatives).map(|each| folded(each, root, depth)).collect();
        describe_alternatives(&mut schema, &alternatives);
        let common = alternatives.iter().map(required).reduce(|common, each| &common & &each);
        require(&mut schema, &common.unwrap_or_default());
        for alternative in alternatives {
            merge_properties(&mut schema, alternative);
        }
    }
    schema
}

fn folded(schema: Value, root: &Value, depth: usize) -> Map<String, Value> {
    match schema {
        Value::Object(schema) => fold(schema, root, depth - 1),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Returns the definition to which a reference inside the schema points.
fn find_definition<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?).filter(|found| !std::ptr::eq(*found, root))
}

fn elements(list: Option<Value>) -> impl Iterator<Item = Value> {
    match list {
        Some(Value::Array(elements)) => elements,
        Some(_) | None => Vec::new(),
    }
    .into_iter()
}

fn required(schema: &Map<String, Value>) -> BTreeSet<String> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Adds names to those that the schema requires.
fn require(schema: &mut Map<String, Value>, names: &BTreeSet<String>) {
    let known = required(schema);
    let new: Vec<Value> = names.difference(&known).cloned().map(Value::String).collect();
    if new.is_empty() {
        return;
    }
    match schema.entry("required").or_insert_with(|| json!([])) {
        Value::Array(list) => list.extend(new),
        other => *other = Value::Array(new),
    }
}

/// Adds the properties of another schema. A property that differs has both forms.
fn merge_properties(schema: &mut Map<String, Value>, other: Map<String, Value>) {
    let Some(Value::Object(others)) =
        other.into_iter().find_map(|(name, value)| (name == "properties").then_some(value))
    else {
        return;
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    let Value::Object(properties) = properties else { return };
    for (name, new) in others {
        match properties.get_mut(&name) {
            None => drop(properties.insert(name, new)),
            Some(known) if *known == new || !new.is_object() => {}
            Some(known) if !known.is_object() => *known = new,
            Some(known) => *known = json!({ "anyOf": [known.take(), new] }),
        }
    }
}

/// Adds to the description which properties belong together, because the schema no longer does.
fn describe_alternatives(schema: &mut Map<String, Value>, alternatives: &[Map<String, Value>]) {
    let describe = |names: BTreeSet<String>| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
    };
    let sets: Vec<String> =
        alternatives.iter().map(required).filter(|names| !names.is_empty()).map(describe).collect();
    if sets.len() < 2 {
        return;
    }
    let text = format!("Give one of these: {}.", sets.join("; or "));
    let before = schema.get("description").and_then(Value::as_str).map(|before| format!("{before} "));
    schema.insert("description".to_owned(), Value::String(before.unwrap_or_default() + &text));
}

/// Gives the properties at the top names that model APIs accept.
fn rename_properties(schema: &mut Map<String, Value>) -> RenamedProperties {
    let mut renamed = RenamedProperties::default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return renamed };
    if properties.keys().all(|name| is_accepted_name(name)) {
        return renamed;
    }
    let mut taken: BTreeSet<String> =
        properties.keys().filter(|name| is_accepted_name(name)).cloned().collect();
    let mut new_names: BTreeMap<String, String> = BTreeMap::new();
    let rename = |(name, value): (String, Value)| {
        if is_accepted_name(&name) {
            return (name, value);
        }
        let new = accepted_name(&name, &taken);
        taken.insert(new.clone());
        renamed.0.insert(new.clone(), name.clone());
        new_names.insert(name, new.clone());
        (new, value)
    };
    *properties = std::mem::take(properties).into_iter().map(rename).collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required {
            if let Some(new) = name.as_str().and_then(|name| new_names.get(name)) {
                *name = Value::String(new.clone());
            }
        }
    }
    renamed
}

fn is_accepted_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && name.chars().all(is_accepted_character)
}

fn is_accepted_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Returns a name that is not `taken` in the characters that model APIs accept.
fn accepted_name(name: &str, taken: &BTreeSet<String>) -> String {
    let plain: String = name.chars().map(|c| if is_accepted_character(c) { c } else { '_' }).collect();
    let numbered = |number: usize| {
        let end = if number == 1 { String::new() } else { format!("_{number}") };
        let start: String = plain.chars().take(MAX_NAME_LENGTH - end.len()).collect();
        if start.is_empty() { format!("_{end}") } else { format!("{start}{end}") }
    };
    let mut number = 1;
    while taken.contains(&numbered(number)) {
        number += 1;
    }
    numbered(number)
}

/// Completes and corrects a schema and those in it: lists have the schema of their elements, lists of names are such, and no
/// schema is only `true`.
fn repair(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
        return;
    };
    let is_list = match fields.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        Some(_) | None => false,
    };
    match fields.get_mut("items") {
        // The older form: a schema for each position.
        Some(Value::Array(positions)) => {
            let positions = std::mem::take(positions);
            let items = if positions.is_empty() { json!({}) } else { json!({ "anyOf": positions }) };
            fields.insert("items".to_owned(), items);
        }
        Some(_) => {}
        None if is_list => drop(fields.insert("items".to_owned(), json!({}))),
        None => {}
    }
    // In the oldest form a property says itself that it is required.
    if fields.get("required").is_some_and(|required| !required.is_array()) {
        fields.shift_remove("required");
    }
    for (name, value) in fields.iter_mut() {
        match (name.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                schemas.values_mut().for_each(repair);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(repair);
            }
            ("items" | "not" | "if" | "then" | "else" | "contains", schema) => repair(schema),
            ("additionalProperties", schema @ Value::Object(_)) => repair(schema),
            _ => {}
        }
    }
}

/// Escapes invisible characters in the texts of a schema. Names and values stay unchanged, because a call must contain
/// them exactly.
fn escape_texts(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if matches!(name.as_str(), "description" | "title" | "$comment") => {
                        *text = escape_invisible(text).into_owned();
                    }
                    value => escape_texts(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(escape_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
#[path = "model_schema_test.rs"]
mod tests;
