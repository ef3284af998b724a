//! The head or the tail of an output without end.

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// Bytes of one read: the size of a Linux pipe.
const CHUNK: usize = 64 << 10;

/// The head or the tail of a stream, and its length.
pub(super) struct BoundedBuffer {
    kept: Vec<u8>,
    most: usize,
    of_end: bool,
    /// All bytes that came, also those that are not kept.
    pub(super) total: u64,
}

impl BoundedBuffer {
    /// Keeps the first `most` bytes.
    pub(super) fn head(most: usize) -> Self {
        Self { kept: Vec::new(), most, of_end: false, total: 0 }
    }

    /// Keeps the last `most` bytes.
    pub(super) fn tail(most: usize) -> Self {
        Self { kept: Vec::new(), most, of_end: true, total: 0 }
    }

    /// Reads a pipe to its end; an error is an end too.
    pub(super) async fn take(&mut self, mut pipe: Receiver) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.feed(chunk.get(..count).unwrap_or_default());
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let free = self.most.saturating_sub(self.kept.len());
        let taken = if self.of_end { bytes } else { bytes.get(..free).unwrap_or(bytes) };
        self.kept.extend_from_slice(taken);
        // Cut only when twice too long, so that each byte is moved once on average.
        if self.kept.len() > 2 * self.most {
            self.kept.drain(..self.kept.len() - self.most);
        }
    }

    /// What is kept.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        self.kept.drain(..self.kept.len().saturating_sub(self.most));
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_a_tail_are_bounded_and_counted() {
        let (mut head, mut tail) = (BoundedBuffer::head(4), BoundedBuffer::tail(4));
        for piece in [&b"ab"[..], b"cdef", b"", b"ghijklmnopq"] {
            head.feed(piece);
            tail.feed(piece);
        }
        assert_eq!((head.total, tail.total), (17, 17));
        assert_eq!((head.bytes(), tail.bytes()), (b"abcd".to_vec(), b"nopq".to_vec()));
    }
}
