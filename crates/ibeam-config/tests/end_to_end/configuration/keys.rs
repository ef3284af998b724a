//! An API key is sent only to its own service, and only encrypted.

use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text};
use ibeam_testkit::{Ibeam, ProgramOutput, Workspace};
use serde_json::json;

/// Asserts that a run sent one request, and whether one of its headers contains the key.
#[track_caller]
fn check_key(scene: &Scene, output: &ProgramOutput, is_sent: bool) {
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 1, "{output}");
    let headers = ["authorization", "x-api-key", "x-gateway-token"];
    let sent: Vec<&str> = headers.iter().filter_map(|name| requests[0].header(name)).collect();
    assert_eq!(sent.iter().any(|value| value.contains(KEY)), is_sent, "{sent:?} {output}");
}

fn endpoint(scene: &Scene) -> String {
    format!("{}/v1", scene.server.url())
}

#[test]
fn a_service_key_is_sent_to_no_other_server() {
    let header = format!("[providers.openai.headers]\nX-Gateway-Token = \"{KEY}\"\n");
    let model = "model = \"anthropic/claude-sonnet-4-6\"\n".to_owned();
    for (config, flags) in [
        (String::new(), &["--model", "foo"][..]),
        (String::new(), &["--model", "claude-sonnet-4-6"]),
        (String::new(), &["--model", "Qwen/Qwen3-8B"]),
        (header, &["--model", "foo"]),
        // The service is named, but not for this server.
        (model, &[]),
    ] {
        let scene = Scene::with_wire(wire_for(&config, flags), [answer_text("hi")]);
        let scene = scene.with_workspace(Workspace::new().user_config(&config));
        let run = scene.ibeam_without_model(["-p", "x", "--endpoint", &endpoint(&scene)]).args(flags);
        let output = with_every_key(run).run().succeeded();
        check_key(&scene, &output, false);
    }
}

fn wire_for(config: &str, flags: &[&str]) -> ibeam_testkit::Wire {
    let is_claude = config.contains("claude") || flags.iter().any(|flag| flag.contains("claude"));
    if is_claude { ibeam_testkit::Wire::Anthropic } else { ibeam_testkit::Wire::OpenAi }
}

fn with_every_key(run: Ibeam) -> Ibeam {
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"]
        .into_iter()
        .fold(run, |run, name| run.env(name, KEY))
}

#[test]
fn the_only_configured_key_is_sent_to_no_other_server() {
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY"] {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
        let run = scene.ibeam_without_model(["-p", "x", "--model", "foo", "--endpoint", &endpoint(&scene)]);
        let output = run.env(name, KEY).run().succeeded();
        check_key(&scene, &output, false);
        assert_eq!(output.stream().init()["ibeam"]["api_key"], "none", "{output}");
    }
}

#[test]
fn a_key_is_sent_to_the_server_configured_for_its_service() {
    let configured = |scene: &Scene| format!("[providers.openai]\nbase_url = \"{}\"\n", endpoint(scene));
    for by_flag in [true, false] {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
        let config = if by_flag { String::new() } else { configured(&scene) };
        let scene = scene.with_workspace(Workspace::new().user_config(&config));
        let run = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo"]).env("OPENAI_API_KEY", KEY);
        let url = endpoint(&scene);
        let run = if by_flag { run.args(["--endpoint", &url]) } else { run };
        let output = run.run().succeeded();
        check_key(&scene, &output, true);
    }
    let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
    let url = endpoint(&scene);
    let output = scene
        .ibeam_without_model(["-p", "x", "--model", "foo", "--endpoint", &url, "--api-key", KEY])
        .run()
        .succeeded();
    check_key(&scene, &output, true);
}

