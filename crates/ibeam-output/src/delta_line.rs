//! The line of a delta: of a long answer there are a hundred thousand, which differ in their text and their time alone.
//!
//! Knows no key of the wire: what stands around the text is taken from a line that was written like every other.

use std::io;

use ibeam_protocol::SessionId;
use serde::Serialize;

use crate::wire::{Line, Message, Role, TextBlock, write_line};

/// What stands before the text, and between it and the time.
pub(crate) struct DeltaLine {
    before: Vec<u8>,
    between: Vec<u8>,
}

impl DeltaLine {
    /// That of a session.
    ///
    /// # Errors
    /// None that can be; the serializer's otherwise.
    pub(crate) fn new(session_id: SessionId) -> io::Result<Self> {
        const NO_TEXT: &[u8] = b"\"\"";
        let mut line = Vec::new();
        write_whole(&mut line, "", session_id, 0)?;
        // The only empty text in it.
        let place = line.windows(NO_TEXT.len()).position(|bytes| bytes == NO_TEXT);
        let parts = place.and_then(|at| {
            let between = line.get(at + NO_TEXT.len()..)?.strip_suffix(b"0}\n")?;
            Some(Self { before: line.get(..at)?.to_vec(), between: between.to_vec() })
        });
        parts.ok_or_else(|| io::Error::other("the line of a delta does not end with its time"))
    }

    /// Appends the line to `bytes`.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn write(&self, bytes: &mut Vec<u8>, text: &str, timestamp_ms: u64) -> io::Result<()> {
        bytes.extend_from_slice(&self.before);
        write_value(bytes, text)?;
        bytes.extend_from_slice(&self.between);
        write_value(bytes, &timestamp_ms)?;
        bytes.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// A value as lines hold it, without the end of one.
fn write_value(bytes: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    write_line(bytes, &value)?;
    bytes.pop();
    Ok(())
}

/// The line, written like every other.
fn write_whole(bytes: &mut Vec<u8>, text: &str, session_id: SessionId, timestamp_ms: u64) -> io::Result<()> {
    let message = Message { role: Role::Assistant, content: &[TextBlock { text }] };
    write_line(bytes, &Line::Assistant { message, session_id, timestamp_ms })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_delta_is_written_as_the_line_that_it_is(text in any::<String>(), at in any::<u64>()) {
            let session_id = SessionId::random();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            DeltaLine::new(session_id).unwrap().write(&mut ours, &text, at).unwrap();
            write_whole(&mut theirs, &text, session_id, at).unwrap();
            prop_assert_eq!(String::from_utf8(ours).unwrap(), String::from_utf8(theirs).unwrap());
        }
    }
}
