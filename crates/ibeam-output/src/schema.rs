//! JSON Schema 2020-12 of what is printed, made from the wire types.
//!
//! Beside the keywords of the standard: `x-since`, the version of ibeam that added a key; `x-unit`, what a number
//! counts; `x-origin`, `ibeam` for a key that the published page does not name; `x-always`, on an object, such keys
//! that ibeam always writes. Refuses what one line cannot tell: order and pairing.

mod later;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::wire::{JsonResult, Line};
use ibeam_wire::Contract;

/// What a schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaTarget {
    /// The whole of stdout in `text`, which is for people.
    Text,
    /// The object of `json` on stdout, and that of a failure on stderr.
    Json,
    /// One line of `stream-json`.
    StreamJson,
    /// The object of a failure alone.
    Error,
}

impl SchemaTarget {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Json, Self::StreamJson, Self::Error];

    /// The word for it, in names of files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::StreamJson => "stream-json",
            Self::Error => "error",
        }
    }
}

/// The version that the keys were there with from the start.
const FIRST: &str = "0.1.0";

const TEXT: &str = "What `--output-format text` prints, for people; do not parse it. First one line for each action, as it \
    is done: `Read file`, `Edited file`, `Ran terminal command`, `Created new file`, `Deleted file`, `Searched files`, \
    `Found files`, `Listed directory`, `Updated to-do list`, `Fetched web page`, `Called MCP tool`; an action that failed \
    or was refused has a line that says so, and `--verbose` adds the path or command. Then an empty line and the final \
    message. A run that failed ends after its actions. The lines are in the language of `--lang`; control characters are \
    shown as escapes, but for line ends and tabs.";

/// The schema under a contract, as a JSON object.
pub fn schema(of: SchemaTarget, contract: Contract) -> Value {
    let mut document = match of {
        SchemaTarget::Text => Document::new("What the text format prints", text(TEXT)),
        SchemaTarget::StreamJson => {
            let mut document = Document::new("A line of stream-json", root::<Line>());
            document.define_events();
            document.require(ERROR_EVENT, &["session_id", "ibeam", "resumable"]);
            document
        }
        SchemaTarget::Error => {
            let mut document = failure();
            document.body = json!({ "$ref": format!("#/$defs/{ERROR_OBJECT}") });
            document
        }
        SchemaTarget::Json => {
            let mut document = failure();
            let result = Document::new(RESULT_OBJECT, tagged::<JsonResult>("result"));
            document.definitions.extend(result.definitions);
            document.definitions.insert(RESULT_OBJECT.to_owned(), result.body);
            document.title = "What a run with json prints";
            let to = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
            document.body = json!({
                "description": "The result on stdout of a run that succeeded, or the failure on stderr with \
                    `--error-format json`.",
                "oneOf": [to(RESULT_OBJECT), to(ERROR_OBJECT)],
            });
            document
        }
    };
    match contract {
        Contract::One => {}
        Contract::Two => later::revise(of, &mut document),
    }
    document.whole(contract)
}

const ERROR_EVENT: &str = "ErrorEvent";
const ERROR_OBJECT: &str = "ErrorObject";
const RESULT_OBJECT: &str = "ResultObject";

/// The failure as an object of its own: that of the stream, but perhaps without a run.
fn failure() -> Document {
    let mut document = Document::new("The object of a failure", root::<Line>());
    document.define_events();
    if let Some(error) = document.definitions.remove(ERROR_EVENT) {
        document.definitions.insert(ERROR_OBJECT.to_owned(), error);
    }
    document
}

fn text(description: &str) -> Value {
    json!({
        "description": description,
        "type": "string",
        "pattern": "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]*$",
    })
}

fn root<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// The root of a struct that serde gives the tag `type`, which the schema of a struct leaves out.
fn tagged<T: JsonSchema>(tag: &str) -> Value {
    let mut root = root::<T>();
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        properties.shift_insert(0, "type".to_owned(), json!({ "type": "string", "const": tag }));
    }
    if let Some(Value::Array(required)) = root.get_mut("required") {
        required.insert(0, Value::from("type"));
    }
    root
}

/// A schema in the making: what it says, and what it refers to.
struct Document {
    title: &'static str,
    body: Value,
    definitions: Map<String, Value>,
}

impl Document {
    fn new(title: &'static str, mut root: Value) -> Self {
        settle(&mut root);
        let mut definitions = Map::new();
        if let Value::Object(keys) = &mut root {
            keys.shift_remove("$schema");
            keys.shift_remove("title");
            if let Some(Value::Object(found)) = keys.shift_remove("$defs") {
                definitions = found;
            }
        }
        Self { title, body: root, definitions }
    }

    /// Puts each event under its own name, so that other languages can name it.
    fn define_events(&mut self) {
        let Some(Value::Array(events)) = self.body.get_mut("oneOf") else { return };
        for event in events {
            let Value::Object(keys) = event else { continue };
            let Some(Value::String(name)) = keys.shift_remove("title") else { continue };
            let mut keys = std::mem::take(keys);
            // A type of its own stands behind it: the event is that and the tag.
            let behind = keys.shift_remove("$ref");
            let behind =
                behind.as_ref().and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            if let Some(Value::Object(behind)) = behind.and_then(|name| self.definitions.remove(name)) {
                for (key, value) in behind {
                    merge(&mut keys, key, value);
                }
            }
            *event = json!({ "$ref": format!("#/$defs/{name}") });
            self.definitions.insert(name, Value::Object(keys));
        }
    }

