//! The published schemas: printed lines are valid, and lines that break the contract are not.
//!
//! `run_events` also checks every line that another test prints against them.

use std::sync::LazyLock;

use ibeam_output::error_object;
use ibeam_protocol::{Failure, Reason};
use ibeam_wire::{Contract, SchemaTarget, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::run_events::{self, RunEvents};

/// A published schema, and a strict one that requires all keys that ibeam always writes.
pub(crate) struct LineSchema {
    published: Validator,
    strict: Validator,
}

impl LineSchema {
    fn new(target: SchemaTarget, contract: Contract) -> Self {
        let schema = schema(target, contract);
        let mut strict = schema.clone();
        require_always_written_keys(&mut strict);
        let validator = |schema| jsonschema::draft202012::new(schema).unwrap();
        Self { published: validator(&schema), strict: validator(&strict) }
    }

    /// Checks that a line of ibeam is valid.
    #[track_caller]
    pub(crate) fn check(&self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Err(error) = self.strict.validate(&value) {
            panic!("{error} at `{}`: {line}", error.instance_path());
        }
    }
}

fn require_always_written_keys(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Array(always)) = keys.shift_remove("x-always") {
                keys["required"].as_array_mut().unwrap().extend(always);
            }
            keys.values_mut().for_each(require_always_written_keys);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(require_always_written_keys),
        _ => {}
    }
}

pub(crate) static STREAM: LazyLock<LineSchema> =
    LazyLock::new(|| LineSchema::new(SchemaTarget::StreamJson, Contract::One));
pub(crate) static SEGMENTS: LazyLock<LineSchema> =
    LazyLock::new(|| LineSchema::new(SchemaTarget::StreamJson, Contract::Two));
pub(crate) static JSON: LazyLock<LineSchema> =
    LazyLock::new(|| LineSchema::new(SchemaTarget::Json, Contract::One));
static ERROR: LazyLock<LineSchema> = LazyLock::new(|| LineSchema::new(SchemaTarget::Error, Contract::One));
pub(crate) static TEXT: LazyLock<LineSchema> =
    LazyLock::new(|| LineSchema::new(SchemaTarget::Text, Contract::One));

const SAMPLES: [&str; 5] = [
    include_str!("../samples/es.ndjson"),
    include_str!("../samples/fr.ndjson"),
    include_str!("../samples/id.ndjson"),
    include_str!("../samples/ja.ndjson"),
    include_str!("../samples/pt.ndjson"),
];

#[test]
fn every_line_of_the_published_samples_is_valid() {
    for line in SAMPLES.iter().flat_map(|sample| sample.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = STREAM.published.validate(&value) {
            panic!("{error} at `{}`: {line}", error.instance_path());
        }
    }
}

#[test]
fn the_object_of_json_is_a_result() {
    let mut object: Value = serde_json::from_str(&run_events::json(&RunEvents::new().completed())).unwrap();
    assert!(JSON.published.is_valid(&object));
    object["type"] = json!("error");
    assert!(!JSON.published.is_valid(&object));
    assert!(object.as_object_mut().unwrap().shift_remove("type").is_some());
    assert!(!JSON.published.is_valid(&object));
}

