//! The cost of writing the line of a text delta or a call, on the thread that writes stdout.
//!
//! Rows named `by_…` are the baselines of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::io;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use ibeam_output::{EventWriter, StreamJson};
use ibeam_protocol::tool_output::ReadOutput;
use ibeam_protocol::*;
use serde_json::json;

fn main() {
    divan::main();
}

const ITEMS: usize = 10_000;
const TEXTS: [&str; 3] = ["word ", "読んで", "a \"quoted\" line"];

mod delta {
    use super::*;

    #[divan::bench(args = TEXTS)]
    fn stream_json(bencher: Bencher<'_, '_>, text: &str) {
        measure(bencher, &[delta(text)]);
    }

    #[divan::bench(args = TEXTS)]
    fn by_memcpy(bencher: Bencher<'_, '_>, text: &str) {
        memcpy(bencher, &[delta(text)]);
    }
}

mod call {
    use super::*;

    #[divan::bench]
    fn stream_json(bencher: Bencher<'_, '_>) {
        measure(bencher, &call());
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &call());
    }
}

/// Writes the start of a run, then repeats these events until there are `ITEMS`.
fn lines(events: &[Event], out: impl io::Write) {
    let mut writer = StreamJson::new(out);
    writer.write(black_box(&started())).unwrap();
    for event in events.iter().cycle().take(ITEMS) {
        writer.write(black_box(event)).unwrap();
    }
    writer.flush().unwrap();
}

fn printed(events: &[Event]) -> Vec<u8> {
    let mut printed = Vec::new();
    lines(events, &mut printed);
    assert_eq!(printed.iter().filter(|byte| **byte == b'\n').count(), ITEMS + 1);
    printed
}

fn measure(bencher: Bencher<'_, '_>, events: &[Event]) {
    bencher
        .counter(BytesCount::of_slice(&printed(events)))
        .counter(ItemsCount::new(ITEMS))
        .bench_local(|| lines(events, io::sink()));
}

fn memcpy(bencher: Bencher<'_, '_>, events: &[Event]) {
    let printed = printed(events);
    let mut copy = vec![0; printed.len()];
    bencher.counter(BytesCount::of_slice(&printed)).bench_local(|| {
        copy.copy_from_slice(black_box(&printed));
        black_box(copy.last().copied())
    });
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq, at_ms: 1_764_000_000_000, kind }
}

fn delta(text: &str) -> Event {
    event(1, EventKind::TextDelta { text: text.to_owned() })
}

/// Returns the start and the end of a read of two kilobytes.
fn call() -> [Event; 2] {
    let model_call_id = ModelCallId("m1".to_owned());
    let arguments = json!({ "path": "src/main.rs" });
    let call = ToolCall { id: CallId("call_1".to_owned()), name: "read".to_owned(), arguments };
    let content = "    let words = \"a line of a program\";\n".repeat(52);
    let output = ToolOutput::Read(ReadOutput {
        media: Vec::new(),
        is_empty: false,
        exceeded_limit: false,
        total_lines: 52,
        total_chars: content.len() as u64,
        content: content.clone(),
    });
    let outcome = ToolOutcome::Success { output, for_model: content.into() };
    [
        event(1, EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: call.clone() }),
        event(2, EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) }),
    ]
}

fn started() -> Event {
    let kind = EventKind::RunStarted(Box::new(RunStarted {
        session_id: SessionId::random(),
        cwd: "/project".into(),
        model: ModelInfo { provider: "p".into(), id: "m".into(), display: "M".into() },
        key_source: KeySource::Env,
        permission_mode: PermissionMode::Default,
        tools: Vec::new(),
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: "0".into(),
        limits: Limits { max_turns: 1, ..Limits::NONE },
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
        ephemeral: false,
        environment: None,
    }));
    Event { seq: 0, at_ms: 0, kind }
}
