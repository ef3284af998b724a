//! `--json-schema`: answers that are one JSON document.

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Wire, Workspace};
use serde_json::{Value, json};

/// The schema in docs/output-format.md.
fn documented_schema() -> String {
    let page = include_str!("../../../../docs/output-format.md");
    let section = page.split("## Structured answers").nth(1).unwrap();
    section.split("```json\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

fn workspace() -> Workspace {
    Workspace::new().file("schema.json", documented_schema()).file("a.txt", "x\n")
}

const VALID: &str = r#"{"verdict":"pass","findings":[]}"#;
const INVALID: &str = r#"{"verdict":"maybe"}"#;

fn scene(answers: impl IntoIterator<Item = Answer>) -> Scene {
    Scene::new(answers).with_workspace(workspace())
}

#[test]
fn the_answer_is_text_and_value_in_every_format() {
    let answers = || {
        let look = Answer::new().text("I look first.").call("t1", "read", &json!({ "path": "a.txt" }));
        scene([look, answer_text(&format!("```json\n{VALID}\n```"))])
    };
    let flags = ["--json-schema", "schema.json", "--output-format"];
    let value: Value = serde_json::from_str(VALID).unwrap();

    let scene = answers();
    let output = scene.print([flags[0], flags[1], flags[2], "stream-json"]).run().succeeded();
    let stream = output.stream();
    assert_eq!(stream.deltas(), [VALID], "{output}");
    assert_eq!((&stream.last()["result"], &stream.last()["ibeam"]["structured"]), (&json!(VALID), &value));
    let system = scene.server.requests()[0].body["system"].to_string();
    assert!(system.contains("exactly one JSON document") && system.contains("verdict"), "{system}");

    let json = answers().print([flags[0], flags[1], flags[2], "json"]).run().succeeded().json();
    assert_eq!((&json["result"], &json["ibeam"]["structured"]), (&json!(VALID), &value));
    assert_eq!(json["ibeam"]["final"], VALID);

    let text = answers().print([flags[0], flags[1], flags[2], "text"]).run().succeeded().stdout;
    assert_eq!(text.lines().last(), Some(VALID), "{text}");
}

#[test]
fn a_replay_and_a_resumed_session_have_the_document() {
    let scene = scene([answer_text(VALID), answer_text("plain")]);
    let first = scene.print(["--json-schema", "schema.json"]).run().succeeded();
    let id = first.stream().last()["session_id"].as_str().unwrap().to_owned();
    let replay =
        scene.ibeam_without_model(["replay", &id, "--output-format", "json"]).run().succeeded().json();
    assert_eq!(replay["ibeam"]["structured"]["verdict"], "pass");
    let second = scene.print(["--resume", &id]).run().succeeded();
    assert!(second.stream().last()["ibeam"].get("structured").is_none(), "{second}");
    let transcript = scene.server.requests()[1].transcript();
    assert_eq!(transcript.iter().filter(|message| message.contains("pass")).count(), 1, "{transcript:?}");
}

#[test]
fn an_invalid_answer_is_corrected_and_fails_after_two_corrections() {
    let corrected = scene([answer_text(INVALID), answer_text(VALID)]);
    let output = corrected.print(["--json-schema", "schema.json"]).run().succeeded();
    assert_eq!(output.stream().deltas(), [VALID]);
    assert!(output.stderr.contains("asked to correct it (correction 1)"), "{output}");
    let transcript = corrected.server.requests()[1].transcript().join("\n");
    assert!(
        transcript.contains("`/verdict` should be one of")
            && transcript.contains("lacks the property `findings`"),
        "{transcript}"
    );

    let failed = scene([answer_text(INVALID), answer_text("no"), answer_text(INVALID)]);
    let output = failed.print(["--json-schema", "schema.json"]).run();
    assert_eq!(output.code, Some(1), "{output}");
    let last = output.stream().last().clone();
    assert_eq!(
        (&last["code"], &last["exit_code"], &last["retryable"]),
        (&json!("failed"), &json!(1), &json!(false))
    );
    assert!(last["message"].as_str().unwrap().contains("`/verdict` should be one of"), "{last}");
    assert!(output.stderr.lines().any(|line| line.starts_with("hint: ")), "{output}");
    failed.server.assert_all_answers_sent();
}

#[test]
fn an_invalid_schema_is_a_usage_error_before_any_request() {
    let files = [
        ("{\"type\": \"text\"}", "schema.json", 2, "/type"),
        ("{\"type\": }", "schema.json", 2, "line 1, column 10"),
        ("{\"$ref\": \"https://example.com/s\"}", "schema.json", 2, "remote reference"),
        ("{}", "missing.json", 66, "missing.json"),
        ("{}", "", 2, "--json-schema"),
    ];
    for (schema, path, code, place) in files {
        let scene = Scene::new([]).with_workspace(Workspace::new().file("schema.json", schema));
        let output = scene.print(["--json-schema", path]).run();
        assert_eq!(output.code, Some(code), "{schema}: {output}");
        assert!(output.stderr.contains(place) && output.stderr.contains(path), "{schema}: {output}");
        assert!(scene.server.requests().is_empty());
    }
}

#[test]
fn the_schema_is_sent_to_services_that_accept_it_with_tools() {
    for (wire, model, pointer) in [
        (Wire::OpenAi, "azure/gpt-4.1", "/response_format/json_schema/schema/required/0"),
        (Wire::Responses, "azure/gpt-6.2-sol", "/text/format/schema/required/0"),
    ] {
        let scene = Scene::with_wire(wire, [answer_text(VALID)]).with_workspace(workspace());
        let run = scene.ibeam_without_model(["-p", "hi", "--model", model, "--json-schema", "schema.json"]);
        let run = run.env("AZURE_OPENAI_ENDPOINT", scene.server.url()).env("AZURE_OPENAI_API_KEY", KEY);
        run.run().succeeded();
        let body = scene.server.requests()[0].body.clone();
        assert_eq!(body.pointer(pointer), Some(&json!("verdict")), "{body}");
    }
    // Another service than OpenAI may reject it.
    let scene = Scene::with_wire(Wire::OpenAi, [answer_text(VALID)]).with_workspace(workspace());
    scene.print(["--json-schema", "schema.json"]).run().succeeded();
    assert_eq!(scene.server.requests()[0].body.get("response_format"), None);
}

#[test]
fn every_api_gives_the_same_document() {
    for wire in Wire::ALL {
        let answers =
            [answer_call("t1", "read", &json!({ "path": "a.txt" })), answer_text("{"), answer_text(VALID)];
        let scene = Scene::with_wire(wire, answers).with_workspace(workspace());
        let output = scene.print(["--json-schema", "schema.json"]).run().succeeded();
        assert_eq!(output.stream().last()["result"], VALID, "{wire:?}: {output}");
    }
}

/// The preview has the instruction only where the model gets it.
#[test]
fn the_context_has_the_instruction_for_services_that_enforce_no_schema() {
    let scene = scene([]);
    for (model, key, expect) in [
        ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY", false),
        ("deepseek/deepseek-v4-pro", "DEEPSEEK_API_KEY", true),
    ] {
        let args = ["context", "--full", "--json-schema", "schema.json", "--model", model];
        let output = scene.ibeam_without_model(args).env(key, KEY).run().succeeded();
        assert_eq!(output.stdout.contains("# Form of the final answer"), expect, "{model}: {output}");
    }
}
