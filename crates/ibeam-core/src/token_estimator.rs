//! How many tokens the next request will take: exact where the provider has counted, an estimate for the rest.
//!
//! Pure. The estimate is calibrated by answers that come with usage; before the first it is deliberately high.

use ibeam_protocol::{Block, Message, Usage};

use crate::history::History;
use crate::provider::ModelRequest;

/// Bytes of a token before any answer has told better: low, so that the estimate is high.
const DEFAULT_BYTES_PER_TOKEN: f64 = 3.0;
/// What real tokenizers give lies within; anything else is a provider's slip.
const PLAUSIBLE_BYTES_PER_TOKEN: std::ops::RangeInclusive<f64> = 1.5..=6.0;
/// Requests under this size tell more about the provider's own preamble than about its tokens.
const MIN_CALIBRATION_BYTES: usize = 4096;

/// Turns bytes into tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenEstimator {
    bytes_per_token: f64,
    /// How many messages it learned from last.
    calibrated_messages: usize,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { bytes_per_token: DEFAULT_BYTES_PER_TOKEN, calibrated_messages: 0 }
    }
}

impl TokenEstimator {
    /// Learns from what the provider counted for `request`, whenever the conversation has doubled: to weigh all of
    /// it at every turn would cost more the longer it is.
    pub(crate) fn calibrate(&mut self, request: &ModelRequest, usage: Usage) {
        if request.messages.len() < 2 * self.calibrated_messages {
            return;
        }
        let bytes = overhead_bytes(request) + size_bytes(&request.messages);
        let told = bytes as f64 / usage.prompt().max(1) as f64;
        if bytes >= MIN_CALIBRATION_BYTES && PLAUSIBLE_BYTES_PER_TOKEN.contains(&told) {
            self.bytes_per_token = told;
            self.calibrated_messages = request.messages.len();
        }
    }

    /// Tokens of a request with these messages after `fixed` bytes of instructions and tools.
    pub(crate) fn estimate(&self, fixed: usize, history: &History) -> u64 {
        let messages = history.messages();
        match history.counted_tokens() {
            Some((tokens, counted)) => {
                tokens.saturating_add(self.tokens(size_bytes(messages.get(counted..).unwrap_or_default())))
            }
            None => self.tokens(fixed + size_bytes(messages)),
        }
    }

    /// Tokens of so many bytes.
    pub(crate) fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token).ceil() as u64
    }

    /// Bytes of so many tokens.
    pub(crate) fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.bytes_per_token) as usize
    }
}

/// Bytes of the instructions and the tools of a request.
pub(crate) fn overhead_bytes(request: &ModelRequest) -> usize {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    request.system.len() + tools.sum::<usize>()
}

/// Bytes of messages as a model reads them.
pub(crate) fn size_bytes<M: AsRef<Message>>(messages: &[M]) -> usize {
    messages.iter().map(|message| message_bytes(message.as_ref())).sum()
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::User(texts) => texts.iter().map(String::len).sum(),
        Message::Assistant(blocks) => blocks
            .iter()
            .map(|block| match block {
                Block::Text(text) | Block::Thinking { text, .. } => text.len(),
                Block::ToolCall(call) => call.name.len() + call.arguments.to_string().len(),
            })
            .sum(),
        Message::ToolResults(results) => results.iter().map(|result| result.text.len()).sum(),
    }
}
