//! Requests to a scripted server, over a pipe in memory.

use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use super::*;
use crate::elicitation::Elicitation;
use crate::list_changes::ServerList;

/// The server's end of the pipe.
struct FakeServer {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl FakeServer {
    async fn expect_line(&mut self, expect: &str) {
        let mut line = String::new();
        self.input.read_line(&mut line).await.unwrap();
        assert_eq!(line.trim_end(), expect);
    }

    async fn write_line(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

/// Runs `script` with a client and its server, for at most 20 s.
fn run<F: Future<Output = ()>>(script: impl FnOnce(RpcClient, FakeServer) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client_end, server_end) = duplex(64 * 1024);
        let (output, input) = split(client_end);
        let (server_input, server_output) = split(server_end);
        let server = FakeServer { input: BufReader::new(server_input), output: server_output };
        let requests = ServerRequests::new("test", Elicitation::Decline, None);
        let script = script(RpcClient::new(input, output, requests), server);
        tokio::time::timeout(Duration::from_secs(20), script).await.expect("the script hangs");
    });
}

async fn flood(server: &mut FakeServer, chunk: &[u8]) {
    while server.output.write_all(chunk).await.is_ok() {}
}

/// Returns the result, which arrives before the flood ends.
async fn result_during<T>(flood: impl Future<Output = ()>, result: impl Future<Output = T>) -> T {
    tokio::select! {
        result = result => result,
        () = async { flood.await; std::future::pending().await } => unreachable!(),
    }
}

fn text(result: Result<Box<RawValue>, RequestError>) -> Result<String, String> {
    result.map(|raw| raw.get().to_owned()).map_err(|error| error.to_string())
}

#[test]
fn responses_arrive_in_any_order() {
    run(|client, mut server| async move {
        let (first, second, ()) = tokio::join!(
            client.request("first", json!({})),
            client.request("second", json!({ "x": 1 })),
            async {
                server.expect_line(r#"{"jsonrpc":"2.0","id":1,"method":"first","params":{}}"#).await;
                server.expect_line(r#"{"jsonrpc":"2.0","id":2,"method":"second","params":{"x":1}}"#).await;
                server.write_line(r#"{"jsonrpc":"2.0","id":2,"result":"two"}"#).await;
                server.write_line(r#"{"jsonrpc":"2.0","id":9,"result":"not requested"}"#).await;
                server.write_line(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#).await;
            }
        );
        assert_eq!(text(first), Err("it answered with error -1: no".to_owned()));
        assert_eq!(text(second), Ok("\"two\"".to_owned()));
    });
}

#[test]
fn a_ping_is_answered_and_other_requests_are_rejected() {
    run(|client, mut server| async move {
        let _open = client;
        server.write_line(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
        server.expect_line(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#).await;
        server.write_line(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#).await;
        let error = r#"{"code":-32601,"message":"the client has no method `roots/list`"}"#;
        server.expect_line(&format!(r#"{{"jsonrpc":"2.0","id":5,"error":{error}}}"#)).await;
    });
}

#[test]
fn a_dropped_request_is_cancelled() {
    run(|client, mut server| async move {
        let request = client.request("slow", json!({}));
        let timed_out = tokio::time::timeout(Duration::from_millis(10), request).await;
        assert!(timed_out.is_err());
        server.expect_line(r#"{"jsonrpc":"2.0","id":1,"method":"slow","params":{}}"#).await;
        let params = r#"{"requestId":1,"reason":"the client no longer waits"}"#;
        server
            .expect_line(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
            ))
            .await;
    });
}

#[test]
fn the_end_of_the_server_ends_current_and_later_requests() {
    run(|client, server| async move {
        let (result, ()) = tokio::join!(client.request("a", json!({})), async { drop(server) });
        assert_eq!(text(result), Err("it closed its output".to_owned()));
        assert_eq!(text(client.request("b", json!({})).await), Err("it closed its output".to_owned()));
    });
}

#[test]
fn a_banner_is_ignored_and_a_flood_closes_the_connection() {
    run(|client, mut server| async move {
        let (result, ()) = tokio::join!(client.request("a", json!({})), async {
            server.write_line("Server started\n\n").await;
            server.write_line(r#"{"jsonrpc":"2.0","id":1,"result":1}"#).await;
        });
        assert_eq!(text(result), Ok("1".to_owned()));
        let result = result_during(flood(&mut server, b"y\n"), client.request("b", json!({}))).await;
        assert_eq!(text(result), Err("it writes lines that are not MCP messages: `y`".to_owned()));
    });
}

#[test]
fn a_line_over_the_limit_closes_the_connection() {
    run(|client, mut server| async move {
        let flood = flood(&mut server, &[b'x'; 64 * 1024]);
        let result = result_during(flood, client.request("a", json!({}))).await;
        assert_eq!(text(result), Err("it wrote a line of more than 16 MB".to_owned()));
    });
}

#[test]
fn closing_writes_queued_lines_and_then_closes_stdin() {
    run(|client, mut server| async move {
        client.notify("bye", json!({}));
        client.close();
        server.expect_line(r#"{"jsonrpc":"2.0","method":"bye","params":{}}"#).await;
        server.expect_line("").await;
    });
}

#[test]
fn a_subscription_stays_open_and_does_not_keep_stdin_open() {
    run(|client, mut server| async move {
        client.subscribe(json!({ "toolsListChanged": true }));
        let mut line = String::new();
        server.input.read_line(&mut line).await.unwrap();
        let request: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(request["method"], "subscriptions/listen");
        assert_eq!(request["params"]["notifications"], json!({ "toolsListChanged": true }));
        server.write_line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
        server.write_line(r#"{"jsonrpc":"2.0","id":2,"result":"after the change"}"#).await;
        assert_eq!(text(client.request("a", json!({})).await), Ok(r#""after the change""#.to_owned()));
        assert!(client.changes().take(ServerList::Tools));
        server.expect_line(r#"{"jsonrpc":"2.0","id":2,"method":"a","params":{}}"#).await;
        client.close();
        server.expect_line("").await;
    });
}
