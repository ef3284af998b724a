//! A session whose journal lacks, repeats or moves lines is resumed with a warning.

use ibeam_testkit::scene::{Scene, WIRES, answer_text};
use ibeam_testkit::{Answer, Wire, Workspace};
use serde_json::json;

/// Returns the index of the line with the first event of this kind.
fn line_of(lines: &[String], kind: &str) -> usize {
    let wanted = format!("\"{kind}\":");
    lines.iter().position(|line| line.contains(&wanted)).unwrap()
}

type Edit = fn(&mut Vec<String>);

/// All edits after which a result lacks its call, or a call its result.
const EDITS: [(&str, Edit); 8] = [
    ("the result is lost", |lines| drop(lines.remove(line_of(lines, "tool_call_finished")))),
    ("the answer is lost", |lines| drop(lines.remove(line_of(lines, "model_request_finished")))),
    ("the prompt is lost", |lines| drop(lines.remove(line_of(lines, "user_message")))),
    ("the result is repeated", |lines| {
        let at = line_of(lines, "tool_call_finished");
        lines.insert(at, lines[at].clone());
    }),
    ("the answer is repeated", |lines| {
        let at = line_of(lines, "model_request_finished");
        lines.insert(at, lines[at].clone());
    }),
    ("the answer comes again at the end", |lines| {
        lines.push(lines[line_of(lines, "model_request_finished")].clone());
    }),
    ("the result comes before the answer", |lines| {
        let (answer, result) =
            (line_of(lines, "model_request_finished"), line_of(lines, "tool_call_finished"));
        lines.swap(answer, result);
    }),
    ("the result comes before the start", |lines| {
        let (start, result) = (line_of(lines, "tool_call_started"), line_of(lines, "tool_call_finished"));
        lines.swap(start, result);
    }),
];

/// Resumes a session after `edit`; the scripted server refuses a request with unpaired calls.
fn check(wire: Wire, what: &str, edit: Edit) {
    let answers = [
        Answer::new().text("Looking. ").call("t1", "read", &json!({ "path": "n.txt" })).call(
            "t2",
            "read",
            &json!({ "path": "n.txt" }),
        ),
        answer_text("It is 42."),
    ];
    let scene = Scene::with_wire(wire, answers).with_workspace(Workspace::new().file("n.txt", "42\n"));
    let id = scene.ibeam(["-p", "remember"]).run().succeeded().stream().session_id().to_owned();
    let journal = scene.workspace.journal(&id);
    let text = std::fs::read_to_string(&journal).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    edit(&mut lines);
    std::fs::write(&journal, lines.join("\n") + "\n").unwrap();

    let checked =
        scene.ibeam_without_model(["sessions", "check", &id, "--format", "json"]).run().succeeded().json();
    let gaps = checked["gaps"].as_u64().unwrap();
    assert!(gaps > 0 && checked["whole"] == false && checked["damage"].is_null(), "{what}: {checked}");
    let reported = scene.ibeam_without_model(["sessions", "check", &id]).run().succeeded();
    assert!(reported.stdout.starts_with(&format!("session `{id}`: incomplete\n")), "{what}: {reported}");

    let scene = scene.with_answers([answer_text("Still 42.")]);
    let output = scene.ibeam(["-p", "go on", "--resume", &id]).run().succeeded();
    let warnings = output.stderr_lines("warning: the journal of this session lacks");
    assert_eq!(warnings.len(), 1, "{what}: {output}");
    assert_eq!(output.stream().init()["ibeam"]["journal_gaps"], gaps, "{what}: {output}");
    let sent = scene.server.requests()[0].transcript();
    assert_eq!(sent.last().unwrap(), "user: go on", "{what}");
    let count = |prefix: &str| sent.iter().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(count("call "), count("result "), "{what}: {sent:?}");
}

#[test]
fn calls_and_results_are_paired_when_a_session_is_resumed() {
    for wire in WIRES {
        for (what, edit) in EDITS {
            check(wire, what, edit);
        }
    }
}
