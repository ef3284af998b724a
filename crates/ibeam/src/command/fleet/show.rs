//! `fleet show`: all about one task.

use std::fs::File;
use std::path::Path;

use ibeam_fleet::{Task, TaskResult, TaskStatus, task_directory};
use ibeam_output::{Catalogue, escape_to_one_line};
use serde_json::{Map, Value, json};

use super::ledger_access::{FleetSource, open_ledger, queue_error, unknown_task};
use super::names::{result_text, state_name};
use super::queue;
use crate::cli_error::CliError;
use crate::command::printing::report;
use crate::flags::ReportFormat;

/// The files of a task, by the names that the object has for them.
const FILES: [(&str, &str); 9] = [
    ("stream", "stream.ndjson"),
    ("stderr", "stderr.log"),
    ("check_log", "check.log"),
    ("result", "result.json"),
    ("patch", "changes.patch"),
    ("trajectory", "trajectory.json"),
    ("trace", "trace.html"),
    ("workspace", "workspace"),
    ("error", "error.json"),
];

/// A task with its status and its result.
pub(super) type FoundTask = (Task, TaskStatus, Option<TaskResult>);

/// Shows a task.
///
/// # Errors
/// `Usage` for an unknown task; the errors of the ledger and of the queue.
pub(super) fn show(
    catalogue: &Catalogue,
    source: &FleetSource<'_>,
    task: &str,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let found = match source {
        FleetSource::Directory(directory) => open_ledger(directory)?.find(task).map_err(queue_error)?,
        FleetSource::Queue(flags) => queue::find(flags, task)?,
    };
    let (definition, status, result) = found.ok_or_else(|| unknown_task(task))?;
    let files = match source {
        FleetSource::Directory(directory) => files(&task_directory(&directory.join("tasks"), task)),
        FleetSource::Queue(_) => Map::new(),
    };
    let object = object(definition, &status, result.as_ref(), files);
    let mut text = String::new();
    for (key, value) in &object {
        match key.as_str() {
            "state" => {
                let state = match status.outcome {
                    Some(outcome) => result_text(catalogue, outcome, status.code.as_deref()),
                    None => state_name(catalogue, status.state),
                };
                push(&mut text, key, &state.into());
            }
            "reason" => {
                push(&mut text, key, &value.as_str().map(|text| catalogue.sentence(&text.into())).into())
            }
            _ => push(&mut text, key, value),
        }
    }
    report(stdout, format, &text, &Value::Object(object))
}

/// Returns the object about a task: its state, the keys of its definition, those of its result, and its files. The values of
/// variables may be secrets, so they are left out.
fn object(
    mut task: Task,
    status: &TaskStatus,
    result: Option<&TaskResult>,
    files: Map<String, Value>,
) -> Map<String, Value> {
    task.env.values_mut().for_each(String::clear);
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(task.id));
    object.insert("state".to_owned(), json!(status.state.as_str()));
    if let Some(reason) = &status.reason {
        object.insert("reason".to_owned(), json!(reason));
    }
    for part in [json!(task), json!(result)] {
        let Value::Object(part) = part else { continue };
        for (key, value) in part {
            // The check of a result has the command of the definition.
            object.insert(key, value);
        }
    }
    if result.is_none() {
        object.insert("cost_usd".to_owned(), json!(status.cost_usd));
        object.insert("tokens".to_owned(), json!(status.tokens));
    }
    if !files.is_empty() {
        object.insert("files".to_owned(), Value::Object(files));
    }
    object
}

fn files(directory: &Path) -> Map<String, Value> {
    let found =
        FILES.iter().map(|(key, name)| (*key, directory.join(name))).filter(|(_, path)| path.exists());
    found.map(|(key, path)| (key.to_owned(), json!(path))).collect()
}

/// Adds a line for a value, or for each value of an object.
fn push(text: &mut String, key: &str, value: &Value) {
    let shown = match value {
        Value::Object(parts) => {
            parts.iter().for_each(|(part, value)| push(text, &format!("{key}.{part}"), value));
            return;
        }
        Value::String(value) => value.clone(),
        value => value.to_string(),
    };
    text.push_str(&format!("{key}: {}\n", escape_to_one_line(&shown)));
}

#[cfg(test)]
mod tests {
    use ibeam_fleet::Outcome;

    use super::*;

    #[test]
    fn a_task_has_its_definition_and_its_result_without_the_values_of_variables() {
        let line = r#"{"id":"a","prompt":"p\nq","workspace":"/w","env":{"KEY":"secret"},"check":"true"}"#;
        let task: Task = serde_json::from_str(line).unwrap();
        let result = TaskResult::without_run("a", Outcome::Passed, "m".to_owned());
        let object = object(task, &TaskStatus::for_result(&result), Some(&result), Map::new());
        let mut text = String::new();
        object.iter().for_each(|(key, value)| push(&mut text, key, value));
        for line in [
            "id: a",
            "state: passed",
            "prompt: p<U+000A>q",
            "env.KEY: ",
            "usage.inputTokens: 0",
            "check: true",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(!text.contains("secret"), "{text}");
    }
}
