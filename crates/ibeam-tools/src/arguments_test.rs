use serde_json::{Value, json};

use crate::fixture::Fixture;

#[track_caller]
fn canonical(tool: &str, written: Value, expect: Value) {
    let fixture = Fixture::new();
    let once = fixture.prepare(tool, written).arguments;
    assert_eq!(once.to_string(), expect.to_string());
    let twice = fixture.prepare(tool, once.clone()).arguments;
    assert_eq!(twice, once, "canonical arguments stay as they are");
}

#[track_caller]
fn wrong(tool: &str, written: Value, expect: &str) {
    let error = Fixture::new().tools[tool].prepare(&written).unwrap_err().to_string();
    assert!(error.contains(expect), "{error}");
    assert!(error.contains("a call looks like {"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn canonical_arguments_have_the_names_of_the_contract() {
    canonical("read", json!({"path": "a"}), json!({"path": "a"}));
    canonical("write", json!({"path": "a", "fileText": ""}), json!({"path": "a", "fileText": ""}));
    canonical("delete", json!({"path": "a"}), json!({"path": "a"}));
    canonical("ls", json!({}), json!({"path": ".", "ignore": []}));
    canonical(
        "glob",
        json!({"pattern": "*", "path": "src"}),
        json!({"globPattern": "*", "targetDirectory": "src"}),
    );
    canonical(
        "grep",
        json!({"pattern": "x", "output_mode": "count", "-i": true, "head_limit": 3, "path": ""}),
        json!({"pattern": "x", "outputMode": "count", "caseInsensitive": true, "headLimit": 3}),
    );
    canonical(
        "update_todos",
        json!({"todos": [{"id": 1, "content": "c", "status": "TODO_STATUS_IN_PROGRESS"}]}),
        json!({"todos": [{"id": "1", "content": "c", "status": "in_progress"}], "merge": false}),
    );
}

#[test]
fn shell_arguments_are_filled_in_and_bounded() {
    canonical(
        "shell",
        json!({"command": "ls"}),
        json!({"command": "ls", "workingDirectory": "", "timeout": 120_000}),
    );
    canonical(
        "shell",
        json!({"command": "ls", "cwd": "src", "timeout": 9_000_000, "isBackground": "true", "description": "list"}),
        json!({"command": "ls", "workingDirectory": "src", "timeout": 600_000, "isBackground": true}),
    );
}

#[test]
fn an_edit_takes_one_of_three_shapes() {
    let one = json!({"path": "a", "strReplace": {"oldText": "x", "newText": "y"}});
    canonical("edit", json!({"path": "a", "oldText": "x", "newText": "y"}), one.clone());
    canonical("edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), one.clone());
    canonical(
        "edit",
        json!({"path": "a", "oldText": "x", "newText": "y", "edits": [], "patch": ""}),
        one.clone(),
    );
    canonical("edit", json!({"path": "a", "strReplace": {"old": "x", "new": "y"}}), one);
    canonical(
        "edit",
        json!({"path": "a", "edits": [{"oldText": "x", "newText": "y", "replaceAll": true}], "oldText": "", "newText": ""}),
        json!({"path": "a", "multiStrReplace": {"edits": [{"oldText": "x", "newText": "y", "replaceAll": true}]}}),
    );
    canonical(
        "edit",
        json!({"path": "a", "patch": "@@"}),
        json!({"path": "a", "applyPatch": {"patchContent": "@@"}}),
    );
}

#[test]
fn numbers_in_quotes_and_nulls_are_understood() {
    canonical(
        "read",
        json!({"path": "a", "offset": "3", "limit": 2.0}),
        json!({"path": "a", "offset": 3, "limit": 2}),
    );
    canonical("read", json!({"path": "a", "offset": null, "limit": ""}), json!({"path": "a"}));
}

#[test]
fn a_wrong_argument_is_named_with_an_example() {
    wrong("read", json!({}), "`read`: missing field `path`");
    wrong("read", json!({"path": "a", "offset": -1}), "wrong `offset`: -1 is not a whole number ≥ 0");
    wrong("read", json!({"path": 3}), "wrong `path`: invalid type: integer `3`, expected a string");
    wrong("read", json!("{\"path\": "), "not valid JSON");
    wrong("read", json!([1]), "not a JSON object");
    wrong("edit", json!({"path": "a"}), "one of `oldText`, `edits` and `patch` is missing");
    wrong("edit", json!({"path": "a", "oldText": "x"}), "`newText` is missing");
    wrong("edit", json!({"path": "a", "oldText": "x", "newText": "y", "patch": "@@"}), "only one of");
    wrong(
        "edit",
        json!({"path": "a", "edits": [{"oldText": "x"}]}),
        "wrong `edits[0]`: missing field `newText`",
    );
    wrong("grep", json!({"pattern": "x", "outputMode": "lines"}), "wrong `outputMode`");
    wrong("update_todos", json!({"todos": [{"id": "1", "status": "maybe"}]}), "wrong `todos[0].status`");
    wrong("shell", json!({"command": "x", "isBackground": "perhaps"}), "neither true nor false");
}

#[test]
fn each_tool_has_the_name_that_the_model_is_offered() {
    let tools = Fixture::new().tools;
    assert_eq!(tools.len(), 9);
    for (name, tool) in tools {
        assert_eq!(name, tool.spec().name);
    }
}

#[test]
fn the_offer_of_all_tools_is_small_and_plain() {
    let specs: Vec<Value> = Fixture::new()
        .tools
        .values()
        .map(|tool| tool.spec())
        .map(|spec| json!({"name": spec.name, "description": spec.description, "input_schema": spec.parameters}))
        .collect();
    let offer = Value::from(specs).to_string();
    println!("{offer}\n{} bytes", offer.len());
    assert!(offer.len() <= 3400, "{} bytes", offer.len());
    for noise in ["$schema", "$ref", "\"title\"", "\"format\"", "null", "\"default\"", "strReplace", "anyOf"]
    {
        assert!(!offer.contains(noise), "{noise} in {offer}");
    }
}
