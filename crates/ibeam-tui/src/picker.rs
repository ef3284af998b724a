//! The picker of a stored session: a list with a filter, which loads entries only as far as they are shown.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;

use crate::styled::{Color, Line, Style};
use crate::view::{Frame, Size, ViewEnd, is_control};
use ibeam_output::TuiLine;

/// The number of entries that one draw loads, so that keys are handled in between.
const BATCH: usize = 200;
/// The rows that are not entries: the title, the filter, the keys.
const FIXED_ROWS: usize = 3;
/// The width from which on age and size have columns.
const COLUMNS_WIDTH: usize = 50;
/// The width of the column of the age, and of the size.
const COLUMN: usize = 9;
/// The sign before the filter.
const SIGN: &str = "❯ ";

/// A stored session as the picker shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickerEntry {
    pub id: String,
    /// The title on one line.
    pub title: String,
    /// The time since the last write.
    pub age: String,
    /// The size on disk.
    pub size: String,
    pub directory: String,
    /// Whether the directory is the current one.
    pub is_here: bool,
}

pub struct PickerOptions {
    /// The sessions, the latest first. Each is loaded when it is shown, or when a filter looks for it.
    pub entries: Box<dyn Iterator<Item = PickerEntry> + Send>,
    /// The reason why the session that was chosen before could not be opened; it takes the place of the title.
    pub notice: Option<String>,
    /// Receives the chosen session; `None` when the person leaves. It is dropped when the display ends.
    pub reply: Box<dyn FnOnce(Option<PickerEntry>) + Send>,
}

pub(crate) struct Picker {
    /// The entries that are not loaded yet.
    source: Option<Box<dyn Iterator<Item = PickerEntry> + Send>>,
    notice: Option<String>,
    entries: Vec<PickerEntry>,
    /// The loaded entries that match, as positions in `entries`.
    shown: Vec<usize>,
    filter: String,
    shows_all: bool,
    /// The position in `shown` that the person asked for. It may lie after what is loaded.
    selected: usize,
    /// The position in `shown` of the first row.
    first: usize,
    /// The number of entries on a screen.
    page: usize,
    reply: Option<Box<dyn FnOnce(Option<PickerEntry>) + Send>>,
}

impl Picker {
    pub(crate) fn new(options: PickerOptions) -> Self {
        Self {
            source: Some(options.entries),
            notice: options.notice,
            entries: Vec::new(),
            shown: Vec::new(),
            filter: String::new(),
            shows_all: false,
            selected: 0,
            first: 0,
            page: 1,
            reply: Some(options.reply),
        }
    }

