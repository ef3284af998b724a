//! The editor of a prompt: several lines, a cursor between graphemes, and its layout in cells.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// The byte position of the cursor, at a boundary of graphemes.
    cursor: usize,
    /// Long pasted texts, which `text` has as labels.
    pastes: Vec<Paste>,
}

/// A pasted text, and the label for it in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Paste {
    label: String,
    text: String,
}

/// The rows of a text, and the position of its cursor.
pub(crate) struct EditorLayout {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor_row: usize,
    pub(crate) cursor_column: usize,
}

/// Returns a text without control characters but tabs and line ends, which become `\n`.
fn plain_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

impl Editor {
    /// Returns the text as it is shown: a long pasted text is a label.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text with everything that was pasted.
    pub(crate) fn full_text(&self) -> String {
        let (mut full, mut rest) = (String::new(), self.text.as_str());
        while let Some((at, paste)) = self.first_label(rest) {
            let (before, after) = rest.split_at(at);
            full.push_str(before);
            full.push_str(&paste.text);
            rest = after.strip_prefix(paste.label.as_str()).unwrap_or_default();
        }
        full + rest
    }

    /// Returns the first label in `text`, and its position.
    fn first_label(&self, text: &str) -> Option<(usize, &Paste)> {
        let found = self.pastes.iter().filter_map(|paste| Some((text.find(&paste.label)?, paste)));
        found.min_by_key(|(at, _)| *at)
    }

    /// Replaces the labels by their texts if the cursor is within one, so that an edit there loses nothing.
    fn show_edited_paste(&mut self) {
        let ends = self.pastes.iter().filter_map(|paste| {
            let start = self.text.find(&paste.label)?;
            let end = start + paste.label.len();
            (start < self.cursor && self.cursor < end).then_some(end)
        });
        if let Some(end) = ends.min() {
            let rest = self.text.split_off(end);
            let shown = self.full_text();
            self.cursor = shown.len();
            self.text = rest;
            self.text = shown + &self.full_text();
            self.pastes.clear();
        }
    }

    /// Returns the length of the label that ends at the cursor, and that of spaces after it.
    fn label_before(&self) -> Option<usize> {
        let text = self.before().trim_end_matches(' ');
        let found = self.pastes.iter().find(|paste| text.ends_with(&paste.label));
        found.map(|paste| paste.label.len() + self.before().len() - text.len())
    }

