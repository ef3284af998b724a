//! Makes invisible characters visible, as `<U+200B>`: tags, zero-width spaces, direction marks, variation selectors,
//! private use. People do not see them, but models and shells read them.
//!
//! Parts of an emoji are left unchanged: one variation selector after a picture, a joiner between two pictures.

use std::borrow::Cow;
use std::fmt::Write;

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

/// Returns `text` with every invisible character escaped. Line ends and tabs are retained; `\r\n` becomes `\n`.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_invisible(c) || c == '\r') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied();
        if c == '\r' && after == Some('\n') {
            continue;
        }
        if is_invisible(c) && !is_part_of_emoji(before, c, after) {
            // The format of a string cannot fail.
            let _ = write!(shown, "<U+{:04X}>", u32::from(c));
        } else {
            shown.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Returns foreign text on one line, with invisible characters and line ends escaped, and tabs as spaces.
pub fn escape_to_one_line(text: &str) -> String {
    escape_invisible(text).replace('\n', "<U+000A>").replace('\t', " ")
}

/// Returns the same JSON document with every invisible character as a JSON escape, so that terminals do not interpret it.
pub fn escape_invisible_in_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_invisible) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // The format of a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character is invisible: Unicode's default ignorable code points, control characters except line feed and
/// tab, line and paragraph separators, annotation marks, the empty Braille pattern, and private-use or unassigned code
/// points that fonts show as nothing.
pub fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Text is mostly ASCII, which needs no lookup.
        '\0'..='\u{9f}' => c.is_control(),
        '\u{2028}'..='\u{2029}'
        | '\u{2800}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e1000}'..='\u{10ffff}' => true,
        c => CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c),
    }
}

fn is_part_of_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after.unwrap_or(' ')) else { return false };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_picture(before) || after == '\u{20e3}',
        '\u{200d}' => (is_picture(before) || before == '\u{fe0f}') && is_picture(after),
        _ => false,
    }
}

/// Symbols, arrows, dingbats and pictures.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}')
        || matches!(c, '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(escape_invisible(text), expect);
    }

    /// The tables of Unicode grow. What was invisible in Unicode 16 stays so.
    #[test]
    fn every_invisible_character_of_unicode_16_is_invisible() {
        for c in '\0'..=char::MAX {
            let was_invisible = match c {
                '\n' | '\t' => false,
                '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{10ffff}' => true,
                c => c.is_control(),
            };
            assert_eq!(is_invisible(c), was_invisible, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        check("ru\u{200b}n \u{202e}evil", "ru<U+200B>n <U+202E>evil");
        check("a\u{e0041}\u{e007f}b", "a<U+E0041><U+E007F>b");
        check("a\u{fe0f}\u{fe01}b\u{e0100}", "a<U+FE0F><U+FE01>b<U+E0100>");
        check("\u{feff}x\u{e000}\u{f0000}\u{10fffd}", "<U+FEFF>x<U+E000><U+F0000><U+10FFFD>");
        check("a\u{1b}[2K\u{7}\u{9b}b\rc", "a<U+001B>[2K<U+0007><U+009B>b<U+000D>c");
        check(
            "word\u{200d}joiner \u{2066}x\u{2069} soft\u{ad}",
            "word<U+200D>joiner <U+2066>x<U+2069> soft<U+00AD>",
        );
    }

    #[test]
    fn visible_characters_stay() {
        for text in [
            "",
            "plain\n\ttext",
            "Grüße, 日本語, עברית, فارسی",
            "❤\u{fe0f} 👩\u{200d}💻 1\u{fe0f}\u{20e3} ✔\u{fe0e}",
        ] {
            check(text, text);
        }
        check("one\r\ntwo\r\n", "one\ntwo\n");
    }

    #[test]
    fn escaped_text_stays_on_one_line() {
        assert_eq!(
            escape_to_one_line("a\n# Orders\tof\u{202e}mine\r\n"),
            "a<U+000A># Orders of<U+202E>mine<U+000A>"
        );
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let value = serde_json::json!({ "ti\u{202e}tle": "a\u{e0041}\u{1b}[2K\u{9b}\n\t日本" });
        let json = value.to_string();
        let escaped = escape_invisible_in_json(&json);
        assert!(!escaped.chars().any(is_invisible), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(matches!(escape_invisible_in_json("{\"a\": \"b\"}\n"), Cow::Borrowed(_)));
    }

    /// Data can be hidden in a row of selectors behind a picture.
    #[test]
    fn a_selector_after_a_selector_is_escaped() {
        check("😀\u{fe0f}\u{fe0f}\u{e0101}", "😀\u{fe0f}<U+FE0F><U+E0101>");
        check("😀\u{200d}\u{200d}😀", "😀<U+200D><U+200D>😀");
    }
}
