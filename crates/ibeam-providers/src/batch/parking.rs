//! A provider that sends nothing: its requests are stored, and its answers come from the store.
//!
//! A request without an answer ends the run, so that no process waits for a batch. The next process of the session makes
//! the same request, recognised by its place in the conversation, and gets the answer.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Retry};
use ibeam_protocol::{Message, Reason};

use super::remove_stream_keys;
use crate::body_decoder::BodyDecoder;
use crate::endpoint::Endpoint;
use crate::provider_errors::ResponseHead;
use crate::recording::TrafficMode;
use crate::refused_part::locate;
use crate::request_body::build_request_body;
use crate::transport::Transport;

/// The number of bytes of a digest that a key has.
const DIGEST_BYTES: usize = 8;

/// A request that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedRequest {
    /// The key of the request within its session.
    pub key: String,
    pub provider: String,
    /// The id of the model at the service.
    pub model: String,
    pub protocol: &'static str,
    pub base_url: String,
    /// The JSON body, without the keys that ask for a stream.
    pub body: Vec<u8>,
}

/// The store of the requests and answers of a session.
pub trait RequestStore: std::fmt::Debug + Send + Sync {
    /// Returns the answer to the request with this key: the document that the service returned, which may be an error.
    fn answer(&self, key: &str) -> io::Result<Option<Vec<u8>>>;

    /// Stores a request durably, and removes the earlier requests of the session, but not their answers. A request that is stored already is not
    /// changed. Returns the place of the request, for messages.
    fn park(&self, request: &ParkedRequest) -> io::Result<String>;

    /// Removes an answer with which the run failed, so that a later process stores the request again.
    fn discard(&self, key: &str) -> io::Result<()>;
}

/// A provider whose answers come from a store.
#[derive(Debug)]
pub struct ParkingProvider {
    transport: Transport,
    store: Arc<dyn RequestStore>,
    /// The place of the last request, and how often it was requested in this process.
    last: Mutex<(String, u32)>,
}

impl ParkingProvider {
    /// Creates a provider.
    pub fn new(endpoint: Endpoint, store: Arc<dyn RequestStore>) -> Self {
        let transport = Transport::new(endpoint, TrafficMode::Live);
        Self { transport, store, last: Mutex::default() }
    }

    /// Returns the key of a request. A place that is requested again in one process, e.g. after an empty answer, gets
    /// another key.
    fn key(&self, request: &ModelRequest) -> String {
        let place = place(request);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 == place {
            last.1 += 1;
        } else {
            *last = (place.clone(), 1);
        }
        match last.1 {
            1 => place,
            count => format!("{place}-{count}"),
        }
    }

    /// Parks a request and returns the error that ends the run.
    fn park(&self, key: String, request: &ModelRequest) -> Result<ProviderError, ProviderError> {
        let Endpoint { provider, protocol, base_url, model, .. } = self.transport.endpoint();
        let body = self
            .body(request)
            .map_err(|error| self.transport.error_builder().invalid_configuration(&error.to_string()))?;
        let parked = ParkedRequest {
            key,
            provider: provider.clone(),
            model: model.clone(),
            protocol: protocol.name(),
            base_url: base_url.clone(),
            body,
        };
        let path = self.store.park(&parked).map_err(|error| store_error(&error))?;
        Ok(ProviderError::new(Reason::Parked { path }, Retry::Never))
    }

    fn body(&self, request: &ModelRequest) -> Result<Vec<u8>, serde_json::Error> {
        let endpoint = self.transport.endpoint();
        let settings = endpoint.request_settings();
        remove_stream_keys(&build_request_body(endpoint.protocol, request, &settings)?)
    }

    /// Decodes an answer.
    fn decode(&self, request: &ModelRequest, document: &[u8]) -> Vec<Result<ModelEvent, ProviderError>> {
        let Endpoint { protocol, quirks, .. } = self.transport.endpoint();
        let mut decoder = BodyDecoder::new(*protocol, protocol.decoder(request, *quirks));
        let mut events = Vec::new();
        let decoded = decoder.decode_chunk(document, &mut events).and_then(|_| decoder.finish(&mut events));
        let builder = self.transport.error_builder();
        let error = decoded.err().map(|error| {
            let error = builder.invalid_response(error, ResponseHead::default());
            let error = locate(error, request, || serde_json::from_slice(&self.body(request).ok()?).ok());
            // The same document would be decoded again, and another model would answer without a batch.
            let usage = decoder.reported_usage().map(Box::new);
            let retry = match error.retry {
                // That is another request.
                Retry::WithoutPart(part) => Retry::WithoutPart(part),
                Retry::Never | Retry::Once | Retry::Fast | Retry::Backoff => Retry::Never,
            };
            Err(ProviderError { retry, usage, is_unavailable: false, ..error })
        });
        for event in &mut events {
            if let ModelEvent::Finished(answer) = event {
                answer.request_id = builder.sanitize_id(answer.request_id.take());
            }
        }
        events.into_iter().map(Ok).chain(error).collect()
    }
}

