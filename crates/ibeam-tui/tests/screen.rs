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
use ibeam_protocol::tool_output::{EditOutput, TaskOutput};
use ibeam_protocol::{Event, EventKind, ModelCallId, RunTotals, ToolCall, ToolOutcome, ToolOutput};
use ibeam_tui::{
    Activity, Line, Palette, Screen, Style, TerminalEvent, TerminalTraits, TuiLine, Ui, UiOptions,
};
use serde_json::json;

use terminal::Terminal;

fn ui(terminal: &Terminal, locale: Locale, width: usize, height: usize) -> Ui<Terminal> {
    let options = UiOptions {
        catalogue: Arc::new(Catalogue::new(locale)),
        history: Vec::new(),
        commands: Vec::new(),
        list_files: Box::new(|_| Vec::new()),
        title: None,
    };
    let traits = TerminalTraits { palette: Palette::Dark, reflows: false };
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
        assert!(rows.contains("○ loading") && !rows.contains("working"), "{rows}");
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

#[test]
fn the_status_has_only_whole_items() {
    for locale in Locale::ALL {
        let keys = Catalogue::new(locale).line(&ibeam_tui::TuiLine::KeysIdle);
        for width in [20, 40, 60, 80, 100, 160] {
            let terminal = Terminal::new(width, 24);
            let _ui = ui(&terminal, locale, width.into(), 24);
            let rows = terminal.rows();
            let status = rows.iter().rfind(|row| !row.is_empty()).unwrap();
            let whole = status.split(" · ").all(|item| keys.split(" · ").any(|key| key == item));
            let is_first_alone = !status.contains(" · ");
            assert!(whole || is_first_alone, "{locale:?} {width}: {status}");
        }
    }
}

#[test]
fn a_question_on_a_small_screen_shows_choices_around_the_selected_one() {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let terminal = Terminal::new(20, 5);
    let mut ui = ui(&terminal, Locale::En, 20, 5);
    let now = Instant::now();
    let rule = Some("Shell(echo:hello*)".to_owned());
    let question = ibeam_tui::Question {
        call: "c".into(),
        body: Vec::new(),
        change: Vec::new(),
        lasting: ibeam_tui::LastingAnswers { same_call: true, rule, ..ibeam_tui::LastingAnswers::default() },
        reply: Box::new(drop),
    };
    ui.ask(question, now).unwrap();
    let shown = |terminal: &Terminal| terminal.rows().join("\n");
    assert!(shown(&terminal).contains("Allow this?\n1/6 yes, once\n"), "{}", shown(&terminal));
    let later = now + std::time::Duration::from_secs(1);
    for _ in 0..5 {
        let key = KeyEvent::new(KeyCode::Down, KeyModifiers::NONE);
        ui.handle(TerminalEvent::Key(key), later).unwrap();
    }
    let text = shown(&terminal);
    assert!(text.contains("5/6 no\n") && !text.contains("1/6"), "{text}");
    for width in [10, 20, 30, 40, 80] {
        for height in 2..24 {
            terminal.resize(width, height);
            let size = TerminalEvent::Resize { width: width.into(), height: height.into() };
            ui.handle(size, later).unwrap();
            let text = shown(&terminal);
            assert!(height < 3 || text.contains('4') && text.contains("no"), "{width}x{height}: {text}");
        }
    }
}

/// In tmux, clearing from the first cell of the screen on moves its rows to the scrollback.
#[test]
fn the_screen_is_never_cleared_from_the_first_cell_of_a_row_on() {
    #[derive(Clone, Default)]
    struct Bytes(Arc<std::sync::Mutex<Vec<u8>>>);
    impl std::io::Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let bytes = Bytes::default();
    let options = UiOptions {
        catalogue: Arc::new(Catalogue::new(Locale::En)),
        history: Vec::new(),
        commands: Vec::new(),
        list_files: Box::new(|_| Vec::new()),
        title: None,
    };
    let traits = TerminalTraits { palette: Palette::Dark, reflows: true };
    let mut ui = Ui::new(Screen::new(bytes.clone(), traits, 80, 24), options);
    ui.start(Instant::now()).unwrap();
    ui.set_input("text");
    ui.draw(Instant::now()).unwrap();
    ui.stop().unwrap();
    let text = String::from_utf8(bytes.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("\u{1b}[C\u{1b}[J") && !text.contains("\r\u{1b}[J"), "{text:?}");
}

#[test]
fn the_wait_for_an_answer_is_no_time_of_the_call() {
    let terminal = Terminal::new(80, 24);
    let mut ui = ui(&terminal, Locale::En, 80, 24);
    let now = Instant::now();
    let call = ToolCall { id: "c".into(), name: "ls".to_owned(), arguments: json!({ "path": "." }) };
    let model_call_id = ModelCallId("m".to_owned());
    let decided = serde_json::from_value(json!({
        "call_id": "c", "tool": "ls", "allowed": true, "rule": "person"
    }));
    let outcome = Box::new(ToolOutcome::Rejected { reason: "a\rb\r".into() });
    for (at_ms, kind) in [
        (0, EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: call.clone() }),
        (60_000, EventKind::PermissionDecided(decided.unwrap())),
        (60_500, EventKind::ToolCallFinished { model_call_id, call, outcome }),
    ] {
        ui.on_event(&Event { seq: 0, at_ms, kind }, now);
    }
    ui.draw(now).unwrap();
    let rows = terminal.rows().join("\n");
    assert!(rows.contains("· 0.5 s") && !rows.contains("min"), "{rows}");
    assert!(rows.contains("\n  b\n"), "what a progress bar overwrites is not shown: {rows}");
}

