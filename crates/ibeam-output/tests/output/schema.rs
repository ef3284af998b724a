//! The published schemas: what is printed fits them, and what breaks the contract does not.
//!
//! `story` holds every line that any test here prints against them too.

use std::sync::LazyLock;

use ibeam_output::error_object;
use ibeam_protocol::{Failure, Reason};
use ibeam_wire::{Contract, SchemaTarget, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::story;

/// A schema as others see it, and the same with what ibeam always writes required.
pub(crate) struct Held {
    published: Validator,
    ours: Validator,
}

impl Held {
    fn new(of: SchemaTarget, contract: Contract) -> Self {
        let schema = schema(of, contract);
        let mut ours = schema.clone();
        require_what_is_always_there(&mut ours);
        let validator = |schema| jsonschema::draft202012::new(schema).unwrap();
        Self { published: validator(&schema), ours: validator(&ours) }
    }

    /// A line of ours fits.
    #[track_caller]
    pub(crate) fn check(&self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Err(error) = self.ours.validate(&value) {
            panic!("{error} at `{}`: {line}", error.instance_path());
        }
    }
}

fn require_what_is_always_there(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Array(always)) = keys.shift_remove("x-always") {
                keys["required"].as_array_mut().unwrap().extend(always);
            }
            keys.values_mut().for_each(require_what_is_always_there);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(require_what_is_always_there),
        _ => {}
    }
}

pub(crate) static STREAM: LazyLock<Held> =
    LazyLock::new(|| Held::new(SchemaTarget::StreamJson, Contract::One));
pub(crate) static SEGMENTS: LazyLock<Held> =
    LazyLock::new(|| Held::new(SchemaTarget::StreamJson, Contract::Two));
pub(crate) static JSON: LazyLock<Held> = LazyLock::new(|| Held::new(SchemaTarget::Json, Contract::One));
static ERROR: LazyLock<Held> = LazyLock::new(|| Held::new(SchemaTarget::Error, Contract::One));
pub(crate) static TEXT: LazyLock<Held> = LazyLock::new(|| Held::new(SchemaTarget::Text, Contract::One));

const SAMPLES: [&str; 5] = [
    include_str!("../samples/es.ndjson"),
    include_str!("../samples/fr.ndjson"),
    include_str!("../samples/id.ndjson"),
    include_str!("../samples/ja.ndjson"),
    include_str!("../samples/pt.ndjson"),
];

#[test]
fn every_line_of_the_published_samples_fits() {
    for line in SAMPLES.iter().flat_map(|sample| sample.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = STREAM.published.validate(&value) {
            panic!("{error} at `{}`: {line}", error.instance_path());
        }
    }
}

#[test]
fn the_object_of_json_is_a_result() {
    let mut object: Value = serde_json::from_str(&story::json(&story::Story::new().done())).unwrap();
    assert!(JSON.published.is_valid(&object));
    object["type"] = json!("error");
    assert!(!JSON.published.is_valid(&object));
    assert!(object.as_object_mut().unwrap().shift_remove("type").is_some());
    assert!(!JSON.published.is_valid(&object));
}

#[test]
fn a_failure_fits_with_and_without_a_run() {
    for reason in crate::words::every_reason() {
        let failure = Failure::from(reason);
        ERROR.check(&error_object(&failure, None));
        JSON.check(&error_object(&failure, None));
    }
    let failure = Failure {
        http_status: Some(529),
        request_id: Some("req_1".into()),
        retry_after_ms: Some(1500),
        ..Failure::from(Reason::Refused)
    };
    ERROR.check(&error_object(&failure, None));
}

/// Lines that fit, by a short name.
fn good(name: &str) -> Value {
    let sample = SAMPLES[0].lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let position = ["init", "user", "assistant", "", "started", "completed", "", "", "write", "result"];
    if let Some(index) = position.iter().position(|known| *known == name) {
        return sample.clone().nth(index).unwrap();
    }
    match name {
        "error" => {
            let line = story::lines(&story::Story::new().failed(Reason::Refused)).pop().unwrap();
            serde_json::from_str(&line).unwrap()
        }
        "shell" => json!({
            "type": "tool_call", "subtype": "completed", "call_id": "c", "session_id": story::SESSION,
            "tool_call": { "shellToolCall": {
                "args": { "command": "ls", "workingDirectory": "", "timeout": 1000, "toolCallId": "c" },
                "result": { "failure": {
                    "command": "ls", "workingDirectory": "/p", "exitCode": 2, "stdout": "", "stderr": "no",
                    "interleavedOutput": "no", "executionTime": 3,
                } },
            } },
        }),
        "function" => json!({
            "type": "tool_call", "subtype": "completed", "call_id": "c", "session_id": story::SESSION,
            "tool_call": { "function": { "name": "x", "arguments": "{}", "result": { "success": 1 } } },
        }),
        other => panic!("no line is named {other}"),
    }
}

