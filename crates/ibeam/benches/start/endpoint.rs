//! A minimal model server for one request, and a minimal client of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// The argument with which the bench is the client.
pub(crate) const BARE_CLIENT: &str = "request-with-a-bare-socket";
/// The longest wait for a connection or a part of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

const ANSWER: &str = concat!(
    r#"data: {"id":"c1","object":"chat.completion.chunk","created":1790000000,"model":"m","#,
    r#""choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c1","object":"chat.completion.chunk","created":1790000000,"model":"m","#,
    r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

/// A listening port.
pub(crate) struct Endpoint(TcpListener);

impl Endpoint {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        // The timeout applies to `accept` too.
        set_socket_timeout(&listener, Timeout::Recv, Some(TIMEOUT)).unwrap();
        Self(listener)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Waits for a connection and reads its complete request.
    pub(crate) fn read_request(&self) -> PendingRequest {
        let (mut stream, _) = self.0.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut request = Vec::with_capacity(64 << 10);
        let mut piece = [0; 16 << 10];
        while request_length(&request).is_none_or(|length| request.len() < length) {
            let count = stream.read(&mut piece).unwrap();
            assert!(count > 0, "the request is complete");
            request.extend_from_slice(&piece[..count]);
        }
        PendingRequest { stream, bytes: request.len() }
    }
}

/// Returns the length in bytes of the request that starts with `start`; `None` before its head is complete.
fn request_length(start: &[u8]) -> Option<usize> {
    let head = start.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&start[..head]).unwrap().to_ascii_lowercase();
    let (_, length) = text.split_once("content-length: ").unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    Some(head + length)
}

/// A request that waits for its answer.
pub(crate) struct PendingRequest {
    stream: TcpStream,
    pub(crate) bytes: usize,
}

impl PendingRequest {
    pub(crate) fn answer(&mut self) {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        );
        self.stream.write_all(answer.as_bytes()).unwrap();
    }
}

/// Runs the client: sends a request of the given size to the given address, and reads the answer to its end.
pub(crate) fn run_bare_client() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let (address, bytes): (SocketAddr, usize) =
        (arguments[0].parse().unwrap(), arguments[1].parse().unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        |length| format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    let length = bytes - head(bytes).len();
    let request = [head(length).into_bytes(), vec![b' '; length]].concat();
    stream.write_all(&request).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 16 << 10];
    while !answer.ends_with(b"[DONE]\n\n") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the answer is complete");
        answer.extend_from_slice(&piece[..count]);
    }
}
