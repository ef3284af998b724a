//! The rules for the parts of a request: schemas and number of tools, images, documents, ids of calls.
//!
//! Sources: the errors that the services document or that their users report; "Vision" and "PDF support" of Anthropic.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Refusal;
use super::added_tools::added_tools;
use crate::request::Request;
use crate::wire::Wire;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
const MAX_TOOLS: usize = 128;
const MAX_SIDE: u32 = 8000;
const MANY_MAX_SIDE: u32 = 2000;
const MANY: usize = 20;

/// Refuses the first part that the service does not accept.
pub(super) fn refusal(request: &Request) -> Option<Refusal> {
    let is_anthropic = match request.wire {
        Wire::Anthropic => true,
        Wire::OpenAi | Wire::Responses => false,
        Wire::Gemini
        | Wire::GeminiInteractions
        | Wire::Bedrock
        | Wire::VertexAnthropic
        | Wire::BedrockAnthropic
        | Wire::Ollama
        | Wire::Cohere => return None,
    };
    tools_refusal(request, is_anthropic)
        .or_else(|| ids_refusal(request))
        .or_else(|| files_refusal(request))
        .map(Refusal::invalid)
}

fn tools_refusal(request: &Request, is_anthropic: bool) -> Option<String> {
    let listed = request.body["tools"].as_array().into_iter().flatten();
    let tools: Vec<&Value> = listed.chain(added_tools(request)).collect();
    if !is_anthropic && tools.len() > MAX_TOOLS {
        return Some(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with \
             length {} instead.",
            tools.len()
        ));
    }
    tools.iter().enumerate().find_map(|(index, tool)| {
        let function = if tool["function"].is_object() { &tool["function"] } else { tool };
        let schema = if is_anthropic { &tool["input_schema"] } else { &function["parameters"] };
        let why = schema_fault(schema, is_anthropic)?;
        Some(match is_anthropic {
            true => format!("tools.{index}.custom.input_schema: {why}"),
            false => format!(
                "Invalid schema for function '{}': {why}",
                function["name"].as_str().unwrap_or_default()
            ),
        })
    })
}

/// Returns why a schema is refused.
fn schema_fault(schema: &Value, is_anthropic: bool) -> Option<&'static str> {
    if ["oneOf", "anyOf", "allOf"].iter().any(|keyword| schema.get(*keyword).is_some()) {
        return Some("input_schema does not support oneOf, allOf, or anyOf at the top level");
    }
    let is_key = |name: &String| {
        let accepted = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        (1..=64).contains(&name.len()) && name.chars().all(accepted)
    };
    if is_anthropic
        && !schema["properties"].as_object().is_none_or(|properties| properties.keys().all(is_key))
    {
        return Some("Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'");
    }
    nested_fault(schema)
}

fn nested_fault(schema: &Value) -> Option<&'static str> {
    let fields = schema.as_object()?;
    if let Some(Value::String(kind)) = fields.get("type") {
        if !TYPES.contains(&kind.as_str()) {
            return Some("JSON schema is invalid. It must match JSON Schema draft 2020-12");
        }
        if kind == "array" && !fields.contains_key("items") {
            return Some("array schema missing items.");
        }
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    let nested = properties.into_iter().flat_map(|properties| properties.values()).chain(fields.get("items"));
    nested.into_iter().find_map(nested_fault)
}

/// Refuses ids of calls with other characters, or longer ones than the API accepts.
fn ids_refusal(request: &Request) -> Option<String> {
    let is_word = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    for (index, message) in request.messages().iter().enumerate() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let length = call["id"].as_str().unwrap_or_default().len();
            if length > 40 {
                return Some(format!("Invalid 'messages[{index}].tool_calls[0].id': string too long."));
            }
        }
        for (position, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            if block["id"].as_str().is_some_and(|id| !is_word(id)) {
                return Some(format!(
                    "messages.{index}.content.{position}.tool_use.id: String should match pattern"
                ));
            }
        }
        if message["call_id"].as_str().is_some_and(|id| id.len() > 64) {
            return Some(format!("Invalid 'input[{index}].call_id': string too long."));
        }
    }
    None
}

/// Refuses a damaged or too large image, and a PDF without its end.
fn files_refusal(request: &Request) -> Option<String> {
    let mut files = Vec::new();
    for (index, message) in request.messages().iter().enumerate() {
        find_files(message, &mut |data| files.push((index, data)));
    }
    let decoded: Vec<_> =
        files.iter().map(|(index, data)| (*index, STANDARD.decode(data).unwrap_or_default())).collect();
    let is_png = |bytes: &[u8]| bytes.starts_with(b"\x89PNG");
    let images = decoded.iter().filter(|(_, bytes)| is_png(bytes)).count();
    let most = if images > MANY { MANY_MAX_SIDE } else { MAX_SIDE };
    decoded.iter().find_map(|(index, bytes)| {
        let is_complete_pdf = !bytes.starts_with(b"%PDF") || bytes.windows(5).any(|end| end == b"%%EOF");
        if !is_complete_pdf {
            return Some(format!("messages.{index}.content.0: The PDF specified was not valid."));
        }
        if !is_png(bytes) {
            return None;
        }
        let side = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let Some(side) = side(16).zip(side(20)).map(|(width, height)| width.max(height)) else {
            return Some("Could not process image".to_owned());
        };
        if !bytes.windows(4).any(|kind| kind == b"IDAT") {
            return Some("Could not process image".to_owned());
        }
        (side > most).then(|| format!("messages.{index}.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: {most} pixels"))
    })
}

/// Finds the Base64 of images and documents in any API.
fn find_files<'a>(value: &'a Value, found: &mut impl FnMut(&'a str)) {
    match value {
        Value::Object(fields) => {
            if let (Some("base64"), Some(data)) = (value["type"].as_str(), value["data"].as_str()) {
                found(data);
            }
            fields.values().for_each(|value| find_files(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| find_files(value, found)),
        Value::String(text) => {
            if let Some((_, data)) = text.strip_prefix("data:").and_then(|text| text.split_once(";base64,")) {
                found(data);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
