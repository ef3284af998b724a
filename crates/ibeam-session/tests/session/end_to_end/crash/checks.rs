//! The checks after a run was killed, and their findings.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use ibeam_protocol::Event;
use ibeam_session::{Session, SessionError, SessionOptions};
use ibeam_testkit::kill_surviving_processes;
use ibeam_testkit::scene::{Scene, answer_text};
use serde_json::Value;

use super::scenario::{COUNTER, Scenario, UUID};

/// The time in which a process must end after its run.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The events of the killed run in the journal, as `stream-json` would print them.
#[derive(Debug, Default)]
struct RecordedRun {
    events: Vec<VisibleEvent>,
    started: Vec<String>,
    finished: Vec<String>,
}

/// An event that users can see.
#[derive(Clone, Debug, PartialEq, Eq)]
enum VisibleEvent {
    RunStarted,
    Prompt(Vec<String>),
    /// The text of consecutive deltas.
    Text(String),
    CallStarted(String),
    CallFinished(String),
    RunFinished,
}

/// Checks the state after a kill: session, files, processes and executions. Resumes the session. `stdout` is what the
/// killed run had printed.
///
/// Adds to `findings`; each finding starts with `context`.
pub(super) fn check_after_kill(
    scene: Scene,
    scenario: &Scenario,
    stdout: &str,
    context: &str,
    findings: &mut SweepFindings,
) {
    findings.points += 1;
    let mut recorder = Recorder { findings, context };
    let id = resumable_session(&scene, scenario);
    let recorded = read_journal(&scene, scenario, &id).unwrap_or_else(|message| {
        recorder.unresumable(&message);
        RecordedRun::default()
    });
    if id != UUID && read_journal(&scene, scenario, UUID).map_or(true, |recorded| !recorded.events.is_empty())
    {
        recorder.mixed("the original session of the fork was changed");
    }
    let visible = parse_stdout(stdout);
    if !is_recorded(&visible, &recorded.events) {
        recorder.lost(&format!("printed: {visible:?}; recorded: {:?}", recorded.events));
    }
    check_changes(&scene, scenario, &recorded, &mut recorder);
    let scene = resume(scene, &id, &visible, &recorded, &mut recorder);
    // After the first orphan a short wait is enough.
    let timeout =
        if recorder.findings.orphans.is_empty() { EXIT_TIMEOUT } else { Duration::from_millis(500) };
    for process in kill_surviving_processes(scene.workspace.home(), timeout) {
        recorder.orphan(&process);
    }
    let executions = scene.workspace.read(COUNTER).unwrap_or_default().lines().count();
    let starts = recorded.started.iter().filter(|id| is_counted(scenario, id)).count();
    if executions > starts {
        recorder.repeated(&format!("{executions} executions, {starts} starts"));
    }
    check_leftover_files(&scene, scenario, &mut recorder);
    let check = scene.ibeam_without_model(["sessions", "check", &id]).run();
    if check.code != Some(0) {
        recorder.unresumable(&format!("sessions check: {check}"));
    }
}

/// Adds findings with a prefix that describes the kill.
struct Recorder<'a> {
    findings: &'a mut SweepFindings,
    context: &'a str,
}

impl Recorder<'_> {
    fn lost(&mut self, detail: &str) {
        self.findings.lost.push(format!("{}: lost: {detail}", self.context));
    }
    fn repeated(&mut self, detail: &str) {
        self.findings.repeated.push(format!("{}: repeated: {detail}", self.context));
    }
    fn orphan(&mut self, detail: &str) {
        self.findings.orphans.push(format!("{}: left behind: {detail}", self.context));
    }
    fn mixed(&mut self, detail: &str) {
        self.findings.mixed.push(format!("{}: {detail}", self.context));
    }
    fn unresumable(&mut self, detail: &str) {
        self.findings.unresumable.push(format!("{}: not resumable: {detail}", self.context));
    }
}

/// Returns the id of the session to resume: the fork, if it exists.
fn resumable_session(scene: &Scene, scenario: &Scenario) -> String {
    let journal = scene.workspace.journal(UUID);
    let sessions = journal.ancestors().nth(2).unwrap();
    let listed = std::fs::read_dir(sessions).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    let mut others = listed.filter_map(|name| name.into_string().ok()).filter(|name| name != UUID);
    let fork = others.find(|id| scenario.forked && scene.workspace.journal(id).exists());
    fork.unwrap_or_else(|| UUID.to_owned())
}

