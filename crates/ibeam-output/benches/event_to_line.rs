//! From an event to its line: what each text delta costs the thread that writes stdout.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::io;

use divan::Bencher;
use divan::counter::ItemsCount;
use ibeam_output::{EventWriter, StreamJson};
use ibeam_protocol::{
    Event, EventKind, KeySource, Limits, ModelInfo, PermissionMode, Sandbox, SessionId, SessionStarted,
};

const DELTAS: usize = 10_000;

fn main() {
    divan::main();
}

#[divan::bench(args = ["word ", "読んで", "a \"quoted\" line"])]
fn stream_json_deltas(bencher: Bencher<'_, '_>, text: &str) {
    let delta = Event { seq: 1, at_ms: 1_764_000_000_000, kind: EventKind::TextDelta { text: text.into() } };
    bencher.counter(ItemsCount::new(DELTAS)).bench(|| {
        let mut writer = StreamJson::new(io::sink());
        writer.write(black_box(&started())).unwrap();
        for _ in 0..DELTAS {
            writer.write(black_box(&delta)).unwrap();
        }
        writer.flush().unwrap();
    });
}

fn started() -> Event {
    let kind = EventKind::SessionStarted(Box::new(SessionStarted {
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
    }));
    Event { seq: 0, at_ms: 0, kind }
}
