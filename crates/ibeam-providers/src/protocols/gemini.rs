//! The Gemini API: `generateContent`, at Google AI Studio and on Vertex AI.
//!
//! Source: the API reference, "models.streamGenerateContent", v1beta (AI Studio) and v1 (Vertex AI). Both services have the
//! same requests and answers; they differ in addresses, authorisation and the list of models.

mod chunk;
mod decoder;
pub(super) mod errors;
pub(super) mod model_list;
mod partial_arguments;
mod request;
mod thinking;

use ibeam_core::ModelRequest;
use serde_json::Value;

pub(super) use thinking::Level;

use crate::listed_model::ListedModel;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, BatchKind, OutgoingRequest, Quirks, RequestWriter, WireProtocol, count_calls,
};

/// The names of the protocol at its two services.
const AI_STUDIO: &str = "gemini";
const VERTEX: &str = "vertex-gemini";

/// Gemini at one of its two services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gemini {
    /// Google AI Studio.
    AiStudio,
    /// Vertex AI. The base URL ends in the version, or in `/projects/PROJECT/locations/LOCATION`.
    Vertex,
}

impl WireProtocol for Gemini {
    fn name(&self) -> &'static str {
        match self {
            Self::AiStudio => AI_STUDIO,
            Self::Vertex => VERTEX,
        }
    }

    fn default_path(&self) -> &'static str {
        match self {
            Self::AiStudio => "/v1beta",
            Self::Vertex => "/v1",
        }
    }

    fn request_url(&self, base_url: &str, model: &str) -> String {
        let base = base_url.trim_end_matches('/');
        // Requests with an API key of the express mode name no project.
        let base = base.split_once("/projects//").map_or(base, |(base, _)| base);
        // A name with a slash is a complete resource name, such as `tunedModels/NAME` or `endpoints/NUMBER`.
        let collection = match self {
            _ if model.contains('/') => "",
            Self::AiStudio => "models/",
            Self::Vertex => "publishers/google/models/",
        };
        format!("{base}/{collection}{}:streamGenerateContent?alt=sse", escape_path(model))
    }

    fn models_url(&self, base_url: &str) -> String {
        model_list::url(*self, base_url)
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        // Vertex AI takes access tokens, and API keys in its express mode. Only these two forms of API keys exist.
        let is_api_key = key.starts_with("AIza") || key.starts_with("AQ.");
        if *self == Self::Vertex && !is_api_key {
            vec![("authorization", format!("Bearer {key}"))]
        } else {
            vec![("x-goog-api-key", key.to_owned())]
        }
    }

    fn request_writer(&self) -> RequestWriter {
        let write_request = request::write_request;
        match self {
            Self::AiStudio => RequestWriter {
                write_request,
                write_messages: |messages, settings, body| {
                    request::write_messages(messages, AI_STUDIO, settings, body)
                },
            },
            Self::Vertex => RequestWriter {
                write_request,
                write_messages: |messages, settings, body| {
                    request::write_messages(messages, VERTEX, settings, body)
                },
            },
        }
    }

    fn batch_kind(&self) -> Option<BatchKind> {
        match self {
            Self::AiStudio => Some(BatchKind::Gemini),
            // Vertex AI reads batches from its own storage.
            Self::Vertex => None,
        }
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(decoder::Decoder::new(self.name(), count_calls(request)))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        model_list::parse(body)
    }

    fn parse_error(&self, body: &Value) -> ReportedError {
        errors::parse(body)
    }

    fn retry_after_ms(&self, body: &Value) -> Option<u64> {
        errors::retry_after_ms(body)
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        errors::classify(status, error, model)
    }
}

/// Escapes the characters of a model name that would end the path of a URL.
fn escape_path(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte);
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
