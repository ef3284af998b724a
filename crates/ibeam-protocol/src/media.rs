//! Images and documents in the conversation, and files that a user attaches to a prompt.
//!
//! The bytes are Base64 inside the event, as every model API expects them. The session store moves large records to
//! content-addressed files, so that the journal stays small.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The largest image, in bytes.
const MAX_IMAGE_BYTES: usize = 3_932_160;
/// The largest document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 4_500_000;
/// The tokens that an image is estimated at: about the most that the services count for one image after they have
/// reduced its size.
const IMAGE_TOKENS: u64 = 1600;
/// The tokens that a page of a document is estimated at.
const PAGE_TOKENS: u64 = 2000;
/// The bytes that a page of a document is estimated at.
const PAGE_BYTES: u64 = 100 << 10;
/// The bytes of text that count as much as a token.
const BYTES_PER_TOKEN: u64 = 3;

/// The type of an image or a document that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    /// PNG
    #[serde(rename = "image/png")]
    Png,
    /// JPEG
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF; models see its first frame.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP
    #[serde(rename = "image/webp")]
    Webp,
    /// PDF
    #[serde(rename = "application/pdf")]
    Pdf,
}

impl MediaType {
    /// Recognises a file by its first bytes; its name does not matter.
    pub fn from_bytes(start: &[u8]) -> Option<Self> {
        match start {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            _ => None,
        }
    }

    /// Returns the name of the type, such as `image/png`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    /// Returns the largest file that is accepted, in bytes. Every API accepts as much: Amazon Bedrock has the lowest limits,
    /// and Anthropic limits the Base64 of an image to 5 MiB.
    pub fn max_bytes(self) -> usize {
        if self.is_image() { MAX_IMAGE_BYTES } else { MAX_DOCUMENT_BYTES }
    }

    /// Whether the type is an image, not a document.
    pub fn is_image(self) -> bool {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => true,
            Self::Pdf => false,
        }
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An image or a document.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The path as the user or the model wrote it, or a description of the origin.
    pub name: String,
    /// The type, which was read from the first bytes.
    pub media_type: MediaType,
    /// The bytes as Base64 with padding.
    pub data: Arc<str>,
}

impl Media {
    /// Returns the number of bytes before the encoding.
    pub fn size_bytes(&self) -> usize {
        self.data.trim_end_matches('=').len() * 3 / 4
    }

    /// Returns the estimated size for a model, in bytes of text. The length of the Base64 has no influence on the number
    /// of tokens.
    pub fn estimated_bytes(&self) -> usize {
        let tokens = if self.media_type.is_image() {
            IMAGE_TOKENS
        } else {
            PAGE_TOKENS * (self.size_bytes() as u64).div_ceil(PAGE_BYTES).max(1)
        };
        usize::try_from(tokens * BYTES_PER_TOKEN).unwrap_or(usize::MAX)
    }

    /// Returns a line in place of the content, for models that cannot see it and for summaries.
    pub fn placeholder(&self) -> String {
        let Self { name, media_type, data: _ } = self;
        format!("[{media_type} `{name}`, {} bytes, not shown]", self.size_bytes())
    }

    /// Returns a line in place of the content, for a model whose service does not accept it.
    pub fn omission(&self) -> String {
        let Self { name, media_type, data: _ } = self;
        let bytes = self.size_bytes();
        format!(
            "[{media_type} `{name}`, {bytes} bytes, left out: the service of the model does not accept it]"
        )
    }
}

impl fmt::Debug for Media {
    /// Writes the size in place of the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({:?}, {}, {} bytes)", self.name, self.media_type, self.size_bytes())
    }
}

/// The images and documents that a model accepts, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedMedia {
    /// Whether the model may accept images.
    pub images: bool,
    /// Whether the model may accept documents.
    pub documents: bool,
}

impl AcceptedMedia {
    /// Whether the model may accept this type.
    pub fn accepts(self, media_type: MediaType) -> bool {
        if media_type.is_image() { self.images } else { self.documents }
    }
}

/// A prompt of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserPrompt {
    /// Text blocks, verbatim: the prompt, then piped context.
    pub texts: Vec<String>,
    /// The attached files.
    pub attachments: Vec<Attachment>,
}

impl From<Vec<String>> for UserPrompt {
    fn from(texts: Vec<String>) -> Self {
        Self { texts, attachments: Vec::new() }
    }
}

/// A file that the user attached to a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// A text file.
    Text {
        /// The path as the user wrote it.
        name: String,
        /// The content.
        text: Arc<str>,
    },
    /// An image or a document.
    Media(Media),
}

impl Attachment {
    /// Returns the path as the user wrote it.
    pub fn name(&self) -> &str {
        match self {
            Self::Text { name, .. } => name,
            Self::Media(media) => &media.name,
        }
    }

    /// Returns the name of the type, such as `image/png`; `text/plain` for any text.
    pub fn media_type_name(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text/plain",
            Self::Media(media) => media.media_type.name(),
        }
    }

    /// Returns the attachment with this name and type, without its content. A type other than those of images and
    /// documents is a text.
    pub fn without_content(name: String, media_type_name: &str) -> Self {
        let kinds = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp, MediaType::Pdf];
        match kinds.into_iter().find(|kind| kind.name() == media_type_name) {
            Some(media_type) => Self::Media(Media { name, media_type, data: "".into() }),
            None => Self::Text { name, text: "".into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::message::Message;
    use crate::tool_output::ReadOutput;

    #[test]
    fn the_first_bytes_determine_the_type() {
        for (start, expect) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], Some(MediaType::Png)),
            (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
            (b"GIF89a", Some(MediaType::Gif)),
            (b"GIF87a..", Some(MediaType::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(MediaType::Webp)),
            (b"%PDF-1.7\n", Some(MediaType::Pdf)),
            (b"RIFF\0\0\0\0WAVEfmt ", None),
            (b"\x89PNG", None),
            (b"", None),
        ] {
            assert_eq!(MediaType::from_bytes(start), expect, "{start:?}");
        }
    }

    #[test]
    fn the_size_is_that_of_the_decoded_bytes() {
        for (data, size) in [("", 0), ("AA==", 1), ("AAA=", 2), ("AAAA", 3), ("AAAAAA==", 4)] {
            let media = Media { name: "a".into(), media_type: MediaType::Png, data: data.into() };
            assert_eq!(media.size_bytes(), size, "{data}");
            assert_eq!(media.estimated_bytes(), 4800, "an image counts the same whatever its size");
        }
    }

    #[test]
    fn a_prompt_of_an_earlier_version_has_no_attachments() {
        let earlier = r#"{"user_message":{"content":["do it","piped"]}}"#;
        let read: EventKind = serde_json::from_str(earlier).unwrap();
        let content = vec!["do it".to_owned(), "piped".to_owned()];
        assert_eq!(read, EventKind::UserMessage { content, attachments: Vec::new() });
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            earlier,
            "a prompt without attachments is as before"
        );
        let message: Message = serde_json::from_str(r#"{"user":["do it"]}"#).unwrap();
        assert_eq!(message, Message::User(vec!["do it".into()]));
        let read = r#"{"content":"","is_empty":true,"exceeded_limit":false,"total_lines":0,"total_chars":0}"#;
        assert_eq!(serde_json::from_str::<ReadOutput>(read).unwrap().media, []);
    }

    #[test]
    fn names_of_types_are_the_same_in_journals() {
        for kind in [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp, MediaType::Pdf] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
