//! The HTTP implementation of [`Provider`].

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::{StreamExt, stream};
use ibeam_core::{
    JsonSchema, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, RefusedPart, Retry,
};
use ibeam_protocol::Message;

use crate::adaptation::Adaptation;
use crate::answer_reader::AnswerReader;
use crate::body_decoder::BodyDecoder;
use crate::endpoint::Endpoint;
use crate::listed_model::ListedModel;
use crate::reasoning::Effort;
use crate::recording::TrafficMode;
use crate::refused_part::locate;
use crate::request_body::{RequestBodyBuilder, build_request_body};
use crate::transport::Transport;
use crate::websocket::Conversation;
use crate::wire_protocol::{Quirks, RequestSettings};

/// One model of one provider. Cheap to create: nothing is read or opened before the first request.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    routes: Arc<Routes>,
}

/// The way to the model, and the way over the other protocol once the service has refused the first one.
#[derive(Debug)]
struct Routes {
    first: Route,
    other: OnceLock<Route>,
}

/// The requests over one protocol.
#[derive(Debug)]
struct Route {
    transport: Arc<Transport>,
    body_builder: Mutex<RequestBodyBuilder>,
    /// The deviations of the service, with those that it has shown.
    quirks: Mutex<Quirks>,
}

impl HttpProvider {
    /// Creates a provider. Its requests share one connection.
    pub fn new(endpoint: Endpoint) -> Self {
        Self::with_traffic(endpoint, TrafficMode::Live)
    }

    /// Creates a provider whose traffic is recorded, or comes from recordings.
    pub fn with_traffic(endpoint: Endpoint, traffic: TrafficMode) -> Self {
        let first = Route::new(endpoint, traffic);
        Self { routes: Arc::new(Routes { first, other: OnceLock::new() }) }
    }

    /// Returns the models that the service offers to this key, in the order of the service.
    ///
    /// # Errors
    /// Errors of the connection or the service, as for a request to a model. Nothing is retried.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let transport = &self.routes.current().transport;
        let (head, body) = transport.get_models().await?;
        let models = transport.endpoint().protocol.parse_models(&body);
        models.map_err(|error| transport.error_builder().invalid_response(error, head))
    }

    /// Sends a request, and again if the service refuses it: with a deviation that the refusal shows, or over the other
    /// protocol. Nothing of an answer has arrived then.
    async fn open(self, request: Arc<ModelRequest>) -> Result<AnswerReader, ProviderError> {
        let route = self.routes.current();
        let mut error = match route.open(&request).await {
            Ok(reader) => return Ok(reader),
            Err(error) => error,
        };
        while let Some(adaptation) = Adaptation::from_error(&error).filter(|found| route.adapt(*found)) {
            if adaptation == Adaptation::NoUpdates {
                // The request has to be built in another way.
                route.notify(adaptation);
                return Err(ProviderError { retry: Retry::without(RefusedPart::Update), ..error });
            }
            error = match route.open(&request).await {
                Ok(reader) => {
                    route.notify(adaptation);
                    return Ok(reader);
                }
                Err(error) => error,
            };
        }
        let Some(other) = self.routes.change_from(route) else { return Err(error) };
        if request.messages.iter().any(|message| is_update(message)) {
            return Err(ProviderError { retry: Retry::without(RefusedPart::Update), ..error });
        }
        let reader = other.open(&request).await?;
        self.routes.confirm_change();
        Ok(reader)
    }

    /// Names the part of a request that the service refuses in an error.
    fn locate(&self, request: &ModelRequest, error: ProviderError) -> ProviderError {
        locate(error, request, || {
            let route = self.routes.current();
            let protocol = route.transport.endpoint().protocol;
            let body = build_request_body(protocol, request, &route.settings()).ok()?;
            serde_json::from_slice(&body).ok()
        })
    }
}

impl Routes {
    fn current(&self) -> &Route {
        self.other.get().unwrap_or(&self.first)
    }

    /// Changes to the other protocol if there is one and the service has refused the first one, which the failed request
    /// used. Several requests at the same time may have used it.
    fn change_from(&self, failed: &Route) -> Option<&Route> {
        if !std::ptr::eq(failed, &self.first) {
            return None;
        }
        let endpoint = self.first.transport.endpoint();
        let protocol = endpoint.other_protocol.filter(|_| self.first.transport.has_refused_api())?;
        let other = Endpoint { protocol, other_protocol: None, ..endpoint.clone() };
        let traffic = self.first.transport.traffic().clone();
        Some(self.other.get_or_init(|| Route::new(other, traffic)))
    }

    /// Reports that the service has accepted a request over the other protocol.
    fn confirm_change(&self) {
        let endpoint = self.first.transport.endpoint();
        if let (Some(observer), Some(protocol)) = (&endpoint.on_protocol_change, endpoint.other_protocol) {
            observer.notify(protocol);
        }
    }
}

