//! A range of lines of a text that is streamed, with the totals of the whole text.

/// The lines from `first` on, of a text that is fed in pieces of any size.
#[derive(Debug)]
pub(super) struct LineWindow {
    /// The collected lines, with their line ends.
    pub(super) content: String,
    /// Number of the first collected line, from 1.
    pub(super) first: u64,
    /// Characters that were fed.
    pub(super) chars: u64,
    /// Whether text follows the collected lines.
    pub(super) has_more: bool,
    /// Whether the limit of bytes, not of lines, was reached.
    pub(super) is_cut_by_bytes: bool,
    /// The last collected line is incomplete.
    pub(super) is_cut_in_line: bool,
    /// The complete file was fed.
    pub(super) is_complete: bool,
    end: u64,
    limit_bytes: usize,
    newlines: u64,
    is_line_open: bool,
}

impl LineWindow {
    /// Returns a window of at most `count` lines from line `first`, with at most `limit_bytes` of text.
    pub(super) fn new(first: u64, count: u64, limit_bytes: usize) -> Self {
        Self {
            content: String::new(),
            first,
            chars: 0,
            has_more: false,
            is_cut_by_bytes: false,
            is_cut_in_line: false,
            is_complete: false,
            end: first.saturating_add(count.max(1)),
            limit_bytes,
            newlines: 0,
            is_line_open: false,
        }
    }

    /// Adds the next piece of the text.
    pub(super) fn feed(&mut self, text: &str) {
        self.chars += text.chars().count() as u64;
        let mut rest = text;
        while !rest.is_empty() {
            if self.has_more {
                self.count(rest);
                return;
            }
            let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            let (piece, after) = rest.split_at(length);
            self.take_piece(piece);
            self.count(piece);
            rest = after;
        }
    }

    /// Returns the number of lines as `str::lines` counts them.
    pub(super) fn total_lines(&self) -> u64 {
        self.newlines + u64::from(self.is_line_open)
    }

    /// Whether no text was fed.
    pub(super) fn is_empty(&self) -> bool {
        self.chars == 0
    }

    /// Returns the number of the last collected line.
    pub(super) fn last_line(&self) -> u64 {
        self.first + (self.content.lines().count() as u64).saturating_sub(1)
    }

    fn take_piece(&mut self, piece: &str) {
        let line = self.newlines + 1;
        if line < self.first {
            return;
        }
        if line >= self.end {
            self.has_more = true;
            return;
        }
        let room = self.limit_bytes - self.content.len();
        if piece.len() <= room {
            self.content.push_str(piece);
            return;
        }
        self.has_more = true;
        self.is_cut_by_bytes = true;
        if self.content.is_empty() || self.is_line_open {
            // A single line that exceeds the limit: only its head is returned.
            self.content.push_str(piece.get(..piece.floor_char_boundary(room)).unwrap_or_default());
            self.is_cut_in_line = true;
        }
    }

    fn count(&mut self, text: &str) {
        self.newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        self.is_line_open = !text.ends_with('\n');
    }
}
