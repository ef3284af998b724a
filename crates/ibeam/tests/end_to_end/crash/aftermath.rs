//! What must hold after a run was killed, wherever that was.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ibeam_protocol::Event;
use ibeam_session::{Session, SessionError, SessionOptions};
use ibeam_testkit::surviving_processes;
use serde_json::Value;

use super::scenario::{COUNTER, Scenario, UUID};
use super::tally::Tally;
use crate::scene::{Scene, answer_text};

/// How long a process may take to notice that its run is gone.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// What the journal of the killed run tells, in the words of `stream-json`.
#[derive(Debug, Default)]
struct JournalFacts {
    words: Vec<Word>,
    started: Vec<String>,
    finished: Vec<String>,
}

/// One visible fact.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Begun,
    Prompt(Vec<String>),
    /// Deltas in a row.
    Text(String),
    Started(String),
    Finished(String),
    Ended,
}

/// Holds everything that must hold, given what had been printed; resumes the session on the way.
///
/// Adds its findings to `tally`, with `moment` before each.
pub(super) fn examine(scene: Scene, scenario: &Scenario, stdout: &str, moment: &str, tally: &mut Tally) {
    tally.points += 1;
    let mut findings = Findings { tally, moment };
    let id = session_of(&scene, scenario);
    let reported = journal(&scene, scenario, &id).unwrap_or_else(|message| {
        findings.unresumable(&message);
        JournalFacts::default()
    });
    if id != UUID && journal(&scene, scenario, UUID).map_or(true, |reported| !reported.words.is_empty()) {
        findings.mixed("the session that was forked is not as it was");
    }
    let visible = visible(stdout);
    if !is_recorded(&visible, &reported.words) {
        findings.lost(&format!("printed: {visible:?}; recorded: {:?}", reported.words));
    }
    changes(&scene, scenario, &reported, &mut findings);
    let scene = resume(scene, &id, &visible, &reported, &mut findings);
    // One that stays tells enough of the others.
    let timeout = if findings.tally.orphans.is_empty() { EXIT_TIMEOUT } else { Duration::from_millis(500) };
    for process in surviving_processes(scene.workspace.home(), timeout) {
        findings.orphan(&process);
    }
    let output = scene.workspace.read(COUNTER).unwrap_or_default().lines().count();
    let starts = reported.started.iter().filter(|id| counts(scenario, id)).count();
    if output > starts {
        findings.repeated(&format!("{output} executions, {starts} starts"));
    }
    strays(&scene, scenario, &mut findings);
    let checked = scene.ibeam_without_model(["sessions", "check", &id]).run();
    if checked.code != Some(0) {
        findings.unresumable(&format!("sessions check: {checked}"));
    }
}

struct Findings<'a> {
    tally: &'a mut Tally,
    moment: &'a str,
}

impl Findings<'_> {
    fn lost(&mut self, what: &str) {
        self.tally.lost.push(format!("{}: lost: {what}", self.moment));
    }
    fn repeated(&mut self, what: &str) {
        self.tally.repeated.push(format!("{}: repeated: {what}", self.moment));
    }
    fn orphan(&mut self, what: &str) {
        self.tally.orphans.push(format!("{}: left behind: {what}", self.moment));
    }
    fn mixed(&mut self, what: &str) {
        self.tally.mixed.push(format!("{}: {what}", self.moment));
    }
    fn unresumable(&mut self, what: &str) {
        self.tally.unresumable.push(format!("{}: not resumable: {what}", self.moment));
    }
}

/// The session to go on with: the fork as soon as there is one.
fn session_of(scene: &Scene, scenario: &Scenario) -> String {
    let journal = scene.workspace.journal(UUID);
    let sessions = journal.ancestors().nth(2).unwrap();
    let listed = std::fs::read_dir(sessions).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    let mut others = listed.filter_map(|name| name.into_string().ok()).filter(|name| name != UUID);
    let fork = others.find(|id| scenario.forked && scene.workspace.journal(id).exists());
    fork.unwrap_or_else(|| UUID.to_owned())
}

