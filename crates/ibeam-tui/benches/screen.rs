//! The cost of a key and of text that arrives, until the bytes for the terminal are written.
//!
//! `hundred_deltas` is what the display does in a second in which the model writes 100 fragments: its time in
//! milliseconds, divided by ten, is the percentage of a core. Rows named `by_…` are the baselines of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use divan::Bencher;
use divan::counter::ItemsCount;
use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::{Event, EventKind};
use ibeam_tui::{Palette, Screen, TerminalEvent, TerminalTraits, Ui, UiOptions};

fn main() {
    divan::main();
}

/// The turns of the session before the measurement.
const TURNS: [usize; 2] = [1, 1000];

const WIDTH: usize = 120;
const HEIGHT: usize = 40;

/// A terminal that keeps the bytes of the last drawing.
#[derive(Clone, Default)]
struct Terminal(Rc<RefCell<Vec<u8>>>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Terminal {
    fn take(&self) -> usize {
        let mut bytes = self.0.borrow_mut();
        let count = bytes.len();
        bytes.clear();
        count
    }
}

mod key_to_glass {
    use super::*;

    #[divan::bench(args = TURNS)]
    fn handle(bencher: Bencher<'_, '_>, turns: usize) {
        let (mut ui, terminal) = session(turns);
        ui.set_busy(true, Instant::now()).unwrap();
        bencher.bench_local(|| {
            ui.set_input("a prompt of one line ");
            ui.handle(black_box(TerminalEvent::Paste("x".to_owned())), Instant::now()).unwrap();
            black_box(terminal.take())
        });
    }

    #[divan::bench(args = TURNS)]
    fn by_memcpy(bencher: Bencher<'_, '_>, turns: usize) {
        let (mut ui, terminal) = session(turns);
        ui.set_busy(true, Instant::now()).unwrap();
        terminal.take();
        ui.handle(TerminalEvent::Paste("x".to_owned()), Instant::now()).unwrap();
        let source = terminal.0.borrow().clone();
        let mut copy = vec![0; source.len()];
        bencher.bench_local(|| {
            copy.copy_from_slice(black_box(&source));
            black_box(copy.last().copied())
        });
    }
}

mod hundred_deltas {
    use super::*;

    #[divan::bench(args = TURNS)]
    fn draw(bencher: Bencher<'_, '_>, turns: usize) {
        let (mut ui, terminal) = session(turns);
        ui.set_busy(true, Instant::now()).unwrap();
        bencher.counter(ItemsCount::new(100_usize)).bench_local(|| {
            for word in 0..100 {
                // A line of 12 words, a paragraph of 4 lines.
                let end = if word % 48 == 47 { "\n\n" } else { " " };
                let kind = EventKind::TextDelta { text: format!("word{word}{end}") };
                ui.on_event(&Event { seq: 0, at_ms: 0, kind }, Instant::now());
                ui.draw(Instant::now()).unwrap();
            }
            black_box(terminal.take())
        });
    }

    #[divan::bench(args = TURNS)]
    fn by_memcpy(bencher: Bencher<'_, '_>, _turns: usize) {
        let source = [b'x'; 100 * 8];
        let mut copy = [0; 100 * 8];
        bencher.counter(ItemsCount::new(100_usize)).bench_local(|| {
            copy.copy_from_slice(black_box(&source));
            black_box(copy.last().copied())
        });
    }
}

/// Returns a display that has shown a session.
fn session(turns: usize) -> (Ui<Terminal>, Terminal) {
    let terminal = Terminal::default();
    let options = UiOptions {
        catalogue: Arc::new(Catalogue::new(Locale::En)),
        history: Vec::new(),
        commands: Vec::new(),
        list_files: Box::new(|_| Vec::new()),
        title: None,
    };
    let traits = TerminalTraits { palette: Palette::Dark, reflows: false };
    let mut ui = Ui::new(Screen::new(terminal.clone(), traits, WIDTH, HEIGHT), options);
    ui.start(Instant::now()).unwrap();
    for turn in 0..turns {
        let content = vec![format!("prompt {turn}")];
        for kind in [
            EventKind::UserMessage { content, attachments: Vec::new() },
            EventKind::TextDelta { text: format!("answer {turn}\n\n") },
        ] {
            ui.on_event(&Event { seq: 0, at_ms: 0, kind }, Instant::now());
            ui.draw(Instant::now()).unwrap();
        }
    }
    (ui, terminal)
}
