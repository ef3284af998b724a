//! The display on an emulated terminal: what its screen and its scrollback contain.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "screen/keys.rs"]
mod keys;
#[path = "screen/snapshots.rs"]
mod snapshots;
#[path = "screen/svg.rs"]
mod svg;
#[path = "screen/terminal.rs"]
mod terminal;
#[path = "screen/views.rs"]
mod views;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::tool_output::TaskOutput;
use ibeam_protocol::{Event, EventKind, ModelCallId, RunTotals, ToolCall, ToolOutcome, ToolOutput};
use ibeam_tui::{Activity, Screen, TerminalEvent, TerminalTraits, TuiLine, Ui, UiOptions};
use serde_json::json;

use terminal::Terminal;

fn ui(terminal: &Terminal, locale: Locale, width: usize, height: usize) -> Ui<Terminal> {
    let options = UiOptions {
        catalogue: Arc::new(Catalogue::new(locale)),
        history: Vec::new(),
        commands: Vec::new(),
        list_files: Box::new(|_| Vec::new()),
    };
    let traits = TerminalTraits { has_colors: true, reflows: false };
    let mut ui = Ui::new(Screen::new(terminal.clone(), traits, width, height), options);
    ui.start(Instant::now()).unwrap();
    ui
}

fn send(ui: &mut Ui<Terminal>, kind: EventKind) {
    let now = Instant::now();
    ui.on_event(&Event { seq: 0, at_ms: 0, kind }, now);
    ui.draw(now).unwrap();
}

fn prompt(text: &str) -> EventKind {
    EventKind::UserMessage { content: vec![text.to_owned()], attachments: Vec::new() }
}

fn delta(text: &str) -> EventKind {
    EventKind::TextDelta { text: text.to_owned() }
}

#[test]
fn every_line_is_in_scrollback_and_screen_exactly_once_after_many_resizes() {
    let terminal = Terminal::new(80, 24);
    let mut ui = ui(&terminal, Locale::En, 80, 24);
    let mut random = fastrand::Rng::with_seed(7);
    let mut expect = Vec::new();
    for turn in 0..1000 {
        if turn % 2 == 0 {
            let (width, height) = (random.u16(30..200), random.u16(8..60));
            terminal.resize(width, height);
            let event = TerminalEvent::Resize { width: width.into(), height: height.into() };
            ui.handle(event, Instant::now()).unwrap();
        }
        ui.set_busy(true, Instant::now()).unwrap();
        send(&mut ui, prompt(&format!("prompt {turn}")));
        for word in ["an", "swer ", &turn.to_string(), "\n\n", "sec", "ond\n\n"] {
            send(&mut ui, delta(word));
        }
        ui.set_busy(false, Instant::now()).unwrap();
        expect.extend([format!("❯ prompt {turn}"), format!("answer {turn}"), "second".to_owned()]);
    }
    ui.stop().unwrap();
    let rows: Vec<String> = terminal.rows().into_iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(rows.len(), expect.len());
    assert_eq!(rows, expect);
}

#[test]
fn the_live_rows_fit_every_size() {
    for (width, height) in [(20, 5), (80, 24), (200, 60)] {
        for locale in Locale::ALL {
            let terminal = Terminal::new(width, height);
            let mut ui = ui(&terminal, locale, width.into(), height.into());
            send(&mut ui, prompt("日本語のテキスト"));
            ui.set_busy(true, Instant::now()).unwrap();
            send(&mut ui, delta("one\ntwo\nthree\nfour\nfive\nsix"));
            ui.set_input("a\nb\nc\nd\ne\nf\n日本語");
            ui.draw(Instant::now()).unwrap();
            let rows = terminal.rows();
            assert!(rows.iter().any(|row| row.ends_with("日本語")), "{locale:?} {width}x{height}: {rows:?}");
            assert!(rows.iter().any(|row| row.starts_with("❯ 日本語")), "{rows:?}");
        }
    }
}

