//! Workers that are killed and started again with the same directory. A queue that is dropped releases nothing.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{Claim, Finished, NextTask, Outcome, Release, Renewal, Spend, TaskQueue as _};

use super::server::{Cluster, program};
use crate::connection::QueueOptions;
use crate::names::KeyKind;
use crate::nats_queue::{NatsQueue, now_ms};
use crate::queue_conformance::{result, task};

const LEASE: Duration = Duration::from_secs(4);

/// Starts a server with a queue that has these tasks, and creates the directory of a worker.
fn new_scene(tasks: &[&str]) -> Option<(Cluster, NatsQueue, tempfile::TempDir)> {
    let server = Cluster::start(program()?, 1, "");
    server.wait_until_ready();
    let mut queue = NatsQueue::create(&server.address("f"), &QueueOptions::default(), LEASE).unwrap();
    let tasks: Vec<_> = tasks.iter().map(|id| task(id, &[])).collect();
    queue.submit(&tasks).unwrap();
    Some((server, queue, tempfile::tempdir().unwrap()))
}

/// Starts a worker.
fn worker(server: &Cluster, directory: &Path) -> NatsQueue {
    let queue = NatsQueue::open(&server.address("f"), &QueueOptions::default()).unwrap();
    queue.with_directory(directory)
}

/// Claims until a task is ready.
#[track_caller]
fn claimed(queue: &mut NatsQueue, timeout: Duration) -> Claim {
    let start = Instant::now();
    loop {
        match queue.claim(now_ms(), 0).unwrap() {
            NextTask::Claimed(claim) => return *claim,
            next @ (NextTask::NotReady | NextTask::Refused { .. } | NextTask::Drained) => {
                assert!(start.elapsed() < timeout, "{next:?}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn records(directory: &Path) -> usize {
    fs::read_dir(directory.join("held")).map(Iterator::count).unwrap_or_default()
}

/// Claims the only task in a worker that is killed at once.
fn claim_and_kill(server: &Cluster, directory: &Path) -> Claim {
    let claim = claimed(&mut worker(server, directory), LEASE);
    assert_eq!(records(directory), 1);
    claim
}

#[test]
fn a_worker_that_is_started_again_continues_its_task_at_once_and_with_the_same_lease() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    let first = claim_and_kill(&server, home.path());
    let claimed_at = Instant::now();
    let mut again = worker(&server, home.path());
    let NextTask::Claimed(claim) = again.claim(now_ms(), 0).unwrap() else { panic!("not at once") };
    assert_eq!(*claim, first);
    // After the end of the first lease, but not of the extended one.
    thread::sleep((LEASE / 2).saturating_sub(claimed_at.elapsed()));
    assert_eq!(again.renew(&claim.lease, now_ms(), 0).unwrap(), Renewal::Held);
    thread::sleep((LEASE * 5 / 4).saturating_sub(claimed_at.elapsed()));
    assert_eq!(other.claim(now_ms(), 0).unwrap(), NextTask::NotReady);
    drop(again);
    // The record has the renewed lease.
    let mut third = worker(&server, home.path());
    let NextTask::Claimed(claim) = third.claim(now_ms(), 0).unwrap() else { panic!("not again") };
    assert_eq!(claim.lease, first.lease);
    let finished = third.finish(&claim.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
    assert_eq!(finished, Finished::Recorded { skipped: Vec::new() });
    assert_eq!(records(home.path()), 0);
    assert_eq!(third.claim(now_ms(), 0).unwrap(), NextTask::Drained);
}

#[test]
fn a_task_whose_lease_has_ended_is_left_to_the_queue() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    let first = claim_and_kill(&server, home.path());
    // Its records are read before the end of the lease, and used after it.
    let early = worker(&server, home.path());
    thread::sleep(LEASE);
    let late = worker(&server, home.path());
    assert_eq!(records(home.path()), 0);
    let second = claimed(&mut other, LEASE);
    assert_ne!(second.lease, first.lease);
    for mut queue in [late, early] {
        assert_eq!(queue.claim(now_ms(), 0).unwrap(), NextTask::NotReady);
    }
    assert_eq!(other.renew(&second.lease, now_ms(), 0).unwrap(), Renewal::Held);
}

#[test]
fn a_task_that_has_a_result_meanwhile_is_only_acknowledged() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    let first = claim_and_kill(&server, home.path());
    other.finish(&first.lease, &result("a", Outcome::Passed), Spend::default()).unwrap();
    assert_eq!(other.claim(now_ms(), 0).unwrap(), NextTask::NotReady, "the message is not acknowledged");
    let mut again = worker(&server, home.path());
    assert_eq!(again.claim(now_ms(), 0).unwrap(), NextTask::Drained);
    assert_eq!(records(home.path()), 0);
}

#[test]
fn a_task_that_was_returned_is_not_continued() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    let mut first = worker(&server, home.path());
    let claim = claimed(&mut first, LEASE);
    first.release(&claim.lease, Release::Retry { at_ms: 0 }, Spend::default()).unwrap();
    drop(first);
    assert_eq!(records(home.path()), 0);
    let second = claimed(&mut other, LEASE / 2);
    assert_ne!(second.lease, claim.lease);
    assert_eq!(worker(&server, home.path()).claim(now_ms(), 0).unwrap(), NextTask::NotReady);
}

#[test]
fn a_task_that_ends_the_same_worker_five_times_is_parked() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    for _ in 0..5 {
        assert_eq!(claim_and_kill(&server, home.path()).task.id, "a");
    }
    assert_eq!(worker(&server, home.path()).claim(now_ms(), 0).unwrap(), NextTask::Drained);
    assert_eq!((other.unfinished().unwrap(), records(home.path())), (1, 0));
    other.unpark().unwrap();
    for _ in 0..2 {
        assert_eq!(claim_and_kill(&server, home.path()).task.id, "a");
    }
}

#[test]
fn a_task_whose_keys_are_damaged_does_not_hold_up_the_others() {
    let Some((server, mut other, home)) = new_scene(&["a"]) else { return };
    claim_and_kill(&server, home.path());
    let subject = other.store.names.key(KeyKind::State, "a");
    other.connection.block_on(other.store.put(&subject, &"damaged")).unwrap();
    other.submit(&[task("b", &[])]).unwrap();
    let mut again = worker(&server, home.path());
    assert_eq!(claimed(&mut again, LEASE / 2).task.id, "b");
    // It is not held forever either.
    let end = Instant::now() + LEASE * 2;
    while records(home.path()) > 1 {
        assert!(Instant::now() < end, "the record stays");
        let _ = again.claim(now_ms(), 0);
        thread::sleep(Duration::from_millis(50));
    }
}
