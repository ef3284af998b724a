//! A server on the loopback interface that answers with scripted bytes, one response a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// The response to one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes and keeps the connection.
    Send(String),
    /// Sends these bytes and closes the connection.
    SendAndClose(String),
    /// Sends these bytes, then nothing, and keeps the connection open.
    SendAndHold(String),
    /// Sends the first bytes, and the others with the end after the pause.
    SendInTwo(String, Duration, String),
    /// Sends these bytes, then a comment every few milliseconds without end.
    SendAndPing(String),
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { url, connections: Arc::default(), requests: Arc::default() };
        let shared = server.clone();
        tokio::spawn(async move {
            let acts = Arc::new(Mutex::new(acts.into_iter()));
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&acts), Arc::clone(&shared.requests)));
            }
        });
        server
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the requests so far: head in lower case, and body.
    pub(crate) async fn requests(&self) -> Vec<String> {
        self.requests.lock().await.clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    acts: Arc<Mutex<std::vec::IntoIter<Act>>>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        requests.lock().await.push(request);
        let Some(act) = acts.lock().await.next() else {
            return;
        };
        let (Act::Send(bytes)
        | Act::SendAndClose(bytes)
        | Act::SendAndHold(bytes)
        | Act::SendInTwo(bytes, ..)
        | Act::SendAndPing(bytes)) = &act;
        if stream.write_all(bytes.as_bytes()).await.is_err() {
            return;
        }
        match act {
            Act::Send(_) => {}
            Act::SendAndClose(_) => return,
            Act::SendAndHold(_) => {
                // Ends when the client goes away.
                let _gone = stream.read(&mut [0]).await;
                return;
            }
            Act::SendInTwo(_, pause, rest) => {
                tokio::time::sleep(pause).await;
                let _gone = stream.write_all(rest.as_bytes()).await;
                return;
            }
            Act::SendAndPing(_) => {
                let mut pace = tokio::time::interval(Duration::from_millis(5));
                while stream.write_all(b": ping\n\n").await.is_ok() {
                    pace.tick().await;
                }
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return Some(format!("{head}\n\n{body}"));
        }
    }
}

/// A response with a length, after which the connection serves the next request.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// A stream of unknown length; `body` may stop anywhere.
pub(crate) fn open_stream(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}")
}

/// A stream in one chunk, with the end that HTTP requires.
pub(crate) fn chunked(headers: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-type: text/event-stream\r\n");
    format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}