#[test]
fn a_turn_looks_like_this() {
    let terminal = Terminal::new(40, 12);
    let mut ui = ui(&terminal, Locale::En, 40, 12);
    send(&mut ui, prompt("Explain this"));
    send(&mut ui, delta("# Title\n\n- one\n- two\n\n```rust\nlet x = 1;\n```\nhalf a senten"));
    ui.set_busy(true, Instant::now()).unwrap();
    let rows = terminal.rows();
    let shown: Vec<&str> = rows.iter().map(String::as_str).filter(|row| !row.is_empty()).collect();
    assert_eq!(shown.get(..5), Some(&["❯ Explain this", "Title", "• one", "• two", "  let x = 1;"][..]));
    assert_eq!(shown.get(5..8), Some(&["half a senten", "○ working · 0 s", "❯"][..]));
}

#[test]
fn while_the_model_is_loaded_a_row_states_that_instead_of_the_work() {
    for (width, height) in [(20, 5), (80, 24)] {
        let terminal = Terminal::new(width, height);
        let mut ui = ui(&terminal, Locale::En, width.into(), height.into());
        let now = Instant::now();
        ui.set_busy(true, now).unwrap();
        let text = Catalogue::new(Locale::En).line(&TuiLine::LoadingModel);
        ui.set_activity(Some(Activity { text, is_cancellable: false }), now).unwrap();
        ui.draw(now + Duration::from_secs(3)).unwrap();
        let rows = terminal.rows().join("\n");
        assert!(rows.contains("○ loading the") && !rows.contains("working"), "{rows}");
        assert!(width < 80 || rows.contains("○ loading the embedded model · 3 s"), "{rows}");
        ui.set_activity(None, now).unwrap();
        let rows = terminal.rows().join("\n");
        assert!(rows.contains("○ working") && !rows.contains("loading"), "{rows}");
    }
}

/// The session of the sub-agent.
const SUBAGENT: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

fn task() -> ToolCall {
    let arguments = json!({ "description": "Find the bug", "prompt": "Search.", "agentId": SUBAGENT });
    ToolCall { id: "t".into(), name: "task".to_owned(), arguments }
}

#[test]
fn a_subagent_has_one_live_line_and_one_finished_line() {
    let terminal = Terminal::new(60, 12);
    let mut ui = ui(&terminal, Locale::En, 60, 12);
    ui.set_busy(true, Instant::now()).unwrap();
    let model_call_id = ModelCallId("m".to_owned());
    send(&mut ui, EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: task() });
    let live: Vec<String> = terminal.rows().into_iter().filter(|row| row.contains("Find the bug")).collect();
    assert_eq!(live, ["○ task Find the bug · 0 s"]);
    let read = json!({ "path": "src/a.rs" });
    let read = ToolCall { id: "r".into(), name: "read".to_owned(), arguments: read };
    let kind = EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: read };
    let now = Instant::now();
    ui.on_subagent_event(SUBAGENT, &Event { seq: 0, at_ms: 0, kind }, now).unwrap();
    let live: Vec<String> = terminal.rows().into_iter().filter(|row| row.contains("Find the bug")).collect();
    assert_eq!(live, ["○ task Find the bug · read src/a.rs · 0 s"]);
    let totals = Box::new(RunTotals { tool_calls: 2, ..RunTotals::default() });
    let output = TaskOutput {
        steps: vec!["one".to_owned(), "two\nlines".to_owned()],
        session_id: SUBAGENT.parse().unwrap(),
        duration_ms: 1,
        totals,
    };
    let outcome = ToolOutcome::Success { output: ToolOutput::Task(output), for_model: "x".into() };
    send(&mut ui, EventKind::ToolCallFinished { model_call_id, call: task(), outcome: Box::new(outcome) });
    ui.stop().unwrap();
    let rows: Vec<String> = terminal.rows().into_iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].contains("Find the bug") && rows[0].ends_with("2 calls"), "{rows:?}");
}

#[test]
fn the_end_of_a_resumed_conversation_is_shown_after_the_number_of_earlier_turns() {
    let terminal = Terminal::new(60, 12);
    let mut ui = ui(&terminal, Locale::En, 60, 12);
    let kinds = [prompt("old"), delta("answer without an end")];
    let events: Vec<Event> = kinds.into_iter().map(|kind| Event { seq: 0, at_ms: 0, kind }).collect();
    ui.show_past(&events, 3, Instant::now()).unwrap();
    ui.stop().unwrap();
    let rows: Vec<String> = terminal.rows().into_iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(rows, ["… 3 earlier turns", "❯ old", "answer without an end"]);
}
