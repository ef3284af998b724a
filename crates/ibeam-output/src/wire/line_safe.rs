//! JSON that stays on one line for every reader.
//!
//! U+0085, U+2028 and U+2029 are legal inside a JSON string, but Node's `readline` and Python's `splitlines`
//! end a line there. They are escaped; the value is the same.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Appends `value` and `\n` to `bytes`.
pub(crate) fn write_line(bytes: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *bytes, LineSafe))?;
    bytes.push(b'\n');
    Ok(())
}

struct LineSafe;

impl Formatter for LineSafe {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        for part in fragment.split_inclusive(['\u{85}', '\u{2028}', '\u{2029}']) {
            let text = part.trim_end_matches(['\u{85}', '\u{2028}', '\u{2029}']);
            CompactFormatter.write_string_fragment(writer, text)?;
            if let Some(separator) = part.chars().next_back().filter(|_| text.len() < part.len()) {
                write!(writer, "\\u{:04x}", u32::from(separator))?;
            }
        }
        Ok(())
    }
}
