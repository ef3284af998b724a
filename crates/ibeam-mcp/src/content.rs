//! The result of a call: blocks of text as they are, everything else told in a line.

use ibeam_protocol::tool_output::McpOutput;
use ibeam_protocol::{Elision, ToolFailure, ToolOutcome, ToolOutput};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The most of a result that the model gets, in bytes; the same as for commands.
const LIMIT_BYTES: usize = 30 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    #[serde(default)]
    content: Vec<Block>,
    is_error: Option<bool>,
    structured_content: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    /// Base64.
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: Option<String>,
    mime_type: Option<String>,
    text: Option<String>,
    /// Base64.
    blob: Option<String>,
}

/// What a call came to, in bounds.
///
/// # Errors
/// The result is no result of a call.
pub(crate) fn outcome(result: &RawValue) -> Result<ToolOutcome, serde_json::Error> {
    let CallResult { content, is_error, structured_content } = serde_json::from_str(result.get())?;
    let mut texts: Vec<String> = content.into_iter().map(Block::text).collect();
    if texts.is_empty() {
        texts.extend(structured_content.map(|value| value.get().to_owned()));
    }
    let whole = texts.join("\n");
    let length = whole.len();
    let told = Elision::mostly_head(LIMIT_BYTES).apply(&whole).into_owned();
    if told.len() != length {
        texts = vec![told.clone()];
    }
    let for_model = if told.trim().is_empty() { "(the tool returned nothing)".into() } else { told.into() };
    let output = McpOutput { content: texts };
    Ok(match is_error {
        Some(true) => ToolOutcome::Failure { failure: ToolFailure::McpError(output), for_model },
        Some(false) | None => ToolOutcome::Success { output: ToolOutput::Mcp(output), for_model },
    })
}

impl Block {
    fn text(self) -> String {
        let Self { kind, text, data, mime_type, uri, resource } = self;
        match (kind.as_str(), text, resource) {
            ("text", text, _) => text.unwrap_or_default(),
            ("resource", _, Some(Resource { text: Some(text), .. })) => text,
            ("resource", _, Some(Resource { uri, mime_type, blob, .. })) => {
                note("resource", [uri, mime_type, blob.as_deref().map(size)])
            }
            (kind, _, _) => note(kind, [uri, mime_type, data.as_deref().map(size)]),
        }
    }
}

/// `[image image/png, 1234 bytes]`
fn note(kind: &str, facts: [Option<String>; 3]) -> String {
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    match facts.is_empty() {
        true => format!("[{kind}]"),
        false => format!("[{kind} {}]", facts.join(", ")),
    }
}

/// The size of what Base64 stands for.
fn size(base64: &str) -> String {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    format!("{} bytes", digits * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, is_error: bool, expect: &[&str]) {
        let outcome = outcome(&RawValue::from_string(result.to_owned()).unwrap()).unwrap();
        assert_eq!(outcome.is_error(), is_error);
        let content = match outcome {
            ToolOutcome::Success { output: ToolOutput::Mcp(output), .. }
            | ToolOutcome::Failure { failure: ToolFailure::McpError(output), .. } => output.content,
            other => panic!("{other:?}"),
        };
        assert_eq!(content, expect);
    }

    #[test]
    fn texts_are_blocks_of_their_own() {
        check(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, false, &["a", "b"]);
    }

    #[test]
    fn an_error_of_the_tool_is_a_failure_with_its_words() {
        check(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#, true, &["no"]);
    }

    #[test]
    fn what_is_no_text_is_told_in_a_line() {
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
    fn structured_content_counts_where_there_is_no_other() {
        check(r#"{"content":[],"structuredContent":{"a":1}}"#, false, &[r#"{"a":1}"#]);
        check(r#"{"structuredContent":{"a":1}}"#, false, &[r#"{"a":1}"#]);
    }

    #[test]
    fn a_result_that_is_too_long_becomes_one_elided_block() {
        let long = "x".repeat(40_000);
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"{long}"}},{{"type":"text","text":"end"}}]}}"#);
        let outcome = outcome(&RawValue::from_string(result).unwrap()).unwrap();
        let told = outcome.for_model();
        assert!(
            told.len() < 31_000 && told.contains(" bytes left out …") && told.ends_with("\nend"),
            "{told}"
        );
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let outcome = outcome(&RawValue::from_string("{}".to_owned()).unwrap()).unwrap();
        assert_eq!(&*outcome.for_model(), "(the tool returned nothing)");
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for result in ["null", "[]", r#"{"content":"x"}"#, r#"{"content":[{"text":"no type"}]}"#] {
            assert!(outcome(&RawValue::from_string(result.to_owned()).unwrap()).is_err(), "{result}");
        }
    }
}
