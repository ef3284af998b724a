//! The limits that the drivers of a fleet on many machines share: a budget and rates of requests.
//!
//! `SharedState` is their state, which each driver reads, changes and writes back only if no other one has changed it
//! meanwhile. It has the rules of the governor of one machine (`governor`): near the end of a budget, requests of all
//! machines are sent one after the other. Times are milliseconds since 1970 on one clock for all machines.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::governor::RateLimits;
use crate::governor_wire::RequestReport;
use crate::queue::Spend;

/// The number of seconds over which `per minute` counts.
const MINUTE_S: u64 = 60;
/// The time after which a waiting request is decided about again where nothing announces the change.
const RECHECK: Duration = Duration::from_millis(300);
/// The time after which a driver that has not written its state is dead, in milliseconds.
const DEAD_AFTER_MS: u64 = 60_000;

/// The limits of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetLimits {
    /// The budget of all tasks together.
    pub budget: Budget,
    /// The requests of all runs together.
    pub rates: RateLimits,
}

/// The limits that several drivers share.
pub trait SharedLimits: Send + Sync + Debug {
    /// Decides about a request with an account. One that waits is decided about again after the returned time.
    fn decide(&self, account: &str) -> SharedDecision;

    /// Records the end of a request that was sent. Without a report its run was killed.
    fn end(&self, account: &str, permit: SharedPermit, report: Option<&RequestReport>);

    /// Adds what runs have consumed besides the requests that were reported.
    fn add(&self, spend: Spend);

    /// Returns the budget and what all machines have consumed of it.
    fn budget(&self) -> (Budget, Spend);
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedDecision {
    /// The request may be sent.
    Send(SharedPermit),
    /// The request waits.
    Wait(Duration),
    /// No request of the account may be sent.
    Refuse(String),
}

/// The permission for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedPermit {
    /// The second in which it was given; `None` if it is not counted.
    pub(crate) second: Option<u64>,
}

/// The consumption of the requests of all machines, and the open ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedState {
    spent: Spend,
    /// The largest request so far; an estimate of the next ones.
    largest: Spend,
    /// The requests of the last minute, by account.
    accounts: BTreeMap<String, Vec<SecondCount>>,
    /// The open requests, by driver.
    drivers: BTreeMap<String, OpenRequests>,
}

/// The requests that started within a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SecondCount {
    second: u64,
    requests: u32,
    /// 0 until they are reported.
    tokens: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OpenRequests {
    count: u64,
    /// The time at which the driver wrote this.
    seen_ms: u64,
    /// The number of the last change by the driver.
    change: u64,
}

impl SharedPermit {
    /// The permission for a request that no limit concerns.
    pub const UNCOUNTED: Self = Self { second: None };

    /// Whether the request is counted in the shared state.
    pub fn is_counted(self) -> bool {
        self.second.is_some()
    }
}

impl FleetLimits {
    /// Whether there is a limit.
    pub fn is_limited(self) -> bool {
        self.budget.is_limited() || self.rates != RateLimits::default()
    }
}

impl SharedState {
    /// Returns what the requests have consumed.
    pub fn spent(&self) -> Spend {
        self.spent
    }

    /// Whether a driver has open requests.
    pub fn has_open(&self, driver: &str) -> bool {
        self.drivers.get(driver).is_some_and(|open| open.count > 0)
    }

    /// Whether a change of a driver was made: its answer may have been lost.
    pub fn is_made(&self, driver: &str, change: u64) -> bool {
        self.drivers.get(driver).is_some_and(|open| open.change == change)
    }

    /// Records the number of the change that a driver makes.
    pub fn mark(&mut self, driver: &str, change: u64, now_ms: u64) {
        let open = self.drivers.entry(driver.to_owned()).or_default();
        (open.change, open.seen_ms) = (change, now_ms);
    }

    /// Raises what was consumed to what tasks have recorded.
    pub fn raise(&mut self, recorded: Spend) {
        self.spent.cost_micros = self.spent.cost_micros.max(recorded.cost_micros);
        self.spent.tokens = self.spent.tokens.max(recorded.tokens);
    }

    /// Adds what was consumed besides the reported requests.
    pub fn add(&mut self, spend: Spend) {
        self.spent = self.spent.plus(spend);
    }

