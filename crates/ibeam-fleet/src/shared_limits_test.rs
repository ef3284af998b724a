//! Limits that machines share, with workers that die and come back.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const START_MS: u64 = 1_000_000;

fn limits(tokens: Option<u64>, rates: RateLimits) -> FleetLimits {
    FleetLimits { budget: Budget { cost_micros: None, tokens }, rates }
}

fn spend(tokens: u64) -> Spend {
    Spend { cost_micros: 0, tokens }
}

fn usage(driver: &str, consumed: u64, open: u64) -> DriverUsage {
    let (driver, consumed) = (driver.to_owned(), spend(consumed));
    DriverUsage { driver, consumed, open, largest: spend(10), expected: spend(10), ..DriverUsage::default() }
}

fn leased(decision: LeaseDecision) -> (BudgetLease, Option<RequestBlock>) {
    match decision {
        LeaseDecision::Leased { budget, requests } => (budget, requests),
        other @ (LeaseDecision::Wait { .. } | LeaseDecision::Refuse(_)) => panic!("{other:?}"),
    }
}

#[test]
fn blocks_become_smaller_towards_the_end_and_come_back() {
    let limits = limits(Some(10_000), RateLimits::default());
    let mut state = SharedState::default();
    for driver in ["a", "b"] {
        state.report(limits, &usage(driver, 0, 0), true, START_MS);
    }
    let mut lease =
        |driver: &str, consumed| leased(state.lease(limits, "x", &usage(driver, consumed, 0), START_MS)).0;
    let first = lease("a", 0);
    assert_eq!((first.until, first.is_last), (spend(640), false), "32 requests with 20 tokens");
    let late = lease("a", 9_700);
    assert_eq!(late.until, spend(9_775), "a quarter of 300");
    assert_eq!(lease("b", 0).until, spend(56), "a quarter of the rest");
    let decision = state.lease(limits, "x", &usage("a", 9_920, 0), START_MS);
    assert!(matches!(decision, LeaseDecision::Leased { .. }), "{decision:?}");
    let decision = state.lease(limits, "x", &usage("a", 9_990, 0), START_MS);
    assert!(matches!(decision, LeaseDecision::Wait { .. }), "the other driver leases the rest: {decision:?}");
    state.report(limits, &usage("b", 0, 0), true, START_MS);
    let last = leased(state.lease(limits, "x", &usage("a", 9_990, 0), START_MS)).0;
    assert!(last.is_last && last.permits(spend(9_990), last.largest, 0));
    assert!(!last.permits(spend(9_990), last.largest, 1), "one request after the other");
    let decision = state.lease(limits, "x", &usage("b", 0, 0), START_MS);
    assert!(matches!(decision, LeaseDecision::Wait { .. }), "{decision:?}");
    let decision = state.lease(limits, "x", &usage("a", 10_002, 0), START_MS);
    assert_eq!(decision, LeaseDecision::Refuse(Budget::SPENT.to_owned()));
}

#[test]
fn the_block_of_a_dead_driver_counts_until_it_reports_again() {
    let limits = limits(Some(1000), RateLimits::default());
    let mut state = SharedState::default();
    state.report(limits, &usage("a", 0, 0), true, START_MS);
    let block = leased(state.lease(limits, "x", &usage("a", 0, 0), START_MS)).0.until;
    assert_eq!(block, spend(500));
    let later = START_MS + DEAD_AFTER_MS + 1;
    state.report(limits, &usage("b", 0, 0), true, later);
    leased(state.lease(limits, "x", &usage("b", 0, 0), later));
    assert_eq!(state.spent(), block);
    let lease = state.report(limits, &usage("a", 30, 1), false, later);
    assert_eq!((state.spent(), lease.until), (spend(30), spend(50)), "its open request stays reserved");
}

#[test]
fn all_machines_together_keep_the_rates_of_an_account() {
    let rates = RateLimits { requests_per_minute: Some(30), tokens_per_minute: None };
    let limits = limits(None, rates);
    let mut state = SharedState::default();
    let mut granted = 0;
    let end = loop {
        let driver = if granted % 2 == 0 { "a" } else { "b" };
        match state.lease(limits, "x", &usage(driver, 0, 0), START_MS) {
            LeaseDecision::Leased { requests, .. } => granted += requests.unwrap().requests,
            LeaseDecision::Wait { pause, .. } => break pause,
            LeaseDecision::Refuse(reason) => panic!("{reason}"),
        }
    };
    assert_eq!((granted, end), (30, Duration::from_secs(MINUTE_S + BLOCK_S)));
    leased(state.lease(limits, "y", &usage("a", 0, 0), START_MS));
    let unsent = BlockCorrection {
        account: "x".to_owned(),
        second: START_MS / 1000,
        unsent: 2,
        ..BlockCorrection::default()
    };
    let returning = DriverUsage { corrections: vec![unsent], ..usage("a", 0, 0) };
    let block = leased(state.lease(limits, "x", &returning, START_MS)).1.unwrap();
    assert_eq!(block.requests, 1);
}

