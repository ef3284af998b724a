//! The validator of answers, compared with the complete implementation of the `jsonschema` crate.

use ibeam_core::JsonSchema;
use proptest::prelude::*;
use serde_json::{Value, json};

fn violations(schema: &Value, document: &Value) -> Vec<String> {
    let schema = JsonSchema::new(schema.clone()).unwrap_or_else(|error| panic!("{schema}: {error}"));
    schema.violations(document).iter().map(ToString::to_string).collect()
}

/// Checks a schema against documents: whether each is valid, and that the other implementation agrees.
#[track_caller]
fn check(schema: Value, valid: &[Value], invalid: &[Value]) {
    let other = jsonschema::draft202012::new(&schema).unwrap();
    for (documents, expect) in [(valid, true), (invalid, false)] {
        for document in documents {
            let found = violations(&schema, document);
            assert_eq!(found.is_empty(), expect, "{schema} {document}: {found:?}");
            assert_eq!(other.is_valid(document), expect, "the other implementation: {schema} {document}");
        }
    }
}

#[test]
fn each_keyword_is_applied() {
    check(
        json!({ "type": ["integer", "null"] }),
        &[json!(1), json!(1.0), json!(null)],
        &[json!(1.5), json!("1")],
    );
    check(json!({ "enum": [1, "a", [2]] }), &[json!(1.0), json!("a"), json!([2.0])], &[json!(2), json!([])]);
    check(json!({ "const": { "a": 1 } }), &[json!({ "a": 1.0 })], &[json!({ "a": 1, "b": 2 })]);
    check(json!({ "minimum": 1, "exclusiveMaximum": 3 }), &[json!(1), json!(2.9)], &[json!(0), json!(3)]);
    check(json!({ "multipleOf": 0.0001 }), &[json!(0.0075), json!(2)], &[json!(0.00751)]);
    check(json!({ "multipleOf": 7 }), &[json!(-14), json!(0)], &[json!(15)]);
    check(json!({ "minLength": 2, "maxLength": 2 }), &[json!("äß"), json!(1)], &[json!("a"), json!("abc")]);
    check(json!({ "pattern": "^[a-z]+\\d$" }), &[json!("ab1")], &[json!("1"), json!("AB1")]);
    check(
        json!({ "prefixItems": [true, { "type": "null" }], "items": { "type": "string" } }),
        &[json!([1, null, "a"]), json!([1])],
        &[json!([1, 2]), json!([1, null, 3])],
    );
    check(
        json!({ "contains": { "type": "null" }, "minContains": 2, "maxContains": 2 }),
        &[json!([null, 1, null])],
        &[json!([null]), json!([null, null, null])],
    );
    check(json!({ "contains": { "type": "null" }, "minContains": 0 }), &[json!([]), json!([1])], &[]);
    check(
        json!({ "uniqueItems": true, "minItems": 1, "maxItems": 3 }),
        &[json!([1, "1", true])],
        &[json!([]), json!([1, 1.0]), json!([1, 2, 3, 4])],
    );
    check(
        json!({ "properties": { "a": { "type": "string" } }, "patternProperties": { "^x": { "type": "integer" } },
            "additionalProperties": false, "required": ["a"] }),
        &[json!({ "a": "", "x1": 2 })],
        &[json!({ "x1": 2 }), json!({ "a": "", "b": 1 }), json!({ "a": "", "x": "" })],
    );
    check(
        json!({ "propertyNames": { "maxLength": 1 }, "minProperties": 1, "maxProperties": 2 }),
        &[json!({ "a": 1 })],
        &[json!({}), json!({ "ab": 1 }), json!({ "a": 1, "b": 2, "c": 3 })],
    );
    check(
        json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "required": ["d"] } } }),
        &[json!({ "a": 1, "b": 2 }), json!({ "c": 1, "d": 1 })],
        &[json!({ "a": 1 }), json!({ "c": 1 })],
    );
    check(json!({ "anyOf": [{ "type": "string" }, { "minimum": 3 }] }), &[json!("a"), json!(3)], &[json!(2)]);
    check(
        json!({ "oneOf": [{ "type": "integer" }, { "minimum": 3 }] }),
        &[json!(2), json!(3.5)],
        &[json!(3), json!(2.5)],
    );
    check(
        json!({ "allOf": [{ "type": "integer" }, { "minimum": 3 }], "not": { "const": 4 } }),
        &[json!(3)],
        &[json!(2), json!(4)],
    );
    check(
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "required": ["c"] } }),
        &[json!({ "a": 1, "b": 1 }), json!({ "c": 1 })],
        &[json!({ "a": 1 }), json!({})],
    );
    check(
        json!({ "allOf": [{ "properties": { "a": true } }], "unevaluatedProperties": false }),
        &[json!({ "a": 1 })],
        &[json!({ "a": 1, "b": 2 })],
    );
    check(
        json!({ "anyOf": [{ "prefixItems": [{ "type": "string" }] }, { "prefixItems": [true, { "const": 1 }] }],
            "unevaluatedItems": false }),
        &[json!(["a"]), json!(["a", 1])],
        &[json!(["a", 2]), json!([1, 2])],
    );
    check(json!(false), &[], &[json!(null)]);
    check(json!({ "format": "date" }), &[json!("no date")], &[]);
}

