//! Estimates the tokens of the next request: exact where the provider has counted them, estimated for the rest.
//!
//! Pure. Answers that report their usage calibrate the estimate; before the first such answer it is deliberately high.

use ibeam_protocol::{Block, Media, Message, ToolResult, ToolSpec, Usage, UserPart};

use crate::history::History;
use crate::ports::ModelRequest;

/// Bytes per token before the first calibration: low, so that the estimate is high.
const DEFAULT_BYTES_PER_TOKEN: f64 = 3.0;
/// The range of real tokenizers; a value outside is an error of the provider.
const PLAUSIBLE_BYTES_PER_TOKEN: std::ops::RangeInclusive<f64> = 1.5..=6.0;
/// Smaller requests measure the provider's own preamble rather than its tokenizer.
const MIN_CALIBRATION_BYTES: usize = 4096;

/// Converts bytes to tokens and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenEstimator {
    bytes_per_token: f64,
    /// The number of messages of the request that calibrated it last.
    calibrated_messages: usize,
}

/// Returns the estimated tokens of so many bytes, for a model that has not counted any yet.
pub fn estimated_tokens(bytes: usize) -> u64 {
    TokenEstimator::default().tokens(bytes)
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { bytes_per_token: DEFAULT_BYTES_PER_TOKEN, calibrated_messages: 0 }
    }
}

impl TokenEstimator {
    /// Calibrates the estimate with the tokens that the provider counted for `request`.
    ///
    /// Does so only when the number of messages has doubled, since measuring the conversation at every turn would take
    /// time in proportion to its length.
    pub(crate) fn calibrate(&mut self, request: &ModelRequest, usage: Usage) {
        if request.messages.len() < 2 * self.calibrated_messages {
            return;
        }
        let bytes = overhead_bytes(request) + size_bytes(&request.messages);
        let measured = bytes as f64 / usage.prompt().max(1) as f64;
        if bytes >= MIN_CALIBRATION_BYTES && PLAUSIBLE_BYTES_PER_TOKEN.contains(&measured) {
            self.bytes_per_token = measured;
            self.calibrated_messages = request.messages.len();
        }
    }

    /// Returns the tokens of a request with these messages after `overhead` bytes of instructions and tools.
    pub(crate) fn estimate(&self, overhead: usize, history: &History) -> u64 {
        let messages = history.messages();
        match history.counted_tokens() {
            Some((tokens, counted)) => {
                tokens.saturating_add(self.tokens(size_bytes(messages.get(counted..).unwrap_or_default())))
            }
            None => self.tokens(overhead + size_bytes(messages)),
        }
    }

    /// Returns the estimated tokens of so many bytes.
    pub(crate) fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token).ceil() as u64
    }

    /// Returns the estimated bytes of so many tokens.
    pub(crate) fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.bytes_per_token) as usize
    }
}

/// Returns the bytes of the instructions and the tools of a request.
pub(crate) fn overhead_bytes(request: &ModelRequest) -> usize {
    request.system.len() + request.tools.iter().map(tool_bytes).sum::<usize>()
}

fn tool_bytes(tool: &ToolSpec) -> usize {
    tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
}

/// Returns the bytes of messages in the form that a model reads.
pub fn size_bytes<M: AsRef<Message>>(messages: &[M]) -> usize {
    messages.iter().map(|message| message_bytes(message.as_ref())).sum()
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::User(parts) | Message::Instructions(parts) => parts.iter().map(part_bytes).sum(),
        Message::Assistant(blocks) => blocks
            .iter()
            .map(|block| match block {
                Block::Text(text) | Block::Thinking { text, .. } => text.len(),
                Block::ToolCall(call) => call.name.len() + call.arguments.to_string().len(),
                Block::Opaque(opaque) => opaque.raw.to_string().len(),
            })
            .sum(),
        Message::Update(update) => update.tools.iter().map(tool_bytes).sum(),
        Message::ToolResults(results) => results.iter().map(result_bytes).sum(),
    }
}

fn part_bytes(part: &UserPart) -> usize {
    match part {
        UserPart::Text(text) => text.len(),
        UserPart::Media(media) => media.estimated_bytes(),
    }
}

/// Returns the bytes of a result with its images and documents.
pub(crate) fn result_bytes(result: &ToolResult) -> usize {
    result.text.len() + result.media.iter().map(Media::estimated_bytes).sum::<usize>()
}
