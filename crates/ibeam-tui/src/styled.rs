//! Styled lines: their width in cells, wrapping, and the control sequences of their styles.

use ibeam_protocol::escape_invisible;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::palette::Palette;

/// The number of spaces that a tab becomes.
const TAB: &str = "    ";

/// A colour of a text. [`Palette`] has its form that is legible on the background of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The foreground of the terminal.
    #[default]
    Default,
    /// Failures, removed lines.
    Red,
    /// Success, added lines, strings.
    Green,
    /// Questions, refusals.
    Yellow,
    /// Keywords.
    Blue,
    /// Numbers.
    Magenta,
    /// Code, paths.
    Cyan,
}

impl Color {
    pub(crate) const ALL: [Self; 7] =
        [Self::Default, Self::Red, Self::Green, Self::Yellow, Self::Blue, Self::Magenta, Self::Cyan];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour; without colours, some are bold.
    pub color: Color,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    /// Foreground and background swapped.
    pub reverse: bool,
}

impl Style {
    /// The style without attributes.
    pub const PLAIN: Self = Self {
        color: Color::Default,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        reverse: false,
    };
    pub const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub const DIM: Self = Self { dim: true, ..Self::PLAIN };

    /// Returns the style with a colour only.
    pub const fn color(color: Color) -> Self {
        Self { color, ..Self::PLAIN }
    }

    /// Appends the control sequence that selects the style after a reset.
    fn encode(self, text: &mut String, palette: Palette) {
        let attributes = [
            (self.bold || palette.is_bold(self.color), "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.reverse, "7"),
        ];
        let codes = attributes.iter().filter(|(is_set, _)| *is_set).map(|(_, code)| *code);
        let codes: Vec<&str> = codes.chain(palette.code(self.color)).collect();
        if !codes.is_empty() {
            text.push_str("\u{1b}[");
            text.push_str(&codes.join(";"));
            text.push('m');
        }
    }
}

/// A line of styled text without line ends and control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<(Style, String)>,
}

impl Line {
    /// Returns a line with one text.
    pub fn new(style: Style, text: &str) -> Self {
        Self::default().with(style, text)
    }

    /// Returns a line without attributes.
    pub fn plain(text: &str) -> Self {
        Self::new(Style::PLAIN, text)
    }

    /// Returns the lines of a text in one style.
    pub fn lines(style: Style, text: &str) -> Vec<Self> {
        text.lines().map(|line| Self::new(style, line)).collect()
    }

    /// Returns the line with another text at its end.
    #[must_use]
    pub fn with(mut self, style: Style, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// Appends a text. Invisible characters become visible escapes.
    pub fn push(&mut self, style: Style, text: &str) {
        let text = escape_invisible(text).replace('\t', TAB).replace('\n', " ");
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some((last, before)) if *last == style => before.push_str(&text),
            Some(_) | None => self.spans.push((style, text)),
        }
    }

    /// Appends the texts of another line.
    pub fn append(&mut self, other: &Self) {
        for (style, text) in &other.spans {
            self.push(*style, text);
        }
    }

