//! The outcome of a tool call: text blocks unchanged, every other block as one line that describes it. Images that models
//! accept are added to the outcome.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_protocol::tool_output::McpOutput;
use ibeam_protocol::{Elision, Media, MediaType, ToolFailure, ToolOutcome, ToolOutput};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient_list::text_or_none;

/// Maximum number of images of a result.
const MAX_IMAGES: usize = 10;
/// Maximum size of a result for the model; the same as for commands.
pub(crate) const MAX_RESULT_BYTES: usize = 30 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    is_error: Value,
    structured_content: Option<Box<RawValue>>,
}

/// The content blocks of a result or of a message: a list, one block, or one text. A wrong block is described by a line.
#[derive(Debug, Default)]
pub(crate) struct Content(Vec<ContentBlock>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let blocks = match Value::deserialize(from)? {
            Value::Null => Vec::new(),
            Value::Array(blocks) => blocks,
            block @ (Value::Object(_) | Value::String(_)) => vec![block],
            Value::Bool(_) | Value::Number(_) => {
                return Err(serde::de::Error::custom("`content` should be a list of blocks"));
            }
        };
        Ok(Self(blocks.into_iter().map(ContentBlock::from_value).collect()))
    }
}

impl Content {
    /// Returns the texts of the blocks.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0.into_iter().map(ContentBlock::into_text).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentBlock {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, deserialize_with = "text_or_none")]
    text: Option<String>,
    /// The content as Base64.
    #[serde(default, deserialize_with = "text_or_none")]
    data: Option<String>,
    #[serde(default, deserialize_with = "text_or_none")]
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "text_or_none")]
    uri: Option<String>,
    resource: Option<Resource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    #[serde(default, deserialize_with = "text_or_none")]
    uri: Option<String>,
    #[serde(default, deserialize_with = "text_or_none")]
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "text_or_none")]
    text: Option<String>,
    /// The content as Base64.
    #[serde(default, deserialize_with = "text_or_none")]
    blob: Option<String>,
}

/// Parses the result of `tools/call`, and shortens it to `MAX_RESULT_BYTES`.
///
/// # Errors
/// The result is not valid.
pub(crate) fn parse_outcome(result: &RawValue) -> Result<ToolOutcome, serde_json::Error> {
    let CallResult { content, is_error, structured_content } = serde_json::from_str(result.get())?;
    let media: Vec<Media> =
        content.0.iter().filter_map(ContentBlock::image).zip(1..=MAX_IMAGES).map(named_image).collect();
    let mut texts = content.into_texts();
    let structured = structured_content.map(|value| value.get().to_owned()).filter(|text| text != "null");
    if let Some(structured) = structured
        && texts.iter().all(|text| text.trim().is_empty())
    {
        texts = vec![structured];
    }
    let complete = texts.join("\n");
    let shortened = Elision::mostly_head(MAX_RESULT_BYTES).apply(&complete).into_owned();
    if shortened.len() != complete.len() {
        texts = vec![shortened.clone()];
    }
    let for_model =
        if shortened.trim().is_empty() { "(the tool returned nothing)" } else { shortened.as_str() };
    let output = McpOutput { content: texts, media };
    // A failure in another form of `true` is still one.
    let is_error = is_error == Value::Bool(true) || is_error == "true" || is_error == 1;
    Ok(match is_error {
        true => ToolOutcome::Failure { failure: ToolFailure::McpError(output), for_model: for_model.into() },
        false => ToolOutcome::Success { output: ToolOutput::Mcp(output), for_model: for_model.into() },
    })
}

/// Returns an image with its number as the name.
fn named_image(((media_type, data), number): ((MediaType, Vec<u8>), usize)) -> Media {
    Media { name: format!("image {number}"), media_type, data: STANDARD.encode(data).into() }
}

impl ContentBlock {
    fn from_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self { kind: "text".to_owned(), text: Some(text), ..Self::default() },
            value => serde_json::from_value(value).unwrap_or_default(),
        }
    }

    /// Returns the image of the block, if models accept it: valid Base64 of an accepted type and size.
    fn image(&self) -> Option<(MediaType, Vec<u8>)> {
        let data = self.data.as_deref().filter(|_| self.kind == "image")?;
        let bytes = STANDARD.decode(data).ok()?;
        let media_type = MediaType::from_bytes(&bytes)?;
        (media_type.is_image() && bytes.len() <= media_type.max_bytes()).then_some((media_type, bytes))
    }

    /// Returns the text of the block, or a line that describes the block.
    fn into_text(self) -> String {
        let Self { kind, text, data, mime_type, uri, resource } = self;
        match (kind.as_str(), text, resource) {
            ("", Some(text), _) => text,
            ("", ..) => "[a block of the result that is not valid]".to_owned(),
            ("text", text, _) => text.unwrap_or_default(),
            ("resource", _, Some(resource)) => resource.into_text(),
            (kind, _, _) => summary(kind, [uri, mime_type, data.as_deref().map(decoded_size)]),
        }
    }
}

