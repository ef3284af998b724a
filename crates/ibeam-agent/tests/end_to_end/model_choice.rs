//! The choice of the provider for a model name, and what a run without a usable key reports.

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, Workspace};

/// The address of the service that no test may reach.
const UNREACHABLE: &str = "http://127.0.0.1:9";

/// Runs with these variables and this model. No request may be sent: the services are those of the provider table.
fn run(model: &str, variables: &[(&str, &str)]) -> ProgramOutput {
    let scene = Scene::new([]);
    let mut run = scene.ibeam_without_model(["-p", "--output-format", "text", "--model", model, "x"]);
    for (name, value) in variables {
        run = run.env(name, value);
    }
    run.env("HTTPS_PROXY", UNREACHABLE).run()
}

#[track_caller]
fn check(model: &str, variables: &[(&str, &str)], code: i32, expected: &str) {
    let output = run(model, variables);
    assert_eq!(output.code, Some(code), "{model}: {output}");
    assert!(output.stderr.contains(expected), "{model}: {output}");
}

#[test]
fn a_model_of_a_provider_without_a_key_is_not_requested_from_another_provider() {
    let anthropic = [("ANTHROPIC_API_KEY", KEY)];
    check("gpt-5", &anthropic, 20, "no API key for `openai`");
    check("gemini-2.5-pro", &anthropic, 20, "no API key for `gemini`");
    check("claude-sonnet-4-5", &[("OPENAI_API_KEY", KEY)], 20, "no API key for `anthropic`");
    // The default address, in a variable.
    let same = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "https://api.anthropic.com")];
    check("gpt-5", &same, 20, "no API key for `openai`");
}

#[test]
fn a_misspelt_provider_is_reported_before_the_first_request() {
    let anthropic = [("ANTHROPIC_API_KEY", KEY)];
    let both = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    for variables in [&anthropic[..], &both[..]] {
        check("antropic/claude-sonnet-4-5", variables, 21, "did you mean `anthropic/claude-sonnet-4-5`?");
        check("opnai/gpt-5", variables, 21, "did you mean `openai/gpt-5`?");
    }
}

/// A name that no table has may be a new model of the provider. A gateway serves models of any name.
#[test]
fn other_names_are_requested_from_the_only_provider() {
    for (model, variables) in [
        ("my-own-model", ("ANTHROPIC_API_KEY", KEY)),
        ("gpt-5", ("OPENROUTER_API_KEY", KEY)),
        ("opena/gpt-5", ("OPENROUTER_API_KEY", KEY)),
        ("qwen/qwen3-coder", ("TOGETHER_API_KEY", KEY)),
        ("gemini-2.5-pro", ("VERTEX_ACCESS_TOKEN", KEY)),
    ] {
        check(model, &[variables], 26, "cannot reach");
    }
}

#[test]
fn a_server_at_the_address_of_the_user_may_serve_any_model() {
    for model in ["gpt-5", "opnai/gpt-5", "qwen/qwen3"] {
        let scene = Scene::new([answer_text("hi")]);
        let run = scene.ibeam_without_model(["-p", "x", "--model", model]);
        let run = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY);
        run.run().succeeded();
        assert_eq!(scene.server.requests()[0].body["model"], model);
    }
}

#[test]
fn a_refused_key_of_a_variable_names_the_variable_and_not_a_login() {
    let refused = || Answer::error(401, "authentication_error", "invalid x-api-key");
    let scene = Scene::new([refused(), refused()]);
    let output = scene.print(["--output-format", "text"]).run();
    assert_eq!(output.code, Some(20), "{output}");
    let expected = "error: `anthropic` refused the API key of `$ANTHROPIC_API_KEY`: invalid x-api-key\n\
                    hint: change `$ANTHROPIC_API_KEY` or leave it out";
    assert!(output.stderr.contains(expected), "{output}");
    let scene = scene.with_answers([refused(), refused()]);
    let run = scene.ibeam_without_model(["-p", "x", "--model", "anthropic/m", "--api-key", "bad-key-0123"]);
    let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).run();
    assert!(output.stderr.contains("refused the API key of `--api-key`"), "{output}");
}

#[test]
fn login_and_logout_warn_of_a_variable_that_overrides_the_stored_key() {
    let scene = Scene::new([]);
    let run = |args: &[&str], is_set: bool| {
        let run = scene.ibeam_without_model(args);
        let run = if is_set { run.env("ANTHROPIC_API_KEY", "of-the-variable-0123") } else { run };
        run.run().succeeded()
    };
    let login = ["login", "anthropic", "--no-check", "--api-key", KEY];
    let warning = "warning: `$ANTHROPIC_API_KEY` is set and takes precedence over the stored key";
    assert!(run(&login, true).stderr.contains(warning));
    assert_eq!(run(&login, false).stderr, "");
    for logout in [&["logout"][..], &["logout", "anthropic"]] {
        assert!(run(logout, true).stderr.contains("warning: `$ANTHROPIC_API_KEY` is still set"));
        assert_eq!(run(logout, false).stderr, "");
    }
    assert_eq!(run(&["logout", "openai"], true).stderr, "");
}

