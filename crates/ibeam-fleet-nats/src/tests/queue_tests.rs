//! The tests of every queue on one server, and those of leases, poison tasks, workers and the record.

use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{FleetLimits, FleetObserver, HaltReason, Ledger, Spend, StopFlag};

use super::server::{Cluster, program};
use ibeam_protocol::Sentence;

use crate::connection::QueueOptions;
use crate::control::FleetControl;
use crate::nats_queue::{NatsQueue, now_ms};
use crate::queue_conformance::Clock;
use crate::record::{SyncReport, retry_failed, sync, wait_for_results};
use crate::worker_queue::{WorkerPolicy, WorkerQueue};

/// The milliseconds of a unit of the shared tests.
const UNIT_MS: u64 = 20;

/// Asks a worker for tasks until none is left.
#[track_caller]
pub(super) fn assert_drained(worker: &mut WorkerQueue, clock: &RealClock) {
    for _ in 0..clock.attempts() {
        match worker.claim(clock.at(0), clock.lease_ms()).unwrap() {
            NextTask::Drained => return,
            NextTask::NotReady | NextTask::Refused { .. } => {}
            NextTask::Claimed(claim) => panic!("{claim:?}"),
        }
    }
    panic!("tasks are left");
}

/// The clock of the machine, and the server of a test.
pub(super) struct RealClock {
    start_ms: u64,
    pub(super) server: Cluster,
}

impl Clock for RealClock {
    fn time(&self, units: u64) -> u64 {
        self.start_ms + units * UNIT_MS
    }

    fn at(&self, units: u64) -> u64 {
        // Gives the queue time to notice what changed, between two attempts.
        thread::sleep(Duration::from_millis(UNIT_MS));
        thread::sleep(Duration::from_millis(self.time(units).saturating_sub(now_ms())));
        now_ms()
    }

    fn attempts(&self) -> u32 {
        100
    }
}

/// Starts a server with an empty queue.
pub(super) fn new_queue(program: std::path::PathBuf) -> (RealClock, NatsQueue) {
    let server = Cluster::start(program, 1, "");
    server.wait_until_ready();
    let queue = queue(&server);
    (RealClock { start_ms: now_ms(), server }, queue)
}

pub(super) fn queue(server: &Cluster) -> NatsQueue {
    let lease = Duration::from_millis(100 * UNIT_MS);
    NatsQueue::create(&server.address("f"), &QueueOptions::default(), lease).unwrap()
}

crate::queue_conformance::conformance_tests!({
    let Some(program) = program() else { return };
    new_queue(program)
});

/// A worker with `--until-drained` may start before the submitter has compared the queue with its tasks.
#[test]
fn a_queue_is_not_drained_before_it_has_had_a_task() {
    let Some(program) = program() else { return };
    let (clock, mut queue) = new_queue(program);
    let next = |queue: &mut NatsQueue| queue.claim(clock.at(0), clock.time(100)).unwrap();
    for _ in 0..3 {
        assert_eq!(next(&mut queue), NextTask::NotReady);
        thread::sleep(crate::claims::IDLE_PAUSE);
    }
    queue.submit(&[task("a", &[])]).unwrap();
    assert_eq!(claimed(&mut queue, &clock, 0).task.id, "a");
}

#[test]
fn a_task_that_five_workers_left_is_parked_and_can_be_unparked() {
    let Some(program) = program() else { return };
    let (clock, mut queue) = new_queue(program);
    queue.submit(&[task("a", &[])]).unwrap();
    for _ in 0..2 {
        // Tasks that workers give back do not count.
        let claim = claimed(&mut queue, &clock, 0);
        queue.release(&claim.lease, Release::Retry { at_ms: 0 }, Spend::default()).unwrap();
    }
    for _ in 0..5 {
        let claim = claimed(&mut queue, &clock, 0);
        assert_eq!(claim.task.id, "a");
        thread::sleep(Duration::from_millis(clock.lease_ms()));
    }
    clock.at(0);
    thread::sleep(Duration::from_millis(500));
    assert_none(&mut queue, &clock, 0, NextTask::Drained);
    assert_eq!(queue.unfinished().unwrap(), 1);
    queue.unpark().unwrap();
    assert_eq!(claimed(&mut queue, &clock, 0).task.id, "a");
}

