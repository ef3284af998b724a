use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(schema: Value, expect: Value) {
    assert_eq!(ModelSchema::new(&schema).schema, expect);
}

fn text() -> Value {
    json!({ "type": "string" })
}

#[test]
fn invisible_characters_in_a_description_are_escaped() {
    let description = |text: &str| json!({ "type": "string", "description": text, "enum": ["\u{200b}"] });
    check(
        json!({ "type": "object", "properties": { "a": description("x\u{e0041}\u{202e}y") } }),
        json!({ "type": "object", "properties": { "a": description("x<U+E0041><U+202E>y") } }),
    );
}

#[test]
fn a_schema_is_completed() {
    check(Value::Null, json!({ "type": "object", "properties": {} }));
    check(json!({ "type": "object" }), json!({ "type": "object", "properties": {} }));
    let complete = json!({ "type": "object", "properties": { "a": text() }, "required": ["a"] });
    check(complete.clone(), complete);
    check(
        json!({ "$schema": "x", "properties": { "a": true } }),
        json!({ "properties": { "a": {} }, "type": "object" }),
    );
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    let one = |name: &str| json!({ "type": "object", "properties": { name: text() }, "required": [name] });
    let both = json!({ "id": text(), "name": text() });
    let either = "Give one of these: `id`; or `name`.";
    for keyword in ["anyOf", "oneOf"] {
        check(
            json!({ keyword: [one("id"), one("name")] }),
            json!({ "description": either, "properties": both, "type": "object" }),
        );
    }
    check(
        json!({ "allOf": [one("id"), one("name")] }),
        json!({ "required": ["id", "name"], "properties": both, "type": "object" }),
    );
    // Of two alternatives only what both require is required.
    let with_common =
        |name: &str| json!({ "properties": { "k": text(), name: text() }, "required": ["k", name] });
    check(
        json!({ "type": "object", "description": "Finds.", "anyOf": [with_common("id"), with_common("name")] }),
        json!({
            "type": "object",
            "description": "Finds. Give one of these: `id` and `k`; or `k` and `name`.",
            "required": ["k"],
            "properties": { "k": text(), "id": text(), "name": text() },
        }),
    );
    let number = json!({ "type": "number" });
    let typed = |kind: &Value| json!({ "properties": { "v": kind } });
    check(
        json!({ "oneOf": [typed(&text()), typed(&number)] }),
        json!({ "properties": { "v": { "anyOf": [text(), number] } }, "type": "object" }),
    );
}

#[test]
fn conditions_and_references_at_the_top_are_folded_too() {
    let condition = json!({
        "if": { "properties": { "k": { "const": "a" } } },
        "then": { "properties": { "x": text() }, "required": ["x"] },
    });
    check(
        json!({ "type": "object", "properties": { "k": text() }, "allOf": [condition], "not": {}, "enum": [1] }),
        json!({ "type": "object", "properties": { "k": text(), "x": text() } }),
    );
    let definition = json!({ "properties": { "a": text() }, "required": ["a"] });
    check(
        json!({ "$ref": "#/$defs/A", "$defs": { "A": definition } }),
        json!({ "$defs": { "A": definition }, "required": ["a"], "properties": { "a": text() }, "type": "object" }),
    );
    check(json!({ "$ref": "#" }), json!({ "type": "object", "properties": {} }));
}

#[test]
fn every_list_has_the_schema_of_its_elements() {
    let of = |a: Value| json!({ "type": "object", "properties": { "a": a } });
    let any = json!({ "type": "array", "items": {} });
    for list in [
        json!({ "type": "array" }),
        json!({ "type": "array", "items": true }),
        json!({ "type": "array", "items": [] }),
    ] {
        check(of(list), of(any.clone()));
    }
    let nested = |list: Value| json!({ "anyOf": [{ "type": "object", "properties": { "b": { "type": "array", "items": list } } }] });
    check(
        of(nested(json!({ "type": ["array", "null"] }))),
        of(nested(json!({ "type": ["array", "null"], "items": {} }))),
    );
    check(
        of(json!({ "type": "array", "items": [text(), text()] })),
        of(json!({ "type": "array", "items": { "anyOf": [text(), text()] } })),
    );
    check(of(json!({ "type": "string", "required": true })), of(text()));
    // A property may have the name of a keyword.
    check(
        json!({ "type": "object", "properties": { "items": { "type": "array" }, "required": text() } }),
        json!({ "type": "object", "properties": { "items": any, "required": text() } }),
    );
}

#[test]
fn a_property_with_another_name_for_the_model_keeps_its_name_at_the_server() {
    let long = "x".repeat(70);
    let schema = json!({
        "type": "object",
        "properties": { "uids[]": text(), "uids__": text(), "Zeit<": text(), "größe": text(), long.as_str(): text() },
        "required": ["uids[]", "uids__", "größe"],
    });
    let found = ModelSchema::new(&schema);
    let names: Vec<_> = found.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["uids___2", "uids__", "Zeit_", "gr__e", &"x".repeat(64)]);
    assert_eq!(found.schema["required"], json!(["uids___2", "uids__", "gr__e"]));
    let arguments = json!({ "uids___2": [1], "uids__": 2, "gr__e": { "Zeit_": 3 }, "other": 4 });
    let expect = json!({ "uids[]": [1], "uids__": 2, "größe": { "Zeit_": 3 }, "other": 4 });
    let Value::Object(arguments) = arguments else { unreachable!() };
    assert_eq!(Value::Object(found.renamed.arguments_for_server(arguments)), expect);
}

/// Returns any schema, also a broken one.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(Value::Null),
        Just(text()),
        Just(json!({ "type": "array" })),
        Just(json!({ "$ref": "#/$defs/a" })),
        Just(json!({ "$ref": "#/anyOf/0" })),
        Just(json!({ "required": true })),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let name = prop_oneof!["[a-z]{1,3}", "[\\[\\]ä<. ]{1,3}"];
        let list = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "items"]), list.clone())
                .prop_map(|(keyword, list)| json!({ keyword: list, "required": ["a"] })),
            (prop::sample::select(vec!["not", "if", "then", "else", "items"]), inner.clone())
                .prop_map(|(keyword, schema)| json!({ keyword: schema })),
            (prop::collection::btree_map(name, inner, 0..4), list)
                .prop_map(|(properties, list)| json!({ "properties": properties, "oneOf": list })),
        ]
    })
}

fn has_list_without_items(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_list = fields.get("type").is_some_and(|kind| kind == "array");
            (is_list && !fields.contains_key("items")) || fields.values().any(has_list_without_items)
        }
        Value::Array(values) => values.iter().any(has_list_without_items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

proptest! {
    #[test]
    fn every_schema_becomes_one_that_model_apis_accept(schema in any_schema()) {
        let found = ModelSchema::new(&schema).schema;
        prop_assert_eq!(&found["type"], "object");
        let keywords = ["anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else", "$ref"];
        prop_assert!(keywords.iter().all(|keyword| found.get(keyword).is_none()), "{}", found);
        let properties = found["properties"].as_object().unwrap();
        prop_assert!(properties.keys().all(|name| is_accepted_name(name)), "{}", found);
        prop_assert!(!has_list_without_items(&found["properties"]), "{}", found);
        prop_assert_eq!(&ModelSchema::new(&found).schema, &found, "once more changes nothing");
    }
}