    /// Decides about a request of a driver. The state changes only if it may be sent.
    pub fn decide(
        &mut self,
        limits: FleetLimits,
        driver: &str,
        account: &str,
        now_ms: u64,
    ) -> SharedDecision {
        self.remove_dead(now_ms);
        let Some(left) = limits.budget.left(self.spent) else {
            return SharedDecision::Refuse(Budget::SPENT.to_owned());
        };
        let second = now_ms / 1000;
        let open: u64 = self.drivers.values().map(|driver| driver.count).sum();
        if let Some(end) = self.next_slot(limits.rates, account, second, open) {
            return SharedDecision::Wait(Duration::from_millis((end * 1000).saturating_sub(now_ms).max(1)));
        }
        let is_near_end = match self.largest == Spend::default() {
            true => limits.budget.is_limited(),
            false => {
                // Twice the largest request is more than one that follows it will need.
                let needed = |amount: u64| amount.saturating_mul(2).saturating_mul(open + 1);
                left.cost_micros.is_some_and(|left| needed(self.largest.cost_micros) > left)
                    || left.tokens.is_some_and(|left| needed(self.largest.tokens) > left)
            }
        };
        if is_near_end && open > 0 {
            return SharedDecision::Wait(RECHECK);
        }
        let counts = self.accounts.entry(account.to_owned()).or_default();
        match counts.last_mut().filter(|last| last.second >= second) {
            Some(last) => last.requests += 1,
            None => counts.push(SecondCount { second, requests: 1, tokens: 0 }),
        }
        let driver = self.drivers.entry(driver.to_owned()).or_default();
        (driver.count, driver.seen_ms) = (driver.count + 1, now_ms);
        SharedDecision::Send(SharedPermit { second: Some(second) })
    }

    /// Records the end of a request of a driver. Without what it used, its run was killed.
    pub fn end(&mut self, driver: &str, account: &str, permit: SharedPermit, used: Spend, now_ms: u64) {
        self.add(used);
        self.largest.cost_micros = self.largest.cost_micros.max(used.cost_micros);
        self.largest.tokens = self.largest.tokens.max(used.tokens);
        if let Some(counts) = self.accounts.get_mut(account)
            && let Some(count) = counts.iter_mut().find(|count| Some(count.second) >= permit.second)
        {
            count.tokens = count.tokens.saturating_add(used.tokens);
        }
        if let Some(open) = self.drivers.get_mut(driver) {
            (open.count, open.seen_ms) = (open.count.saturating_sub(1), now_ms);
        }
    }

    /// Records that a driver with open requests is alive.
    pub fn beat(&mut self, driver: &str, now_ms: u64) {
        if let Some(open) = self.drivers.get_mut(driver) {
            open.seen_ms = now_ms;
        }
    }

    /// Removes drivers that have died. Their open requests may have been answered, so each counts like the largest one.
    fn remove_dead(&mut self, now_ms: u64) {
        let is_dead = |open: &OpenRequests| open.seen_ms + DEAD_AFTER_MS < now_ms;
        let lost: u64 = self.drivers.values().filter(|open| is_dead(open)).map(|open| open.count).sum();
        self.drivers.retain(|_, open| !is_dead(open));
        self.spent = self.spent.plus(Spend {
            cost_micros: self.largest.cost_micros.saturating_mul(lost),
            tokens: self.largest.tokens.saturating_mul(lost),
        });
    }

