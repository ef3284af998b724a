//! Faults of MCP servers over HTTP: unreachable, hanging, broken during a call, flooding, slow.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use ibeam_testkit::Workspace;
use ibeam_testkit::http_mcp_server::{McpAnswer, McpRequest, McpServer, with_sessions};
use ibeam_testkit::scene::{Scene, answer_text, check_unstarted, results};
use ibeam_testkit::stdio_mcp_server::{call, offered};
use serde_json::json;

use super::faults::check_failed_server;

/// Longer than any time limit of these tests.
const HANG: Duration = Duration::from_secs(30);

fn echo() -> ibeam_testkit::Answer {
    call("echo", json!({ "value": "x" }))
}

/// Starts a server that answers the messages with `method` by `answer`, and all others as it should.
fn server(
    method: &'static str,
    answer: impl Fn(&McpRequest) -> McpAnswer + Send + Sync + 'static,
) -> McpServer {
    McpServer::start(move |request| match request.rpc() == method {
        true => answer(request),
        false => with_sessions(request),
    })
}

#[test]
fn f172_an_http_server_that_cannot_be_used_is_reported_and_the_run_continues() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!("[mcp_servers.test]\nurl = \"http://127.0.0.1:{port}/mcp\"\n");
    let broken = server("initialize", |_| McpAnswer::status(500));
    let other = server("initialize", |request| request.result(json!({ "protocolVersion": "1999-01-01" })));
    for (workspace, message) in [
        (Workspace::new().user_config(&config), ""),
        (broken.workspace(""), "500"),
        (other.workspace(""), "1999-01-01"),
    ] {
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        let output = scene.print::<&str>([]).run().succeeded();
        check_failed_server(&scene, &output, message);
        assert_eq!(offered(&scene), Vec::<String>::new());
    }
}

#[test]
fn f172_a_required_http_server_that_cannot_be_used_ends_the_run() {
    let broken = server("initialize", |_| McpAnswer::status(500));
    let scene = Scene::new([]).with_workspace(broken.workspace("required = true\n"));
    let output = scene.print::<&str>([]).run();
    check_unstarted(&output, 78);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn f173_an_http_server_that_does_not_answer_is_given_up_at_its_timeout() {
    for method in ["server/discover", "initialize", "tools/list"] {
        let hanging = server(method, |request| {
            std::thread::sleep(HANG);
            with_sessions(request)
        });
        let workspace = hanging.workspace("\n[timeouts]\nmcp_start = \"1s\"\n");
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        let before = Instant::now();
        let output = scene.print::<&str>([]).run().succeeded();
        assert!(before.elapsed() < HANG / 2, "{method}: {output}");
        check_failed_server(&scene, &output, "1 s");
    }
}

#[test]
fn f174_an_http_server_that_fails_during_a_call_is_an_error_of_the_call() {
    let broken =
        server("tools/call", |request| match request.body["params"]["arguments"]["value"].as_str() {
            Some("cut") => McpAnswer::events("data:\n\n".to_owned()),
            Some("status") => McpAnswer::status(502),
            _ => with_sessions(request),
        });
    let cut = |value: &str| call("echo", json!({ "value": value }));
    let answers = [cut("cut"), cut("status"), echo(), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(broken.workspace(""));
    let output = scene.print(["--force"]).run().succeeded();
    let arms: Vec<String> = results(&output).into_iter().map(|(arm, _)| arm).collect();
    assert_eq!(arms, ["error", "error", "success"], "{output}");
}

#[test]
fn f175_an_answer_above_the_maximum_size_is_an_error_of_its_call() {
    let flood = server("tools/call", |request| {
        let text = "x".repeat(17 << 20);
        match request.body["params"]["arguments"]["value"].as_str() {
            Some("flood") => request.result(json!({ "content": [{ "type": "text", "text": text }] })),
            Some("event") => McpAnswer::events(format!("data: {text}\n\n")),
            _ => with_sessions(request),
        }
    });
    let large = |value: &str| call("echo", json!({ "value": value }));
    let answers = [large("flood"), large("event"), echo(), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(flood.workspace(""));
    let output = scene.print(["--force"]).run().succeeded();
    let arms: Vec<String> = results(&output).into_iter().map(|(arm, _)| arm).collect();
    assert_eq!(arms, ["error", "error", "success"]);
    assert!(output.stdout.len() < 1 << 20, "{} bytes", output.stdout.len());
}

#[test]
fn f178_the_first_request_waits_for_a_slow_http_server() {
    let slow = server("tools/list", |request| {
        std::thread::sleep(Duration::from_secs(2));
        with_sessions(request)
    });
    let scene = Scene::new([echo(), answer_text("done")]).with_workspace(slow.workspace(""));
    let output = scene.print(["--force"]).run().succeeded();
    assert!(offered(&scene).contains(&"mcp_test_echo".to_owned()), "{output}");
    assert_eq!(results(&output)[0].0, "success", "{output}");
}
