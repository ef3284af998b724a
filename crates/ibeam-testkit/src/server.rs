//! A model server that says what a script tells it to, on a real socket of the loopback interface.
//!
//! It runs on a thread and a runtime of its own, so that tests may block. The n-th request for an answer gets
//! the script's n-th answer, whichever wire it comes over; one too many is answered with status 500.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::script::Step;
use crate::wire::{Chunk, Wire};

/// How long a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The wire it came over.
    pub wire: Wire,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; a string when it is not JSON.
    pub body: Value,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The running server. Dropping it breaks every connection.
pub struct ModelServer {
    address: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    script: Vec<Vec<Step>>,
    requests: Mutex<Vec<Request>>,
    came: Condvar,
}

impl ModelServer {
    /// Starts a server with one list of steps for each answer.
    pub fn start(script: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let shared = Arc::new(Shared {
            script: script.into_iter().collect(),
            requests: Mutex::new(Vec::new()),
            came: Condvar::new(),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of the loopback interface");
        let address = listener.local_addr().expect("the address of a bound socket").to_string();
        listener.set_nonblocking(true).expect("a socket that does not block");
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || serve(listener, state, stopped))
            .expect("a thread");
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`, what `ANTHROPIC_BASE_URL` takes.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base address for a wire, as its usual variable takes it: with `/v1` for OpenAI, without for Anthropic.
    pub fn base_url(&self, wire: Wire) -> String {
        match wire {
            Wire::Anthropic => self.url(),
            Wire::OpenAi => format!("{}/v1", self.url()),
        }
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The requests for answers so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().clone()
    }

    /// Waits until `count` requests came, and gives them.
    ///
    /// # Panics
    /// After 30 s.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        let requests = self.shared.lock();
        let (requests, _) = self
            .shared
            .came
            .wait_timeout_while(requests, PATIENCE, |requests| requests.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(requests.len() >= count, "only {} of {count} requests came in {PATIENCE:?}", requests.len());
        requests.clone()
    }

    /// Fails unless exactly the whole script was asked for.
    ///
    /// # Panics
    /// When requests are missing or were too many.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let (asked, scripted) = (self.shared.lock().len(), self.shared.script.len());
        assert_eq!(asked, scripted, "requests made and answers in the script");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed; the test has its own verdict.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let router = axum::Router::new()
            .route("/v1/chat/completions", post(|s, h, b| answer(Wire::OpenAi, s, h, b)))
            .route("/v1/messages", post(|s, h, b| answer(Wire::Anthropic, s, h, b)))
            .route("/v1/models", get(models))
            .fallback(nowhere)
            .with_state(shared);
        tokio::select! {
            served = axum::serve(listener, router) => served.expect("the listener to go on"),
            // The sender is dropped, never used.
            _ = stopped => {}
        }
    });
    // Dropping the runtime drops every connection, stalled ones too.
}

async fn answer(wire: Wire, State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    let headers = headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let number = {
        let mut requests = shared.lock();
        requests.push(Request { wire, headers, body: body.clone() });
        shared.came.notify_all();
        requests.len()
    };
    let Some(steps) = shared.script.get(number - 1) else {
        let count = shared.script.len();
        return refusal(500, &format!("the script has {count} answers, and this is request {number}"));
    };
    for step in steps {
        match step {
            Step::Delay(time) => tokio::time::sleep(*time).await,
            Step::Status { code, headers, body } => return plain(*code, headers, body.clone()),
            _ => break,
        }
    }
    if body.get("stream") != Some(&Value::Bool(true)) {
        return refusal(400, "this server only streams: `stream` must be true");
    }
    // Delays before the first word have been waited for.
    let leading = steps.iter().take_while(|step| matches!(step, Step::Delay(_))).count();
    let chunks = wire.encode(&body, number, steps.get(leading..).unwrap_or_default());
    Response::builder()
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("cache-control", "no-cache")
        .header(wire.request_id_header(), format!("req_{number:04}"))
        .body(Body::from_stream(play(chunks)))
        .expect("a response of plain headers")
}

/// The chunks in their time; an error breaks the connection in the middle of the body.
fn play(chunks: Vec<Chunk>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::iter(chunks).filter_map(async |chunk| match chunk {
        Chunk::Bytes(bytes) => {
            // One write for each chunk, as services flush.
            tokio::task::yield_now().await;
            Some(Ok(Bytes::from(bytes)))
        }
        Chunk::Delay(time) => {
            tokio::time::sleep(time).await;
            None
        }
        Chunk::Cut => {
            // What was said before must have left: bytes that wait are lost with the connection.
            tokio::task::yield_now().await;
            Some(Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut by the script")))
        }
        Chunk::Stall => match std::future::pending::<Infallible>().await {},
    })
}

async fn models(State(_): State<Arc<Shared>>) -> Response {
    // The keys of both wires.
    let entry = |id: &str| {
        json!({
            "id": id, "object": "model", "created": 1_750_000_000, "owned_by": "script",
            "type": "model", "display_name": id, "created_at": "2025-06-15T15:06:40Z",
        })
    };
    let list =
        json!({"object": "list", "data": [entry("scripted-1"), entry("scripted-2")], "has_more": false});
    plain(200, &[], list.to_string())
}

async fn nowhere(method: Method, uri: Uri) -> Response {
    refusal(404, &format!("the server has no {method} {}", uri.path()))
}

/// An error in a form that both wires know.
fn refusal(code: u16, message: &str) -> Response {
    let kind = if code >= 500 { "api_error" } else { "invalid_request_error" };
    let body =
        json!({"type": "error", "error": {"type": kind, "message": message, "param": null, "code": null}});
    plain(code, &[], body.to_string())
}

fn plain(code: u16, headers: &[(String, String)], body: String) -> Response {
    let mut response = Response::builder().status(code);
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        response = response.header("content-type", "application/json");
    }
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).expect("a status and headers that HTTP knows")
}
