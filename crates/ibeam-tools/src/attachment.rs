//! Files as attachments of a prompt: text, images and documents, recognised by their first bytes.
//!
//! The policy is not asked: the user has named the file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_protocol::{Attachment, Media, MediaType};

use crate::text_format::TextFormat;

/// The largest text file that is attached. For a larger one, the model reads the parts that it needs.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// The reason why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The file is larger than what is attached.
    #[error("is larger than {limit} bytes, the limit for {kind}; {remedy}")]
    TooLarge {
        kind: &'static str,
        /// The limit in bytes.
        limit: usize,
        /// The way out.
        remedy: &'static str,
    },
    /// Models do not accept the kind of file.
    #[error("is {0}; models accept text, PNG, JPEG, GIF and WebP images, and PDF")]
    NotAccepted(&'static str),
}

/// Reads a file that the user names as `name`.
pub fn load_attachment(path: &Path, name: &str) -> Result<Attachment, AttachmentError> {
    let mut file = ibeam_files::regular_file::open(path, true)?;
    let mut bytes = Vec::new();
    read_more(&mut file, MAX_TEXT_BYTES, &mut bytes)?;
    if let Some(media_type) = MediaType::from_bytes(&bytes) {
        return read_media(&mut file, bytes, media_type, name).map(Attachment::Media);
    }
    if bytes.len() > MAX_TEXT_BYTES {
        let remedy = "name the file in the prompt without attaching it: the model reads what it needs";
        return Err(AttachmentError::TooLarge { kind: "a text file", limit: MAX_TEXT_BYTES, remedy });
    }
    let format = TextFormat::detect(&bytes, true).map_err(AttachmentError::NotAccepted)?;
    let body = bytes.get(format.bom_length()..).unwrap_or_default();
    let (text, _) = format.encoding.decode_without_bom_handling(body);
    Ok(Attachment::Text { name: name.to_owned(), text: text.into() })
}

/// Returns the image or document with this content; messages name it `name`.
///
/// # Errors
/// A message with the reason: no Base64, too large, or a type that models do not accept.
pub fn media_from_base64(name: String, data: String) -> Result<Media, String> {
    let bytes = STANDARD.decode(&data).map_err(|error| format!("`{name}` is not Base64: {error}"))?;
    let media_type = MediaType::from_bytes(&bytes)
        .ok_or_else(|| format!("`{name}` is not a PNG, JPEG, GIF or WebP image or a PDF"))?;
    let limit = media_type.max_bytes();
    if bytes.len() > limit {
        return Err(format!("`{name}` is larger than {limit} bytes, the limit for {media_type}"));
    }
    Ok(Media { name, media_type, data: data.into() })
}

/// Reads the rest of an image or document that begins with `start`.
pub(crate) fn read_media(
    file: &mut File,
    start: Vec<u8>,
    media_type: MediaType,
    name: &str,
) -> Result<Media, AttachmentError> {
    let (mut bytes, limit) = (start, media_type.max_bytes());
    read_more(file, limit, &mut bytes)?;
    if bytes.len() > limit {
        let (kind, remedy) = match media_type.is_image() {
            true => ("an image", "make a smaller copy of it"),
            false => ("a PDF", "attach the pages that matter, or their text"),
        };
        return Err(AttachmentError::TooLarge { kind, limit, remedy });
    }
    Ok(Media { name: name.to_owned(), media_type, data: STANDARD.encode(bytes).into() })
}

/// Reads until `bytes` has one byte more than `limit`, or the file ends.
fn read_more(file: &mut File, limit: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let missing = (limit + 1).saturating_sub(bytes.len());
    file.take(missing as u64).read_to_end(bytes).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(content: &[u8]) -> Result<Attachment, AttachmentError> {
        let directory = tempfile::TempDir::with_prefix("ibeam-tools-").unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, content).unwrap();
        load_attachment(&path, "a")
    }

    #[track_caller]
    fn check_error(content: &[u8], expect: &str) {
        let error = load(content).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn text_is_decoded_and_media_is_encoded() {
        let text = |text: &str| Attachment::Text { name: "a".into(), text: text.into() };
        assert_eq!(load(b"caf\xc3\xa9\n").unwrap(), text("café\n"));
        assert_eq!(load(b"\xff\xfea\0b\0").unwrap(), text("ab"));
        assert_eq!(load(b"").unwrap(), text(""));
        let png = b"\x89PNG\r\n\x1a\n";
        let media = Media { name: "a".into(), media_type: MediaType::Png, data: "iVBORw0KGgo=".into() };
        assert_eq!(load(png).unwrap(), Attachment::Media(media));
    }

    #[test]
    fn files_that_models_do_not_accept_are_refused() {
        check_error(b"\x7fELF", "is an ELF binary; models accept text");
        check_error(b"a\0b", "is a binary file");
        check_error(
            &vec![b'a'; MAX_TEXT_BYTES + 1],
            "is larger than 262144 bytes, the limit for a text file",
        );
        let image = [b"GIF89a".to_vec(), vec![0; MediaType::Gif.max_bytes()]].concat();
        check_error(&image, "the limit for an image; make a smaller copy of it");
    }

    #[test]
    fn the_largest_accepted_image_is_read() {
        let image = [b"GIF89a".to_vec(), vec![0; MediaType::Gif.max_bytes() - 6]].concat();
        let Attachment::Media(media) = load(&image).unwrap() else { panic!() };
        assert_eq!(media.size_bytes(), image.len());
    }
}
