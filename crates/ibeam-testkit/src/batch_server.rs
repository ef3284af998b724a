//! A server with the batch APIs of Anthropic, OpenAI and Gemini, on its own loopback socket.
//!
//! A plan decides on the outcome of each request by its content, because requests of a batch have no order. Results come
//! in reverse order. The server can lose replies, fail, and be restarted; what it has accepted stays. It answers
//! requests without a batch too, in the same way.

mod documents;
mod routes;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::request::Request;
use crate::script::Answer;
use crate::wire::Wire;

/// The outcome of a request of a batch.
#[derive(Clone, Debug)]
pub enum PartAnswer {
    Answer(Box<Answer>),
    /// An error with a status, a kind and a message, e.g. `overloaded_error`.
    Error(u16, &'static str, &'static str),
    /// The time of the service was over.
    Expired,
    /// The batch was cancelled.
    Cancelled,
}

impl From<Answer> for PartAnswer {
    fn from(answer: Answer) -> Self {
        Self::Answer(Box::new(answer))
    }
}

/// A batch as the server has accepted it.
#[derive(Clone, Debug)]
pub struct AcceptedBatch {
    pub id: String,
    /// The API of its requests.
    pub wire: Wire,
    /// The label of the client, for the APIs that have labels.
    pub label: Option<String>,
    /// The ids of its requests, with their bodies.
    pub requests: Vec<(String, Request)>,
    pub(crate) outcomes: Vec<PartAnswer>,
    /// The number of times that its state was requested.
    pub(crate) polls: u32,
    /// The value of `polls` when it was cancelled.
    pub(crate) cancelled_at: Option<u32>,
}

impl AcceptedBatch {
    /// Whether a client has cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled_at.is_some()
    }
}

/// Returns an answer as the document that an API returns for a request without a stream.
///
/// # Panics
/// If the API has no batches, or the answer is not one of a model.
pub fn answer_document(wire: Wire, answer: &Answer) -> String {
    documents::document(wire, answer, &Value::from("scripted-1"), "0").to_string()
}

/// Decides on the outcome of a request with an id.
type Plan = dyn Fn(&str, &Request) -> PartAnswer + Send + Sync;

/// A running server. Dropping it closes every connection.
pub struct BatchServer {
    address: SocketAddr,
    state: Arc<BatchState>,
    running: Option<Running>,
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The state that survives a restart.
pub(crate) struct BatchState {
    pub(crate) address: SocketAddr,
    pub(crate) plan: Box<Plan>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    /// The uploaded files by id.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) batches: Vec<AcceptedBatch>,
    /// The requests without a batch.
    pub(crate) live: Vec<Request>,
    /// The number of HTTP requests.
    pub(crate) requests: u32,
    /// The number of polls before a batch ends.
    pub(crate) polls_until_end: u32,
    /// Whether no batch ends.
    pub(crate) is_held: bool,
    /// The number of requests of a cancelled batch that have their outcome.
    pub(crate) answered_before_cancel: usize,
    /// Whether the reply to the next accepted batch is lost.
    pub(crate) loses_reply: bool,
    /// The statuses with which the next requests fail.
    pub(crate) failures: Vec<u16>,
}

impl BatchState {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchServer {
    /// Starts a server whose batches end at their first poll.
    pub fn start(plan: impl Fn(&str, &Request) -> PartAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = listener.local_addr().expect("the address of the listener");
        let state = Arc::new(BatchState { address, plan: Box::new(plan), inner: Mutex::default() });
        let running = Some(serve(listener, Arc::clone(&state)));
        Self { address, state, running }
    }

    /// Returns `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets batches end at their poll number `polls` + 1.
    pub fn end_after(&self, polls: u32) {
        self.state.lock().polls_until_end = polls;
    }

    /// Lets no batch end, or lets them end again.
    pub fn hold(&self, is_held: bool) {
        self.state.lock().is_held = is_held;
    }

    /// Lets cancelled batches keep the outcomes of their first `count` requests.
    pub fn answer_before_cancel(&self, count: usize) {
        self.state.lock().answered_before_cancel = count;
    }

    /// Loses the reply to the next batch that the server accepts: the connection breaks.
    pub fn lose_next_reply(&self) {
        self.state.lock().loses_reply = true;
    }

    /// Lets the next requests fail with these statuses, the last one first.
    pub fn fail_next(&self, statuses: &[u16]) {
        self.state.lock().failures = statuses.to_vec();
    }

    /// Stops listening.
    pub fn stop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            let _ = stop.send(());
            // A panic of the thread is already printed, and the test has failed without its answers.
            drop(thread.join());
        }
    }

    /// Listens again at the same address, with everything that was accepted.
    ///
    /// # Panics
    /// If another process has taken the port.
    pub fn restart(&mut self) {
        self.stop();
        let listener = TcpListener::bind(self.address).expect("the port of the server");
        self.running = Some(serve(listener, Arc::clone(&self.state)));
    }

    /// Returns the accepted batches in their order.
    pub fn batches(&self) -> Vec<AcceptedBatch> {
        self.state.lock().batches.clone()
    }

    /// Returns the requests without a batch, in their order.
    pub fn live_requests(&self) -> Vec<Request> {
        self.state.lock().live.clone()
    }

    /// Returns the number of HTTP requests so far.
    pub fn http_requests(&self) -> u32 {
        self.state.lock().requests
    }
}

impl Drop for BatchServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(listener: TcpListener, state: Arc<BatchState>) -> Running {
    listener.set_nonblocking(true).expect("a listener that does not block");
    let (stop, stopped) = oneshot::channel();
    let router = Router::new().fallback(routes::respond).layer(DefaultBodyLimit::disable()).with_state(state);
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener of the runtime");
            tokio::select! {
                served = async { axum::serve(listener, router).await } => served.expect("a serving loop"),
                _ = stopped => {}
            }
        });
    };
    let thread = std::thread::Builder::new().name("batch-server".to_owned()).spawn(serve).expect("a thread");
    Running { stop, thread }
}

pub(crate) fn request_of(wire: Wire, path: &str, headers: &[(String, String)], body: Value) -> Request {
    Request { wire, path: path.to_owned(), headers: headers.to_vec(), body, message: None }
}
