//! Connections to models: proxies, certificates, headers, and where keys come from.

use std::os::unix::fs::PermissionsExt as _;

use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, ProxyServer, Wire, Workspace};

/// A host that does not exist, so that only a proxy leads to it.
const HOST: &str = "model.ibeam.example";
const NO_RETRIES: &str = "[retry]\nattempts = 1\n[network]\ninsecure_hosts = [\"model.ibeam.example\"]\n";

fn scene_with(config: &str, answers: impl IntoIterator<Item = Answer>) -> Scene {
    let config = format!("{NO_RETRIES}{config}");
    Scene::with_wire(Wire::OpenAi, answers).with_workspace(Workspace::new().user_config(&config))
}

/// Returns a run with a model at `HOST`.
fn run_at_host(scene: &Scene) -> Ibeam {
    scene
        .ibeam_without_model(["-p", "x", "--model", "openai/foo"])
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("http://{HOST}/v1"))
}

#[track_caller]
fn check_answer(output: &ProgramOutput) {
    assert_eq!(output.stream().deltas(), ["hi"], "{output}");
}

#[test]
fn every_proxy_variable_and_every_kind_of_proxy_leads_to_the_model() {
    for (variable, scheme, request) in [
        ("HTTP_PROXY", "http://", "POST http://model.ibeam.example/v1/chat/completions"),
        ("http_proxy", "", "POST http://model.ibeam.example/v1/chat/completions"),
        ("ALL_PROXY", "socks5h://", "SOCKS5 model.ibeam.example:80"),
        ("all_proxy", "socks5h://me:p%40ssword@", "SOCKS5 model.ibeam.example:80"),
        ("HTTP_PROXY", "http://me:p%40ssword@", "POST http://model.ibeam.example/v1/chat/completions"),
    ] {
        let scene = scene_with("", [answer_text("hi")]);
        let url = scene.server.url();
        let proxy = match scheme.contains('@') {
            true => ProxyServer::with_credentials(&url, "me", "p@ssword"),
            false => ProxyServer::start(&url),
        };
        let output =
            run_at_host(&scene).env(variable, format!("{scheme}{}", proxy.address())).run().succeeded();
        check_answer(&output);
        assert_eq!(proxy.requests(), [request], "{variable} {scheme}");
    }
}

/// With `socks5`, this program resolves names.
#[test]
fn a_socks5_proxy_gets_an_address() {
    let scene = scene_with("", [answer_text("hi")]);
    let proxy = ProxyServer::start(&scene.server.url());
    let output = run_at_host(&scene)
        .env("OPENAI_BASE_URL", "http://10.1.2.3:8080/v1")
        .args(["--endpoint", "http://10.1.2.3:8080/v1", "--header", "X-Team: a"])
        .env("OPENAI_API_KEY", "")
        .args(["--model", "foo"])
        .env("ALL_PROXY", format!("socks5://{}", proxy.address()))
        .run()
        .succeeded();
    check_answer(&output);
    assert_eq!(proxy.requests(), ["SOCKS5 10.1.2.3:8080"]);
}

#[test]
fn no_proxy_is_used_for_this_machine_and_for_hosts_of_no_proxy() {
    let scene = scene_with("", [answer_text("hi")]);
    let proxy = ProxyServer::without_targets();
    let proxied = |run: Ibeam| run.env("ALL_PROXY", format!("http://{}", proxy.address()));
    let local = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo"]).env("OPENAI_API_KEY", KEY);
    let local = local.env("OPENAI_BASE_URL", format!("{}/v1", scene.server.url()));
    check_answer(&proxied(local).run().succeeded());
    let output = proxied(run_at_host(&scene)).env("no_proxy", ".ibeam.example").run();
    check_failure(&output, 26);
    assert!(!output.stderr.contains("the proxy `"), "{output}");
    assert!(proxy.requests().is_empty());
}

