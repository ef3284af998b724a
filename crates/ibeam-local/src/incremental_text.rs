//! Readers of text that arrives token by token.

/// Converts bytes to text. Keeps the first bytes of a character until the rest arrives.
#[derive(Default)]
pub(crate) struct Utf8Buffer {
    pending: Vec<u8>,
}

impl Utf8Buffer {
    /// Adds bytes and returns the text that they complete. Invalid bytes become `U+FFFD`.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let complete = match self.pending.utf8_chunks().last() {
            // An invalid end of up to three bytes may be the start of a character.
            Some(chunk) if !chunk.invalid().is_empty() && is_incomplete_char(chunk.invalid()) => {
                self.pending.len() - chunk.invalid().len()
            }
            _ => self.pending.len(),
        };
        let rest = self.pending.split_off(complete);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }
}

/// Whether `bytes` are the start of a character whose rest is missing.
fn is_incomplete_char(bytes: &[u8]) -> bool {
    let needed = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    bytes.len() < needed
}

const FENCE: &str = "```";

/// Collects the content of a code fence.
///
/// The fence ends at the first line of three backticks that does not close an inner fence.
#[derive(Default)]
pub(crate) struct FenceReader {
    lines: String,
    /// The line that is not complete yet.
    line: String,
    is_within_inner_fence: bool,
}

impl FenceReader {
    /// Adds text and returns whether the fence has ended. Text after the fence is dropped.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        for letter in text.chars() {
            self.line.push(letter);
            if letter == '\n' && self.end_line() {
                return true;
            }
        }
        false
    }

    /// Returns the content, with a line break at its end unless it is empty.
    pub(crate) fn finish(mut self) -> String {
        if !self.line.is_empty() {
            self.line.push('\n');
            self.end_line();
        }
        self.lines
    }

    /// Adds the current line to the content, unless the line ends the fence. Returns whether it does.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let trimmed = line.trim_end();
        if trimmed == FENCE && !self.is_within_inner_fence {
            return true;
        }
        if trimmed.starts_with(FENCE) {
            self.is_within_inner_fence = trimmed != FENCE;
        }
        self.lines.push_str(&line);
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_does_not_depend_on_how_its_bytes_are_split(text in "\\PC{0,20}", cut in 1usize..5) {
            let mut buffer = Utf8Buffer::default();
            let joined: String = text.as_bytes().chunks(cut).map(|bytes| buffer.push(bytes)).collect();
            prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn invalid_bytes_do_not_block_later_text() {
        let mut buffer = Utf8Buffer::default();
        assert_eq!(buffer.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(buffer.push(b"\xe3\x81"), "");
        assert_eq!(buffer.push(b"x"), "\u{fffd}x");
    }

    #[track_caller]
    fn check(written: &str, content: &str, closed: bool) {
        for size in 1..=written.len().max(1) {
            let mut reader = FenceReader::default();
            let letters: Vec<char> = written.chars().collect();
            let mut ended = false;
            for part in letters.chunks(size) {
                ended = ended || reader.push(&part.iter().collect::<String>());
                if ended {
                    break;
                }
            }
            assert_eq!(ended, closed, "in parts of {size}");
            assert_eq!(reader.finish(), content, "in parts of {size}");
        }
    }

    #[test]
    fn three_backticks_end_the_fence() {
        check("a\nb\n```\nrest", "a\nb\n", true);
    }

    #[test]
    fn an_inner_fence_is_content() {
        check("# T\n```sh\nls\n```\nend\n```\n", "# T\n```sh\nls\n```\nend\n", true);
    }

    #[test]
    fn an_unterminated_fence_gets_a_final_line_break() {
        check("a\nb", "a\nb\n", false);
        check("a\n```", "a\n", false);
        check("", "", false);
    }
}
