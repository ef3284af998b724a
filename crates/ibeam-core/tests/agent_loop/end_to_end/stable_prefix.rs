//! The stable prefix of requests: what was sent once in a session is sent again unchanged, so that services can serve it
//! from their caches. Only cache breakpoints move.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Request, Wire, Workspace};
use serde_json::{Value, json};

/// The keys of the list of messages, depending on the API.
const MESSAGE_KEYS: [&str; 3] = ["messages", "input", "contents"];
/// The keys with which APIs mark breakpoints.
const MARKERS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

fn workspace(config: &str) -> Workspace {
    Workspace::new()
        .user_config(config)
        .file("a", "content of a\n")
        .file(".git/HEAD", "ref: refs/heads/trunk\n")
}

/// A turn with reasoning, parallel calls of which one fails, and text before and after them.
fn turn(name: &str) -> Vec<Answer> {
    let calls = Answer::new()
        .thinking("Two files.", &format!("signature-{name}"))
        .text("Reading both.")
        .call(&format!("{name}-1"), "read", &json!({ "path": "a" }))
        .call(&format!("{name}-2"), "read", &json!({ "path": "missing" }))
        .call(&format!("{name}-3"), "ls", &json!({ "path": "." }));
    vec![
        calls,
        Answer::new().thinking("One more.", &format!("other-{name}")).call(
            &format!("{name}-4"),
            "write",
            &json!({ "path": name, "fileText": "made \"here\" \u{e9}\n" }),
        ),
        Answer::new().thinking("Done.", &format!("last-{name}")).text(format!("The end of {name}.")),
    ]
}

/// Runs three prompts, each in its own process. Between them the branch of the repository changes. Returns the requests.
fn run_session(wire: Wire, config: &str) -> (Vec<Request>, String) {
    let mut scene = Scene::with_wire(wire, turn("one")).with_workspace(workspace(config));
    let first = scene.ibeam(["-p", "first"]).run().succeeded();
    let id = first.stream().session_id().to_owned();
    let mut requests = scene.server.requests();
    for (name, branch) in [("two", "side"), ("three", "other")] {
        std::fs::write(scene.workspace.path().join(".git/HEAD"), format!("ref: refs/heads/{branch}\n"))
            .unwrap();
        scene = scene.with_answers(turn(name));
        scene.ibeam(["-p", name, "--resume", &id]).run().succeeded();
        scene.server.assert_all_answers_sent();
        requests.extend(scene.server.requests());
    }
    (requests, id)
}

/// Returns a body without cache breakpoints.
fn without_markers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, _)| !MARKERS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), without_markers(value)))
                .collect(),
        ),
        Value::Array(items) => {
            let is_marker = |item: &&Value| item.get("cachePoint").is_some();
            items.iter().filter(|item| !is_marker(item)).map(without_markers).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Returns the messages of a request, and everything else, as text in the order of their keys.
fn canonical(request: &Request) -> (Vec<String>, String) {
    let mut body = without_markers(&request.body);
    let key = MESSAGE_KEYS.into_iter().find(|key| body.get(key).is_some()).unwrap();
    let messages = body.as_object_mut().unwrap().shift_remove(key).unwrap();
    (messages.as_array().unwrap().iter().map(Value::to_string).collect(), body.to_string())
}

/// Expects that each request repeats all messages, the tools and the system prompt of the request before it.
#[track_caller]
fn check_stable(wire: Wire, requests: &[Request]) {
    assert_eq!(requests.len(), 9, "{wire:?}");
    for (index, pair) in requests.windows(2).enumerate() {
        let [(before, settings_before), (after, settings_after)] = [canonical(&pair[0]), canonical(&pair[1])];
        assert_eq!(settings_before, settings_after, "{wire:?}: request {}", index + 1);
        assert!(before.len() < after.len(), "{wire:?}: request {}", index + 1);
        assert_eq!(before, after[..before.len()], "{wire:?}: request {}", index + 1);
        assert_eq!(pair[0].path, pair[1].path, "{wire:?}");
    }
}

#[test]
fn no_request_changes_what_was_sent_before_in_its_session() {
    for wire in Wire::ALL {
        let (requests, _) = run_session(wire, "");
        check_stable(wire, &requests);
        let text = requests[8].body.to_string();
        assert!(text.contains("(branch trunk)") && !text.contains("(branch other)"), "{wire:?}");
    }
}

#[test]
fn claude_models_get_breakpoints_after_tools_system_prompt_and_the_last_two_inputs() {
    let cached = |request: &Request| {
        let text = request.body.to_string();
        text.matches(r#""cache_control":{"type":"ephemeral"}"#).count()
            + text.matches(r#"{"cachePoint":{"type":"default"}}"#).count()
    };
    for wire in [Wire::Anthropic, Wire::VertexAnthropic, Wire::Bedrock] {
        let (requests, _) = run_session(wire, "");
        let counts: Vec<usize> = requests.iter().map(cached).collect();
        assert_eq!(counts, [3, 4, 4, 4, 4, 4, 4, 4, 4], "{wire:?}");
    }
}

#[test]
fn claude_through_invoke_model_gets_the_same_breakpoints() {
    let config = "[providers.bedrock]\nwire = \"bedrock-anthropic\"\n";
    let answers = [answer_call("t1", "ls", &json!({ "path": "." })), answer_text("done")];
    let scene = Scene::with_wire(Wire::Bedrock, answers).with_workspace(workspace(config));
    scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests[1].wire, Wire::BedrockAnthropic);
    assert_eq!(requests[1].body.to_string().matches("cache_control").count(), 4);
}

#[test]
fn a_service_that_accepts_cache_settings_gets_the_session_as_key_and_breakpoints() {
    let config = "[providers.openrouter]\nprompt_cache = true\n[providers.openai]\nprompt_cache = true\n";
    for wire in [Wire::OpenAi, Wire::Responses] {
        let (requests, id) = run_session(wire, config);
        check_stable(wire, &requests);
        for request in &requests {
            assert_eq!(request.body["prompt_cache_key"], json!(id), "{wire:?}");
        }
    }
    // An unknown server may reject the key.
    let (requests, _) = run_session(Wire::Responses, "");
    assert_eq!(requests[0].body.get("prompt_cache_key"), None);
}
