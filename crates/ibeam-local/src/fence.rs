//! The end of a fenced text: the first line of three backticks that does not close a fence inside.

const FENCE: &str = "```";

/// Collects text until its fence closes.
#[derive(Default)]
pub(crate) struct FenceReader {
    lines: String,
    line: String,
    inner: bool,
}

impl FenceReader {
    /// Takes the next text and tells whether the fence has closed; what follows the fence is dropped.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        for letter in text.chars() {
            self.line.push(letter);
            if letter == '\n' && self.end_line() {
                return true;
            }
        }
        false
    }

    /// The text inside, with a line break at its end unless it is empty.
    pub(crate) fn finish(mut self) -> String {
        if !self.line.is_empty() {
            self.line.push('\n');
            self.end_line();
        }
        self.lines
    }

    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let mark = line.trim_end();
        if mark == FENCE && !self.inner {
            return true;
        }
        if mark.starts_with(FENCE) {
            self.inner = mark != FENCE;
        }
        self.lines.push_str(&line);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, inside: &str, closed: bool) {
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
            assert_eq!(reader.finish(), inside, "in parts of {size}");
        }
    }

    #[test]
    fn a_bare_fence_closes() {
        check("a\nb\n```\nrest", "a\nb\n", true);
    }

    #[test]
    fn a_fence_inside_is_content() {
        check("# T\n```sh\nls\n```\nend\n```\n", "# T\n```sh\nls\n```\nend\n", true);
    }

    #[test]
    fn an_open_end_is_kept_and_gets_its_line_break() {
        check("a\nb", "a\nb\n", false);
        check("a\n```", "a\n", false);
        check("", "", false);
    }
}
