//! Decoder for answers of InvokeModel, whose form is that of the model's own API.
//!
//! Claude answers in the form of Messages. Amazon Nova answers in the form of Converse.

use ibeam_core::ModelEvent;
use ibeam_protocol::Usage;

use crate::answer_state::AnswerState;
use crate::protocols::{anthropic, bedrock};
use crate::response_error::ResponseError;
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    messages: anthropic::Decoder,
    calls_before: usize,
}

impl Decoder {
    pub(super) fn new(calls_before: usize) -> Self {
        Self { messages: anthropic::Decoder::new(calls_before), calls_before }
    }
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        self.messages.state()
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.messages.add_frame(frame, out)
    }

    fn has_stopped(&self) -> bool {
        self.messages.has_stopped()
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.messages.reported_usage()
    }

    fn finish_stream(
        &mut self,
        last: Option<&Frame>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        self.messages.finish_stream(last, out)
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if bedrock::is_answer(body) {
            return bedrock::Decoder::new(self.calls_before).decode_document(body, out);
        }
        self.messages.decode_document(body, out)
    }
}