#[test]
fn a_failure_is_valid_with_and_without_a_run() {
    for reason in crate::catalogue_texts::every_reason() {
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

/// Returns a valid line by a short name.
fn valid_line(name: &str) -> Value {
    let sample = SAMPLES[0].lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let position = ["init", "user", "assistant", "", "started", "completed", "", "", "write", "result"];
    if let Some(index) = position.iter().position(|known| *known == name) {
        return sample.clone().nth(index).unwrap();
    }
    match name {
        "error" => {
            let line = run_events::lines(&RunEvents::new().failed(Reason::Refused)).pop().unwrap();
            serde_json::from_str(&line).unwrap()
        }
        "shell" => json!({
            "type": "tool_call", "subtype": "completed", "call_id": "c", "session_id": run_events::SESSION,
            "tool_call": { "shellToolCall": {
                "args": { "command": "ls", "workingDirectory": "", "timeout": 1000, "toolCallId": "c" },
                "result": { "failure": {
                    "command": "ls", "workingDirectory": "/p", "exitCode": 2, "stdout": "", "stderr": "no",
                    "interleavedOutput": "no", "executionTime": 3,
                } },
            } },
        }),
        "function" => json!({
            "type": "tool_call", "subtype": "completed", "call_id": "c", "session_id": run_events::SESSION,
            "tool_call": { "function": { "name": "x", "arguments": "{}", "result": { "success": 1 } } },
        }),
        other => panic!("unknown line: {other}"),
    }
}

/// Checks that a valid line becomes invalid if the value at `pointer` is replaced by `value`, or removed for `null`.
#[track_caller]
fn check_invalid(name: &str, pointer: &str, value: Value) {
    let mut line = valid_line(name);
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
    assert!(!STREAM.published.is_valid(&line), "the line is valid: {line}");
}

#[test]
fn a_line_without_a_published_key_is_invalid() {
    check_invalid("init", "/type", Value::Null);
    check_invalid("init", "/subtype", Value::Null);
    check_invalid("init", "/apiKeySource", Value::Null);
    check_invalid("init", "/cwd", Value::Null);
    check_invalid("init", "/session_id", Value::Null);
    check_invalid("init", "/model", Value::Null);
    check_invalid("init", "/permissionMode", Value::Null);
    check_invalid("user", "/message", Value::Null);
    check_invalid("user", "/message/role", Value::Null);
    check_invalid("assistant", "/message/content/0", Value::Null);
    check_invalid("assistant", "/message/content/0/text", Value::Null);
    check_invalid("started", "/call_id", Value::Null);
    check_invalid("started", "/tool_call/readToolCall", Value::Null);
    check_invalid("started", "/tool_call/readToolCall/args", Value::Null);
    check_invalid("completed", "/tool_call/readToolCall/result", Value::Null);
    check_invalid("completed", "/tool_call/readToolCall/result/success", Value::Null);
    check_invalid("completed", "/tool_call/readToolCall/result/success/totalLines", Value::Null);
    check_invalid("result", "/duration_ms", Value::Null);
    check_invalid("result", "/is_error", Value::Null);
    check_invalid("result", "/result", Value::Null);
    check_invalid("error", "/session_id", Value::Null);
    check_invalid("error", "/ibeam", Value::Null);
    check_invalid("shell", "/tool_call/shellToolCall/result/failure/exitCode", Value::Null);
    check_invalid("function", "/tool_call/function/arguments", Value::Null);
}

#[test]
fn a_line_with_an_unknown_value_is_invalid() {
    check_invalid("init", "/type", json!("sistema"));
    check_invalid("init", "/subtype", json!("started"));
    check_invalid("init", "/apiKeySource", json!("none"));
    check_invalid("init", "/permissionMode", json!("predeterminado"));
    check_invalid("init", "/cwd", json!("src"));
    check_invalid("init", "/session_id", json!("not-a-uuid"));
    check_invalid("user", "/message/role", json!("assistant"));
    check_invalid("assistant", "/message/role", json!("user"));
    check_invalid("assistant", "/message/content/0/type", json!("thinking"));
    check_invalid("started", "/subtype", json!("begun"));
    check_invalid("result", "/subtype", json!("correcto"));
    check_invalid("result", "/is_error", json!(true));
    check_invalid("error", "/code", json!("oops"));
    check_invalid("error", "/exit_code", json!(0));
}

#[test]
fn a_value_of_another_type_is_invalid() {
    check_invalid("assistant", "/message/content", json!("text"));
    check_invalid("assistant", "/timestamp_ms", json!("now"));
    check_invalid("completed", "/tool_call/readToolCall/args", json!("README.md"));
    check_invalid("completed", "/tool_call/readToolCall/result/success/isEmpty", json!("false"));
    check_invalid("result", "/duration_ms", json!(1.5));
    check_invalid("result", "/duration_ms", json!(-1));
    check_invalid("result", "/result", json!(["a"]));
    check_invalid("result", "/usage", json!({ "inputTokens": 1 }));
    check_invalid("function", "/tool_call/function/arguments", json!({}));
}

#[test]
fn a_call_has_one_tool_one_arm_and_a_result_only_at_its_end() {
    check_invalid("started", "/tool_call/readToolCall/result", json!({ "success": {} }));
    check_invalid("started", "/tool_call/lsToolCall", json!({ "args": {} }));
    check_invalid("started", "/tool_call", json!({ "read": { "args": {} } }));
    check_invalid("completed", "/tool_call/readToolCall/result/error", json!({ "errorMessage": "e" }));
    check_invalid("completed", "/tool_call/readToolCall/args", json!({ "file": "README.md" }));
    check_invalid("completed", "/subtype", json!("started"));
    check_invalid("write", "/tool_call/writeToolCall/result/success", json!({ "path": "a" }));
    check_invalid("shell", "/tool_call/shellToolCall/result", json!({ "exploded": {} }));
}

#[test]
fn additions_of_a_later_version_are_valid() {
    let mut line = valid_line("init");
    line["later"] = json!({ "a": [1] });
    assert!(STREAM.published.is_valid(&line));
    let mut line = valid_line("started");
    line["tool_call"] = json!({ "drawToolCall": { "args": { "shape": "o" } } });
    assert!(STREAM.published.is_valid(&line));
}

#[test]
fn arguments_that_do_not_fit_the_tool_are_valid_in_a_failed_call() {
    let mut line = valid_line("completed");
    line["tool_call"]["readToolCall"] =
        json!({ "args": { "path": 5 }, "result": { "error": { "errorMessage": "wrong `path`" } } });
    assert!(STREAM.published.is_valid(&line));
}

#[test]
fn every_key_has_a_description_a_version_and_a_unit() {
    for (target, contract) in every_schema() {
        let mut keys = 0;
        walk(&schema(target, contract), "", &mut |path, property| {
            keys += 1;
            for keyword in ["description", "x-since"] {
                assert!(property[keyword].is_string(), "{}: {path} has no `{keyword}`", target.name());
            }
            let number = property["type"] == "integer" || property["type"] == "number";
            assert_eq!(number, property["x-unit"].is_string(), "{}: {path}: the unit", target.name());
            assert_ne!(property["type"], json!(["string", "null"]), "{}: {path}", target.name());
        });
        assert!(
            matches!(target, SchemaTarget::Text | SchemaTarget::Input) || keys > 20,
            "{}: {keys} keys",
            target.name()
        );
    }
}

fn every_schema() -> impl Iterator<Item = (SchemaTarget, Contract)> {
    SchemaTarget::ALL.into_iter().flat_map(|target| Contract::ALL.map(move |contract| (target, contract)))
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
fn every_reference_has_a_target() {
    for (target, contract) in every_schema() {
        let schema = schema(target, contract);
        let text = schema.to_string();
        for rest in text.split(r##""$ref":"#"##).skip(1) {
            let pointer = rest.split('"').next().unwrap();
            assert!(schema.pointer(pointer).is_some(), "{}: {pointer}", target.name());
        }
    }
}

#[test]
fn the_contracts_differ_only_in_assistant_init_and_text() {
    let stream_schema = |contract| schema(SchemaTarget::StreamJson, contract);
    let (mut one, two) = (stream_schema(Contract::One), stream_schema(Contract::Two));
    assert_eq!((&one["x-contract"], &two["x-contract"]), (&json!("1"), &json!("2")));
    one["x-contract"] = json!("2");
    one["$defs"]["AssistantEvent"] = two["$defs"]["AssistantEvent"].clone();
    one["$defs"]["InitExtras"]["properties"]["contract"]["const"] = json!("2");
    let result = "/$defs/ResultEvent/properties/result/description";
    *one.pointer_mut(result).unwrap() = two.pointer(result).unwrap().clone();
    assert_eq!(one, two);
    for target in [SchemaTarget::Json, SchemaTarget::Error] {
        let mut one = schema(target, Contract::One);
        one["x-contract"] = json!("2");
        assert_eq!(one, schema(target, Contract::Two));
    }
    assert_ne!(
        schema(SchemaTarget::Text, Contract::One)["description"],
        schema(SchemaTarget::Text, Contract::Two)["description"]
    );
}

#[test]
fn an_assistant_event_of_contract_2_has_exactly_three_forms() {
    let mut line = valid_line("assistant");
    let mut is_valid = |timestamp: Option<Value>, answer: Option<Value>| {
        let keys = line.as_object_mut().unwrap();
        for (key, value) in [("timestamp_ms", timestamp), ("model_call_id", answer)] {
            match value {
                Some(value) => drop(keys.insert(key.to_owned(), value)),
                None => drop(keys.shift_remove(key)),
            }
        }
        SEGMENTS.published.is_valid(&line)
    };
    assert!(
        is_valid(None, None) && is_valid(Some(json!(1)), None) && is_valid(Some(json!(1)), Some(json!("m")))
    );
    assert!(
        !is_valid(None, Some(json!("m")))
            && !is_valid(Some(json!("1")), None)
            && !is_valid(Some(json!(1)), Some(json!(1)))
    );
}
