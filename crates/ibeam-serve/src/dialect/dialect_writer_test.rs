//! Runs of journal events through the writer of each dialect.
//!
//! `tests/golden/dialect_writer` has the events and the streams; `IBEAM_BLESS=1` replaces the streams.
//! Ids and times that differ from run to run are replaced.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_dialects::DialectName;
use ibeam_protocol::{Reason, RunFinished};
use regex::{Captures, Regex};
use serde_json::json;

use super::*;
use crate::dialect::PromptSource;

/// A replacement of stdout.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn writer(dialect: DialectName, output: DialectOutput) -> (DialectWriter, Captured) {
    writer_with(options(dialect, output))
}

fn writer_with(change: impl FnOnce(&mut DialectOptions)) -> (DialectWriter, Captured) {
    let out = Captured::default();
    let mut options = DialectOptions::new(DialectName::Claude);
    (options.input, options.ask_host) = (PromptSource::Messages, true);
    change(&mut options);
    (DialectWriter::new(options, out.clone()), out)
}

fn options(dialect: DialectName, output: DialectOutput) -> impl FnOnce(&mut DialectOptions) {
    move |options| (options.dialect, options.output) = (dialect, output)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dialect_writer")
}

fn events(name: &str) -> Vec<Event> {
    let text = fs::read_to_string(folder().join(format!("{name}.events.ndjson"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replaces ids by their order of appearance, and current times.
fn normalized(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let ids = Regex::new(
        r"(msg_|prt_)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(msg|prt)_[0-9a-f]{24,32}",
    )
    .unwrap();
    let text = ids.replace_all(text, |id: &Captures<'_>| {
        let id = id[0].to_owned();
        let at = seen.iter().position(|known| *known == id).unwrap_or_else(|| {
            seen.push(id.clone());
            seen.len() - 1
        });
        let kind = id.split_once('_').map_or("uuid", |(kind, _)| kind);
        format!("{kind}-{at}")
    });
    let times = Regex::new(r#""20\d\d-\d\d-\d\dT[0-9:.]+Z"|\b1[5-9]\d{11}\b"#).unwrap();
    times.replace_all(&text, "\"NOW\"").into_owned()
}

/// Writes a failure before the first run.
fn write_failure(writer: &DialectWriter, reason: &Reason) {
    writer.write_failure(failure_event(&reason.clone().into(), None), Some(reason));
}

#[track_caller]
fn check(name: &str, options: impl FnOnce(&mut DialectOptions), runs: &[&str], failure: Option<Reason>) {
    let (writer, out) = writer_with(options);
    let limits = ModelLimits { context_window: Some(1_000_000), ..ModelLimits::default() };
    writer.on_model("claude-sonnet-4-6", limits);
    let mut calls = String::new();
    let mut event_writer = writer.event_writer();
    for run in runs {
        writer.start_run();
        for event in events(run) {
            event_writer.write(&event).unwrap();
            event_writer.flush().unwrap();
            if let EventKind::ToolCallStarted { call, .. } = &event.kind
                && let Some((name, input)) = writer.reported_call(&call.id.to_string())
            {
                calls.push_str(&format!("reported {} {name} {input}\n", call.id));
            }
        }
    }
    failure.iter().for_each(|failure| write_failure(&writer, failure));
    let mut now = normalized(&(out.text() + &calls));
    if runs.is_empty() {
        // The head of a failure before a run contains the directory and the key of the test environment.
        let directory = std::env::current_dir().unwrap().canonicalize().unwrap();
        now = now.replace(directory.to_str().unwrap(), "/here").replace("\"ANTHROPIC_API_KEY\"", "\"none\"");
    }
    let path = folder().join(format!("{name}.out"));
    if std::env::var_os("IBEAM_BLESS").is_some() {
        return fs::write(path, now).unwrap();
    }
    let was = fs::read_to_string(&path).unwrap_or_default();
    assert!(was == now, "{} differs; see with IBEAM_BLESS=1 and `git diff`", path.display());
}

const ALL: &[&str] = &["tools", "failed", "withheld"];

#[test]
fn streams_of_each_dialect_are_unchanged() {
    for dialect in [DialectName::Claude, DialectName::Codex, DialectName::Gemini, DialectName::Opencode] {
        check(&format!("{dialect}-stream"), options(dialect, DialectOutput::Stream), ALL, None);
        let failure = Some(Reason::EmptyPrompt);
        check(&format!("{dialect}-no-run"), options(dialect, DialectOutput::Stream), &[], failure);
    }
}

#[test]
fn other_outputs_are_unchanged() {
    for dialect in [DialectName::Claude, DialectName::Codex] {
        check(&format!("{dialect}-final-message"), options(dialect, DialectOutput::FinalMessage), ALL, None);
    }
    check("claude-last-line", options(DialectName::Claude, DialectOutput::LastLine), ALL, None);
}

#[test]
fn options_of_claude_act_unchanged() {
    let partial = |options: &mut DialectOptions| {
        options.dialect = DialectName::Claude;
        (options.partial_messages, options.echo_prompts, options.ask_host) = (true, true, true);
        options.input = PromptSource::Messages;
        options.claude.mode = "acceptEdits".to_owned();
    };
    check("claude-partial-echo", partial, ALL, None);
    let session = "0199a213-81c0-7800-8aa1-bbab2a035a53".to_owned();
    let failure = Reason::UnknownSession { session: session.clone() };
    let known = |options: &mut DialectOptions| {
        options.dialect = DialectName::Claude;
        options.unknown_session_message = Some("No conversation found with session ID: ");
        options.claude.session_id = Some(session);
        options.claude.model = Some("claude-x".to_owned());
    };
    check("claude-unknown-session", known, &[], Some(failure));
    let failure = Reason::UnknownSession { session: "s".to_owned() };
    let known = |options: &mut DialectOptions| {
        options.dialect = DialectName::Codex;
        options.unknown_session_message = Some("no rollout found for thread id ");
    };
    check("codex-unknown-session", known, &[], Some(failure));
}

const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

/// The start of a run, with its prompt.
fn start() -> Vec<Event> {
    events("tools").into_iter().take(2).collect()
}

fn text(text: &str) -> Event {
    Event { seq: 2, at_ms: 2, kind: EventKind::TextDelta { text: text.to_owned() } }
}

fn call() -> Event {
    let arguments = json!({ "command": "ls", "workingDirectory": "/w", "timeout": 1000 });
    let call = ibeam_protocol::ToolCall { id: "c1".into(), name: "shell".into(), arguments };
    Event { seq: 3, at_ms: 3, kind: EventKind::ToolCallStarted { model_call_id: "m1".into(), call } }
}

fn end() -> Event {
    let finished = RunFinished {
        session_id: SESSION.parse().unwrap(),
        outcome: RunOutcome::Completed,
        duration_ms: 5,
        totals: Default::default(),
        partial: None,
        structured: None,
        ephemeral: false,
    };
    Event { seq: 4, at_ms: 4, kind: EventKind::RunFinished(Box::new(finished)) }
}

fn write(writer: &DialectWriter, events: impl IntoIterator<Item = Event>) {
    let mut event_writer = writer.event_writer();
    for event in events {
        event_writer.write(&event).unwrap();
        event_writer.flush().unwrap();
    }
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn a_complete_line_is_written_at_once() {
    let (writer, out) = writer(DialectName::Codex, DialectOutput::Stream);
    write(&writer, start().into_iter().take(1));
    assert_eq!(types(&out.lines())[0], "thread.started");
    write(&writer, [text("Hello"), end()]);
    assert_eq!(*types(&out.lines()).last().unwrap(), "turn.completed");
}

#[test]
fn pieces_of_a_text_come_before_the_complete_text() {
    let (writer, out) = writer_with(|options| options.partial_messages = true);
    write(&writer, start().into_iter().chain([text("Hel"), text("lo"), end()]));
    let lines = out.lines();
    let streamed: Vec<&Value> = lines.iter().filter(|line| line["type"] == "stream_event").collect();
    let kinds: Vec<&str> = streamed.iter().map(|line| line["event"]["type"].as_str().unwrap()).collect();
    let (start, delta, end) = ("content_block_start", "content_block_delta", "content_block_stop");
    assert_eq!(kinds, ["message_start", start, delta, delta, end, "message_delta", "message_stop"]);
    let text: String = streamed.iter().filter_map(|line| line["event"]["delta"]["text"].as_str()).collect();
    assert_eq!(text, "Hello");
    assert!(streamed.iter().all(|line| line["session_id"] == SESSION), "{lines:?}");
    let last: Vec<&str> = types(&lines).into_iter().rev().take(2).collect();
    assert_eq!(last, ["result", "assistant"]);
}

#[test]
fn one_writer_writes_many_runs() {
    let (writer, out) = writer(DialectName::Claude, DialectOutput::Stream);
    for _ in 0..2 {
        writer.start_run();
        write(&writer, start().into_iter().chain([text("Hello"), end()]));
    }
    assert_eq!(types(&out.lines()), ["system", "assistant", "result", "system", "assistant", "result"]);
}

#[test]
fn the_final_message_is_the_text_after_the_last_call_or_before_it() {
    for (body, expect) in [
        (vec![text("I look. "), call(), text("Hel"), text("lo")], "Hello\n"),
        (vec![text("I look. "), call()], "I look. \n"),
        (vec![call()], ""),
    ] {
        let (writer, out) = writer(DialectName::Codex, DialectOutput::FinalMessage);
        write(&writer, start().into_iter().chain(body).chain([end()]));
        assert_eq!(out.text(), expect);
    }
}

#[test]
fn a_failure_is_written_once_and_before_a_run_too() {
    for (dialect, last) in [(DialectName::Claude, "result"), (DialectName::Codex, "turn.failed")] {
        let (writer, out) = writer(dialect, DialectOutput::Stream);
        write_failure(&writer, &Reason::EmptyPrompt);
        write_failure(&writer, &Reason::EmptyPrompt);
        let lines = out.lines();
        let ends = types(&lines).into_iter().filter(|kind| *kind == last).count();
        assert_eq!((ends, types(&lines).last().copied()), (1, Some(last)), "{lines:?}");
    }
}

#[test]
fn an_event_before_the_start_of_a_run_is_an_error() {
    let (writer, _out) = writer(DialectName::Codex, DialectOutput::Stream);
    assert!(writer.event_writer().write(&text("Hello")).is_err());
}