/// Returns the question about an edit and the edit as it is finished.
fn consented_edit(diff: &str) -> (ibeam_tui::Question, EventKind) {
    let arguments = json!({ "path": "f", "strReplace": { "oldText": "old", "newText": "new" } });
    let call = ToolCall { id: "c".into(), name: "edit".to_owned(), arguments };
    let question = ibeam_tui::Question {
        call: call.id.clone(),
        body: Vec::new(),
        change: ibeam_tui::diff_lines("@@ -1 +1 @@\n-old\n+new\n"),
        lasting: ibeam_tui::LastingAnswers::default(),
        reply: Box::new(drop),
    };
    let output = EditOutput {
        path: "/w/f".into(),
        lines_added: 1,
        lines_removed: 1,
        diff: diff.to_owned(),
        message: String::new(),
    };
    let outcome = ToolOutcome::Success { output: ToolOutput::Edit(output), for_model: "x".into() };
    let model_call_id = ModelCallId("m".to_owned());
    (question, EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) })
}

#[test]
fn a_change_that_the_question_has_shown_is_not_printed_again() {
    for (diff, count) in [("@@ -1 +1 @@\n-old\n+new\n", 1), ("@@ -1 +1 @@\n-old\n+new\n+newer\n", 2)] {
        let terminal = Terminal::new(60, 12);
        let mut ui = ui(&terminal, Locale::En, 60, 12);
        let now = Instant::now();
        let (question, finished) = consented_edit(diff);
        ui.ask(question, now).unwrap();
        let key = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Char('y'));
        ui.handle(TerminalEvent::Key(key), now + Duration::from_secs(1)).unwrap();
        send(&mut ui, finished.clone());
        ui.stop().unwrap();
        let rows = terminal.rows();
        // Where the file has changed since the question, the person sees what was really done.
        assert_eq!(rows.iter().filter(|row| *row == "  +new").count(), count, "{rows:?}");
        assert!(rows.iter().any(|row| row.contains("+1 −1")), "{rows:?}");
        // Nobody was asked about this one.
        send(&mut ui, finished);
        let rows = terminal.rows();
        assert_eq!(rows.iter().filter(|row| *row == "  +new").count(), count + 1, "{rows:?}");
    }
}

#[test]
fn the_status_row_has_the_keys_of_what_runs() {
    for (width, expect) in [
        (80, "Claude · agent · Esc interrupts · Enter adds to this turn · Tab queues"),
        (20, "Esc interrupts"),
    ] {
        let terminal = Terminal::new(width, 12);
        let mut ui = ui(&terminal, Locale::En, width.into(), 12);
        let now = Instant::now();
        ui.set_status("Claude", ibeam_protocol::PermissionMode::Default, None);
        ui.set_busy(true, now).unwrap();
        let status = || terminal.rows().into_iter().rfind(|row| !row.is_empty()).unwrap();
        assert_eq!(status(), expect);
        ui.ask(consented_edit("").0, now).unwrap();
        assert!(!status().contains("this turn"), "{}", status());
        assert!(width < 80 || status().ends_with("↑ ↓ or a number, Enter · Esc interrupts"), "{}", status());
    }
}

#[test]
fn words_of_a_question_and_of_a_failure_are_not_broken() {
    let command = "cargo test --workspace --all-targets --no-fail-fast -- --include-ignored";
    for width in [40_u16, 60] {
        let terminal = Terminal::new(width, 24);
        let mut ui = ui(&terminal, Locale::En, width.into(), 24);
        let (mut question, _) = consented_edit("");
        question.body = vec![Line::new(Style::BOLD, &format!("  {command}"))];
        ui.ask(question, Instant::now()).unwrap();
        let call = ToolCall { id: "c".into(), name: "ls".to_owned(), arguments: json!({ "path": "." }) };
        let reason = "the file does not contain the text that was to be replaced; read the file again";
        let outcome = Box::new(ToolOutcome::error(reason.to_owned()));
        let model_call_id = ModelCallId("m".to_owned());
        send(&mut ui, EventKind::ToolCallFinished { model_call_id, call, outcome });
        ui.stop().unwrap();
        let rows = terminal.rows();
        for word in command.split(' ').chain(reason.split(' ')) {
            assert!(rows.iter().any(|row| row.split(' ').any(|shown| shown == word)), "{word}: {rows:?}");
        }
    }
}

#[test]
fn waiting_is_not_thinking_on_the_screen() {
    let terminal = Terminal::new(80, 24);
    let mut ui = ui(&terminal, Locale::En, 80, 24);
    ui.set_busy(true, Instant::now()).unwrap();
    send(&mut ui, prompt("think"));
    assert!(terminal.rows().join("\n").contains("waiting for the model · 0 s"), "{:?}", terminal.rows());
    send(&mut ui, EventKind::ThinkingDelta { text: "hm".to_owned() });
    assert!(terminal.rows().join("\n").contains("thinking · 0 s"), "{:?}", terminal.rows());
}
