//! The models of today on services that refuse what the real ones refuse: the API, the output limit, the effort and the price
//! of each, and the model in place of a default model that its service does not know.

use ibeam_protocol::Usage;
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::{
    Answer, Ibeam, ModelServer, ProgramOutput, ServiceModel, StrictService, Wire, Workspace,
};
use serde_json::{Value, json};

/// The providers at the address of the server, each with the variables for its address and its key.
const ANTHROPIC: [&str; 2] = ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"];
const OPENAI: [&str; 2] = ["OPENAI_BASE_URL", "OPENAI_API_KEY"];
const AZURE: [&str; 2] = ["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"];
const XAI: [&str; 2] = ["XAI_BASE_URL", "XAI_API_KEY"];

const GPT_6_2_WITH_CHAT: ServiceModel = ServiceModel { has_chat_tools: true, ..ServiceModel::GPT_6_2_SOL };
const GPT_5_WITHOUT_CHAT: ServiceModel = ServiceModel { has_chat_tools: false, ..ServiceModel::GPT_5 };
const RETIRED_SONNET: ServiceModel = ServiceModel { lifecycle: "retired", ..ServiceModel::SONNET_5_5 };
const SONNET_6: ServiceModel = ServiceModel::SONNET_5_5.with_id("claude-sonnet-6");

fn scene(service: StrictService, answers: impl IntoIterator<Item = Answer>) -> Scene {
    let server = ModelServer::strict(service, answers);
    Scene { wire: Wire::Anthropic, workspace: Workspace::new().file("a.txt", "content\n"), server }
}

/// Returns a run without a model, with a provider at the address of the server.
fn ibeam(scene: &Scene, [address, key]: [&str; 2], args: &[&str]) -> Ibeam {
    scene.ibeam_without_model(["-p", "do it"]).args(args).env(address, scene.server.url()).env(key, KEY)
}

fn read_and_end() -> [Answer; 2] {
    [answer_call("t1", "read", &json!({ "path": "a.txt" })), answer_text("done")]
}

fn wires(scene: &Scene) -> Vec<Wire> {
    scene.server.requests().iter().map(|request| request.wire).collect()
}

fn models(scene: &Scene) -> Vec<String> {
    let requests = scene.server.requests();
    requests.iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect()
}

/// Returns the body of the only request of a run that succeeds.
#[track_caller]
fn body(service: StrictService, variables: [&str; 2], args: &[&str]) -> (Value, ProgramOutput) {
    let scene = scene(service, [answer_text("done")]);
    let output = ibeam(&scene, variables, args).run().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 1, "{:?}", scene.server.refusals());
    (requests[0].body.clone(), output)
}

#[test]
fn a_model_is_requested_over_the_api_that_it_has_at_any_address() {
    use Wire::{OpenAi, Responses};
    let deployment = GPT_6_2_WITH_CHAT.with_id("my-deployment");
    for (variables, model, service, expect) in [
        (
            OPENAI,
            "openai/gpt-6.2-sol",
            StrictService::new([ServiceModel::GPT_6_2_SOL]),
            &[Responses, Responses][..],
        ),
        (
            OPENAI,
            "openai/gpt-6.2-sol",
            StrictService::new([GPT_6_2_WITH_CHAT]).without_responses(),
            &[Responses, OpenAi, OpenAi],
        ),
        (OPENAI, "openai/gpt-5", StrictService::new([ServiceModel::GPT_5]), &[OpenAi, OpenAi]),
        (OPENAI, "openai/gpt-5", StrictService::new([GPT_5_WITHOUT_CHAT]), &[OpenAi, Responses, Responses]),
        (AZURE, "azure/my-deployment", StrictService::new([deployment]), &[Responses, Responses]),
        (
            AZURE,
            "azure/my-deployment",
            StrictService::new([deployment]).without_responses(),
            &[Responses, OpenAi, OpenAi],
        ),
    ] {
        let scene = scene(service, read_and_end());
        let output = ibeam(&scene, variables, &["--model", model]).run().succeeded();
        assert_eq!(wires(&scene), expect, "{model}: {output}");
        assert_eq!(output.stderr, "", "{model}");
        scene.server.assert_all_answers_sent();
    }
}