    /// Inserts a pasted text as a label, `[name]`, or `[name 2]` if the text has that one already.
    pub(crate) fn insert_paste(&mut self, name: &str, text: &str) {
        let labels =
            std::iter::once(format!("[{name}]")).chain((2..).map(|number| format!("[{name} {number}]")));
        let Some(label) = labels.into_iter().find(|label| !self.text.contains(label.as_str())) else {
            return;
        };
        self.pastes.retain(|paste| paste.label != label);
        self.insert(&label);
        self.pastes.push(Paste { label, text: plain_text(text) });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text, with the cursor at its end.
    pub(crate) fn set(&mut self, text: &str) {
        self.pastes.clear();
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// Returns the text with everything that was pasted, and empties the editor.
    pub(crate) fn take(&mut self) -> String {
        let full = self.full_text();
        *self = Self::default();
        full
    }

    /// Returns the text before the cursor.
    pub(crate) fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// Inserts text at the cursor. Line ends become `\n`; other control characters but tabs are left out.
    pub(crate) fn insert(&mut self, text: &str) {
        self.show_edited_paste();
        let text = plain_text(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Replaces the text from the byte `start` to the cursor.
    pub(crate) fn replace_from(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, text);
            self.cursor = start + text.len();
        }
    }

    /// Removes a `\` before the cursor. Returns whether there was one.
    pub(crate) fn remove_backslash(&mut self) -> bool {
        let has_one = self.before().ends_with('\\');
        if has_one {
            self.remove_before(1);
        }
        has_one
    }

    /// Removes the grapheme before the cursor, or the whole label of a pasted text.
    pub(crate) fn backspace(&mut self) {
        self.show_edited_paste();
        let label = self.label_before().filter(|_| !self.before().ends_with(' '));
        let last = || self.before().graphemes(true).next_back().map_or(0, str::len);
        self.remove_before(label.unwrap_or_else(last));
    }

    pub(crate) fn delete(&mut self) {
        self.show_edited_paste();
        let label = self.pastes.iter().find(|paste| self.after().starts_with(&paste.label));
        if let Some(length) = label.map(|paste| paste.label.len()) {
            self.text.replace_range(self.cursor..self.cursor + length, "");
            return;
        }
        let next = self.after().graphemes(true).next().map_or(0, str::len);
        self.text.replace_range(self.cursor..self.cursor + next, "");
    }

    /// Removes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        self.show_edited_paste();
        self.remove_before(self.label_before().unwrap_or(self.cursor - self.word_start()));
    }

    /// Removes the line before the cursor, or the line end before it.
    pub(crate) fn delete_to_line_start(&mut self) {
        self.show_edited_paste();
        let start = self.line_start();
        self.remove_before(if start == self.cursor { usize::from(start > 0) } else { self.cursor - start });
    }

    /// Removes the line after the cursor, or the line end after it.
    pub(crate) fn delete_to_line_end(&mut self) {
        self.show_edited_paste();
        let end = self.line_end();
        let end = if end == self.cursor { (end + 1).min(self.text.len()) } else { end };
        self.text.replace_range(self.cursor..end, "");
    }

    pub(crate) fn left(&mut self) {
        self.cursor -= self.before().graphemes(true).next_back().map_or(0, str::len);
    }

    pub(crate) fn right(&mut self) {
        self.cursor += self.after().graphemes(true).next().map_or(0, str::len);
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(crate) fn word_right(&mut self) {
        let words = self.after().split_word_bound_indices();
        let end = words.filter(|(_, word)| !word.trim().is_empty()).map(|(at, word)| at + word.len()).next();
        self.cursor = end.map_or(self.text.len(), |end| self.cursor + end);
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// Moves to the line above. Returns false on the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text.get(start..self.cursor).unwrap_or_default().width();
        self.cursor = start - 1;
        let above = self.line_start();
        self.move_to_column(above, column);
        true
    }

    /// Moves to the line below. Returns false on the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.line_end();
        if end >= self.text.len() {
            return false;
        }
        let column = self.text.get(self.line_start()..self.cursor).unwrap_or_default().width();
        self.move_to_column(end + 1, column);
        true
    }

    fn move_to_column(&mut self, line_start: usize, column: usize) {
        let line = self.text.get(line_start..).unwrap_or_default().split('\n').next().unwrap_or_default();
        let (mut at, mut used) = (0, 0);
        for grapheme in line.graphemes(true) {
            if used >= column {
                break;
            }
            used += grapheme.width();
            at += grapheme.len();
        }
        self.cursor = line_start + at;
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let words = self.before().split_word_bound_indices();
        words.rev().find(|(_, word)| !word.trim().is_empty()).map_or(0, |(at, _)| at)
    }

    fn remove_before(&mut self, bytes: usize) {
        let start = self.cursor.saturating_sub(bytes);
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    /// Returns the text in rows of at most `width` cells.
    pub(crate) fn layout(&self, width: usize) -> EditorLayout {
        let width = width.max(2);
        let mut layout = EditorLayout { rows: vec![String::new()], cursor_row: 0, cursor_column: 0 };
        let mut used = 0;
        let mut at = 0;
        for grapheme in self.text.graphemes(true) {
            let cells = if grapheme == "\t" { 4 } else { grapheme.width() };
            if grapheme != "\n" && used + cells > width {
                layout.rows.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                (layout.cursor_row, layout.cursor_column) = (layout.rows.len() - 1, used);
            }
            at += grapheme.len();
            if grapheme == "\n" {
                layout.rows.push(String::new());
                used = 0;
            } else if let Some(row) = layout.rows.last_mut() {
                row.push_str(if grapheme == "\t" { "    " } else { grapheme });
                used += cells;
            }
        }
        if at == self.cursor {
            (layout.cursor_row, layout.cursor_column) = (layout.rows.len() - 1, used);
        }
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(text: &str) -> Editor {
        let mut editor = Editor::default();
        editor.insert(text);
        editor
    }

    #[test]
    fn graphemes_are_removed_whole() {
        let mut family = editor("a👨‍👩‍👧é");
        family.backspace();
        assert_eq!(family.text(), "a👨‍👩‍👧");
        family.backspace();
        assert_eq!(family.text(), "a");
    }

    #[test]
    fn the_cursor_moves_between_lines_at_the_same_column() {
        let mut text = editor("long line\nab\nlast one");
        assert!(text.up() && text.before() == "long line\nab");
        assert!(text.up() && text.before() == "lo" && !text.up());
        assert!(text.down() && text.before() == "long line\nab");
        text.home();
        text.delete_to_line_end();
        assert_eq!(text.text(), "long line\n\nlast one");
    }

    #[test]
    fn words_and_lines_are_removed() {
        let mut text = editor("one two  ");
        text.delete_word();
        assert_eq!(text.text(), "one ");
        text.delete_to_line_start();
        assert!(text.is_empty());
    }

    #[test]
    fn wide_characters_take_two_cells() {
        let layout = editor("日本語\nx").layout(4);
        assert_eq!(layout.rows, ["日本", "語", "x"]);
        assert_eq!((layout.cursor_row, layout.cursor_column), (2, 1));
    }

    #[test]
    fn a_long_pasted_text_is_a_label_until_it_is_sent() {
        let mut text = editor("see ");
        text.insert_paste("pasted 3 lines", "a\r\nb\nc");
        text.insert(" and ");
        text.insert_paste("pasted 3 lines", "[pasted 3 lines]\nx\ny");
        assert_eq!(text.text(), "see [pasted 3 lines] and [pasted 3 lines 2]");
        assert_eq!(text.full_text(), "see a\nb\nc and [pasted 3 lines]\nx\ny");
        text.backspace();
        assert_eq!(text.text(), "see [pasted 3 lines] and ");
        assert_eq!((text.take().as_str(), text.take().as_str()), ("see a\nb\nc and ", ""));
    }

    #[test]
    fn no_edit_loses_a_part_of_a_pasted_text() {
        let pasted = || {
            let mut text = editor("see ");
            text.insert_paste("pasted 2 lines", "a\nb");
            text.insert(" end");
            text
        };
        let mut within = pasted();
        (0..6).for_each(|_| within.left());
        within.insert("c");
        assert_eq!(within.text(), "see a\nbc end");
        let mut word = pasted();
        (0..3).for_each(|_| word.left());
        word.delete_word();
        assert_eq!(word.text(), "see end");
        let mut at_start = pasted();
        (0..20).for_each(|_| at_start.left());
        assert_eq!(at_start.before(), "see ");
        at_start.delete();
        assert_eq!(at_start.text(), "see  end");
    }

    #[test]
    fn pasted_text_stays_one_text_without_control_characters() {
        assert_eq!(editor("a\r\nb\u{1b}[2J\rc").text(), "a\nb[2J\nc");
    }
}