impl Resource {
    /// Returns the text of the resource, or a line that describes it.
    pub(crate) fn into_text(self) -> String {
        let Self { uri, mime_type, text, blob } = self;
        text.unwrap_or_else(|| summary("resource", [uri, mime_type, blob.as_deref().map(decoded_size)]))
    }
}

/// Returns a line that describes a block, such as `[image image/png, 1234 bytes]`.
fn summary(kind: &str, properties: [Option<String>; 3]) -> String {
    let properties: Vec<String> = properties.into_iter().flatten().collect();
    match properties.is_empty() {
        true => format!("[{kind}]"),
        false => format!("[{kind} {}]", properties.join(", ")),
    }
}

/// Returns the size of the content after decoding it from Base64.
fn decoded_size(base64: &str) -> String {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    format!("{} bytes", digits * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, is_error: bool, expect: &[&str]) {
        let outcome = parse_outcome(&RawValue::from_string(result.to_owned()).unwrap()).unwrap();
        assert_eq!(outcome.is_error(), is_error);
        let content = match outcome {
            ToolOutcome::Success { output: ToolOutput::Mcp(output), .. }
            | ToolOutcome::Failure { failure: ToolFailure::McpError(output), .. } => output.content,
            other => panic!("{other:?}"),
        };
        assert_eq!(content, expect);
    }

    #[test]
    fn each_text_is_one_block() {
        check(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, false, &["a", "b"]);
    }

    #[test]
    fn an_error_of_the_tool_is_a_failure_with_its_text() {
        check(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#, true, &["no"]);
    }

    #[test]
    fn a_block_that_is_not_text_becomes_one_line() {
        let shown = r#"{"content":[{"type":"image","mimeType":"image/x","data":"iVBORw0KGgo="}]}"#;
        let shown = parse_outcome(&RawValue::from_string(shown.to_owned()).unwrap()).unwrap();
        let media = Media { name: "image 1".into(), media_type: MediaType::Png, data: "iVBORw0KGgo=".into() };
        assert_eq!(shown.media(), [media]);
        let image = r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAECAw=="}]}"#;
        check(image, false, &["[image image/png, 4 bytes]"]);
        let link = r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#;
        check(link, false, &["[resource_link file:///a]"]);
        let embedded = r#"{"content":[{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}"#;
        check(embedded, false, &["inside"]);
        let blob = r#"{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"AAAA"}}]}"#;
        check(blob, false, &["[resource x:y, 3 bytes]"]);
        check(r#"{"content":[{"type":"hologram"}]}"#, false, &["[hologram]"]);
    }

    #[test]
    fn structured_content_is_used_if_there_is_no_other_content() {
        check(r#"{"content":[],"structuredContent":{"a":1}}"#, false, &[r#"{"a":1}"#]);
        check(r#"{"structuredContent":{"a":1}}"#, false, &[r#"{"a":1}"#]);
        check(r#"{"content":null,"structuredContent":{"a":1}}"#, false, &[r#"{"a":1}"#]);
        let empty = r#"{"content":[{"type":"text","text":" "},{"type":"text"}],"structuredContent":[1]}"#;
        check(empty, false, &["[1]"]);
        check(r#"{"content":[{"type":"text","text":"b"}],"structuredContent":{"a":1}}"#, false, &["b"]);
        check(r#"{"content":null,"structuredContent":null}"#, false, &[]);
    }

    #[test]
    fn a_wrong_block_becomes_one_line_and_the_others_count() {
        let invalid = "[a block of the result that is not valid]";
        check(
            r#"{"content":[{"type":"text","text":"a"},5,{"type":7},{"text":"b"},"c"],"isError":"true"}"#,
            true,
            &["a", invalid, invalid, "b", "c"],
        );
        check(r#"{"content":"a"}"#, false, &["a"]);
        check(r#"{"content":{"type":"text","text":"a"},"isError":null}"#, false, &["a"]);
    }

    #[test]
    fn a_result_over_the_limit_becomes_one_shortened_block() {
        let long = "x".repeat(40_000);
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"{long}"}},{{"type":"text","text":"end"}}]}}"#);
        let outcome = parse_outcome(&RawValue::from_string(result).unwrap()).unwrap();
        let text = outcome.for_model();
        assert!(
            text.len() < 31_000 && text.contains(" bytes left out …") && text.ends_with("\nend"),
            "{text}"
        );
    }

    #[test]
    fn an_empty_result_is_reported_as_empty() {
        let outcome = parse_outcome(&RawValue::from_string("{}".to_owned()).unwrap()).unwrap();
        assert_eq!(&*outcome.for_model(), "(the tool returned nothing)");
    }

    #[test]
    fn an_invalid_result_is_an_error() {
        for result in ["null", "[]", r#"{"content":5}"#, r#"{"content":true}"#] {
            assert!(parse_outcome(&RawValue::from_string(result.to_owned()).unwrap()).is_err(), "{result}");
        }
    }
}