    /// Returns the second of the next request with an account if the rates forbid one now.
    fn next_slot(&mut self, rates: RateLimits, account: &str, second: u64, open: u64) -> Option<u64> {
        self.accounts.retain(|_, counts| {
            counts.retain(|count| count.second + MINUTE_S > second);
            !counts.is_empty()
        });
        let counts = self.accounts.get(account)?;
        let requests: u64 = counts.iter().map(|count| u64::from(count.requests)).sum();
        let expected = self.largest.tokens.saturating_mul(open + 1);
        let tokens = counts.iter().fold(expected, |sum, count| sum.saturating_add(count.tokens));
        let is_full = rates.requests_per_minute.is_some_and(|limit| requests >= u64::from(limit))
            || rates.tokens_per_minute.is_some_and(|limit| tokens > limit);
        is_full.then(|| counts.first().map(|first| first.second + MINUTE_S)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START_MS: u64 = 1_000_000;

    fn limits(tokens: Option<u64>, rates: RateLimits) -> FleetLimits {
        FleetLimits { budget: Budget { cost_micros: None, tokens }, rates }
    }

    fn used(tokens: u64) -> Spend {
        Spend { cost_micros: 0, tokens }
    }

    fn sent(decision: SharedDecision) -> SharedPermit {
        match decision {
            SharedDecision::Send(permit) => permit,
            other @ (SharedDecision::Wait(_) | SharedDecision::Refuse(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_machines_together_keep_the_rates_of_an_account() {
        let rates = RateLimits { requests_per_minute: Some(3), tokens_per_minute: Some(100) };
        let limits = limits(None, rates);
        let mut state = SharedState::default();
        let first = sent(state.decide(limits, "d1", "a", START_MS));
        sent(state.decide(limits, "d2", "a", START_MS));
        sent(state.decide(limits, "d3", "a", START_MS + 20_000));
        let wait = state.decide(limits, "d1", "a", START_MS + 30_000);
        assert_eq!(wait, SharedDecision::Wait(Duration::from_secs(30)));
        sent(state.decide(limits, "d1", "b", START_MS + 30_000));
        state.end("d1", "a", first, used(90), START_MS + 31_000);
        // The requests have left the minute, but the next ones may need 90 tokens each.
        let wait = state.decide(limits, "d1", "a", START_MS + 60_000);
        assert_eq!(wait, SharedDecision::Wait(Duration::from_secs(20)));
        sent(state.decide(limits, "d1", "a", START_MS + 80_000));
    }

    #[test]
    fn the_open_requests_of_a_dead_machine_count_like_the_largest_one() {
        let limits = limits(Some(100), RateLimits::default());
        let mut state = SharedState::default();
        let permit = sent(state.decide(limits, "d1", "a", START_MS));
        state.end("d1", "a", permit, used(20), START_MS);
        assert!(!state.has_open("d1"));
        sent(state.decide(limits, "d1", "a", START_MS));
        sent(state.decide(limits, "d2", "a", START_MS));
        state.beat("d2", START_MS + 50_000);
        assert!(matches!(state.decide(limits, "d2", "a", START_MS + 50_000), SharedDecision::Wait(_)));
        let later = START_MS + 61_000;
        assert!(matches!(state.decide(limits, "d2", "a", later), SharedDecision::Wait(_)));
        assert_eq!((state.spent(), state.has_open("d1"), state.has_open("d2")), (used(40), false, true));
        state.raise(used(100));
        let refused = SharedDecision::Refuse(Budget::SPENT.to_owned());
        assert_eq!(state.decide(limits, "d2", "a", later), refused);
        sent(state.decide(super::tests::limits(Some(200), RateLimits::default()), "d3", "a", later));
    }

    #[test]
    fn the_state_is_read_as_it_was_written() {
        let mut state = SharedState::default();
        sent(state.decide(FleetLimits::default(), "d1", "a", START_MS));
        assert!(!state.is_made("d1", 7));
        state.mark("d1", 7, START_MS);
        assert!(state.is_made("d1", 7) && state.has_open("d1"));
        state.add(Spend { cost_micros: 3, tokens: 4 });
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<SharedState>(&text).unwrap(), state);
        assert_eq!(serde_json::from_str::<SharedState>("{}").unwrap(), SharedState::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// No request is twice as large as one before it.
        #[test]
        fn a_budget_is_exceeded_by_at_most_one_request_of_all_machines(
            limit in 1..2000_u64,
            steps in proptest::collection::vec((any::<bool>(), 0..8_usize, 100..200_u64), 1..200),
        ) {
            let limits = limits(Some(limit), RateLimits::default());
            let mut state = SharedState::default();
            let (mut open, mut total, mut largest) = (Vec::new(), 0, 0);
            for (is_ask, at, tokens) in steps {
                let driver = format!("d{}", at % 3);
                if is_ask {
                    match state.decide(limits, &driver, "a", START_MS) {
                        SharedDecision::Send(permit) => {
                            prop_assert!(total < limit);
                            open.push((driver, permit));
                        }
                        SharedDecision::Wait(_) => prop_assert!(!open.is_empty(), "nothing ends the wait"),
                        SharedDecision::Refuse(_) => prop_assert!(total >= limit),
                    }
                } else if !open.is_empty() {
                    let (driver, permit) = open.remove(at % open.len());
                    state.end(&driver, "a", permit, used(tokens), START_MS);
                    (total, largest) = (total + tokens, tokens.max(largest));
                }
            }
            for (driver, permit) in open {
                state.end(&driver, "a", permit, used(150), START_MS);
                (total, largest) = (total + 150, largest.max(150));
            }
            prop_assert_eq!(state.spent().tokens, total);
            prop_assert!(total < limit + largest, "{} of {}", total, limit);
        }
    }
}
