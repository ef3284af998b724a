//! The tests that every implementation of `TaskQueue` passes. `$new` returns a guard and an empty queue.

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
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
    }
}

pub(crate) fn result(id: &str, outcome: Outcome) -> TaskResult {
    TaskResult::without_run(id, outcome, "m".to_owned())
}

/// Claims a task, which must be ready.
#[track_caller]
pub(crate) fn claimed(queue: &mut impl TaskQueue, now_ms: u64) -> Claim {
    match queue.claim(now_ms, 100).unwrap() {
        NextTask::Claimed(claim) => *claim,
        other @ (NextTask::NotReady | NextTask::Drained) => panic!("{other:?}"),
    }
}

macro_rules! conformance_tests {
    ($new:expr) => {
        use $crate::queue::{Finished, NextTask, QueueError, Release, Renewal, Spend, TaskQueue};
        use $crate::queue_conformance::{claimed, result, task};
        use $crate::task_result::Outcome;

        #[test]
        fn tasks_are_claimed_in_order_and_each_by_one() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("a", &[]), task("b", &[])]).unwrap();
            assert_eq!(claimed(&mut queue, 0).task.id, "a");
            assert_eq!(claimed(&mut queue, 0).task.id, "b");
            assert_eq!(queue.claim(0, 100).unwrap(), NextTask::NotReady);
        }

        #[test]
        fn a_task_is_submitted_once_and_does_not_change() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let claim = claimed(&mut queue, 0);
            queue.finish(&claim.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            queue.submit(&[task("a", &[])]).unwrap();
            assert_eq!(queue.claim(0, 100).unwrap(), NextTask::Drained);
            let mut changed = task("a", &[]);
            changed.prompt = "another".to_owned();
            let error = queue.submit(&[task("b", &[]), changed]).unwrap_err();
            assert!(matches!(error, QueueError::TaskChanged { ref id } if id == "a"), "{error}");
            assert_eq!(queue.unfinished().unwrap(), 0, "nothing was added");
        }

        #[test]
        fn a_lease_ends_unless_it_is_renewed() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let first = claimed(&mut queue, 0);
            assert_eq!(queue.renew(&first.lease, 50, 100).unwrap(), Renewal::Held);
            assert_eq!(queue.claim(120, 100).unwrap(), NextTask::NotReady);
            let second = claimed(&mut queue, 150);
            assert_ne!(second.lease, first.lease);
            assert_eq!(queue.renew(&first.lease, 160, 100).unwrap(), Renewal::Lost);
            queue.release(&first.lease, Release::Retry { at_ms: 0 }, Spend::default()).unwrap();
            assert_eq!(queue.claim(170, 100).unwrap(), NextTask::NotReady, "the lost lease has no effect");
        }

        #[test]
        fn the_first_result_is_kept_also_without_the_lease() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("a", &[])]).unwrap();
            let (first, second) = (claimed(&mut queue, 0), claimed(&mut queue, 100));
            let late = queue.finish(&first.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            assert_eq!(late, Finished::Recorded { skipped: Vec::new() });
            let again = queue.finish(&second.lease, &result("a", Outcome::Failed), Spend::default()).unwrap();
            assert_eq!(again, Finished::AlreadyFinished);
            assert_eq!(queue.results().unwrap(), [result("a", Outcome::Passed)]);
        }

        #[test]
        fn a_task_waits_for_those_that_it_needs_and_is_skipped_if_one_does_not_pass() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("c", &["a", "b"]), task("d", &["c"]), task("a", &[]), task("b", &[])]).unwrap();
            let (a, b) = (claimed(&mut queue, 0), claimed(&mut queue, 0));
            assert_eq!((a.task.id.as_str(), b.task.id.as_str()), ("a", "b"));
            assert_eq!(queue.claim(0, 100).unwrap(), NextTask::NotReady);
            queue.finish(&a.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
            assert_eq!(queue.claim(0, 100).unwrap(), NextTask::NotReady);
            let finished = queue.finish(&b.lease, &result("b", Outcome::CheckFailed), Spend::default()).unwrap();
            let Finished::Recorded { skipped } = finished else { panic!("{finished:?}") };
            let ids: Vec<_> = skipped.iter().map(|result| (result.id.as_str(), result.outcome)).collect();
            assert_eq!(ids, [("c", Outcome::Skipped), ("d", Outcome::Skipped)]);
            assert_eq!(queue.claim(0, 100).unwrap(), NextTask::Drained);
        }

        #[test]
        fn released_tasks_come_back_in_time_and_parked_ones_when_unparked() {
            let (_guard, mut queue) = $new;
            queue.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();
            let claim = claimed(&mut queue, 0);
            let spend = Spend { cost_micros: 5, tokens: 7 };
            queue.release(&claim.lease, Release::Retry { at_ms: 40 }, spend).unwrap();
            assert_eq!(queue.claim(39, 100).unwrap(), NextTask::NotReady);
            let claim = claimed(&mut queue, 40);
            assert_eq!((claim.spend, queue.spend().unwrap()), (spend, spend));
            queue.release(&claim.lease, Release::Park { reason: "quota".to_owned() }, spend).unwrap();
            assert_eq!(queue.claim(1000, 100).unwrap(), NextTask::Drained, "b needs the parked task");
            assert_eq!(queue.unfinished().unwrap(), 2);
            queue.unpark().unwrap();
            assert_eq!(claimed(&mut queue, 1000).task.id, "a");
        }
    };
}
pub(crate) use conformance_tests;
