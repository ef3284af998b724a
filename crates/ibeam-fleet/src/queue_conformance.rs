//! The tests that every implementation of `TaskQueue` passes. `$new` returns a clock and an empty queue.
//!
//! The file is also a module of the tests of `ibeam-fleet-nats`.

use crate::queue::{Claim, NextTask, TaskQueue};
use crate::task::{Task, WorkspaceSource};
use crate::task_result::{Outcome, TaskResult};

/// Returns a task that needs `needs`.
pub(crate) fn task(id: &str, needs: &[&str]) -> Task {
    Task {
        id: id.to_owned(),
        prompt: "p".to_owned(),
        workspace: WorkspaceSource::Path("/".into()),
        model: None,
        mode: None,
        limits: Default::default(),
        env: Default::default(),
        files: Vec::new(),
        check: None,
        check_files: Default::default(),
        check_dir: None,
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
    }
}

pub(crate) fn result(id: &str, outcome: Outcome) -> TaskResult {
    TaskResult::without_run(id, outcome, "m".to_owned())
}

/// The clock of a queue. A lease lasts 100 of its units.
pub(crate) trait Clock {
    /// Returns a time in milliseconds of the queue.
    fn time(&self, units: u64) -> u64;

    /// Waits until this time, and returns it.
    fn at(&self, units: u64) -> u64;

    /// Returns the duration of a lease in milliseconds.
    fn lease_ms(&self) -> u64 {
        self.time(100) - self.time(0)
    }

    /// Returns the number of attempts in which the queue has to notice what has become ready.
    fn attempts(&self) -> u32;
}

/// Claims a task, which must be ready.
#[track_caller]
pub(crate) fn claimed(queue: &mut impl TaskQueue, clock: &impl Clock, at: u64) -> Claim {
    let mut next = NextTask::NotReady;
    for _ in 0..clock.attempts() {
        next = queue.claim(clock.at(at), clock.lease_ms()).unwrap();
        match next {
            NextTask::Claimed(claim) => return *claim,
            NextTask::NotReady | NextTask::Refused { .. } | NextTask::Drained => {}
        }
    }
    panic!("{next:?}");
}

/// Asks for a task; none is ready.
#[track_caller]
pub(crate) fn assert_none(queue: &mut impl TaskQueue, clock: &impl Clock, at: u64, expected: NextTask) {
    assert_eq!(queue.claim(clock.at(at), clock.lease_ms()).unwrap(), expected);
}

macro_rules! conformance_tests {
    ($new:expr) => {
        use $crate::queue::{Finished, NextTask, QueueError, Release, Renewal, TaskQueue};
        use $crate::queue_conformance::{assert_none, claimed, result, task};
        use $crate::task_result::Outcome;

        #[test]
        fn tasks_are_claimed_in_order_and_each_by_one() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("a", &[]), task("b", &[])]).unwrap();
            assert_eq!(claimed(&mut queue, &clock, 0).task.id, "a");
            assert_eq!(claimed(&mut queue, &clock, 0).task.id, "b");
            assert_none(&mut queue, &clock, 0, NextTask::NotReady);
        }

        #[test]
        fn a_task_is_submitted_once_and_does_not_change() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let claim = claimed(&mut queue, &clock, 0);
            queue.finish(&claim.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            queue.submit(&[task("a", &[])]).unwrap();
            assert_none(&mut queue, &clock, 0, NextTask::Drained);
            let mut changed = task("a", &[]);
            changed.prompt = "another".to_owned();
            let error = queue.submit(&[task("b", &[]), changed]).unwrap_err();
            assert!(matches!(error, QueueError::TaskChanged { ref id } if id == "a"), "{error}");
            assert_eq!(queue.unfinished().unwrap(), 0, "nothing was added");
        }

        #[test]
        fn a_lease_ends_unless_it_is_renewed() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let first = claimed(&mut queue, &clock, 0);
            assert_eq!(queue.renew(&first.lease, clock.at(50), clock.lease_ms()).unwrap(), Renewal::Held);
            assert_none(&mut queue, &clock, 120, NextTask::NotReady);
            let second = claimed(&mut queue, &clock, 150);
            assert_ne!(second.lease, first.lease);
            assert_eq!(queue.renew(&first.lease, clock.at(160), clock.lease_ms()).unwrap(), Renewal::Lost);
            queue.release(&first.lease, Release::Retry { at_ms: clock.time(0) }, Spend::default()).unwrap();
            assert_none(&mut queue, &clock, 170, NextTask::NotReady);
        }

        #[test]
        fn the_first_result_is_kept_also_without_the_lease() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let first = claimed(&mut queue, &clock, 0);
            let second = claimed(&mut queue, &clock, 100);
            let late = queue.finish(&first.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            assert_eq!(late, Finished::Recorded { skipped: Vec::new() });
            let again = queue.finish(&second.lease, &result("a", Outcome::Failed), Spend::default()).unwrap();
            assert_eq!(again, Finished::AlreadyFinished);
            assert_eq!(queue.results().unwrap(), [result("a", Outcome::Passed)]);
        }

        #[test]
        fn a_task_waits_for_those_that_it_needs_and_is_skipped_if_one_does_not_pass() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("c", &["a", "b"]), task("d", &["c"]), task("a", &[]), task("b", &[])]).unwrap();
            let (a, b) = (claimed(&mut queue, &clock, 0), claimed(&mut queue, &clock, 0));
            assert_eq!((a.task.id.as_str(), b.task.id.as_str()), ("a", "b"));
            assert_none(&mut queue, &clock, 0, NextTask::NotReady);
            queue.finish(&a.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            assert_none(&mut queue, &clock, 0, NextTask::NotReady);
            let finished = queue.finish(&b.lease, &result("b", Outcome::CheckFailed), Spend::default()).unwrap();
            let Finished::Recorded { skipped } = finished else { panic!("{finished:?}") };
            let ids: Vec<_> = skipped.iter().map(|result| (result.id.as_str(), result.outcome)).collect();
            assert_eq!(ids, [("c", Outcome::Skipped), ("d", Outcome::Skipped)]);
            assert_none(&mut queue, &clock, 0, NextTask::Drained);
        }

        #[test]
        fn released_tasks_come_back_in_time_and_parked_ones_when_unparked() {
            let (clock, mut queue) = $new;
            queue.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();
            let claim = claimed(&mut queue, &clock, 0);
            let spend = Spend { cost_micros: 5, tokens: 7 };
            queue.release(&claim.lease, Release::Retry { at_ms: clock.time(40) }, spend).unwrap();
            assert_none(&mut queue, &clock, 39, NextTask::NotReady);
            let claim = claimed(&mut queue, &clock, 40);
            assert_eq!((claim.spend, queue.spend().unwrap()), (spend, spend));
            queue.release(&claim.lease, Release::Park { reason: "quota".into() }, spend).unwrap();
            assert_none(&mut queue, &clock, 200, NextTask::Drained);
            assert_eq!(queue.unfinished().unwrap(), 2);
            queue.unpark().unwrap();
            assert_eq!(claimed(&mut queue, &clock, 200).task.id, "a");
        }
    };
}
pub(crate) use conformance_tests;