/// The line fits, and does not once what `pointer` points to is `value` (`null`: is gone).
#[track_caller]
fn check_wrong(name: &str, pointer: &str, value: Value) {
    let mut line = good(name);
    assert!(STREAM.published.is_valid(&line), "{line}");
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = line.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(keys), Value::Null) => assert!(keys.shift_remove(key).is_some(), "no `{pointer}`"),
        (Value::Object(keys), value) => {
            keys.insert(key.to_owned(), value);
        }
        (Value::Array(items), Value::Null) => {
            items.remove(key.parse().unwrap());
        }
        (other, _) => panic!("{other} has no keys"),
    }
    assert!(!STREAM.published.is_valid(&line), "it fits: {line}");
}

#[test]
fn a_line_without_a_key_that_the_page_names_does_not_fit() {
    check_wrong("init", "/type", Value::Null);
    check_wrong("init", "/subtype", Value::Null);
    check_wrong("init", "/apiKeySource", Value::Null);
    check_wrong("init", "/cwd", Value::Null);
    check_wrong("init", "/session_id", Value::Null);
    check_wrong("init", "/model", Value::Null);
    check_wrong("init", "/permissionMode", Value::Null);
    check_wrong("user", "/message", Value::Null);
    check_wrong("user", "/message/role", Value::Null);
    check_wrong("assistant", "/message/content/0", Value::Null);
    check_wrong("assistant", "/message/content/0/text", Value::Null);
    check_wrong("started", "/call_id", Value::Null);
    check_wrong("started", "/tool_call/readToolCall", Value::Null);
    check_wrong("started", "/tool_call/readToolCall/args", Value::Null);
    check_wrong("completed", "/tool_call/readToolCall/result", Value::Null);
    check_wrong("completed", "/tool_call/readToolCall/result/success", Value::Null);
    check_wrong("completed", "/tool_call/readToolCall/result/success/totalLines", Value::Null);
    check_wrong("result", "/duration_ms", Value::Null);
    check_wrong("result", "/is_error", Value::Null);
    check_wrong("result", "/result", Value::Null);
    check_wrong("error", "/session_id", Value::Null);
    check_wrong("error", "/ibeam", Value::Null);
    check_wrong("shell", "/tool_call/shellToolCall/result/failure/exitCode", Value::Null);
    check_wrong("function", "/tool_call/function/arguments", Value::Null);
}

#[test]
fn a_line_with_a_word_that_the_contract_does_not_have_does_not_fit() {
    check_wrong("init", "/type", json!("sistema"));
    check_wrong("init", "/subtype", json!("started"));
    check_wrong("init", "/apiKeySource", json!("none"));
    check_wrong("init", "/permissionMode", json!("predeterminado"));
    check_wrong("init", "/cwd", json!("src"));
    check_wrong("init", "/session_id", json!("not-a-uuid"));
    check_wrong("user", "/message/role", json!("assistant"));
    check_wrong("assistant", "/message/role", json!("user"));
    check_wrong("assistant", "/message/content/0/type", json!("thinking"));
    check_wrong("started", "/subtype", json!("begun"));
    check_wrong("result", "/subtype", json!("correcto"));
    check_wrong("result", "/is_error", json!(true));
    check_wrong("error", "/code", json!("oops"));
    check_wrong("error", "/exit_code", json!(0));
}

#[test]
fn a_value_of_another_kind_does_not_fit() {
    check_wrong("assistant", "/message/content", json!("text"));
    check_wrong("assistant", "/timestamp_ms", json!("now"));
    check_wrong("completed", "/tool_call/readToolCall/args", json!("README.md"));
    check_wrong("completed", "/tool_call/readToolCall/result/success/isEmpty", json!("false"));
    check_wrong("result", "/duration_ms", json!(1.5));
    check_wrong("result", "/duration_ms", json!(-1));
    check_wrong("result", "/result", json!(["a"]));
    check_wrong("result", "/usage", json!({ "inputTokens": 1 }));
    check_wrong("function", "/tool_call/function/arguments", json!({}));
}

#[test]
fn a_call_has_one_tool_and_one_arm_and_a_result_at_its_end_only() {
    check_wrong("started", "/tool_call/readToolCall/result", json!({ "success": {} }));
    check_wrong("started", "/tool_call/lsToolCall", json!({ "args": {} }));
    check_wrong("started", "/tool_call", json!({ "read": { "args": {} } }));
    check_wrong("completed", "/tool_call/readToolCall/result/error", json!({ "errorMessage": "e" }));
    check_wrong("completed", "/tool_call/readToolCall/args", json!({ "file": "README.md" }));
    check_wrong("completed", "/subtype", json!("started"));
    check_wrong("write", "/tool_call/writeToolCall/result/success", json!({ "path": "a" }));
    check_wrong("shell", "/tool_call/shellToolCall/result", json!({ "exploded": {} }));
}

