//! The part of a request that its service refuses: what the words of the error are about, and which tool or file its position
//! or its name means.
//!
//! Pure. A position is that of the body that was sent, so it is looked up there, whatever the API.

use ibeam_core::{ModelRequest, ProviderError, RefusedPart, Retry, media_fingerprint};
use ibeam_protocol::{Media, Message, RequestPart, UserPart};
use serde_json::Value;

use crate::response_error::ReportedError;

/// The numbers of tools that services limit requests to, for a service that does not name its limit.
const USUAL_TOOL_LIMITS: [usize; 5] = [512, 256, 128, 64, 32];

/// Returns the part of a request that an error is about, by the words that services use.
pub(crate) fn named_part(error: &ReportedError) -> RequestPart {
    const WORDS: [(&[&str], RequestPart); 5] = [
        (&["input_schema", "schema for function", "invalid_function_parameters"], RequestPart::Tools),
        (&["max_tokens", "max_output_tokens", "max_completion_tokens"], RequestPart::OutputLimit),
        (&["effort", "thinking", "reasoning"], RequestPart::Reasoning),
        (
            &[
                "'tools'",
                "`tools`",
                "function_declarations",
                "functiondeclarations",
                "function tool",
                "too many tools",
                "number of tools",
                "toolconfig",
                "toolspec",
            ],
            RequestPart::Tools,
        ),
        (
            &["image", "images", "pdf", "document", "documents", "inline_data", "inlinedata"],
            RequestPart::Media,
        ),
    ];
    let words = format!("{} {}", error.kind, error.message).to_lowercase();
    if paths(&words).any(|path| path.starts_with("tools")) {
        return RequestPart::Tools;
    }
    let has = |phrase: &str, part| match part {
        // "documentation" is not about a document.
        RequestPart::Media => has_word(&words, phrase),
        _ => words.contains(phrase),
    };
    let found = WORDS.iter().find(|(phrases, part)| phrases.iter().any(|phrase| has(phrase, *part)));
    found.map_or(RequestPart::Unknown, |(_, part)| *part)
}

/// Returns how to repeat a request that the service rejects because of a part.
pub(crate) fn retry_without(part: RequestPart, status: Option<u16>) -> Retry {
    let refused = match (part, status) {
        (RequestPart::Tools, _) => RefusedPart::Tools(Vec::new()),
        (RequestPart::Media, _) => RefusedPart::Media(Vec::new()),
        (RequestPart::Unknown, Some(400 | 413 | 422)) => RefusedPart::Unknown,
        (RequestPart::Unknown | RequestPart::OutputLimit | RequestPart::Reasoning, _) => return Retry::Never,
    };
    Retry::without(refused)
}

/// Whether an error about a conversation that is too long is about its size in bytes, and not about its tokens.
pub(crate) fn is_about_bytes(status: Option<u16>, error: &ReportedError) -> bool {
    let words = format!("{} {}", error.kind, error.message).to_lowercase();
    (status == Some(413) || words.contains("request_too_large")) && !words.contains("token")
}

/// Names the refused tools or files in an error, as far as its text does. `body` returns the body that was sent.
pub(crate) fn locate(
    mut error: ProviderError,
    request: &ModelRequest,
    body: impl FnOnce() -> Option<Value>,
) -> ProviderError {
    let Retry::WithoutPart(part) = &mut error.retry else { return error };
    let text = error.failure.reason.detail();
    match &mut **part {
        RefusedPart::Tools(_) => **part = refused_tools(&text, request, body()),
        RefusedPart::Media(_) => **part = RefusedPart::Media(refused_media(&text, request, body())),
        RefusedPart::Unknown => {
            let media = refused_media(&text, request, body());
            if !media.is_empty() {
                **part = RefusedPart::Media(media);
            }
        }
        RefusedPart::Thinking
        | RefusedPart::Update
        | RefusedPart::ToolsBeyond(_)
        | RefusedPart::MediaSize => {}
    }
    error
}

fn refused_tools(text: &str, request: &ModelRequest, body: Option<Value>) -> RefusedPart {
    let names = || request.offered_tools().map(|tool| &*tool.name);
    let named: Vec<_> = names().filter(|name| names_tool(text, name)).map(str::to_owned).collect();
    if !named.is_empty() {
        return RefusedPart::Tools(named);
    }
    let body = body.unwrap_or_default();
    let at_path = |path: &str| {
        values_on_path(&body, path).find_map(|value| {
            let mut found = names().filter(|name| has_field(value, "name", name));
            // The value may be the list of all tools.
            found.next().filter(|_| found.next().is_none()).map(str::to_owned)
        })
    };
    if let Some(name) = paths(text).find_map(at_path) {
        return RefusedPart::Tools(vec![name]);
    }
    let words = text.to_lowercase();
    let is_about_count =
        ["too long", "too many", "maximum length", "maximum number", "at most", "maximum of"];
    match is_about_count.iter().any(|phrase| words.contains(phrase)) {
        true => RefusedPart::ToolsBeyond(tool_limit(text, request.offered_tools().count())),
        false => RefusedPart::Tools(Vec::new()),
    }
}

