//! The Gemini Interactions API, without state at the service: every request has the whole conversation.
//!
//! Source: the API reference, "Interactions", revision 2026-05-20.

mod decoder;
mod request;

use ibeam_core::ModelRequest;
use serde_json::Value;

use super::gemini::{Gemini, errors, model_list};
use crate::listed_model::ListedModel;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestWriter, WireProtocol, count_calls,
};

#[derive(Clone, Copy, Debug)]
pub struct GeminiInteractions;

impl WireProtocol for GeminiInteractions {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        Gemini::AiStudio.default_path()
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        format!("{}/interactions?alt=sse", base_url.trim_end_matches('/'))
    }

    fn models_url(&self, base_url: &str) -> String {
        model_list::url(Gemini::AiStudio, base_url)
    }

    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        // The revision that this module implements. Earlier ones have other events.
        &[("api-revision", "2026-05-20")]
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("x-goog-api-key", key.to_owned())]
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter { write_request: request::write_request, write_messages: request::write_messages }
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(decoder::Decoder::new(count_calls(request)))
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
