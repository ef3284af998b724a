//! The sizes of fleets with many tasks: submission, the memory of the driver and of the lists of tasks, a driver that waits,
//! and runs that wait for batches.
//!
//! The tasks are scripted, so that the figures are those of the fleet and not of its runs. Bytes and processes above their
//! limits fail; times are printed.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_testkit::{Answer, BatchServer, PartAnswer, Wire};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::killer::send;
use super::process::{cpu_of, memory_of, peak_memory_of, processes_with};
use super::scripted_fleet::{ScriptedFleet, answer, run_to_end, start, task_ids};
use crate::suite::SuiteError;

/// The number of tasks whose submission is timed.
const SUBMITTED: usize = 100_000;
/// The number of tasks that wait for another one.
const IDLE: usize = 20_000;
/// The time over which a driver that waits is measured.
const IDLE_TIME: Duration = Duration::from_secs(20);
/// The share of a core that a driver may need while all its tasks wait.
const MAX_IDLE_SHARE: f64 = 0.01;
/// The numbers of tasks of fleets that are listed.
const LISTED: [usize; 3] = [10_000, 50_000, 100_000];
/// The number of tasks to which the memory of lists is extrapolated.
const EXTRAPOLATED: f64 = 1e6;
/// The most memory of a list of so many tasks.
const MAX_LIST_BYTES: f64 = (256_u64 << 20) as f64;
/// The number of tasks of the driver whose memory is measured.
const DRIVEN: usize = 10_000;
/// The number of these tasks that are really run. The others have a recorded result.
const RUN: usize = 40;
/// The most memory of a driver.
const MAX_DRIVER_BYTES: u64 = 40 << 20;
/// The most memory of a poll of runs that wait.
const MAX_POLL_BYTES: u64 = 50 << 20;
/// The time in which a fleet should start.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Measures with a program. `waiting` runs wait for batches. `is_optimised`: the memory of the code counts, too.
pub(super) fn run(program: &Path, waiting: usize, is_optimised: bool) -> Result<(), SuiteError> {
    submission(program)?;
    driver(program, is_optimised)?;
    idle_driver(program)?;
    lists(program)?;
    waiting_runs(program, waiting, is_optimised)
}

