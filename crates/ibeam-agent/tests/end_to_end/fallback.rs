//! Runs in which another model takes over, because a model is overloaded or a quota is exhausted.

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, PNG, ProgramOutput, Wire, Workspace};
use serde_json::{Value, json};

const FIRST: &str = "anthropic/claude-sonnet-4-6";
const SECOND: &str = "openrouter/anthropic/claude-sonnet-4.6";
const TWO_ATTEMPTS: &str = "[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n";

fn scene(answers: impl IntoIterator<Item = Answer>) -> Scene {
    Scene::new(answers).with_workspace(Workspace::new().user_config(TWO_ATTEMPTS))
}

fn overloaded() -> Answer {
    Answer::error(529, "overloaded_error", "Overloaded")
}

fn quota() -> Answer {
    Answer::error(402, "insufficient_quota", "the account has no credit left")
}

fn with_fallback(scene: &Scene) -> ProgramOutput {
    scene.print(["--fallback-model", SECOND]).run()
}

fn fallback_lines(output: &ProgramOutput) -> Vec<Value> {
    output.stream().events.into_iter().filter(|event| event["type"] == "ibeam").collect()
}

fn wires(scene: &Scene) -> Vec<Wire> {
    scene.server.requests().iter().map(|request| request.wire).collect()
}

#[test]
fn an_overloaded_model_is_replaced_by_one_on_another_api() {
    let call = || answer_call("t1", "ls", &json!({ "path": "." })).thinking("hidden", "signed");
    let scene = scene([call(), overloaded(), overloaded(), answer_text("done")]);
    let output = with_fallback(&scene).succeeded();
    assert_eq!(wires(&scene), [Wire::Anthropic, Wire::Anthropic, Wire::Anthropic, Wire::OpenAi]);
    let stream = output.stream();
    let [line] = fallback_lines(&output).try_into().unwrap();
    assert_eq!(
        (&line["from_model"], &line["to_model"], &line["code"]),
        (&json!(FIRST), &json!(SECOND), &json!("provider"))
    );
    let summary = &stream.last()["ibeam"];
    let [entry] = summary["fallbacks"].as_array().unwrap().as_slice() else { panic!("{summary}") };
    assert_eq!((&entry["from_model"], &entry["message"]), (&json!(FIRST), &line["message"]));
    let counts = |index: usize| {
        let model = &summary["models"][index];
        (model["model"].clone(), model["requests"].clone(), model["failed_requests"].clone())
    };
    assert_eq!(counts(0), (json!(FIRST), json!(1), json!(2)));
    assert_eq!(counts(1), (json!(SECOND), json!(1), json!(0)));
    assert!(output.stderr.contains(&format!("`{SECOND}` takes over")), "{output}");
    let sent = scene.server.requests()[3].body.to_string();
    assert!(sent.contains("t1") && !sent.contains("signed"), "{sent}");
    let recorded = journal(&scene, stream.session_id());
    assert!(recorded.iter().any(|event| event["kind"]["notice"]["model_fallback"]["to"] == SECOND));
}

#[test]
fn a_session_begins_with_the_first_model_again() {
    let scene = scene([quota(), answer_text("one")]);
    let session = with_fallback(&scene).succeeded().stream().session_id().to_owned();
    let scene = scene.with_answers([answer_text("two")]);
    let resumed = scene.print(["--fallback-model", SECOND, "--resume", &session]).run().succeeded();
    assert_eq!((wires(&scene), fallback_lines(&resumed).len()), (vec![Wire::Anthropic], 0));
}

/// Anthropic reports an account without credit as an invalid request.
#[test]
fn an_account_without_credit_is_an_exhausted_quota() {
    let message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
    let empty = || Answer::error(400, "invalid_request_error", message);
    let output = with_fallback(&scene([empty(), answer_text("done")])).succeeded();
    assert_eq!(fallback_lines(&output)[0]["code"], "rate_limited");
    let output = scene([empty()]).print(["--output-format", "text"]).run();
    assert!(output.code == Some(24) && output.stderr.contains("check the billing"), "{output}");
}

#[test]
fn an_exhausted_quota_is_not_retried_and_the_failure_of_the_last_model_counts() {
    let scene = scene([quota(), answer_text("done")]);
    let output = with_fallback(&scene).succeeded();
    assert_eq!(fallback_lines(&output)[0]["code"], "rate_limited");
    let scene = scene.with_answers([quota(), quota()]);
    let output = with_fallback(&scene);
    assert_eq!((output.code, wires(&scene).len()), (Some(24), 2), "{output}");
    let failed = output.stream().last().clone();
    assert_eq!(
        (&failed["code"], failed["ibeam"]["fallbacks"].as_array().unwrap().len()),
        (&json!("rate_limited"), 1)
    );
    // Another failure is not a reason for another model.
    let scene = scene.with_answers([Answer::error(400, "invalid_request_error", "no such parameter")]);
    assert_eq!(with_fallback(&scene).code, Some(22));
}

