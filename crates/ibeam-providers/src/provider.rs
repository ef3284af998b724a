//! A model behind HTTP, as the loop sees it.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError};
use serde_json::Value;

use crate::answer::AnswerReader;
use crate::body::RequestBody;
use crate::endpoint::Endpoint;
use crate::transport::Transport;
use crate::wire::{ReportedError, RequestSettings, WireFault};

/// One model of one service. Cheap to make: nothing is read or opened before the first request.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    transport: Arc<Transport>,
    body: Arc<Mutex<RequestBody>>,
}

/// A model that a key may use, as the service lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// The id to ask for.
    pub id: String,
    /// The service's own name for people, where it gives one.
    pub label: Option<String>,
}

impl HttpProvider {
    /// A provider for this endpoint; requests share its connection.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { transport: Arc::new(Transport::new(endpoint)), body: Arc::default() }
    }

    /// The models that the service offers to this key, in its order.
    ///
    /// # Errors
    /// As those of a request to a model; nothing is retried.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let (head, body) = self.transport.get_models().await?;
        models(&body).map_err(|fault| self.transport.origin().fault(fault, head))
    }

    async fn open(self, request: Arc<ModelRequest>) -> Result<AnswerReader, ProviderError> {
        let endpoint = self.transport.endpoint();
        let settings = RequestSettings {
            model: &endpoint.model,
            max_output_tokens: endpoint.max_output_tokens,
            quirks: endpoint.quirks,
        };
        let body = self
            .body
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .of(endpoint.wire, &request, &settings)
            .map_err(|error| self.transport.origin().unusable(&error.to_string()))?;
        let decoder = endpoint.wire.decoder(&request, endpoint.quirks);
        let (head, response) = self.transport.post(body).await?;
        Ok(AnswerReader::new(Arc::clone(&self.transport), head, response, decoder))
    }
}

impl Provider for HttpProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let start = Reading::Unsent(self.clone(), request);
        stream::unfold(start, |reading| async move {
            let mut reader = match reading {
                Reading::Ended => return None,
                // Apart, or the room that it needs would be moved with every piece of the answer.
                Reading::Unsent(provider, request) => match Box::pin(provider.open(request)).await {
                    Ok(reader) => Box::new(reader),
                    Err(error) => return Some((stream::iter(vec![Err(error)]), Reading::Ended)),
                },
                Reading::Open(reader) => reader,
            };
            let mut events = Vec::new();
            let error = reader.read(&mut events).await.err();
            let ended = error.is_some() || matches!(events.last(), Some(ModelEvent::Finished(_)));
            let items: Vec<_> = events.into_iter().map(Ok).chain(error.map(Err)).collect();
            let next = if ended { Reading::Ended } else { Reading::Open(reader) };
            Some((stream::iter(items), next))
        })
        .flatten()
        .boxed()
    }
}

/// How far the reading of one answer has come.
enum Reading {
    Unsent(HttpProvider, Arc<ModelRequest>),
    Open(Box<AnswerReader>),
    Ended,
}

/// Both wires list models as `{"data": [{"id": …}]}`; some services send the bare list.
fn models(body: &str) -> Result<Vec<ListedModel>, WireFault> {
    let fault = || WireFault::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| fault())?;
    if let Some(error) = ReportedError::recognise(&value) {
        return Err(WireFault::Reported(error));
    }
    let list = value.get("data").unwrap_or(&value).as_array().ok_or_else(fault)?;
    let text = |model: &Value, key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(list
        .iter()
        .filter_map(|model| {
            let label = text(model, "display_name").or_else(|| text(model, "name"));
            Some(ListedModel { id: text(model, "id")?, label })
        })
        .collect())
}
