//! The keys that end a turn.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::{Catalogue, Locale};
use ibeam_tui::{Action, Candidate, Screen, TerminalEvent, TerminalTraits, Ui, UiOptions};

/// A display without a terminal, and the time of its last key.
struct Keyboard {
    ui: Ui<io::Sink>,
    now: Instant,
}

impl Keyboard {
    fn new() -> Self {
        let options = UiOptions {
            catalogue: Arc::new(Catalogue::new(Locale::En)),
            history: vec!["earlier".to_owned()],
            commands: vec![Candidate { word: "/help".to_owned(), description: String::new() }],
            list_files: Box::new(|_| Vec::new()),
        };
        let traits = TerminalTraits { has_colors: false, reflows: true };
        let now = Instant::now();
        let mut ui = Ui::new(Screen::new(io::sink(), traits, 80, 24), options);
        ui.start(now).unwrap();
        Self { ui, now }
    }

    fn busy() -> Self {
        let mut keyboard = Self::new();
        keyboard.ui.set_busy(true, keyboard.now).unwrap();
        keyboard
    }

    /// Presses a key `ms` after the last one.
    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers, ms: u64) -> Option<Action> {
        self.now += Duration::from_millis(ms);
        self.ui.handle(TerminalEvent::Key(KeyEvent::new(code, modifiers)), self.now).unwrap()
    }

    fn control(&mut self, key: char, ms: u64) -> Option<Action> {
        self.press(KeyCode::Char(key), KeyModifiers::CONTROL, ms)
    }

    fn escape(&mut self) -> Option<Action> {
        self.press(KeyCode::Esc, KeyModifiers::NONE, 10)
    }

    fn type_text(&mut self, text: &str) {
        for key in text.chars() {
            assert_eq!(self.press(KeyCode::Char(key), KeyModifiers::NONE, 10), None);
        }
    }
}

#[test]
fn escape_ends_a_running_turn_whatever_is_open() {
    let mut keyboard = Keyboard::busy();
    assert_eq!(keyboard.escape(), Some(Action::Interrupt));
    keyboard.type_text("/h");
    assert_eq!(keyboard.escape(), Some(Action::Interrupt), "a completion is open");
    let mut searching = Keyboard::busy();
    assert_eq!(searching.control('r', 10), None);
    searching.type_text("ear");
    assert_eq!(searching.escape(), Some(Action::Interrupt), "a search is open");
    let mut idle = Keyboard::new();
    idle.type_text("/h");
    assert_eq!(idle.escape(), None);
}
