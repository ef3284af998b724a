//! Model providers over HTTP: the wire protocols of their APIs, one transport, and tables of known providers and models.
//!
//! The modules form layers; each uses only those above it in this list.
//!
//! 1. Independent of any API: lenient JSON, calls written as text, answer drafts and their limits, errors, and what a model
//!    accepts ([`ModelTraits`]).
//! 2. [`wire_protocol`]: the trait that every API implements, and [`BodyDecoder`], which feeds its decoders.
//! 3. [`protocols`]: one module per API, and the one list of them.
//! 4. Data: [`model_table`], [`provider_table`], prices.
//! 5. The HTTP client: endpoint, keys, transport, WebSocket connections, [`recording`] and replay of its traffic, [`HttpProvider`],
//!    and the [batch APIs](batch).
//!
//! Requests are built and answers are decoded by pure functions. Failures are only classified; the agent loop decides
//! about retries. Reads no environment, files, tools or sessions: the caller resolves an [`Endpoint`].

mod adaptation;
mod answer_draft;
mod answer_format;
mod answer_limits;
mod answer_reader;
mod answer_state;
pub mod batch;
mod body_decoder;
mod cache_marker;
pub mod calendar;
mod call_id;
pub mod default_models;
mod download;
pub mod endpoint;
mod http_provider;
mod keys;
mod lenient_json;
pub mod listed_model;
mod model_name;
pub mod model_table;
mod model_thinking;
mod model_traits;
mod prices;
pub mod protocol_choice;
pub mod protocols;
mod provider_errors;
pub mod provider_table;
mod proxy_error;
mod reasoning;
pub mod recording;
mod refused_part;
mod remaining_quota;
mod request_body;
mod request_rules;
pub mod response_error;
mod retry_after;
mod text_tool_calls;
mod transport;
mod websocket;
pub mod wire_protocol;

pub use adaptation::Adaptation;
pub use answer_limits::{ANSWER_LIMIT_BYTES, ANSWER_LIMIT_PARTS};
pub use body_decoder::BodyDecoder;
pub use call_id::CallIdForm;
pub use download::Download;
pub use endpoint::{Endpoint, NearModels, Observer, Timeouts, TransportKind};
pub use http_provider::HttpProvider;
pub use ibeam_http::base_url::{PlainHttpServer, has_credentials, with_default_scheme};
pub use ibeam_http::headers::{InvalidHeader, check_header, is_key_header, is_secret_header};
pub use ibeam_http::post::{JsonPost, PostError};
pub use ibeam_http::tls::{ClientCertificateError, InvalidPem, TlsSettings, tls_config};
pub use ibeam_http::{ProxyServer, Secret, framing, sse};
pub use keys::{KeyReader, KeyRequest};
pub use listed_model::{Lifecycle, ListedFacts, ListedModel, ListedPrices, ListedThinkingForm};
pub use model_table::{
    Abilities, KnownModel, TABLE_DATE, family_prices, find_model, known_model, known_models, maker_of,
    model_label, models_of, newest_of_family, retired_model, traits_of,
};
pub use model_thinking::{EffortSet, ModelThinking, ThinkingForm, ThinkingOff};
pub use model_traits::{CacheForm, InstructionRole, ModelTraits, SchemaForm};
pub use prices::{batch_prices, parse_prices};
pub use protocols::{DEFAULT_PROTOCOL, PROTOCOLS, find_protocol};
pub use provider_table::{KnownProvider, PROVIDERS, known_provider};
pub use reasoning::{Effort, Reasoning};
pub use recording::TrafficMode;
pub use remaining_quota::{Remaining, RemainingQuota};
pub use request_body::build_request_body;
pub use request_rules::{RequestRule, RequestRules};
pub use wire_protocol::{AnswerDecoder, MaxTokensField, Quirks, WebSocketError, WebSocketMode, WireProtocol};
