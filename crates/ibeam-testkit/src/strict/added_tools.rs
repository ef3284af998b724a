//! Messages that add tools: `tool_addition` of Anthropic, `additional_tools` of OpenAI.
//!
//! Sources: `BetaRequestToolAdditionBlockParam` of the package anthropic 2.14.0, `AdditionalTools` of openai 3.57.0; their
//! errors are those about unknown values.

use serde_json::Value;

use super::Refusal;
use crate::request::Request;
use crate::wire::Wire;

const BETA: &str = "inline-tools-2026-09-15";

/// Returns the tools that messages add.
pub(super) fn added_tools(request: &Request) -> impl Iterator<Item = &Value> {
    let blocks = request.messages().iter().filter_map(|message| message["content"].as_array()).flatten();
    let definitions = blocks.map(|block| &block["tool"]["definition"]).filter(|tool| tool.is_object());
    let items = request.messages().iter().filter(|item| item["type"] == "additional_tools");
    definitions.chain(items.filter_map(|item| item["tools"].as_array()).flatten())
}

/// Refuses added tools where the service does not accept them, or not in this form.
pub(super) fn refusal(is_accepted: bool, request: &Request) -> Option<Refusal> {
    let position = |is_adding: fn(&Value) -> bool| request.messages().iter().position(is_adding);
    let message = match request.wire {
        Wire::Anthropic => {
            let adds = |message: &Value| {
                message["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_addition))
            };
            let at = position(adds)?;
            let betas = request.header("anthropic-beta").unwrap_or_default();
            match (is_accepted && betas.split(',').any(|beta| beta == BETA), &request.messages()[at]["role"])
            {
                (true, role) if role == "system" => return None,
                (true, _) => format!("messages.{at}.content: `tool_addition` is not supported for this role"),
                (false, _) => format!(
                    "messages.{at}.content.0: Input tag 'tool_addition' found using 'type' does not match any of the \
                     expected tags"
                ),
            }
        }
        Wire::Responses => {
            let at = position(|item| item["type"] == "additional_tools")?;
            match (is_accepted, &request.messages()[at]["role"]) {
                (true, role) if role == "developer" => return None,
                (true, _) => format!("Invalid value for 'input[{at}].role'."),
                (false, _) => format!("Invalid value: 'additional_tools' at 'input[{at}].type'."),
            }
        }
        Wire::OpenAi
        | Wire::Gemini
        | Wire::GeminiInteractions
        | Wire::Bedrock
        | Wire::VertexAnthropic
        | Wire::BedrockAnthropic
        | Wire::Ollama
        | Wire::Cohere => return None,
    };
    Some(Refusal::invalid(message))
}

fn is_addition(block: &Value) -> bool {
    block["type"] == "tool_addition" && block["tool"]["type"] == "tool_definition"
}