#[test]
fn an_answer_of_a_claude_model_may_be_as_long_as_the_model_and_the_effort_need() {
    let service = || {
        StrictService::new([
            ServiceModel::SONNET_5_5,
            ServiceModel::HAIKU_4_5,
            ServiceModel::SONNET_5_5.with_id("claude-saga"),
            ServiceModel::SONNET_5_5.with_id("claude-saga-99"),
        ])
    };
    for (model, effort, expect) in [
        ("claude-sonnet-5-5", &[][..], 64_000),
        ("claude-sonnet-5-5", &["--effort", "xhigh"], 128_000),
        ("claude-sonnet-5-5", &["--effort", "max"], 128_000),
        ("claude-haiku-4-5", &[], 64_000),
        ("claude-haiku-4-5", &["--effort", "max"], 64_000),
        // Another line is assumed to be like the newest model. Nothing is assumed without a version.
        ("claude-saga-99", &[], 64_000),
        ("claude-saga", &[], 32_000),
    ] {
        let args = [&["--model", model], effort].concat();
        assert_eq!(body(service(), ANTHROPIC, &args).0["max_tokens"], expect, "{model} {effort:?}");
    }
}

#[test]
fn a_model_gets_the_nearest_effort_that_it_accepts_and_the_user_a_warning() {
    let service = || {
        StrictService::new([
            ServiceModel::SONNET_5_5,
            ServiceModel::OPUS_5_5,
            ServiceModel::HAIKU_5_5,
            ServiceModel::GPT_6_2_SOL,
            ServiceModel::GROK_4_7,
        ])
    };
    let alone = |kind: &str| json!({ "thinking": { "type": kind } });
    let adaptive =
        |level: &str| json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": level } });
    for (variables, model, effort, expect, used) in [
        (ANTHROPIC, "claude-sonnet-5-5", "none", alone("between_tools"), None),
        (ANTHROPIC, "claude-haiku-5-5", "none", alone("disabled"), None),
        (ANTHROPIC, "claude-opus-5-5", "none", adaptive("low"), Some("low")),
        (ANTHROPIC, "claude-opus-5-5", "max", adaptive("max"), None),
        (ANTHROPIC, "claude-sonnet-5-5", "minimal", adaptive("low"), Some("low")),
        (OPENAI, "gpt-6.2-sol", "max", json!({ "reasoning": { "effort": "max" } }), None),
        (OPENAI, "gpt-6.2-sol", "none", json!({ "reasoning": { "effort": "low" } }), Some("low")),
        (XAI, "grok-4.7", "max", json!({ "reasoning_effort": "xhigh" }), Some("xhigh")),
    ] {
        let (body, output) = body(service(), variables, &["--model", model, "--effort", effort]);
        for field in ["thinking", "output_config", "reasoning", "reasoning_effort"] {
            assert_eq!(body.get(field), expect.get(field), "{model} {effort}: {field}");
        }
        assert_eq!(summary(&output).get("effort_used").and_then(Value::as_str), used, "{model} {effort}");
        let warnings = output.stderr_lines("warning: ");
        match used {
            None => assert_eq!(output.stderr, "", "{model} {effort}"),
            Some(used) => {
                let [warning] = warnings[..] else { panic!("{model} {effort}: {output}") };
                assert!(warning.contains(&format!("`{effort}`")) && warning.contains(&format!("`{used}`")));
            }
        }
    }
}

/// Returns the summary of a run.
fn summary(output: &ProgramOutput) -> Value {
    output.stream().last()["ibeam"].clone()
}

/// Returns the name, the number of answered requests and the cost of each model that answered.
fn used_models(summary: &Value) -> Vec<Value> {
    let models = summary["models"].as_array().unwrap().iter().filter(|model| model["requests"] != 0);
    models.map(|model| json!([model["model"], model["requests"], model["cost_usd"]])).collect()
}

/// Returns the number of lines of stderr about a default model that was replaced.
fn replacements(output: &ProgramOutput) -> usize {
    output.stderr.lines().filter(|line| line.contains("does not offer the default model")).count()
}

