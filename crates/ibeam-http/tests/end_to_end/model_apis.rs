//! Runs that print the same events on every model API.

use ibeam_protocol::Usage;
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, Wire, Workspace};
use serde_json::{Value, json};

const TWO_ATTEMPTS: &str = "[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n";

fn workspace() -> Workspace {
    Workspace::new().user_config(TWO_ATTEMPTS).file("a", "content of a\n").file("b", "content of b\n")
}

/// Runs a script on every API and checks that each prints the same events and gets the same conversation. Returns the
/// scene and the output of each.
#[track_caller]
fn same_on_every_api(answers: impl Fn() -> Vec<Answer>) -> Vec<(Scene, ProgramOutput)> {
    let run = |wire| {
        let scene = Scene::with_wire(wire, answers()).with_workspace(workspace());
        let output = scene.print::<&str>([]).run();
        (scene, output)
    };
    let runs: Vec<_> = Wire::ALL.into_iter().map(run).collect();
    let [(first_scene, first), others @ ..] = runs.as_slice() else { panic!("no API") };
    let transcripts = |scene: &Scene| -> Vec<Vec<String>> {
        scene.server.requests().iter().map(ibeam_testkit::Request::transcript).collect()
    };
    for (scene, output) in others {
        assert_eq!(events(scene, output), events(first_scene, first), "{:?}", scene.wire);
        assert_eq!(transcripts(scene), transcripts(first_scene), "{:?}", scene.wire);
        assert_eq!(output.code, first.code, "{:?}: {output}", scene.wire);
    }
    runs
}

/// Returns the events without what differs between two runs of one script: ids, times, the order in which parallel calls
/// end, the workspace, and the names of the provider and its model.
fn events(scene: &Scene, output: &ProgramOutput) -> Vec<Value> {
    let clean = |event: &Value| {
        let text = event.to_string().replace(scene.workspace.path().to_str().unwrap(), "WORKSPACE");
        let mut event = serde_json::from_str(&text.replace(scene.wire.provider_name(), "PROVIDER")).unwrap();
        remove_details(&mut event);
        event
    };
    let mut events: Vec<Value> = output.stream().events.iter().map(clean).collect();
    // The settings of the run name its provider.
    events[0]["ibeam"].take();
    // Only some services report the tokens of an answer that is lost.
    if let Some(end) = events.last_mut().filter(|end| end["ibeam"]["models"][0]["failed_requests"] != 0) {
        end["usage"].take();
        end["ibeam"]["models"].take();
        end["ibeam"]["cost_usd"].take();
    }
    for ends in events.chunk_by_mut(|a, b| a["subtype"] == "completed" && b["subtype"] == "completed") {
        ends.sort_by_key(|event| event["call_id"].to_string());
    }
    events
}

fn remove_details(value: &mut Value) {
    const DETAILS: &[&str] = &[
        "session_id",
        "timestamp_ms",
        "duration_ms",
        "duration_api_ms",
        "durationMs",
        "api_ms",
        "request_id",
        "model_call_id",
        "model",
        // The price is that of the model.
        "cost_usd",
        "cost_by_class",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !DETAILS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_details);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_details),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn parallel_calls_and_their_results_are_the_same() {
    let usage = Usage { input: 10, output: 3, ..Usage::default() };
    let runs = same_on_every_api(|| {
        let calls = Answer::new()
            .text("Two ")
            .text("files.")
            .call("t1", "read", &json!({ "path": "a" }))
            .call("t2", "read", &json!({ "path": "b" }))
            .call("t3", "ls", &json!({ "path": "." }));
        let missing = answer_call("t4", "read", &json!({ "path": "missing" }));
        [calls, missing, answer_text("done")].map(|answer| answer.usage(usage)).into()
    });
    for (scene, output) in runs {
        assert_eq!(output.stream().last()["usage"]["inputTokens"], 30, "{output}");
        scene.server.assert_all_answers_sent();
    }
}

