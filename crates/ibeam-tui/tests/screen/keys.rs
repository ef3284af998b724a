//! The keys that end a turn.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::{Catalogue, Locale};
use ibeam_tui::{
    Action, Activity, Candidate, DialogGuard, DialogInput, DialogOptions, DialogReply, EscapeEffect,
    LastingAnswers, Line, Palette, Question, Screen, TerminalEvent, TerminalTraits, Ui, UiOptions,
};

use crate::terminal::Terminal;

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
            title: None,
        };
        let traits = TerminalTraits { palette: Palette::Monochrome, reflows: true };
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

#[test]
fn the_text_of_a_search_answers_no_question() {
    let mut keyboard = Keyboard::busy();
    let (sender, replies) = channel();
    let question = Question {
        call: "c".into(),
        body: vec![Line::plain("may it?")],
        change: Vec::new(),
        lasting: LastingAnswers { same_call: true, ..LastingAnswers::default() },
        reply: Box::new(move |reply| sender.send(reply).unwrap()),
    };
    keyboard.ui.ask(question, keyboard.now).unwrap();
    assert_eq!(keyboard.press(KeyCode::Char('r'), KeyModifiers::CONTROL, 2000), None);
    for key in ['1', 'y', 'n'] {
        assert_eq!(keyboard.press(KeyCode::Char(key), KeyModifiers::NONE, 2000), None);
        keyboard.ui.draw(keyboard.now + std::time::Duration::from_secs(2)).unwrap();
    }
    assert!(replies.try_recv().is_err(), "the text went into the search");
}

#[test]
fn a_command_that_is_a_word_waits_for_the_end_of_the_turn() {
    let mut keyboard = Keyboard::busy();
    for (text, steers) in [("exit", false), ("/status", false), ("exit the loop", true)] {
        keyboard.type_text(text);
        keyboard.press(KeyCode::Enter, KeyModifiers::NONE, 10);
        assert_eq!(keyboard.ui.next_steering().is_some(), steers, "{text}");
    }
}

#[test]
fn a_key_ends_only_work_that_can_be_ended() {
    for (is_cancellable, expect) in [(true, Some(Action::Interrupt)), (false, None)] {
        let mut keyboard = Keyboard::new();
        let activity = Activity { text: "working".to_owned(), is_cancellable };
        keyboard.ui.set_activity(Some(activity), keyboard.now).unwrap();
        assert_eq!(keyboard.escape(), expect);
        assert_eq!(keyboard.control('c', 10), expect);
        keyboard.ui.set_activity(None, keyboard.now).unwrap();
        // A late progress does not bring the work back.
        keyboard.ui.update_activity("more".to_owned(), keyboard.now).unwrap();
        assert_eq!(keyboard.escape(), None);
    }
}

/// Shows a dialog with two choices that is guarded against text typed ahead.
fn show_dialog(keyboard: &mut Keyboard) -> Receiver<DialogReply> {
    let (sender, replies) = channel();
    let reply = Box::new(move |reply| sender.send(reply).unwrap());
    let input = DialogInput::Choice(vec!["yes".to_owned(), "no".to_owned()]);
    let (guard, escape) = (DialogGuard::Consent, EscapeEffect::GoesBack);
    let options = DialogOptions { title: "Sure?".to_owned(), input, guard, escape, reply };
    keyboard.ui.show_dialog(options, keyboard.now).unwrap();
    replies
}

#[test]
fn keys_typed_ahead_of_a_dialog_stay_in_the_input() {
    let mut keyboard = Keyboard::new();
    let replies = show_dialog(&mut keyboard);
    keyboard.type_text("1");
    assert_eq!(keyboard.press(KeyCode::Enter, KeyModifiers::NONE, 10), None);
    assert!(replies.try_recv().is_err());
    assert_eq!(keyboard.control('z', 10), Some(Action::Suspend));
    assert_eq!(keyboard.press(KeyCode::Char('2'), KeyModifiers::NONE, 700), None);
    assert!(replies.try_recv().is_err());
    keyboard.ui.draw(keyboard.now + std::time::Duration::from_millis(400)).unwrap();
    assert_eq!(replies.try_recv(), Ok(DialogReply::Choice(1)));
    assert_eq!(
        keyboard.press(KeyCode::Enter, KeyModifiers::NONE, 10),
        Some(Action::Submitted("1".to_owned())),
        "the input has what was typed ahead"
    );
    let replies = show_dialog(&mut keyboard);
    assert_eq!(keyboard.control('c', 10), None);
    assert_eq!(replies.try_recv(), Ok(DialogReply::Leave));
}

