//! A provider that refuses requests: a fleet must send few more than it needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ibeam_testkit::Answer;

use super::scripted_fleet::{JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, run_to_end, start};
use crate::suite::SuiteError;

const TASKS: usize = 300;

/// The requests that the provider answers in each window.
const REQUESTS_PER_WINDOW: usize = 200;

const WINDOW: Duration = Duration::from_secs(5);

/// The maximum of refused requests, in percent of those that are needed.
const MAX_REFUSED_PERCENT: usize = 2;

/// The maximum where the headers of the service have the rest of its limits.
const MAX_REFUSED_PERCENT_WITH_HEADERS: usize = 1;

/// The requests that the provider answers in each window with each key.
const REQUESTS_PER_KEY: usize = 100;

/// The number of requests that the quota allows.
const QUOTA: usize = 101;

/// The time in which a run learns that the quota is exhausted. Requests that others send until then cannot be prevented.
const REPORT_TIME: Duration = Duration::from_millis(500);

/// The requests of the current window.
struct Window {
    started: Instant,
    requests: usize,
}

impl Window {
    fn new() -> Self {
        Self { started: Instant::now(), requests: 0 }
    }
}

/// Runs a fleet against a rate limit, and one against a quota; prints the numbers of requests.
pub(super) fn run(program: &Path) -> Result<(), SuiteError> {
    rate_limit(program)?;
    three_keys(program)?;
    quota(program)
}

fn rate_limit(program: &Path) -> Result<(), SuiteError> {
    let window = Mutex::new(Window::new());
    let scene = ScriptedFleet::new(program, move |request, _| {
        let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.started.elapsed() >= WINDOW {
            *window = Window::new();
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

/// Runs a fleet with three keys, one of them without credit. The service says what is left of each.
fn three_keys(program: &Path) -> Result<(), SuiteError> {
    let windows: Mutex<BTreeMap<String, Window>> = Mutex::default();
    let mut scene = ScriptedFleet::new(program, move |request, _| {
        let key = request.header("authorization").unwrap_or_default().to_owned();
        if key.ends_with("-empty") {
            return Answer::error(402, "insufficient_quota", "the account has no credit left");
        }
        let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(key).or_insert_with(Window::new);
        if window.started.elapsed() >= WINDOW {
            *window = Window::new();
        }
        window.requests += 1;
        let left = WINDOW.saturating_sub(window.started.elapsed());
        if window.requests > REQUESTS_PER_KEY {
            let refusal = Answer::error(429, "rate_limit_error", "too many requests");
            return refusal.header("retry-after", &(left.as_secs() + 1).to_string());
        }
        answer(request)
            .header("x-ratelimit-remaining-requests", &(REQUESTS_PER_KEY - window.requests).to_string())
            .header("x-ratelimit-reset-requests", &format!("{}ms", left.as_millis() + 1))
    });
    let file = scene.write_tasks(TASKS)?;
    scene.workspace =
        scene.workspace.user_config("[providers.openai]\nkey_variable = [\"KEY_A\", \"KEY_B\", \"KEY_C\"]\n");
    let mut command = scene.fleet(&file, &["--discard-workspaces"])?;
    command.env_remove("OPENAI_API_KEY");
    for (name, end) in [("KEY_A", "empty"), ("KEY_B", "b"), ("KEY_C", "c")] {
        command.env(name, format!("key-0123456789-{end}"));
    }
    let ended = run_to_end(start(command)?, |_| ())?;
    if !ended.status.success() {
        return Err(scene.failed(&format!("the fleet with three keys ended with {}", ended.status)));
    }
    let (needed, received) = (TASKS * REQUESTS_PER_TASK, scene.server.received());
    println!(
        "fleet of {TASKS} tasks with three keys, one without credit, {REQUESTS_PER_KEY} requests in {WINDOW:?} for each: \
         {received} requests for {needed} that are needed; {:.0} s",
        ended.elapsed.as_secs_f64()
    );
    // What is sent until the first report that the key has no credit cannot be prevented.
    if (received - JOBS.min(received)) * 100 > needed * (100 + MAX_REFUSED_PERCENT_WITH_HEADERS) {
        return Err(scene.failed("too many requests were refused"));
    }
    Ok(())
}

fn quota(program: &Path) -> Result<(), SuiteError> {
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