/// The message says whether the proxy or the server failed, and names the variable, but no password.
#[test]
fn a_proxy_that_fails_is_named_with_its_variable() {
    let gone = {
        let url = ibeam_testkit::unreachable_url();
        url.trim_start_matches("http://").to_owned()
    };
    let blind = ProxyServer::without_targets().address();
    let locked = ProxyServer::with_credentials("http://127.0.0.1:9", "me", "another-password").address();
    let wrong = format!("me:wrong-password@{locked}");
    for (base, proxy, detail) in [
        ("http", format!("http://{gone}"), "cannot be reached: "),
        ("https", format!("http://{gone}"), "cannot be reached: "),
        ("http", format!("socks5h://{gone}"), "cannot be reached"),
        ("https", "http://proxy.ibeam.example:3128".to_owned(), "cannot be reached: no such host"),
        ("http", format!("socks5h://{blind}"), "cannot connect to it: connection refused"),
        ("https", format!("http://{blind}"), "refuses to connect to it"),
        ("https", format!("http://{locked}"), "requires credentials"),
        ("http", format!("http://{locked}"), "requires credentials"),
        ("http", format!("socks5h://{locked}"), "requires credentials"),
        ("https", format!("http://{wrong}"), "refuses the user and password"),
        ("http", format!("http://{wrong}"), "refuses the user and password"),
        ("http", format!("socks5h://{wrong}"), "refuses the user and password"),
    ] {
        let scene = scene_with("", []);
        let output = run_at_host(&scene)
            .env("OPENAI_BASE_URL", format!("{base}://{HOST}/v1"))
            .env("all_proxy", &proxy)
            .run();
        check_failure(&output, 26);
        let start = format!("the proxy `{}` of `$all_proxy` ", proxy.replace("me:wrong-password@", ""));
        assert!(output.stderr.contains(&format!("{start}{detail}")), "{base} {proxy}: {output}");
        assert!(!output.stderr.contains("password@") && output.stderr.contains(HOST), "{output}");
    }
}

/// A wrong variable does not mean a connection without the proxy.
#[test]
fn a_wrong_proxy_variable_ends_the_run() {
    for value in ["ftp://me:secret-word@proxy", "socks5://", "http://me:secret-word@a b"] {
        let scene = scene_with("", []);
        let output = run_at_host(&scene).env("HTTP_PROXY", value).run();
        check_failure(&output, 78);
        assert!(output.stderr.contains("$HTTP_PROXY") && output.stderr.contains("socks5h://"), "{output}");
        assert!(!output.stderr.contains("secret-word"), "{output}");
    }
}

#[test]
fn the_password_of_a_proxy_is_removed_from_outputs() {
    let scene = scene_with("", [answer_command("echo proxy-pass'word'"), answer_text("hi")]);
    let proxy = ProxyServer::with_credentials(&scene.server.url(), "me", "proxy-password");
    let output = run_at_host(&scene)
        .args(["--force", "--sandbox", "disabled"])
        .env("HTTP_PROXY", format!("http://me:proxy-password@{}", proxy.address()))
        .run()
        .succeeded();
    assert!(output.stdout.contains("\"stdout\":\"***"), "{output}");
    assert!(!output.stdout.contains("proxy-password"), "{output}");
}

/// Returns a scene whose provider `mine` has these settings, and a run with it.
fn run_with_provider(settings: &str, answers: impl IntoIterator<Item = Answer>) -> (Scene, Ibeam) {
    let scene = Scene::with_wire(Wire::OpenAi, answers);
    let base_url = format!("{}/v1", scene.server.url());
    let config = NO_RETRIES.replace("attempts = 1", "attempts = 3");
    let config = format!("{config}[providers.mine]\nbase_url = \"{base_url}\"\n{settings}\n");
    let scene = scene.with_workspace(Workspace::new().user_config(&config));
    let run = scene.ibeam_without_model(["-p", "x", "--model", "mine/foo"]);
    (scene, run)
}

fn sent_keys(scene: &Scene) -> Vec<String> {
    let key =
        |request: &ibeam_testkit::Request| request.header("authorization").unwrap_or_default().to_owned();
    scene.server.requests().iter().map(key).collect()
}