/// Reads a copy, so that looking changes nothing.
fn journal(scene: &Scene, scenario: &Scenario, id: &str) -> Result<JournalFacts, String> {
    let journal = scene.workspace.journal(id);
    let directory = journal.parent().unwrap();
    if !directory.exists() {
        return Ok(JournalFacts::default());
    }
    let copy = tempfile::tempdir().unwrap();
    copy_tree(directory, &copy.path().join(id));
    let mut events: Vec<Value> = Vec::new();
    let mut take = |event: Event| events.push(serde_json::to_value(&event.kind).unwrap());
    match Session::open(copy.path(), id.parse().unwrap(), &SessionOptions::default(), &mut take) {
        Ok(_) => {}
        Err(SessionError::Unknown { .. }) => return Ok(JournalFacts::default()),
        Err(error) => return Err(error.to_string()),
    }
    // The run before is not what is looked at.
    let before = match scenario.resumed {
        true => events.iter().position(|kind| kind.get("run_finished").is_some()).map_or(0, |end| end + 1),
        false => 0,
    };
    let mut reported = JournalFacts::default();
    for kind in &events[before..] {
        let (name, body) = kind.as_object().and_then(|kind| kind.iter().next()).unwrap();
        let id = || body["call"]["id"].as_str().unwrap_or_default().to_owned();
        match name.as_str() {
            "session_started" => reported.words.push(Word::Begun),
            "user_message" => {
                let content = body["content"].as_array().into_iter().flatten();
                reported
                    .words
                    .push(Word::Prompt(content.map(|text| text.as_str().unwrap().to_owned()).collect()));
            }
            "text_delta" => say(&mut reported.words, body["text"].as_str().unwrap()),
            "tool_call_started" => {
                reported.started.push(id());
                reported.words.push(Word::Started(id()));
            }
            "tool_call_finished" => {
                reported.finished.push(id());
                reported.words.push(Word::Finished(id()));
            }
            "run_finished" => reported.words.push(Word::Ended),
            _ => {}
        }
    }
    Ok(reported)
}

/// The complete lines.
fn visible(stdout: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let complete = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
    for line in complete.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |block: &Value| block["text"].as_str().unwrap().to_owned();
        let id = || event["call_id"].as_str().unwrap().to_owned();
        match (event["type"].as_str().unwrap(), event["subtype"].as_str()) {
            ("system", _) => words.push(Word::Begun),
            ("user", _) => {
                let content = event["message"]["content"].as_array().unwrap();
                words.push(Word::Prompt(content.iter().map(text).collect()));
            }
            ("assistant", _) => say(&mut words, &text(&event["message"]["content"][0])),
            ("tool_call", Some("started")) => words.push(Word::Started(id())),
            ("tool_call", _) => words.push(Word::Finished(id())),
            ("result" | "error", _) => words.push(Word::Ended),
            (other, _) => panic!("an event of type {other}"),
        }
    }
    words
}

fn say(words: &mut Vec<Word>, text: &str) {
    match words.last_mut() {
        Some(Word::Text(before)) => before.push_str(text),
        _ => words.push(Word::Text(text.to_owned())),
    }
}

/// What is visible is the beginning of what is recorded.
fn is_recorded(visible: &[Word], reported: &[Word]) -> bool {
    let Some((last, before)) = visible.split_last() else { return true };
    let Some((told_before, rest)) = reported.split_at_checked(before.len()) else { return false };
    before == told_before
        && match (last, rest.first()) {
            (Word::Text(text), Some(Word::Text(all))) => all.starts_with(text.as_str()),
            (last, reported) => Some(last) == reported,
        }
}

