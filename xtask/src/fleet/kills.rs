//! A fleet whose processes are killed: no task may be lost, none may be run again after its end, and every verdict must be
//! that of the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::FleetError;
use super::killer::{Blow, Killer, send};
use super::process::cpu_of;
use super::scripted_fleet::{
    JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, is_written, run_to_end, start, task_ids,
};

/// The time between two kills in a fleet over many machines.
pub(crate) const KILL_PAUSE: Duration = Duration::from_secs(2);
/// The time between two kills on one machine.
const LOCAL_KILL_PAUSE: Duration = Duration::from_millis(700);
/// The check of one of this many tasks fails.
const TASKS_PER_FAILURE: usize = 3;
/// A file of the source that git ignores: no workspace may have it.
const IGNORED: &str = ".env";
/// The number of commands that may end without a result of every task, because something is not decided.
const MAX_COMMANDS: usize = 20;

/// The counts of a fleet.
#[derive(Debug, Default)]
struct Counts {
    killed: BTreeMap<Blow, usize>,
    lost: usize,
    repeated: usize,
    /// The tasks whose outcome is not that of their files.
    wrong: usize,
    /// The workspaces with a file that git ignores.
    leaked: usize,
    /// The runs that did not report their end.
    interrupted: u64,
    /// The commands that left tasks undecided.
    unfinished: usize,
    driver_cpu: Duration,
    driver_memory: u64,
}

/// Runs `tasks` tasks while random processes are killed; prints a table.
pub(super) fn run(program: &Path, tasks: usize) -> Result<(), FleetError> {
    let scene = ScriptedFleet::new(program, |request, _| answer(request));
    make_repository(scene.workspace.path())?;
    let file = write_checked_tasks(&scene, tasks)?;
    let mut counts = Counts::default();
    let mut killer = Killer::new(&file.with_extension("fleet"));
    let started = Instant::now();
    let mut killed_at = Instant::now();
    loop {
        let mut driver_cpu = Duration::ZERO;
        let child = start(scene.fleet(&file, &["--max-runs", "100"])?)?;
        let mut driver_is_killed = false;
        let ended = run_to_end(child, |driver| {
            driver_cpu = cpu_of(driver).unwrap_or(driver_cpu);
            if !killer.wake() || killed_at.elapsed() < LOCAL_KILL_PAUSE || driver_is_killed {
                return;
            }
            killed_at = Instant::now();
            if let Some(blow) = killer.strike(driver) {
                *counts.killed.entry(blow).or_default() += 1;
                driver_is_killed = blow == Blow::Driver;
            }
        })?;
        counts.driver_cpu += driver_cpu;
        counts.driver_memory = counts.driver_memory.max(ended.peak_memory);
        match ended.status.code() {
            // Every task has a result.
            Some(0 | 1) => break,
            Some(75) if counts.unfinished < MAX_COMMANDS => counts.unfinished += 1,
            None if driver_is_killed => {}
            Some(_) | None => return Err(scene.failed(&format!("the fleet ended with {}", ended.status))),
        }
    }
    count_results(&scene, tasks, &mut counts)?;
    let Counts { killed, lost, repeated, wrong, leaked, interrupted, unfinished, driver_cpu, driver_memory } =
        counts;
    let seconds = started.elapsed().as_secs_f64();
    let mebibytes = driver_memory >> 20;
    let cpu_ms = driver_cpu.as_secs_f64() * 1000.0 / tasks as f64;
    println!("fleet of {tasks} tasks, {JOBS} at a time, a process killed every {LOCAL_KILL_PAUSE:?}:");
    println!(
        "  lost {lost}, run again after the end {repeated}, wrong verdicts {wrong}, ignored files in workspaces {leaked}"
    );
    println!("  killed: {killed:?}; {interrupted} runs were interrupted, {unfinished} commands left tasks");
    println!(
        "  {} requests for {} that are needed; {seconds:.0} s; the driver used {cpu_ms:.1} ms of CPU per task \
         and {mebibytes} MiB",
        scene.server.received(),
        tasks * REQUESTS_PER_TASK
    );
    if lost + repeated + wrong + leaked > 0 {
        return Err(scene.failed("tasks were lost or repeated, or have a wrong verdict"));
    }
    Ok(())
}