#[test]
fn the_tokens_of_a_minute_are_reserved_and_corrected() {
    let rates = RateLimits { requests_per_minute: None, tokens_per_minute: Some(100) };
    let limits = limits(None, rates);
    let mut state = SharedState::default();
    let block = leased(state.lease(limits, "x", &usage("a", 0, 0), START_MS)).1.unwrap();
    assert_eq!((block.requests, block.reserved_tokens), (2, 10));
    let more = BlockCorrection {
        account: "x".to_owned(),
        second: block.second,
        more_tokens: 81,
        unused_tokens: 10,
        ..BlockCorrection::default()
    };
    let wait =
        state.lease(limits, "x", &DriverUsage { corrections: vec![more], ..usage("a", 90, 0) }, START_MS);
    let LeaseDecision::Wait { pause, .. } = wait else { panic!("91 tokens are taken: {wait:?}") };
    assert_eq!(pause, Duration::from_secs(MINUTE_S + BLOCK_S));
}

#[test]
fn the_state_is_read_as_it_was_written() {
    let mut state = SharedState::default();
    state.lease(FleetLimits::default(), "x", &usage("a", 0, 0), START_MS);
    assert!(!state.is_made("a", 7));
    state.mark("a", 7);
    assert!(state.is_made("a", 7));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SharedState>(&text).unwrap(), state);
    assert_eq!(serde_json::from_str::<SharedState>("{}").unwrap(), SharedState::default());
}

/// A driver with its lease. What it has consumed survives its process.
#[derive(Default)]
struct Driver {
    lease: Option<BudgetLease>,
    consumed: u64,
    largest: u64,
    open: u64,
}

impl Driver {
    fn usage(&self, name: &str) -> DriverUsage {
        DriverUsage {
            largest: spend(self.largest),
            expected: spend(200),
            ..usage(name, self.consumed, self.open)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No request is twice as large as one before it. Drivers are killed, seem to be dead, and come back.
    #[test]
    fn a_budget_is_exceeded_by_at_most_one_request_of_all_machines(
        limit in 1..6000_u64,
        steps in proptest::collection::vec((0..10_u8, 0..3_usize, 100..200_u64), 1..300),
    ) {
        let limits = limits(Some(limit), RateLimits::default());
        let (mut state, mut now) = (SharedState::default(), START_MS);
        let mut drivers: HashMap<String, Driver> = HashMap::new();
        let (mut total, mut largest) = (0, 0);
        for (step, at, tokens) in steps {
            let name = format!("d{at}");
            let driver = drivers.entry(name.clone()).or_default();
            let known = Some(spend(driver.largest)).filter(|largest| *largest != Spend::default());
            match step {
                0..5 => {
                    let permits = |driver: &Driver| {
                        let lease = driver.lease?;
                        let largest = known.unwrap_or_default().max(lease.largest.unwrap_or_default());
                        let largest = Some(largest).filter(|largest| *largest != Spend::default());
                        lease.permits(spend(driver.consumed), largest, driver.open).then_some(())
                    };
                    if permits(driver).is_none() {
                        match state.lease(limits, "x", &driver.usage(&name), now) {
                            LeaseDecision::Leased { budget, .. } => driver.lease = Some(budget),
                            LeaseDecision::Wait { budget, .. } => driver.lease = budget,
                            LeaseDecision::Refuse(_) => driver.lease = None,
                        }
                    }
                    if permits(driver).is_some() {
                        prop_assert!(total < limit, "a request is sent after {} of {}", total, limit);
                        driver.open += 1;
                        if driver.lease.is_some_and(|lease| lease.is_last) {
                            driver.lease = driver.lease.map(|lease| BudgetLease { until: Spend::default(), ..lease });
                        }
                    }
                }
                5..8 if driver.open > 0 => {
                    driver.open -= 1;
                    (driver.consumed, driver.largest) = (driver.consumed + tokens, driver.largest.max(tokens));
                    (total, largest) = (total + tokens, largest.max(tokens));
                }
                8 if driver.open == 0 => {
                    driver.lease = None;
                    state.report(limits, &driver.usage(&name), true, now);
                }
                _ => now += DEAD_AFTER_MS / 2,
            }
        }
        for driver in drivers.values() {
            total += driver.open * 150;
            largest = largest.max(driver.open.min(1) * 150);
        }
        prop_assert!(total < limit + largest.max(1), "{} of {}", total, limit);
    }
}
