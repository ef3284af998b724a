use encoding_rs::{Encoding, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::{TextFormat, count_lines, format_line_count};

const JAPANESE: &str = "これは日本語の文章です。エンコーディングを判定するには、ある程度の長さが必要です。\n";
const FRENCH: &str = "Le garçon a mangé la crème brûlée à l'hôtel où il était né.\n";

fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    TextFormat { encoding, has_bom: false }.encode(text).unwrap()
}

#[track_caller]
fn text(bytes: &[u8], encoding: &'static Encoding, has_bom: bool, expect: &str) {
    let format = TextFormat::detect(bytes, true).unwrap();
    assert_eq!(format, TextFormat { encoding, has_bom });
    assert_eq!(String::from_utf8_lossy(&format.decode(bytes).unwrap()), expect);
    if std::str::from_utf8(&format.decode(bytes).unwrap()).is_ok() {
        assert_eq!(format.encode(expect).unwrap(), bytes, "the way back");
    }
}

#[track_caller]
fn refused(bytes: &[u8], expect: &str) {
    assert_eq!(TextFormat::detect(bytes, true), Err(expect));
}

#[test]
fn encodings_are_detected() {
    text(b"", UTF_8, false, "");
    text(b"plain\r\n", UTF_8, false, "plain\r\n");
    text("né €".as_bytes(), UTF_8, false, "né €");
    text(b"\xef\xbb\xbfx", UTF_8, true, "x");
    text(b"\xff\xfea\0\xe9\0", UTF_16LE, true, "aé");
    text(b"\xfe\xff\0a\0\xe9", UTF_16BE, true, "aé");
    text(&encoded(SHIFT_JIS, JAPANESE), SHIFT_JIS, false, JAPANESE);
    text(&encoded(WINDOWS_1252, FRENCH), WINDOWS_1252, false, FRENCH);
}

#[test]
fn a_broken_byte_does_not_make_utf8_something_else() {
    let mut bytes = JAPANESE.as_bytes().to_vec();
    bytes.push(0xFF);
    text(&bytes, UTF_8, false, &format!("{JAPANESE}\u{FFFD}"));
}

#[test]
fn a_character_cut_by_the_end_of_the_sample_is_not_broken() {
    let bytes = &"é".as_bytes()[..1];
    assert_eq!(TextFormat::detect(bytes, false).unwrap().encoding, UTF_8);
}

#[test]
fn a_file_that_is_not_text_is_named() {
    refused(b"\x89PNG\r\n\x1a\n0000", "a PNG image");
    refused(b"\xff\xd8\xff\xe0", "a JPEG image");
    refused(b"RIFF0000WEBPVP8 ", "a WebP image");
    refused(b"%PDF-1.7", "a PDF document");
    refused(b"\x7fELF\x02", "an ELF binary");
    refused(b"abc\0def", "a binary file");
    refused(b"\x01\x02\x03\xf0\x9f", "a binary file");
    refused(b"\xff\xfe\0\0a\0\0\0", "UTF-32 text, which is not supported");
}

#[test]
fn a_character_that_the_encoding_lacks_is_named() {
    assert_eq!(TextFormat { encoding: WINDOWS_1252, has_bom: false }.encode("aб"), Err('б'));
    assert_eq!(TextFormat { encoding: SHIFT_JIS, has_bom: false }.encode("あ😀"), Err('😀'));
}

#[test]
fn lines_are_counted_as_the_standard_library_does() {
    for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\r\nb\r\n"] {
        assert_eq!(count_lines(text.as_bytes()), text.lines().count() as u64, "{text:?}");
    }
}

#[test]
fn one_line_is_singular() {
    assert_eq!([0u64, 1, 2].map(format_line_count), ["0 lines", "1 line", "2 lines"]);
}