#[test]
fn references_within_the_file_are_followed() {
    let tree = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/tree",
        "$ref": "#/$defs/node",
        "$defs": { "node": {
            "type": "object",
            "properties": { "next": { "$ref": "https://example.com/tree#/$defs/node" }, "n": { "$ref": "#number" } },
            "additionalProperties": false,
        }, "a/b %": { "$anchor": "number", "type": "number" } },
    });
    check(tree, &[json!({ "next": { "next": { "n": 1 } } })], &[json!({ "next": { "n": "1" } })]);
    check(
        json!({ "$ref": "#/definitions/a~1b%20c", "definitions": { "a/b c": { "type": "null" } } }),
        &[json!(null)],
        &[json!(1)],
    );
}

#[test]
fn a_fault_of_a_schema_has_its_place() {
    let faults = [
        (json!({ "properties": { "a": { "type": "text" } } }), "/properties/a/type", "one of null"),
        (json!({ "items": [{ "type": "string" }] }), "/items", "should be a schema"),
        (json!({ "anyOf": [] }), "/anyOf", "one or more schemas"),
        (json!({ "required": "a" }), "/required", "list of property names"),
        (json!({ "minLength": -1 }), "/minLength", "0 or more"),
        (json!({ "multipleOf": 0 }), "/multipleOf", "above 0"),
        (json!({ "pattern": "a(?=b)" }), "/pattern", "look-around"),
        (json!({ "patternProperties": { "(": true } }), "/patternProperties/(", "regular expression"),
        (json!({ "$ref": "https://example.com/x.json" }), "/$ref", "remote reference"),
        (json!({ "$ref": "other.json#/a" }), "/$ref", "remote reference"),
        (json!({ "$ref": "#/$defs/none" }), "/$ref", "does not exist"),
        (
            json!({ "$ref": "#/definitions/a", "definitions": { "a": { "type": 1 } } }),
            "/definitions/a/type",
            "one of",
        ),
        (
            json!({ "properties": { "a": { "$dynamicRef": "#a" } } }),
            "/properties/a/$dynamicRef",
            "not supported",
        ),
        (json!({ "$schema": "http://json-schema.org/draft-04/schema#" }), "/$schema", "2020-12"),
        (draft_7(json!({ "items": {}, "additionalItems": false })), "/additionalItems", "prefixItems"),
        (draft_7(json!({ "dependencies": { "a": ["b"] } })), "/dependencies", "dependentRequired"),
        (
            draft_7(
                json!({ "items": { "$ref": "#/definitions/a", "minimum": 1 }, "definitions": { "a": {} } }),
            ),
            "/items/minimum",
            "next to `$ref`",
        ),
        (json!({ "$ref": "#" }), "", "refers to itself"),
        (
            json!({ "properties": { "a": { "allOf": [{ "$ref": "#/properties/a" }] } } }),
            "/properties/a",
            "refers to itself",
        ),
        (json!([1]), "top level", "should be a schema"),
    ];
    for (schema, place, detail) in faults {
        let error = JsonSchema::new(schema.clone()).unwrap_err();
        assert!(error.place.starts_with(place) && error.detail.contains(detail), "{schema}: {error}");
    }
    let error = JsonSchema::parse("{\n  \"type\": }").unwrap_err();
    assert_eq!(error.place, "line 2, column 11");
}