#[test]
fn two_workers_share_a_queue_and_a_worker_that_ends_gives_its_tasks_back() {
    let Some(program) = program() else { return };
    let (clock, mut submitter) = new_queue(program);
    submitter.submit(&[task("a", &[]), task("b", &[])]).unwrap();
    let worker = |stop: &StopFlag| {
        let queue = queue(&clock.server);
        let policy = WorkerPolicy { directories: vec!["/".into()], ..WorkerPolicy::default() };
        let control = queue.watch_control().unwrap();
        WorkerQueue::new(queue, policy, control, stop.clone(), true)
    };
    let (stop, other_stop) = (StopFlag::default(), StopFlag::default());
    let (mut first, mut second) = (worker(&stop), worker(&other_stop));
    let a = claimed(&mut first, &clock, 0);
    let b = claimed(&mut second, &clock, 0);
    assert_eq!((a.task.id.as_str(), b.task.id.as_str()), ("a", "b"));
    stop.request();
    first.release(&a.lease, Release::Park { reason: "stopped".into() }, Spend::default()).unwrap();
    let again = claimed(&mut second, &clock, 0);
    assert_eq!(again.task.id, "a");
    for claim in [again, b] {
        second.finish(&claim.lease, &result(&claim.task.id, Outcome::Passed), Spend::default()).unwrap();
    }
    assert_drained(&mut second, &clock);
}

/// Fails `a`, which skips `b`, and leaves the queue as a kill within `retry_failed` does. The next call repairs it.
fn check_killed_retry(kill: impl Fn(&mut Ledger, &NatsQueue, &[String], &[String])) {
    let Some(program) = program() else { return };
    let (clock, mut queue) = new_queue(program);
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&[task("a", &[]), task("b", &["a"]), task("c", &[])]).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    for _ in 0..2 {
        let claim = claimed(&mut queue, &clock, 0);
        let outcome = if claim.task.id == "a" { Outcome::Failed } else { Outcome::Passed };
        let spend = Spend { cost_micros: 1, tokens: 7 };
        queue.finish(&claim.lease, &result(&claim.task.id, outcome), spend).unwrap();
    }
    sync(&mut ledger, &mut queue).unwrap();
    let (failed, all) = (["a".to_owned()], ["a".to_owned(), "b".to_owned()]);
    kill(&mut ledger, &queue, &failed, &all);
    // The same command again.
    sync(&mut ledger, &mut queue).unwrap();
    retry_failed(&mut ledger, &queue).unwrap();
    let claim = claimed(&mut queue, &clock, 0);
    assert_eq!((claim.task.id.as_str(), claim.spend.tokens), ("a", 7));
    assert!(claim.attempt > 0, "its worker begins anew");
    queue.finish(&claim.lease, &result("a", Outcome::Passed), claim.spend).unwrap();
    let claim = claimed(&mut queue, &clock, 0);
    assert_eq!((claim.task.id.as_str(), claim.attempt), ("b", 0));
    queue.finish(&claim.lease, &result("b", Outcome::Passed), Spend::default()).unwrap();
    let mut observer = Ids::default();
    let end = wait_for_results(&mut ledger, &mut queue, &StopFlag::default(), &mut observer).unwrap();
    assert_eq!((end.passed, end.failed, end.unfinished), (3, 0, 0));
    assert_eq!(retry_failed(&mut ledger, &queue).unwrap(), 0);
    assert_eq!(ledger.unfinished().unwrap(), 0);
}

#[test]
fn failed_tasks_are_withdrawn_and_readied_although_an_earlier_attempt_to_do_so_was_killed() {
    // Not at all, after each step, and between two tasks.
    check_killed_retry(|_, _, _, _| {});
    check_killed_retry(|ledger, _, failed, _| drop(ledger.reopen(failed).unwrap()));
    check_killed_retry(|ledger, queue, failed, _| {
        ledger.reopen(failed).unwrap();
        queue.connection.block_on(queue.withdraw(failed, failed)).unwrap();
    });
    check_killed_retry(|ledger, queue, failed, all| {
        ledger.reopen(failed).unwrap();
        queue.connection.block_on(queue.withdraw(all, failed)).unwrap();
    });
    check_killed_retry(|ledger, queue, _, _| assert_eq!(retry_failed(ledger, queue).unwrap(), 1));
}

