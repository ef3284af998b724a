//! The model wires of ibeam: Anthropic Messages and OpenAI Chat Completions, and the services that speak them.
//!
//! Each wire is two pure functions, *build request* and *parse stream* (`wire`), over one parser of server-sent
//! events (`sse`); one transport carries both. Providers only classify failures (`failure`): the retry is the
//! loop's. Refuses the environment, files, tools and sessions: an [`Endpoint`] comes resolved.

mod answer;
pub mod anthropic;
mod base_url;
mod body;
mod bounds;
mod download;
mod draft;
pub mod endpoint;
mod failure;
mod keys;
mod lenient;
pub mod model_table;
pub mod openai;
mod prices;
mod provider;
pub mod provider_table;
mod resolver;
mod retry_after;
mod said;
mod secret;
pub mod sse;
mod tokens;
mod transport;
mod trust;
pub mod wire;

pub use base_url::{PlainHttpServer, has_credentials, with_default_scheme};
pub use bounds::{ANSWER_LIMIT_BYTES, ANSWER_LIMIT_PARTS};
pub use download::Download;
pub use endpoint::{Endpoint, Timeouts};
pub use keys::is_secret_header;
pub use model_table::{KnownModel, default_model, known_model, model_label, newest_model};
pub use prices::{known_prices, parse_prices};
pub use provider::{HttpProvider, ListedModel};
pub use provider_table::{KnownProvider, MaxTokensField, PROVIDERS, Quirks, known_provider};
pub use secret::{KeyReader, Secret};
pub use trust::tls_config;
pub use wire::Wire;
