//! `--json-schema`: reads the schema of the final answer, and writes the instruction for the model.
//!
//! The value is a path, or the schema itself. A schema that requires anything is an object, so a value that begins with
//! `{` is a schema.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ibeam_core::{InvalidSchema, JsonSchema};
use ibeam_files::regular_file;
use ibeam_protocol::Reason;

use crate::run_options::RunOptions;

/// The maximum size of a schema file. The schema is a part of every request.
const MAX_BYTES: u64 = 256 * 1024;

/// Returns the schema of the flag; `None` without the flag.
///
/// # Errors
/// `NoInput` for a file that cannot be read, or is not a regular file; `InvalidJsonSchema`.
pub(super) fn load(options: &RunOptions) -> Result<Option<Arc<JsonSchema>>, Reason> {
    let Some(value) = &options.json_schema else { return Ok(None) };
    let (source, text) = match value.to_str().filter(|text| text.trim_start().starts_with('{')) {
        Some(schema) => ("--json-schema".to_owned(), schema.to_owned()),
        None => (value.display().to_string(), read_file(value)?),
    };
    JsonSchema::parse(&text)
        .map(|schema| Some(Arc::new(schema)))
        .map_err(|InvalidSchema { place, detail }| Reason::InvalidJsonSchema { path: source, place, detail })
}

fn read_file(path: &Path) -> Result<String, Reason> {
    let text = regular_file::read(path, MAX_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    text.map_err(|error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() })
}

/// Returns the instruction for the model.
pub(super) fn instruction(schema: &JsonSchema) -> String {
    format!(
        "# Form of the final answer\n\nA program reads your final answer. It must be exactly one JSON document that \
         matches the JSON Schema below: no text before or after it, and no code fence. You may call tools first. \
         Text that you write before a call is not shown to anyone.\n\n{}",
        schema.document()
    )
}

#[cfg(test)]
mod tests {
    use ibeam_core::Violation;
    use ibeam_output::{Catalogue, Locale};
    use ibeam_protocol::{Failure, Notice, Sentence};
    use serde_json::{Value, json};

    use super::*;

    /// Asserts that a text about `detail` differs from the English one in each language, and that no word of the detail
    /// is left.
    #[track_caller]
    fn check(detail: &str, text: impl Fn(&Catalogue) -> String) {
        let english = text(&Catalogue::new(Locale::En));
        assert!(english.contains(detail), "{english}");
        for locale in Locale::ALL.into_iter().filter(|locale| *locale != Locale::En) {
            let translated = text(&Catalogue::new(locale));
            assert!(!translated.contains(detail), "{translated}");
        }
    }

    #[test]
    fn the_faults_of_a_schema_are_translated() {
        let faults = [
            json!({ "type": 3 }),
            json!({ "items": 3 }),
            json!({ "anyOf": [] }),
            json!({ "properties": 3 }),
            json!({ "enum": 3 }),
            json!({ "required": "a" }),
            json!({ "dependentRequired": 3 }),
            json!({ "uniqueItems": 3 }),
            json!({ "minimum": "a" }),
            json!({ "minLength": -1 }),
            json!({ "multipleOf": 0 }),
            json!({ "pattern": 3 }),
            json!({ "pattern": "a(?=b)" }),
            json!({ "$ref": "https://example.com/x.json" }),
            json!({ "$ref": "#/$defs/none" }),
            json!({ "$ref": "#" }),
            json!({ "properties": { "a": { "$dynamicRef": "#a" } } }),
            json!({ "properties": { "a": { "$id": "a" } } }),
            json!({ "$schema": "http://json-schema.org/draft-04/schema#" }),
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {} }),
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties":
                { "a": { "$ref": "#/definitions/a", "minimum": 1 } }, "definitions": { "a": {} } }),
        ];
        let faults = faults.into_iter().map(|schema| JsonSchema::new(schema).unwrap_err());
        for InvalidSchema { place, detail } in faults.chain([JsonSchema::parse("{").unwrap_err()]) {
            check(&detail, |catalogue| {
                let (place, detail) = (place.clone(), detail.clone());
                catalogue.reason(&Reason::InvalidJsonSchema { path: "f".to_owned(), place, detail }).message
            });
        }
        let top = JsonSchema::new(json!([1])).unwrap_err();
        check(&top.place, |catalogue| {
            let (place, detail) = (top.place.clone(), top.detail.clone());
            catalogue.reason(&Reason::InvalidJsonSchema { path: "f".to_owned(), place, detail }).message
        });
    }

    #[test]
    fn the_violations_of_an_answer_are_translated() {
        let violations: [(Value, Value); 23] = [
            (json!({ "properties": { "a": false } }), json!({ "a": 1 })),
            (json!({ "type": "string" }), json!(1)),
            (json!({ "type": ["string", "null"] }), json!(1)),
            (json!({ "enum": [1, 2] }), json!(3)),
            (json!({ "const": 1 }), json!(3)),
            (json!({ "oneOf": [true, true] }), json!(3)),
            (json!({ "not": true }), json!(3)),
            (json!({ "anyOf": [{ "type": "string" }] }), json!(3)),
            (json!({ "required": ["a", "b"] }), json!({})),
            (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "a": 1 })),
            (json!({ "additionalProperties": false }), json!({ "a": 1 })),
            (json!({ "propertyNames": { "maxLength": 1 } }), json!({ "ab": 1 })),
            (json!({ "contains": { "type": "string" } }), json!([1])),
            (json!({ "contains": true, "maxContains": 1 }), json!([1, 2])),
            (json!({ "uniqueItems": true }), json!([1, 1])),
            (json!({ "pattern": "a" }), json!("b")),
            (json!({ "minimum": 2, "multipleOf": 3, "exclusiveMinimum": 2 }), json!(1)),
            (json!({ "maximum": 2, "exclusiveMaximum": 2 }), json!(7)),
            (json!({ "minProperties": 1 }), json!({})),
            (json!({ "maxProperties": 0 }), json!({ "a": 1 })),
            (json!({ "minItems": 1 }), json!([])),
            (json!({ "maxItems": 0 }), json!([1])),
            (json!({ "minLength": 2 }), json!("a")),
        ];
        for (schema, answer) in violations {
            let found = JsonSchema::new(schema).unwrap().violations(&answer);
            let detail = Sentence::list(found.iter().map(Violation::sentence).collect(), "; ");
            assert!(!detail.is_empty(), "{answer}");
            check(&detail, |catalogue| {
                let reason = Reason::AnswerMismatch { repairs: 2, detail: detail.clone() };
                catalogue.failure(&Failure::from(reason)).message
            });
            check(&detail, |catalogue| {
                catalogue.notice(&Notice::AnswerMismatch { attempt: 1, detail: detail.clone() })
            });
        }
    }
}
