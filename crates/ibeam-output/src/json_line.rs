//! JSON that is one line for every reader and has no effect on terminals.
//!
//! U+0085, U+2028 and U+2029 are legal in a JSON string, but Node's `readline` and Python's `splitlines` treat them as line
//! ends. U+007F and the other C1 controls are legal too, but U+009B starts a control sequence on some terminals. All of them
//! are escaped, which does not change the value.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Serializer, Value};

/// Writes `value` and `\n`.
pub(crate) fn write_line(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, LineSafeFormatter))?;
    out.write_all(b"\n")
}

/// Formats JSON without spaces and with the escapes of this module.
struct LineSafeFormatter;

impl Formatter for LineSafeFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return writer.write_all(fragment.as_bytes());
        }
        for part in fragment.split_inclusive(is_escaped) {
            let text = part.trim_end_matches(is_escaped);
            CompactFormatter.write_string_fragment(writer, text)?;
            if let Some(escaped) = part.chars().next_back().filter(|_| text.len() < part.len()) {
                write!(writer, "\\u{:04x}", u32::from(escaped))?;
            }
        }
        Ok(())
    }
}

/// Whether a character is legal in JSON but not safe in a line. JSON itself escapes the C0 controls.
fn is_escaped(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

/// Returns a value as a line of the contract with its line end, and escapes characters that readers take for line ends.
pub fn to_line(value: &Value) -> String {
    let mut bytes = Vec::new();
    match write_line(&mut bytes, value) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        // The keys of a value are strings, so serialization cannot fail.
        Err(_) => format!("{value}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::write_line;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &text).unwrap();
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), format!("\"{expect}\"\n"));
        assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
    }

    #[test]
    fn line_ends_and_terminal_controls_are_escaped() {
        check("plain, né, 😀", "plain, né, 😀");
        check("a\u{7f}\u{7f}b", "a\\u007f\\u007fb");
        check("\u{9b}31m\u{85}", "\\u009b31m\\u0085");
        check("a\u{2028}\u{2029}", "a\\u2028\\u2029");
        check("\u{a0}\u{1b}\n", "\u{a0}\\u001b\\n");
    }
}