/// Files are as they were before a call that has not started, as they should be after one that has finished, and
/// one of both in between.
fn changes(scene: &Scene, scenario: &Scenario, reported: &JournalFacts, findings: &mut Findings<'_>) {
    for change in &scenario.changes {
        let (old, new) = (scenario.old(change.path), change.new.as_deref());
        let found = scene.workspace.read(change.path);
        let found = found.as_deref();
        let holds = match (reported.has_started(change.call), reported.has_finished(change.call)) {
            (false, _) => found == old,
            (true, true) => found == new,
            (true, false) => found == old || found == new,
        };
        if !holds {
            findings.mixed(&format!("`{}` holds {:?}", change.path, found.map(shortened)));
        }
    }
}

impl JournalFacts {
    fn has_started(&self, call: &str) -> bool {
        self.started.iter().any(|id| id == call)
    }

    fn has_finished(&self, call: &str) -> bool {
        self.finished.iter().any(|id| id == call)
    }
}

/// Goes on with the session and looks at what the model is told.
fn resume(
    scene: Scene,
    id: &str,
    visible: &[Word],
    reported: &JournalFacts,
    findings: &mut Findings<'_>,
) -> Scene {
    let scene = scene.with_answers([answer_text("Back.")]);
    let output = scene.ibeam(["-p", "again", "--resume", id]).run();
    if output.code != Some(0) {
        findings.unresumable(&output.to_string());
        return scene;
    }
    if output.stream().deltas() != ["Back."] || output.stream().session_id() != id {
        findings.unresumable(&output.to_string());
    }
    // That each call has exactly one result is a rule of the wire, which the server holds.
    let request = &scene.server.requests()[0];
    let transcript = request.transcript();
    let says_it = |line: &str| transcript.iter().any(|known| known == line);
    if transcript.last().map(String::as_str) != Some("user: again") {
        findings.unresumable(&format!("the request ends with {:?}", transcript.last()));
    }
    let prompted = visible.iter().any(|word| matches!(word, Word::Prompt(_)));
    if prompted && !says_it("user: do it") {
        findings.lost(&format!("the prompt was visible and the model is not told: {transcript:?}"));
    }
    for word in visible {
        if let Word::Text(text) = word
            && !transcript.iter().any(|line| line.contains(text.trim_end()))
        {
            findings.lost(&format!("`{}` was visible and the model is not told", shortened(text)));
        }
    }
    let results =
        request.messages().iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    for result in results.filter(|block| block["type"] == "tool_result") {
        let id = result["tool_use_id"].as_str().unwrap_or_default();
        let text = result["content"].to_string();
        let interrupted = text.contains("interrupted") && text.contains("unknown");
        let expected = match (reported.has_started(id), reported.has_finished(id)) {
            (true, true) => !interrupted,
            (true, false) => interrupted,
            (false, _) => text.contains("not executed"),
        };
        if !expected {
            findings.lost(&format!("call {id} ended so, says the request: {}", shortened(&text)));
        }
    }
    scene
}

/// Whether the call counts its executions.
fn counts(scenario: &Scenario, id: &str) -> bool {
    scenario.changes.iter().all(|change| change.call != id)
}

/// With the start of the next run, what a killed writer left is gone.
fn strays(scene: &Scene, scenario: &Scenario, findings: &mut Findings<'_>) {
    let files = scenario.files.iter().map(|(path, _)| *path);
    let known = files.chain(scenario.changes.iter().map(|change| change.path)).chain([COUNTER]);
    let known: BTreeSet<&str> = known.collect();
    let mut found = Vec::new();
    list(scene.workspace.path(), scene.workspace.path(), &mut found);
    for path in found.iter().filter(|path| !known.contains(path.as_str())) {
        findings.mixed(&format!("`{path}` is left in the workspace"));
    }
}

fn list(directory: &Path, top: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => list(&path, top, found),
            false => found.push(path.strip_prefix(top).unwrap().display().to_string()),
        }
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_tree(&path, &target),
            false => drop(std::fs::copy(&path, &target).unwrap()),
        }
    }
}

/// The ends of a long text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
