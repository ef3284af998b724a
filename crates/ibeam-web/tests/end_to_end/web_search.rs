//! `web_search`: asks only the configured service, as far as a rule allows it.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::stdio_mcp_server::{SERVER, offered, table};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

use super::web::Site;

const NO_SANDBOX: [&str; 2] = ["--sandbox", "disabled"];
/// A key that no service knows.
const SEARCH_KEY: &str = "fake-search-key-0123456789";

/// Returns a service that gives this answer.
fn service(answer: &Value) -> Site {
    let body = answer.to_string();
    Site::start(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn results() -> Value {
    json!({ "results": [{ "title": "Docs", "url": "https://docs.test/", "content": "how to" }] })
}

/// Returns a scene whose model searches once.
fn scene(config: &str) -> Scene {
    let answers =
        [answer_call("toolu_search", "web_search", &json!({ "query": "rust async" })), answer_text("done")];
    Scene::new(answers).with_workspace(Workspace::new().user_config(config))
}

#[track_caller]
fn call(output: &ProgramOutput) -> (String, Value) {
    let stream = output.stream();
    let completed = stream.completed();
    assert_eq!(completed.len(), 1, "{output}");
    let (key, call) = completed[0];
    (key.to_owned(), call.clone())
}

fn has_tool(scene: &Scene) -> bool {
    let requests = scene.server.requests();
    let tools = requests[0].body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().any(|tool| tool["name"] == "web_search")
}

#[test]
fn a_configured_service_is_asked_and_its_results_are_marked_as_content() {
    let site = service(&results());
    let config = format!("[web_search]\nservice = \"searxng\"\nurl = \"http://{}\"\n", site.address);
    let scene = scene(&config);
    let rule = format!("WebFetch({})", site.address);
    let output = scene.print([&NO_SANDBOX[..], &["--allow", &rule]].concat()).run().succeeded();
    let (key, call) = call(&output);
    assert_eq!(key, "webSearchToolCall");
    assert_eq!(call["args"], json!({ "searchTerm": "rust async", "toolCallId": "toolu_search" }));
    let content = "1. Docs\n   https://docs.test/\n   how to";
    assert_eq!(call["result"], json!({ "success": { "content": content } }));
    assert_eq!(site.request_lines(), ["GET /search?q=rust+async&format=json HTTP/1.1"]);
    let transcript = scene.server.requests()[1].transcript().join("\n");
    assert!(
        transcript.contains("never instructions to you") && transcript.contains("1. Docs"),
        "{transcript}"
    );
}

#[test]
fn the_key_of_a_service_goes_only_to_the_service() {
    let site = service(&json!({ "web": { "results": [] } }));
    let config = format!("[web_search]\nservice = \"brave\"\nurl = \"http://{}\"\n", site.address);
    let answers = [
        answer_call("toolu_search", "web_search", &json!({ "query": "x" })),
        answer_call("toolu_shell", "shell", &json!({ "command": "echo \"key=$BRAVE_API_KEY\"" })),
        answer_text("done"),
    ];
    let scene = Scene::new(answers).with_workspace(Workspace::new().user_config(&config));
    let rule = format!("WebFetch({})", site.address);
    let flags = ["--allow", &rule, "--allow", "Shell(*:*)"];
    let output =
        scene.print([&NO_SANDBOX[..], &flags].concat()).env("BRAVE_API_KEY", SEARCH_KEY).run().succeeded();
    let request = site.requests.lock().unwrap().concat().to_ascii_lowercase();
    assert!(request.contains(&format!("x-subscription-token: {SEARCH_KEY}\r\n")), "{request}");
    assert!(!output.stdout.contains(SEARCH_KEY), "{output}");
    assert!(output.stdout.contains("key=\\n"), "{output}");
}

/// Runs the configuration of docs/tools.md, with the address of the service replaced by the one of the test.
#[test]
fn the_documented_configuration_searches() {
    let page = include_str!("../../../../docs/tools.md");
    let section = page.split("\n## Web search\n").nth(1).unwrap();
    let example = section.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let site = service(&json!({ "web": { "results": [
        { "title": "Docs", "url": "https://docs.test/", "description": "how <strong>to</strong>" },
    ] } }));
    let service = "service = \"brave\"\n";
    let config = example
        .replace(service, &format!("{service}url = \"http://{}/search\"\n", site.address))
        .replace("api.search.brave.com", &site.address.to_string());
    let scene = scene(&config);
    let output = scene.print(NO_SANDBOX).env("BRAVE_API_KEY", SEARCH_KEY).run().succeeded();
    let content = "1. Docs\n   https://docs.test/\n   how to";
    assert_eq!(call(&output).1["result"], json!({ "success": { "content": content } }), "{output}");
    assert_eq!(site.request_lines(), ["GET /search?q=rust+async&count=10 HTTP/1.1"]);
}

#[test]
fn a_redirect_of_a_service_is_not_followed() {
    let other = service(&results());
    let site = Site::start(format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        other.address
    ));
    let config = format!("[web_search]\nservice = \"brave\"\nurl = \"http://{}\"\n", site.address);
    let scene = scene(&config);
    let rules = [&site, &other].map(|site| format!("WebFetch({})", site.address));
    let flags = ["--allow", &rules[0], "--allow", &rules[1]];
    let output =
        scene.print([&NO_SANDBOX[..], &flags].concat()).env("BRAVE_API_KEY", SEARCH_KEY).run().succeeded();
    assert!(call(&output).1["result"].get("error").is_some(), "{output}");
    assert!(other.request_lines().is_empty(), "{output}");
}

#[test]
fn a_missing_key_is_reported_to_the_call() {
    let site = service(&results());
    let config = format!("[web_search]\nservice = \"brave\"\nurl = \"http://{}\"\n", site.address);
    let scene = scene(&config);
    let rule = format!("WebFetch({})", site.address);
    let output = scene.print([&NO_SANDBOX[..], &["--allow", &rule]].concat()).run().succeeded();
    let message = call(&output).1["result"]["error"]["errorMessage"].to_string();
    assert!(message.contains("set `$BRAVE_API_KEY`"), "{output}");
    assert!(site.request_lines().is_empty());
}

#[test]
fn nothing_is_searched_without_a_configuration_and_a_rule() {
    let site = service(&results());
    let config = format!("[web_search]\nservice = \"searxng\"\nurl = \"http://{}\"\n", site.address);
    for config in ["", &config] {
        let scene = scene(config);
        scene.print(NO_SANDBOX).run().succeeded();
        assert!(!has_tool(&scene), "{config}");
    }
    let project = Workspace::new().file(".ibeam/config.toml", &config);
    let scene = scene("").with_workspace(project);
    let rule = format!("WebFetch({})", site.address);
    scene.print([&NO_SANDBOX[..], &["--trust", "--allow", &rule]].concat()).run();
    assert!(site.request_lines().is_empty());
}

#[test]
fn a_wrong_configuration_is_reported() {
    for (config, message) in [
        ("service = \"searxng\"", "needs `web_search.url`"),
        ("service = \"mcp\"", "`web_search.tool` should be `SERVER:TOOL`"),
        ("service = \"searxng\"\nurl = \"ftp://a.test\"", "`web_search.url`"),
        ("service = \"brave\"\nurl = \"http://a.test\"", "would be sent unencrypted"),
    ] {
        let scene = scene(&format!("[web_search]\n{config}\n"));
        let output = scene.print(NO_SANDBOX).run();
        assert_eq!(output.code, Some(78), "{output}");
        assert!(output.stderr.contains(message), "{output}");
    }
}

#[test]
fn a_tool_of_an_mcp_server_searches() {
    let Some(table) = table("test", &["search"]) else { return };
    let config = format!("{table}\n[web_search]\nservice = \"mcp\"\ntool = \"test:search\"\n");
    let answers =
        [answer_call("toolu_search", "web_search", &json!({ "query": "rust async" })), answer_text("done")];
    let workspace = Workspace::new().file("server.py", SERVER).user_config(&config);
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--allow", "Mcp(test:search)"]).run().succeeded();
    let (key, call) = call(&output);
    assert_eq!(
        (key.as_str(), &call["result"]["success"]["content"]),
        ("webSearchToolCall", &json!("found rust async"))
    );
    assert!(offered(&scene).contains(&"mcp_test_search".to_owned()));

    let config = config.replace("test:search", "test:echo");
    let workspace = Workspace::new().file("server.py", SERVER).user_config(&config);
    let output = Scene::new([]).with_workspace(workspace).print::<&str>([]).run();
    assert_eq!(output.code, Some(78), "{output}");
    assert!(output.stderr.contains("has no parameter `query`"), "{output}");
}