#[test]
fn without_any_key_the_error_is_about_keys_unless_an_embedded_model_can_be_installed() {
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["-p", "--output-format", "text", "x"]).run();
    if cfg!(feature = "embedded") {
        assert!(output.code == Some(21) && output.stderr.contains("ibeam setup"), "{output}");
        return;
    }
    assert_eq!(output.code, Some(20), "{output}");
    let expected =
        ["no API key is set or stored", "`$ANTHROPIC_API_KEY`", "`ibeam login PROVIDER`", "ollama/"];
    assert!(expected.iter().all(|part| output.stderr.contains(part)), "{output}");
    assert!(!output.stderr.contains("setup") && !output.stderr.contains("built"), "{output}");
    let output = scene.ibeam_without_model(["-p", "x"]).env("AZURE_OPENAI_API_KEY", KEY).run();
    assert!(
        output.code == Some(21) && output.stderr.contains("`azure` has a key, but no default"),
        "{output}"
    );
    let output = scene.ibeam_without_model(["-p", "x", "--model", "openai/gpt-5"]).run();
    assert!(output.code == Some(20) && !output.stderr.contains("setup"), "{output}");
}

/// `doctor`, `status` and `config explain` fail for a configuration with which no run starts.
#[test]
fn a_configuration_that_every_run_refuses_is_wrong_in_every_report() {
    for (config, expected) in [
        ("[sandbox]\ncaches = [\"carg\"]\n", "unknown cache `carg`"),
        ("[sandbox]\nwritable = [\"~\"]\n", "the home directory lies in it"),
        ("[sandbox]\nwritable = [\"cargo\"]\n", "add it to `sandbox.caches`"),
        ("[network]\nallow = [\"example\"]\n", "invalid host pattern"),
        ("[timeouts]\ntool = \"2h\"\ntool_longest = \"1h\"\n", "timeouts.tool_longest"),
    ] {
        let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
        for args in [&["-p", "x"][..], &["doctor"], &["status"], &["config", "explain"]] {
            let output = scene.ibeam(args).run();
            assert!(output.code == Some(78) && output.stderr.contains(expected), "{args:?}: {output}");
            assert!(args[0] != "doctor" || output.stdout.contains("wrong   configuration: "), "{output}");
        }
        assert!(!scene.workspace.home().join(".cargo").exists());
    }
    let config = "[sandbox]\ncaches = [\"cargo\"]\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    scene.ibeam(["status"]).run().succeeded();
    assert!(!scene.workspace.home().join(".cargo").exists(), "a report creates no cache");
}

#[test]
fn the_models_of_a_server_that_does_not_answer_are_an_error() {
    let scene = Scene::new([]);
    for flags in [&[][..], &["--json"]] {
        let url = ibeam_testkit::unreachable_url();
        let output = scene.ibeam_without_model(["models", "--endpoint", &url]).args(flags).run();
        assert!(output.code == Some(26) && output.stdout.is_empty(), "{output}");
        assert!(!output.stderr.contains("openai") && !output.stderr.contains("embedded"), "{output}");
    }
    let output = scene.ibeam(["models"]).run().succeeded();
    assert!(!output.stderr.contains("embedded"), "{output}");
}

#[test]
fn a_mistyped_tool_and_a_malformed_header_are_reported_before_a_missing_model() {
    let scene = Scene::new([]);
    for (flags, expected) in [
        (["--without", "web_fech"], "did you mean `web_fetch`?"),
        (["--without", "Shell"], "did you mean `shell`?"),
        (["--without", "zzzzzzz"], "use one of: `delete`"),
        (["--header", "foo"], "`--header` should be"),
    ] {
        let output = scene.ibeam_without_model(["-p", "x"]).args(flags).run();
        assert!(output.code == Some(2) && output.stderr.contains(expected), "{output}");
    }
    let scene = scene.with_answers([answer_text("hi")]);
    scene.print(["--without", "mcp_docs_search", "--without", "task"]).run().succeeded();
}

#[test]
fn listings_accept_both_spellings_of_json() {
    let scene = Scene::new([]);
    for command in
        [&["ls"][..], &["status"], &["about"], &["doctor"], &["models"], &["providers"], &["trust", "show"]]
    {
        for flags in [&["--json"][..], &["--format", "json"], &["--format=json"]] {
            let output = scene.ibeam(command).args(flags).run().succeeded();
            let value: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
            assert!(value.is_object() || value.is_array(), "{output}");
        }
        scene.ibeam(command).args(["--format", "text"]).run().succeeded();
    }
}
