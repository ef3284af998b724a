//! Conversations over a pipe in memory: the other side is a script.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};

use super::*;

/// The server's end.
struct Other {
    reads: BufReader<ReadHalf<DuplexStream>>,
    writes: WriteHalf<DuplexStream>,
}

impl Other {
    async fn reads(&mut self, expect: &str) {
        let mut line = String::new();
        self.reads.read_line(&mut line).await.unwrap();
        assert_eq!(line.trim_end(), expect);
    }

    async fn writes(&mut self, line: &str) {
        self.writes.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

/// Runs a conversation; nothing in it takes longer than the guard.
fn talk<F: Future<Output = ()>>(story: impl FnOnce(Peer, Other) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = duplex(64 * 1024);
        let (output, input) = split(ours);
        let (reads, writes) = split(theirs);
        let story = story(Peer::new(input, output), Other { reads: BufReader::new(reads), writes });
        tokio::time::timeout(Duration::from_secs(20), story).await.expect("the conversation hangs");
    });
}

async fn flood(other: &mut Other, chunk: &[u8]) {
    while other.writes.write_all(chunk).await.is_ok() {}
}

/// The answer, which comes before the flood has an end.
async fn unless_written<T>(answer: impl Future<Output = T>, flood: impl Future<Output = ()>) -> T {
    tokio::select! {
        answer = answer => answer,
        () = async { flood.await; std::future::pending().await } => unreachable!(),
    }
}

fn text(answer: Result<Box<RawValue>, RequestError>) -> Result<String, String> {
    answer.map(|raw| raw.get().to_owned()).map_err(|error| error.to_string())
}

#[test]
fn answers_come_in_any_order() {
    talk(|peer, mut other| async move {
        let (first, second, ()) = tokio::join!(
            peer.request("first", json!({})),
            peer.request("second", json!({ "x": 1 })),
            async {
                other.reads(r#"{"jsonrpc":"2.0","id":1,"method":"first","params":{}}"#).await;
                other.reads(r#"{"jsonrpc":"2.0","id":2,"method":"second","params":{"x":1}}"#).await;
                other.writes(r#"{"jsonrpc":"2.0","id":2,"result":"two"}"#).await;
                other.writes(r#"{"jsonrpc":"2.0","id":9,"result":"nobody asked"}"#).await;
                other.writes(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#).await;
            }
        );
        assert_eq!(text(first), Err("it answered with error -1: no".to_owned()));
        assert_eq!(text(second), Ok("\"two\"".to_owned()));
    });
}

#[test]
fn a_ping_is_answered_and_everything_else_declined() {
    talk(|peer, mut other| async move {
        let _stays = peer;
        other.writes(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
        other.reads(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#).await;
        other.writes(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#).await;
        let declined = r#"{"code":-32601,"message":"the client has no method `roots/list`"}"#;
        other.reads(&format!(r#"{{"jsonrpc":"2.0","id":5,"error":{declined}}}"#)).await;
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_cancelled() {
    talk(|peer, mut other| async move {
        let asked = peer.request("slow", json!({}));
        let given_up = tokio::time::timeout(Duration::from_millis(10), asked).await;
        assert!(given_up.is_err());
        other.reads(r#"{"jsonrpc":"2.0","id":1,"method":"slow","params":{}}"#).await;
        let params = r#"{"requestId":1,"reason":"the client no longer waits"}"#;
        other
            .reads(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#))
            .await;
    });
}

#[test]
fn an_end_ends_every_request_and_all_that_come_later() {
    talk(|peer, other| async move {
        let (answer, ()) = tokio::join!(peer.request("a", json!({})), async { drop(other) });
        assert_eq!(text(answer), Err("it closed its output".to_owned()));
        assert_eq!(text(peer.request("b", json!({})).await), Err("it closed its output".to_owned()));
    });
}

#[test]
fn a_banner_is_passed_over_and_a_flood_is_not() {
    talk(|peer, mut other| async move {
        let (answer, ()) = tokio::join!(peer.request("a", json!({})), async {
            other.writes("Server started\n\n").await;
            other.writes(r#"{"jsonrpc":"2.0","id":1,"result":1}"#).await;
        });
        assert_eq!(text(answer), Ok("1".to_owned()));
        let answer = unless_written(peer.request("b", json!({})), flood(&mut other, b"y\n")).await;
        assert_eq!(text(answer), Err("it writes what is no MCP message: `y`".to_owned()));
    });
}

#[test]
fn a_line_beyond_the_cap_ends_the_conversation() {
    talk(|peer, mut other| async move {
        let flood = flood(&mut other, &[b'x'; 64 * 1024]);
        let answer = unless_written(peer.request("a", json!({})), flood).await;
        assert_eq!(text(answer), Err("it wrote a line of more than 16 MB".to_owned()));
    });
}

#[test]
fn hanging_up_closes_their_stdin_after_what_was_said() {
    talk(|peer, mut other| async move {
        peer.notify("bye", json!({}));
        peer.hang_up();
        other.reads(r#"{"jsonrpc":"2.0","method":"bye","params":{}}"#).await;
        other.reads("").await;
    });
}
