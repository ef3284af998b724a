//! The editor of a prompt: several lines, a cursor between graphemes, and its layout in cells.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// The byte position of the cursor, at a boundary of graphemes.
    cursor: usize,
}

/// The rows of a text, and the position of its cursor.
pub(crate) struct EditorLayout {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor_row: usize,
    pub(crate) cursor_column: usize,
}

impl Editor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text, with the cursor at its end.
    pub(crate) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// Returns the text, and empties the editor.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
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
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
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

    pub(crate) fn backspace(&mut self) {
        let last = self.before().graphemes(true).next_back().map_or(0, str::len);
        self.remove_before(last);
    }

    pub(crate) fn delete(&mut self) {
        let next = self.after().graphemes(true).next().map_or(0, str::len);
        self.text.replace_range(self.cursor..self.cursor + next, "");
    }

    /// Removes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        let start = self.word_start();
        self.remove_before(self.cursor - start);
    }

    /// Removes the line before the cursor, or the line end before it.
    pub(crate) fn delete_to_line_start(&mut self) {
        let start = self.line_start();
        self.remove_before(if start == self.cursor { usize::from(start > 0) } else { self.cursor - start });
    }

    /// Removes the line after the cursor, or the line end after it.
    pub(crate) fn delete_to_line_end(&mut self) {
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
    fn pasted_text_stays_one_text_without_control_characters() {
        assert_eq!(editor("a\r\nb\u{1b}[2J\rc").text(), "a\nb[2J\nc");
    }
}