#[test]
fn an_endpoint_or_a_key_without_a_model_is_an_error() {
    let scene = Scene::new([]);
    let url = endpoint(&scene);
    for flags in [
        &["--endpoint", &url, "--api-key", KEY][..],
        &["--endpoint", &url],
        &["--endpoint", &url, "--model", "auto"],
        &["--api-key", KEY],
    ] {
        let run = scene.ibeam_without_model(["-p", "x"]).args(flags).env("ANTHROPIC_API_KEY", "another");
        let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).run();
        check_failure(&output, 2);
        assert!(output.stderr.contains("--model") && !output.stderr.contains(KEY), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
    let listed = scene
        .ibeam_without_model(["models", "--endpoint", &url])
        .env("ANTHROPIC_API_KEY", KEY)
        .run()
        .succeeded();
    assert!(listed.stdout.contains("\nscripted-1 - "), "{listed}");
}

/// Returns a run that uses the scripted server as the proxy for every connection.
fn through_proxy(scene: &Scene, config_model: &str) -> Ibeam {
    let run = scene.ibeam_without_model(["-p", "x", "--model", config_model]);
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
        .into_iter()
        .fold(run, |run, name| run.env(name, scene.server.url()))
}

const NO_RETRIES: &str = "[retry]\nattempts = 1\n";

#[test]
fn a_key_is_not_sent_unencrypted() {
    let none = ("UNUSED", "");
    let cases = [
        ("openai/foo", ("OPENAI_BASE_URL", "http://api.example.com/v1"), &[][..], "$OPENAI_BASE_URL"),
        ("openai/foo", ("OPENAI_BASE_URL", "HTTP://API.example.com/v1"), &[], "$OPENAI_BASE_URL"),
        ("openai/foo", ("OPENAI_API_BASE", "http://127.0.0.1@api.example.com"), &[], "$OPENAI_API_BASE"),
        ("openai/foo", none, &["--endpoint", "http://api.example.com/v1"], "--endpoint"),
        ("foo", none, &["--endpoint", "http://api.example.com/v1", "--api-key", KEY], "--endpoint"),
        ("foo", none, &["--endpoint", "http://a.example.com", "--header", "X-Api-Key: k"], "--endpoint"),
    ];
    for (model, (name, value), flags, source) in cases {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("never")]);
        let run = through_proxy(&scene, model).args(flags).env("OPENAI_API_KEY", KEY);
        let output = run.env(name, value).run();
        check_failure(&output, 78);
        assert!(
            output.stderr.contains(source) && output.stderr.contains("network.insecure_hosts"),
            "{output}"
        );
        assert_eq!((scene.server.requests().len(), scene.server.connections()), (0, 0), "{output}");
    }
}

#[test]
fn a_base_url_in_a_file_must_be_encrypted_too() {
    let config = "[providers.mine]\nbase_url = \"http://box.example.com:8000/v1\"\nkey_variable = \"MINE\"\n";
    let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("never")]);
    let scene = scene.with_workspace(Workspace::new().user_config(config));
    let output = through_proxy(&scene, "mine/foo").env("MINE", KEY).run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("config.toml:2") && output.stderr.contains("box.example.com"), "{output}");
    assert_eq!(scene.server.connections(), 0);
}

/// HTTPS is the default scheme, so no request reaches a proxy that could read it.
#[test]
fn a_base_url_without_a_scheme_is_encrypted() {
    for flags in [&[][..], &["--endpoint", "api.example.com/v1"]] {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("never")]);
        let scene = scene.with_workspace(Workspace::new().user_config(NO_RETRIES));
        let run = through_proxy(&scene, "openai/foo").args(flags).env("OPENAI_API_KEY", KEY);
        let output = run.env("OPENAI_BASE_URL", "api.example.com/v1").run();
        assert!(matches!(output.code, Some(26 | 27)), "{output}");
        assert_eq!(scene.server.requests().len(), 0, "{output}");
        assert!(scene.server.connections() > 0, "the proxy received a request for a tunnel: {output}");
    }
    // Requests to this machine use plain HTTP.
    let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
    let url = endpoint(&scene);
    let run = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo"]).env("OPENAI_API_KEY", KEY);
    let output = run.env("OPENAI_BASE_URL", url.strip_prefix("http://").unwrap()).run().succeeded();
    check_key(&scene, &output, true);
}

