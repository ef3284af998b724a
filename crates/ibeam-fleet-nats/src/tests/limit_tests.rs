//! The limits that workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{
    Budget, FleetLimits, RateLimits, RequestOutcome, RequestReport, SharedDecision, SharedLimits,
    SharedPermit,
};

use super::server::{Cluster, program};
use crate::connection::QueueOptions;
use crate::nats_queue::NatsQueue;

const ACCOUNT: &str = "provider#0123abcd";

/// Starts a server with a fleet.
fn start(program: std::path::PathBuf, limits: FleetLimits) -> (Cluster, NatsQueue) {
    let server = Cluster::start(program, 1, "");
    server.wait_until_ready();
    let address = server.address("f");
    let mut queue = NatsQueue::create(&address, &QueueOptions::default(), Duration::from_secs(30)).unwrap();
    queue.start(limits).unwrap();
    (server, queue)
}

/// Returns the limits as a worker with a connection of its own sees them.
fn worker(server: &Cluster) -> Arc<dyn SharedLimits> {
    let queue = NatsQueue::open(&server.address("f"), &QueueOptions::default()).unwrap();
    let control = queue.watch_control().unwrap();
    queue.shared_limits(&control).unwrap()
}

fn report(tokens: u64, outcome: RequestOutcome) -> RequestReport {
    RequestReport { tokens, cost_micros: 0, outcome }
}

fn permit(limits: &Arc<dyn SharedLimits>, account: &str) -> SharedPermit {
    match limits.decide(account) {
        SharedDecision::Send(permit) => permit,
        other @ (SharedDecision::Wait(_) | SharedDecision::Refuse(_)) => panic!("{other:?}"),
    }
}

fn wait_for(limits: &Arc<dyn SharedLimits>, account: &str, expected: impl Fn(&SharedDecision) -> bool) {
    let start = Instant::now();
    while !expected(&limits.decide(account)) {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", limits.decide(account));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn workers_exceed_a_budget_by_at_most_one_request_and_a_larger_one_permits_more() {
    const LIMIT: u64 = 6000;
    let Some(program) = program() else { return };
    let budget = |tokens| FleetLimits {
        budget: Budget { cost_micros: None, tokens: Some(tokens) },
        ..FleetLimits::default()
    };
    let (server, mut queue) = start(program, budget(LIMIT));
    let (used, largest) = (AtomicU64::new(0), AtomicU64::new(0));
    let (requests, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let workers: Vec<_> = (0..3).map(|_| worker(&server)).collect();
    thread::scope(|scope| {
        for limits in workers.iter().flat_map(|limits| [limits; 4]) {
            scope.spawn(|| {
                loop {
                    let permit = match limits.decide(ACCOUNT) {
                        SharedDecision::Send(permit) => permit,
                        SharedDecision::Wait(pause) => {
                            thread::sleep(pause.min(Duration::from_millis(5)));
                            continue;
                        }
                        SharedDecision::Refuse(reason) => {
                            assert!(reason.contains("budget"), "{reason}");
                            refused.fetch_add(1, Ordering::SeqCst);
                            return;
                        }
                    };
                    assert!(
                        used.load(Ordering::SeqCst) < LIMIT,
                        "no request is sent once the budget is spent"
                    );
                    let tokens = fastrand::u64(100..200);
                    thread::sleep(Duration::from_millis(fastrand::u64(1..10)));
                    used.fetch_add(tokens, Ordering::SeqCst);
                    largest.fetch_max(tokens, Ordering::SeqCst);
                    requests.fetch_add(1, Ordering::SeqCst);
                    limits.end(ACCOUNT, permit, Some(&report(tokens, RequestOutcome::Complete)));
                }
            });
        }
    });
    let (used, largest) = (used.into_inner(), largest.into_inner());
    println!("{} requests of 3 workers used {used} of {LIMIT} tokens", requests.into_inner());
    assert_eq!(refused.into_inner(), 12);
    assert!(used >= LIMIT && used < LIMIT + largest, "{used}, largest {largest}");
    assert_eq!(queue.shared_spend().unwrap().tokens, used);
    queue.start(budget(2 * LIMIT)).unwrap();
    wait_for(&workers[0], ACCOUNT, |decision| matches!(decision, SharedDecision::Send(_)));
}

#[test]
fn workers_share_the_requests_of_a_minute() {
    let Some(program) = program() else { return };
    let rates = RateLimits { requests_per_minute: Some(5), tokens_per_minute: None };
    let (server, _queue) = start(program, FleetLimits { rates, ..FleetLimits::default() });
    let workers = [worker(&server), worker(&server)];
    for number in 0..5 {
        permit(&workers[number % 2], ACCOUNT);
    }
    for limits in &workers {
        let SharedDecision::Wait(pause) = limits.decide(ACCOUNT) else { panic!("a sixth request") };
        assert!(pause > Duration::from_secs(50) && pause <= Duration::from_secs(60), "{pause:?}");
        permit(limits, "another account");
    }
}

#[test]
fn an_overload_or_a_quota_that_one_worker_meets_holds_the_others_until_the_next_start() {
    let Some(program) = program() else { return };
    let (server, mut queue) = start(program, FleetLimits::default());
    let [first, second] = [worker(&server), worker(&server)];
    let sent = permit(&first, ACCOUNT);
    assert!(!sent.is_counted());
    let overloaded = RequestOutcome::Overloaded { retry_after_ms: Some(3000) };
    first.end(ACCOUNT, sent, Some(&report(0, overloaded)));
    wait_for(
        &second,
        ACCOUNT,
        |decision| matches!(decision, SharedDecision::Wait(pause) if *pause <= Duration::from_secs(3)),
    );
    permit(&second, "another account");
    wait_for(&second, ACCOUNT, |decision| matches!(decision, SharedDecision::Send(_)));
    let exhausted = RequestOutcome::Exhausted { reason: "no credit".to_owned() };
    second.end(ACCOUNT, SharedPermit::UNCOUNTED, Some(&report(0, exhausted)));
    let refused = SharedDecision::Refuse("no credit".to_owned());
    wait_for(&first, ACCOUNT, |decision| *decision == refused);
    permit(&first, "another account");
    assert_eq!(worker(&server).decide(ACCOUNT), refused, "a worker that starts later");

    let subject = queue.store.names.accounts();
    let keys = queue.connection.block_on(queue.store.scan(&subject, 1)).unwrap();
    let names: Vec<&str> = keys.iter().map(|entry| entry.task.as_str()).collect();
    assert!(names.len() == 1 && names[0].len() == 16 && !names[0].contains("provider"), "{names:?}");

    queue.start(FleetLimits::default()).unwrap();
    wait_for(&first, ACCOUNT, |decision| matches!(decision, SharedDecision::Send(_)));
}