/// Reads the events of the last run from a copy of the session, so that the read changes nothing.
fn read_journal(scene: &Scene, scenario: &Scenario, id: &str) -> Result<RecordedRun, String> {
    let journal = scene.workspace.journal(id);
    let directory = journal.parent().unwrap();
    if !directory.exists() {
        return Ok(RecordedRun::default());
    }
    let copy = tempfile::tempdir().unwrap();
    copy_tree(directory, &copy.path().join(id));
    let mut events: Vec<Value> = Vec::new();
    let mut on_event = |event: Event| events.push(serde_json::to_value(&event.kind).unwrap());
    match Session::open(copy.path(), id.parse().unwrap(), &SessionOptions::default(), &mut on_event) {
        Ok(_) => {}
        Err(SessionError::Unknown { .. }) => return Ok(RecordedRun::default()),
        Err(error) => return Err(error.to_string()),
    }
    // Events of an earlier run are skipped.
    let first = match scenario.resumed {
        true => events.iter().position(|kind| kind.get("run_finished").is_some()).map_or(0, |end| end + 1),
        false => 0,
    };
    let mut recorded = RecordedRun::default();
    for kind in &events[first..] {
        let (name, body) = kind.as_object().and_then(|kind| kind.iter().next()).unwrap();
        let id = || body["call"]["id"].as_str().unwrap_or_default().to_owned();
        match name.as_str() {
            "session_started" => recorded.events.push(VisibleEvent::RunStarted),
            "user_message" => {
                let content = body["content"].as_array().into_iter().flatten();
                recorded.events.push(VisibleEvent::Prompt(
                    content.map(|text| text.as_str().unwrap().to_owned()).collect(),
                ));
            }
            "text_delta" => push_text(&mut recorded.events, body["text"].as_str().unwrap()),
            "tool_call_started" => {
                recorded.started.push(id());
                recorded.events.push(VisibleEvent::CallStarted(id()));
            }
            "tool_call_finished" => {
                recorded.finished.push(id());
                recorded.events.push(VisibleEvent::CallFinished(id()));
            }
            "run_finished" => recorded.events.push(VisibleEvent::RunFinished),
            _ => {}
        }
    }
    Ok(recorded)
}

/// Returns the events of the complete lines.
fn parse_stdout(stdout: &str) -> Vec<VisibleEvent> {
    let mut events = Vec::new();
    let complete = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
    for line in complete.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |block: &Value| block["text"].as_str().unwrap().to_owned();
        let id = || event["call_id"].as_str().unwrap().to_owned();
        match (event["type"].as_str().unwrap(), event["subtype"].as_str()) {
            ("system", _) => events.push(VisibleEvent::RunStarted),
            ("user", _) => {
                let content = event["message"]["content"].as_array().unwrap();
                events.push(VisibleEvent::Prompt(content.iter().map(text).collect()));
            }
            ("assistant", _) => push_text(&mut events, &text(&event["message"]["content"][0])),
            ("tool_call", Some("started")) => events.push(VisibleEvent::CallStarted(id())),
            ("tool_call", _) => events.push(VisibleEvent::CallFinished(id())),
            ("result" | "error", _) => events.push(VisibleEvent::RunFinished),
            (other, _) => panic!("unexpected event type {other}"),
        }
    }
    events
}

fn push_text(events: &mut Vec<VisibleEvent>, text: &str) {
    match events.last_mut() {
        Some(VisibleEvent::Text(previous)) => previous.push_str(text),
        _ => events.push(VisibleEvent::Text(text.to_owned())),
    }
}

/// Whether `visible` is a prefix of `recorded`.
fn is_recorded(visible: &[VisibleEvent], recorded: &[VisibleEvent]) -> bool {
    let Some((last, initial)) = visible.split_last() else { return true };
    let Some((recorded_initial, rest)) = recorded.split_at_checked(initial.len()) else { return false };
    initial == recorded_initial
        && match (last, rest.first()) {
            (VisibleEvent::Text(text), Some(VisibleEvent::Text(all))) => all.starts_with(text.as_str()),
            (last, next) => Some(last) == next,
        }
}

/// Checks that a file is old before its call starts, new after its call finished, and one of both in between.
fn check_changes(scene: &Scene, scenario: &Scenario, recorded: &RecordedRun, recorder: &mut Recorder<'_>) {
    for change in &scenario.changes {
        let (old, new) = (scenario.old(change.path), change.new.as_deref());
        let found = scene.workspace.read(change.path);
        let found = found.as_deref();
        let is_expected = match (recorded.has_started(change.call), recorded.has_finished(change.call)) {
            (false, _) => found == old,
            (true, true) => found == new,
            (true, false) => found == old || found == new,
        };
        if !is_expected {
            recorder.mixed(&format!("`{}` holds {:?}", change.path, found.map(shortened)));
        }
    }
}

impl RecordedRun {
    fn has_started(&self, call: &str) -> bool {
        self.started.iter().any(|id| id == call)
    }

