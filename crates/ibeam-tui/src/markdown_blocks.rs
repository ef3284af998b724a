//! Splits Markdown into blocks while it arrives, so that each block is printed once and complete.

/// The text of an answer whose blocks arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct MarkdownBlocks {
    pending: String,
    /// The number of bytes of `pending` that were searched for the end of a block.
    searched: usize,
    /// The fence of the open code block.
    fence: Option<String>,
}

impl MarkdownBlocks {
    /// Adds text, and returns the blocks that it completes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        self.pending.push_str(text);
        let mut blocks = Vec::new();
        while let Some(length) = self.pending.get(self.searched..).and_then(|rest| rest.find('\n')) {
            let end = self.searched + length + 1;
            let line = self.pending.get(self.searched..end).unwrap_or_default().trim();
            let is_end = match &self.fence {
                Some(fence) => {
                    let is_closed =
                        line.starts_with(fence.as_str()) && line.chars().all(|c| fence.starts_with(c));
                    if is_closed {
                        self.fence = None;
                    }
                    is_closed
                }
                None => {
                    self.fence = opened_fence(line);
                    line.is_empty()
                }
            };
            self.searched = end;
            if is_end {
                let rest = self.pending.split_off(end);
                let block = std::mem::replace(&mut self.pending, rest);
                self.searched = 0;
                blocks.extend((!block.trim().is_empty()).then_some(block));
            }
        }
        blocks
    }

    /// Returns the text of the incomplete block.
    pub(crate) fn pending(&self) -> &str {
        &self.pending
    }

    /// Returns the incomplete block as if it were complete.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let block = std::mem::take(self).pending;
        (!block.trim().is_empty()).then_some(block)
    }
}

/// Returns the fence of a line that opens a code block.
fn opened_fence(line: &str) -> Option<String> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == sign).count();
    let info = line.get(count..).unwrap_or_default();
    (count >= 3 && !info.contains('`')).then(|| sign.to_string().repeat(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_at_blank_lines_and_closing_fences_however_the_text_arrives() {
        let text = "one\ntwo\n\n```rust\na\n\nb\n```\n| t |\n|---|\n\nlast";
        let expect = ["one\ntwo\n\n", "```rust\na\n\nb\n```\n", "| t |\n|---|\n\n", "last"];
        for size in 1..=text.len() {
            let mut blocks = MarkdownBlocks::default();
            let pieces: Vec<&str> =
                text.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap()).collect();
            let mut found: Vec<String> = pieces.iter().flat_map(|piece| blocks.push(piece)).collect();
            found.extend(blocks.finish());
            assert_eq!(found, expect, "{size}");
            assert_eq!(blocks.pending(), "");
        }
    }
}
