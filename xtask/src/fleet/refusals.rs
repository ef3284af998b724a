//! A provider that refuses requests: a fleet must send few more than it needs.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ibeam_testkit::Answer;

use super::FleetError;
use super::scripted_fleet::{JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, run_to_end, start};

/// The tasks of a fleet.
const TASKS: usize = 300;

/// The requests that the provider answers in each window.
const REQUESTS_PER_WINDOW: usize = 200;

/// The duration of a window.
const WINDOW: Duration = Duration::from_secs(5);

/// The maximum of refused requests, in percent of those that are needed.
const MAX_REFUSED_PERCENT: usize = 2;

/// The number of requests that the quota allows.
const QUOTA: usize = 101;

/// The time in which a run learns that the quota is exhausted. Requests that others send until then cannot be prevented.
const REPORT_TIME: Duration = Duration::from_millis(500);

/// The requests of the current window.
struct Window {
    started: Instant,
    requests: usize,
}

/// Runs a fleet against a rate limit, and one against a quota; prints the numbers of requests.
pub(super) fn run(program: &Path) -> Result<(), FleetError> {
    rate_limit(program)?;
    quota(program)
}

fn rate_limit(program: &Path) -> Result<(), FleetError> {
    let window = Mutex::new(Window { started: Instant::now(), requests: 0 });
    let scene = ScriptedFleet::new(program, move |request, _| {
        let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.started.elapsed() >= WINDOW {
            *window = Window { started: Instant::now(), requests: 0 };
        }
        window.requests += 1;
        if window.requests <= REQUESTS_PER_WINDOW {
            return answer(request);
        }
        let left = WINDOW.saturating_sub(window.started.elapsed()).as_secs() + 1;
        let refusal = Answer::error(429, "rate_limit_error", "too many requests");
        refusal.header("retry-after", &left.to_string())
    });
    let file = scene.write_tasks(TASKS)?;
    let ended = run_to_end(start(scene.fleet(&file, &["--discard-workspaces"])?)?, |_| ())?;
    if !ended.status.success() {
        return Err(scene.failed(&format!("the fleet at a rate limit ended with {}", ended.status)));
    }
    let needed = TASKS * REQUESTS_PER_TASK;
    let received = scene.server.received();
    println!(
        "fleet of {TASKS} tasks at a limit of {REQUESTS_PER_WINDOW} requests in {WINDOW:?}: {received} requests for \
         {needed} that are needed; {:.0} s",
        ended.elapsed.as_secs_f64()
    );
    if received * 100 > needed * (100 + MAX_REFUSED_PERCENT) {
        return Err(scene.failed("too many requests were refused"));
    }
    Ok(())
}

fn quota(program: &Path) -> Result<(), FleetError> {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let refusals = Arc::clone(&refused);
    let scene = ScriptedFleet::new(program, move |request, number| match number < QUOTA {
        true => answer(request),
        false => {
            refusals.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            Answer::error(402, "insufficient_quota", "the account has no credit left")
        }
    });
    let file = scene.write_tasks(TASKS)?;
    let ended = run_to_end(start(scene.fleet(&file, &["--discard-workspaces"])?)?, |_| ())?;
    let refused = refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let first = refused.first().copied();
    let is_late = |at: &&Instant| first.is_some_and(|first| at.duration_since(first) > REPORT_TIME);
    let late = refused.iter().filter(is_late).count();
    println!(
        "fleet of {TASKS} tasks with an exhausted quota: {} requests after the first refusal, {late} of them later than \
         {REPORT_TIME:?}",
        refused.len().saturating_sub(1)
    );
    match (ended.status.code(), refused.len(), late) {
        (Some(75), 1..=JOBS, 0) => Ok(()),
        _ => {
            Err(scene.failed(&format!("exit code 75 and no late request are correct, not {}", ended.status)))
        }
    }
}