#[test]
fn a_default_model_that_the_service_does_not_know_is_replaced_once_by_its_rule() {
    let service = || {
        let others = [ServiceModel::OPUS_5_5.with_id("claude-opus-7"), ServiceModel::HAIKU_5_5];
        StrictService::new([RETIRED_SONNET, SONNET_6].into_iter().chain(others))
    };
    let usage = Usage { input: 1000, output: 100, ..Usage::default() };
    let config = "[models.prices]\n\"claude-sonnet-6\" = \"1000/10000\"\n";
    let replaced = scene(service(), [answer_text("done").usage(usage)])
        .with_workspace(Workspace::new().user_config(config));
    let output = ibeam(&replaced, ANTHROPIC, &[]).run().succeeded();
    assert_eq!(models(&replaced), ["claude-sonnet-5-5", "claude-sonnet-6"]);
    assert_eq!((replacements(&output), output.stderr.lines().count()), (1, 1), "{output}");
    let summary = summary(&output);
    assert_eq!(summary["cost_usd"], json!(2.0), "{summary}");
    let expect = json!(["anthropic/claude-sonnet-6", 1, 2.0]);
    assert_eq!(used_models(&summary), [expect], "{summary}");
    // The list has no model that the service serves.
    let failed = scene(service(), [Answer::error(404, "not_found_error", "model: claude-sonnet-6")]);
    let output = ibeam(&failed, ANTHROPIC, &[]).run();
    assert_eq!((output.code, models(&failed).len(), replacements(&output)), (Some(21), 2, 1), "{output}");
    let nothing = scene(StrictService::new([RETIRED_SONNET]), []);
    let output = ibeam(&nothing, ANTHROPIC, &[]).run();
    assert_eq!((output.code, models(&nothing).len(), replacements(&output)), (Some(21), 1, 0), "{output}");
}

#[test]
fn the_model_in_place_of_a_default_model_is_one_that_the_service_goes_on_to_serve() {
    let deprecated = ServiceModel {
        lifecycle: "deprecated",
        retires_at: Some("2099-01-01T00:00:00Z"),
        ..ServiceModel::SONNET_5_5.with_id("claude-sonnet-7")
    };
    let retired = ServiceModel { lifecycle: "retired", ..deprecated.with_id("claude-sonnet-8") };
    let service = || StrictService::new([RETIRED_SONNET, SONNET_6, deprecated, retired]);
    let scene = scene(service(), [answer_text("one"), answer_text("two")]);
    ibeam(&scene, ANTHROPIC, &[]).run().succeeded();
    assert_eq!(models(&scene), ["claude-sonnet-5-5", "claude-sonnet-6"]);
    // The list is cached: the next run begins with its model.
    let output = ibeam(&scene, ANTHROPIC, &[]).run().succeeded();
    assert_eq!(models(&scene)[2..], ["claude-sonnet-6"]);
    assert_eq!(output.stderr, "");
}

#[test]
fn the_default_model_of_a_service_with_two_apis_is_replaced_too() {
    let service = StrictService::new([ServiceModel::GPT_6_2_SOL.with_id("gpt-6.3-sol"), ServiceModel::GPT_5]);
    let scene = scene(service, read_and_end());
    let output = ibeam(&scene, OPENAI, &[]).run().succeeded();
    assert_eq!(models(&scene), ["gpt-6.2-sol", "gpt-6.3-sol", "gpt-6.3-sol"]);
    assert_eq!((replacements(&output), output.stderr.lines().count()), (1, 1), "{output}");
    assert_eq!(used_models(&summary(&output)), [json!(["openai/gpt-6.3-sol", 2, 0.0006])], "{output}");
}

#[test]
fn a_model_that_the_user_named_is_never_replaced() {
    let service = || StrictService::new([ServiceModel::SONNET_4, RETIRED_SONNET, SONNET_6]);
    for (model, near) in [
        ("anthropic/claude-sonnet-4", Some("anthropic/claude-sonnet-5-5")),
        ("anthropic/claude-sonnet-5-5", None),
    ] {
        let scene = scene(service(), []);
        let output = ibeam(&scene, ANTHROPIC, &["--model", model]).run();
        assert_eq!((output.code, models(&scene).len()), (Some(21), 1), "{output}");
        assert_eq!(replacements(&output), 0, "{output}");
        let is_near = |near: &str| output.stderr.contains(&format!("did you mean `{near}`"));
        assert!(near.is_none_or(is_near), "{output}");
    }
}

