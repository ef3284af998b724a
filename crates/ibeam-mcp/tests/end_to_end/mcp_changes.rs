//! Changes of the lists of MCP servers over HTTP, which are requested again before the next prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ibeam_testkit::Stdin;
use ibeam_testkit::http_mcp_server::{McpAnswer, McpRequest, McpServer};
use ibeam_testkit::message_stream::{FLAGS, message};
use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::stdio_mcp_server::call;
use serde_json::{Value, json};

/// The messages in the stream of a server.
const CHANGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
const ACKNOWLEDGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\
                            \"params\":{\"notifications\":{\"toolsListChanged\":true}}}\n\n";

/// Returns a list with `count` tools.
fn tools(count: usize) -> Value {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } });
    let tools: Vec<Value> = ["echo", "later"].into_iter().take(count).map(tool).collect();
    json!({ "tools": tools })
}

/// Runs two prompts in one session with a server whose list grows, and which reports it in the stream that a request opens.
/// Returns the numbers of its tools that the model was offered, and the requests that the server received.
fn offered(
    is_stateless: bool,
    announces: bool,
    opens: impl Fn(&McpRequest) -> bool + Send + Sync + 'static,
) -> ((usize, usize), Vec<McpRequest>) {
    let (has_stream, lists) = (Arc::new(AtomicBool::new(!announces)), AtomicUsize::new(0));
    let capabilities = json!({ "tools": { "listChanged": announces } });
    let server = McpServer::start(move |request| match request.rpc() {
        _ if opens(request) => {
            has_stream.store(true, Ordering::Relaxed);
            McpAnswer::events([ACKNOWLEDGED, CHANGED].concat())
        }
        "server/discover" if is_stateless => {
            request.result(json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities }))
        }
        "initialize" => {
            request.result(json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }))
        }
        "tools/list" => request.result(tools(1 + lists.fetch_add(1, Ordering::Relaxed))),
        "tools/call" => {
            // The change reaches the program before the next prompt.
            while !has_stream.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(300));
            request.result(json!({ "content": [{ "type": "text", "text": "called" }] }))
        }
        "notifications/initialized" => McpAnswer::status(202),
        _ => McpAnswer::status(400),
    });
    let scene = Scene::new([call("echo", json!({})), answer_text("One."), answer_text("Two.")])
        .with_workspace(server.workspace(""));
    let lines = ["first", "second"].map(message).concat();
    let flags = ["--allow", "Mcp(test:*)"];
    scene.ibeam(FLAGS).args(flags).stdin(Stdin::Piped(lines.into())).run().succeeded();
    let requests = scene.server.requests();
    let count = |at: usize| {
        let tools = requests[at].body["tools"].as_array().unwrap();
        tools.iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("mcp_test_")).count()
    };
    ((count(0), count(2)), server.received())
}

#[test]
fn a_change_in_a_subscription_of_revision_2026_07_28_counts() {
    let (found, received) = offered(true, true, |request| request.rpc() == "subscriptions/listen");
    assert_eq!(found, (1, 2));
    let listen = received.iter().find(|request| request.rpc() == "subscriptions/listen").unwrap();
    assert_eq!(listen.body["params"]["notifications"], json!({ "toolsListChanged": true }));
    let metadata = &listen.body["params"]["_meta"];
    assert_eq!(metadata["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(listen.header("mcp-method"), Some("subscriptions/listen"));
}

#[test]
fn a_change_in_the_stream_of_a_session_counts() {
    let (found, _) = offered(false, true, |request| request.rpc().is_empty());
    assert_eq!(found, (1, 2));
}

#[test]
fn a_server_that_announces_no_changes_is_not_subscribed_to() {
    let (found, received) = offered(true, false, |request| request.rpc() == "subscriptions/listen");
    assert_eq!(found, (1, 1));
    assert!(received.iter().all(|request| request.rpc() != "subscriptions/listen"));
}
