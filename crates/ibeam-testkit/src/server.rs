//! A model server that follows a script, on its own loopback socket.
//!
//! Runs on its own thread, so that blocking tests can use it. The n-th model request gets the n-th answer. A request
//! without an answer gets status 500 with a message, and a request that violates the rules of its API gets status 400,
//! so that the test fails at the cause. A server for many requests has a rule instead of a script. A strict server refuses
//! what its service refuses; such a request uses up no answer.

use std::borrow::Cow;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::api::AnswerScript;
use crate::request::Request;
use crate::responses_socket;
use crate::script::{Answer, Content, Frame};
use crate::strict::{Refusal, StrictService};
use crate::wire::Wire;

/// The models that `GET /v1/models` and `GET /v1beta/models` list, with their display names.
const MODELS: [(&str, &str); 2] =
    [("claude-sonnet-4-6", "Claude Sonnet 4.6"), ("scripted-1", "Scripted One")];

/// A running server. Dropping it closes every connection.
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The origin of the answers of a server.
enum Script {
    /// The n-th request gets the n-th answer.
    Answers(Vec<Answer>),
    Rule(Rule),
}

/// Returns the answer to a request and its number, from 0.
type Rule = Box<dyn Fn(&Request, usize) -> Answer + Send + Sync>;

/// The state that the requests of a server share.
pub(crate) struct ServerState {
    script: Script,
    /// The requests so far; none with a rule.
    requests: Mutex<Vec<Request>>,
    /// The number of requests so far.
    received: AtomicUsize,
    /// The number of requests so far that the service did not refuse.
    accepted: AtomicUsize,
    /// The service whose rules apply.
    service: Option<StrictService>,
    /// The refusals of the service so far, each with its status.
    refusals: Mutex<Vec<String>>,
    /// The signal that a request was recorded.
    arrived: Condvar,
    /// The number of connections so far.
    connections: AtomicUsize,
    /// Whether models can be used over WebSocket.
    accepts_websocket: bool,
}

impl ModelServer {
    /// Starts a server with these answers. It refuses WebSocket connections.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_server(Script::Answers(answers.into_iter().collect()), false, None)
    }

    /// Starts a server that answers by a rule. The rule receives the request and its number, from 0. No request is kept,
    /// so there can be any number of them.
    pub fn with_rule(rule: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_server(Script::Rule(Box::new(rule)), false, None)
    }

    /// Starts a server with these answers that refuses what the service refuses.
    pub fn strict(service: StrictService, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_server(Script::Answers(answers.into_iter().collect()), false, Some(service))
    }

    /// Like [`Self::with_rule`], for what the service does not refuse.
    pub fn strict_with_rule(
        service: StrictService,
        rule: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_server(Script::Rule(Box::new(rule)), false, Some(service))
    }

    /// Starts a server with these answers, which it also gives over WebSocket, in the mode of OpenAI Responses.
    pub fn with_websocket(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_server(Script::Answers(answers.into_iter().collect()), true, None)
    }

    fn start_server(script: Script, accepts_websocket: bool, service: Option<StrictService>) -> Self {
        let state = Arc::new(ServerState {
            script,
            requests: Mutex::default(),
            received: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            service,
            refusals: Mutex::default(),
            arrived: Condvar::new(),
            connections: AtomicUsize::new(0),
            accepts_websocket,
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let address = listener.local_addr().expect("the address of the listener");
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/v1/models", get(models))
            .route("/v1beta/models", get(gemini_models))
            .fallback(post(model_request).get(upgrade))
            // A conversation has no size limit here; a script decides whether a request is too large.
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&state));
        let counted = Arc::clone(&state);
        let serve = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener =
                    tokio::net::TcpListener::from_std(listener).expect("a listener of the runtime");
                // Each frame must arrive when it is sent, not with the next one.
                let listener = listener.tap_io(move |stream| {
                    counted.connections.fetch_add(1, Ordering::Relaxed);
                    drop(stream.set_nodelay(true));
                });
                tokio::select! {
                    served = async { axum::serve(listener, router).await } => served.expect("a serving loop"),
                    _ = stopped => {}
                }
            });
        };
        let thread =
            std::thread::Builder::new().name("model-server".to_owned()).spawn(serve).expect("a thread");
        Self { address, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the model requests so far, in their order. A server with a rule has none.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().clone()
    }

    /// Returns the number of model requests so far.
    pub fn received(&self) -> usize {
        self.state.received.load(Ordering::Relaxed)
    }

    /// Returns the refusals of a strict server so far, as `STATUS MESSAGE`.
    pub fn refusals(&self) -> Vec<String> {
        self.state.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Waits until the server has received `count` model requests, and returns them.
    ///
    /// # Panics
    /// After 30 s.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut requests = self.state.lock();
        while requests.len() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} of {count} requests came within 30 s", requests.len());
            let waited = self.state.arrived.wait_timeout(requests, left);
            requests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        requests.clone()
    }

    /// Checks that every answer of the script was sent, and that there was no further request.
    ///
    /// # Panics
    /// If the numbers of requests and answers differ, or if the server has a rule.
    #[track_caller]
    pub fn assert_all_answers_sent(&self) {
        let Script::Answers(answers) = &self.state.script else { panic!("a rule has no number of answers") };
        let accepted = self.state.accepted.load(Ordering::Relaxed);
        assert_eq!(accepted, answers.len(), "requests, and answers of the script");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is already printed, and the test has failed without its answers.
            drop(thread.join());
        }
    }
}

/// Returns a URL on which nothing listens.
pub fn unreachable_url() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
    format!("http://{}", listener.local_addr().expect("the address of the listener"))
}

