//! The first request of a run, sent before the run begins.
//!
//! A run needs its sandbox before its first tool call, and the model needs nothing of it. So the request is on its way
//! while the sandbox is set up. Nothing is recorded and no tool runs until the run itself begins, which takes over the
//! answer if its first request is the same one. Dropping an [`EarlyRequest`] ends the request.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::future::pending;
use futures_util::stream;
use ibeam_protocol::UserPrompt;
use tokio::sync::mpsc;

use crate::journal::{Envelope, Journal, ResumedState};
use crate::json_schema::JsonSchema;
use crate::ports::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError};
use crate::redact::Redactor;
use crate::turn::Run;

/// The number of events of the answer that are held. The service waits with the rest.
const MAX_HELD_EVENTS: usize = 1024;
/// The number of events of the rehearsal that may wait to be discarded.
const MAX_WAITING_EVENTS: usize = 64;

/// A request that was sent before its run begins, with the part of its answer that has arrived.
pub struct EarlyRequest {
    request: Arc<ModelRequest>,
    held: Vec<Result<ModelEvent, ProviderError>>,
    rest: ModelStream,
}

impl EarlyRequest {
    /// Sends the request with which `run` will begin in a new session. Returns `None` if it ends without a request.
    ///
    /// The loop itself builds the request, in a rehearsal whose events are discarded, so that it sends the same one later.
    /// Only for a run without hooks, because those would run twice.
    pub async fn send(run: &Run, prompt: UserPrompt, redactor: Redactor) -> Option<Self> {
        let request = rehearse(run, prompt, redactor).await?;
        let rest = run.provider.stream(Arc::clone(&request));
        Some(Self { request, held: Vec::new(), rest })
    }

    /// Waits for `ready`, and receives the answer meanwhile.
    pub async fn receive_until<T>(&mut self, ready: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            value = ready => value,
            never = self.receive() => match never {},
        }
    }

    /// Returns `provider` with this answer to the first request, if that is the same one. Otherwise the answer is dropped.
    pub fn into_provider(self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let (inner, early) = (Arc::clone(&provider), Mutex::new(Some(self)));
        let send = move |request: Arc<ModelRequest>| {
            let early = early.lock().unwrap_or_else(PoisonError::into_inner).take();
            match early.filter(|early| early.request.is_same(&request)) {
                Some(Self { held, rest, .. }) => stream::iter(held).chain(rest).boxed(),
                None => inner.stream(request),
            }
        };
        Arc::new(InterceptedProvider { provider, send })
    }

    async fn receive(&mut self) -> Infallible {
        while self.held.len() < MAX_HELD_EVENTS
            && let Some(event) = self.rest.next().await
        {
            self.held.push(event);
        }
        pending().await
    }
}

/// Returns the first request of a run in a new session.
async fn rehearse(run: &Run, prompt: UserPrompt, redactor: Redactor) -> Option<Arc<ModelRequest>> {
    let (events, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
    let (sender, mut requests) = mpsc::channel(1);
    let send = move |request| {
        // The rehearsal ends with its first request.
        let _ = sender.try_send(request);
        stream::pending().boxed()
    };
    let provider = Arc::new(InterceptedProvider { provider: Arc::clone(&run.provider), send });
    let rehearsal = Run { provider, ..run.clone() };
    let mut journal =
        Journal::new(ResumedState::default(), Arc::clone(&run.clock), events).with_redactor(redactor);
    tokio::select! {
        biased;
        request = requests.recv() => request,
        () = rehearsal.rehearse(&mut journal, prompt) => None,
        never = discard(receiver) => match never {},
    }
}

/// Receives events and keeps none.
async fn discard(mut events: mpsc::Receiver<Envelope>) -> Infallible {
    while let Some(Envelope { receipt, .. }) = events.recv().await {
        // The rehearsal waits for it, unless it has ended.
        let _ = receipt.map(|receipt| receipt.send(()));
    }
    pending().await
}

/// A provider whose requests go through `send`; everything else is as with `provider`.
struct InterceptedProvider<F> {
    provider: Arc<dyn Provider>,
    send: F,
}

impl<F> Provider for InterceptedProvider<F>
where
    F: Fn(Arc<ModelRequest>) -> ModelStream + Send + Sync,
{
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        (self.send)(request)
    }

    fn enforces_schema(&self, schema: &JsonSchema) -> bool {
        self.provider.enforces_schema(schema)
    }

    fn appends_tools(&self) -> bool {
        self.provider.appends_tools()
    }

    fn appended_effort(&self) -> Option<&'static str> {
        self.provider.appended_effort()
    }
}
