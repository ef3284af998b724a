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

use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::Message;

use crate::wire_protocol::{
    AnswerDecoder, BatchKind, OutgoingRequest, Quirks, RequestSettings, StablePrefix, WireProtocol,
    count_calls,
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

    fn write_request(
        &self,
        request: &ModelRequest,
        settings: &RequestSettings<'_>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        request::write_request(request, settings)
    }

    fn write_messages(
        &self,
        messages: &[Arc<Message>],
        settings: &RequestSettings<'_>,
        body: &mut Vec<u8>,
    ) -> Result<StablePrefix, serde_json::Error> {
        request::write_messages(messages, settings, body)
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