#[test]
fn cached_tokens_are_counted_apart_from_input() {
    let usage = Usage { input: 10, output: 3, cache_read: 7, ..Usage::default() };
    for wire in Wire::ALL.into_iter().filter(|wire| wire.counts_cached_tokens()) {
        let call = answer_call("t1", "ls", &json!({ "path": "." }));
        let scene = Scene::with_wire(wire, [call, answer_text("done")].map(|answer| answer.usage(usage)));
        let output = scene.print::<&str>([]).run().succeeded();
        let total = output.stream().last()["usage"].clone();
        assert_eq!((&total["inputTokens"], &total["cacheReadTokens"]), (&json!(20), &json!(14)), "{wire:?}");
    }
}

#[test]
fn tokens_and_costs_of_each_model_are_those_that_the_service_reported() {
    for wire in Wire::ALL {
        let cache_read = if wire.counts_cached_tokens() { 7 } else { 0 };
        let usage =
            |count: u64| Usage { input: 10 * count, output: 3 * count, cache_read, ..Usage::default() };
        let answers = [
            answer_call("t1", "ls", &json!({ "path": "." })).usage(usage(1)),
            Answer::error(500, "api_error", "internal error"),
            answer_text("done").usage(usage(2)),
        ];
        let model = wire.model_name();
        let id = model.split_once('/').unwrap().1;
        let config = format!("{TWO_ATTEMPTS}[models.prices]\n\"{id}\" = \"1000/10000/100/200\"\n");
        let scene = Scene::with_wire(wire, answers).with_workspace(Workspace::new().user_config(&config));
        let output = scene.print::<&str>([]).run().succeeded();
        let summary = output.stream().last()["ibeam"].clone();
        let expect = json!([{
            "model": model, "requests": 2, "failed_requests": 1,
            "usage": {
                "inputTokens": 30, "outputTokens": 9, "cacheReadTokens": 2 * cache_read, "cacheWriteTokens": 0,
                "reasoningTokens": 0,
            },
            "cost_usd": (30_000 + 90_000 + 200 * cache_read) as f64 / 1e6,
            "cost_by_class": {
                "input_usd": 0.03, "output_usd": 0.09, "cache_read_usd": (200 * cache_read) as f64 / 1e6,
                "cache_write_usd": 0.0, "reasoning_usd": 0.0,
            },
        }]);
        assert_eq!(summary["models"], expect, "{wire:?}");
        assert_eq!(summary["cost_usd"], summary["models"][0]["cost_usd"], "{wire:?}");
    }
}

/// Some services report tokens before the text, which count although the answer is lost.
#[test]
fn the_tokens_of_a_lost_answer_count_where_the_service_reported_them() {
    let usage = Usage { input: 10, output: 3, ..Usage::default() };
    let answers = || vec![answer_text("half an ans").usage(usage).cut(), answer_text("wer").usage(usage)];
    for (wire, input) in [(Wire::Anthropic, 20), (Wire::VertexAnthropic, 20), (Wire::OpenAi, 10)] {
        let scene = Scene::with_wire(wire, answers()).with_workspace(workspace());
        let output = scene.print::<&str>([]).run().succeeded();
        let end = output.stream().last().clone();
        let model = &end["ibeam"]["models"][0];
        let counts = (&model["requests"], &model["failed_requests"], &model["usage"]["inputTokens"]);
        assert_eq!(counts, (&json!(1), &json!(1), &json!(input)), "{wire:?}");
        assert_eq!(end["usage"]["inputTokens"], input, "{wire:?}");
    }
}

#[test]
fn an_answer_that_is_cut_in_its_text_is_continued() {
    let runs = same_on_every_api(|| vec![answer_text("half an ans").cut(), answer_text("wer")]);
    for (_, output) in runs {
        assert_eq!(output.stream().deltas(), ["half an ans", "wer"], "{output}");
    }
}

