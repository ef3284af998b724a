//! The full-screen views: what they show at each size, and the normal screen after them.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::{Catalogue, Locale};
use ibeam_tui::{
    Action, LastingAnswers, Line, PagerStart, PickerEntry, PickerOptions, Question, Style, TerminalEvent,
    TuiLine, Ui,
};

use crate::terminal::Terminal;
use crate::{delta, prompt, send, ui};

/// The sizes of the terminals, in cells.
const SIZES: [(u16, u16); 3] = [(20, 5), (80, 24), (200, 50)];

/// Returns the rows of the screen without the scrollback.
fn screen(terminal: &Terminal) -> Vec<String> {
    terminal.read(|screen| {
        let (_, width) = screen.size();
        screen.rows(0, width).map(|row| row.trim_end().to_owned()).collect()
    })
}

fn press(ui: &mut Ui<Terminal>, code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
    ui.handle(TerminalEvent::Key(KeyEvent::new(code, modifiers)), Instant::now()).unwrap()
}

fn entry(number: usize) -> PickerEntry {
    let title = match number % 3 {
        0 => format!("空白を含む年齢のテストが失敗する原因を調べる {number}"),
        1 => format!("Fix the parser {number}"),
        _ => format!("修正: the parser は {number} 件 失敗します。長い題名は切り詰められます"),
    };
    PickerEntry {
        id: format!("{number:032x}"),
        title,
        age: "3 d".to_owned(),
        size: "12 kB".to_owned(),
        directory: "/home/me/人々".to_owned(),
        is_here: number.is_multiple_of(2),
    }
}

type Chosen = Arc<Mutex<Option<Option<PickerEntry>>>>;

fn open_picker(ui: &mut Ui<Terminal>, count: usize) -> Chosen {
    let chosen: Chosen = Arc::default();
    let reply = Arc::clone(&chosen);
    let options = PickerOptions {
        notice: None,
        entries: Box::new((0..count).map(entry)),
        reply: Box::new(move |entry| *reply.lock().unwrap() = Some(entry)),
    };
    ui.show_picker(options, Instant::now()).unwrap();
    draw_loaded(ui);
    chosen
}

fn draw_loaded(ui: &mut Ui<Terminal>) {
    while ui.is_loading_view() {
        ui.draw(Instant::now()).unwrap();
    }
    ui.draw(Instant::now()).unwrap();
}

#[test]
fn the_picker_fits_every_size_and_chooses_the_selected_session() {
    for (width, height) in SIZES {
        for locale in Locale::ALL {
            let terminal = Terminal::new(width, height);
            let mut ui = ui(&terminal, locale, width.into(), height.into());
            let chosen = open_picker(&mut ui, 500);
            let rows = screen(&terminal);
            assert!(terminal.read(vt100::Screen::alternate_screen));
            assert_eq!(rows[1], "❯", "{rows:?}");
            let titles = rows[2..usize::from(height) - 1].iter().filter(|row| !row.is_empty()).count();
            assert_eq!(titles, usize::from(height) - 3, "{locale:?} {width}x{height}: {rows:?}");
            assert!(rows[2].contains("空白"), "{rows:?}");
            assert!(!rows.last().unwrap().is_empty(), "{rows:?}");
            press(&mut ui, KeyCode::End, KeyModifiers::NONE);
            draw_loaded(&mut ui);
            let rows = screen(&terminal);
            assert!(rows[usize::from(height) - 2].contains("空白"), "{rows:?}");
            press(&mut ui, KeyCode::Up, KeyModifiers::NONE);
            press(&mut ui, KeyCode::Enter, KeyModifiers::NONE);
            let chosen = chosen.lock().unwrap().clone().flatten().unwrap();
            assert_eq!(chosen.id, format!("{:032x}", 496));
            assert!(!terminal.read(vt100::Screen::alternate_screen));
        }
    }
}