/// Returns the display with an earlier prompt and this text in the input, and its terminal.
fn display(draft: &str) -> (Ui<Terminal>, Terminal) {
    display_of(80, 24, &[], draft)
}

/// Returns a display of this size with these commands and this text in the input, and its terminal.
fn display_of(width: u16, height: u16, commands: &[&str], draft: &str) -> (Ui<Terminal>, Terminal) {
    let terminal = Terminal::new(width, height);
    let command = |word: &&str| Candidate { word: (*word).to_owned(), description: String::new() };
    let options = UiOptions {
        catalogue: Arc::new(Catalogue::new(Locale::En)),
        history: vec!["earlier".to_owned()],
        commands: commands.iter().map(command).collect(),
        list_files: Box::new(|_| Vec::new()),
        title: None,
    };
    let traits = TerminalTraits { palette: Palette::Monochrome, reflows: true };
    let mut ui = Ui::new(Screen::new(terminal.clone(), traits, width.into(), height.into()), options);
    ui.start(Instant::now()).unwrap();
    ui.set_input(draft);
    (ui, terminal)
}

fn press(ui: &mut Ui<Terminal>, code: KeyCode, modifiers: KeyModifiers) {
    let key = TerminalEvent::Key(KeyEvent::new(code, modifiers));
    assert_eq!(ui.handle(key, Instant::now()).unwrap(), None);
}

#[test]
fn the_selected_completion_is_visible_on_a_low_screen() {
    let (mut ui, terminal) = display_of(20, 5, &["/one", "/two", "/three", "/four", "/five"], "");
    press(&mut ui, KeyCode::Char('/'), KeyModifiers::NONE);
    for selected in ["/two", "/three", "/four", "/five"] {
        press(&mut ui, KeyCode::Down, KeyModifiers::NONE);
        let rows = terminal.rows().join("\n");
        assert!(rows.contains(selected), "{selected}: {rows}");
    }
}

#[test]
fn a_search_without_a_match_is_marked_and_escape_restores_the_input() {
    let (mut ui, terminal) = display("a draft");
    let rows = || terminal.rows().join("\n");
    press(&mut ui, KeyCode::Char('r'), KeyModifiers::CONTROL);
    press(&mut ui, KeyCode::Char('e'), KeyModifiers::NONE);
    assert!(rows().contains("❯ earlier\nsearch in history: e\n"), "{}", rows());
    press(&mut ui, KeyCode::Char('z'), KeyModifiers::NONE);
    assert!(rows().contains("❯ a draft\nno match in history: ez ·"), "{}", rows());
    press(&mut ui, KeyCode::Backspace, KeyModifiers::NONE);
    assert!(rows().contains("❯ earlier\nsearch in history: e\n"), "{}", rows());
    press(&mut ui, KeyCode::Esc, KeyModifiers::NONE);
    assert!(rows().contains("❯ a draft") && !rows().contains("history:"), "{}", rows());
}

#[test]
fn a_command_of_the_person_has_its_own_row_and_keys() {
    let (mut ui, terminal) = display("");
    let (now, activity) = (Instant::now(), Activity { text: "! sleep 9".to_owned(), is_cancellable: true });
    ui.echo(&Line::plain("! sleep 9"), now).unwrap();
    ui.set_activity(Some(activity), now).unwrap();
    ui.draw(now + Duration::from_secs(3)).unwrap();
    let rows = terminal.rows().join("\n");
    assert!(rows.contains("○ ! sleep 9 · 3 s") && rows.contains("Esc interrupts · Enter queues"), "{rows}");
    assert!(!rows.contains("working") && !rows.contains("this turn"), "{rows}");
}

#[test]
fn escape_twice_and_shift_tab_are_commands_while_nothing_else_has_them() {
    let mut keyboard = Keyboard::new();
    assert_eq!(keyboard.escape(), None);
    assert_eq!(keyboard.escape(), Some(Action::Commanded));
    assert_eq!(keyboard.ui.next_prompt().as_deref(), Some("/rewind"));
    // With text in the input, it is no command.
    keyboard.type_text("a");
    assert_eq!((keyboard.escape(), keyboard.escape()), (None, None));
    let shift_tab = |keyboard: &mut Keyboard| keyboard.press(KeyCode::BackTab, KeyModifiers::SHIFT, 10);
    // The mode that waits for the end of the turn is replaced by the next one.
    for _ in 0..2 {
        assert_eq!(shift_tab(&mut keyboard), Some(Action::Commanded));
    }
    assert_eq!(keyboard.ui.next_prompt().as_deref(), Some("/mode ask"));
    assert_eq!(keyboard.ui.next_prompt(), None);
}
