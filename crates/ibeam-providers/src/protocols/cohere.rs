//! The Cohere API: `chat` of version 2.
//!
//! Source: the API reference, "Chat with streaming" and "List models", and the guide "Reasoning".

mod chunk;
mod decoder;
mod errors;
mod model_list;
mod request;

use ibeam_core::ModelRequest;

use crate::listed_model::ListedModel;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestWriter, WireProtocol, count_calls,
};
use ibeam_http::base_url::append_path;

/// Cohere Chat, version 2.
#[derive(Clone, Copy, Debug)]
pub struct CohereChat;

impl WireProtocol for CohereChat {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        "/v2"
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        append_path(base_url, "/chat")
    }

    /// The list is at version 1 only.
    fn models_url(&self, base_url: &str) -> String {
        let base = base_url.trim_end_matches('/');
        format!("{}/v1/models?endpoint=chat&page_size=1000", base.strip_suffix("/v2").unwrap_or(base))
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter { write_request: request::write_request, write_messages: request::write_messages }
    }

    fn accepts_documents(&self) -> bool {
        false
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(decoder::Decoder::new(count_calls(request)))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        model_list::parse(body)
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        errors::classify(status, error, model)
    }
}
