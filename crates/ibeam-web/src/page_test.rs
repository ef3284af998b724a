use super::page_text;
use crate::fetch::{FetchedPage, UnreadBody};

/// Returns the text of a response with this type and body.
fn text(content_type: &str, bytes: &[u8], limit: usize, unread: UnreadBody) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fetched = FetchedPage {
        url: "http://a.test/".to_owned(),
        content_type: content_type.to_owned(),
        bytes: bytes.to_vec(),
        unread,
    };
    runtime.block_on(page_text(fetched, limit)).map(|page| page.text)
}

#[track_caller]
fn check(content_type: &str, bytes: &[u8], expect: &str) {
    assert_eq!(text(content_type, bytes, 1000, UnreadBody::None).as_deref(), Ok(expect), "{content_type}");
}

#[track_caller]
fn check_refused(content_type: &str, bytes: &[u8], detail: &str) {
    let error = text(content_type, bytes, 1000, UnreadBody::None).unwrap_err();
    assert!(error.contains(detail), "{error}");
}

#[test]
fn the_content_type_decides_on_the_conversion() {
    check("text/html", b"<h1>a</h1>", "# a");
    check("TEXT/HTML; charset=utf-8", b"<h1>a</h1>", "# a");
    check("application/xhtml+xml", b"<p>a</p>", "a");
    check("text/plain", b"<h1>a</h1>", "<h1>a</h1>");
    check("text/markdown; charset=utf-8", b"# a", "# a");
    check("application/json", b"{\"a\": 1}", "{\"a\": 1}");
    check("application/vnd.api+json", b"{}", "{}");
    check("application/atom+xml", b"<feed/>", "<feed/>");
    check("", b" <!DOCTYPE HTML><p>a", "a");
    check("", b"plain", "plain");
    check("text/plain", b"", "");
}

#[test]
fn content_that_is_not_text_is_refused_with_its_type() {
    check_refused("image/png", b"\x89PNG", "`http://a.test/` is image/png, not text");
    check_refused("application/pdf", b"%PDF", "is application/pdf");
    check_refused("application/octet-stream", b"text", "is application/octet-stream");
    check_refused("image/svg+xml", b"<svg/>", "is image/svg+xml");
    check_refused("text/plain", b"a\0b", "is text/plain, not text");
    check_refused("", b"\x7fELF\0", "data of no declared type");
}

#[test]
fn the_declared_charset_is_used() {
    check("text/plain; charset=iso-8859-1", b"caf\xe9", "caf\u{e9}");
    check("text/plain; charset=\"windows-1251\"", b"\xcf\xf0\xe8", "\u{41f}\u{440}\u{438}");
    check("text/plain; charset=shift_jis", b"\x93\xfa\x96{", "\u{65e5}\u{672c}");
    check("text/plain; charset=utf-16le", b"\xff\xfea\0b\0", "ab");
    // A byte order mark beats the header.
    check("text/plain; charset=iso-8859-1", b"\xef\xbb\xbfcaf\xc3\xa9", "caf\u{e9}");
    check("text/html", b"<meta charset='iso-8859-1'><p>caf\xe9", "caf\u{e9}");
    let older = b"<META http-equiv=Content-Type content=\"text/html; charset=iso-8859-1\"><p>caf\xe9";
    check("text/html", older, "caf\u{e9}");
    check("application/json; charset=iso-8859-1", b"\"caf\xc3\xa9\"", "\"caf\u{e9}\"");
}

#[test]
fn a_wrong_or_missing_charset_still_gives_text() {
    check("text/plain; charset=no-such", b"caf\xc3\xa9", "caf\u{e9}");
    check("text/plain", b"caf\xc3\xa9", "caf\u{e9}");
    check("text/plain; charset=utf-8", b"caf\xe9", "caf\u{fffd}");
    check("text/html", b"<meta charset=><p>a", "a");
    assert!(
        text("text/plain", b"Il \xe9tait une fois \xe0 la for\xeat", 1000, UnreadBody::None)
            .unwrap()
            .contains("for\u{ea}t")
    );
}

#[test]
fn a_note_states_how_much_is_left_out() {
    let shortened = |limit, unread| text("text/plain", "h\u{e9}llo".as_bytes(), limit, unread).unwrap();
    assert_eq!(shortened(6, UnreadBody::None), "h\u{e9}llo");
    assert_eq!(shortened(2, UnreadBody::None), "h\n\n[4 bytes of the text are left out]\n");
    assert_eq!(
        shortened(6, UnreadBody::Bytes(7)),
        "h\u{e9}llo\n\n[7 more bytes of the page were not read]\n"
    );
    assert_eq!(shortened(6, UnreadBody::Unknown), "h\u{e9}llo\n\n[the rest of the page was not read]\n");
    let both = "h\u{e9}\n\n[3 bytes of the text are left out, and the rest of the page was not read]\n";
    assert_eq!(shortened(3, UnreadBody::Unknown), both);
}

#[test]
fn invisible_characters_of_a_page_are_escaped() {
    check("text/html", "<p>a\u{e0041}\u{202e}b</p>".as_bytes(), "a<U+E0041><U+202E>b");
    check(
        "text/plain",
        "a\u{200b}\u{1b}[2Kb \u{1f600}\u{fe0f}".as_bytes(),
        "a<U+200B><U+001B>[2Kb \u{1f600}\u{fe0f}",
    );
}
