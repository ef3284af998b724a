//! Workers that do not execute every task.

use std::time::Duration;

use ibeam_fleet::{Claim, NextTask, Outcome, Release, Spend, StopFlag, Task, TaskQueue as _};

use super::queue_tests::{RealClock, assert_drained, new_queue, queue};
use super::server::program;
use crate::queue_conformance::{Clock as _, assert_none, claimed, result, task};
use crate::refusals::WorkerName;
use crate::worker_queue::{WorkerPolicy, WorkerQueue};

/// Returns a task that needs a worker with checks.
fn checked(id: &str, needs: &[&str]) -> Task {
    Task { check: Some("true".to_owned()), ..task(id, needs) }
}

fn worker(clock: &RealClock, id: &str, allows_checks: bool) -> WorkerQueue {
    let queue = queue(&clock.server);
    let policy = WorkerPolicy { directories: vec!["/".into()], allows_checks, ..WorkerPolicy::default() };
    let control = queue.watch_control().unwrap();
    let name = WorkerName { id: id.to_owned(), machine: format!("host-{id}") };
    let mut worker = WorkerQueue::new(queue, policy, control, StopFlag::default(), true).with_name(name);
    worker.rounds.first_pause = Duration::from_millis(10);
    worker
}

/// Asks a worker until its answer is another one than "not ready".
fn next(worker: &mut WorkerQueue, clock: &RealClock) -> NextTask {
    let answers = (0..clock.attempts()).map(|_| worker.claim(clock.at(0), clock.lease_ms()).unwrap());
    answers.into_iter().find(|next| *next != NextTask::NotReady).expect("a task is ready")
}

fn pass(worker: &mut WorkerQueue, claim: &Claim) {
    worker.finish(&claim.lease, &result(&claim.task.id, Outcome::Passed), Spend::default()).unwrap();
}

#[test]
fn a_task_that_one_worker_refuses_goes_to_another_one_and_the_first_ends() {
    let Some(program) = program() else { return };
    let (clock, mut submitter) = new_queue(program);
    submitter.submit(&[checked("a", &[]), checked("b", &[]), task("c", &[])]).unwrap();
    let (mut refuser, mut other) = (worker(&clock, "r", false), worker(&clock, "o", true));
    let a = claimed(&mut other, &clock, 0);
    assert_eq!(a.task.id, "a");
    let reason = "the worker does not allow checks".into();
    assert_eq!(next(&mut refuser, &clock), NextTask::Refused { task: "b".to_owned(), reason });
    let c = claimed(&mut refuser, &clock, 0);
    assert_eq!(c.task.id, "c", "the others are not behind the refused task");
    pass(&mut refuser, &c);
    // The other worker may take what is left.
    assert_drained(&mut refuser, &clock);
    let list = submitter.refusals(&WorkerPolicy::default()).unwrap();
    let refused: Vec<_> = list.tasks.iter().map(|found| (found.task.as_str(), found.workers.len())).collect();
    assert_eq!((list.open, refused), (2, vec![("a", 0), ("b", 1)]), "{list:?}");
    assert!(list.tasks.iter().all(|task| task.here.is_some() && task.ended.is_none()), "{list:?}");
    let b = claimed(&mut other, &clock, 0);
    for claim in [a, b] {
        pass(&mut other, &claim);
    }
    assert_drained(&mut other, &clock);
    assert!(submitter.results().unwrap().iter().all(|result| result.outcome == Outcome::Passed));
}

#[test]
fn a_task_that_every_worker_refuses_ends_with_their_reasons() {
    let Some(program) = program() else { return };
    let (clock, mut submitter) = new_queue(program);
    submitter.submit(&[checked("a", &[]), checked("b", &["a"])]).unwrap();
    let mut workers = [worker(&clock, "1", false), worker(&clock, "2", false)];
    for worker in &mut workers {
        assert!(matches!(next(worker, &clock), NextTask::Refused { .. }));
    }
    assert_eq!(submitter.unfinished().unwrap(), 2);
    assert_drained(&mut workers[0], &clock);
    let results = submitter.results().unwrap();
    let codes: Vec<_> = results.iter().map(|result| (result.outcome, result.code.as_deref())).collect();
    assert_eq!(codes, [(Outcome::Failed, Some("refused")), (Outcome::Skipped, None)]);
    let message = results[0].message.as_deref().unwrap();
    for worker in ["host-1 (1): the worker does not allow checks", "host-2 (2): the worker"] {
        assert!(message.contains(worker), "{message}");
    }
    let list = submitter.refusals(&WorkerPolicy::default()).unwrap();
    assert_eq!((list.open, list.tasks.len()), (0, 1));
    assert_eq!(list.tasks[0].ended.as_deref(), Some(message));
}

#[test]
fn a_worker_without_credit_leaves_the_tasks_of_that_model_to_others_and_executes_the_rest() {
    let Some(program) = program() else { return };
    let (clock, mut submitter) = new_queue(program);
    let with_model = |id: &str, model: &str| Task { model: Some(model.to_owned()), ..task(id, &[]) };
    let tasks = [with_model("a", "m"), with_model("b", "m"), with_model("c", "n")];
    submitter.submit(&tasks).unwrap();
    let mut poor = worker(&clock, "p", true);
    let exhausted = Release::Exhausted { reason: "no credit".into() };
    let a = claimed(&mut poor, &clock, 0);
    let spend = Spend { cost_micros: 3, tokens: 7 };
    poor.release(&a.lease, exhausted.clone(), spend).unwrap();
    let c = claimed(&mut poor, &clock, 0);
    assert_eq!(c.task.id, "c");
    // Another worker has another key.
    let mut rich = worker(&clock, "r", true);
    let others = [claimed(&mut rich, &clock, 0), claimed(&mut rich, &clock, 0)];
    let spends: Vec<_> = others.iter().map(|claim| (claim.task.id.as_str(), claim.spend.tokens)).collect();
    assert!(spends.contains(&("a", 7)) && spends.contains(&("b", 0)), "{spends:?}");
    pass(&mut poor, &c);
    let [first, second] = &others;
    pass(&mut rich, first);
    // Now it has no credit either.
    let last = second.task.id.clone();
    rich.release(&second.lease, exhausted, second.spend).unwrap();
    assert_drained(&mut rich, &clock);
    assert_eq!((submitter.unfinished().unwrap(), submitter.results().unwrap().len()), (1, 2));
    assert_none(&mut submitter, &clock, 0, NextTask::Drained);
    // The fleet is started again.
    submitter.start(ibeam_fleet::FleetLimits::default()).unwrap();
    submitter.unpark().unwrap();
    assert_eq!(claimed(&mut rich, &clock, 0).task.id, last);
}
