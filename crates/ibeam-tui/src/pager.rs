//! The view of a long text: scrolling, and a search.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;

use crate::styled::{Color, Line, Style};
use crate::view::{Frame, Size, ViewEnd, is_control};
use ibeam_output::TuiLine;

/// The position of the first row when a view is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagerStart {
    /// The first line.
    Top,
    /// The last page.
    Bottom,
}

/// The state of a view of a text.
pub(crate) struct Pager {
    title: String,
    lines: Vec<Line>,
    /// The lines as rows of the screen, each with the position of its line.
    rows: Vec<(usize, Line)>,
    /// The width for which `rows` was made.
    width: usize,
    /// The first row on the screen. `usize::MAX` is the last page.
    top: usize,
    /// The number of rows of text on the screen.
    page: usize,
    /// The text that is typed for a search.
    input: Option<String>,
    /// The text that was searched for last, in lower case.
    query: String,
    /// The rows with the query.
    matches: Vec<usize>,
}

impl Pager {
    pub(crate) fn new(title: String, lines: Vec<Line>, start: PagerStart) -> Self {
        let top = match start {
            PagerStart::Top => 0,
            PagerStart::Bottom => usize::MAX,
        };
        Self {
            title,
            lines,
            rows: Vec::new(),
            width: 0,
            top,
            page: 1,
            input: None,
            query: String::new(),
            matches: Vec::new(),
        }
    }

