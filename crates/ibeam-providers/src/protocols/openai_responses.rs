//! The OpenAI Responses API, as OpenAI defines it and as other services implement it.
//!
//! Source: the API reference, "Responses" and "Streaming events". Requests are stateless: nothing is stored at the service,
//! and every request has the whole conversation, with the reasoning of the model in encrypted form.

mod decoder;
mod event;
mod item;
mod request;
mod websocket_mode;

use ibeam_core::ModelRequest;

use crate::request_rules::RequestRule;
use crate::response_error::{FailureClass, ReportedError, status_from_kind};
use crate::wire_protocol::{
    AnswerDecoder, BatchKind, OutgoingRequest, Quirks, RequestSettings, RequestWriter, WebSocketMode,
    WireProtocol, count_calls,
};
use ibeam_http::base_url::append_path;

#[derive(Clone, Copy, Debug)]
pub struct OpenAiResponses;

impl WireProtocol for OpenAiResponses {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        "/v1"
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        append_path(base_url, "/responses")
    }

    fn models_url(&self, base_url: &str) -> String {
        append_path(base_url, "/models")
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter { write_request: request::write_request, write_messages: request::write_messages }
    }

    fn appends_tools(&self, settings: &RequestSettings<'_>) -> bool {
        settings.quirks.updates && settings.traits.has(RequestRule::AddedTools)
    }

    fn appends_effort(&self, settings: &RequestSettings<'_>) -> bool {
        settings.quirks.updates && settings.traits.has(RequestRule::EffortUpdates)
    }

    fn websocket_mode(&self) -> Option<&'static dyn WebSocketMode> {
        Some(&websocket_mode::ResponsesOverWebSocket)
    }

    fn batch_kind(&self) -> Option<BatchKind> {
        Some(BatchKind::OpenAiResponses)
    }

    /// A server without this API has no such path. Azure reports models that it does not serve over this API with 400.
    fn is_api_refusal(&self, status: u16, body: &str) -> bool {
        let body = body.to_lowercase();
        let phrases = ["chat/completions", "responses api", "operation is unsupported"];
        let names_api = phrases.iter().any(|phrase| body.contains(phrase));
        match status {
            // A service with this API may not have the model.
            404 => names_api || !body.contains("model_not_found"),
            405 | 501 => true,
            400 => names_api,
            _ => false,
        }
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(decoder::Decoder::new(count_calls(request)))
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        let status = status.or_else(|| status_of_code(&error.kind)).unwrap_or(500);
        FailureClass::from_error(status, error, model)
    }
}

/// Returns the HTTP status that the error of a failed answer would have had, by its `code`.
fn status_of_code(kind: &str) -> Option<u16> {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["usage_limit_reached", "usage_not_included", "billing"]) {
        Some(402)
    } else if has(&["invalid_", "image", "unsupported", "policy", "content_filter"]) && !has(&["api_key"]) {
        Some(400)
    } else {
        status_from_kind(kind)
    }
}