#[test]
fn violations_name_the_place_and_the_closest_alternative() {
    let schema = json!({ "properties": { "items": { "items": {
        "anyOf": [{ "type": "null" }, { "type": "object", "required": ["id"] }],
    } } } });
    assert_eq!(
        violations(&schema, &json!({ "items": [{ "id": 1 }, {}] })),
        [
            "`/items/1` matches no schema of `anyOf`; for the closest one:",
            "`/items/1` lacks the property `id`",
        ]
    );
    let many = json!({ "items": { "type": "null" } });
    assert_eq!(violations(&many, &json!(vec![1; 100])).len(), 20);
}

#[test]
fn a_long_chain_of_references_is_a_fault_of_the_schema() {
    let mut definitions = serde_json::Map::new();
    for index in 0..5000 {
        definitions.insert(format!("d{index}"), json!({ "$ref": format!("#/$defs/d{}", index + 1) }));
    }
    definitions.insert("d5000".to_owned(), json!(true));
    let error = JsonSchema::new(json!({ "$ref": "#/$defs/d0", "$defs": definitions })).unwrap_err();
    assert!(error.detail.contains("more than 64"), "{error}");
}

/// Schemas of the keywords whose combination matters.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        prop::sample::select(vec!["null", "integer", "number", "string", "array", "object"])
            .prop_map(|name| json!({ "type": name })),
        (-2..3).prop_map(|limit| json!({ "minimum": limit })),
        Just(json!({ "required": ["a"] })),
        Just(json!({ "const": 1 })),
        Just(json!({ "$ref": "#/$defs/d" })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keyword = |name: &'static str| inner.clone().prop_map(move |schema| json!({ name: schema }));
        let list = |name: &'static str| {
            prop::collection::vec(inner.clone(), 1..3).prop_map(move |schemas| json!({ name: schemas }))
        };
        let part = prop_oneof![
            keyword("not"),
            keyword("items"),
            keyword("contains"),
            keyword("additionalProperties"),
            keyword("unevaluatedProperties"),
            keyword("unevaluatedItems"),
            list("anyOf"),
            list("oneOf"),
            list("allOf"),
            list("prefixItems"),
            inner.clone().prop_map(|schema| json!({ "properties": { "a": schema } })),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({ "if": a, "then": b, "else": c })),
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| {
            let mut merged = serde_json::Map::new();
            for part in parts {
                merged.extend(part.as_object().unwrap().clone());
            }
            Value::Object(merged)
        })
    })
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        (-2..3).prop_map(|number| json!(number)),
        Just(json!(1.0)),
        Just(json!(0.5)),
        Just(json!("a")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn both_implementations_agree(schema in schema(), document in document()) {
        let mut schema = schema;
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("$defs".to_owned(), json!({ "d": { "type": ["integer", "object"] } }));
            let other = jsonschema::draft202012::new(&schema).unwrap();
            let found = violations(&schema, &document);
            prop_assert_eq!(found.is_empty(), other.is_valid(&document), "{} {}: {:?}", schema, document, found);
        }
    }
}

fn draft_7(mut schema: Value) -> Value {
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

#[test]
fn a_schema_of_draft_7_with_the_same_meaning_is_accepted() {
    let schema = JsonSchema::new(draft_7(json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/definitions/count", "description": "How many" } },
        "definitions": { "count": { "type": "integer", "minimum": 1 } },
    })))
    .unwrap();
    assert!(schema.violations(&json!({ "a": 1 })).is_empty());
    assert_eq!(schema.violations(&json!({ "a": 0 })).len(), 1);
}
