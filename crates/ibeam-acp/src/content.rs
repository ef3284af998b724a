//! The content of a prompt.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, ResourceLink};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// Text of the user. A file that the prompt links to is in it as `@"PATH"`.
    Text(String),
    AttachedText {
        /// The path, or the URI if it is not that of a file.
        name: String,
        text: String,
    },
    /// An image or document that is attached.
    AttachedMedia {
        /// The path, or a description.
        name: String,
        /// The MIME type that the client states.
        media_type: String,
        /// The bytes in Base64.
        data: String,
    },
}

/// A part of a prompt that this agent does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Audio, which no capability announces.
    #[error("the prompt contains audio, which is not supported; send its text instead")]
    Audio,
    /// A kind of content that this version does not know.
    #[error("the prompt contains a kind of content that is not supported; send text, images or resources")]
    Unknown,
}

/// Returns the parts of a prompt: first its texts as one, then the attachments.
///
/// # Errors
/// A part is not accepted.
pub fn prompt_parts(blocks: Vec<ContentBlock>) -> Result<Vec<PromptPart>, ContentError> {
    let mut text = String::new();
    let mut attached = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(block) => append(&mut text, &block.text),
            ContentBlock::ResourceLink(link) => append(&mut text, &link_text(&link)),
            ContentBlock::Image(image) => attached.push(PromptPart::AttachedMedia {
                name: image
                    .uri
                    .as_deref()
                    .map_or_else(|| format!("image {}", attached.len() + 1), resource_name),
                media_type: image.mime_type,
                data: image.data,
            }),
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(contents) => {
                    attached.push(PromptPart::AttachedText {
                        name: resource_name(&contents.uri),
                        text: contents.text,
                    })
                }
                EmbeddedResourceResource::BlobResourceContents(contents) => {
                    attached.push(PromptPart::AttachedMedia {
                        name: resource_name(&contents.uri),
                        media_type: contents.mime_type.unwrap_or_default(),
                        data: contents.blob,
                    });
                }
                _ => return Err(ContentError::Unknown),
            },
            ContentBlock::Audio(_) => return Err(ContentError::Audio),
            _ => return Err(ContentError::Unknown),
        }
    }
    Ok(std::iter::once(PromptPart::Text(text)).chain(attached).collect())
}

/// Adds a block to the text. Blocks are parts of one message, so a space is added only where words would run together.
fn append(text: &mut String, block: &str) {
    let needs_space = text.ends_with(|c: char| !c.is_whitespace())
        && block.starts_with(|c: char| !c.is_whitespace() && !c.is_ascii_punctuation() || c == '@');
    if needs_space {
        text.push(' ');
    }
    text.push_str(block);
}

fn link_text(link: &ResourceLink) -> String {
    match path_of(&link.uri) {
        Some(path) => format!("@\"{path}\""),
        None => format!("[{}]({})", link.name, link.uri),
    }
}

/// Returns the path of a `file:` URI, else the URI.
fn resource_name(uri: &str) -> String {
    path_of(uri).unwrap_or_else(|| uri.to_owned())
}

/// Returns the decoded path of a `file:` URI without its fragment.
fn path_of(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.split(['#', '?']).next()?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match after.get(..2).filter(|_| *first == b'%').and_then(hex) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..)?;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|path| path.starts_with('/') && !path.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(blocks: &str, expect: &[PromptPart]) {
        assert_eq!(prompt_parts(serde_json::from_str(blocks).unwrap()).unwrap(), expect);
    }

    fn text(text: &str) -> PromptPart {
        PromptPart::Text(text.to_owned())
    }

    #[test]
    fn texts_and_links_are_one_text() {
        let blocks = r#"[{"type":"text","text":"Explain"},
            {"type":"resource_link","uri":"file:///w/a%20b.rs#L1","name":"a b.rs"},
            {"type":"text","text":", please"},
            {"type":"resource_link","uri":"https://x.test/","name":"x"}]"#;
        check(blocks, &[text("Explain @\"/w/a b.rs\", please[x](https://x.test/)")]);
    }

    #[test]
    fn resources_and_images_are_attached_in_order() {
        let blocks = r#"[{"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"resource","resource":{"uri":"file:///w/a","text":"1"}},
            {"type":"resource","resource":{"uri":"zed:///x","blob":"BB==","mimeType":"application/pdf"}},
            {"type":"text","text":"t"}]"#;
        let media = |name: &str, media_type: &str, data: &str| PromptPart::AttachedMedia {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        };
        let attached = PromptPart::AttachedText { name: "/w/a".to_owned(), text: "1".to_owned() };
        let (image, pdf) =
            (media("image 1", "image/png", "AA=="), media("zed:///x", "application/pdf", "BB=="));
        check(blocks, &[text("t"), image, attached, pdf]);
    }

    #[test]
    fn audio_is_refused() {
        let audio = serde_json::from_str(r#"[{"type":"audio","data":"","mimeType":"audio/wav"}]"#).unwrap();
        assert_eq!(prompt_parts(audio), Err(ContentError::Audio));
    }
}