#[test]
fn the_normal_screen_is_as_it_was_after_a_view() {
    for (width, height) in SIZES {
        let terminal = Terminal::new(width, height);
        let mut ui = ui(&terminal, Locale::En, width.into(), height.into());
        send(&mut ui, prompt("日本語のテキスト"));
        send(&mut ui, delta("An answer.\n\n"));
        ui.set_input("a draft");
        ui.draw(Instant::now()).unwrap();
        let before = terminal.rows();
        let chosen = open_picker(&mut ui, 10);
        press(&mut ui, KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(*chosen.lock().unwrap(), Some(None));
        assert_eq!(terminal.rows(), before, "after the picker at {width}x{height}");
        let lines = (0..90).map(|number| Line::plain(&format!("行 {number}"))).collect();
        ui.show_pager("Changes".to_owned(), lines, PagerStart::Top, Instant::now()).unwrap();
        press(&mut ui, KeyCode::PageDown, KeyModifiers::NONE);
        press(&mut ui, KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(terminal.rows(), before, "after the view of lines at {width}x{height}");
    }
}

#[test]
fn lines_that_finish_under_a_view_are_printed_once_after_it() {
    let terminal = Terminal::new(40, 10);
    let mut ui = ui(&terminal, Locale::En, 40, 10);
    ui.show_pager("Text".to_owned(), vec![Line::plain("only this")], PagerStart::Top, Instant::now())
        .unwrap();
    send(&mut ui, prompt("while the view is open"));
    assert_eq!(screen(&terminal)[1], "only this");
    assert!(!screen(&terminal).join("\n").contains("while"));
    terminal.resize(60, 12);
    ui.handle(TerminalEvent::Resize { width: 60, height: 12 }, Instant::now()).unwrap();
    press(&mut ui, KeyCode::Char('q'), KeyModifiers::NONE);
    ui.stop().unwrap();
    let rows: Vec<String> = terminal.rows().into_iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(rows, ["❯ while the view is open"]);
}

#[test]
fn a_view_is_left_when_the_process_stops_and_shown_again_when_it_continues() {
    let terminal = Terminal::new(40, 10);
    let mut ui = ui(&terminal, Locale::En, 40, 10);
    let chosen = open_picker(&mut ui, 10);
    assert_eq!(press(&mut ui, KeyCode::Char('z'), KeyModifiers::CONTROL), Some(Action::Suspend));
    let flag = ui.full_screen_flag();
    ui.stop().unwrap();
    assert!(!terminal.read(vt100::Screen::alternate_screen) && !terminal.read(vt100::Screen::hide_cursor));
    assert!(!flag.load(std::sync::atomic::Ordering::Acquire));
    ui.start(Instant::now()).unwrap();
    assert!(terminal.read(vt100::Screen::alternate_screen));
    assert!(screen(&terminal)[2].contains("空白"));
    press(&mut ui, KeyCode::Enter, KeyModifiers::NONE);
    assert!(chosen.lock().unwrap().clone().flatten().is_some());
}

#[test]
fn a_question_closes_the_view_of_lines() {
    let terminal = Terminal::new(40, 10);
    let mut ui = ui(&terminal, Locale::En, 40, 10);
    ui.show_pager("Text".to_owned(), vec![Line::plain("text")], PagerStart::Top, Instant::now()).unwrap();
    let body = vec![Line::new(Style::BOLD, "rm -r target")];
    let (call, change) = ("c".into(), Vec::new());
    let question = Question { call, body, change, lasting: LastingAnswers::default(), reply: Box::new(drop) };
    ui.ask(question, Instant::now()).unwrap();
    let allow = Catalogue::new(Locale::En).line(&TuiLine::AllowThis);
    let rows = screen(&terminal).join("\n");
    assert!(rows.contains("rm -r target") && rows.contains(&allow), "{rows}");
}

#[test]
fn a_search_marks_what_it_finds() {
    let terminal = Terminal::new(40, 8);
    let mut ui = ui(&terminal, Locale::Ja, 40, 8);
    let lines = (0..50).map(|number| Line::plain(&format!("行 {number} 失敗します"))).collect();
    ui.show_pager("記録".to_owned(), lines, PagerStart::Bottom, Instant::now()).unwrap();
    press(&mut ui, KeyCode::Char('/'), KeyModifiers::NONE);
    ui.handle(TerminalEvent::Paste("7 失敗".to_owned()), Instant::now()).unwrap();
    press(&mut ui, KeyCode::Enter, KeyModifiers::NONE);
    let rows = screen(&terminal);
    assert!(rows[4].starts_with("行 47"), "the only match on the last page: {rows:?}");
    terminal.read(|screen| {
        assert!(screen.cell(4, 4).unwrap().inverse() && !screen.cell(4, 0).unwrap().inverse());
    });
    press(&mut ui, KeyCode::Char('N'), KeyModifiers::NONE);
    assert!(screen(&terminal)[1].starts_with("行 37"), "{:?}", screen(&terminal));
}