impl ServerState {
    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request. Returns its number among the accepted ones, from 0, and its answer, or the error that the script
    /// is too short.
    pub(crate) fn record(&self, request: Request) -> (usize, Result<Cow<'_, Answer>, String>) {
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        let answer = match &self.script {
            Script::Rule(rule) => Ok(Cow::Owned(rule(&request, number))),
            Script::Answers(answers) => {
                let too_short =
                    || format!("the script has {} answers; this is request {}", answers.len(), number + 1);
                answers.get(number).map(Cow::Borrowed).ok_or_else(too_short)
            }
        };
        let answer = match (&self.service, answer) {
            (Some(service), Ok(answer)) => {
                Ok(Cow::Owned(service.add_thinking(&request, answer.into_owned())))
            }
            (Some(_) | None, answer) => answer,
        };
        self.keep(request);
        (number, answer)
    }

    /// Records a request that the service refuses.
    fn record_refused(&self, request: Request, refusal: &Refusal) {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).push(refusal.describe());
        self.keep(request);
    }

    fn keep(&self, request: Request) {
        self.received.fetch_add(1, Ordering::Relaxed);
        if let Script::Answers(_) = &self.script {
            self.lock().push(request);
            self.arrived.notify_all();
        }
    }
}

/// Answers a request to a model. The path of the request selects the API.
async fn model_request(
    State(script): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    match Wire::from_path(uri.path()) {
        Some(wire) => answer(&script, wire, uri.path(), &headers, &body).await,
        None => response(404, "text/plain", Body::from("no API has this path")),
    }
}

/// Opens a WebSocket connection.
async fn upgrade(
    State(script): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    match upgrade {
        Ok(upgrade) if script.accepts_websocket && Wire::from_path(uri.path()) == Some(Wire::Responses) => {
            let (path, headers) = (uri.path().to_owned(), header_texts(&headers));
            upgrade.on_upgrade(|socket| responses_socket::serve(socket, script, path, headers))
        }
        Ok(_) | Err(_) => response(405, "text/plain", Body::from("method not allowed")),
    }
}

pub(crate) fn header_texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

async fn models(State(script): State<Arc<ServerState>>, headers: HeaderMap) -> Response<Body> {
    if let Some(service) = &script.service {
        return json_response(200, &service.model_list(headers.contains_key("anthropic-version")));
    }
    let entry = |(id, name): &(&str, &str)| json!({ "id": id, "object": "model", "type": "model", "display_name": name, "created": 1_790_000_000 });
    let data: Vec<Value> = MODELS.iter().map(entry).collect();
    json_response(200, &json!({ "object": "list", "data": data, "has_more": false }))
}

async fn gemini_models() -> Response<Body> {
    let entry = |(id, name): &(&str, &str)| json!({ "name": format!("models/{id}"), "displayName": name, "supportedGenerationMethods": ["generateContent"] });
    let models: Vec<Value> = MODELS.iter().map(entry).collect();
    json_response(200, &json!({ "models": models }))
}

/// Records a request, checks the rules of its API, and sends the next answer of the script.
async fn answer(
    script: &ServerState,
    wire: Wire,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let api = wire.api();
    let body = serde_json::from_slice(body).unwrap_or_default();
    let request =
        Request { wire, path: path.to_owned(), headers: header_texts(headers), body, message: None };
    if let Some(refusal) = script.service.as_ref().and_then(|service| service.refusal(&request)) {
        script.record_refused(request, &refusal);
        return refusal.response(wire);
    }
    let (violation, model) = ((api.violation)(&request), request.model());
    let (number, answer) = script.record(request);
    let error = |status: u16, kind: &str, message: &str| {
        let body = (api.error)(status, kind, message);
        json_response(status, &body)
    };
    if let Some(violation) = violation {
        return error(
            400,
            "invalid_request_error",
            &format!("the request violates the rules of its wire: {violation}"),
        );
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(message) => return error(500, "api_error", &message),
    };
    tokio::time::sleep(answer.head_delay).await;
    let mut response = match &answer.content {
        Content::Silence => std::future::pending().await,
        Content::Error { kind, message } => error(answer.status, kind, message),
        Content::Body { mime, text } => response(answer.status, mime, Body::from(text.clone())),
        Content::Steps { steps, usage, stop } => {
            let (usage, stop) = (*usage, stop.as_ref());
            let frames = (api.stream)(&AnswerScript { steps, usage, stop, model: &model, number });
            response(answer.status, wire.media_type(), body_of_frames(frames))
        }
    };
    let id = api.id_header.map(|name| (name.to_owned(), format!("req_{number:04}")));
    let given = id.into_iter().chain(answer.headers.iter().cloned());
    for (name, value) in given {
        let name: axum::http::HeaderName = name.parse().expect("a header's name");
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header's value");
        response.headers_mut().insert(name, value);
    }
    response
}

/// Returns a body that sends each frame after the pauses before it.
pub(crate) fn body_of_frames(frames: Vec<Frame>) -> Body {
    let frames = stream::iter(frames).then(|frame| async move {
        // The connection sends what it has, which a cut would discard.
        tokio::task::yield_now().await;
        match frame {
            Frame::Bytes(bytes) => Some(Ok(Bytes::from(bytes))),
            Frame::Pause(pause) => {
                tokio::time::sleep(pause).await;
                None
            }
            Frame::Cut => Some(Err(io::Error::other("the script cuts the connection"))),
            Frame::Stall => std::future::pending().await,
        }
    });
    Body::from_stream(frames.filter_map(std::future::ready))
}

pub(crate) fn json_response(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json", Body::from(body.to_string()))
}

pub(crate) fn response(status: u16, mime: &str, body: Body) -> Response<Body> {
    let status = StatusCode::from_u16(status).expect("a status between 100 and 999");
    Response::builder().status(status).header("content-type", mime).body(body).expect("a response")
}
