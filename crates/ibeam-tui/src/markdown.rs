//! Renders a block of Markdown as styled lines.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

use crate::highlight::code_line;
use crate::markdown_blocks::MarkdownBlocks;
use crate::styled::{Color, Line, Style};

/// The width of a rule in cells.
const RULE_WIDTH: usize = 24;

/// Returns the lines of a complete document, with an empty line between two blocks. See [`render`] for their width.
pub fn document_lines(text: &str, width: usize) -> Vec<Line> {
    let mut parser = MarkdownBlocks::default();
    let mut blocks = parser.push(text);
    blocks.extend(parser.finish());
    let blocks: Vec<Vec<Line>> = blocks.iter().map(|block| render(block, width)).collect();
    blocks.join(&Line::default())
}

/// Returns the lines of `text`, at most `width` cells wide. Lines of code are as long as they are, so that the terminal
/// copies them whole.
pub(crate) fn render(text: &str, width: usize) -> Vec<Line> {
    let mut renderer = Renderer { width, ..Renderer::default() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options).for_each(|event| renderer.on_event(event));
    renderer.end_line();
    renderer.lines
}

#[derive(Default)]
struct Renderer {
    width: usize,
    lines: Vec<Line>,
    current: Line,
    style: Vec<Style>,
    /// The number of the next item of each open list; `None` for a list without numbers.
    lists: Vec<Option<u64>>,
    /// The sign of the item whose first line is not printed yet.
    item: Option<String>,
    quotes: usize,
    /// The language and the text of the open code block.
    code: Option<(String, String)>,
    /// The address of the open link.
    link: Option<(String, String)>,
    table: Vec<Vec<Line>>,
    is_in_table: bool,
}

impl Renderer {
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(self.style(), &text),
            },
            Event::Code(text) => self.text(Style { color: Color::Cyan, ..self.style() }, &text),
            Event::Html(text) | Event::InlineHtml(text) => self.text(self.style(), text.trim_end()),
            Event::SoftBreak => self.current.push(self.style(), " "),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.lines.push(Line::new(Style::DIM, &"─".repeat(RULE_WIDTH.min(self.width))));
            }
            Event::TaskListMarker(is_done) => self.text(Style::PLAIN, if is_done { "☒ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(self.style(), &text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.style.push(Style::BOLD);
            }
            Tag::Emphasis => self.style.push(Style { italic: true, ..self.style() }),
            Tag::Strong => self.style.push(Style { bold: true, ..self.style() }),
            Tag::Strikethrough => self.style.push(Style { dim: true, ..self.style() }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), String::new()));
                self.style.push(Style { underline: true, ..self.style() });
            }
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                let sign = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.item = Some(sign);
            }
            Tag::BlockQuote(_) => {
                self.end_line();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_line();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',']).next().unwrap_or_default().to_lowercase()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(_) => self.is_in_table = true,
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            Tag::Paragraph if !self.lines.is_empty() && self.item.is_none() && self.lists.is_empty() => {
                self.end_line();
                self.lines.push(Line::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.style.pop();
                self.end_line();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.style.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.style.pop();
                if let Some((address, text)) = self.link.take().filter(|(address, text)| address != text) {
                    let text = if text.is_empty() { address } else { format!(" ({address})") };
                    self.current.push(Style::DIM, &text);
                }
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock => self.end_line(),
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                let Some((language, code)) = self.code.take() else { return };
                let indent = " ".repeat(self.indent());
                for line in code.lines() {
                    let mut shown = Line::plain(&indent);
                    shown.append(&code_line(line, &language));
                    self.lines.push(shown);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.current);
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                self.is_in_table = false;
                let rows = std::mem::take(&mut self.table);
                self.lines.extend(table_lines(&rows, self.width));
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.style.last().copied().unwrap_or_default()
    }

    fn text(&mut self, style: Style, text: &str) {
        if let Some((_, shown)) = &mut self.link {
            shown.push_str(text);
        }
        self.current.push(style, text);
    }

    /// Returns the number of cells before the text of the innermost list.
    fn indent(&self) -> usize {
        self.lists.iter().map(|list| if list.is_some() { 3 } else { 2 }).sum()
    }

    /// Prints the current line, wrapped.
    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.current);
        if self.is_in_table || (text.is_empty() && self.item.is_none()) {
            self.current = text;
            return;
        }
        let item = self.item.take();
        let before = self.indent().saturating_sub(item.as_ref().map_or(0, |sign| sign.chars().count()));
        let mut line = Line::new(Style::DIM, &"│ ".repeat(self.quotes));
        line.push(Style::PLAIN, &" ".repeat(before));
        line.push(Style::PLAIN, &item.unwrap_or_default());
        line.append(&text);
        self.lines.extend(line.wrap(self.width, self.quotes * 2 + self.indent()));
    }
}