#[test]
fn a_call_before_a_cut_is_not_executed() {
    let write = || answer_call("t1", "write", &json!({ "path": "made", "fileText": "x" })).cut();
    for (scene, output) in same_on_every_api(|| vec![write(), write(), write(), write()]) {
        assert_ne!(output.code, Some(0), "{output}");
        assert_eq!(scene.workspace.read("made"), None, "{output}");
    }
}

#[test]
fn errors_have_the_same_exit_code() {
    let too_long =
        "The input token count (5) exceeds the maximum number of tokens allowed: prompt is too long";
    for (status, kind, message, exit) in [
        (400, "invalid_request_error", "no such parameter", 22),
        (400, "invalid_request_error", too_long, 23),
        (401, "authentication_error", "the key is not valid", 20),
        (403, "permission_error", "the key may not do this", 20),
        (404, "not_found_error", "model: not found", 21),
        (429, "rate_limit_error", "slow down", 24),
        (500, "api_error", "internal error", 25),
        (503, "overloaded_error", "the model is overloaded", 25),
    ] {
        for (wire, code) in exit_codes(status, kind, message) {
            assert_eq!(code, Some(exit), "{wire:?}: {status} {message}");
        }
    }
}

fn exit_codes(status: u16, kind: &str, message: &str) -> Vec<(Wire, Option<i32>)> {
    let run = |wire| {
        let answers = vec![Answer::error(status, kind, message); 4];
        let scene = Scene::with_wire(wire, answers).with_workspace(workspace());
        let output = scene.print::<&str>([]).run();
        assert!(!output.stderr.contains(KEY), "{output}");
        (wire, output.code)
    };
    Wire::ALL.into_iter().map(run).collect()
}

#[test]
fn gemini_gets_its_signatures_back_where_they_were() {
    let answers = [
        Answer::new().thinking("Hmm.", "c2lnMQ==").text("Looking.").thinking("So.", "c2lnMg==").call(
            "fc_1",
            "ls",
            &json!({ "path": "." }),
        ),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::Gemini, answers);
    scene.print::<&str>([]).run().succeeded();
    let request = &scene.server.requests()[1];
    assert_eq!(request.path, "/v1beta/models/claude-sonnet-4-6:streamGenerateContent");
    let parts = request.messages()[1]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "summaries of thinking are not sent back: {parts:?}");
    assert_eq!(parts[0], json!({ "text": "Looking.", "thoughtSignature": "c2lnMQ==" }));
    assert_eq!(
        (&parts[1]["thoughtSignature"], &parts[1]["functionCall"]["id"]),
        (&json!("c2lnMg=="), &json!("fc_1"))
    );
}

#[test]
fn responses_gets_its_reasoning_and_the_phase_of_its_messages_back_where_they_were() {
    let message = json!({
        "type": "message", "role": "assistant", "phase": "commentary",
        "content": [{ "type": "output_text", "text": "Looking." }],
    });
    let done = json!({ "type": "response.output_item.done", "output_index": 1, "item": message });
    let answers = [
        Answer::new().thinking("Hmm.", "gAAA+/==").raw(format!("data: {done}\n\n")).call(
            "call_1",
            "ls",
            &json!({ "path": "." }),
        ),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::Responses, answers);
    scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    let (first, second) = (requests[0].messages(), requests[1].messages());
    assert_eq!(first, &second[..first.len()], "a request begins like the one before it");
    let [reasoning, message, call, output] = &second[first.len()..] else { panic!("{second:?}") };
    let summary = json!([{ "type": "summary_text", "text": "Hmm." }]);
    let expected =
        json!({ "type": "reasoning", "summary": summary, "encrypted_content": "gAAA+/==", "id": "final_0" });
    assert_eq!(*reasoning, expected);
    assert_eq!((&message["content"], &message["phase"]), (&json!("Looking."), &json!("commentary")));
    assert_eq!((&call["type"], &call["call_id"]), (&json!("function_call"), &json!("call_1")));
    assert_eq!(output["call_id"], "call_1");
    assert_eq!(requests[1].body["include"], json!(["reasoning.encrypted_content"]));
}

