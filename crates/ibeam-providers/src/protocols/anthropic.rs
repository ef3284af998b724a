//! The Anthropic Messages API.
//!
//! Source: the API reference, "Create a message" and "Streaming messages", version 2023-06-01.

mod content_block;
mod decoder;
mod request;

use ibeam_core::{JsonSchema, ModelRequest};

use crate::answer_format::messages_schema;
use crate::request_rules::RequestRule;
use crate::wire_protocol::{
    AnswerDecoder, BatchKind, OutgoingRequest, Quirks, RequestSettings, RequestWriter, WireProtocol,
    count_calls,
};

pub(super) use decoder::Decoder;
pub(super) use request::{Envelope, MOVING_BREAKPOINTS, beta_header, write_messages, write_request};

const ENVELOPE: Envelope = Envelope {
    anthropic_version: None,
    accepts_stream: true,
    accepts_breakpoints: true,
    has_beta_in_body: false,
};

#[derive(Clone, Copy, Debug)]
pub struct AnthropicMessages;

impl WireProtocol for AnthropicMessages {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        ""
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        format!("{}/messages", versioned(base_url))
    }

    fn models_url(&self, base_url: &str) -> String {
        format!("{}/models?limit=1000", versioned(base_url))
    }

    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        // The version of the API that this module implements.
        &[("anthropic-version", "2023-06-01")]
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("x-api-key", key.to_owned())]
    }

    fn model_header(
        &self,
        request: Option<&ModelRequest>,
        settings: &RequestSettings<'_>,
    ) -> Option<(&'static str, String)> {
        beta_header(request, settings)
    }

    fn appends_tools(&self, settings: &RequestSettings<'_>) -> bool {
        settings.quirks.updates && settings.traits.has(RequestRule::AddedTools)
    }

    fn enforces_schema(&self, schema: &JsonSchema, settings: &RequestSettings<'_>) -> bool {
        messages_schema(schema, settings).is_some()
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter {
            write_request: |request, settings| write_request(request, settings, ENVELOPE),
            write_messages: |messages, settings, body| write_messages(messages, ENVELOPE, settings, body),
        }
    }

    fn batch_kind(&self) -> Option<BatchKind> {
        Some(BatchKind::Anthropic)
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(Decoder::new(count_calls(request)))
    }
}

/// Appends the version segment to a base URL that does not have it.
fn versioned(base_url: &str) -> String {
    let base = base_url.trim_end_matches('/');
    if base.ends_with("/v1") { base.to_owned() } else { format!("{base}/v1") }
}
