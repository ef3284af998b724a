//! A server that sends given bytes, also those that no server library would send.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone)]
pub(super) enum Reply {
    /// Sends these bytes and keeps the connection.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    SendAndClose(Vec<u8>),
    /// Sends these bytes one by one.
    Dribble(Vec<u8>),
    /// Sends `first`, then `again` without end, with a pause after each time.
    Repeat { first: Vec<u8>, again: Vec<u8>, pause: Duration },
}

/// A server on the loopback interface that sends its replies in the order of the requests on all connections.
pub(super) struct RawServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl RawServer {
    pub(super) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let replies: Vec<Reply> = replies.into_iter().collect();
        let replies = Arc::new(Mutex::new(replies.into_iter()));
        let (connections, requests) = (Arc::clone(&server.connections), Arc::clone(&server.requests));
        // The thread ends with the test process.
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (replies, requests) = (Arc::clone(&replies), Arc::clone(&requests));
                std::thread::spawn(move || {
                    serve(
                        stream,
                        || replies.lock().unwrap().next(),
                        |head| requests.lock().unwrap().push(head),
                    );
                });
            }
        });
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the heads of the requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, mut next: impl FnMut() -> Option<Reply>, mut record: impl FnMut(String)) {
    drop(stream.set_nodelay(true));
    while let Some(head) = read_request(&mut stream) {
        record(head);
        let sent = match next() {
            None => return,
            Some(Reply::Send(bytes)) => stream.write_all(&bytes),
            Some(Reply::SendAndClose(bytes)) => {
                drop(stream.write_all(&bytes));
                return;
            }
            Some(Reply::Dribble(bytes)) => bytes.iter().try_for_each(|byte| {
                std::thread::sleep(Duration::from_micros(300));
                stream.write_all(&[*byte])
            }),
            Some(Reply::Repeat { first, again, pause }) => stream.write_all(&first).and_then(|()| {
                loop {
                    stream.write_all(&again)?;
                    std::thread::sleep(pause);
                }
            }),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Reads a request with its body and returns its head.
fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut chunk_bytes = [0; 64 * 1024];
    loop {
        match stream.read(&mut chunk_bytes) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk_bytes[..count]),
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if bytes.len() >= end + 4 + length.map_or(0, |length| length.parse().unwrap()) {
            return Some(head);
        }
    }
}

/// Returns a response with a length, so that the connection can serve the next request.
pub(super) fn response(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Returns the head of a response that ends with the connection.
pub(super) fn open_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec()
}

/// Returns an event of the Anthropic wire.
pub(super) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// Returns the first event of an answer on the Anthropic wire.
pub(super) fn start() -> String {
    let usage = json!({ "input_tokens": 5, "output_tokens": 1 });
    event(&json!({ "type": "message_start", "message": { "id": "msg_1", "content": [], "usage": usage } }))
}

/// Returns the last events of an answer on the Anthropic wire.
pub(super) fn end(stop: &str) -> String {
    let delta = event(&json!({
        "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 3 },
    }));
    delta + &event(&json!({ "type": "message_stop" }))
}

/// Returns the events of a content block on the Anthropic wire.
pub(super) fn block(index: u32, block: &Value, deltas: &[Value]) -> String {
    let deltas: String = deltas
        .iter()
        .map(|delta| event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })))
        .collect();
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
        + &deltas
        + &event(&json!({ "type": "content_block_stop", "index": index }))
}

/// Returns a text delta of the Anthropic wire.
pub(super) fn text_delta(text: &str) -> Value {
    json!({ "type": "text_delta", "text": text })
}

/// Returns a complete answer of text on the Anthropic wire.
pub(super) fn text_answer(text: &str) -> String {
    start() + &block(0, &json!({ "type": "text", "text": "" }), &[text_delta(text)]) + &end("end_turn")
}

/// Returns a complete answer with one call, whose arguments are one delta.
pub(super) fn call_answer(name: &str, arguments: &Value) -> String {
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
    start() + &block(0, &call, &[delta]) + &end("tool_use")
}

/// Returns a chunk of the OpenAI wire.
pub(super) fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    format!(
        "data: {}\n\n",
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice] })
    )
}
