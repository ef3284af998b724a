//! `[models.NAME]`: the facts about a model that the configuration sets, in requests, in lists and in errors.

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{ModelServer, ServiceModel, StrictService, Wire, Workspace};
use serde_json::{Value, json};

/// Returns a scene with a service of Anthropic, an answer and this configuration.
fn scene(config: &str) -> Scene {
    let server = ModelServer::strict(StrictService::new([ServiceModel::SONNET_5_5]), [answer_text("done")]);
    let workspace = Workspace::new().user_config(config);
    Scene { wire: Wire::Anthropic, workspace, server }
}

/// Returns the body of the only request of a run at `effort`, and the summary of the run.
#[track_caller]
fn run(config: &str, effort: &str) -> (Value, Value) {
    let scene = scene(config);
    let args = ["-p", "do it", "--model", "claude-sonnet-5-5", "--effort", effort];
    let ibeam = scene.ibeam_without_model(args).env("ANTHROPIC_BASE_URL", scene.server.url());
    let output = ibeam.env("ANTHROPIC_API_KEY", KEY).run().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 1, "{:?}", scene.server.refusals());
    (requests[0].body.clone(), output.stream().last()["ibeam"].clone())
}

#[test]
fn a_level_that_the_configuration_excludes_is_replaced_and_the_result_has_the_used_one() {
    let levels = "[models.\"claude-sonnet-5-5\".thinking]\nlevels = [\"low\", \"medium\"]\n";
    let (body, summary) = run(levels, "max");
    assert_eq!(body["output_config"]["effort"], "medium");
    assert_eq!(summary["effort_used"], "medium");
    let (body, summary) = run("", "max");
    assert_eq!((&body["output_config"]["effort"], summary.get("effort_used")), (&json!("max"), None));
}

#[test]
fn a_table_with_the_provider_takes_precedence_and_each_field_stands_alone() {
    let config = "[models.\"claude-sonnet-5-5\"]\nmax_output_tokens = 3000\nthinking.levels = [\"low\"]\n\
                  [models.\"anthropic/claude-sonnet-5-5\"]\nmax_output_tokens = 5000\n\
                  [models.\"openai/claude-sonnet-5-5\"]\nmax_output_tokens = 7000\n";
    let (body, _) = run(config, "high");
    assert_eq!((&body["max_tokens"], &body["output_config"]["effort"]), (&json!(5000), &json!("low")));
}

#[test]
fn a_wrong_value_ends_with_its_place_and_the_accepted_form() {
    for (setting, expect) in [
        ("context_window = \"big\"", "a whole number above 0"),
        ("rules = [\"fast\"]", "a list of some of \"added_tools\""),
        ("thinking.form = \"deep\"", "one of \"none\", \"adaptive\""),
        ("thinking.levels = [\"none\"]", "a list of some of \"minimal\""),
        ("prices = \"cheap\"", "should be dollars for a million tokens"),
        ("tiers = [\"3/15\"]", "such as \"200000:6/22.5\""),
        ("retires = \"soon\"", "should be a day"),
        ("wire = \"soap\"", "should be \"openai\""),
    ] {
        let scene = scene(&format!("[models.\"claude-sonnet-5-5\"]\n{setting}\n"));
        let args = ["-p", "do it", "--model", "anthropic/claude-sonnet-5-5"];
        let output = scene.ibeam_without_model(args).env("ANTHROPIC_API_KEY", KEY).run();
        assert_eq!(output.code, Some(78), "{setting}: {output}");
        let has_place = output.stderr.contains("config.toml:2");
        assert!(has_place && output.stderr.contains(expect), "{setting}: {output}");
    }
    let unknown = scene("[models.\"claude-sonnet-5-5\"]\ncontext_windw = 5\n");
    let args = ["-p", "do it", "--model", "claude-sonnet-5-5"];
    let ibeam = unknown.ibeam_without_model(args).env("ANTHROPIC_BASE_URL", unknown.server.url());
    let output = ibeam.env("ANTHROPIC_API_KEY", KEY).run().succeeded();
    assert_eq!(output.stderr.matches("context_windw").count(), 1, "{output}");
}

#[test]
fn lists_and_status_name_the_fields_of_the_configuration() {
    let config = "[models.\"claude-sonnet-5-5\"]\nimages = false\nretires = \"2099-01-31\"\n\
                  [models.context]\nclaude-sonnet-5-5 = 4096\n";
    let scene = scene(config);
    let with_key = |args: &[&str]| {
        let ibeam = scene.ibeam_without_model(args).env("ANTHROPIC_BASE_URL", scene.server.url());
        ibeam.env("ANTHROPIC_API_KEY", KEY).run().succeeded()
    };
    let list: Value = serde_json::from_str(&with_key(&["models", "--json"]).stdout).unwrap();
    let model = &list["models"][0];
    assert_eq!(model["configured"], json!(["context_window", "images", "retires"]), "{model}");
    assert_eq!((&model["context_window"], &model["retires"]), (&json!(4096), &json!("2099-01-31")));
    assert_eq!(model["abilities"]["images"], false);
    let text = with_key(&["models", "--details"]).stdout;
    assert!(text.contains("; from the configuration: context_window, images, retires\n"), "{text}");
    let status = with_key(&["status", "--model", "claude-sonnet-5-5"]).stdout;
    assert!(status.contains("from the configuration: context_window, images, retires\n"), "{status}");
}