impl Provider for ParkingProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let key = self.key(&request);
        let items = match self.store.answer(&key) {
            Ok(Some(document)) => {
                let mut items = self.decode(&request, &document);
                // The run repeats the request at once, and the next process has to find the answer to that under its key.
                if let Some(Err(ProviderError { retry: Retry::WithoutPart(_), .. })) = items.last() {
                    *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
                }
                // A conversation that is too long is shortened; the next process has to find the same reason for that.
                if let Some(Err(error)) = items.last()
                    && !matches!(error.failure.reason, Reason::ContextTooLong { .. })
                    && let Err(error) = self.store.discard(&key)
                {
                    items = vec![Err(store_error(&error))];
                }
                items
            }
            Ok(None) => vec![Err(self.park(key, &request).unwrap_or_else(std::convert::identity))],
            Err(error) => vec![Err(store_error(&error))],
        };
        stream::iter(items).boxed()
    }
}

fn store_error(error: &io::Error) -> ProviderError {
    let reason = Reason::Io { what: "parked request".to_owned(), detail: error.to_string() };
    ProviderError::new(reason, Retry::Never)
}

/// Returns the place of a request in its conversation: the number of messages, and a digest of what the last one ends
/// with. The instructions and the texts before the first prompt are not part of it, because a later process may write
/// them differently. A request without tools is one for a summary, whose message begins with the conversation.
fn place(request: &ModelRequest) -> String {
    let end = match request.messages.last().map(AsRef::as_ref) {
        Some(Message::User(parts)) if request.tools.is_empty() => serde_json::to_vec(parts),
        Some(Message::User(parts)) => serde_json::to_vec(&parts.last()),
        Some(
            last @ (Message::Instructions(_)
            | Message::Update(_)
            | Message::Assistant(_)
            | Message::ToolResults(_)),
        ) => serde_json::to_vec(last),
        None => Ok(Vec::new()),
    };
    // The types of messages have no value that cannot be serialised.
    let digest = ring::digest::digest(&ring::digest::SHA256, &end.unwrap_or_default());
    let digest = digest.as_ref().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}"));
    format!("{:04}-{}", request.messages.len(), digest.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::endpoint::Timeouts;
    use crate::protocols::ANTHROPIC;
    use crate::{Quirks, TlsSettings, TransportKind};

    /// A store in memory.
    #[derive(Debug, Default)]
    struct Store {
        answers: Mutex<HashMap<String, Vec<u8>>>,
        parked: Mutex<Vec<String>>,
    }

    impl RequestStore for Store {
        fn answer(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
            Ok(self.answers.lock().unwrap().get(key).cloned())
        }

        fn park(&self, request: &ParkedRequest) -> io::Result<String> {
            self.parked.lock().unwrap().push(request.key.clone());
            Ok(request.key.clone())
        }

        fn discard(&self, key: &str) -> io::Result<()> {
            self.answers.lock().unwrap().remove(key);
            Ok(())
        }
    }

    fn provider(store: &Arc<Store>) -> ParkingProvider {
        let endpoint = Endpoint {
            provider: "p".into(),
            protocol: ANTHROPIC,
            other_protocol: None,
            on_protocol_change: None,
            on_adaptation: None,
            on_quota: None,
            base_url: "http://localhost".into(),
            key: None,
            key_reader: None,
            key_origin: None,
            proxy: None,
            tls: TlsSettings::default(),
            headers: Vec::new(),
            model: "m".into(),
            quirks: Quirks::DEFAULT,
            transport: TransportKind::Http,
            timeouts: Timeouts::default(),
            max_output_tokens: None,
            near_models: None,
            cache_key: None,
            reasoning: crate::Reasoning::DEFAULT,
            traits: crate::model_traits::ModelTraits::UNKNOWN,
        };
        ParkingProvider::new(endpoint, Arc::clone(store) as _)
    }

    /// Returns the error with which the only item of an answer ends the request.
    async fn error(provider: &ParkingProvider, request: &Arc<ModelRequest>) -> ProviderError {
        let items: Vec<_> = provider.stream(Arc::clone(request)).collect().await;
        let [Err(error)] = items.as_slice() else { panic!("{items:?}") };
        error.clone()
    }

    #[tokio::test]
    async fn a_request_whose_thinking_was_refused_is_parked_again_under_its_key() {
        let store = Arc::<Store>::default();
        let request = Arc::new(ModelRequest {
            system: "".into(),
            tools: Arc::new([]),
            messages: vec![Arc::new(Message::User(vec!["hi".into()]))],
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        });
        let first = provider(&store);
        assert!(matches!(error(&first, &request).await.failure.reason, Reason::Parked { .. }));
        let key = store.parked.lock().unwrap()[0].clone();
        let refusal = br#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
        store.answers.lock().unwrap().insert(key.clone(), refusal.to_vec());
        let second = provider(&store);
        assert_eq!(error(&second, &request).await.retry, Retry::without(ibeam_core::RefusedPart::Thinking));
        assert!(matches!(error(&second, &request).await.failure.reason, Reason::Parked { .. }));
        assert_eq!(*store.parked.lock().unwrap(), [key.clone(), key]);
    }
}
