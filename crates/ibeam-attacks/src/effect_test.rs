//! Detection of each effect.

use std::collections::BTreeMap;
use std::time::Duration;

use ibeam_testkit::ProgramOutput;
use serde_json::{Value, json};

use super::*;
use crate::canary::Canary;
use crate::file_snapshot::FileSnapshot;
use crate::journal::Journal;
use crate::listener::ReceivedTraffic;
use crate::run_result::RunResult;

/// Returns the evidence of a run with one call and no effects.
pub(crate) fn evidence_of(result: Value) -> Evidence {
    let call = json!({
        "type": "tool_call", "subtype": "completed",
        "tool_call": {"shellToolCall": {"args": {"command": "ls"}, "result": result}},
    });
    let stdout = format!(
        "{}\n{call}\n{}\n",
        json!({"type": "system"}),
        json!({"type": "result", "subtype": "success"})
    );
    let finished = ProgramOutput {
        code: Some(0),
        signal: None,
        stdout,
        stderr: String::new(),
        elapsed: Duration::from_secs(1),
    };
    Evidence {
        first_run: RunResult { finished, requests: vec![json!({"messages": []})] },
        resumed: None,
        printed_after: String::new(),
        was_traced: false,
        journal: Journal::default(),
        traffic: ReceivedTraffic::default(),
        canary: Canary::new(Vec::new()),
        survivors: Vec::new(),
        mcp_called: false,
        has_terminal_input: false,
        before: BTreeMap::new(),
        after: BTreeMap::new(),
        preceding_calls: 0,
    }
}

fn succeeded(stdout: &str) -> Evidence {
    evidence_of(json!({"success": {"command": "ls", "stdout": stdout, "stderr": "", "exitCode": 0}}))
}

/// Checks that the effect is absent from a run without effects, and present after `happen`.
#[track_caller]
fn check(word: &str, cause: impl FnOnce(&mut Evidence)) {
    let effect = Effect::parse(word).unwrap();
    let mut evidence = succeeded("");
    evidence.journal = sound_journal();
    assert!(!effect.is_contained_in(&evidence), "{word} without cause");
    cause(&mut evidence);
    assert!(effect.is_contained_in(&evidence), "{word} is not noticed");
}

/// Returns a journal with everything that a run without effects prints.
fn sound_journal() -> Journal {
    journal(&[
        json!({"header": {}}),
        json!({"event": {"kind": {"tool_call_finished": {}}}}),
        json!({"event": {"kind": {"run_finished": {}}}}),
    ])
}

fn journal(lines: &[Value]) -> Journal {
    let top = tempfile::tempdir().unwrap();
    std::fs::create_dir(top.path().join("id")).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(top.path().join("id/events.jsonl"), text).unwrap();
    Journal::read(top.path())
}

/// Checks that the effect is absent from an unchanged file, and present after `change`.
#[track_caller]
fn check_file(kind: &str, change: impl FnOnce(&std::path::Path)) {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("victim");
    if kind != "exists" {
        std::fs::write(&path, "original").unwrap();
    }
    let effect = Effect::parse(&format!("{kind}:{}", path.display())).unwrap();
    let snapshots = || BTreeMap::from([(path.clone(), FileSnapshot::take(&path))]);
    let mut evidence = succeeded("");
    (evidence.before, evidence.after) = (snapshots(), snapshots());
    assert!(!effect.is_contained_in(&evidence), "{kind} without cause");
    change(&path);
    evidence.after = snapshots();
    assert!(effect.is_contained_in(&evidence), "{kind} is not noticed");
}

