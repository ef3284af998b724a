//! The model wires of ibeam: Anthropic Messages and OpenAI Chat Completions, and the services that speak them.
//!
//! Each wire is two pure functions, *build request* and *parse stream* (`wire`), over one parser of server-sent
//! events (`sse`); one transport carries both. Providers only classify failures (`failure`): the retry is the
//! loop's. Refuses the environment, files, tools and sessions: an [`Endpoint`] comes resolved.

mod answer;
pub mod anthropic;
pub mod catalogue;
mod download;
mod draft;
pub mod endpoint;
mod failure;
mod lenient;
pub mod openai;
mod provider;
mod retry_after;
mod said;
mod secret;
pub mod services;
pub mod sse;
mod tokens;
mod transport;
mod trust;
pub mod wire;

pub use catalogue::{KnownModel, default_model, known_model, model_label};
pub use download::Download;
pub use endpoint::{Endpoint, Timeouts};
pub use provider::{HttpProvider, ListedModel};
pub use secret::Secret;
pub use services::{MaxTokensField, Quirks, SERVICES, Service, service};
pub use wire::Wire;