    /// Whether the text of a search is typed.
    pub(crate) fn is_searching(&self) -> bool {
        self.input.is_some()
    }

    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: KeyEvent) -> ViewEnd {
        if is_control(key, 'c') {
            return ViewEnd::Closes;
        }
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        if let Some(input) = &mut self.input {
            match key.code {
                KeyCode::Esc => self.input = None,
                KeyCode::Enter => {
                    let input = self.input.take().unwrap_or_default();
                    self.search(&input);
                }
                KeyCode::Backspace if input.is_empty() => self.input = None,
                KeyCode::Backspace => drop(input.pop()),
                KeyCode::Char(c) if is_plain => input.push(c),
                _ => {}
            }
            return ViewEnd::StaysOpen;
        }
        let top = self.top.min(self.last_top());
        match key.code {
            KeyCode::Esc => return ViewEnd::Closes,
            KeyCode::Char('q') if is_plain => return ViewEnd::Closes,
            KeyCode::Char('/') if is_plain => self.input = Some(String::new()),
            KeyCode::Char('n') if is_plain => self.go_to_match(true),
            KeyCode::Char('N') if is_plain => self.go_to_match(false),
            KeyCode::Up | KeyCode::Char('k') => self.top = top.saturating_sub(1),
            KeyCode::Down | KeyCode::Enter | KeyCode::Char('j') => self.top = top.saturating_add(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.top = top.saturating_sub(self.page),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.top = top.saturating_add(self.page),
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = usize::MAX,
            _ => {}
        }
        ViewEnd::StaysOpen
    }

    /// Returns the first row of the last page.
    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.page)
    }

    /// Searches for a text, from the first row on the screen on; an empty one repeats the last search.
    fn search(&mut self, text: &str) {
        if text.is_empty() {
            return self.go_to_match(true);
        }
        self.query = text.to_lowercase();
        self.find_matches();
        let top = self.top.min(self.last_top());
        let next = self.matches.iter().find(|row| **row >= top).or(self.matches.first());
        self.top = next.copied().unwrap_or(top);
    }

    /// Goes to the next match after the first row, or to the last one before it. After the last one comes the first.
    fn go_to_match(&mut self, forward: bool) {
        // The last page may begin before the match that `top` names.
        let top = self.top;
        let found = match forward {
            true => self.matches.iter().find(|row| **row > top).or(self.matches.first()),
            false => self.matches.iter().rev().find(|row| **row < top).or(self.matches.last()),
        };
        if let Some(row) = found {
            self.top = *row;
        }
    }

    /// Finds the rows with the query. Of a line that has it only across rows, it is the first row.
    fn find_matches(&mut self) {
        self.matches.clear();
        if self.query.is_empty() {
            return;
        }
        let has = |line: &Line| line.text().to_lowercase().contains(&self.query);
        let mut rows = self.rows.iter().enumerate().peekable();
        for (number, line) in self.lines.iter().enumerate() {
            let first = rows.peek().map(|(row, _)| *row);
            let before = self.matches.len();
            while let Some((row, (_, text))) = rows.next_if(|(_, (of, _))| *of == number) {
                if has(text) {
                    self.matches.push(row);
                }
            }
            if self.matches.len() == before && has(line) {
                self.matches.extend(first);
            }
        }
    }

    /// Wraps the lines for another width. The first line on the screen stays.
    fn wrap(&mut self, width: usize) {
        let line = self.rows.get(self.top).map(|(line, _)| *line);
        self.width = width;
        let wrapped = |(number, line): (usize, &Line)| {
            line.wrap(width.saturating_sub(1), 0).into_iter().map(move |row| (number, row))
        };
        self.rows = self.lines.iter().enumerate().flat_map(wrapped).collect();
        if let Some(line) = line {
            self.top = self.rows.iter().position(|(of, _)| *of >= line).unwrap_or(0);
        }
        self.find_matches();
    }

    /// Returns the rows of the view.
    pub(crate) fn compose(&mut self, catalogue: &Catalogue, size: Size) -> Frame {
        self.page = size.height.saturating_sub(2).max(1);
        if self.width != size.width {
            self.wrap(size.width);
        }
        let top = self.top.min(self.last_top());
        let visible = self.rows.iter().skip(top).take(self.page);
        let end = (top + self.page).min(self.rows.len());
        let first = (top + 1).min(end);
        let position = format!("  {first}–{end} / {}", self.rows.len());
        let mut rows = vec![Line::new(Style::BOLD, &self.title).with(Style::DIM, &position)];
        rows.extend(visible.map(|(_, row)| match self.query.as_str() {
            "" => row.clone(),
            query => row.with_marked(query),
        }));
        rows.resize(size.height.saturating_sub(1).max(1), Line::default());
        let mut cursor = None;
        rows.push(match &self.input {
            Some(input) => {
                let row = Line::plain(&catalogue.line(&TuiLine::ViewSearch { text: input }));
                cursor = Some((rows.len(), row.width()));
                row
            }
            None if self.matches.is_empty() && !self.query.is_empty() => {
                let text = self.query.as_str();
                Line::new(Style::color(Color::Yellow), &catalogue.line(&TuiLine::ViewNoMatch { text }))
            }
            None => Line::new(Style::DIM, &catalogue.line(&TuiLine::ViewKeys)),
        });
        Frame { rows, cursor }
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    const SIZE: Size = Size { width: 40, height: 12 };

    struct Fixture(Pager, Catalogue);

    impl Fixture {
        /// Returns a view of 100 lines on pages of 10 rows.
        fn new(start: PagerStart) -> Self {
            let lines = (0..100).map(|number| Line::plain(&format!("line {number} Wörter 日本"))).collect();
            let mut fixture = Self(Pager::new("Text".to_owned(), lines, start), Catalogue::new(Locale::En));
            fixture.draw();
            fixture
        }

        fn draw(&mut self) -> Vec<String> {
            let frame = self.0.compose(&self.1, SIZE);
            assert_eq!(frame.rows.len(), SIZE.height);
            frame.rows.iter().map(Line::text).collect()
        }

        /// Presses keys, and returns the number of the first line.
        fn press(&mut self, codes: &[KeyCode]) -> usize {
            for code in codes {
                assert_eq!(self.0.on_key(KeyEvent::new(*code, KeyModifiers::NONE)), ViewEnd::StaysOpen);
                self.draw();
            }
            self.draw()[1].split(' ').nth(1).unwrap().parse().unwrap()
        }

        fn type_text(&mut self, text: &str) -> usize {
            self.press(&text.chars().map(KeyCode::Char).collect::<Vec<_>>())
        }
    }

    #[test]
    fn keys_scroll_by_line_and_page_and_to_both_ends() {
        use KeyCode::{Char, Down, End, Home, PageDown, PageUp, Up};
        let mut fixture = Fixture::new(PagerStart::Top);
        for (codes, expect) in [
            (&[Down, Down, Up][..], 1),
            (&[PageDown], 11),
            (&[Char(' '), Char('b')], 11),
            (&[PageUp, PageUp], 0),
            (&[End], 90),
            (&[Down, PageDown], 90),
            (&[Up], 89),
            (&[Char('g'), Char('G'), Home], 0),
        ] {
            assert_eq!(fixture.press(codes), expect, "{codes:?}");
        }
        assert_eq!(Fixture::new(PagerStart::Bottom).press(&[]), 90);
    }

    #[test]
    fn a_search_goes_to_matches_in_both_directions_and_around() {
        let mut fixture = Fixture::new(PagerStart::Top);
        assert_eq!(fixture.type_text("/LINE 7"), 0, "the search begins with Enter");
        assert_eq!(fixture.press(&[KeyCode::Enter]), 7);
        assert_eq!(fixture.type_text("n"), 70);
        assert_eq!(fixture.type_text("nn"), 72);
        assert_eq!(fixture.type_text("N"), 71);
        fixture.type_text("nnnnnnnnn");
        assert_eq!(fixture.0.top, 7, "after the last match comes the first");
        fixture.type_text("/absent");
        fixture.press(&[KeyCode::Enter]);
        assert!(fixture.draw()[11].contains("absent"), "{:?}", fixture.draw());
        fixture.type_text("/x");
        assert_eq!(fixture.press(&[KeyCode::Esc]), 7, "Esc leaves the search first");
        for key in [KeyCode::Esc, KeyCode::Char('q')] {
            assert_eq!(fixture.0.on_key(KeyEvent::new(key, KeyModifiers::NONE)), ViewEnd::Closes);
        }
    }

    #[test]
    fn another_width_keeps_the_first_line_and_finds_words_across_rows() {
        let lines =
            (0..50).map(|number| Line::plain(&format!("{number} {}needle in hay", "x".repeat(30)))).collect();
        let mut pager = Pager::new(String::new(), lines, PagerStart::Top);
        let catalogue = Catalogue::new(Locale::En);
        pager.compose(&catalogue, Size { width: 80, height: 12 });
        pager.top = 20;
        let narrow = pager.compose(&catalogue, Size { width: 20, height: 12 });
        assert_eq!(narrow.rows[1].text(), "20");
        pager.search("needle in");
        assert_eq!(pager.matches.len(), 50);
    }
}