#[test]
fn what_a_later_version_may_add_fits() {
    let mut line = good("init");
    line["later"] = json!({ "a": [1] });
    assert!(STREAM.published.is_valid(&line));
    let mut line = good("started");
    line["tool_call"] = json!({ "drawToolCall": { "args": { "shape": "o" } } });
    assert!(STREAM.published.is_valid(&line));
}

#[test]
fn arguments_that_no_tool_can_read_fit_a_call_that_failed() {
    let mut line = good("completed");
    line["tool_call"]["readToolCall"] =
        json!({ "args": { "path": 5 }, "result": { "error": { "errorMessage": "wrong `path`" } } });
    assert!(STREAM.published.is_valid(&line));
}

#[test]
fn every_key_has_a_description_a_version_and_a_unit() {
    for (of, contract) in every_schema() {
        let mut keys = 0;
        walk(&schema(of, contract), "", &mut |path, property| {
            keys += 1;
            for keyword in ["description", "x-since"] {
                assert!(property[keyword].is_string(), "{}: {path} has no `{keyword}`", of.name());
            }
            let number = property["type"] == "integer" || property["type"] == "number";
            assert_eq!(number, property["x-unit"].is_string(), "{}: {path}: the unit", of.name());
            assert_ne!(property["type"], json!(["string", "null"]), "{}: {path}", of.name());
        });
        assert!(of == SchemaTarget::Text || keys > 20, "{}: {keys} keys", of.name());
    }
}

fn every_schema() -> impl Iterator<Item = (SchemaTarget, Contract)> {
    SchemaTarget::ALL.into_iter().flat_map(|of| Contract::ALL.map(|contract| (of, contract)))
}

/// Visits each key of each object.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    if let Some(object) = schema.as_object() {
        if schema["type"] == "object" {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                visit(&format!("{path}/{name}"), property);
            }
        }
        for (keyword, inner) in object {
            walk(inner, &format!("{path}/{keyword}"), visit);
        }
    } else {
        for inner in schema.as_array().into_iter().flatten() {
            walk(inner, path, visit);
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for (of, contract) in every_schema() {
        let schema = schema(of, contract);
        let text = schema.to_string();
        for way in text.split(r##""$ref":"#"##).skip(1) {
            let pointer = way.split('"').next().unwrap();
            assert!(schema.pointer(pointer).is_some(), "{}: {pointer}", of.name());
        }
    }
}

#[test]
fn the_contracts_differ_in_assistant_init_and_text_alone() {
    let of = |contract| schema(SchemaTarget::StreamJson, contract);
    let (mut one, two) = (of(Contract::One), of(Contract::Two));
    assert_eq!((&one["x-contract"], &two["x-contract"]), (&json!("1"), &json!("2")));
    one["x-contract"] = json!("2");
    one["$defs"]["AssistantEvent"] = two["$defs"]["AssistantEvent"].clone();
    one["$defs"]["InitExtras"]["properties"]["contract"]["const"] = json!("2");
    let result = "/$defs/ResultEvent/properties/result/description";
    *one.pointer_mut(result).unwrap() = two.pointer(result).unwrap().clone();
    assert_eq!(one, two);
    for of in [SchemaTarget::Json, SchemaTarget::Error] {
        let mut one = schema(of, Contract::One);
        one["x-contract"] = json!("2");
        assert_eq!(one, schema(of, Contract::Two));
    }
    assert_ne!(
        schema(SchemaTarget::Text, Contract::One)["description"],
        schema(SchemaTarget::Text, Contract::Two)["description"]
    );
}

#[test]
fn an_assistant_event_of_contract_2_has_three_forms_and_no_fourth() {
    let mut line = good("assistant");
    let mut fits = |timestamp: Option<Value>, answer: Option<Value>| {
        let keys = line.as_object_mut().unwrap();
        for (key, value) in [("timestamp_ms", timestamp), ("model_call_id", answer)] {
            match value {
                Some(value) => drop(keys.insert(key.to_owned(), value)),
                None => drop(keys.shift_remove(key)),
            }
        }
        SEGMENTS.published.is_valid(&line)
    };
    assert!(fits(None, None) && fits(Some(json!(1)), None) && fits(Some(json!(1)), Some(json!("m"))));
    assert!(
        !fits(None, Some(json!("m")))
            && !fits(Some(json!("1")), None)
            && !fits(Some(json!(1)), Some(json!(1)))
    );
}