    /// Makes keys of a definition required.
    fn require(&mut self, definition: &str, keys: &[&str]) {
        let definition = self.definitions.get_mut(definition);
        if let Some(Value::Array(required)) = definition.and_then(|schema| schema.get_mut("required")) {
            required.extend(keys.iter().map(|key| Value::from(*key)));
        }
    }

    /// The whole, with the definitions that it refers to.
    fn whole(mut self, contract: Contract) -> Value {
        let mut reached = Map::new();
        let mut ways = Vec::new();
        references(&self.body, &mut ways);
        while let Some(name) = ways.pop() {
            if let Some(schema) = self.definitions.remove(&name) {
                references(&schema, &mut ways);
                reached.insert(name, schema);
            }
        }
        reached.sort_keys();
        let mut whole = Map::new();
        whole.insert("$schema".to_owned(), Value::from("https://json-schema.org/draft/2020-12/schema"));
        whole.insert("title".to_owned(), Value::from(self.title));
        whole.insert("x-contract".to_owned(), Value::from(contract.as_str()));
        if let Value::Object(body) = self.body {
            whole.extend(body);
        }
        if !reached.is_empty() {
            whole.insert("$defs".to_owned(), Value::Object(reached));
        }
        Value::Object(whole)
    }
}

/// Adds a keyword of the type behind an event to those of the event, which has the tag already.
fn merge(keys: &mut Map<String, Value>, key: String, value: Value) {
    match (keys.get_mut(&key), value) {
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
        (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
        (Some(_), _) => {}
        (None, value) => {
            keys.insert(key, value);
        }
    }
}

/// The names of the definitions that a schema refers to.
fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(keys) => {
            let name =
                keys.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            names.extend(name.map(str::to_owned));
            keys.values().for_each(|schema| references(schema, names));
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| references(schema, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Says what the types cannot: no key is `null`, every key has a version, a key of ours is not required of others.
fn settle(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            without_null(keys);
            gather_arms(keys);
            if let Some(Value::String(description)) = keys.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            // Names of Rust's integers mean nothing elsewhere.
            if keys.get("format").is_some_and(|format| format != "uuid") {
                keys.shift_remove("format");
            }
            if keys.get("type").is_some_and(|kind| kind == "object") {
                settle_keys(keys);
            }
            keys.values_mut().for_each(settle);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn settle_keys(object: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    let mut ours = Vec::new();
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        if name == "type" && property.contains_key("const") {
            property.insert("description".to_owned(), Value::from("What this object is."));
        }
        if property.get("x-origin").is_some() {
            ours.push(Value::from(name.as_str()));
        }
        property.entry("x-since").or_insert_with(|| Value::from(FIRST));
    }
    let Some(Value::Array(required)) = object.get_mut("required") else { return };
    let always: Vec<Value> = required.extract_if(.., |key| ours.contains(key)).collect();
    if !always.is_empty() {
        object.insert("x-always".to_owned(), Value::from(always));
    }
}

/// An enum whose variants are one key each, as one object of which exactly one key is there: so it may grow.
fn gather_arms(keys: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = keys.get_mut("oneOf") else { return };
    let is_arm = |variant: &Value| variant.get("additionalProperties") == Some(&Value::Bool(false));
    if !variants.iter().all(is_arm) {
        return;
    }
    let mut properties = Map::new();
    for variant in variants {
        if let Some(Value::Object(arm)) = variant.get("properties") {
            for (key, payload) in arm {
                let mut payload = payload.clone();
                if let (Value::Object(payload), Some(said)) = (&mut payload, variant.get("description")) {
                    payload.insert("description".to_owned(), said.clone());
                }
                properties.insert(key.clone(), payload);
            }
        }
        *variant = json!({ "required": variant.get("required") });
    }
    keys.insert("type".to_owned(), Value::from("object"));
    keys.insert("properties".to_owned(), Value::Object(properties));
}

/// A key that may be absent is never `null`.
fn without_null(keys: &mut Map<String, Value>) {
    let only = match keys.get_mut("type") {
        Some(Value::Array(types)) => {
            types.retain(|kind| kind != "null");
            types.first().filter(|_| types.len() == 1).cloned()
        }
        Some(_) | None => None,
    };
    if let Some(only) = only {
        keys.insert("type".to_owned(), only);
    }
    let only = match keys.get_mut("anyOf") {
        Some(Value::Array(choices)) => {
            choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
            choices.first().filter(|_| choices.len() == 1).cloned()
        }
        Some(_) | None => None,
    };
    if let Some(Value::Object(only)) = only {
        keys.shift_remove("anyOf");
        for (key, value) in only {
            keys.entry(key).or_insert(value);
        }
    }
}