#[test]
fn the_record_and_the_queue_give_each_other_what_they_lack() {
    let Some(program) = program() else { return };
    let (clock, mut queue) = new_queue(program);
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&[task("a", &[]), task("b", &["a"]), task("c", &[])]).unwrap();
    // A result of which the queue knows nothing, e.g. because its servers were replaced.
    let claim = claimed(&mut ledger, &NoClock, 0);
    ledger.finish(&claim.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
    let report = sync(&mut ledger, &mut queue).unwrap();
    assert_eq!(report, SyncReport { tasks_sent: 3, results_sent: 1, results_received: 0 });
    for _ in 0..2 {
        let claim = claimed(&mut queue, &clock, 0);
        let outcome = if claim.task.id == "b" { Outcome::Passed } else { Outcome::Failed };
        assert_ne!(claim.task.id, "a");
        queue.finish(&claim.lease, &result(&claim.task.id, outcome), Spend::default()).unwrap();
    }
    let report = sync(&mut ledger, &mut queue).unwrap();
    assert_eq!(report, SyncReport { tasks_sent: 0, results_sent: 0, results_received: 2 });
    assert_eq!(ledger.unfinished().unwrap(), 0);
    let mut observer = Ids::default();
    let end = wait_for_results(&mut ledger, &mut queue, &StopFlag::default(), &mut observer).unwrap();
    assert_eq!((end.passed, end.failed, end.unfinished, observer.0.len()), (2, 1, 0, 3));
}

#[test]
fn a_cancelled_fleet_stops_its_workers_and_gives_them_no_task_until_it_is_started_again() {
    let Some(program) = program() else { return };
    let (clock, mut submitter) = new_queue(program);
    submitter.submit(&[task("a", &[]), task("b", &[])]).unwrap();
    let queue = queue(&clock.server);
    let (control, stop) = (queue.watch_control().unwrap(), StopFlag::default());
    control.stop_when_cancelled(&stop);
    let policy = WorkerPolicy { directories: vec!["/".into()], ..WorkerPolicy::default() };
    let mut worker = WorkerQueue::new(queue, policy, control.clone(), stop.clone(), true);
    let claim = claimed(&mut worker, &clock, 0);
    submitter.cancel().unwrap();
    let start = Instant::now();
    while !stop.is_requested() {
        assert!(start.elapsed() < Duration::from_secs(5), "the worker is not stopped");
        thread::sleep(Duration::from_millis(5));
    }
    worker.release(&claim.lease, Release::Park { reason: "stopped".into() }, Spend::default()).unwrap();
    assert_none(&mut worker, &clock, 0, NextTask::NotReady);
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&[task("a", &[]), task("b", &[])]).unwrap();
    let end =
        wait_for_results(&mut ledger, &mut submitter, &StopFlag::default(), &mut Ids::default()).unwrap();
    assert_eq!(end.unfinished, 2);
    assert_eq!(end.halt, Some(HaltReason::Exhausted(FleetControl::CANCELLED.into())));
    submitter.start(FleetLimits::default()).unwrap();
    let start = Instant::now();
    while control.current().is_cancelled {
        assert!(start.elapsed() < Duration::from_secs(5), "the worker stays cancelled");
        thread::sleep(Duration::from_millis(5));
    }
    let ids = [claimed(&mut worker, &clock, 0), claimed(&mut worker, &clock, 0)].map(|claim| claim.task.id);
    assert!(ids.contains(&"a".to_owned()) && ids.contains(&"b".to_owned()), "{ids:?}");
}

#[test]
fn waiting_ends_when_the_rest_is_parked() {
    let Some(program) = program() else { return };
    let (clock, mut queue) = new_queue(program);
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    let claim = claimed(&mut queue, &clock, 0);
    let spend = Spend { cost_micros: 5, tokens: 7 };
    queue.release(&claim.lease, Release::Park { reason: "quota".into() }, spend).unwrap();
    let mut observer = Ids::default();
    let end = wait_for_results(&mut ledger, &mut queue, &StopFlag::default(), &mut observer).unwrap();
    assert_eq!((end.unfinished, observer.0.as_slice()), (2, ["a: quota".to_owned()].as_slice()));
}

/// The clock of the ledger.
struct NoClock;

impl Clock for NoClock {
    fn time(&self, units: u64) -> u64 {
        units
    }

    fn at(&self, units: u64) -> u64 {
        units
    }

    fn attempts(&self) -> u32 {
        1
    }
}

/// Collects what is reported.
#[derive(Default)]
struct Ids(Vec<String>);

impl FleetObserver for Ids {
    fn finished(&mut self, result: &ibeam_fleet::TaskResult) -> std::io::Result<()> {
        self.0.push(result.id.clone());
        Ok(())
    }

    fn started(&mut self, _task: &str) {}

    fn retried(&mut self, _task: &str, _pause: Duration) {}

    fn parked(&mut self, task: &str, reason: &Sentence) {
        self.0.push(format!("{task}: {reason}"));
    }

    fn undecided(&mut self, task: &str, reason: &Sentence) {
        self.parked(task, reason);
    }
}
