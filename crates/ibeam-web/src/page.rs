//! Conversion of a response body to text for a model, by its content type and its declared or detected charset.
//!
//! Refuses content that is not text, and names its type.

use std::time::Duration;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;
use ibeam_protocol::escape_invisible;
use url::Url;

use crate::fetch::{FetchedPage, UnreadBody};
use crate::html;

/// Time limit for the conversion of a page.
const CONVERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of bytes at the start of a page that are searched for a declared charset.
const CHARSET_SCAN_BYTES: usize = 1024;

/// The text of a page, with a note about what was left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) url: String,
    pub(crate) text: String,
}

enum PageFormat {
    Html,
    Text,
}

/// Returns the text of `fetched`, at most `limit` bytes, with a note about what was left out.
///
/// # Errors
/// A description of content that is not text or cannot be converted.
pub(crate) async fn page_text(fetched: FetchedPage, limit: usize) -> Result<Page, String> {
    let FetchedPage { url, content_type, bytes, mut unread } = fetched;
    let (essence, charset) = parse_content_type(&content_type);
    let format = page_format(&essence, &bytes).ok_or_else(|| {
        let what = if essence.is_empty() { "data of no declared type" } else { &essence };
        format!("`{url}` is {what}, not text; only pages, text and JSON are fetched")
    })?;
    let text = match format {
        PageFormat::Text => decode(&bytes, charset.as_deref(), essence.ends_with("json")),
        PageFormat::Html => {
            let declared = charset.or_else(|| declared_charset(&bytes));
            let html = decode(&bytes, declared.as_deref(), false);
            let base = Url::parse(&url).ok();
            let converted =
                tokio::time::timeout(CONVERSION_TIMEOUT, html::html_to_markdown(html, base)).await;
            let timed_out =
                |_| format!("`{url}` could not be converted within {} s", CONVERSION_TIMEOUT.as_secs());
            let converted = converted.map_err(timed_out)?;
            let converted = converted.map_err(|detail| format!("`{url}` cannot be converted: {detail}"))?;
            if !converted.is_complete && unread == UnreadBody::None {
                unread = UnreadBody::Unknown;
            }
            converted.text
        }
    };
    // Invisible characters can hide instructions to the model.
    Ok(Page { text: shorten(escape_invisible(&text).into_owned(), limit, unread), url })
}

/// Returns the type without its parameters, and the charset.
fn parse_content_type(content_type: &str) -> (String, Option<String>) {
    let mut parts = content_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (essence, charset)
}

/// Returns the format for a content type. Returns `None` for content that is not text.
fn page_format(essence: &str, bytes: &[u8]) -> Option<PageFormat> {
    const TEXTS: &[&str] = &[
        "application/json",
        "application/javascript",
        "application/ecmascript",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/sql",
        "application/graphql",
    ];
    let is_text = essence.starts_with("text/")
        || TEXTS.contains(&essence)
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || essence.ends_with("+yaml");
    match essence {
        "text/html" | "application/xhtml+xml" => Some(PageFormat::Html),
        "" if looks_like_html(bytes) => Some(PageFormat::Html),
        "" if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0) => Some(PageFormat::Text),
        "image/svg+xml" => None,
        // Text does not contain NUL, except in UTF-16, which starts with a byte order mark.
        _ if is_text && (!bytes.contains(&0) || Encoding::for_bom(bytes).is_some()) => Some(PageFormat::Text),
        _ => None,
    }
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let begins = |with: &[u8]| start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Returns the charset that a page declares, in `<meta charset=…>` or its older form.
fn declared_charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..CHARSET_SCAN_BYTES).unwrap_or(bytes)).to_ascii_lowercase();
    head.split("<meta").skip(1).find_map(|meta| {
        let meta = meta.split('>').next()?;
        let (_, value) = meta.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(['"', '\'', ';', ' ', '/']).unwrap_or(value.len());
        value.get(..end).map(str::to_owned)
    })
}

/// Decodes bytes by their byte order mark, else by the label, else by detection.
fn decode(bytes: &[u8], label: Option<&str>, json: bool) -> String {
    let labelled = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = match labelled {
        // JSON is always UTF-8, whatever its header declares.
        _ if json => encoding_rs::UTF_8,
        Some(encoding) => encoding,
        None => {
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
            detector.feed(bytes, true);
            detector.guess(None, Utf8Detection::Allow)
        }
    };
    encoding.decode(bytes).0.into_owned()
}

/// Returns the first `limit` bytes, and a note about the rest.
fn shorten(mut text: String, limit: usize, unread: UnreadBody) -> String {
    let cut = text.len().saturating_sub(limit);
    if cut > 0 {
        text.truncate(text.floor_char_boundary(limit));
    }
    let note = match (cut, unread) {
        (0, UnreadBody::None) => return text,
        (0, UnreadBody::Bytes(more)) => format!("{more} more bytes of the page were not read"),
        (0, UnreadBody::Unknown) => "the rest of the page was not read".to_owned(),
        (cut, UnreadBody::None) => format!("{cut} bytes of the text are left out"),
        (cut, UnreadBody::Bytes(_) | UnreadBody::Unknown) => {
            format!("{cut} bytes of the text are left out, and the rest of the page was not read")
        }
    };
    text.push_str(&format!("\n\n[{note}]\n"));
    text
}

#[cfg(test)]
#[path = "page_test.rs"]
mod tests;
