//! The OpenAI Chat Completions API, as OpenAI defines it and as other services implement it.
//!
//! Source: the API reference, "Chat completions" and "Streaming". Deviations of other services are named where the code
//! handles them.

mod call_assembly;
mod chunk;
mod decoder;
mod delta_template;
mod reasoning_details;
mod request;
mod usage;

use ibeam_core::ModelRequest;

use crate::wire_protocol::{
    AnswerDecoder, BatchKind, OutgoingRequest, Quirks, RequestWriter, WireProtocol, count_calls,
};
use ibeam_http::base_url::append_path;

/// OpenAI Chat Completions.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiChat;

impl WireProtocol for OpenAiChat {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        "/v1"
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        append_path(base_url, "/chat/completions")
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

    fn batch_kind(&self) -> Option<BatchKind> {
        Some(BatchKind::OpenAiChat)
    }

    /// OpenAI names the other API: "use /v1/responses".
    fn is_api_refusal(&self, status: u16, body: &str) -> bool {
        matches!(status, 400 | 404) && body.contains("/responses")
    }

    fn decoder(&self, request: &ModelRequest, quirks: Quirks) -> Box<dyn AnswerDecoder> {
        let tools = request.tools.iter().filter(|_| quirks.text_tool_calls);
        let tools = tools.map(|tool| tool.name.to_string()).collect();
        Box::new(decoder::Decoder::new(count_calls(request), tools))
    }
}
