//! The encoding of text files, and the conversion of their bytes to UTF-8 and back.
//!
//! Detects and refuses binary files. A file is changed only if decoding and encoding it again returns the same bytes,
//! so that unedited text is never converted.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TextFormat {
    pub(crate) encoding: &'static Encoding,
    /// The file begins with a byte order mark.
    pub(crate) has_bom: bool,
}

/// A kind of file that is not text, as words after "is".
pub(crate) type NonTextKind = &'static str;

/// UTF-8 without a byte order mark: the format of new and of empty files.
pub(crate) const PLAIN_UTF8: TextFormat = TextFormat { encoding: UTF_8, has_bom: false };

impl TextFormat {
    /// Detects the format from the first bytes of a file; `is_complete` when they are all of it.
    ///
    /// # Errors
    /// The kind of the file when it is not text.
    pub(crate) fn detect(start: &[u8], is_complete: bool) -> Result<Self, NonTextKind> {
        if let Some(kind) = known_binary_kind(start) {
            return Err(kind);
        }
        if let Some((encoding, _)) = Encoding::for_bom(start) {
            return Ok(Self { encoding, has_bom: true });
        }
        if memchr::memchr(0, start).is_some() {
            return Err("a binary file");
        }
        if is_mostly_utf8(start, is_complete) {
            return Ok(PLAIN_UTF8);
        }
        if has_many_controls(start) {
            return Err("a binary file");
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        detector.feed(start, is_complete);
        Ok(Self { encoding: detector.guess(None, Utf8Detection::Deny), has_bom: false })
    }

    /// Returns the length of the byte order mark.
    pub(crate) fn bom_length(self) -> usize {
        match (self.has_bom, self.encoding == UTF_8) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 2,
        }
    }

    /// Returns the text of a complete file as UTF-8, without byte order mark; the bytes of a UTF-8 file, valid or not.
    /// `None` when encoding the text would return other bytes.
    pub(crate) fn decode(self, bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
        let body = bytes.get(self.bom_length()..)?;
        if self.encoding == UTF_8 {
            return Some(Cow::Borrowed(body));
        }
        let (text, malformed) = self.encoding.decode_without_bom_handling(body);
        if malformed || self.encode(&text).ok()? != bytes {
            return None;
        }
        Some(Cow::Owned(text.into_owned().into_bytes()))
    }

    /// Returns the bytes of a file with this text.
    ///
    /// # Errors
    /// The first character that the encoding cannot represent.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let mut bytes = Vec::with_capacity(text.len() + 3);
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            let mark = self.has_bom.then_some(0xFEFF);
            for unit in mark.into_iter().chain(text.encode_utf16()) {
                let pair = if self.encoding == UTF_16LE { unit.to_le_bytes() } else { unit.to_be_bytes() };
                bytes.extend(pair);
            }
            return Ok(bytes);
        }
        if self.has_bom {
            bytes.extend("\u{FEFF}".as_bytes());
        }
        let (body, _, unmappable) = self.encoding.encode(text);
        if unmappable {
            let missing = |c: &char| self.encoding.encode(c.encode_utf8(&mut [0; 4])).2;
            return Err(text.chars().find(missing).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }
}

/// Returns the kind of a file that is known by its first bytes and is not text.
fn known_binary_kind(start: &[u8]) -> Option<NonTextKind> {
    let known: [(&[u8], NonTextKind); 15] = [
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF87a", "a GIF image"),
        (b"GIF89a", "a GIF image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"\0\0\x01\0", "an icon image"),
        (b"%PDF-", "a PDF document"),
        (b"\x7fELF", "an ELF binary"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\xfd7zXZ\0", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe\0\0", "UTF-32 text, which is not supported"),
    ];
    if let Some((_, kind)) = known.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(kind);
    }
    match start {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("a WebP image"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => Some("an AVIF image"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e', b'i', ..] => Some("a HEIC image"),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("a BMP image"),
        _ => None,
    }
}

/// Whether the bytes are UTF-8. Tolerates a few invalid bytes where there are many more multi-byte characters.
fn is_mostly_utf8(start: &[u8], is_complete: bool) -> bool {
    let (mut wide, mut broken) = (0usize, 0usize);
    let mut chunks = start.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        wide += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        let is_cut_off = !is_complete && chunks.peek().is_none();
        if !chunk.invalid().is_empty() && !is_cut_off {
            broken += 1;
        }
    }
    broken == 0 || wide >= 8 * broken
}

/// Whether more than a tenth of the bytes are control characters that text does not have.
fn has_many_controls(start: &[u8]) -> bool {
    let is_control =
        |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B | 0x08);
    start.iter().filter(is_control).count() * 10 > start.len()
}

/// Returns the number of lines as `str::lines` counts them.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(!text.is_empty() && !text.ends_with(b"\n"))
}

#[cfg(test)]
#[path = "text_format_test.rs"]
mod tests;

/// Returns a number of lines in words: "1 line", "2 lines".
pub(crate) fn format_line_count(lines: impl Into<u64>) -> String {
    match lines.into() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}
