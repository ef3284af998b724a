//! The limits that workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{
    Budget, BudgetLease, DriverUsage, FleetLimits, Hold, LeaseDecision, RateLimits, RequestOutcome,
    RequestReport, SharedLimits, Spend,
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

fn report(outcome: RequestOutcome) -> RequestReport {
    RequestReport { tokens: 0, cost_micros: 0, outcome, quota: None }
}

fn wait_for(limits: &Arc<dyn SharedLimits>, account: &str, expected: impl Fn(Option<&Hold>) -> bool) {
    let start = Instant::now();
    while !expected(limits.hold(account).as_ref()) {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", limits.hold(account));
        thread::sleep(Duration::from_millis(5));
    }
}

struct Worker {
    limits: Arc<dyn SharedLimits>,
    name: String,
    lease: Option<BudgetLease>,
    consumed: u64,
    largest: u64,
    leases: usize,
}

impl Worker {
    fn usage(&self) -> DriverUsage {
        let amount = |tokens| Spend { cost_micros: 0, tokens };
        DriverUsage {
            driver: self.name.clone(),
            consumed: amount(self.consumed),
            largest: amount(self.largest),
            expected: amount(100),
            ..DriverUsage::default()
        }
    }

    /// Waits for the permission for a request, without others of this worker. Returns false if the budget is spent.
    fn wait_for_permission(&mut self) -> bool {
        loop {
            let largest = self.lease.and_then(|lease| lease.largest).map_or(0, |largest| largest.tokens);
            let needed = 2 * largest.max(self.largest);
            let permits = |lease: &BudgetLease| match lease.is_last {
                true => self.consumed < lease.until.tokens,
                false => needed > 0 && self.consumed + needed <= lease.until.tokens,
            };
            if self.lease.as_ref().is_some_and(permits) {
                self.lease.take_if(|lease| lease.is_last);
                return true;
            }
            self.leases += 1;
            match self.limits.lease(ACCOUNT, &self.usage()) {
                LeaseDecision::Leased { budget, .. } => self.lease = Some(budget),
                LeaseDecision::Wait { pause, .. } => {
                    self.lease = None;
                    thread::sleep(pause.min(Duration::from_millis(5)));
                }
                LeaseDecision::Refuse(reason) => {
                    assert!(reason.contains("budget"), "{reason}");
                    return false;
                }
            }
        }
    }
}

#[test]
fn workers_exceed_a_budget_by_at_most_one_request_and_a_larger_one_permits_more() {
    const LIMIT: u64 = 60_000;
    let Some(program) = program() else { return };
    let budget = |tokens| FleetLimits {
        budget: Budget { cost_micros: None, tokens: Some(tokens) },
        ..FleetLimits::default()
    };
    let (server, mut queue) = start(program, budget(LIMIT));
    let (used, largest, leases) = (AtomicU64::new(0), AtomicU64::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..6 {
            let limits = worker(&server);
            let (used, largest, leases) = (&used, &largest, &leases);
            scope.spawn(move || {
                let name = format!("w{number}");
                let mut worker = Worker { limits, name, lease: None, consumed: 0, largest: 0, leases: 0 };
                worker.limits.report(&worker.usage(), true);
                while worker.wait_for_permission() {
                    assert!(
                        used.load(Ordering::SeqCst) < LIMIT,
                        "no request is sent once the budget is spent"
                    );
                    let tokens = fastrand::u64(100..200);
                    thread::sleep(Duration::from_millis(fastrand::u64(1..5)));
                    used.fetch_add(tokens, Ordering::SeqCst);
                    largest.fetch_max(tokens, Ordering::SeqCst);
                    (worker.consumed, worker.largest) =
                        (worker.consumed + tokens, worker.largest.max(tokens));
                    if worker.lease.is_none() {
                        worker.limits.report(&worker.usage(), false);
                    }
                }
                leases.fetch_add(worker.leases, Ordering::SeqCst);
            });
        }
    });
    let (used, largest) = (used.into_inner(), largest.into_inner());
    println!("{} leases of 6 workers for {used} of {LIMIT} tokens", leases.into_inner());
    assert!(used >= LIMIT && used < LIMIT + largest, "{used}, largest {largest}");
    assert_eq!(queue.shared_spend().unwrap().tokens, used);
    queue.start(budget(2 * LIMIT)).unwrap();
    let limits = worker(&server);
    let mut last =
        Worker { limits, name: "last".to_owned(), lease: None, consumed: 0, largest: 0, leases: 0 };
    assert!(last.wait_for_permission());
}

#[test]
fn workers_share_the_requests_of_a_minute() {
    let Some(program) = program() else { return };
    let rates = RateLimits { requests_per_minute: Some(5), tokens_per_minute: None };
    let (server, _queue) = start(program, FleetLimits { rates, ..FleetLimits::default() });
    let workers = [worker(&server), worker(&server)];
    let lease = |number: usize, account: &str| {
        let usage = DriverUsage { driver: format!("w{number}"), ..DriverUsage::default() };
        workers[number].lease(account, &usage)
    };
    for number in 0..5 {
        let decision = lease(number % 2, ACCOUNT);
        assert!(matches!(decision, LeaseDecision::Leased { .. }), "{decision:?}");
    }
    for number in 0..2 {
        let LeaseDecision::Wait { pause, .. } = lease(number, ACCOUNT) else { panic!("a sixth request") };
        assert!(pause > Duration::from_secs(50) && pause <= Duration::from_secs(62), "{pause:?}");
        let decision = lease(number, "another account");
        assert!(matches!(decision, LeaseDecision::Leased { .. }), "{decision:?}");
    }
}

#[test]
fn an_overload_or_a_quota_that_one_worker_meets_holds_the_others_until_the_next_start() {
    let Some(program) = program() else { return };
    let (server, mut queue) = start(program, FleetLimits::default());
    let [first, second] = [worker(&server), worker(&server)];
    assert_eq!(first.hold(ACCOUNT), None);
    let overloaded = RequestOutcome::Overloaded { retry_after_ms: Some(3000) };
    first.end(ACCOUNT, Some(&report(overloaded)));
    wait_for(
        &second,
        ACCOUNT,
        |hold| matches!(hold, Some(Hold::Wait(pause)) if *pause <= Duration::from_secs(3)),
    );
    assert_eq!(second.hold("another account"), None);
    wait_for(&second, ACCOUNT, |hold| hold.is_none());
    let exhausted = RequestOutcome::Exhausted { reason: "no credit".to_owned() };
    second.end(ACCOUNT, Some(&report(exhausted)));
    let refused = Hold::Refuse("no credit".to_owned());
    wait_for(&first, ACCOUNT, |hold| hold == Some(&refused));
    assert_eq!(first.hold("another account"), None);
    assert_eq!(worker(&server).hold(ACCOUNT), Some(refused), "a worker that starts later");

    let subject = queue.store.names.accounts();
    let keys = queue.connection.block_on(queue.store.scan(&subject, 1)).unwrap();
    let names: Vec<&str> = keys.iter().map(|entry| entry.task.as_str()).collect();
    assert!(names.len() == 1 && names[0].len() == 16 && !names[0].contains("provider"), "{names:?}");

    queue.start(FleetLimits::default()).unwrap();
    wait_for(&first, ACCOUNT, |hold| hold.is_none());
}
