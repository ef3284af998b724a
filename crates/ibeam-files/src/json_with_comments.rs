//! JSON as people write it in settings: with comments, trailing commas and a byte order mark.

/// Returns the text with a space for each byte of a comment, of a trailing comma and of a byte order mark, so that every
/// other byte keeps its line and column.
pub fn to_json(bytes: &[u8]) -> Vec<u8> {
    let mut json = bytes.to_vec();
    if json.starts_with(b"\xef\xbb\xbf") {
        blank(&mut json, 0, 3);
    }
    let mut at = 0;
    // The last comma that follows a value and that no value follows.
    let mut comma = None;
    let mut follows_value = false;
    while let Some(byte) = json.get(at).copied() {
        let end = match (byte, json.get(at + 1)) {
            (b'"', _) => end_of_text(&json, at),
            (b'/', Some(b'/')) => end_of_line(&json, at),
            (b'/', Some(b'*')) => end_of_block(&json, at),
            _ => at + 1,
        };
        match byte {
            b'/' if end > at + 1 => blank(&mut json, at, end),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(&mut json, comma, comma + 1);
                }
                follows_value = true;
            }
            b',' => comma = std::mem::take(&mut follows_value).then_some(at),
            b'{' | b'[' | b':' => (comma, follows_value) = (None, false),
            byte if !byte.is_ascii_whitespace() => (comma, follows_value) = (None, true),
            _ => {}
        }
        at = end;
    }
    json
}

/// Replaces all bytes of a range except line feeds.
fn blank(json: &mut [u8], start: usize, end: usize) {
    for byte in json.get_mut(start..end).unwrap_or_default() {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn end_of_text(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    json.len()
}

fn end_of_line(json: &[u8], start: usize) -> usize {
    let rest = json.get(start..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(json.len(), |length| start + length)
}

/// Returns the end of a block comment. One without an end stays as it is, so that it is an error of the syntax.
fn end_of_block(json: &[u8], start: usize) -> usize {
    let rest = json.get(start + 2..).unwrap_or_default();
    rest.windows(2).position(|pair| pair == b"*/").map_or(start + 1, |length| start + length + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, expect) in [
            ("{// a\n\"b\": 1}", "{    \n\"b\": 1}"),
            ("{\"a\": /* b\nc */ 1}", "{\"a\":     \n     1}"),
            ("[1, 2, ]", "[1, 2  ]"),
            ("{\"a\": [\"b\", // c\n],}", "{\"a\": [\"b\"      \n] }"),
            ("{\"a\": \"// , } \\\" /*\",}", "{\"a\": \"// , } \\\" /*\" }"),
            ("\u{feff}{}", "   {}"),
        ] {
            assert_eq!(String::from_utf8(to_json(text.as_bytes())).unwrap(), expect, "{text}");
        }
    }

    #[test]
    fn what_has_no_one_meaning_stays_an_error() {
        for text in ["{,}", "[1,,]", "[,1]", "{} /* open", "{} / {}", "{\"a\": ,}", "{\"a", "", "/"] {
            assert_eq!(to_json(text.as_bytes()), text.as_bytes(), "{text}");
        }
    }
}