    fn has_finished(&self, call: &str) -> bool {
        self.finished.iter().any(|id| id == call)
    }
}

/// Resumes the session and checks the request to the model.
fn resume(
    scene: Scene,
    id: &str,
    visible: &[VisibleEvent],
    recorded: &RecordedRun,
    recorder: &mut Recorder<'_>,
) -> Scene {
    let scene = scene.with_answers([answer_text("Back.")]);
    let output = scene.ibeam(["-p", "again", "--resume", id]).run();
    if output.code != Some(0) {
        recorder.unresumable(&output.to_string());
        return scene;
    }
    if output.stream().deltas() != ["Back."] || output.stream().session_id() != id {
        recorder.unresumable(&output.to_string());
    }
    // The test server checks that each call has exactly one result.
    let request = &scene.server.requests()[0];
    let transcript = request.transcript();
    let has_line = |line: &str| transcript.iter().any(|known| known == line);
    if transcript.last().map(String::as_str) != Some("user: again") {
        recorder.unresumable(&format!("the request ends with {:?}", transcript.last()));
    }
    let prompted = visible.iter().any(|event| matches!(event, VisibleEvent::Prompt(_)));
    if prompted && !has_line("user: do it") {
        recorder.lost(&format!("the prompt was visible and is not in the request: {transcript:?}"));
    }
    for event in visible {
        if let VisibleEvent::Text(text) = event
            && !transcript.iter().any(|line| line.contains(text.trim_end()))
        {
            recorder.lost(&format!("`{}` was visible and is not in the request", shortened(text)));
        }
    }
    let results =
        request.messages().iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    for result in results.filter(|block| block["type"] == "tool_result") {
        let id = result["tool_use_id"].as_str().unwrap_or_default();
        let text = result["content"].to_string();
        let interrupted = text.contains("interrupted") && text.contains("unknown");
        let expected = match (recorded.has_started(id), recorded.has_finished(id)) {
            (true, true) => !interrupted,
            (true, false) => interrupted,
            (false, _) => text.contains("not executed"),
        };
        if !expected {
            recorder.lost(&format!("wrong result of call {id} in the request: {}", shortened(&text)));
        }
    }
    scene
}

/// Whether the call appends a line to [`COUNTER`].
fn is_counted(scenario: &Scenario, id: &str) -> bool {
    scenario.changes.iter().all(|change| change.call != id)
}

/// Checks that the next run has removed the temporary files of the killed one.
fn check_leftover_files(scene: &Scene, scenario: &Scenario, recorder: &mut Recorder<'_>) {
    let files = scenario.files.iter().map(|(path, _)| *path);
    let known = files.chain(scenario.changes.iter().map(|change| change.path)).chain([COUNTER]);
    let known: BTreeSet<&str> = known.collect();
    let mut found = Vec::new();
    list_files(scene.workspace.path(), scene.workspace.path(), &mut found);
    for path in found.iter().filter(|path| !known.contains(path.as_str())) {
        recorder.mixed(&format!("`{path}` is left in the workspace"));
    }
}

fn list_files(directory: &Path, top: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => list_files(&path, top, found),
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

/// Returns the start of a long text, with its length.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// The findings of a sweep, each with a description of the kill.
#[derive(Debug, Default)]
pub(super) struct SweepFindings {
    pub(super) points: usize,
    /// Printed events that are not in the journal or in the next request.
    pub(super) lost: Vec<String>,
    /// Commands that ran more often than they were started.
    pub(super) repeated: Vec<String>,
    /// Processes that still run after their run ended.
    pub(super) orphans: Vec<String>,
    /// Files that are neither old nor new, and temporary files.
    pub(super) mixed: Vec<String>,
    /// Sessions that could not be resumed.
    pub(super) unresumable: Vec<String>,
}

impl SweepFindings {
    /// Returns all findings.
    pub(super) fn all(&self) -> Vec<&String> {
        let all = [&self.lost, &self.repeated, &self.orphans, &self.mixed, &self.unresumable];
        all.into_iter().flatten().collect()
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// If there is a finding, or no kill was checked.
    #[track_caller]
    pub(super) fn report(&self, sweep: &str) {
        eprintln!("kill sweep: {sweep}: {self}");
        let findings = self.all();
        assert!(self.points > 0, "no kill was checked");
        assert!(findings.is_empty(), "{sweep}: {self}; {findings:#?}");
    }
}

impl fmt::Display for SweepFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resumable = self.points.saturating_sub(self.unresumable.len());
        write!(
            f,
            "{} points, {} lost events, {} repeated executions, {} orphans, {} mixed files, {resumable} resumable",
            self.points,
            self.lost.len(),
            self.repeated.len(),
            self.orphans.len(),
            self.mixed.len(),
        )
    }
}
