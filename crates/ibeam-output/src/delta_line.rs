//! Writes the lines of deltas. A long answer has a hundred thousand deltas, which differ only in text and time.
//!
//! The parts around text and time are cut once from a line that serde wrote, so this module contains no keys.

use std::io;

use ibeam_wire::{DeltaEvent, Message, TextBlock};
use serde::Serialize;

use crate::json_line::write_line;

/// The constant parts of a delta's line: before the text, and between text and time.
pub(crate) struct DeltaLine {
    before: Vec<u8>,
    between: Vec<u8>,
}

impl DeltaLine {
    /// Returns the parts for the deltas of a session.
    ///
    /// # Errors
    /// The serializer failed, which does not happen for text and numbers.
    pub(crate) fn new(session_id: &str) -> io::Result<Self> {
        const NO_TEXT: &[u8] = b"\"\"";
        let mut line = Vec::new();
        write_complete_line(&mut line, "", session_id, 0)?;
        // The text of the delta is the only empty string in the line.
        let position = line.windows(NO_TEXT.len()).position(|bytes| bytes == NO_TEXT);
        let parts = position.and_then(|at| {
            let between = line.get(at + NO_TEXT.len()..)?.strip_suffix(b"0}\n")?;
            Some(Self { before: line.get(..at)?.to_vec(), between: between.to_vec() })
        });
        parts.ok_or_else(|| io::Error::other("the line of a delta does not end with its time"))
    }

    /// Appends the line to `bytes`.
    ///
    /// # Errors
    /// The serializer failed, as for [`Self::new`].
    pub(crate) fn write(&self, bytes: &mut Vec<u8>, text: &str, timestamp_ms: u64) -> io::Result<()> {
        bytes.extend_from_slice(&self.before);
        write_value(bytes, text)?;
        bytes.extend_from_slice(&self.between);
        write_value(bytes, &timestamp_ms)?;
        bytes.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// Appends a value without a line end.
fn write_value(bytes: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    write_line(bytes, &value)?;
    bytes.pop();
    Ok(())
}

/// Writes the line with the serializer of all other lines.
fn write_complete_line(
    bytes: &mut Vec<u8>,
    text: &str,
    session_id: &str,
    timestamp_ms: u64,
) -> io::Result<()> {
    write_line(bytes, &DeltaEvent { message: assistant_message(text), session_id, timestamp_ms })
}

/// Returns the message of an `assistant` event.
pub(crate) fn assistant_message(text: &str) -> Message<&str> {
    Message { role: "assistant", content: vec![TextBlock { kind: "text", text }] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_delta_line_equals_the_serialized_event(text in any::<String>(), at in any::<u64>()) {
            let session_id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
            let (mut from_template, mut complete) = (Vec::new(), Vec::new());
            DeltaLine::new(session_id).unwrap().write(&mut from_template, &text, at).unwrap();
            write_complete_line(&mut complete, &text, session_id, at).unwrap();
            prop_assert_eq!(String::from_utf8(from_template).unwrap(), String::from_utf8(complete).unwrap());
        }
    }
}
