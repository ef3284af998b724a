//! The images, documents and added tools that requests no longer contain. A line of text is in place of each image and
//! document.
//!
//! Pure. What was left out never comes back: not in a later request, and not when a tool reads the same file again.

use std::collections::BTreeSet;
use std::sync::Arc;

use ibeam_protocol::{Media, Message, RequestUpdate, ToolResult, UserPart};

use crate::prefix::media_fingerprint;

/// Replaces the images and documents with these fingerprints in a message.
pub(crate) fn omit_media(message: &mut Arc<Message>, omitted: &BTreeSet<u64>) {
    let is_omitted = |media: &Media| omitted.contains(&media_fingerprint(media));
    match message.as_ref() {
        Message::User(parts) if media_of_parts(parts).any(is_omitted) => {
            let replaced = parts.iter().map(|part| match part {
                UserPart::Media(media) if is_omitted(media) => UserPart::Text(media.omission()),
                part => part.clone(),
            });
            *message = Arc::new(Message::User(replaced.collect()));
        }
        Message::ToolResults(results) if results.iter().flat_map(|result| &result.media).any(is_omitted) => {
            let mut results = results.clone();
            results.iter_mut().for_each(|result| omit_media_of_result(result, is_omitted));
            *message = Arc::new(Message::ToolResults(results));
        }
        Message::User(_)
        | Message::Instructions(_)
        | Message::Update(_)
        | Message::ToolResults(_)
        | Message::Assistant(_) => {}
    }
}

/// Removes added tools by their names.
pub(crate) fn omit_added_tools(message: &mut Arc<Message>, omitted: &[String]) {
    if let Message::Update(RequestUpdate { tools, effort }) = message.as_ref()
        && tools.iter().any(|tool| omitted.iter().any(|name| *name == *tool.name))
    {
        let kept = tools.iter().filter(|tool| omitted.iter().all(|name| *name != *tool.name));
        let (tools, effort) = (kept.cloned().collect(), effort.clone());
        *message = Arc::new(Message::Update(RequestUpdate { tools, effort }));
    }
}

fn omit_media_of_result(result: &mut ToolResult, is_omitted: impl Fn(&Media) -> bool) {
    let (omitted, shown): (Vec<_>, Vec<_>) =
        std::mem::take(&mut result.media).into_iter().partition(|media| is_omitted(media));
    result.media = shown;
    for media in omitted {
        result.text = format!("{}\n{}", result.text, media.omission()).into();
    }
}

fn media_of_parts(parts: &[UserPart]) -> impl Iterator<Item = &Media> {
    parts.iter().filter_map(|part| match part {
        UserPart::Media(media) => Some(media),
        UserPart::Text(_) => None,
    })
}

/// An image or document of a conversation.
#[derive(Clone, Copy)]
pub(crate) struct PlacedMedia<'a> {
    /// The index of its message.
    pub(crate) message: usize,
    /// The tool whose result has it; `None` if the user attached it.
    pub(crate) tool: Option<&'a str>,
    pub(crate) media: &'a Media,
}

/// Returns the images and documents of a conversation, oldest first.
pub(crate) fn placed_media(messages: &[Arc<Message>]) -> impl Iterator<Item = PlacedMedia<'_>> {
    messages.iter().enumerate().flat_map(|(index, message)| {
        let (parts, results) = match message.as_ref() {
            Message::User(parts) => (parts.as_slice(), [].as_slice()),
            Message::ToolResults(results) => ([].as_slice(), results.as_slice()),
            Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => {
                ([].as_slice(), [].as_slice())
            }
        };
        let attached =
            media_of_parts(parts).map(move |media| PlacedMedia { message: index, tool: None, media });
        let of_results = results.iter().flat_map(move |result| {
            let tool = Some(result.name.as_str());
            result.media.iter().map(move |media| PlacedMedia { message: index, tool, media })
        });
        attached.chain(of_results)
    })
}
