//! The HTTP implementation of [`Provider`].

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError};

use crate::answer_reader::AnswerReader;
use crate::body_decoder::BodyDecoder;
use crate::endpoint::Endpoint;
use crate::listed_model::ListedModel;
use crate::recording::TrafficMode;
use crate::request_body::RequestBodyBuilder;
use crate::transport::Transport;
use crate::websocket::Conversation;

/// One model of one provider. Cheap to create: nothing is read or opened before the first request.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    transport: Arc<Transport>,
    body_builder: Arc<Mutex<RequestBodyBuilder>>,
}

impl HttpProvider {
    /// Creates a provider. Its requests share one connection.
    pub fn new(endpoint: Endpoint) -> Self {
        Self::with_traffic(endpoint, TrafficMode::Live)
    }

    /// Creates a provider whose traffic is recorded, or comes from recordings.
    pub fn with_traffic(endpoint: Endpoint, traffic: TrafficMode) -> Self {
        Self { transport: Arc::new(Transport::new(endpoint, traffic)), body_builder: Arc::default() }
    }

    /// Returns the models that the service offers to this key, in the order of the service.
    ///
    /// # Errors
    /// Errors of the connection or the service, as for a request to a model. Nothing is retried.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let (head, body) = self.transport.get_models().await?;
        let models = self.transport.endpoint().protocol.parse_models(&body);
        models.map_err(|error| self.transport.error_builder().invalid_response(error, head))
    }

    async fn open(self, request: Arc<ModelRequest>) -> Result<AnswerReader, ProviderError> {
        let endpoint = self.transport.endpoint();
        let settings = endpoint.request_settings();
        let body = self
            .body_builder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .build(endpoint.protocol, &request, &settings)
            .map_err(|error| self.transport.error_builder().invalid_configuration(&error.to_string()))?;
        let decoder = endpoint.protocol.decoder(&request, endpoint.quirks);
        let decoder = BodyDecoder::new(endpoint.protocol, decoder);
        let conversation = Conversation { request: &request, settings: &settings, body: &body };
        let (head, response) = self.transport.post(&conversation).await?;
        Ok(AnswerReader::new(Arc::clone(&self.transport), head, response, decoder))
    }
}

impl Provider for HttpProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let start = StreamState::Unsent(self.clone(), request);
        stream::unfold(start, |state| async move {
            let mut reader = match state {
                StreamState::Ended => return None,
                // Boxed, because the large future would be moved with every chunk of the answer.
                StreamState::Unsent(provider, request) => {
                    let transport = Arc::clone(&provider.transport);
                    let opened = Box::pin(provider.open(request)).await;
                    let notices = transport.take_notices().into_iter();
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
        .boxed()
    }
}

/// The state of the stream of one answer.
enum StreamState {
    Unsent(HttpProvider, Arc<ModelRequest>),
    Open(Box<AnswerReader>),
    Ended,
}
