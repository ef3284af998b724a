//! Splits Markdown into blocks while it arrives, so that each block is printed once and complete.

/// The text of an answer whose blocks arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct MarkdownBlocks {
    pending: String,
    /// The number of bytes of `pending` that were searched for the end of a block.
    searched: usize,
    /// The fence of the open code block.
    fence: Option<String>,
    /// The number of bytes of a list up to a blank line after which it may continue.
    list_end: Option<usize>,
}

impl MarkdownBlocks {
    /// Adds text, and returns the blocks that it completes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        self.pending.push_str(text);
        let mut blocks = Vec::new();
        while let Some(length) = self.pending.get(self.searched..).and_then(|rest| rest.find('\n')) {
            let end = self.searched + length + 1;
            let raw = self.pending.get(self.searched..end).unwrap_or_default();
            let line = raw.trim();
            if let Some(list_end) = self.list_end
                && !line.is_empty()
            {
                self.list_end = None;
                if !continues_list(raw) {
                    blocks.push(self.take_block(list_end));
                    continue;
                }
            }
            let is_list = starts_list(&self.pending);
            let is_end = match &self.fence {
                Some(fence) => {
                    let is_closed =
                        line.starts_with(fence.as_str()) && line.chars().all(|c| fence.starts_with(c));
                    if is_closed {
                        self.fence = None;
                    }
                    is_closed && !is_list
                }
                None => {
                    self.fence = opened_fence(line);
                    if line.is_empty() && is_list {
                        // The next line decides: an item may have several paragraphs.
                        self.list_end.get_or_insert(end);
                    }
                    line.is_empty() && !is_list
                }
            };
            self.searched = end;
            if is_end {
                let block = self.take_block(end);
                blocks.extend((!block.trim().is_empty()).then_some(block));
            }
        }
        blocks
    }

    /// Removes the first bytes. The rest is searched from its beginning.
    fn take_block(&mut self, end: usize) -> String {
        let rest = self.pending.split_off(end);
        self.searched = 0;
        std::mem::replace(&mut self.pending, rest)
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

/// Whether a text begins with an item of a list.
fn starts_list(text: &str) -> bool {
    let line = text.trim_start_matches(['\n', '\r']).trim_start_matches(' ');
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && after_number.starts_with([')', '.']);
    let marker = if is_numbered { after_number.get(1..) } else { line.strip_prefix(['-', '*', '+']) };
    marker.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Whether a line after a blank one belongs to the list before: it is indented, or another item.
fn continues_list(line: &str) -> bool {
    line.starts_with("  ") || line.starts_with('\t') || starts_list(line)
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

    #[track_caller]
    fn check_blocks(text: &str, expect: &[&str]) {
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

    #[test]
    fn blocks_end_at_blank_lines_and_closing_fences_however_the_text_arrives() {
        check_blocks(
            "one\ntwo\n\n```rust\na\n\nb\n```\n| t |\n|---|\n\nlast",
            &["one\ntwo\n\n", "```rust\na\n\nb\n```\n", "| t |\n|---|\n\n", "last"],
        );
    }

    #[test]
    fn a_list_is_one_block_with_the_paragraphs_of_its_items() {
        let list = "1. one\n\n   More.\n\n   ```sh\n   ls\n   ```\n2. two\n\n";
        check_blocks(&format!("{list}The end.\n"), &[list, "The end.\n"]);
        check_blocks("- a\n\n- b\n", &["- a\n\n- b\n"]);
        check_blocks("- a\n\n# Title\n\nx", &["- a\n\n", "# Title\n\n", "x"]);
        // A number or a dash alone is not a list.
        check_blocks("3.5 is a number\n\n  x\n", &["3.5 is a number\n\n", "  x\n"]);
        check_blocks("---\n\n- a\n", &["---\n\n", "- a\n"]);
    }
}
