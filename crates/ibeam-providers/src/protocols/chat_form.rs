//! The form that Chat Completions, Cohere and Ollama have in common: tools, calls, contents, the order of messages.
//!
//! Pure.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Message, ToolCall, ToolResult, ToolSpec, UserPart};
use serde::Serialize;
use serde_json::Value;

use super::media_parts::{
    DataUrl, MediaSupport, ShownPart, file_name, parts_after_results, result_text, shown_parts,
    text_and_media,
};
use crate::cache_marker::CacheMarker;
use crate::call_id::CallIdForm;
use crate::lenient_json;
use crate::wire_protocol::{StablePrefix, push_element};

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct Tool<'a> {
    function: FunctionSpec<'a>,
}

#[derive(Serialize)]
struct FunctionSpec<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

pub(super) fn tools(request: &ModelRequest) -> Vec<Tool<'_>> {
    request.tools.iter().map(tool).collect()
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        FunctionSpec { name: &spec.name, description: &spec.description, parameters: &spec.parameters };
    Tool { function }
}

/// A call whose arguments are a text.
#[derive(Serialize)]
pub(super) struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

impl<'a> WireCall<'a> {
    pub(super) fn new(call: &'a ToolCall, ids: CallIdForm) -> Self {
        let arguments = lenient_json::arguments_to_echo(&call.arguments).to_string();
        let function = Function { name: &call.name, arguments };
        Self { id: ids.accepted(call.id.as_str()), r#type: "function", function }
    }
}

/// The content of a message of the user.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum UserContent<'a> {
    /// One string, because some local servers reject lists of parts.
    Text(String),
    /// Parts, at least one of which is an image or a document, or may have a cache breakpoint.
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(flatten)]
        marker: Option<CacheMarker>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    File {
        file: FileData<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
pub(super) struct FileData<'a> {
    filename: &'a str,
    file_data: DataUrl<'a>,
}

impl<'a> UserContent<'a> {
    /// Returns the content of a message of the user.
    pub(super) fn new(parts: &'a [UserPart], support: MediaSupport) -> Self {
        let (text, media) = text_and_media(parts, support);
        if media.is_empty() {
            return Self::Text(text);
        }
        Self::Parts(shown_parts(parts, support).map(content_part).collect())
    }

    /// Returns the content as parts, with this cache breakpoint after its last text. A blank text has none: the service
    /// rejects it.
    pub(super) fn with_marker(self, new: Option<CacheMarker>) -> Self {
        let mut parts = match self {
            Self::Text(text) => vec![ContentPart::Text { text: text.into(), marker: None }],
            Self::Parts(parts) => parts,
        };
        let last = parts.iter_mut().rev().find_map(|part| match part {
            ContentPart::Text { text, marker } if !text.trim().is_empty() => Some(marker),
            ContentPart::Text { .. } | ContentPart::ImageUrl { .. } | ContentPart::File { .. } => None,
        });
        if let Some(marker) = last {
            *marker = new;
        }
        Self::Parts(parts)
    }

    /// Returns the content of the message with the images and documents of results; `None` if there are none.
    pub(super) fn after_results(results: &'a [ToolResult], support: MediaSupport) -> Option<Self> {
        let parts = parts_after_results(results, support);
        (!parts.is_empty()).then(|| Self::Parts(parts.into_iter().map(content_part).collect()))
    }
}

fn content_part(part: ShownPart<'_>) -> ContentPart<'_> {
    match part {
        ShownPart::Text(text) => ContentPart::Text { text, marker: None },
        ShownPart::Media(media) if media.media_type.is_image() => {
            ContentPart::ImageUrl { image_url: ImageUrl { url: DataUrl(media) } }
        }
        ShownPart::Media(media) => {
            ContentPart::File { file: FileData { filename: file_name(media), file_data: DataUrl(media) } }
        }
    }
}

/// Returns the text of a result for an API without a field for failures: the text of a failure begins with `Error:`.
pub(super) fn result_or_error_text<'a>(result: &'a ToolResult, support: MediaSupport) -> Cow<'a, str> {
    let text = result_text(result, support);
    if result.is_error { Cow::Owned(format!("Error: {text}")) } else { text }
}

/// Appends messages to the list that `body` ends in, in the form that `wire_messages` returns for each. All of them belong
/// to the stable prefix.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_messages<'a, M: Serialize>(
    messages: &'a [Arc<Message>],
    body: &mut Vec<u8>,
    wire_messages: impl Fn(&'a Message) -> Vec<M>,
) -> Result<StablePrefix, serde_json::Error> {
    for message in messages {
        for wire_message in wire_messages(message) {
            push_element(&wire_message, body)?;
        }
    }
    Ok(StablePrefix { messages: messages.len(), bytes: body.len() })
}