/// Writes a program into the home directory.
fn add_program(scene: &Scene, name: &str, script: &str) {
    let path = scene.workspace.home().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_key_comes_from_the_output_of_a_command() {
    let settings = "api_key_command = [\"~/key\", \"a b\", \"$HOME\"]";
    let call = ibeam_testkit::scene::answer_call("call_1", "ls", &serde_json::json!({ "path": "." }));
    let (scene, run) = run_with_provider(settings, [call, answer_text("hi")]);
    // Arguments reach the program without a shell; the command runs once for both requests.
    add_program(&scene, "key", "echo run >>runs; pwd >>runs; [ \"$1\" = 'a b' ] && echo \" $2-0123456789 \"");
    let output = run.run().succeeded();
    check_answer(&output);
    assert_eq!(sent_keys(&scene), ["Bearer $HOME-0123456789", "Bearer $HOME-0123456789"]);
    let runs = std::fs::read_to_string(scene.workspace.home().join("runs")).unwrap();
    assert_eq!(runs.lines().collect::<Vec<_>>(), ["run", &scene.workspace.home().display().to_string()]);
    assert_eq!(output.stream().init()["apiKeySource"], "login", "{output}");
}

#[test]
fn the_key_of_a_command_is_removed_from_outputs() {
    let settings = "api_key_command = [\"echo\", \"sk-from-a-command-01\"]";
    let answers = [answer_command("echo sk-from-a-command-0$((1))"), answer_text("hi")];
    let (_scene, run) = run_with_provider(settings, answers);
    let output = run.args(["--force", "--sandbox", "disabled"]).run().succeeded();
    assert!(output.stdout.contains("\"stdout\":\"***"), "{output}");
    assert!(!output.stdout.contains("sk-from-a-command-01"), "{output}");
}

fn answer_command(command: &str) -> Answer {
    ibeam_testkit::scene::answer_call("call_1", "shell", &serde_json::json!({ "command": command }))
}

#[test]
fn a_refused_key_of_a_command_is_requested_again_once() {
    let settings = "api_key_command = [\"~/key\"]";
    let refused =
        || Answer::status(401, serde_json::json!({ "error": { "message": "expired" } }).to_string());
    let counting = "echo run >>runs; echo key-number-$(wc -l <runs | tr -d ' ')-0123";
    let (scene, run) = run_with_provider(settings, [refused(), answer_text("hi")]);
    add_program(&scene, "key", counting);
    check_answer(&run.run().succeeded());
    assert_eq!(sent_keys(&scene), ["Bearer key-number-1-0123", "Bearer key-number-2-0123"]);
    let (scene, run) = run_with_provider(settings, [refused(), refused(), answer_text("never")]);
    add_program(&scene, "key", counting);
    check_failure(&run.run(), 20);
    assert_eq!(scene.server.requests().len(), 2);
}

#[test]
fn a_command_that_gives_no_key_is_reported_with_its_error_output() {
    for (script, detail) in [
        ("echo 'gpg: no secret key' >&2; exit 3", "`~/key` ended with exit status: 3: gpg: no secret key"),
        ("echo locked >&2; sleep 30", "`~/key` did not end within 300ms: locked"),
        ("true", "it gives no text"),
        ("echo two words", "one word"),
    ] {
        let settings = "api_key_command = [\"~/key\"]\n[timeouts]\napi_key_command = \"300ms\"";
        let (scene, run) = run_with_provider(settings, []);
        add_program(&scene, "key", script);
        let output = run.run();
        check_failure(&output, 20);
        let stderr = &output.stderr;
        assert!(stderr.contains("providers.mine.api_key_command") && stderr.contains(detail), "{output}");
        assert!(output.elapsed < std::time::Duration::from_secs(10), "{output}");
        assert!(scene.server.requests().is_empty());
    }
    for (command, detail) in [("[\"no-such-program\"]", "not in PATH"), ("[\"./key\"]", "relative path")] {
        let (_scene, run) = run_with_provider(&format!("api_key_command = {command}"), []);
        let output = run.run();
        check_failure(&output, 20);
        assert!(output.stderr.contains(detail), "{output}");
    }
    let (_scene, run) = run_with_provider("api_key_command = []", []);
    check_failure(&run.run(), 78);
}

#[test]
fn a_key_comes_from_a_file() {
    let (scene, run) = run_with_provider("api_key_file = \"~/key.txt\"", [answer_text("hi")]);
    std::fs::write(scene.workspace.home().join("key.txt"), "key-of-a-file-0123\n").unwrap();
    check_answer(&run.run().succeeded());
    assert_eq!(sent_keys(&scene), ["Bearer key-of-a-file-0123"]);
    let (_scene, run) = run_with_provider("api_key_file = \"~/missing\"", []);
    let output = run.run();
    check_failure(&output, 20);
    assert!(output.stderr.contains("api_key_file") && output.stderr.contains("missing"), "{output}");
    // The model may not read the file.
    let call =
        ibeam_testkit::scene::answer_call("call_1", "read", &serde_json::json!({ "path": "~/key.txt" }));
    let (scene, run) = run_with_provider("api_key_file = \"~/key.txt\"", [call, answer_text("hi")]);
    std::fs::write(scene.workspace.home().join("key.txt"), "key-of-a-file-0123\n").unwrap();
    let output = run.args(["--force"]).run().succeeded();
    assert!(!output.stdout.contains("key-of-a-file"), "{output}");
    assert!(output.stdout.contains("is hidden from the model"), "{output}");
    // A variable is stronger.
    let settings = "api_key_file = \"~/missing\"\nkey_variable = \"MINE\"";
    let (scene, run) = run_with_provider(settings, [answer_text("hi")]);
    check_answer(&run.env("MINE", KEY).run().succeeded());
    assert_eq!(sent_keys(&scene), [format!("Bearer {KEY}")]);
}

#[test]
fn a_request_is_sent_with_the_next_key_if_one_is_refused_or_has_no_quota() {
    let refused = || Answer::error(401, "authentication_error", "wrong key");
    let busy = || Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "30");
    let empty = || Answer::error(402, "insufficient_quota", "no credit");
    let call = ibeam_testkit::scene::answer_call("call_1", "ls", &serde_json::json!({ "path": "." }));
    let settings = "key_variable = [\"FIRST\", \"UNSET\", \"SECOND\", \"THIRD\"]";
    let (scene, run) = run_with_provider(settings, [refused(), busy(), call, answer_text("hi")]);
    let with_keys = |run: Ibeam| {
        let keys = [("FIRST", "first-key-0123"), ("SECOND", "second-key-0123"), ("THIRD", "third-key-0123")];
        keys.into_iter().fold(run, |run, (name, key)| run.env(name, key))
    };
    let output = with_keys(run).args(["--force"]).run().succeeded();
    check_answer(&output);
    let expected = ["first", "second", "third", "third"].map(|name| format!("Bearer {name}-key-0123"));
    assert_eq!(sent_keys(&scene), expected);
    assert!(!output.stdout.contains("-key-0123") && !output.stderr.contains("-key-0123"), "{output}");
    // None is left.
    let (scene, run) = run_with_provider(settings, [empty(), empty(), empty()]);
    let output = with_keys(run).run();
    assert!(output.code != Some(0) && output.stderr.contains("no credit"), "{output}");
    assert_eq!(sent_keys(&scene).len(), 3, "{output}");
    // Files are lists too, and each of them is hidden.
    let call = ibeam_testkit::scene::answer_call("call_1", "read", &serde_json::json!({ "path": "~/b.txt" }));
    let settings = "api_key_file = [\"~/a.txt\", \"~/b.txt\"]";
    let (scene, run) = run_with_provider(settings, [refused(), call, answer_text("hi")]);
    for name in ["a", "b"] {
        let path = scene.workspace.home().join(format!("{name}.txt"));
        std::fs::write(path, format!("key-of-file-{name}-0123\n")).unwrap();
    }
    let output = run.args(["--force"]).run().succeeded();
    assert!(output.stdout.contains("is hidden from the model"), "{output}");
    assert_eq!(sent_keys(&scene).last().unwrap(), "Bearer key-of-file-b-0123");
}

