//! Decoding of a recorded answer, in a given chunking, with the code that decodes answers from the network.

use std::sync::Arc;

use ibeam_core::{ModelEvent, ModelRequest};
use ibeam_protocol::{Answer, Block, ToolSpec};
use ibeam_providers::response_error::{FailureClass, ResponseError};
use ibeam_providers::{BodyDecoder, Quirks, WireProtocol};
use serde_json::Value;

use crate::record::Record;

#[derive(Debug)]
pub(crate) enum DecodingOutcome {
    Answer(DecodedAnswer),
    /// The service reports an error.
    ServiceError(FailureClass),
    /// The body is incomplete, too large or not of its protocol.
    Undecodable(ResponseError),
}

#[derive(Debug, PartialEq)]
pub(crate) struct DecodedAnswer {
    pub(crate) answer: Answer,
    /// All deltas of the text.
    pub(crate) streamed_text: String,
}

impl DecodedAnswer {
    /// Returns the text of all text blocks.
    pub(crate) fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
        };
        self.answer.blocks.iter().filter_map(text).collect()
    }

    /// Returns the text of all thinking blocks.
    pub(crate) fn thinking(&self) -> String {
        let thinking = |block: &Block| match block {
            Block::Thinking { text, .. } => Some(text.clone()),
            Block::Text(_) | Block::ToolCall(_) | Block::Opaque(_) => None,
        };
        self.answer.blocks.iter().filter_map(thinking).collect()
    }
}

/// Decodes the body of `record`, or the part of it that is in `chunks`.
pub(crate) fn decode_record<'a>(
    protocol: &'static dyn WireProtocol,
    record: &Record,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> DecodingOutcome {
    let mut body = BodyDecoder::new(protocol, protocol.decoder(&request(record), Quirks::DEFAULT));
    let mut events = Vec::new();
    let decode = || -> Result<(), ResponseError> {
        for chunk in chunks {
            body.decode_chunk(chunk, &mut events)?;
            if matches!(events.last(), Some(ModelEvent::Finished(_))) {
                return Ok(());
            }
        }
        body.finish(&mut events)
    };
    let result = decode();
    let finished = events.iter().position(|event| matches!(event, ModelEvent::Finished(_)));
    let streamed_text = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(text.as_str()),
            ModelEvent::ThinkingDelta(_)
            | ModelEvent::ToolCallAnnounced
            | ModelEvent::Notice(_)
            | ModelEvent::Finished(_) => None,
        })
        .collect();
    match (finished.map(|at| events.swap_remove(at)), result) {
        (Some(ModelEvent::Finished(answer)), _) => {
            DecodingOutcome::Answer(DecodedAnswer { answer: *answer, streamed_text })
        }
        (_, Err(ResponseError::Reported(error))) => {
            DecodingOutcome::ServiceError(protocol.classify_error(error.status, &error, model(record)))
        }
        (_, Err(error)) => DecodingOutcome::Undecodable(error),
        (_, Ok(())) => {
            DecodingOutcome::Undecodable(ResponseError::Protocol("no answer and no error".to_owned()))
        }
    }
}

/// Classifies the body of a response whose status is not success.
pub(crate) fn classify_error_body(
    protocol: &'static dyn WireProtocol,
    record: &Record,
    body: &[u8],
) -> FailureClass {
    let error = protocol.parse_error_body(&String::from_utf8_lossy(body));
    protocol.classify_error(Some(record.response.status), &error, model(record))
}

/// Returns a request with the tools of the recorded one: some decoders need their names.
fn request(record: &Record) -> ModelRequest {
    let tools = record.request.body.get("tools").and_then(Value::as_array);
    let name = |tool: &Value| {
        let name = tool.get("name").or_else(|| tool.pointer("/function/name"))?.as_str()?.to_owned();
        Some(ToolSpec { name: name.into(), description: "".into(), parameters: Value::Null.into() })
    };
    let tools: Vec<ToolSpec> = tools.into_iter().flatten().filter_map(name).collect();
    ModelRequest {
        system: "".into(),
        tools: Arc::from(tools),
        messages: Vec::new(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    }
}

fn model(record: &Record) -> &str {
    record.request.body.get("model").and_then(Value::as_str).unwrap_or("no model")
}
