//! Settings of model requests: `--effort`, `--thinking-budget`, `--system-prompt`, `--append-system-prompt`.

use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{Wire, Workspace};
use serde_json::{Value, json};

/// Runs with these arguments and variables. Returns the body of the request, and stderr.
#[track_caller]
fn body_of(scene: &Scene, args: &[&str], variables: &[(&str, &str)]) -> Value {
    let mut run = scene.print(args);
    for (name, value) in variables {
        run = run.env(name, value);
    }
    run.run().succeeded();
    scene.server.requests()[0].body.clone()
}

fn scene() -> Scene {
    Scene::new([answer_text("Done.")])
}

#[test]
fn effort_comes_from_a_flag_a_variable_or_the_configuration() {
    let effort = |body: Value| body["output_config"]["effort"].clone();
    let configured = || {
        let workspace = Workspace::new().user_config("effort = \"low\"\n");
        scene().with_workspace(workspace)
    };
    assert_eq!(body_of(&scene(), &[], &[]).get("thinking"), None);
    assert_eq!(effort(body_of(&scene(), &["--effort", "medium"], &[])), "medium");
    assert_eq!(effort(body_of(&scene(), &["--thinking-budget", "20000"], &[])), "medium");
    let variable = [("IBEAM_EFFORT", "minimal")];
    assert_eq!(effort(body_of(&scene(), &[], &variable)), "low");
    assert_eq!(effort(body_of(&scene(), &[], &[("IBEAM_THINKING_BUDGET", "30000")])), "high");
    assert_eq!(effort(body_of(&configured(), &[], &[])), "low");
    let off = body_of(&configured(), &["--effort=none"], &variable);
    assert_eq!((off.get("output_config"), &off["thinking"]), (None, &json!({ "type": "disabled" })));
}

#[test]
fn an_unknown_effort_is_a_usage_error_that_names_the_levels() {
    let scene = scene();
    let output = scene.print(["--effort", "deep"]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("--effort") && output.stderr.contains("xhigh"), "{output}");
    assert!(scene.server.requests().is_empty());
}

#[test]
fn a_model_that_does_not_reason_gets_no_effort_and_the_user_a_warning() {
    let scene = Scene::with_wire(Wire::Anthropic, [answer_text("Done.")]);
    let model = ["--model", "anthropic/gpt-4.1", "--effort", "high"];
    let output = scene.print(model).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert!(warnings.iter().any(|line| line.contains("--effort") && line.contains("GPT-4.1")), "{output}");
    assert_eq!(scene.server.requests()[0].body.get("thinking"), None);
}

#[test]
fn every_api_sends_the_effort_of_the_user() {
    for wire in Wire::ALL {
        let scene = Scene::with_wire(wire, [answer_text("Done.")]);
        let plain = Scene::with_wire(wire, [answer_text("Done.")]);
        let (with, without) = (body_of(&scene, &["--effort", "high"], &[]), body_of(&plain, &[], &[]));
        let keys = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let nested = |body: &Value| body.get("generationConfig").or(body.get("generation_config")).cloned();
        assert!(keys(&with) != keys(&without) || nested(&with) != nested(&without), "{wire:?}: {with}");
    }
}

#[test]
fn a_system_prompt_replaces_the_built_in_instructions_only() {
    let scene = scene().with_workspace(Workspace::new().file("AGENTS.md", "Use tabs."));
    std::fs::write(scene.workspace.path().join("reviewer.md"), "You are a reviewer.\n").unwrap();
    let flags = ["--trust", "--system-prompt", "@reviewer.md", "--append-system-prompt", "@@ann asks."];
    let body = body_of(&scene, &flags, &[]);
    let text = body["system"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("You are a reviewer.\n") && !text.contains("You are ibeam"), "{text}");
    assert!(text.contains("Use tabs.") && text.contains("Working directory: "), "{text}");
    assert!(text.ends_with("\n@ann asks.\n"), "{text}");
}

#[test]
fn a_missing_file_of_a_system_prompt_is_named() {
    for flag in ["--system-prompt", "--append-system-prompt"] {
        let scene = scene();
        let output = scene.print([flag, "@nowhere.md"]).run();
        assert_eq!(output.code, Some(66), "{output}");
        assert!(output.stderr.contains("nowhere.md"), "{output}");
        assert!(scene.server.requests().is_empty());
    }
    assert_eq!(scene().print(["--system-prompt", ""]).run().code, Some(2));
}
