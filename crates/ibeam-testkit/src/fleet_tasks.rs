//! Task files of fleets, their runs and their results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ProgramOutput;
use crate::scene::Scene;

/// Writes a task file next to the workspace, and returns its path.
pub fn task_file(scene: &Scene, tasks: &[Value]) -> PathBuf {
    let path = scene.workspace.outside().join("tasks.jsonl");
    let lines: String = tasks.iter().map(|task| format!("{task}\n")).collect();
    fs::write(&path, lines).unwrap();
    path
}

/// Returns a task in the workspace of the scene.
pub fn task(scene: &Scene, id: &str) -> Value {
    json!({ "id": id, "prompt": format!("task {id}"), "workspace": scene.workspace.path() })
}

/// Returns the task with another value.
pub fn with(mut task: Value, key: &str, value: Value) -> Value {
    task[key] = value;
    task
}

/// Returns the directory of a task in the directory of a fleet or of a worker.
pub fn task_dir(fleet: &Path, id: &str) -> PathBuf {
    ibeam_governor::task_directory(&fleet.join("tasks"), id)
}

/// Runs a fleet with these flags to its end.
pub fn run<'a>(scene: &Scene, tasks: &'a Path, flags: impl IntoIterator<Item = &'a str>) -> ProgramOutput {
    let args = ["fleet", "run", tasks.to_str().unwrap()].into_iter().chain(flags);
    scene.ibeam(args).timeout(Duration::from_secs(120)).run()
}

/// Returns the printed results by task.
pub fn results(output: &ProgramOutput) -> BTreeMap<String, Value> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    output
        .stdout
        .lines()
        .map(parse)
        .map(|result| (result["id"].as_str().unwrap().to_owned(), result))
        .collect()
}

/// Waits until `is_true`, at most a minute.
pub fn wait_for(what: &str, is_true: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}
