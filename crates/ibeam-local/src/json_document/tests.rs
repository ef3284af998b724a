use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tiny_model::RandomLogits;

/// Schemas whose keywords are all guided.
fn schemas() -> Vec<Value> {
    vec![
        json!({
            "type": "object",
            "properties": {
                "verdict": { "enum": ["pass", "fail"] },
                "findings": { "type": "array", "items": { "type": "string" }, "maxItems": 3 },
                "note": { "type": ["string", "null"] }
            },
            "required": ["verdict", "findings"],
            "additionalProperties": false
        }),
        json!({ "enum": [1, 12, 1.5, "1", true, null, [1], { "a": 1 }] }),
        json!({ "type": "array", "items": { "type": "integer", "minimum": 8, "maximum": 12 }, "minItems": 2 }),
        json!({
            "$ref": "#/$defs/tree",
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "minLength": 2, "maxLength": 9 },
                        "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } }
                    },
                    "required": ["name"]
                }
            }
        }),
        json!({
            "allOf": [
                { "properties": { "a": { "type": "number" } }, "required": ["a"] },
                { "properties": { "b": { "anyOf": [{ "type": "boolean" }, { "const": 7 }] } }, "required": ["b"] }
            ],
            "type": "object"
        }),
        json!({ "prefixItems": [{ "type": "string" }, { "type": "integer" }], "items": false, "minItems": 2 }),
        json!({ "type": "object", "required": ["x"], "additionalProperties": { "type": "boolean" } }),
        json!({ "oneOf": [{ "type": "string" }, { "type": "object", "required": ["k"] }] }),
        json!({ "type": "string", "maxLength": 0 }),
        json!(true),
    ]
}

fn decode(schema: &JsonSchema, seed: u64) -> (Value, usize) {
    let mut model = RandomLogits::new(seed);
    let mut decoder = GuidedDecoder::new(&mut model, &|| true);
    let document = decode_document(&mut decoder, schema).unwrap();
    (document, decoder.output_tokens())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_document_follows_its_schema(seed in any::<u64>(), index in 0..schemas().len()) {
        let schema = JsonSchema::new(schemas()[index].clone()).unwrap();
        let (document, tokens) = decode(&schema, seed);
        prop_assert_eq!(schema.violations(&document), [], "{}", document);
        prop_assert!(tokens < 4 * MAX_DOCUMENT_TOKENS, "{tokens} tokens: {document}");
    }
}

#[test]
fn the_model_has_a_choice() {
    let schema = JsonSchema::new(schemas().remove(0)).unwrap();
    let documents: Vec<Value> = (0..40).map(|seed| decode(&schema, seed).0).collect();
    let is_seen = |test: &dyn Fn(&Value) -> bool| documents.iter().any(test);
    assert!(
        is_seen(&|document| document["verdict"] == "pass")
            && is_seen(&|document| document["verdict"] == "fail")
    );
    assert!(
        is_seen(&|document| document.get("note").is_none())
            && is_seen(&|document| document.get("note").is_some())
    );
    assert!(
        is_seen(&|document| document["findings"] == json!([]))
            && is_seen(&|document| document["findings"] != json!([]))
    );
}

#[test]
fn a_schema_that_no_document_satisfies_ends() {
    let endless = json!({ "type": "object", "properties": { "a": { "$ref": "#" } }, "required": ["a"] });
    let schema = JsonSchema::new(endless).unwrap();
    assert!(!schema.violations(&decode(&schema, 1).0).is_empty());
}
