//! The wire protocols that this program implements.
//!
//! To add one: write its module, declare it here, add it to [`PROTOCOLS`], and refer to it in the provider table.

pub mod anthropic;
pub mod bedrock;
pub mod bedrock_anthropic;
mod chat_form;
pub mod cohere;
pub mod gemini;
pub mod gemini_interactions;
mod media_parts;
mod messages_thinking;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod vertex_anthropic;

use crate::wire_protocol::WireProtocol;

pub const ANTHROPIC: &dyn WireProtocol = &anthropic::AnthropicMessages;
pub const BEDROCK: &dyn WireProtocol = &bedrock::BedrockConverse;
/// Claude on Amazon Bedrock through InvokeModel.
pub const BEDROCK_ANTHROPIC: &dyn WireProtocol = &bedrock_anthropic::BedrockAnthropic;
/// OpenAI Chat Completions, which most services and local servers implement.
pub const OPENAI_CHAT: &dyn WireProtocol = &openai_chat::OpenAiChat;
pub const OPENAI_RESPONSES: &dyn WireProtocol = &openai_responses::OpenAiResponses;
/// Gemini at Google AI Studio.
pub const GEMINI: &dyn WireProtocol = &gemini::Gemini::AiStudio;
pub const VERTEX_GEMINI: &dyn WireProtocol = &gemini::Gemini::Vertex;
pub const GEMINI_INTERACTIONS: &dyn WireProtocol = &gemini_interactions::GeminiInteractions;
/// Claude on Vertex AI.
pub const VERTEX_ANTHROPIC: &dyn WireProtocol = &vertex_anthropic::VertexAnthropic;
/// Ollama's own chat API.
pub const OLLAMA: &dyn WireProtocol = &ollama::Ollama;
/// Cohere Chat, version 2.
pub const COHERE: &dyn WireProtocol = &cohere::CohereChat;

/// All wire protocols, in the order in which error messages list them.
pub const PROTOCOLS: &[&dyn WireProtocol] = &[
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    ANTHROPIC,
    GEMINI,
    VERTEX_GEMINI,
    GEMINI_INTERACTIONS,
    BEDROCK,
    BEDROCK_ANTHROPIC,
    VERTEX_ANTHROPIC,
    OLLAMA,
    COHERE,
];

/// The protocol of a provider that is configured without one.
pub const DEFAULT_PROTOCOL: &dyn WireProtocol = OPENAI_CHAT;

pub fn find_protocol(name: &str) -> Option<&'static dyn WireProtocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_found_by_its_own_name() {
        for protocol in PROTOCOLS {
            let found = find_protocol(protocol.name()).unwrap();
            assert_eq!(format!("{found:?}"), format!("{protocol:?}"), "two protocols share a name");
        }
    }
}
