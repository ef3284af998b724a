//! Percent escapes: any character of a secret may be written as one, in upper or lower case.

use super::model_text::FormMatch;

/// The text of a percent escape in bytes.
const ESCAPE_BYTES: usize = 3;

/// The beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// No escape.
    Plain,
    /// The escape of this byte.
    Escape(u8),
    /// The beginning of what may become an escape.
    Incomplete,
}

impl Start {
    pub(super) fn from_text(text: &[u8]) -> Self {
        let digit = |at: usize| text.get(at).map(|byte| char::from(*byte).to_digit(16));
        match (text.first(), digit(1), digit(2)) {
            (Some(b'%'), Some(Some(high)), Some(Some(low))) => {
                u8::try_from(high * 16 + low).map_or(Self::Plain, Self::Escape)
            }
            (Some(b'%'), None | Some(Some(_)), None) => Self::Incomplete,
            (Some(_) | None, _, _) => Self::Plain,
        }
    }
}

/// Returns the bytes of a text with its escapes decoded, and the place of each in the text, then the end of the text;
/// `None` for a text without escapes.
pub(super) fn decode(text: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    let escapes = memchr::memchr_iter(b'%', text);
    let has_escape =
        |at: usize| matches!(Start::from_text(text.get(at..).unwrap_or_default()), Start::Escape(_));
    if !escapes.into_iter().any(has_escape) {
        return None;
    }
    let (mut bytes, mut places, mut at) = (Vec::with_capacity(text.len()), Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        places.push(at);
        match Start::from_text(text.get(at..).unwrap_or_default()) {
            Start::Escape(decoded) => {
                bytes.push(decoded);
                at += ESCAPE_BYTES;
            }
            Start::Plain | Start::Incomplete => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    places.push(text.len());
    Some((bytes, places))
}

/// Compares the beginning of a text with a form.
pub(super) fn match_form(form: &[u8], text: &[u8]) -> FormMatch {
    let mut at = 0;
    for (index, expected) in form.iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        let Some(byte) = rest.first() else { return FormMatch::CONTINUES };
        let step = match Start::from_text(rest) {
            Start::Incomplete => return FormMatch::CONTINUES,
            // A `%` of the form itself may be written as it is, or as an escape.
            Start::Escape(b'%') if *expected == b'%' => {
                let left = form.get(index + 1..).unwrap_or_default();
                let [plain, escaped] = [1, ESCAPE_BYTES]
                    .map(|step| match_form(left, rest.get(step..).unwrap_or_default()).after(at + step));
                return plain.or(escaped);
            }
            Start::Escape(decoded) if decoded == *expected => ESCAPE_BYTES,
            Start::Escape(_) | Start::Plain if byte == expected => 1,
            Start::Escape(_) | Start::Plain => return FormMatch::default(),
        };
        at += step;
    }
    FormMatch { complete: Some(at), may_continue: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: &str, text: &str, complete: Option<usize>, may_continue: bool) {
        let found = match_form(form.as_bytes(), text.as_bytes());
        assert_eq!((found.complete, found.may_continue), (complete, may_continue), "{form} in {text}");
    }

    #[test]
    fn any_character_may_be_an_escape() {
        check("a-b", "a-b!", Some(3), false);
        check("a-b", "a%2Db!", Some(5), false);
        check("a-b", "%61%2d%62", Some(9), false);
        check("a-b", "%61%2", None, true);
        check("a-b", "a%", None, true);
        check("a-b", "a%2Eb", None, false);
        check("a-b", "a%zz", None, false);
        check("a%41b", "a%41b", Some(5), false);
        check("a%41b", "a%2541b", Some(7), false);
        check("a%%b", "a%25%25b", Some(8), false);
        check("a%25b", "a%25b", Some(5), false);
        check("a%25b", "a%2525b", Some(7), false);
    }

    #[test]
    fn decoded_bytes_have_their_places() {
        assert_eq!(decode(b"50% off"), None);
        assert_eq!(decode(b"a%2Db%"), Some((b"a-b%".to_vec(), vec![0, 1, 4, 5, 6])));
    }
}
