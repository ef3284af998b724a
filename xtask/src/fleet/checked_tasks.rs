//! Tasks with checks whose verdicts are known: that of each must be the one of the file in its workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::scripted_fleet::{ScriptedFleet, is_written, task_ids};
use crate::suite::SuiteError;

/// The check of one of this many tasks fails.
const TASKS_PER_FAILURE: usize = 3;
/// A file of the source that git ignores: no workspace may have it.
const IGNORED: &str = ".env";

/// Makes a directory a repository with one commit, and with a file that git ignores.
pub(crate) fn make_repository(directory: &Path) -> Result<(), SuiteError> {
    for (name, text) in [(".gitignore", IGNORED), (IGNORED, "KEY=secret")] {
        let path = directory.join(name);
        fs::write(&path, format!("{text}\n")).map_err(SuiteError::system(path.display()))?;
    }
    let person = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "one"]] {
        let mut git = Command::new("git");
        git.args(person).args(arguments).current_dir(directory);
        let status = git.status().map_err(SuiteError::system("git"))?;
        if !status.success() {
            return Err(SuiteError::Failed(format!("git {arguments:?} ended with {status}")));
        }
    }
    Ok(())
}

/// Returns the text that the check of a task expects in the file that its run writes.
fn expected_text(number: usize) -> &'static str {
    if number.is_multiple_of(TASKS_PER_FAILURE) { "other" } else { "done" }
}

/// Writes a file of tasks whose checks take a while, and returns its path.
pub(crate) fn write_checked_tasks(scene: &ScriptedFleet, count: usize) -> Result<PathBuf, SuiteError> {
    let lines: String = task_ids(count)
        .enumerate()
        .map(|(number, id)| {
            let check = format!("sleep 0.4; test \"$(cat done.txt)\" = {}", expected_text(number));
            let workspace = scene.workspace.path();
            let task =
                json!({ "id": id, "prompt": format!("write {id}"), "workspace": workspace, "check": check });
            format!("{task}\n")
        })
        .collect();
    let path = scene.workspace.outside().join("tasks.jsonl");
    fs::write(&path, lines).map_err(SuiteError::system(path.display()))?;
    Ok(path)
}

/// Whether the outcome of a task is that of the file in its workspace, which is its only change. Another one is printed.
pub(crate) fn is_verdict_right(number: usize, result: &Value) -> bool {
    let file = directory_of(result).join("workspace/done.txt");
    let is_expected = fs::read_to_string(file).is_ok_and(|text| text.trim_end() == expected_text(number));
    let expected = if is_expected { "passed" } else { "check_failed" };
    let is_right = result.get("outcome").is_some_and(|outcome| outcome == expected) && is_written(result);
    if !is_right {
        println!("should be {expected}: {result}");
    }
    is_right
}

/// Whether the workspace of a task has a file that git ignores.
pub(crate) fn has_ignored_file(result: &Value) -> bool {
    directory_of(result).join("workspace").join(IGNORED).exists()
}

fn directory_of(result: &Value) -> &Path {
    Path::new(result.get("directory").and_then(Value::as_str).unwrap_or_default())
}

/// Returns the last lines of the completed runs of a task. A run that was restored from a snapshot has the same one.
pub(crate) fn ends_of_runs(directory: &Path) -> Result<BTreeSet<String>, SuiteError> {
    let entries = fs::read_dir(directory).map_err(SuiteError::system(directory.display()))?;
    let mut ends = BTreeSet::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|extension| extension == "ndjson") {
            let text = read(&path)?;
            ends.extend(
                text.lines().filter(|line| line.starts_with(r#"{"type":"result""#)).map(str::to_owned),
            );
        }
    }
    Ok(ends)
}

/// Returns the number of completed runs in a journal.
pub(crate) fn completed_runs(journal: &Path) -> Result<usize, SuiteError> {
    let text = read(journal)?;
    let events = text.lines().filter(|line| line.contains("\"run_finished\""));
    let completed = events.filter(|line| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        record.pointer("/event/kind/run_finished/outcome").is_some_and(|outcome| outcome == "completed")
    });
    Ok(completed.count())
}

/// Returns the number of answers of the model in a journal.
pub(crate) fn recorded_answers(journal: &Path) -> Result<usize, SuiteError> {
    Ok(read(journal)?.lines().filter(|line| line.contains("\"model_request_finished\"")).count())
}

fn read(path: &Path) -> Result<String, SuiteError> {
    fs::read_to_string(path).map_err(SuiteError::system(path.display()))
}
