//! The end of a server's stderr: stored in a bounded buffer, and quoted when the server fails.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use ibeam_process::{BoundedBuffer, PipeReader};

/// Bytes that are stored.
const BUFFER_BYTES: usize = 64 << 10;
/// Characters that a message quotes.
const MAX_QUOTED_CHARS: usize = 400;

/// The last 64 KiB that a server wrote to stderr. Shared by the task that reads and the tasks that report failures.
#[derive(Debug)]
pub(crate) struct StderrBuffer(Mutex<BoundedBuffer>);

impl Default for StderrBuffer {
    fn default() -> Self {
        Self(Mutex::new(BoundedBuffer::new(0, BUFFER_BYTES)))
    }
}

impl StderrBuffer {
    /// Reads stderr to its end, whatever the length.
    pub(crate) async fn read_all(&self, mut reader: PipeReader) {
        while let Some(bytes) = reader.next().await {
            self.feed(bytes);
        }
    }

    fn feed(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).feed(bytes);
    }

    /// Returns the end of stderr on one line, without control characters.
    pub(crate) fn tail(&self) -> StderrTail {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).tail().to_vec();
        let text = String::from_utf8_lossy(&bytes).replace(char::is_control, " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let left_out = text.chars().count().saturating_sub(MAX_QUOTED_CHARS);
        StderrTail(match text.char_indices().nth(left_out) {
            Some((start, _)) if left_out > 0 => format!("… {}", text.get(start..).unwrap_or_default()),
            Some(_) | None => text,
        })
    }
}

/// The end of a server's stderr. Displayed as the continuation of a sentence, or as nothing if stderr was empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StderrTail(String);

impl fmt::Display for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; its stderr ends with: {}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expect: &str) {
        let buffer = StderrBuffer::default();
        chunks.iter().for_each(|chunk| buffer.feed(chunk.as_bytes()));
        assert_eq!(buffer.tail().to_string(), expect);
    }

    #[test]
    fn an_empty_stderr_adds_nothing() {
        check(&[], "");
        check(&["\n\n"], "");
    }

    #[test]
    fn the_tail_is_one_line_without_control_characters() {
        check(
            &["a\u{1b}[31m\r\nTraceback:\n", "  no\u{7}\n"],
            "; its stderr ends with: a [31m Traceback: no",
        );
    }

    #[test]
    fn f175_the_buffer_has_64_kib_and_a_message_quotes_400_characters() {
        let buffer = StderrBuffer::default();
        for _ in 0..100 {
            buffer.feed(&[b'x'; 5000]);
        }
        buffer.feed(&[b'y'; 3 * BUFFER_BYTES]);
        buffer.feed(b"end");
        assert_eq!(buffer.0.lock().unwrap().tail().len(), BUFFER_BYTES);
        let message = buffer.tail().to_string();
        assert_eq!(message, format!("; its stderr ends with: … {}end", "y".repeat(397)));
    }
}