/// The snippets of docs/models.md.
#[test]
fn responses_is_selected_by_configuration_on_any_provider() {
    for provider in ["openai", "azure", "xai", "openrouter", "gateway"] {
        let scene = Scene::with_wire(Wire::Responses, [answer_text("hi")]);
        let config = format!(
            "[providers.{provider}]\nwire = \"openai-responses\"\nbase_url = \"{}/v1\"\nkey_variable = \"GATEWAY_KEY\"\n",
            scene.server.url()
        );
        let scene = scene.with_workspace(Workspace::new().user_config(&config));
        let run = scene.ibeam_without_model(["-p", "hi", "--model", &format!("{provider}/some-model")]);
        run.env("GATEWAY_KEY", KEY).run().succeeded();
        let request = &scene.server.requests()[0];
        assert_eq!((request.wire, request.path.as_str()), (Wire::Responses, "/v1/responses"));
        let (name, value) = match provider {
            "azure" => ("api-key", KEY.to_owned()),
            _ => ("authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(request.header(name), Some(value.as_str()));
    }
}

/// The snippets of docs/models.md.
#[test]
fn azure_uses_the_api_that_its_deployment_has() {
    for (model, wire, path) in [
        ("gpt-4.1", Wire::OpenAi, "/openai/v1/chat/completions"),
        ("gpt-6.2-sol", Wire::Responses, "/openai/v1/responses"),
        ("my-deployment", Wire::Responses, "/openai/v1/responses"),
    ] {
        let scene = Scene::with_wire(wire, [answer_text("hi")]);
        let run = scene.ibeam_without_model(["-p", "hi", "--model", &format!("azure/{model}")]);
        let run = run.env("AZURE_OPENAI_ENDPOINT", scene.server.url()).env("AZURE_OPENAI_API_KEY", KEY);
        run.run().succeeded();
        let request = &scene.server.requests()[0];
        assert_eq!((request.wire, request.path.as_str()), (wire, path));
        assert_eq!((request.header("api-key"), request.header("authorization")), (Some(KEY), None));
    }
    let scene = Scene::new([]);
    let run = scene.ibeam_without_model(["-p", "hi", "--model", "azure/gpt-6.2-sol"]);
    let output = run.env("AZURE_OPENAI_API_KEY", KEY).run();
    assert_eq!(output.code, Some(78), "{output}");
    assert!(output.stderr.contains("AZURE_OPENAI_ENDPOINT"), "{output}");
}

#[test]
fn the_models_of_gemini_are_listed() {
    for wire in [Wire::Gemini, Wire::GeminiInteractions] {
        let scene = Scene::with_wire(wire, []);
        let run = scene.ibeam_without_key(["models"]).env("GEMINI_API_KEY", KEY);
        let output = run.run().succeeded();
        assert!(output.stdout.contains("gemini/scripted-1"), "{output}");
        assert!(output.stdout.contains("Scripted One"), "{output}");
    }
}

#[test]
fn interactions_gets_its_thoughts_back_where_they_were() {
    let answers = [
        Answer::new().thinking("Hmm.", "c2lnMQ==").text("Looking.").call(
            "fc_1",
            "ls",
            &json!({ "path": "." }),
        ),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::GeminiInteractions, answers);
    scene.print::<&str>([]).run().succeeded();
    let request = &scene.server.requests()[1];
    assert_eq!(
        (request.path.as_str(), request.header("api-revision")),
        ("/v1beta/interactions", Some("2026-05-20"))
    );
    let steps = request.messages();
    let kinds: Vec<&Value> = steps.iter().map(|step| &step["type"]).collect();
    assert_eq!(kinds, ["user_input", "thought", "model_output", "function_call", "function_result"]);
    let content = |text: &str| json!({ "type": "text", "text": text });
    let thought =
        json!({ "type": "thought", "signature": "c2lnMQ==", "summary": [content("Hm"), content("m.")] });
    assert_eq!(steps[1], thought);
}

/// The snippet of docs/models.md.
#[test]
fn vertex_gets_an_access_token_at_the_address_of_the_project() {
    let scene = Scene::with_wire(Wire::Gemini, [answer_text("hi")]);
    let config = format!(
        "[providers.vertex]\nbase_url = \"{}/v1/projects/PROJECT/locations/us-central1\"\n",
        scene.server.url()
    );
    let scene = scene.with_workspace(Workspace::new().user_config(&config));
    let run = scene.ibeam_without_model(["-p", "hi", "--model", "vertex/gemini-2.5-pro"]);
    run.env("VERTEX_ACCESS_TOKEN", "ya29.token").run().succeeded();
    let request = &scene.server.requests()[0];
    let path = "/v1/projects/PROJECT/locations/us-central1/publishers/google/models/gemini-2.5-pro";
    assert_eq!(request.path, format!("{path}:streamGenerateContent"));
    assert_eq!(request.header("authorization"), Some("Bearer ya29.token"));
    assert_eq!(request.body["generationConfig"]["thinkingConfig"], json!({ "includeThoughts": true }));
}

#[test]
fn bedrock_gets_its_reasoning_back_and_cache_breakpoints() {
    let answers = [
        Answer::new().thinking("Hmm.", "c2ln").text("Looking.").call("t1", "ls", &json!({ "path": "." })),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::Bedrock, answers);
    scene.print::<&str>([]).run().succeeded();
    let request = &scene.server.requests()[1];
    assert_eq!(request.path, "/model/us.anthropic.claude-sonnet-4-6/converse-stream");
    let reasoning = json!({ "reasoningText": { "text": "Hmm.", "signature": "c2ln" } });
    assert_eq!(request.messages()[1]["content"][0], json!({ "reasoningContent": reasoning }));
    let cache_point = json!({ "cachePoint": { "type": "default" } });
    let last = |list: &Value| list.as_array().and_then(|list| list.last().cloned());
    let body = &request.body;
    for list in [&body["system"], &body["toolConfig"]["tools"], &request.messages()[2]["content"]] {
        assert_eq!(last(list), Some(cache_point.clone()));
    }
}

/// The snippet of docs/models.md.
#[test]
fn claude_on_bedrock_is_reached_through_invoke_model() {
    let answers = [
        Answer::new().thinking("Hmm.", "c2ln").text("Looking.").call("t1", "ls", &json!({ "path": "." })),
        answer_text("done"),
    ];
    let workspace = Workspace::new().user_config("[providers.bedrock]\nwire = \"bedrock-anthropic\"\n");
    let scene = Scene::with_wire(Wire::BedrockAnthropic, answers).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stream().deltas(), ["Looking.", "done"], "{output}");
    let request = &scene.server.requests()[1];
    assert_eq!(request.wire, Wire::BedrockAnthropic);
    let thinking = json!({ "type": "thinking", "thinking": "Hmm.", "signature": "c2ln" });
    assert_eq!(request.messages()[1]["content"][0], thinking);
}

/// The snippet of docs/models.md.
#[test]
fn claude_on_vertex_gets_an_access_token_at_the_address_of_the_project() {
    let scene = Scene::with_wire(Wire::VertexAnthropic, [answer_text("hi")]);
    let url = format!("{}/v1/projects/PROJECT/locations/us-east5", scene.server.url());
    let config = format!("[providers.vertex-anthropic]\nbase_url = \"{url}\"\n");
    let scene = scene.with_workspace(Workspace::new().user_config(&config));
    let run =
        scene.ibeam_without_model(["-p", "hi", "--model", "vertex-anthropic/claude-sonnet-4-5@20250929"]);
    run.env("ANTHROPIC_VERTEX_ACCESS_TOKEN", "ya29.token").run().succeeded();
    let request = &scene.server.requests()[0];
    let path =
        "/v1/projects/PROJECT/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929";
    assert_eq!(request.path, format!("{path}:streamRawPredict"));
    assert_eq!(request.header("authorization"), Some("Bearer ya29.token"));
}

/// The snippets of docs/models.md.
#[test]
fn ollama_is_used_over_its_own_api_with_or_without_the_path_of_another() {
    for path in ["", "/v1"] {
        let answers = [
            Answer::new().thinking("Hmm.", "").call("call_x", "ls", &json!({ "path": "." })),
            answer_text("done"),
        ];
        let scene = Scene::with_wire(Wire::Ollama, answers);
        let run = scene.ibeam_without_model(["-p", "hi", "--model", "ollama/qwen3:8b"]);
        run.env("OLLAMA_HOST", scene.server.url() + path).run().succeeded();
        let request = &scene.server.requests()[1];
        assert_eq!((request.path.as_str(), request.header("authorization")), ("/api/chat", None));
        assert_eq!((&request.body["model"], request.body.get("options")), (&json!("qwen3:8b"), None));
        let [.., answer, result] = request.messages() else { panic!("{request:?}") };
        assert_eq!((&answer["thinking"], &result["tool_name"]), (&json!("Hmm."), &json!("ls")));
    }
    let scene = Scene::with_wire(Wire::OpenAi, [answer_text("hi")]);
    let config = format!("[providers.ollama]\nwire = \"openai\"\nbase_url = \"{}/v1\"\n", scene.server.url());
    let scene = scene.with_workspace(Workspace::new().user_config(&config));
    scene.ibeam_without_model(["-p", "hi", "--model", "ollama/qwen3:8b"]).run().succeeded();
    assert_eq!(scene.server.requests()[0].wire, Wire::OpenAi);
}

/// The snippet of docs/models.md.
#[test]
fn a_call_that_a_model_of_ollama_writes_as_text_is_executed() {
    let config = "[providers.ollama]\ntext_tool_calls = true\n";
    let call = r#"{"name": "ls", "arguments": {"path": "."}}"#;
    let scene = Scene::with_wire(Wire::Ollama, [answer_text(call), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(config));
    let run = scene.ibeam_without_model(["-p", "hi", "--model", "ollama/qwen2.5-coder:7b"]);
    let output = run.env("OLLAMA_HOST", scene.server.url()).run().succeeded();
    assert_eq!((output.stream().completed().len(), output.stream().deltas()), (1, vec!["done"]), "{output}");
}

#[test]
fn cohere_gets_its_thinking_and_its_plan_back() {
    let plan = |text: &str| {
        let delta = json!({ "message": { "tool_plan": text } });
        format!("data: {}\n\n", json!({ "type": "tool-plan-delta", "delta": delta }))
    };
    let answers = [
        Answer::new().thinking("Hmm.", "").raw(plan("I will ")).raw(plan("look.")).call(
            "ls_x9cn",
            "ls",
            &json!({ "path": "." }),
        ),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::Cohere, answers);
    scene.print::<&str>([]).run().succeeded();
    let request = &scene.server.requests()[1];
    assert_eq!(request.path, "/v2/chat");
    let [.., answer, result] = request.messages() else { panic!("{request:?}") };
    assert_eq!(answer["tool_plan"], "I will look.");
    assert_eq!(answer["content"], json!([{ "type": "thinking", "thinking": "Hmm." }]));
    assert_eq!(
        (&answer["tool_calls"][0]["id"], &result["tool_call_id"]),
        (&json!("ls_x9cn"), &json!("ls_x9cn"))
    );
}