    /// Returns the line with the attributes of `change` in all its texts.
    #[must_use]
    pub fn map_style(mut self, change: impl Fn(Style) -> Style) -> Self {
        self.spans.iter_mut().for_each(|(style, _)| *style = change(*style));
        self
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Returns the width in cells.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text.width()).sum()
    }

    /// Whether the line has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the line, cut to `width` cells; the end of a cut line is `…`.
    #[must_use]
    pub fn fit(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut fitted = Self::default();
        let mut used = 0;
        for (style, grapheme) in self.graphemes() {
            used += grapheme.width();
            if used >= width {
                fitted.push(style, if width == 0 { "" } else { "…" });
                return fitted;
            }
            fitted.push(style, grapheme);
        }
        fitted
    }

    /// Returns the line as lines of at most `width` cells, broken at spaces and between wide characters. The lines after
    /// the first start with `indent` spaces.
    pub fn wrap(&self, width: usize, indent: usize) -> Vec<Self> {
        let width = width.max(2);
        let indent = if indent + 2 > width { 0 } else { indent };
        let mut lines = Vec::new();
        // The graphemes of the line, and where it may be broken.
        let mut current: Vec<(Style, &str)> = Vec::new();
        let mut used = 0;
        let mut break_at: Option<usize> = None;
        for (style, grapheme) in self.graphemes() {
            let cells = grapheme.width();
            let room = if lines.is_empty() { width } else { width - indent };
            if used + cells > room && grapheme != " " {
                let at = break_at.filter(|at| *at > 0).unwrap_or(current.len());
                let rest = current.split_off(at.min(current.len()));
                lines.push(Self::joined(&current, if lines.is_empty() { 0 } else { indent }));
                current = rest;
                used = current.iter().map(|(_, text)| text.width()).sum();
                break_at = None;
            }
            current.push((style, grapheme));
            used += cells;
            if grapheme == " " || cells > 1 {
                break_at = Some(current.len());
            }
        }
        lines.push(Self::joined(&current, if lines.is_empty() { 0 } else { indent }));
        lines
    }

    /// Returns the number of spaces at the start.
    pub(crate) fn own_indent(&self) -> usize {
        let text = self.text();
        text.len() - text.trim_start_matches(' ').len()
    }

    /// Returns the cells with which the rows of a wrapped line start after the first: up to the second column of a list, or
    /// as far as the line is indented.
    pub(crate) fn hanging_indent(&self, width: usize) -> usize {
        let text = self.text();
        let content = text.trim_start_matches(' ');
        let own = self.own_indent();
        let column = content.find("  ").and_then(|gap| {
            let (first, rest) = content.split_at_checked(gap)?;
            let second = rest.trim_start_matches(' ');
            (!second.is_empty()).then(|| own + Self::plain(first).width() + rest.len() - second.len())
        });
        column.filter(|column| column * 2 <= width).unwrap_or_else(|| own.min(width / 2))
    }

    /// Returns the line with all occurrences of `query`, which is lower case, in swapped colours.
    #[must_use]
    pub(crate) fn with_marked(&self, query: &str) -> Self {
        let graphemes: Vec<(Style, &str)> = self.graphemes().collect();
        let lower: Vec<String> = graphemes.iter().map(|(_, text)| text.to_lowercase()).collect();
        let mut marked = Self::default();
        let mut marked_until = 0;
        for (at, (style, text)) in graphemes.iter().enumerate() {
            if let Some(count) = lower.get(at..).and_then(|rest| count_prefix(rest, query)) {
                marked_until = marked_until.max(at + count);
            }
            marked.push(Style { reverse: style.reverse || at < marked_until, ..*style }, text);
        }
        marked
    }

    /// Returns a line of graphemes without spaces at its end.
    fn joined(graphemes: &[(Style, &str)], indent: usize) -> Self {
        let end = graphemes.iter().rposition(|(_, text)| *text != " ").map_or(0, |last| last + 1);
        let mut line = Self::new(Style::PLAIN, &" ".repeat(indent));
        graphemes.iter().take(end).for_each(|(style, text)| line.push(*style, text));
        line
    }

    fn graphemes(&self) -> impl Iterator<Item = (Style, &str)> {
        self.spans.iter().flat_map(|(style, text)| text.graphemes(true).map(|grapheme| (*style, grapheme)))
    }

    /// Appends the line with its control sequences, which end with a reset.
    pub fn encode(&self, text: &mut String, palette: Palette) {
        for (style, span) in &self.spans {
            let before = text.len();
            style.encode(text, palette);
            let is_styled = text.len() > before;
            text.push_str(span);
            if is_styled {
                text.push_str("\u{1b}[0m");
            }
        }
    }
}

/// Returns the number of texts at the start that `query` consists of; `None` if it is another text.
fn count_prefix(texts: &[String], query: &str) -> Option<usize> {
    let mut rest = query;
    for (count, text) in texts.iter().enumerate() {
        if rest.is_empty() {
            return (count > 0).then_some(count);
        }
        rest = rest.strip_prefix(text.as_str())?;
    }
    (rest.is_empty() && !texts.is_empty()).then_some(texts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expect: &[&str]) {
        let wrapped = Line::plain(text).wrap(width, 2);
        assert_eq!(wrapped.iter().map(Line::text).collect::<Vec<_>>(), expect);
        assert!(wrapped.iter().all(|line| line.width() <= width));
    }

    #[test]
    fn lines_are_broken_at_words_and_between_wide_characters() {
        check("one two three", 8, &["one two", "  three"]);
        check("abcdefghijkl", 5, &["abcde", "  fgh", "  ijk", "  l"]);
        check("日本語のテキスト", 6, &["日本語", "  のテ", "  キス", "  ト"]);
        check("", 5, &[""]);
    }

    #[test]
    fn the_rows_of_a_list_hang_below_their_column() {
        let rows = |text: &str, width| {
            let line = Line::plain(text);
            line.wrap(width, line.hanging_indent(width)).iter().map(Line::text).collect::<Vec<_>>()
        };
        assert_eq!(rows("/a  one two three", 12), ["/a  one two", "    three"]);
        assert_eq!(rows("/very-long  one two", 16), ["/very-long  one", "two"]);
        assert_eq!(rows("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(rows("one two three", 8), ["one two", "three"]);
    }

    #[test]
    fn a_cut_line_ends_with_an_ellipsis() {
        assert_eq!(Line::plain("abcdef").fit(4).text(), "abc…");
        assert_eq!(Line::plain("日本語").fit(5).text(), "日本…");
        assert_eq!(Line::plain("abc").fit(3).text(), "abc");
    }

    #[test]
    fn all_occurrences_are_marked_whatever_their_case() {
        let line = Line::plain("Ab ab 日本 aB").with_marked("ab");
        let marked: Vec<&str> =
            line.spans.iter().filter(|(style, _)| style.reverse).map(|(_, text)| text.as_str()).collect();
        assert_eq!(marked, ["Ab", "ab", "aB"]);
        assert_eq!(Line::plain("日本語").with_marked("本語").spans.len(), 2);
    }

    #[test]
    fn control_characters_of_foreign_text_do_not_reach_the_terminal() {
        let mut encoded = String::new();
        Line::plain("a\u{1b}[2Jb\rc\u{202e}d").encode(&mut encoded, Palette::Dark);
        assert!(!encoded.contains(['\u{1b}', '\r', '\u{202e}']), "{encoded:?}");
    }
}