#[test]
fn the_models_come_from_the_flag_or_the_configuration_too() {
    let scene = scene([quota(), answer_text("done")]);
    let both = format!("{FIRST},{SECOND}");
    let output = scene.print(["--model", &both]).run().succeeded();
    assert_eq!(fallback_lines(&output)[0]["to_model"], SECOND, "{output}");
    let config = format!("model = [{FIRST:?}, {SECOND:?}]\n");
    let scene =
        Scene::new([quota(), answer_text("done")]).with_workspace(Workspace::new().user_config(&config));
    let output = scene
        .ibeam_without_model(["-p", "do it"])
        .env("ANTHROPIC_BASE_URL", scene.server.url())
        .env("OPENROUTER_BASE_URL", scene.server.url())
        .env("ANTHROPIC_API_KEY", KEY)
        .env("OPENROUTER_API_KEY", KEY)
        .run()
        .succeeded();
    assert_eq!(fallback_lines(&output)[0]["to_model"], SECOND, "{output}");
}

#[test]
fn a_fallback_model_without_a_key_is_reported_and_an_unknown_one_is_an_error() {
    let scene = scene([answer_text("done")]);
    let output = scene.print(["--fallback-model", "mistral/devstral"]).run().succeeded();
    assert!(output.stderr.contains("`mistral/devstral` cannot be used as a fallback model"), "{output}");
    let unknown = scene.print(["--fallback-model", "no-such-model-anywhere"]).run();
    assert_eq!((unknown.code, scene.server.requests().len()), (Some(21), 1), "{unknown}");
    let key = scene.print(["--fallback-model", SECOND, "--api-key", "k"]).run();
    assert!(key.code == Some(2) && key.stderr.contains("`--api-key` is for one provider"), "{key}");
}

/// A model that does not reason and has a lower limit than the user set.
const SMALL: &str = "anthropic/gpt-4o";

#[test]
fn each_model_gets_the_effort_and_the_limits_that_it_takes() {
    let config = format!("{TWO_ATTEMPTS}[limits]\nmax_output_tokens = 30000\n");
    let scene =
        Scene::new([quota(), answer_text("done")]).with_workspace(Workspace::new().user_config(&config));
    let output = scene.print(["--fallback-model", SMALL, "--effort", "high"]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert!(warnings.iter().any(|line| line.contains("--effort") && line.contains("GPT-4o")), "{output}");
    let bodies: Vec<Value> =
        scene.server.requests().into_iter().map(|request| request.body.clone()).collect();
    assert_eq!((&bodies[0]["max_tokens"], bodies[0]["thinking"].is_object()), (&json!(30000), true));
    assert_eq!((&bodies[1]["max_tokens"], bodies[1].get("thinking")), (&json!(16_384), None));
    let scene = scene.with_answers([quota(), answer_text("done")]);
    scene.print(["--fallback-model", SECOND, "--effort", "high"]).run().succeeded();
    assert_eq!(scene.server.requests()[1].body["reasoning"], json!({ "effort": "high" }));
}

#[test]
fn an_attached_image_must_suit_every_model_and_other_images_are_named_to_those_that_cannot_see() {
    let scene = scene([answer_call("t1", "read", &json!({ "path": "a.png" })), quota(), answer_text("done")]);
    std::fs::write(scene.workspace.path().join("a.png"), PNG).unwrap();
    let run = |args: &[&str]| {
        let blind = ["--fallback-model", "mistral/devstral-medium-latest"];
        let args = blind.iter().chain(args).copied().collect::<Vec<_>>();
        let url = scene.server.url();
        scene.print(args).env("MISTRAL_API_KEY", KEY).env("MISTRAL_BASE_URL", url).run()
    };
    let refused = run(&["--image", "a.png"]);
    let expect = "`a.png` is an image, and the fallback model `devstral-medium-latest` cannot see images";
    assert!(refused.code == Some(2) && refused.stderr.contains(expect), "{refused}");
    assert_eq!(scene.server.requests().len(), 0);
    run(&[]).succeeded();
    let sent: Vec<String> = scene.server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(sent[1].contains("iVBO") && !sent[2].contains("iVBO"), "{sent:?}");
    assert!(sent[2].contains("image/png `a.png`, 69 bytes, not shown"), "{}", sent[2]);
}
