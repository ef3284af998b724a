//! Joins deltas into paragraphs.
//!
//! A word is written when it is complete, so that its combining characters are escaped together.

use super::markup::Markup;

/// The maximum length of an incomplete word that waits for its end. A longer part is written at once.
const MAX_PENDING_BYTES: usize = 4096;

/// Text that is written as paragraphs.
#[derive(Default)]
pub(super) struct Prose {
    /// The part of a word that is not yet written.
    pending: String,
    /// Whether a paragraph is open.
    is_open: bool,
    /// Line ends since the last text.
    breaks: usize,
}

impl Prose {
    /// Whether there was no text since the last `end`.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_open && self.pending.is_empty()
    }

    /// Adds a delta.
    pub(super) fn push(&mut self, delta: &str, page: &mut Markup) {
        self.pending.push_str(delta);
        let end = match self.pending.rfind([' ', '\n']) {
            Some(at) => at + 1,
            None if self.pending.len() > MAX_PENDING_BYTES => self.pending.len(),
            None => return,
        };
        let rest = self.pending.split_off(end);
        let complete = std::mem::replace(&mut self.pending, rest);
        self.write(&complete, page);
    }

    /// Writes the rest of the text and ends the paragraph.
    pub(super) fn end(&mut self, page: &mut Markup) {
        let rest = std::mem::take(&mut self.pending);
        self.write(&rest, page);
        if std::mem::take(&mut self.is_open) {
            page.raw("</p>\n");
        }
        self.breaks = 0;
    }

    fn write(&mut self, text: &str, page: &mut Markup) {
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end_matches(['\r', '\n']);
            if !bare.is_empty() {
                match (self.is_open, self.breaks) {
                    (false, _) => page.raw("<p>"),
                    (true, 0) => page,
                    (true, 1) => page.raw("\n"),
                    (true, _) => page.raw("</p>\n<p>"),
                };
                (self.is_open, self.breaks) = (true, 0);
                page.text(bare);
            }
            self.breaks += usize::from(line.ends_with('\n'));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(deltas: &[&str], expect: &str) {
        let (mut prose, mut page) = (Prose::default(), Markup::default());
        deltas.iter().for_each(|delta| prose.push(delta, &mut page));
        prose.end(&mut page);
        assert_eq!(page.as_str(), expect);
        assert!(prose.is_empty());
    }

    #[test]
    fn an_empty_line_separates_paragraphs_wherever_the_deltas_end() {
        for deltas in
            [&["one\ntwo\n\nthree"][..], &["one\n", "two\n", "\nth", "ree"], &["o", "ne\ntwo\n\n", "three\n"]]
        {
            check(deltas, "<p>one\ntwo</p>\n<p>three</p>\n");
        }
        check(&["\n\na\n\n\n\nb\r\n\r\nc\n\n"], "<p>a</p>\n<p>b</p>\n<p>c</p>\n");
        check(&["", "\n", " "], "<p> </p>\n");
        check(&[], "");
    }

    #[test]
    fn a_character_of_several_deltas_is_one() {
        check(&["👩", "\u{200d}", "💻 ", "ok", "\r", "\nx"], "<p>👩\u{200d}💻 ok\nx</p>\n");
        check(&["<scr", "ipt>a\u{202e}b"], "<p>&lt;script&gt;a&lt;U+202E&gt;b</p>\n");
    }
}
