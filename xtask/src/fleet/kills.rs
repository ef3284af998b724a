//! A fleet whose processes are killed: no task may be lost, none may be run again after its end, and every verdict must be
//! that of the files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::checked_tasks::{
    completed_runs, ends_of_runs, has_ignored_file, is_verdict_right, make_repository, recorded_answers,
    write_checked_tasks,
};
use super::killer::{Blow, Killer, Requests};
use super::process::cpu_of;
use super::scripted_fleet::{JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, run_to_end, start, task_ids};
use crate::suite::SuiteError;

/// The time until an answer begins, so that kills also hit runs with a request in flight.
const ANSWER_TIME: Duration = Duration::from_millis(200);
/// The time between two kills on one machine.
const LOCAL_KILL_PAUSE: Duration = Duration::from_millis(700);
/// The time for which all processes stand still, as on a machine that sleeps.
const SLEEP: Duration = Duration::from_secs(3);
/// The number of commands that may end without a result of every task, because something is not decided.
const MAX_COMMANDS: usize = 20;

#[derive(Debug, Default)]
struct Counts {
    killed: BTreeMap<Blow, usize>,
    lost: usize,
    repeated: usize,
    /// The tasks whose outcome is not that of their files.
    wrong: usize,
    /// The workspaces with a file that git ignores.
    leaked: usize,
    /// The requests that were sent again although their answer had arrived.
    again: usize,
    /// The answers beyond those of a task without kills: the model was asked about a call whose effect was not known.
    more_answers: usize,
    /// The runs that did not report their end.
    interrupted: u64,
    /// The commands that left tasks undecided.
    unfinished: usize,
    driver_cpu: Duration,
    driver_memory: u64,
}

/// Runs `tasks` tasks while random processes are killed; prints a table.
pub(super) fn run(program: &Path, tasks: usize) -> Result<(), SuiteError> {
    let requests = Requests::default();
    let received = std::sync::Arc::clone(&requests);
    let scene = ScriptedFleet::new(program, move |request, _| {
        let transcript = request.transcript();
        let prompt = transcript.iter().find_map(|line| line.strip_prefix("user: write "));
        let task = prompt.unwrap_or_default().trim();
        let mut received = received.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *received.entry(task.to_owned()).or_default() += 1;
        answer(request).delay(ANSWER_TIME)
    });
    make_repository(scene.workspace.path())?;
    let file = write_checked_tasks(&scene, tasks)?;
    let mut counts = Counts::default();
    let mut killer = Killer::new(requests);
    let fleet = file.with_extension("fleet");
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
            if let Some(blow) = killer.strike(&fleet, driver, SLEEP) {
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
    count_results(&scene, tasks, &killer, &mut counts)?;
    let Counts {
        killed,
        lost,
        repeated,
        wrong,
        leaked,
        again,
        more_answers,
        interrupted,
        unfinished,
        driver_cpu,
        driver_memory,
    } = counts;
    let seconds = started.elapsed().as_secs_f64();
    let mebibytes = driver_memory >> 20;
    let cpu_ms = driver_cpu.as_secs_f64() * 1000.0 / tasks as f64;
    println!("fleet of {tasks} tasks, {JOBS} at a time, a process killed every {LOCAL_KILL_PAUSE:?}:");
    println!(
        "  lost {lost}, run again after the end {repeated}, wrong verdicts {wrong}, ignored files in workspaces {leaked}"
    );
    println!("  killed: {killed:?}; {interrupted} runs were interrupted, {unfinished} commands left tasks");
    let (received, needed) = (scene.server.received(), tasks * REQUESTS_PER_TASK);
    let in_flight: usize = killer.in_flight.values().sum();
    let ratio = received.saturating_sub(in_flight) as f64 / needed as f64;
    println!(
        "  {received} requests for {needed} that are needed; {in_flight} were in flight when their run was killed; without \
         them {ratio:.3} times as many; {more_answers} answers were needed because a call was interrupted; {again} that had \
         arrived were requested again"
    );
    println!("  {seconds:.0} s; the driver used {cpu_ms:.1} ms of CPU per task and {mebibytes} MiB");
    if again > 0 {
        return Err(scene.failed("answers that had arrived were requested again"));
    }
    if lost + repeated + wrong + leaked > 0 {
        return Err(scene.failed("tasks were lost or repeated, or have a wrong verdict"));
    }
    Ok(())
}

/// Compares the results of the fleet with the files of its tasks and with what they recorded.
fn count_results(
    scene: &ScriptedFleet,
    tasks: usize,
    killer: &Killer,
    counts: &mut Counts,
) -> Result<(), SuiteError> {
    let results = scene.read_results()?;
    for (number, id) in task_ids(tasks).enumerate() {
        let Some(result) = results.get(&id) else {
            counts.lost += 1;
            continue;
        };
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        let directory = Path::new(text("directory"));
        counts.wrong += usize::from(!is_verdict_right(number, result));
        counts.leaked += usize::from(has_ignored_file(result));
        counts.interrupted += result.get("interrupted_runs").and_then(Value::as_u64).unwrap_or_default();
        let completed = ends_of_runs(directory)?.len();
        let recorded = completed_runs(&scene.workspace.journal(text("session_id")))?;
        let answers = recorded_answers(&scene.workspace.journal(text("session_id")))?;
        counts.more_answers += answers.saturating_sub(REQUESTS_PER_TASK);
        counts.again += killer.repeated_requests(&id, answers);
        counts.repeated += usize::from(completed > 1 || recorded > 1);
        if recorded == 0 {
            return Err(scene.failed(&format!("the journal of `{id}` has no completed run")));
        }
    }
    Ok(())
}