    /// Whether entries are missing that the screen, or the selection, needs.
    pub(crate) fn is_loading(&self) -> bool {
        self.source.is_some() && self.shown.len() <= self.selected.saturating_add(self.page)
    }

    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: KeyEvent) -> ViewEnd {
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Esc => return self.close(None),
            _ if is_control(key, 'c') || is_control(key, 'd') => return self.close(None),
            KeyCode::Enter => {
                if let Some(entry) = self.shown.get(self.current()).and_then(|at| self.entries.get(*at)) {
                    let chosen = entry.clone();
                    return self.close(Some(chosen));
                }
            }
            KeyCode::Up => self.selected = self.current().saturating_sub(1),
            KeyCode::Down => self.selected = self.current().saturating_add(1),
            _ if is_control(key, 'p') => self.selected = self.current().saturating_sub(1),
            _ if is_control(key, 'n') => self.selected = self.current().saturating_add(1),
            KeyCode::PageUp => self.selected = self.current().saturating_sub(self.page),
            KeyCode::PageDown => self.selected = self.current().saturating_add(self.page),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = usize::MAX,
            KeyCode::Tab => {
                self.shows_all = !self.shows_all;
                self.filter_again();
            }
            KeyCode::Backspace => {
                self.filter.pop();
                self.filter_again();
            }
            _ if is_control(key, 'u') => {
                self.filter.clear();
                self.filter_again();
            }
            KeyCode::Char(c) if is_plain => {
                self.filter.push(c);
                self.filter_again();
            }
            _ => {}
        }
        ViewEnd::StaysOpen
    }

    fn close(&mut self, chosen: Option<PickerEntry>) -> ViewEnd {
        if let Some(reply) = self.reply.take() {
            reply(chosen);
        }
        ViewEnd::Closes
    }

    /// Returns the selected position among the loaded entries.
    fn current(&self) -> usize {
        self.selected.min(self.shown.len().saturating_sub(1))
    }

    /// Applies the filter to the loaded entries.
    fn filter_again(&mut self) {
        let words = self.words();
        let matching = self.entries.iter().enumerate().filter(|(_, entry)| self.matches(entry, &words));
        self.shown = matching.map(|(at, _)| at).collect();
        self.selected = 0;
        self.first = 0;
    }

    fn words(&self) -> Vec<String> {
        self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect()
    }

    fn matches(&self, entry: &PickerEntry, words: &[String]) -> bool {
        if !self.shows_all && !entry.is_here {
            return false;
        }
        let title = entry.title.to_lowercase();
        let directory = if self.shows_all { entry.directory.to_lowercase() } else { String::new() };
        let has = |word: &String| {
            title.contains(word) || directory.contains(word) || entry.id.starts_with(word.as_str())
        };
        words.iter().all(has)
    }

    /// Loads entries until the screen is full, and not more than a batch.
    fn load(&mut self) {
        let words = self.words();
        for _ in 0..BATCH {
            if !self.is_loading() {
                return;
            }
            let Some(entry) = self.source.as_mut().and_then(Iterator::next) else {
                self.source = None;
                return;
            };
            if self.matches(&entry, &words) {
                self.shown.push(self.entries.len());
            }
            self.entries.push(entry);
        }
    }

    /// Loads what is missing, and returns the rows.
    pub(crate) fn compose(&mut self, catalogue: &Catalogue, size: Size) -> Frame {
        self.page = size.height.saturating_sub(FIXED_ROWS).max(1);
        self.load();
        let current = self.current();
        self.first = self.first.min(current).max((current + 1).saturating_sub(self.page));
        let title = match self.shows_all {
            true => TuiLine::PickerAll,
            false => TuiLine::PickerHere,
        };
        let loading = if self.is_loading() { " …" } else { "" };
        let title = match &self.notice {
            Some(notice) => Line::new(Style::color(Color::Red), notice).fit(size.width.saturating_sub(1)),
            None => Line::new(Style::BOLD, &catalogue.line(&title)),
        };
        let mut rows = vec![
            title.with(Style::DIM, loading),
            Line::new(Style::color(Color::Cyan), SIGN).with(Style::PLAIN, &self.filter),
        ];
        let visible = self.shown.iter().enumerate().skip(self.first).take(self.page);
        let entries = visible.filter_map(|(at, entry)| {
            let row = self.row(self.entries.get(*entry)?, size.width.saturating_sub(1));
            Some(match at == current {
                true => row.map_style(|style| Style { reverse: true, ..style }),
                false => row,
            })
        });
        rows.extend(entries);
        if self.shown.is_empty() && !self.is_loading() {
            rows.push(Line::new(Style::DIM, &catalogue.line(&TuiLine::PickerEmpty)));
        }
        let cursor = Line::plain(&format!("{SIGN}{}", self.filter)).width();
        rows.resize(size.height.saturating_sub(1).max(2), Line::default());
        rows.push(Line::new(Style::DIM, &catalogue.line(&TuiLine::PickerKeys)));
        Frame { rows, cursor: Some((1, cursor)) }
    }

    /// Returns the row of an entry: the title is cut before the directory.
    fn row(&self, entry: &PickerEntry, width: usize) -> Line {
        if width < COLUMNS_WIDTH {
            return Line::plain(&entry.title).with(Style::DIM, &format!(" · {}", entry.age)).fit(width);
        }
        let column = |text: &str| {
            let text = Line::plain(text);
            " ".repeat(COLUMN.saturating_sub(text.width())) + &text.text()
        };
        let columns = format!("{}{}  ", column(&entry.age), column(&entry.size));
        let directory = if self.shows_all { format!("  {}", entry.directory) } else { String::new() };
        let directory = Line::new(Style::DIM, &directory);
        let room = width.saturating_sub(columns.len().max(2 * COLUMN + 2));
        let for_title = room.saturating_sub(directory.width()).max(room / 2);
        let mut row = Line::new(Style::DIM, &columns);
        row.append(&Line::plain(&entry.title).fit(for_title));
        row.append(&directory);
        row.fit(width)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use ibeam_output::Locale;

    use super::*;

    const SIZE: Size = Size { width: 80, height: 13 };

    fn entry(number: usize) -> PickerEntry {
        PickerEntry {
            id: format!("{number:08x}"),
            title: format!("Task {number}"),
            age: "2 h".to_owned(),
            size: "3 kB".to_owned(),
            directory: if number.is_multiple_of(2) { "/here".to_owned() } else { "/there".to_owned() },
            is_here: number.is_multiple_of(2),
        }
    }

    /// A picker of `count` sessions, half of them of this directory.
    struct Fixture {
        picker: Picker,
        loaded: Arc<AtomicUsize>,
        chosen: Arc<Mutex<Vec<Option<String>>>>,
        catalogue: Catalogue,
    }

    impl Fixture {
        fn new(count: usize) -> Self {
            let (loaded, chosen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
            let (counter, replies) = (Arc::clone(&loaded), Arc::clone(&chosen));
            let entries = (0..count).map(move |number| {
                counter.fetch_add(1, Ordering::Relaxed);
                entry(number)
            });
            let reply = Box::new(move |entry: Option<PickerEntry>| {
                replies.lock().unwrap().push(entry.map(|entry| entry.title));
            });
            let picker = Picker::new(PickerOptions { entries: Box::new(entries), notice: None, reply });
            let mut fixture = Self { picker, loaded, chosen, catalogue: Catalogue::new(Locale::En) };
            fixture.draw();
            fixture
        }

        fn draw(&mut self) -> Vec<String> {
            while self.picker.is_loading() {
                self.picker.compose(&self.catalogue, SIZE);
            }
            let frame = self.picker.compose(&self.catalogue, SIZE);
            assert_eq!(frame.rows.len(), SIZE.height);
            frame.rows.iter().map(Line::text).collect()
        }

        fn press(&mut self, code: KeyCode) -> Vec<String> {
            self.picker.on_key(KeyEvent::new(code, KeyModifiers::NONE));
            self.draw()
        }

        fn selected(&self) -> String {
            self.picker.entries[self.picker.shown[self.picker.current()]].title.clone()
        }

        fn type_text(&mut self, text: &str) -> Vec<String> {
            text.chars().for_each(|c| drop(self.press(KeyCode::Char(c))));
            self.draw()
        }
    }

    #[test]
    fn only_shown_sessions_are_loaded() {
        let mut fixture = Fixture::new(10_000);
        assert!(fixture.loaded.load(Ordering::Relaxed) < 50, "{:?}", fixture.loaded);
        fixture.press(KeyCode::PageDown);
        fixture.press(KeyCode::PageDown);
        assert_eq!(fixture.selected(), "Task 40");
        assert!(fixture.loaded.load(Ordering::Relaxed) < 100, "{:?}", fixture.loaded);
        fixture.press(KeyCode::End);
        assert_eq!(fixture.selected(), "Task 9998");
        fixture.press(KeyCode::Home);
        assert_eq!(fixture.selected(), "Task 0");
    }

    #[test]
    fn tab_shows_all_directories_and_typing_filters() {
        let mut fixture = Fixture::new(300);
        let rows = fixture.draw();
        assert!(rows[2].contains("Task 0") && rows[3].contains("Task 2"), "{rows:?}");
        let rows = fixture.press(KeyCode::Tab);
        assert!(rows[3].contains("Task 1") && rows[3].ends_with("/there"), "{rows:?}");
        let rows = fixture.type_text("task 299 there");
        assert!(rows[2].contains("Task 299") && rows[3].is_empty(), "{rows:?}");
        let rows = fixture.press(KeyCode::Tab);
        assert_eq!(rows[2], fixture.catalogue.line(&TuiLine::PickerEmpty));
        assert_eq!(
            fixture.picker.on_key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)),
            ViewEnd::StaysOpen
        );
        fixture.picker.on_key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert!(fixture.draw()[2].contains("Task 0"));
    }

    #[test]
    fn enter_chooses_and_escape_leaves_each_once() {
        let mut fixture = Fixture::new(20);
        fixture.press(KeyCode::Down);
        assert_eq!(fixture.picker.on_key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)), ViewEnd::Closes);
        assert_eq!(fixture.picker.on_key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)), ViewEnd::Closes);
        assert_eq!(*fixture.chosen.lock().unwrap(), [Some("Task 2".to_owned())]);
        let mut left = Fixture::new(20);
        assert_eq!(left.picker.on_key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)), ViewEnd::Closes);
        assert_eq!(*left.chosen.lock().unwrap(), [None]);
    }
}