/// Returns the lines of a table, whose first row is its head. Cells that are too wide for the screen are wrapped. A table
/// in which that would break words becomes a list.
fn table_lines(rows: &[Vec<Line>], width: usize) -> Vec<Line> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize, width_of: fn(&Line) -> usize| {
        rows.iter().filter_map(|row| row.get(column)).map(width_of).max().unwrap_or_default().max(1)
    };
    let mut widths: Vec<usize> = (0..columns).map(|column| widest(column, Line::width)).collect();
    let smallest: Vec<usize> = (0..columns).map(|column| widest(column, longest_word)).collect();
    let room = width.saturating_sub(columns.saturating_sub(1) * 3);
    while widths.iter().sum::<usize>() > room {
        let wrappable = widths.iter_mut().zip(&smallest).filter(|(width, smallest)| **width > **smallest);
        match wrappable.map(|(width, _)| width).max() {
            Some(largest) => *largest -= 1,
            None => return record_lines(rows, width),
        }
    }
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column: usize| row.get(column).cloned().unwrap_or_default();
        let cells: Vec<Vec<Line>> =
            widths.iter().enumerate().map(|(column, width)| cell(column).wrap(*width, 0)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        for at in 0..height {
            let mut line = Line::default();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                line.push(Style::DIM, if column > 0 { " │ " } else { "" });
                let text = cell.get(at).cloned().unwrap_or_default();
                let padding = " ".repeat(width.saturating_sub(text.width()));
                let is_head = number == 0;
                line.append(&text.map_style(|style| Style { bold: style.bold || is_head, ..style }));
                line.push(Style::PLAIN, if column + 1 < columns { &padding } else { "" });
            }
            lines.push(line);
        }
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(Line::new(Style::DIM, &rule.join("─┼─")));
        }
    }
    lines
}

/// Returns the width of the longest part of a line that is not broken. Wide characters may be parted.
fn longest_word(line: &Line) -> usize {
    let is_break = |c: char| c == ' ' || c.width() > Some(1);
    line.text().split(is_break).map(UnicodeWidthStr::width).max().unwrap_or_default().max(2)
}

/// Returns the rows of a table as a list: the first cell of each row, then its other cells with the head of their column.
fn record_lines(rows: &[Vec<Line>], width: usize) -> Vec<Line> {
    let Some((head, rows)) = rows.split_first() else { return Vec::new() };
    let mut lines = Vec::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let name = head.get(column).filter(|name| column > 0 && !name.is_empty());
            let mut line = Line::plain(if column > 0 { "  " } else { "" });
            if let Some(name) = name {
                line.append(&name.clone().map_style(|style| Style { dim: true, ..style }));
                line.push(Style::DIM, ": ");
            }
            line.append(&cell.clone().map_style(|style| Style { bold: style.bold || column == 0, ..style }));
            lines.extend(line.wrap(width, if column > 0 { 4 } else { 0 }));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expect: &[&str]) {
        assert_eq!(render(text, width).iter().map(Line::text).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn blocks_become_lines() {
        check("# Title", 40, &["Title"]);
        check("a **b** `c`\nd", 40, &["a b c d"]);
        check("- one\n- two\n  - three", 40, &["• one", "• two", "  • three"]);
        check("3. one\n4. two", 40, &["3. one", "4. two"]);
        check("> quoted text", 10, &["│ quoted", "  text"]);
        check("```sh\nls  -l\n\necho\n```", 4, &["  ls  -l", "  ", "  echo"]);
        check("[here](https://x.y)", 40, &["here (https://x.y)"]);
        check("- [x] done", 40, &["• ☒ done"]);
    }

    #[test]
    fn tables_are_aligned_and_fit_the_screen() {
        let table = "| a | long name |\n|---|---|\n| 日本 | x |";
        check(table, 40, &["a    │ long name", "─────┼──────────", "日本 │ x"]);
        check(table, 12, &["a    │ long", "     │ name", "─────┼──────", "日本 │ x"]);
    }

    #[test]
    fn a_table_whose_words_would_be_broken_is_a_list() {
        let table = "| key | default | |\n|---|---|---|\n| timeout | 10 seconds | `a` |\n| size | | b |";
        check(table, 12, &["timeout", "  default:", "    10", "    seconds", "  a", "size", "  b"]);
    }

    #[test]
    fn the_blocks_of_a_document_are_parted_by_empty_lines() {
        let lines = document_lines("# Title\nText.\n\n    code\n\n- one\n- two\n", 40);
        let lines: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(lines, ["Title", "", "Text.", "", "  code", "", "• one", "• two"]);
        assert!(document_lines("", 40).is_empty());
    }
}