/// Kills a process. Returns whether it was still there.
pub(crate) fn kill(pid: u32) -> bool {
    send(pid, Signal::KILL)
}

/// Makes a directory a repository with one commit, and with a file that git ignores.
fn make_repository(directory: &Path) -> Result<(), FleetError> {
    for (name, text) in [(".gitignore", IGNORED), (IGNORED, "KEY=secret")] {
        let path = directory.join(name);
        fs::write(&path, format!("{text}\n")).map_err(FleetError::system(path.display()))?;
    }
    let person = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "one"]] {
        let mut git = Command::new("git");
        git.args(person).args(arguments).current_dir(directory);
        let status = git.status().map_err(FleetError::system("git"))?;
        if !status.success() {
            return Err(FleetError::Failed(format!("git {arguments:?} ended with {status}")));
        }
    }
    Ok(())
}

/// Returns the text that the check of a task expects in the file that its run writes.
fn expected_text(number: usize) -> &'static str {
    if number.is_multiple_of(TASKS_PER_FAILURE) { "other" } else { "done" }
}

/// Writes a file of tasks whose checks take a while, and returns its path.
fn write_checked_tasks(scene: &ScriptedFleet, count: usize) -> Result<std::path::PathBuf, FleetError> {
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
    fs::write(&path, lines).map_err(FleetError::system(path.display()))?;
    Ok(path)
}

/// Compares the results of the fleet with the files of its tasks and with what they recorded.
fn count_results(scene: &ScriptedFleet, tasks: usize, counts: &mut Counts) -> Result<(), FleetError> {
    let results = scene.read_results()?;
    for (number, id) in task_ids(tasks).enumerate() {
        let Some(result) = results.get(&id) else {
            counts.lost += 1;
            continue;
        };
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        let directory = Path::new(text("directory"));
        let file = directory.join("workspace/done.txt");
        let is_right = fs::read_to_string(file).is_ok_and(|text| text.trim_end() == expected_text(number));
        let expected = if is_right { "passed" } else { "check_failed" };
        if text("outcome") != expected || !is_written(result) {
            println!("should be {expected}: {result}");
            counts.wrong += 1;
        }
        counts.leaked += usize::from(directory.join("workspace").join(IGNORED).exists());
        counts.interrupted += result.get("interrupted_runs").and_then(Value::as_u64).unwrap_or_default();
        let completed = completed_streams(directory)?;
        let recorded = completed_runs(&scene.workspace.journal(text("session_id")))?;
        counts.repeated += usize::from(completed > 1 || recorded > 1);
        if recorded == 0 {
            return Err(scene.failed(&format!("the journal of `{id}` has no completed run")));
        }
    }
    Ok(())
}

/// Returns the number of runs of a task whose stream has its end.
pub(crate) fn completed_streams(directory: &Path) -> Result<usize, FleetError> {
    let entries = fs::read_dir(directory).map_err(FleetError::system(directory.display()))?;
    let mut completed = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|extension| extension == "ndjson") {
            completed += usize::from(read(&path)?.contains("\n{\"type\":\"result\""));
        }
    }
    Ok(completed)
}

/// Returns the number of completed runs in a journal.
pub(crate) fn completed_runs(journal: &Path) -> Result<usize, FleetError> {
    let text = read(journal)?;
    let events = text.lines().filter(|line| line.contains("\"run_finished\""));
    let completed = events.filter(|line| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        record.pointer("/event/kind/run_finished/outcome").is_some_and(|outcome| outcome == "completed")
    });
    Ok(completed.count())
}

fn read(path: &Path) -> Result<String, FleetError> {
    fs::read_to_string(path).map_err(FleetError::system(path.display()))
}