impl Route {
    fn new(endpoint: Endpoint, traffic: TrafficMode) -> Self {
        let quirks = Mutex::new(endpoint.quirks);
        Self {
            transport: Arc::new(Transport::new(endpoint, traffic)),
            body_builder: Mutex::default(),
            quirks,
        }
    }

    /// Returns the settings of requests now.
    fn settings(&self) -> RequestSettings<'_> {
        let quirks = *self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        RequestSettings { quirks, ..self.transport.endpoint().request_settings() }
    }

    /// Respects a deviation in all further requests. Returns false if they do so already.
    fn adapt(&self, adaptation: Adaptation) -> bool {
        let has_changed = adaptation.apply(&mut self.quirks.lock().unwrap_or_else(PoisonError::into_inner));
        if has_changed {
            // The bytes of earlier messages change.
            *self.body_builder.lock().unwrap_or_else(PoisonError::into_inner) = RequestBodyBuilder::default();
        }
        has_changed
    }

    /// Reports a deviation that the service has shown.
    fn notify(&self, adaptation: Adaptation) {
        if let Some(observer) = &self.transport.endpoint().on_adaptation {
            observer.notify(adaptation);
        }
    }

    async fn open(&self, request: &Arc<ModelRequest>) -> Result<AnswerReader, ProviderError> {
        let endpoint = self.transport.endpoint();
        let settings = self.settings();
        let body = self
            .body_builder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .build(endpoint.protocol, request, &settings)
            .map_err(|error| self.transport.error_builder().invalid_configuration(&error.to_string()))?;
        let decoder = endpoint.protocol.decoder(request, endpoint.quirks);
        let decoder = BodyDecoder::new(endpoint.protocol, decoder);
        let conversation = Conversation { request, settings: &settings, body: &body };
        let (head, response) = self.transport.post(&conversation).await?;
        Ok(AnswerReader::new(Arc::clone(&self.transport), head, response, decoder))
    }
}

impl Provider for HttpProvider {
    fn enforces_schema(&self, schema: &JsonSchema) -> bool {
        let endpoint = self.routes.first.transport.endpoint();
        endpoint.other_protocol.is_none()
            && endpoint.protocol.enforces_schema(schema, &endpoint.request_settings())
    }

    fn appends_tools(&self) -> bool {
        let route = self.routes.current();
        route.transport.endpoint().protocol.appends_tools(&route.settings())
    }

    fn appended_effort(&self) -> Option<&'static str> {
        let route = self.routes.current();
        let settings = route.settings();
        let is_appended = route.transport.endpoint().protocol.appends_effort(&settings);
        is_appended.then(|| settings.reasoning.level().map_or("default", Effort::as_str))
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let (sent, provider) = (Arc::clone(&request), self.clone());
        let start = StreamState::Unsent(self.clone(), request);
        stream::unfold(start, |state| async move {
            let mut reader = match state {
                StreamState::Ended => return None,
                // Boxed, because the large future would be moved with every chunk of the answer.
                StreamState::Unsent(provider, request) => {
                    let routes = Arc::clone(&provider.routes);
                    let opened = Box::pin(provider.open(request)).await;
                    let notices = routes.current().transport.take_notices().into_iter();
                    let mut items: Vec<_> = notices.map(|notice| Ok(ModelEvent::Notice(notice))).collect();
                    match opened {
                        Ok(reader) if items.is_empty() => Box::new(reader),
                        Ok(reader) => {
                            return Some((stream::iter(items), StreamState::Open(Box::new(reader))));
                        }
                        Err(error) => {
                            items.push(Err(error));
                            return Some((stream::iter(items), StreamState::Ended));
                        }
                    }
                }
                StreamState::Open(reader) => reader,
            };
            let mut events = Vec::new();
            let error = reader.read(&mut events).await.err();
            let ended = error.is_some() || matches!(events.last(), Some(ModelEvent::Finished(_)));
            let items: Vec<_> = events.into_iter().map(Ok).chain(error.map(Err)).collect();
            let next = if ended { StreamState::Ended } else { StreamState::Open(reader) };
            Some((stream::iter(items), next))
        })
        .flatten()
        .map(move |item| item.map_err(|error| provider.locate(&sent, error)))
        .boxed()
    }
}

/// Whether a message has changes that a protocol without such messages would lose.
fn is_update(message: &Message) -> bool {
    match message {
        Message::Update(update) => !update.is_empty(),
        Message::User(_) | Message::Instructions(_) | Message::Assistant(_) | Message::ToolResults(_) => {
            false
        }
    }
}

/// The state of the stream of one answer.
enum StreamState {
    Unsent(HttpProvider, Arc<ModelRequest>),
    Open(Box<AnswerReader>),
    Ended,
}
