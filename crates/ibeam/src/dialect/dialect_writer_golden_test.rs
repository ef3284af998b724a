//! Runs of the journal's events, as each dialect writes them: `tests/golden/dialect_writer`.
//!
//! `IBEAM_BLESS=1` writes the streams that come out now. Ids and times that differ from run to run are replaced.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_protocol::Event;
use regex::{Captures, Regex};

use super::tests::writer_with;
use super::*;
use crate::dialect::Input;
use ibeam_protocol::{EventKind, Reason};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dialect_writer")
}

fn events(name: &str) -> Vec<Event> {
    let text = fs::read_to_string(folder().join(format!("{name}.events.ndjson"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replaces ids by their order of appearance, and present times.
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

#[track_caller]
fn check(name: &str, options: impl FnOnce(&mut DialectOptions), stories: &[&str], failure: Option<CliError>) {
    let (writer, paper) = writer_with(options);
    writer.set_model_limits(Some(1_000_000), None);
    let mut calls = String::new();
    let mut events_out = writer.event_writer();
    for story in stories {
        writer.start_run();
        for event in events(story) {
            events_out.write(&event).unwrap();
            events_out.flush().unwrap();
            if let EventKind::ToolCallStarted { call, .. } = &event.kind
                && let Some((name, input)) = writer.reported_call(&call.id.to_string())
            {
                calls.push_str(&format!("reported {} {name} {input}\n", call.id));
            }
        }
    }
    failure.iter().for_each(|failure| writer.write_failure(failure));
    let mut now = normalized(&(paper.text() + &calls));
    if stories.is_empty() {
        // The head of a failure before a run shows where and with which key the tests run.
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

fn options(dialect: DialectName, output: Output) -> impl FnOnce(&mut DialectOptions) {
    move |options| (options.dialect, options.output) = (dialect, output)
}

#[test]
fn streams_of_each_dialect_are_as_they_were() {
    for dialect in [DialectName::Claude, DialectName::Codex, DialectName::Gemini, DialectName::Opencode] {
        check(&format!("{dialect}-stream"), options(dialect, Output::Stream), ALL, None);
        let failure = Some(CliError::from(Reason::EmptyPrompt));
        check(&format!("{dialect}-no-run"), options(dialect, Output::Stream), &[], failure);
    }
}

#[test]
fn the_other_outputs_are_as_they_were() {
    for dialect in [DialectName::Claude, DialectName::Codex] {
        check(&format!("{dialect}-final-message"), options(dialect, Output::FinalMessage), ALL, None);
    }
    check("claude-last-line", options(DialectName::Claude, Output::LastLine), ALL, None);
}

#[test]
fn options_of_claude_act_as_they_did() {
    let partial = |options: &mut DialectOptions| {
        options.dialect = DialectName::Claude;
        (options.partial_messages, options.echo_prompts, options.ask_host) = (true, true, true);
        options.input = Input::Messages;
        options.claude.mode = "acceptEdits".to_owned();
    };
    check("claude-partial-echo", partial, ALL, None);
    let session = "0199a213-81c0-7800-8aa1-bbab2a035a53".to_owned();
    let failure = CliError::from(Reason::UnknownSession { session: session.clone() });
    let known = |options: &mut DialectOptions| {
        options.dialect = DialectName::Claude;
        options.claude.session = Some(session);
        options.claude.model = Some("claude-x".to_owned());
    };
    check("claude-unknown-session", known, &[], Some(failure));
    let failure = CliError::from(Reason::UnknownSession { session: "s".to_owned() });
    check("codex-unknown-session", options(DialectName::Codex, Output::Stream), &[], Some(failure));
}