/// The author of these settings could read the key or run a program without the sandbox.
#[test]
fn a_project_sets_no_command_file_or_certificate_even_if_it_is_trusted() {
    for flags in [&[][..], &["--trust"]] {
        let project = "[providers.openai]\napi_key_command = [\"touch\", \"planted\"]\napi_key_file = \"key\"\n\
                       [tls]\nca_file = \"ca.pem\"\nclient_cert = \"me.pem\"\nclient_key = \"me.pem\"\n";
        let workspace = Workspace::new().user_config(NO_RETRIES).file(".ibeam/config.toml", project);
        let scene = Scene::with_wire(Wire::OpenAi, [answer_text("hi")]).with_workspace(workspace);
        let run = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo"]).args(flags);
        let base_url = format!("{}/v1", scene.server.url());
        let output = run.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", base_url).run().succeeded();
        check_answer(&output);
        for key in ["api_key_command", "api_key_file", "tls.ca_file", "tls.client_cert", "tls.client_key"] {
            let is_reported = output.stderr_lines("warning: ").iter().any(|line| line.contains(key));
            assert!(is_reported, "{key}: {output}");
        }
    }
    // The address of a service, its headers and its key count only in a trusted workspace.
    let project = "[providers.openai]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey_variable = \"OTHER\"\n\
                   headers.X-Team = \"a\"\n";
    let workspace = Workspace::new().user_config(NO_RETRIES).file(".ibeam/config.toml", project);
    let scene = Scene::with_wire(Wire::OpenAi, [answer_text("hi")]).with_workspace(workspace);
    let run = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo"]).env("OPENAI_API_KEY", KEY);
    let config = format!("{NO_RETRIES}[providers.openai]\nbase_url = \"{}/v1\"\n", scene.server.url());
    std::fs::write(scene.workspace.home().join(".config/ibeam/config.toml"), config).unwrap();
    check_answer(&run.run().succeeded());
    assert_eq!(scene.server.requests()[0].header("x-team"), None);
}