/// Returns the largest number in an error that is smaller than the number of tools.
fn tool_limit(text: &str, count: usize) -> usize {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    let named = numbers.filter(|number| (1..count).contains(number)).max();
    named.or_else(|| USUAL_TOOL_LIMITS.into_iter().find(|limit| *limit < count)).unwrap_or(count)
}

/// Whether an error names a tool. A name that may be an ordinary word must be in quotes.
fn names_tool(text: &str, name: &str) -> bool {
    let is_word_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_ordinary = !name.contains(['_', '-']);
    text.match_indices(name).any(|(start, _)| {
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let after = text.get(start + name.len()..).and_then(|text| text.chars().next());
        match is_ordinary {
            true => matches!((before, after), (Some(a), Some(b)) if a == b && ['\'', '"', '`'].contains(&a)),
            false => !before.is_some_and(is_word_part) && !after.is_some_and(is_word_part),
        }
    })
}

/// Returns the fingerprints of the images and documents that an error means by position or by name.
fn refused_media(text: &str, request: &ModelRequest, body: Option<Value>) -> Vec<u64> {
    let media = request.messages.iter().flat_map(|message| media_of(message));
    let all: Vec<&Media> = media.collect();
    if all.is_empty() {
        return Vec::new();
    }
    let body = body.unwrap_or_default();
    let fingerprints = |is_meant: &dyn Fn(&Media) -> bool| -> Option<Vec<u64>> {
        let found: Vec<_> =
            all.iter().filter(|media| is_meant(media)).map(|media| media_fingerprint(media)).collect();
        (!found.is_empty()).then_some(found)
    };
    let at_path = |path: &str| {
        values_on_path(&body, path).find_map(|value| fingerprints(&|media| has_content(value, &media.data)))
    };
    let file_name = |media: &Media| media.name.rsplit('/').next().unwrap_or_default().to_owned();
    let is_named = |media: &Media| file_name(media).contains('.') && has_word(text, &file_name(media));
    paths(text).find_map(at_path).or_else(|| fingerprints(&is_named)).unwrap_or_default()
}

fn media_of(message: &Message) -> Vec<&Media> {
    match message {
        Message::User(parts) => parts
            .iter()
            .filter_map(|part| match part {
                UserPart::Media(media) => Some(media),
                UserPart::Text(_) => None,
            })
            .collect(),
        Message::ToolResults(results) => results.iter().flat_map(|result| &result.media).collect(),
        Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => Vec::new(),
    }
}

/// Returns the paths in a text that have an index, such as `messages.3.content[1].image` or `tools[5]`.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '/' | '$');
    text.split(move |c: char| !is_path(c)).filter(|path| {
        path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$' || c == '/')
            && segments(path).any(|segment| segment.parse::<usize>().is_ok())
    })
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[', ']', '/', '$']).filter(|segment| !segment.is_empty())
}

/// Returns the values on the way of a path, the innermost first, from the first one with an index on. Words that the body does
/// not have, such as the type of a block, are skipped.
fn values_on_path<'a>(body: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let (mut here, mut found) = (body, Vec::new());
    let mut segments = segments(path).peekable();
    while let Some(segment) = segments.next() {
        let inner = match (here, segment.parse::<usize>()) {
            (Value::Array(elements), Ok(index)) => {
                // AWS counts members from 1.
                let is_counted_from_one = segments.peek() == Some(&"member");
                match elements.get(index.saturating_sub(usize::from(is_counted_from_one))) {
                    Some(element) => Some(element),
                    None => break,
                }
            }
            (Value::Object(fields), Err(_)) => {
                fields.iter().find(|(name, _)| is_same_name(name, segment)).map(|(_, value)| value)
            }
            _ => None,
        };
        if let Some(inner) = inner {
            found.push((inner, here.is_array()));
            here = inner;
        }
    }
    let first = found.iter().position(|(_, is_element)| *is_element).unwrap_or(found.len());
    found.into_iter().skip(first).rev().map(|(value, _)| value)
}

/// Whether two names of a field are equal apart from `_` and case: services name fields in either form.
fn is_same_name(one: &str, other: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect::<String>();
    letters(one) == letters(other)
}

/// Whether a value or one in it has a field with this text.
fn has_field(value: &Value, field: &str, text: &str) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get(field).is_some_and(|value| value == text)
                || fields.values().any(|value| has_field(value, field, text))
        }
        Value::Array(values) => values.iter().any(|value| has_field(value, field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether a value or one in it is this Base64, alone or at the end of a URL.
fn has_content(value: &Value, data: &str) -> bool {
    match value {
        Value::String(text) => text.ends_with(data),
        Value::Object(fields) => fields.values().any(|value| has_content(value, data)),
        Value::Array(values) => values.iter().any(|value| has_content(value, data)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a text has a word that is not a part of a longer one; `_` separates words.
fn has_word(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(start, _)| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(start + word.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
}

#[cfg(test)]
#[path = "refused_part_test.rs"]
mod tests;