/// Times the start of a fleet with many tasks, until its first run begins.
fn submission(program: &Path) -> Result<(), SuiteError> {
    let scene = ScriptedFleet::new(program, |_, _| Answer::new().text("done").delay(START_TIMEOUT));
    let file = scene.write_tasks(SUBMITTED)?;
    let started = Instant::now();
    let mut driver = start(scene.fleet(&file, &["--jobs", "1"])?)?;
    let fleet = file.with_extension("fleet");
    let tasks = fleet.join("tasks");
    // The directory of the first task.
    while fs::read_dir(&tasks).ok().and_then(|mut entries| entries.next()).is_none() {
        let has_ended = driver.try_wait().map_err(SuiteError::system("waiting for the driver"))?.is_some();
        if has_ended || started.elapsed() > START_TIMEOUT {
            send(driver.id(), Signal::KILL);
            return Err(scene.failed("the fleet does not start its first task"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let elapsed = started.elapsed();
    let memory = peak_memory_of(driver.id()).unwrap_or_default();
    send(driver.id(), Signal::KILL);
    driver.wait().map_err(SuiteError::system("waiting for the driver"))?;
    end_runs(&fleet);
    let counts = counts(&scene, &fleet)?;
    println!(
        "{SUBMITTED} tasks are validated and submitted after {:.2} s, with {} MiB",
        elapsed.as_secs_f64(),
        memory >> 20
    );
    let total: u64 =
        counts.as_object().into_iter().flat_map(serde_json::Map::values).filter_map(Value::as_u64).sum();
    if total != SUBMITTED as u64 {
        return Err(SuiteError::Failed(format!("the ledger has {total} of {SUBMITTED} tasks")));
    }
    Ok(())
}

/// Measures the memory of a driver that finishes many tasks.
fn driver(program: &Path, is_optimised: bool) -> Result<(), SuiteError> {
    let scene = ScriptedFleet::new(program, |request, _| answer(request));
    let file = scene.write_tasks(DRIVEN)?;
    write_results(&file, task_ids(DRIVEN).skip(RUN))?;
    for what in ["finishes", "reports"] {
        let mut own = 0;
        let child = start(scene.fleet(&file, &[])?)?;
        let ended = run_to_end(child, |pid| own = own.max(memory_of(pid).unwrap_or_default()))?;
        if !ended.status.success() {
            return Err(scene.failed(&format!("the fleet ended with {}", ended.status)));
        }
        let results = scene.read_results()?.len();
        if results != DRIVEN {
            return Err(SuiteError::Failed(format!("the fleet has {results} of {DRIVEN} results")));
        }
        let what = format!("a driver that {what} {DRIVEN} tasks");
        check_memory(&what, own, ended.peak_memory, MAX_DRIVER_BYTES, is_optimised)?;
    }
    Ok(())
}

/// Measures a driver all of whose tasks wait for the first one.
fn idle_driver(program: &Path) -> Result<(), SuiteError> {
    let scene = ScriptedFleet::new(program, |_, _| Answer::new().text("done").delay(START_TIMEOUT));
    let first = task_ids(1).next().unwrap_or_default();
    let tasks: String = task_ids(IDLE)
        .map(|id| {
            let needs = if id == first { json!([]) } else { json!([first]) };
            let workspace = scene.workspace.path();
            format!("{}\n", json!({ "id": id, "prompt": "write", "workspace": workspace, "needs": needs }))
        })
        .collect();
    let file = scene.workspace.outside().join("tasks.jsonl");
    fs::write(&file, tasks).map_err(SuiteError::system(file.display()))?;
    let mut driver = start(scene.fleet(&file, &["--jobs", "8"])?)?;
    let started = Instant::now();
    while scene.server.received() == 0 {
        let has_ended = driver.try_wait().map_err(SuiteError::system("waiting for the driver"))?.is_some();
        if has_ended || started.elapsed() > START_TIMEOUT {
            send(driver.id(), Signal::KILL);
            return Err(scene.failed("the first task sends no request"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(1));
    let before = cpu_of(driver.id()).unwrap_or_default();
    std::thread::sleep(IDLE_TIME);
    let used = cpu_of(driver.id()).unwrap_or_default().saturating_sub(before);
    send(driver.id(), Signal::KILL);
    driver.wait().map_err(SuiteError::system("waiting for the driver"))?;
    end_runs(&file.with_extension("fleet"));
    let share = used.as_secs_f64() / IDLE_TIME.as_secs_f64();
    println!("a driver with {IDLE} tasks that wait needs {:.2} % of a core", share * 100.0);
    match share > MAX_IDLE_SHARE {
        true => Err(SuiteError::Failed("a driver that waits needs too much CPU".to_owned())),
        false => Ok(()),
    }
}

/// Measures the memory of the lists of the tasks of large fleets.
fn lists(program: &Path) -> Result<(), SuiteError> {
    let commands: [&[&str]; 5] = [
        &["status"],
        &["status", "--format", "json"],
        &["report"],
        &["report", "--json"],
        &["report", "--format", "html"],
    ];
    let mut peaks: Vec<Vec<u64>> = vec![Vec::new(); commands.len()];
    for count in LISTED {
        let scene = ScriptedFleet::new(program, |request, _| answer(request));
        let file = scene.write_tasks(count)?;
        write_results(&file, task_ids(count))?;
        let ended = run_to_end(start(scene.fleet(&file, &[])?)?, |_| {})?;
        if !ended.status.success() {
            return Err(scene.failed(&format!("the fleet ended with {}", ended.status)));
        }
        for (arguments, peaks) in commands.iter().zip(&mut peaks) {
            let mut command = scene.ibeam(&["fleet"])?;
            command.args(*arguments).arg(file.with_extension("fleet"));
            let output = scene.workspace.outside().join("list");
            command.stdout(File::create(&output).map_err(SuiteError::system(output.display()))?);
            let ended = run_to_end(start(command)?, |_| {})?;
            if !ended.status.success() {
                return Err(scene.failed(&format!("the list ended with {}", ended.status)));
            }
            peaks.push(ended.peak_memory);
        }
    }
    let mut is_too_large = false;
    for (arguments, peaks) in commands.iter().zip(&peaks) {
        let (Some(first), Some(last)) = (peaks.first(), peaks.last()) else { continue };
        let [fewest, .., most] = LISTED;
        let per_task = (*last as f64 - *first as f64) / (most - fewest) as f64;
        let expected = *last as f64 + per_task * (EXTRAPOLATED - most as f64);
        let mebibytes: Vec<u64> = peaks.iter().map(|bytes| bytes >> 20).collect();
        println!(
            "`fleet {}` of {LISTED:?} tasks has at most {mebibytes:?} MiB; of a million: {:.0} MiB",
            arguments.join(" "),
            expected / f64::from(1 << 20)
        );
        is_too_large |= expected > MAX_LIST_BYTES;
    }
    match is_too_large {
        true => Err(SuiteError::Failed("the list of a million tasks needs too much memory".to_owned())),
        false => Ok(()),
    }
}

/// Writes results of tasks of a file into their directories.
fn write_results(file: &Path, ids: impl Iterator<Item = String>) -> Result<(), SuiteError> {
    for id in ids {
        let directory = file.with_extension("fleet").join("tasks").join(&id);
        let usage =
            json!({ "inputTokens": 900, "outputTokens": 90, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
        let result = json!({
            "id": id, "outcome": "passed", "exit_code": 0, "model": "openai/mock-model", "usage": usage,
            "duration_ms": 100, "runs": 1, "interrupted_runs": 0, "changed_files": ["done.txt"],
            "patch": directory.join("changes.patch"), "directory": directory,
        });
        fs::create_dir_all(&directory).map_err(SuiteError::system(directory.display()))?;
        let path = directory.join("result.json");
        fs::write(&path, result.to_string()).map_err(SuiteError::system(path.display()))?;
    }
    Ok(())
}

/// Measures the memory and the processes of a fleet whose runs wait for a batch.
fn waiting_runs(program: &Path, count: usize, is_optimised: bool) -> Result<(), SuiteError> {
    let scene = ScriptedFleet::new(program, |request, _| answer(request));
    let server = BatchServer::start(|_, _| PartAnswer::Answer(Box::new(Answer::new().text("done"))));
    server.hold(true);
    let file = scene.write_tasks(count)?;
    let fleet = file.with_extension("fleet");
    let wire = Wire::Anthropic;
    let configure = |command: &mut Command| -> Result<(), SuiteError> {
        let results = File::create(scene.results()).map_err(SuiteError::system("results"))?;
        command.env(wire.base_url_variable(), server.url()).env(wire.key_variable(), "key-0123456789abcdef");
        command.stdout(results);
        Ok(())
    };
    let mut command =
        scene.ibeam(&["--model", wire.model_name(), "--mode", "ask", "fleet", "run", "--batch"])?;
    command.arg(&file).args(["--jobs", "8"]);
    configure(&mut command)?;
    let started = Instant::now();
    let parked = run_to_end(start(command)?, |_| {})?;
    let parking = started.elapsed();
    let counts = counts(&scene, &fleet)?;
    let waiting = counts.get("waiting").and_then(Value::as_u64).unwrap_or_default();
    if parked.status.code() != Some(79) || waiting != count as u64 {
        return Err(scene.failed(&format!("{waiting} of {count} runs wait; {}", parked.status)));
    }
    let processes = processes_with([&fleet.to_string_lossy(), ""]).len();
    println!(
        "{count} runs wait for a batch after {:.0} s; {processes} processes, and the fleet had {} MiB",
        parking.as_secs_f64(),
        parked.peak_memory >> 20
    );
    if processes > 0 {
        return Err(SuiteError::Failed(format!("{processes} processes of runs that wait are left")));
    }
    let mut command = scene.ibeam(&["fleet", "poll"])?;
    command.arg(&fleet);
    configure(&mut command)?;
    let mut own = 0;
    let started = Instant::now();
    let polled = run_to_end(start(command)?, |pid| own = own.max(memory_of(pid).unwrap_or_default()))?;
    if polled.status.code() != Some(79) {
        return Err(scene.failed(&format!("the poll ended with {}", polled.status)));
    }
    println!("a poll of them takes {:.2} s", started.elapsed().as_secs_f64());
    check_memory(&format!("a poll of {count} runs"), own, polled.peak_memory, MAX_POLL_BYTES, is_optimised)
}

/// Prints the memory of a process, and compares it with its limit. The code of a program that is not optimised is large, so
/// only the memory that the process has allocated counts there.
fn check_memory(what: &str, own: u64, peak: u64, limit: u64, is_optimised: bool) -> Result<(), SuiteError> {
    println!("{what} has at most {} MiB, of which it allocated {} MiB", peak >> 20, own >> 20);
    let counted = if is_optimised { peak } else { own };
    match counted > limit {
        true => Err(SuiteError::Failed(format!("{what} has {counted} bytes; the limit is {limit}"))),
        false => Ok(()),
    }
}

/// Returns the number of tasks in each state.
fn counts(scene: &ScriptedFleet, fleet: &Path) -> Result<Value, SuiteError> {
    let mut command = scene.ibeam(&["fleet", "status", "--format", "json"])?;
    command.arg(fleet).stdout(std::process::Stdio::piped());
    let output = command.output().map_err(SuiteError::system("fleet status"))?;
    let status: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| scene.failed(&format!("the status of the fleet is not JSON ({error})")))?;
    Ok(status.get("counts").cloned().unwrap_or_default())
}

/// Kills the runs of a fleet whose driver was killed.
fn end_runs(fleet: &Path) {
    for pid in processes_with([&fleet.to_string_lossy(), "--print"]) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It may have ended.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
