//! The end of what a server says on stderr: kept in a ring, told when it fails.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes kept.
const RING: usize = 64 << 10;
/// Characters told in a sentence.
const TOLD: usize = 400;
const CHUNK: usize = 16 << 10;

/// The last 64 kB that a server wrote.
#[derive(Debug, Default)]
pub(crate) struct StderrRing(Mutex<VecDeque<u8>>);

impl StderrRing {
    /// Reads `pipe` to its end, however much comes.
    pub(crate) async fn follow(&self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.take(chunk.get(..count).unwrap_or_default());
        }
    }

    fn take(&self, bytes: &[u8]) {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.get(bytes.len().saturating_sub(RING)..).unwrap_or_default();
        let over = (ring.len() + bytes.len()).saturating_sub(RING);
        ring.drain(..over);
        ring.extend(bytes);
    }

    /// The end of it on one line, without control characters.
    pub(crate) fn last_words(&self) -> LastWords {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = ring.iter().copied().collect();
        drop(ring);
        let text = String::from_utf8_lossy(&bytes).replace(char::is_control, " ");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let left_out = words.chars().count().saturating_sub(TOLD);
        LastWords(match words.char_indices().nth(left_out) {
            Some((start, _)) if left_out > 0 => format!("… {}", words.get(start..).unwrap_or_default()),
            Some(_) | None => words,
        })
    }
}

/// What a server said last; reads on from a sentence, and is nothing where it was silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWords(String);

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; its stderr ends with: {}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &[&str], expect: &str) {
        let ring = StderrRing::default();
        written.iter().for_each(|bytes| ring.take(bytes.as_bytes()));
        assert_eq!(ring.last_words().to_string(), expect);
    }

    #[test]
    fn silence_adds_nothing() {
        check(&[], "");
        check(&["\n\n"], "");
    }

    #[test]
    fn it_is_one_line_without_control_characters() {
        check(
            &["a\u{1b}[31m\r\nTraceback:\n", "  no\u{7}\n"],
            "; its stderr ends with: a [31m Traceback: no",
        );
    }

    #[test]
    fn a_flood_is_kept_in_64_kilobytes_and_told_in_400_characters() {
        let ring = StderrRing::default();
        for _ in 0..100 {
            ring.take(&[b'x'; 5000]);
        }
        ring.take(&[b'y'; 3 * RING]);
        ring.take(b"end");
        assert_eq!(ring.0.lock().unwrap().len(), RING);
        let told = ring.last_words().to_string();
        assert_eq!(told, format!("; its stderr ends with: … {}end", "y".repeat(397)));
    }
}