#[test]
fn headers_of_flags_and_of_the_configuration_are_sent_and_the_flag_wins() {
    let settings = "headers.X-Team = \"from-file\"\nheaders.X-Other = \"kept\"";
    let (scene, run) = run_with_provider(settings, [answer_text("hi")]);
    let flags = ["-H", "x-team: from-flag", "-H", "User-Agent: mine/1", "-H", "Authorization: Bearer abc"];
    check_answer(&run.args(flags).run().succeeded());
    let requests = scene.server.requests();
    let header = |name| requests[0].header(name);
    assert_eq!((header("x-team"), header("x-other")), (Some("from-flag"), Some("kept")));
    assert_eq!((header("user-agent"), header("authorization")), (Some("mine/1"), Some("Bearer abc")));
}

#[test]
fn a_header_with_the_key_replaces_the_key() {
    let scene = scene_with("", [answer_text("hi")]);
    let base_url = format!("{}/v1", scene.server.url());
    let run = scene.ibeam_without_model(["-p", "x", "--model", "openai/foo", "--endpoint", &base_url]);
    let output = run.args(["-H", "Authorization: Bearer sk-of-a-header-0123"]).run().succeeded();
    check_answer(&output);
    assert_eq!(sent_keys(&scene), ["Bearer sk-of-a-header-0123"]);
}

#[test]
fn a_wrong_header_is_refused_without_its_value() {
    for (header, detail) in [
        ("secret-word", "`Name: value`"),
        (": secret-word", "`Name: value`"),
        ("X Y: secret-word", "`X Y` is not a header name"),
        ("X-Key: secret-word\nX: y", "line break"),
        ("Host: secret-word", "the connection sets it"),
        ("Proxy-Authorization: secret-word", "the connection sets it"),
    ] {
        let scene = scene_with("", []);
        let output = run_at_host(&scene).args(["--header", header]).run();
        check_failure(&output, 2);
        assert!(output.stderr.contains(detail) && !output.stderr.contains("secret-word"), "{output}");
    }
    let (_scene, run) = run_with_provider("headers.\"X Y\" = \"secret-word\"", []);
    let output = run.run();
    check_failure(&output, 78);
    assert!(output.stderr.contains("config.toml:7") && !output.stderr.contains("secret-word"), "{output}");
}

#[test]
fn explain_shows_no_secret_header() {
    let settings = "headers.X-Gateway-Token = \"secret-word\"\nheaders.X-Team = \"search\"";
    let (scene, _run) = run_with_provider(settings, []);
    let output = scene.ibeam_without_model(["config", "explain"]).run().succeeded();
    assert!(output.stdout.contains("X-Team = \"search\""), "{output}");
    assert!(output.stdout.contains("X-Gateway-Token") && !output.stdout.contains("secret-word"), "{output}");
}

#[test]
fn status_names_the_file_or_the_program_of_a_key_and_runs_nothing() {
    let (scene, _run) = run_with_provider("api_key_command = [\"~/key\", \"secret-word\"]", []);
    add_program(&scene, "key", "touch ran; echo key-0123456789");
    let output = scene.ibeam_without_model(["status", "--model", "mine/foo"]).run().succeeded();
    assert!(output.stdout.contains("mine (key from the command `~/key`)"), "{output}");
    assert!(
        !output.stdout.contains("secret-word") && !scene.workspace.home().join("ran").exists(),
        "{output}"
    );
}
