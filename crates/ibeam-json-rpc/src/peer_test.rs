//! Requests in both directions, over a pipe in memory.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};

use super::*;

const MAX_LINE_BYTES: usize = 1000;

/// The other end of the pipe.
struct OtherEnd {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl OtherEnd {
    async fn expect_line(&mut self, expect: &str) {
        let mut line = String::new();
        self.input.read_line(&mut line).await.unwrap();
        assert_eq!(line.trim_end(), expect);
    }

    async fn write_line(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

/// Echoes the parameters of requests and reports everything else.
struct Echo(mpsc::Sender<String>);

impl Handler for Echo {
    async fn on_request(&mut self, request: Request, responder: Responder) {
        responder.respond(request.parse_params::<Vec<u8>>()).await;
    }

    async fn on_notification(&mut self, notification: Notification) {
        self.0.send(notification.method).await.unwrap();
    }

    async fn on_invalid_line(
        &mut self,
        line: InvalidLine<'_>,
        responder: Responder,
    ) -> Result<(), CloseReason> {
        match line {
            InvalidLine::NotMessage { line: b"close", .. } => Err(CloseReason::invalid_output("it is done")),
            InvalidLine::NotMessage { problem, .. } => {
                responder.respond(Err::<(), _>(RpcError::new(1, format!("{problem:?}")))).await;
                Ok(())
            }
            InvalidLine::TooLong { max_bytes } => {
                responder.respond(Err::<(), _>(RpcError::new(2, max_bytes.to_string()))).await;
                Ok(())
            }
        }
    }
}

/// Runs `script` with a peer and the other end, for at most 20 s.
fn run<F: Future<Output = ()>>(script: impl FnOnce(Peer, OtherEnd, mpsc::Receiver<String>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (own, other) = duplex(64 * 1024);
        let (input, output) = split(own);
        let (other_input, other_output) = split(other);
        let (reports, received) = mpsc::channel(8);
        let (outgoing, lines) = mpsc::channel(8);
        tokio::spawn(write_lines(output, lines));
        let cancellation = |id| ("cancel", json!([id]));
        let options = PeerOptions { max_line_bytes: MAX_LINE_BYTES, cancellation };
        let peer = Peer::new(options, outgoing, input, Echo(reports));
        let other = OtherEnd { input: BufReader::new(other_input), output: other_output };
        let script = script(peer, other, received);
        tokio::time::timeout(Duration::from_secs(20), script).await.expect("the script hangs");
    });
}

#[test]
fn requests_of_both_ends_have_ids_of_their_own() {
    run(|peer, mut other, _| async move {
        let (result, ()) = tokio::join!(peer.request("ours", json!([])), async {
            other.expect_line(r#"{"jsonrpc":"2.0","id":1,"method":"ours","params":[]}"#).await;
            other.write_line(r#"{"jsonrpc":"2.0","id":1,"method":"theirs","params":[4]}"#).await;
            other.expect_line(r#"{"jsonrpc":"2.0","id":1,"result":[4]}"#).await;
            other.write_line(r#"{"jsonrpc":"2.0","id":1,"result":5}"#).await;
        });
        assert_eq!(result.unwrap().get(), "5");
    });
}

#[test]
fn invalid_parameters_are_an_error_of_their_request() {
    run(|peer, mut other, _| async move {
        let _open = peer;
        other.write_line(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":["x"]}"#).await;
        let message = "the parameters of `m` are not valid: invalid type: string \\\"x\\\", expected u8 at line 1 \
                       column 4";
        let error = format!(r#"{{"code":-32602,"message":"{message}"}}"#);
        other.expect_line(&format!(r#"{{"jsonrpc":"2.0","id":"a","error":{error}}}"#)).await;
    });
}

#[test]
fn invalid_lines_are_answered_without_an_id_until_the_handler_closes() {
    run(|peer, mut other, mut reports| async move {
        let error = |code, message| {
            format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{message}"}}}}"#)
        };
        other.write_line("[").await;
        other.expect_line(&error(1, "NotJson")).await;
        other.write_line("1").await;
        other.expect_line(&error(1, "NotMessage")).await;
        other.write_line(&"x".repeat(MAX_LINE_BYTES + 1)).await;
        other.expect_line(&error(2, "1000")).await;
        other.write_line(r#"{"method":"still here"}"#).await;
        assert_eq!(reports.recv().await.unwrap(), "still here");
        other.write_line("close").await;
        assert_eq!(reports.recv().await, None, "the reader drops its handler");
        assert_eq!(peer.close_reason(), Some(CloseReason::invalid_output("it is done")));
    });
}

#[test]
fn a_dropped_request_is_cancelled_and_a_finished_one_is_not() {
    run(|peer, mut other, _| async move {
        let (result, ()) = tokio::join!(peer.request("a", json!([])), async {
            other.expect_line(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#).await;
            other.write_line(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).await;
        });
        result.unwrap();
        drop(tokio::time::timeout(Duration::from_millis(10), peer.request("b", json!([]))).await);
        other.expect_line(r#"{"jsonrpc":"2.0","id":2,"method":"b","params":[]}"#).await;
        other.expect_line(r#"{"jsonrpc":"2.0","method":"cancel","params":[2]}"#).await;
        peer.close();
        other.expect_line("").await;
    });
}
