//! The time of one turn over HTTP and over WebSocket, from the request to the end of its answer.
//!
//! The server is on this machine, answers at once and does not parse what it gets. So a turn takes the time that the
//! client needs, and the time for the transfer of the request through the loopback interface.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench ends if its setup fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use divan::Bencher;
use futures_util::StreamExt;
use ibeam_core::{ModelEvent, ModelRequest, Provider};
use ibeam_protocol::{Block, Message};
use ibeam_providers::protocols::OPENAI_RESPONSES;
use ibeam_providers::{Endpoint, HttpProvider, Quirks, Reasoning, Timeouts, TransportKind};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// The sizes of a conversation in kilobytes.
const KILOBYTES: [usize; 3] = [16, 256, 1024];

const EVENTS: [&str; 4] = [
    r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","content":[]}}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"Hello"}"#,
    r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#,
];

mod turn {
    use super::{Bencher, KILOBYTES, Session, TransportKind};

    #[divan::bench(args = KILOBYTES)]
    fn by_http(bencher: Bencher<'_, '_>, kilobytes: usize) {
        let mut session = Session::start(TransportKind::Http, kilobytes);
        bencher.bench_local(|| session.turn());
    }

    #[divan::bench(args = KILOBYTES)]
    fn over_websocket(bencher: Bencher<'_, '_>, kilobytes: usize) {
        let mut session = Session::start(TransportKind::WebSocket, kilobytes);
        bencher.bench_local(|| session.turn());
    }
}

/// A conversation with the server.
struct Session {
    runtime: Runtime,
    provider: HttpProvider,
    request: ModelRequest,
}

impl Session {
    /// Starts a conversation of this size, whose connection is open.
    fn start(transport: TransportKind, kilobytes: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        // The thread ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || serve(stream.unwrap()));
            }
        });
        let provider = HttpProvider::new(Endpoint {
            provider: "openai".into(),
            protocol: OPENAI_RESPONSES,
            other_protocol: None,
            on_protocol_change: None,
            on_adaptation: None,
            on_quota: None,
            base_url,
            key: None,
            key_reader: None,
            key_origin: None,
            proxy: None,
            tls: ibeam_providers::TlsSettings::default(),
            headers: Vec::new(),
            model: "gpt-5".into(),
            quirks: Quirks::DEFAULT,
            transport,
            timeouts: Timeouts::default(),
            max_output_tokens: None,
            near_models: None,
            cache_key: None,
            reasoning: Reasoning::DEFAULT,
            traits: ibeam_providers::ModelTraits::UNKNOWN,
        });
        let text = "let value = compute(\"text\");\n".repeat(1024 / 29);
        let message = |_| Arc::new(Message::User(vec![text.as_str().into()]));
        let request = ModelRequest {
            system: "Be brief.".into(),
            tools: Arc::new([]),
            messages: (0..kilobytes).map(message).collect(),
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut session = Self { runtime, provider, request };
        session.turn();
        session
    }

    /// Sends one request, reads its answer and adds both to the conversation.
    fn turn(&mut self) {
        let mut stream = self.provider.stream(Arc::new(self.request.clone()));
        let answer = self.runtime.block_on(async {
            loop {
                match stream.next().await.unwrap().unwrap() {
                    ModelEvent::Finished(answer) => return answer,
                    ModelEvent::Notice(notice) => assert!(notice.for_model().is_some(), "{notice:?}"),
                    ModelEvent::TextDelta(_)
                    | ModelEvent::ThinkingDelta(_)
                    | ModelEvent::ToolCallAnnounced => {}
                }
            }
        });
        assert_eq!(answer.blocks, [Block::Text("Hello".into())]);
        self.request.messages.push(Arc::new(Message::Assistant(answer.blocks)));
        self.request.messages.push(Arc::new(Message::User(vec!["Go on.".into()])));
    }
}

/// Answers the requests of one connection.
fn serve(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::with_capacity(256 << 10, stream.try_clone().unwrap());
    let events: String = EVENTS.iter().map(|event| format!("data: {event}\n\n")).collect();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
        events.len()
    );
    while let Some(head) = read_head(&mut reader) {
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        if let Some(key) = header("sec-websocket-key: ") {
            let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
            let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
            let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade";
            write!(stream, "{head}\r\nsec-websocket-accept: {accept}\r\n\r\n").unwrap();
            return serve_messages(stream, reader);
        }
        let length: u64 = header("content-length: ").unwrap().parse().unwrap();
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    Some(head)
}

fn serve_messages(mut stream: TcpStream, mut reader: impl Read) {
    let mut answer = Vec::new();
    for event in EVENTS {
        answer.extend([0x81, 126]);
        answer.extend(u16::try_from(event.len()).unwrap().to_be_bytes());
        answer.extend(event.as_bytes());
    }
    let mut start = [0; 2];
    while reader.read_exact(&mut start).is_ok() {
        let mut length = [0; 8];
        let length = match start[1] & 0x7F {
            126 => {
                reader.read_exact(&mut length[6..]).unwrap();
                u64::from_be_bytes(length)
            }
            127 => {
                reader.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        // The mask and the payload.
        std::io::copy(&mut reader.by_ref().take(4 + length), &mut std::io::sink()).unwrap();
        if start[0] == 0x81 {
            stream.write_all(&answer).unwrap();
        }
    }
}