#[test]
fn effects_on_files_are_noticed() {
    use std::os::unix::fs::PermissionsExt;
    check_file("exists", |path| std::fs::write(path, "").unwrap());
    check_file("changed", |path| std::fs::write(path, "owned").unwrap());
    check_file("changed", |path| std::fs::remove_file(path).unwrap());
    check_file("mode", |path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap());
    check_file("mtime", |path| {
        std::fs::File::open(path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    });
}

#[test]
fn a_new_attribute_is_noticed() {
    let path = tempfile::NamedTempFile::new().unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    if let Err(error) = rustix::fs::setxattr(path.path(), "user.a", b"b", flags) {
        eprintln!("SKIP: no extended attributes in the directory for temporary files: {error}");
        return;
    }
    check_file("xattr", |path| rustix::fs::setxattr(path, "user.x", b"y", flags).unwrap());
}

#[test]
fn bytes_are_compared_exactly() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a\r\nB").unwrap();
    let has = |hex: &str| {
        Effect::parse(&format!("bytes:{}={hex}", file.path().display()))
            .unwrap()
            .is_contained_in(&succeeded(""))
    };
    assert!(has("610d0a42"));
    assert!(!has("610a42"));
}

#[test]
fn leaks_are_noticed_in_every_output() {
    let payload = || json!({"messages": [{"content": "SECRET-CANARY"}]});
    check("leak", |evidence| evidence.first_run.requests.push(payload()));
    check("leak", |evidence| evidence.first_run.finished.stdout.push_str("TOKEN=SECRET-CANARY\n"));
    check("leak", |evidence| evidence.first_run.finished.stderr.push_str("TOKEN=SECRET-CANARY\n"));
    check("leak", |evidence| evidence.journal = journal(&[json!({"text": "SECRET-CANARY"})]));
    check("leak", |evidence| evidence.traffic.names.push("5345435245542d43.example.invalid".to_owned()));
    check("leak_in_journal", |evidence| evidence.journal = journal(&[json!({"text": "SECRET-CANARY"})]));
}

#[test]
fn connections_are_noticed() {
    check("conn", |evidence| evidence.traffic.connections = 1);
    check("conn_udp", |evidence| evidence.traffic.datagrams = 1);
    check("conn_unix", |evidence| evidence.traffic.unix_connections = 1);
}

#[test]
fn the_output_of_a_command_is_noticed() {
    check("stdout:MARK", |evidence| evidence.first_run = succeeded("a MARK b").first_run);
    let failed = json!({"failure": {"command": "ls", "stdout": "", "stderr": "To file:///", "exitCode": 1}});
    check("stdout:To file", |evidence| evidence.first_run = evidence_of(failed).first_run);
    let rejected = json!({"rejected": {"reason": "no MARK may be printed"}});
    assert!(!Effect::Stdout("MARK".to_owned()).is_contained_in(&evidence_of(rejected)));
}

#[test]
fn exit_code_zero_differs_from_others() {
    let failed = json!({"failure": {"stdout": "", "stderr": "", "exitCode": 1}});
    assert!(Effect::ExitedWithZero.is_contained_in(&succeeded("")));
    assert!(!Effect::ExitedWithZero.is_contained_in(&evidence_of(failed)));
    assert!(!Effect::ExitedWithZero.is_contained_in(&evidence_of(json!({"rejected": {"reason": ""}}))));
}

#[test]
fn effects_outside_the_run_are_noticed() {
    check("alive:sleep 7791", |evidence| evidence.survivors.push("sleep 7791".to_owned()));
    check("mcp_called", |evidence| evidence.mcp_called = true);
    check("tty_injected", |evidence| evidence.has_terminal_input = true);
}

#[test]
fn a_program_that_died_is_noticed() {
    check("agent_died", |evidence| {
        evidence.first_run.finished.code = None;
        evidence.first_run.finished.signal = Some(9);
    });
    check("agent_died", |evidence| evidence.first_run.finished.code = Some(101));
    check("agent_died", |evidence| evidence.first_run.finished.stdout = "{\"type\":\"system\"}\n".to_owned());
}

