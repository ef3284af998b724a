//! WebSocket connections that fail, against a server that follows a script byte by byte.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use ibeam_core::{ModelEvent, ModelRequest, Provider, ProviderError, Retry};
use ibeam_protocol::{Notice, Reason};
use ibeam_providers::protocols::OPENAI_RESPONSES;
use ibeam_providers::{Endpoint, HttpProvider, Quirks, Secret, Timeouts, TlsSettings, TransportKind};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::conversation::{request, user};
use crate::server::chunked;

const TEXT: &str = include_str!("../../fixtures/responses-text.sse");

/// The behavior of the server on one connection.
#[derive(Clone, Debug)]
enum Connection {
    /// Closes the connection without a response.
    Close,
    /// Accepts the upgrade with a wrong proof.
    WrongProof,
    /// Accepts the upgrade, reads a message and closes the connection.
    CloseAfterMessage,
    /// Accepts the upgrade, reads a message and sends these bytes. Then waits until the client closes the connection.
    Send(Vec<u8>),
    /// Answers an HTTP request.
    Http,
}

struct SocketServer {
    url: String,
    /// The first line of each request, and `closed` when the client closed a connection.
    seen: mpsc::UnboundedReceiver<String>,
}

impl SocketServer {
    async fn start(connections: Vec<Connection>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in connections {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, connection, sender.clone()));
            }
        });
        Self { url, seen }
    }

    fn provider(&self) -> HttpProvider {
        HttpProvider::new(Endpoint {
            provider: "openai".into(),
            protocol: OPENAI_RESPONSES,
            other_protocol: None,
            on_protocol_change: None,
            on_adaptation: None,
            on_quota: None,
            base_url: self.url.clone(),
            key: Some(Secret::new("sk-secret")),
            key_reader: None,
            key_origin: None,
            proxy: None,
            tls: TlsSettings::default(),
            headers: Vec::new(),
            model: "gpt-x".into(),
            quirks: Quirks::DEFAULT,
            transport: TransportKind::WebSocket,
            timeouts: Timeouts::default(),
            max_output_tokens: None,
            near_models: None,
            cache_key: None,
            reasoning: ibeam_providers::Reasoning::DEFAULT,
            traits: ibeam_providers::ModelTraits::UNKNOWN,
        })
    }

    async fn next_seen(&mut self) -> String {
        timeout(Duration::from_secs(10), self.seen.recv()).await.unwrap().unwrap()
    }
}

async fn serve(mut stream: TcpStream, connection: Connection, seen: mpsc::UnboundedSender<String>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    seen.send(head.lines().next().unwrap().to_owned()).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap_or_default();
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let proof = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
    let accept = if matches!(connection, Connection::WrongProof) { "wrong" } else { &proof };
    let upgraded = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    );
    match connection {
        Connection::Close => return,
        Connection::Http => stream.write_all(chunked("", TEXT).as_bytes()).await.unwrap(),
        Connection::WrongProof => stream.write_all(upgraded.as_bytes()).await.unwrap(),
        Connection::CloseAfterMessage => {
            stream.write_all(upgraded.as_bytes()).await.unwrap();
            assert!(stream.read(&mut [0; 64 << 10]).await.unwrap() > 0);
            return;
        }
        Connection::Send(bytes) => {
            stream.write_all(upgraded.as_bytes()).await.unwrap();
            assert!(stream.read(&mut [0; 64 << 10]).await.unwrap() > 0);
            stream.write_all(&bytes).await.unwrap();
        }
    }
    while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
    // The test may have ended.
    drop(seen.send("closed".to_owned()));
}

/// Returns the data of the events of a stream, each as a text message.
fn frames(stream: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for data in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
        bytes.extend([0x81, 126]);
        bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(data.as_bytes());
    }
    bytes
}

type Received = (Vec<Notice>, Vec<ModelEvent>, Option<ProviderError>);

