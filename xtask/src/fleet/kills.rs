//! A fleet whose processes are killed: no task may be lost, and none may be run again after its end.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::FleetError;
use super::process::{cpu_of, processes_with};
use super::scripted_fleet::{
    Ended, JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, has_passed, run_to_end, start,
};

/// The time between two kills.
pub(crate) const KILL_PAUSE: Duration = Duration::from_secs(2);

/// One of this many kills is that of the driver.
const KILLS_PER_DRIVER: usize = 4;

/// The counts of a fleet.
#[derive(Debug, Default)]
struct Counts {
    drivers_killed: usize,
    runs_killed: usize,
    lost: usize,
    repeated: usize,
    /// The tasks that have a result but did not pass.
    failed: usize,
    /// The runs that did not report their end.
    interrupted: u64,
    driver_cpu: Duration,
    driver_memory: u64,
}

/// Runs `tasks` tasks and kills a random process every two seconds; prints a table.
pub(super) fn run(program: &Path, tasks: usize) -> Result<(), FleetError> {
    let scene = ScriptedFleet::new(program, |request, _| answer(request));
    let file = scene.write_tasks(tasks)?;
    let fleet = file.with_extension("fleet");
    let mut counts = Counts::default();
    let mut random = fastrand::Rng::new();
    let started = Instant::now();
    let mut killed_at = Instant::now();
    let ended = loop {
        let mut driver_cpu = Duration::ZERO;
        let child = start(scene.fleet(&file, &["--max-runs", "100"])?)?;
        let mut driver_is_killed = false;
        let ended = run_to_end(child, |driver| {
            driver_cpu = cpu_of(driver).unwrap_or(driver_cpu);
            if killed_at.elapsed() < KILL_PAUSE || driver_is_killed {
                return;
            }
            killed_at = Instant::now();
            if random.usize(..KILLS_PER_DRIVER) == 0 {
                driver_is_killed = kill(driver);
                counts.drivers_killed += usize::from(driver_is_killed);
            } else if let Some(run) = random.choice(processes_with([&fleet.to_string_lossy(), "--print"])) {
                counts.runs_killed += usize::from(kill(run));
            }
        })?;
        counts.driver_cpu += driver_cpu;
        counts.driver_memory = counts.driver_memory.max(ended.peak_memory);
        if !driver_is_killed {
            break ended;
        }
    };
    count_results(&scene, tasks, &ended, &mut counts)?;
    let Counts {
        drivers_killed,
        runs_killed,
        lost,
        repeated,
        failed,
        interrupted,
        driver_cpu,
        driver_memory,
    } = counts;
    let seconds = started.elapsed().as_secs_f64();
    let mebibytes = driver_memory >> 20;
    let cpu_ms = driver_cpu.as_secs_f64() * 1000.0 / tasks as f64;
    println!("fleet of {tasks} tasks, {JOBS} at a time, a process killed every {KILL_PAUSE:?}:");
    println!("  lost {lost}, run again after the end {repeated}, not passed {failed}");
    println!("  killed: {drivers_killed} drivers, {runs_killed} runs; {interrupted} runs were interrupted");
    println!(
        "  {} requests for {} that are needed; {seconds:.0} s; the driver used {cpu_ms:.1} ms of CPU per task \
         and {mebibytes} MiB",
        scene.server.received(),
        tasks * REQUESTS_PER_TASK
    );
    if lost + repeated + failed > 0 {
        return Err(scene.failed("tasks were lost or repeated, or did not pass"));
    }
    Ok(())
}

/// Kills a process. Returns whether it was still there.
pub(crate) fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// Compares the results of the fleet with what its tasks recorded.
fn count_results(
    scene: &ScriptedFleet,
    tasks: usize,
    ended: &Ended,
    counts: &mut Counts,
) -> Result<(), FleetError> {
    if !ended.status.success() {
        return Err(scene.failed(&format!("the fleet ended with {}", ended.status)));
    }
    let results = scene.read_results()?;
    counts.lost = tasks.saturating_sub(results.len());
    for (id, result) in &results {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        counts.failed += usize::from(!has_passed(result));
        counts.interrupted += result.get("interrupted_runs").and_then(Value::as_u64).unwrap_or_default();
        let completed = completed_streams(Path::new(text("directory")))?;
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
