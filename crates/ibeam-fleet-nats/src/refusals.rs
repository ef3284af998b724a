//! The refusals of a task by workers that do not grant what it asks for, and the pauses of such a worker.
//!
//! A worker gives a task that it refuses back to the end of the queue, so that others get it. Once a task that it has
//! refused comes again, the worker has gone through the whole queue: it pauses, longer each time. From then on its
//! refusals count again, unless other workers are executing tasks and may take this one afterwards.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use ibeam_fleet::{Outcome, TaskResult, TaskState, worker_id};
use ibeam_protocol::Sentence;
use serde::{Deserialize, Serialize};

/// The number of refusals that end a task.
const MAX_REFUSALS: u32 = 5;
/// The pauses of a worker. One that is alone ends a task after 15 seconds.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A pause is at least this many times as long as going through the queue took.
const PAUSE_PARTS: u32 = 4;

/// The refusal of a task by a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The id of the worker's directory, as in events.
    pub worker: String,
    pub machine: String,
    /// The last reason.
    pub reason: Sentence,
    /// Whether only the key of the worker is the reason: the task can be executed later.
    #[serde(default)]
    pub is_exhausted: bool,
    /// The number of times that count.
    pub(crate) times: u32,
}

/// A worker, as others see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerName {
    /// The id of its directory.
    pub(crate) id: String,
    pub(crate) machine: String,
}

impl WorkerName {
    /// Returns the name of the worker with this directory, on this machine.
    ///
    /// # Errors
    /// The system's error for the file with the id of the directory.
    pub(crate) fn for_directory(directory: &Path) -> io::Result<Self> {
        let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Self { id: worker_id(directory)?, machine: machine.trim().to_owned() })
    }

    pub(crate) fn refusal(&self, reason: Sentence, is_exhausted: bool) -> Refusal {
        let (worker, machine) = (self.id.clone(), self.machine.clone());
        Refusal { worker, machine, reason, is_exhausted, times: 1 }
    }
}

/// Adds a refusal. One of a worker that has refused the task before counts if `counts_again`. Returns whether it is the
/// first one of its worker.
pub(crate) fn add(refusals: &mut Vec<Refusal>, refusal: Refusal, counts_again: bool) -> bool {
    match refusals.iter_mut().find(|known| known.worker == refusal.worker) {
        Some(known) => {
            let times = known.times.saturating_add(counts_again.into());
            *known = Refusal { times, ..refusal };
            false
        }
        None => {
            refusals.push(refusal);
            true
        }
    }
}

/// The end of a task that was refused often enough.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RefusalEnd {
    /// No worker executes the task.
    Refused(Box<TaskResult>),
    /// Workers would execute it with another key.
    Parked(String),
}

/// Returns the end of a task that was refused often enough.
pub(crate) fn end_of_refusals(task: &str, refusals: &[Refusal]) -> Option<RefusalEnd> {
    let times = refusals.iter().fold(0, |sum: u32, refusal| sum.saturating_add(refusal.times));
    if times < MAX_REFUSALS {
        return None;
    }
    let reasons = refusals
        .iter()
        .map(|Refusal { worker, machine, reason, .. }| format!("{machine} ({worker}): {reason}"));
    let message = format!("every worker refused the task: {}", reasons.collect::<Vec<_>>().join("; "));
    if refusals.iter().any(|refusal| refusal.is_exhausted) {
        return Some(RefusalEnd::Parked(message));
    }
    let result = TaskResult::without_run(task, Outcome::Failed, message);
    Some(RefusalEnd::Refused(Box::new(TaskResult {
        code: Some(TaskState::REFUSED_CODE.to_owned()),
        ..result
    })))
}

/// The way of a worker through the queue since it last executed a task.
#[derive(Debug)]
pub(crate) struct RefusalRounds {
    /// The first pause. It doubles up to the longest.
    pub(crate) first_pause: Duration,
    /// The tasks that it has refused in this round.
    refused: HashSet<String>,
    started: Option<Instant>,
    paused_until: Option<Instant>,
    pause: Duration,
    /// Whether further refusals of a task count.
    pub(crate) counts_again: bool,
}

