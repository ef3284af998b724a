//! Claude on Amazon Bedrock through InvokeModel: the Messages API inside of the binary event stream of AWS.
//!
//! Source: the API reference of Amazon Bedrock, "InvokeModelWithResponseStream", and "Anthropic Claude Messages API".

mod decoder;
mod framing;

use ibeam_core::{JsonSchema, ModelRequest};
use serde_json::Value;

use super::anthropic::{Envelope, write_messages, write_request};
use super::bedrock::{bearer_header, classify_error, models_url, parse_error, parse_models, path_segment};
use crate::answer_format::messages_schema;
use crate::listed_model::ListedModel;
use crate::model_traits::CacheForm;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestSettings, RequestWriter, WireProtocol, count_calls,
};
use ibeam_http::framing::FrameParser;

/// Claude on Amazon Bedrock.
#[derive(Clone, Copy, Debug)]
pub struct BedrockAnthropic;

/// The service rejects the key `stream`: another URL asks for a stream.
fn envelope(settings: &RequestSettings<'_>) -> Envelope {
    let accepts_breakpoints = settings.traits.cache == Some(CacheForm::Points);
    Envelope {
        anthropic_version: Some("bedrock-2023-05-31"),
        accepts_stream: false,
        accepts_breakpoints,
        has_beta_in_body: true,
    }
}

impl WireProtocol for BedrockAnthropic {
    fn name(&self) -> &'static str {
        "bedrock-anthropic"
    }

    fn default_path(&self) -> &'static str {
        ""
    }

    fn request_url(&self, base_url: &str, model: &str) -> String {
        format!(
            "{}/model/{}/invoke-with-response-stream",
            base_url.trim_end_matches('/'),
            path_segment(model)
        )
    }

    fn models_url(&self, base_url: &str) -> String {
        models_url(base_url)
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        bearer_header(key)
    }

    fn accept(&self) -> &'static str {
        "application/vnd.amazon.eventstream, application/json"
    }

    fn enforces_schema(&self, schema: &JsonSchema, settings: &RequestSettings<'_>) -> bool {
        messages_schema(schema, settings).is_some()
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter {
            write_request: |request, settings| write_request(request, settings, envelope(settings)),
            write_messages: |messages, settings, body| {
                write_messages(messages, envelope(settings), settings, body)
            },
        }
    }

    fn frame_parser(&self) -> Box<dyn FrameParser> {
        Box::new(framing::ChunkParser::default())
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(decoder::Decoder::new(count_calls(request)))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        parse_models(body)
    }

    fn parse_error(&self, body: &Value) -> ReportedError {
        parse_error(body)
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        classify_error(status, error, model)
    }
}
