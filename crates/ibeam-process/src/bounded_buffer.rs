//! The head and the tail of a stream of any length, with the exact number of bytes between them.

use ibeam_protocol::elision::join_with_gap;

/// Stores the head and the tail of a stream, each up to its own limit.
#[derive(Debug)]
pub struct BoundedBuffer {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    /// The last bytes, at most twice `tail_limit`: shortening the vector only at that length moves each byte once on
    /// average.
    tail: Vec<u8>,
    total: u64,
}

impl BoundedBuffer {
    /// Returns an empty buffer for the first `head_limit` and the last `tail_limit` bytes.
    pub fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self { head_limit, tail_limit, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// Adds the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let last = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        self.tail.extend_from_slice(last);
        if self.tail.len() > 2 * self.tail_limit {
            self.tail.drain(..self.tail.len() - self.tail_limit);
        }
    }

    /// Returns the length of the stream so far, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Returns the last bytes after the head, at most `tail_limit`.
    pub fn tail(&self) -> &[u8] {
        self.tail.get(self.tail.len().saturating_sub(self.tail_limit)..).unwrap_or_default()
    }

    /// Returns the first bytes, at most `head_limit`.
    pub fn into_head(self) -> Vec<u8> {
        self.head
    }

    /// Returns the text: invalid bytes as U+FFFD, the gap as `… N bytes left out …`, cut between characters.
    pub fn text(&self) -> String {
        if self.total <= (self.head_limit + self.tail_limit) as u64 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &self.tail].concat()).into_owned();
        }
        let head = self.head.get(..self.head.len() - incomplete_char_length(&self.head)).unwrap_or_default();
        let tail = self.tail();
        let continued = tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let tail = tail.get(continued..).unwrap_or_default();
        let left_out = self.total - (head.len() + tail.len()) as u64;
        join_with_gap(&String::from_utf8_lossy(head), left_out, &String::from_utf8_lossy(tail))
    }
}

/// Returns the number of bytes at the end that begin a UTF-8 character whose rest is missing.
pub fn incomplete_char_length(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if length > back + 1 { back + 1 } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{BoundedBuffer, incomplete_char_length};

    #[track_caller]
    fn check(stream: &[u8], expect_length: usize, expect: &str) {
        for chunk in [1, 7, 4096, 1 << 20] {
            let mut buffer = BoundedBuffer::new(20 << 10, 10 << 10);
            stream.chunks(chunk).for_each(|bytes| buffer.feed(bytes));
            let text = buffer.text();
            assert_eq!(text.len(), expect_length, "in chunks of {chunk}");
            assert!(text.contains(expect), "in chunks of {chunk}");
            assert!(buffer.head.capacity() + buffer.tail.capacity() < 200 << 10);
        }
    }

    #[test]
    fn a_short_stream_is_complete() {
        check("né\n".as_bytes(), 4, "né\n");
    }

    #[test]
    fn a_stream_of_exactly_the_limit_is_complete() {
        check(&[b'a'; 30 << 10], 30 << 10, "aaa");
    }

    #[test]
    fn a_long_stream_loses_its_middle_and_states_how_much() {
        check(
            &[b'a'; 1_000_000],
            (30 << 10) + "\n… 969280 bytes left out …\n".len(),
            "… 969280 bytes left out …",
        );
    }

    #[test]
    fn no_character_is_cut_at_the_gap() {
        let stream = "€".repeat(20_000);
        let mut buffer = BoundedBuffer::new(20 << 10, 10 << 10);
        buffer.feed(stream.as_bytes());
        assert!(!buffer.text().contains('\u{FFFD}'));
    }

    #[test]
    fn head_and_tail_are_bounded_and_counted() {
        let mut buffers = [BoundedBuffer::new(4, 0), BoundedBuffer::new(0, 4), BoundedBuffer::new(4, 4)];
        for buffer in &mut buffers {
            for bytes in [&b"ab"[..], b"cdef", b"", b"ghijklmnopq"] {
                buffer.feed(bytes);
            }
        }
        let parts = buffers.map(|buffer| (buffer.total_bytes(), buffer.tail().to_vec(), buffer.into_head()));
        let (head, tail) = (b"abcd".to_vec(), b"nopq".to_vec());
        assert_eq!(parts, [(17, vec![], head.clone()), (17, tail.clone(), vec![]), (17, tail, head)]);
    }

    #[test]
    fn an_incomplete_character_at_the_end_is_detected() {
        for (bytes, expect) in [
            (b"a".as_slice(), 0),
            (b"a\xe2", 1),
            (b"a\xe2\x80", 2),
            (b"a\xe2\x80\x94", 0),
            (b"\xf0\x9f\x98", 3),
            (b"\x80\x80\x80\x80", 0),
            (b"\xff", 0),
            (b"", 0),
        ] {
            assert_eq!(incomplete_char_length(bytes), expect, "{bytes:x?}");
        }
    }
}