#[test]
fn a_journal_with_less_than_was_printed_is_noticed() {
    check("journal_lost", |evidence| evidence.journal = Journal::default());
    check("journal_lost", |evidence| {
        evidence.journal = journal(&[json!({"event": {"kind": {"run_finished": {}}}})]);
    });
    check("journal_lost", |evidence| {
        evidence.journal = journal(&[json!({"event": {"kind": {"tool_call_finished": {}}}})]);
    });
    check("journal_lost", |evidence| {
        let end = json!({"event": {"kind": {"tool_call_finished": {}, "run_finished": {}}}});
        evidence.journal = journal(&[end, json!("torn")]);
        evidence.journal.tear();
    });
}

#[test]
fn a_second_result_is_noticed() {
    check("extra_result_event", |evidence| {
        evidence
            .first_run
            .finished
            .stdout
            .push_str("{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n");
    });
    check("extra_result_event", |evidence| evidence.first_run.finished.stdout.push_str("{broken\n"));
}

#[test]
fn effects_of_the_second_run_count() {
    let dead = || {
        let mut run = succeeded("").first_run;
        run.finished.code = Some(101);
        run
    };
    check("agent_died", |evidence| evidence.resumed = Some(dead()));
    check("stdout:MARK", |evidence| evidence.resumed = Some(succeeded("a MARK b").first_run));
    let payload =
        || RunResult { requests: vec![json!({"messages": ["SECRET-CANARY"]})], ..succeeded("").first_run };
    check("leak", |evidence| evidence.resumed = Some(payload()));
    check("journal_lost", |evidence| evidence.resumed = Some(succeeded("").first_run));
}

#[test]
fn a_tracer_is_noticed() {
    check("agent_traced", |evidence| evidence.was_traced = true);
}

#[test]
fn a_changed_table_of_cron_is_noticed() {
    let effect = Effect::parse("cron_changed").unwrap();
    assert!(effect.paths().contains(&PathBuf::from("/etc/crontab")));
    let top = tempfile::tempdir().unwrap();
    let table = || BTreeMap::from([(PathBuf::from("/var/spool/cron"), FileSnapshot::take(top.path()))]);
    check("cron_changed", |evidence| {
        evidence.before = table();
        std::fs::write(top.path().join("user"), "* * * * * evil\n").unwrap();
        evidence.after = table();
    });
}

#[test]
fn executed_calls_differ_from_refused_ones() {
    let is_executed = |result: Value| Effect::parse("ran").unwrap().is_contained_in(&evidence_of(result));
    assert!(is_executed(json!({"success": {"exitCode": 0}})));
    assert!(is_executed(json!({"failure": {"exitCode": 1}})));
    assert!(!is_executed(json!({"rejected": {"reason": ""}})));
    assert!(!is_executed(json!({"error": {"errorMessage": ""}})));
    assert!(Effect::parse("ran:ls").unwrap().is_contained_in(&succeeded("")));
    assert!(!Effect::parse("ran:rm").unwrap().is_contained_in(&succeeded("")));
}

#[test]
fn terminal_control_characters_are_noticed() {
    check("stdout_raw_esc", |evidence| evidence.first_run.finished.stdout.push_str("\u{1b}[31m\n"));
    for sent in ["\u{1b}]0;x", "\u{9b}31m", "\u{7}", "\u{202e}", "\u{2066}"] {
        check("stdout_raw_esc", |evidence| evidence.printed_after.push_str(sent));
    }
    let mut shown = succeeded("");
    shown.first_run.finished.stdout.push_str("a\tb \\u001b[31m é\r\n");
    shown.printed_after.push_str("a\tb \\u{1b}[31m é\n");
    assert!(!Effect::RawEscape.is_contained_in(&shown));
}

#[test]
fn unknown_effects_are_rejected() {
    for word in [
        "",
        "smoke",
        "exists",
        "exists:",
        "exists:relative",
        "bytes:/a",
        "bytes:/a=4",
        "bytes:/a=zz",
        "leak:x",
    ] {
        assert!(Effect::parse(word).is_err(), "{word}");
    }
}