impl Default for RefusalRounds {
    fn default() -> Self {
        Self {
            first_pause: FIRST_PAUSE,
            refused: HashSet::new(),
            started: None,
            paused_until: None,
            pause: Duration::ZERO,
            counts_again: false,
        }
    }
}

impl RefusalRounds {
    /// Whether the worker asks for no task at this time.
    pub(crate) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// Adds a task that the worker refuses. Returns whether it has gone through the whole queue before.
    pub(crate) fn refuse(&mut self, task: &str, now: Instant) -> bool {
        self.started.get_or_insert(now);
        !self.refused.insert(task.to_owned())
    }

    /// Ends a round.
    pub(crate) fn pause(&mut self, now: Instant, others_work: bool) {
        let round = self.started.take().map(|started| now.duration_since(started)).unwrap_or_default();
        self.pause = self.pause.saturating_mul(2).clamp(self.first_pause, LONGEST_PAUSE);
        let pause = self.pause.max(round.saturating_mul(PAUSE_PARTS)).min(LONGEST_PAUSE);
        self.paused_until = Some(now + pause);
        self.refused.clear();
        self.counts_again = !others_work;
    }

    /// Notes that what the worker refuses has changed.
    pub(crate) fn reset(&mut self) {
        *self = Self { first_pause: self.first_pause, ..Self::default() };
    }

    /// Notes that the worker has got a task that it executes.
    pub(crate) fn served(&mut self) {
        self.pause = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str) -> WorkerName {
        WorkerName { id: id.to_owned(), machine: format!("host-{id}") }
    }

    #[test]
    fn five_workers_or_one_that_has_paused_four_times_end_a_task() {
        let mut refusals = Vec::new();
        for id in ["a", "b", "c", "d"] {
            assert!(add(&mut refusals, name(id).refusal(format!("no {id}").into(), false), false));
            assert!(!add(&mut refusals, name(id).refusal(format!("not {id}").into(), false), false));
            assert_eq!(end_of_refusals("t", &refusals), None);
        }
        add(&mut refusals, name("e").refusal("no e".into(), false), false);
        let Some(RefusalEnd::Refused(result)) = end_of_refusals("t", &refusals) else {
            panic!("{refusals:?}")
        };
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Failed, Some("refused")));
        let message = result.message.unwrap();
        assert!(
            message.contains("host-a (a): not a; ") && message.ends_with("host-e (e): no e"),
            "{message}"
        );

        let mut refusals = Vec::new();
        for time in 0..5 {
            assert_eq!(end_of_refusals("t", &refusals), None, "{time}");
            add(&mut refusals, name("a").refusal("no".into(), false), true);
        }
        assert!(matches!(end_of_refusals("t", &refusals), Some(RefusalEnd::Refused(_))));
        // With credit, a worker would execute it.
        add(&mut refusals, name("b").refusal("no credit".into(), true), false);
        assert!(matches!(end_of_refusals("t", &refusals), Some(RefusalEnd::Parked(_))));
    }

    #[test]
    fn a_worker_that_has_gone_through_the_queue_pauses_longer_each_time() {
        let (mut rounds, mut now) = (RefusalRounds::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            for task in ["a", "b"] {
                assert!(!rounds.refuse(task, now) && !rounds.is_paused(now));
            }
            assert!(rounds.refuse("a", now));
            rounds.pause(now, false);
            let start = now;
            while rounds.is_paused(now) {
                now += Duration::from_secs(1);
            }
            pauses.push((now - start).as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(rounds.counts_again);
        rounds.served();
        rounds.refuse("a", now);
        rounds.pause(now + Duration::from_secs(3), true);
        assert!(rounds.is_paused(now + Duration::from_secs(14)), "the round took three seconds");
        assert!(!rounds.is_paused(now + Duration::from_secs(15)) && !rounds.counts_again);
    }
}