#[test]
fn a_user_setting_allows_unencrypted_keys_for_one_host() {
    let setting = |host: &str| format!("[network]\ninsecure_hosts = [\"{host}\"]\n");
    for (host, is_named) in [("api.example.com", true), ("api.example.com:80", true), ("example.com", false)]
    {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
        let scene = scene.with_workspace(Workspace::new().user_config(&setting(host)));
        let run = through_proxy(&scene, "openai/foo").env("OPENAI_API_KEY", KEY);
        let output = run.env("OPENAI_BASE_URL", "http://api.example.com/v1").run();
        match is_named {
            true => check_key(&scene, &output.succeeded(), true),
            false => check_failure(&output, 78),
        }
    }
    // A project cannot set this, trusted or not.
    let workspace = Workspace::new().file(".ibeam/config.toml", setting("api.example.com"));
    let scene =
        Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("never")]).with_workspace(workspace);
    let run = through_proxy(&scene, "openai/foo").args(["--trust"]).env("OPENAI_API_KEY", KEY);
    let output = run.env("OPENAI_BASE_URL", "http://api.example.com/v1").run();
    check_failure(&output, 78);
}

/// A server that needs no key receives none and may use plain HTTP.
#[test]
fn plain_http_without_a_key_is_allowed() {
    let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
    let run = through_proxy(&scene, "lmstudio/foo").env("LMSTUDIO_BASE_URL", "http://10.0.0.5:8000/v1");
    check_key(&scene, &run.env("OPENAI_API_KEY", KEY).run().succeeded(), false);
}

/// A project may declare a server and a person may approve it. Neither gives the server the key of a model.
#[test]
fn a_model_key_is_not_expanded_for_a_project_server() {
    let Some(python) = ibeam_testkit::stdio_mcp_server::python() else { return };
    let server = ibeam_testkit::stdio_mcp_server::SERVER;
    let declared = |variable: &str| {
        let env = json!({ "COPY": format!("x${{env:{variable}}}") });
        json!({ "mcpServers": { "test": { "command": python, "args": ["server.py"], "env": env } } })
            .to_string()
    };
    let call_variable = || answer_call("toolu_variable", "mcp_test_variable", &json!({ "name": "COPY" }));
    let run = |workspace: Workspace, flag: &str| {
        let scene = Scene::new([call_variable(), answer_text("done")])
            .with_workspace(workspace.file("server.py", server));
        let output = scene.print([flag]).env("SAME", KEY).env("OTHER_API_KEY", "other-key").run().succeeded();
        (output, scene)
    };
    for (variable, is_expanded) in
        [("ANTHROPIC_API_KEY", false), ("XAI_API_KEY", false), ("SAME", false), ("OTHER_API_KEY", true)]
    {
        for flag in ["--approve-mcps", "--trust", "--force"] {
            let workspace = Workspace::new().file(".cursor/mcp.json", declared(variable));
            let (output, scene) = run(workspace, flag);
            let status = output.stream().init()["mcp_servers"][0]["status"].clone();
            assert_eq!(status, if is_expanded { "connected" } else { "failed" }, "{variable}: {output}");
            let warned = output.stderr.contains(variable) && output.stderr.contains("the key of a model");
            assert_eq!(warned, !is_expanded, "{output}");
            let sent: Vec<String> = scene.server.requests().iter().flat_map(|one| one.transcript()).collect();
            assert!(!sent.iter().any(|text| text.contains(KEY)), "{sent:?}");
        }
    }
    // The user's own file may use the key.
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.home().join(".cursor")).unwrap();
    std::fs::write(workspace.home().join(".cursor/mcp.json"), declared("ANTHROPIC_API_KEY")).unwrap();
    let (output, _scene) = run(workspace, "--force");
    assert_eq!(output.stream().init()["mcp_servers"][0]["status"], "connected", "{output}");
}