#[test]
fn the_name_of_a_line_is_its_newest_model() {
    let fable = ServiceModel { line: Some("fable"), ..ServiceModel::OPUS_5_5.with_id("claude-fable-5-2") };
    let service = || {
        StrictService::new([ServiceModel::SONNET_5_5, ServiceModel::OPUS_5_5, ServiceModel::HAIKU_5_5, fable])
    };
    for (line, expect) in [
        ("sonnet", "claude-sonnet-5-5"),
        ("opus", "claude-opus-5-5"),
        ("haiku", "claude-haiku-5-5"),
        ("fable", "claude-fable-5-2"),
    ] {
        for dialect in [&[][..], &["--dialect", "claude"]] {
            let scene = scene(service(), [answer_text("done")]);
            // A dialect is the first argument.
            let args = [dialect, &["-p", "do it", "--model", line]].concat();
            let run = scene.ibeam_without_model(args).env("ANTHROPIC_BASE_URL", scene.server.url());
            let output = run.env("ANTHROPIC_API_KEY", KEY).run().succeeded();
            assert_eq!(models(&scene), [expect], "{dialect:?} {output}");
        }
    }
}

/// The names need not be in the model table.
#[test]
fn a_bare_name_goes_to_the_provider_that_develops_its_family() {
    let keys = [ANTHROPIC, OPENAI, XAI].map(|[address, key]| (address, key, format!("{KEY}-of-{key}")));
    for (model, wire, key) in [
        ("claude-sonnet-5-5", Wire::Anthropic, "ANTHROPIC_API_KEY"),
        ("claude-sonnet-9", Wire::Anthropic, "ANTHROPIC_API_KEY"),
        ("gpt-6.2-sol", Wire::Responses, "OPENAI_API_KEY"),
        ("gpt-7-sol", Wire::Responses, "OPENAI_API_KEY"),
        ("grok-4.7", Wire::OpenAi, "XAI_API_KEY"),
        ("grok-9", Wire::OpenAi, "XAI_API_KEY"),
    ] {
        let scene = Scene::new([answer_text("done")]);
        let mut run = scene.ibeam_without_model(["-p", "do it", "--model", model]);
        for (address, variable, value) in &keys {
            run = run.env(address, scene.server.url()).env(variable, value);
        }
        let output = run.run().succeeded();
        let requests = scene.server.requests();
        assert_eq!((requests[0].wire, &requests[0].body["model"]), (wire, &json!(model)), "{output}");
        let sent = requests[0].header("x-api-key").or(requests[0].header("authorization")).unwrap();
        assert!(sent.ends_with(&format!("{KEY}-of-{key}")), "{model}: {sent}");
    }
}

#[test]
fn each_request_costs_what_the_length_of_its_own_prompt_costs() {
    let usage = |input, cache_read| Usage { input, output: 1000, cache_read, ..Usage::default() };
    let [call, end] = read_and_end();
    // Of the second prompt, 120,000 tokens, a half is from the cache. From 100,000 on, all tokens cost five times as much.
    let answers = [call.usage(usage(90_000, 0)), end.usage(usage(60_000, 60_000))];
    let scene = scene(StrictService::new([ServiceModel::HAIKU_5_5]), answers);
    let output = ibeam(&scene, ANTHROPIC, &["--model", "claude-haiku-5-5"]).run().succeeded();
    let first = 90_000.0 * 0.1 + 1000.0 * 0.5;
    let second = 60_000.0 * 0.5 + 60_000.0 * 0.05 + 1000.0 * 2.5;
    let summary = summary(&output);
    assert_eq!(summary["cost_usd"], json!((first + second) / 1e6), "{summary}");
    assert_eq!(summary["models"][0]["cost_usd"], summary["cost_usd"]);
}