async fn ask(provider: &HttpProvider, request: &Arc<ModelRequest>) -> Received {
    let mut stream = provider.stream(Arc::clone(request));
    let (mut notices, mut events, mut error) = (Vec::new(), Vec::new(), None);
    while let Some(item) = stream.next().await {
        match item {
            Ok(ModelEvent::Notice(notice)) => notices.push(notice),
            Ok(event) => events.push(event),
            Err(failed) => error = Some(failed),
        }
    }
    (notices, events, error)
}

fn hello() -> Arc<ModelRequest> {
    Arc::new(request(vec![user("hi")]))
}

#[tokio::test]
async fn a_connection_that_fails_before_the_first_event_is_replaced_by_http() {
    for (failing, reason) in [
        (Connection::Close, "connection closed before message completed"),
        (Connection::WrongProof, "the response to the upgrade is not one of a WebSocket server"),
        (Connection::CloseAfterMessage, "the connection closed before the first event"),
    ] {
        let mut server = SocketServer::start(vec![failing.clone(), Connection::Http, Connection::Http]).await;
        let provider = server.provider();
        let (notices, events, error) = ask(&provider, &hello()).await;
        let expect = Notice::WebsocketUnavailable { provider: "openai".into(), detail: reason.into() };
        assert_eq!((notices, error), (vec![expect], None), "{failing:?}");
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{events:?}");
        assert_eq!(server.next_seen().await, "GET /responses HTTP/1.1");
    }
}

#[tokio::test]
async fn a_service_that_http_does_not_reach_either_is_tried_over_websocket_again() {
    let answer = Connection::Send(frames(TEXT));
    let server = SocketServer::start(vec![Connection::Close, Connection::Close, answer]).await;
    let provider = server.provider();
    let (notices, events, error) = ask(&provider, &hello()).await;
    let error = error.unwrap();
    assert_eq!((notices.len(), events.len(), &error.retry), (0, 0, &Retry::Fast));
    assert!(matches!(error.failure.reason, Reason::Unreachable { .. }), "{error:?}");
    let (notices, events, error) = ask(&provider, &hello()).await;
    assert_eq!((notices.len(), error), (0, None));
    assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{events:?}");
}

#[tokio::test]
async fn a_message_over_the_limit_fails_before_it_is_received() {
    let head = [&[0x81, 127][..], &(17_u64 << 20).to_be_bytes()].concat();
    let server = SocketServer::start(vec![Connection::Send(head)]).await;
    let (notices, events, error) = ask(&server.provider(), &hello()).await;
    let detail = "an event is longer than 16777216 bytes".to_owned();
    let reason = Reason::ProviderFailed { provider: "openai".into(), detail };
    let error = error.unwrap();
    assert_eq!((notices.len(), events.len()), (0, 0));
    assert_eq!((error.failure.reason, error.retry), (reason, Retry::Once));
}

#[tokio::test]
async fn a_cancelled_answer_closes_its_connection() {
    let events = frames(TEXT);
    let start = events[..events.len() / 2].to_vec();
    let mut server = SocketServer::start(vec![Connection::Send(start)]).await;
    let provider = server.provider();
    let mut stream = provider.stream(hello());
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::ThinkingDelta(_)))));
    drop(stream);
    assert_eq!(server.next_seen().await, "GET /responses HTTP/1.1");
    assert_eq!(server.next_seen().await, "closed");
}

#[tokio::test]
async fn two_requests_at_the_same_time_have_a_connection_each() {
    let answer = Connection::Send(frames(TEXT));
    let server = SocketServer::start(vec![answer.clone(), answer]).await;
    let (provider, request) = (server.provider(), hello());
    let (one, two) = tokio::join!(ask(&provider, &request), ask(&provider, &request));
    assert_eq!(one, two);
    assert!(matches!(one.1.last(), Some(ModelEvent::Finished(_))), "{one:?}");
}
