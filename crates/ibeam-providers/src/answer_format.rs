//! The JSON Schema of an answer in the form of OpenAI's APIs, and the parts of JSON Schema that services support.
//!
//! If the service enforces the schema, the model needs fewer corrections. This program validates the answer in any
//! case, so it does not send a schema that a service may reject.

use ibeam_core::{JsonSchema, ModelRequest};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model_traits::SchemaForm;
use crate::wire_protocol::{Quirks, RequestSettings};

/// The name of the schema, which the API requires.
pub(crate) const SCHEMA_NAME: &str = "answer";

/// The keywords that strict mode supports. Source: the guide "Structured model outputs", "Supported schemas".
const STRICT_KEYWORDS: [&str; 13] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

/// The keywords that the Messages API supports. Source: the guide "Structured outputs", "JSON Schema limitations".
const MESSAGES_KEYWORDS: [&str; 10] = [
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
];

/// The schema of an answer.
#[derive(Debug, Serialize)]
pub(crate) struct AnswerFormat<'a> {
    name: &'static str,
    /// Whether the service guarantees a valid document.
    strict: bool,
    schema: &'a Value,
}

impl<'a> AnswerFormat<'a> {
    /// Returns the format of the answer to `request`; `None` without a schema, or if the service does not accept it.
    pub(crate) fn new(request: &'a ModelRequest, quirks: Quirks) -> Option<Self> {
        let schema = request.answer_schema.as_ref().filter(|_| quirks.answer_schema)?.document();
        // The API rejects other types at the top level.
        let is_object = schema.get("type").is_some_and(|name| name == "object");
        let strict = has_only_keywords(schema, &STRICT_KEYWORDS) && has_closed_objects(schema, true);
        is_object.then_some(Self { name: SCHEMA_NAME, strict, schema })
    }
}

/// Returns the schema that the Messages API or Converse is to enforce; `None` if the service does not accept it.
pub(crate) fn messages_schema<'a>(
    schema: &'a JsonSchema,
    settings: &RequestSettings<'_>,
) -> Option<&'a Value> {
    let accepts = settings.quirks.answer_schema && settings.traits.schema == Some(SchemaForm::OutputConfig);
    let schema = Some(schema.document()).filter(|_| accepts)?;
    let is_supported = has_only_keywords(schema, &MESSAGES_KEYWORDS) && has_closed_objects(schema, false);
    is_supported.then_some(schema)
}

/// Whether a schema and the schemas in it have only these keywords.
pub(crate) fn has_only_keywords(schema: &Value, keywords: &[&str]) -> bool {
    every_schema(schema, &|fields| fields.keys().all(|key| keywords.contains(&key.as_str())))
}

/// Whether every object has no other properties than those listed, and all of them are required if `are_required`.
fn has_closed_objects(schema: &Value, are_required: bool) -> bool {
    every_schema(schema, &|fields| {
        let is_object = fields.contains_key("properties")
            || fields.get("type").is_some_and(|name| name.to_string().contains("\"object\""));
        let required =
            fields.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let properties = fields.get("properties").and_then(Value::as_object);
        let mut names = properties.into_iter().flat_map(Map::keys).filter(|_| are_required);
        let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
        !is_object || (is_closed && names.all(|name| required.iter().any(|required| required == name)))
    })
}

/// Whether a condition holds for a schema and every schema in it.
fn every_schema(schema: &Value, condition: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(fields) = schema else { return true };
    condition(fields)
        && fields.iter().all(|(key, value)| match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(schemas)) => {
                schemas.values().all(|schema| every_schema(schema, condition))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().all(|schema| every_schema(schema, condition))
            }
            ("items" | "additionalProperties" | "not" | "contains", schema) => {
                every_schema(schema, condition)
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, strict: bool) {
        let found = has_only_keywords(&schema, &STRICT_KEYWORDS) && has_closed_objects(&schema, true);
        assert_eq!(found, strict, "{schema}");
    }

    #[test]
    fn strict_mode_needs_closed_objects_and_known_keywords() {
        let closed = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        check(closed(json!({ "a": { "type": "string" } }), &["a"]), true);
        check(closed(json!({ "a": { "type": "string" } }), &[]), false);
        check(closed(json!({ "a": { "type": "string", "pattern": "x" } }), &["a"]), false);
        check(closed(json!({ "a": { "type": "array", "items": { "type": "object" } } }), &["a"]), false);
        check(
            closed(json!({ "a": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/b" }] } }), &["a"]),
            true,
        );
        check(json!({ "type": "object", "properties": {} }), false);
    }
}
