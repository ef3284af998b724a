//! The limits that the drivers of a fleet on many machines share: a budget and rates of requests.
//!
//! `SharedState` is their state, which each driver reads, changes and writes back only if no other one has changed it
//! meanwhile. A driver leases a block of the budget, and of the requests of a minute, and permits requests from it without
//! the others. Blocks become smaller towards the end. What is left in the end is leased to one driver at a time, which sends
//! one request after the other. Times are milliseconds since 1970 on one clock for all machines.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, RateLimits};
use ibeam_governor::{RequestReport, Spend};

/// The number of seconds over which `per minute` counts.
const MINUTE_S: u64 = 60;
/// The number of seconds for which the requests of a block may be sent.
pub(crate) const BLOCK_S: u64 = 2;
/// The most requests of a block.
const MAX_BLOCK: u64 = 32;
/// The time after which a waiting request is decided about again where nothing announces the change.
const RECHECK: Duration = Duration::from_millis(300);
/// The time after which a driver that has not written its state is dead, in milliseconds.
const DEAD_AFTER_MS: u64 = 60_000;
/// The time after which a driver that leases nothing is forgotten, in milliseconds.
const FORGOTTEN_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

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
    /// Returns what forbids a request with an account now, whatever is leased.
    fn hold(&self, account: &str) -> Option<Hold>;

    fn limits(&self) -> FleetLimits;

    /// Leases a block for requests with an account. Takes the consumption of the driver, too.
    fn lease(&self, account: &str, usage: &DriverUsage) -> LeaseDecision;

    /// Records the consumption of a driver, and takes back what it leases if `is_idle`. Returns what it leases then, unless
    /// that is unknown.
    fn report(&self, usage: &DriverUsage, is_idle: bool) -> Option<BudgetLease>;

    /// Announces what the end of a request says about the account.
    fn end(&self, account: &str, report: Option<&RequestReport>);

    /// Returns the budget and what all machines have consumed of it.
    fn budget(&self) -> (Budget, Spend);
}

/// A hold on the requests of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    Wait(Duration),
    /// The requests may not be sent.
    Refuse(String),
}

/// The consumption of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverUsage {
    /// The driver, which keeps its name when it is started again.
    pub driver: String,
    /// The consumption of all its requests since it has this name.
    pub consumed: Spend,
    pub largest: Spend,
    /// The expected consumption of its next request.
    pub expected: Spend,
    pub open: u64,
    /// The requests of blocks that it has not sent, or whose tokens it has learned.
    pub corrections: Vec<BlockCorrection>,
}

/// A correction of the requests of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCorrection {
    pub account: String,
    pub second: u64,
    /// The requests that were not sent.
    pub unsent: u32,
    /// The tokens that the block has reserved too many.
    pub unused_tokens: u64,
    /// The tokens that were used besides.
    pub more_tokens: u64,
}

/// The decision about a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseDecision {
    /// The driver has a block.
    Leased {
        budget: BudgetLease,
        /// The block of requests of the account; `None` without rates.
        requests: Option<RequestBlock>,
    },
    /// No block is free now.
    Wait {
        /// The time until the next attempt.
        pause: Duration,
        /// The rest of its block, unless that is unknown.
        budget: Option<BudgetLease>,
    },
    /// No further block is leased, for this reason.
    Refuse(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLease {
    /// The budget that limits it. An amount without a limit does not count.
    pub budget: Budget,
    /// The amount up to which the driver may consume, counted like `consumed`.
    pub until: Spend,
    /// Whether no other driver has one, so that one request may exceed it.
    pub is_last: bool,
    /// The largest request of all drivers; `None` before the first one has ended.
    pub largest: Option<Spend>,
}

impl BudgetLease {
    /// Whether it permits a request besides the open ones, for a driver that has consumed so much.
    pub(crate) fn permits(&self, consumed: Spend, largest: Option<Spend>, open: u64) -> bool {
        let fits = |needed| self.budget.covers(self.until, consumed.plus(needed));
        match (self.budget.is_limited(), self.is_last, largest) {
            (false, _, _) => true,
            (true, true, _) => open == 0 && fits(Spend { cost_micros: 1, tokens: 1 }),
            (true, false, Some(largest)) => fits(need(largest, open + 1)),
            (true, false, None) => false,
        }
    }
}

/// A block of the requests of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestBlock {
    /// The second from which it may be used.
    pub second: u64,
    pub requests: u32,
    /// The tokens that each one has reserved.
    pub reserved_tokens: u64,
}

/// The consumption of the requests of all machines, and what drivers lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedState {
    spent: Spend,
    /// The largest request so far; an estimate of the next ones.
    largest: Spend,
    /// The requests of the last minute, by account.
    accounts: BTreeMap<String, Vec<SecondCount>>,
    drivers: BTreeMap<String, DriverState>,
}

/// The requests of the blocks of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SecondCount {
    second: u64,
    requests: u32,
    /// The reserved tokens, until those of the requests are reported.
    tokens: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct DriverState {
    /// The rest of its block, besides what it has reported.
    leased: Spend,
    /// Whether no other driver may lease anything.
    is_last: bool,
    /// The consumption that `spent` contains.
    reported: Spend,
    /// The block of a driver that died, which `spent` contains.
    charged: Spend,
    /// The time at which the driver wrote this.
    seen_ms: u64,
    /// The number of the last change by the driver.
    change: u64,
}

impl FleetLimits {
    /// Whether there is a limit.
    pub fn is_limited(self) -> bool {
        self.budget.is_limited() || self.rates != RateLimits::default()
    }
}

/// Returns twice the amounts for each of some requests: more than they will need.
fn need(largest: Spend, requests: u64) -> Spend {
    let times = requests.saturating_mul(2);
    Spend {
        cost_micros: largest.cost_micros.saturating_mul(times),
        tokens: largest.tokens.saturating_mul(times),
    }
}

impl Budget {
    /// Returns the amounts that the budget limits.
    fn limited(self, amounts: Spend) -> Spend {
        Spend {
            cost_micros: self.cost_micros.map_or(0, |_| amounts.cost_micros),
            tokens: self.tokens.map_or(0, |_| amounts.tokens),
        }
    }

    /// Whether the amounts contain others, as far as the budget limits them.
    pub(crate) fn covers(self, amounts: Spend, others: Spend) -> bool {
        (self.cost_micros.is_none() || amounts.cost_micros >= others.cost_micros)
            && (self.tokens.is_none() || amounts.tokens >= others.tokens)
    }
}

impl SharedState {
    /// Returns what the requests have consumed.
    pub fn spent(&self) -> Spend {
        self.spent
    }

    /// Whether a change of a driver was made: its answer may have been lost.
    pub fn is_made(&self, driver: &str, change: u64) -> bool {
        self.drivers.get(driver).is_some_and(|driver| driver.change == change)
    }

    /// Records the number of the change that a driver makes.
    pub fn mark(&mut self, driver: &str, change: u64) {
        self.drivers.entry(driver.to_owned()).or_default().change = change;
    }

    /// Raises what was consumed to what tasks have recorded.
    pub fn raise(&mut self, recorded: Spend) {
        self.spent = self.spent.max(recorded);
    }

    /// Records the consumption of a driver, and takes back what it leases if `is_idle`. Returns what it leases then.
    pub fn report(
        &mut self,
        limits: FleetLimits,
        usage: &DriverUsage,
        is_idle: bool,
        now_ms: u64,
    ) -> BudgetLease {
        self.record(usage, now_ms);
        if let Some(driver) = self.drivers.get_mut(&usage.driver)
            && (is_idle || driver.is_last && usage.open == 0)
        {
            (driver.leased, driver.is_last) = (Spend::default(), false);
        }
        self.budget_lease(limits, usage)
    }

    fn record(&mut self, usage: &DriverUsage, now_ms: u64) {
        self.largest = self.largest.max(usage.largest);
        self.correct(&usage.corrections);
        let largest = self.largest;
        // What a driver that is not known has consumed was for another fleet.
        let unknown = DriverState { reported: usage.consumed, ..DriverState::default() };
        let driver = self.drivers.entry(usage.driver.clone()).or_insert(unknown);
        let used = usage.consumed.minus(driver.reported);
        // What a driver leased that seemed to be dead has counted. Its open requests stay reserved.
        let returned = driver.charged;
        driver.leased = match (returned == Spend::default(), usage.open) {
            (true, _) => driver.leased.minus(used),
            (false, 0) => Spend::default(),
            (false, _) if largest == Spend::default() => returned.minus(used),
            (false, open) => returned.minus(used).min(need(largest, open)),
        };
        // Until these have ended, nothing else is leased: they may need more than what is left.
        driver.is_last |= returned != Spend::default() && usage.open > 0;
        (driver.charged, driver.reported) = (Spend::default(), driver.reported.max(usage.consumed));
        driver.seen_ms = now_ms;
        self.spent = self.spent.minus(returned).plus(used);
    }

    fn budget_lease(&self, limits: FleetLimits, usage: &DriverUsage) -> BudgetLease {
        let driver = self.drivers.get(&usage.driver).copied().unwrap_or_default();
        BudgetLease {
            budget: limits.budget,
            until: usage.consumed.plus(driver.leased),
            is_last: driver.is_last,
            largest: (self.largest != Spend::default()).then_some(self.largest),
        }
    }

    /// Leases a block to a driver for requests with an account.
    pub fn lease(
        &mut self,
        limits: FleetLimits,
        account: &str,
        usage: &DriverUsage,
        now_ms: u64,
    ) -> LeaseDecision {
        self.charge_dead(now_ms);
        self.record(usage, now_ms);
        let Some(left) = limits.budget.left(self.spent) else {
            return LeaseDecision::Refuse(Budget::SPENT.to_owned());
        };
        let second = now_ms / 1000;
        let wait = |state: &Self, pause| LeaseDecision::Wait {
            pause,
            // One for a single request is for that request alone.
            budget: Some(state.budget_lease(limits, usage)).filter(|lease| !lease.is_last),
        };
        if let Some(end) = self.next_slot(limits.rates, account, second) {
            return wait(self, Duration::from_millis((end * 1000).saturating_sub(now_ms).max(1)));
        }
        let left = Spend {
            cost_micros: left.cost_micros.unwrap_or_default(),
            tokens: left.tokens.unwrap_or_default(),
        };
        let alive = self.drivers.values().filter(|driver| driver.seen_ms + DEAD_AFTER_MS >= now_ms).count();
        if limits.budget.is_limited() && !self.lease_budget(limits.budget, left, usage, alive as u64) {
            return wait(self, RECHECK);
        }
        let requests = (limits.rates != RateLimits::default())
            .then(|| self.lease_requests(limits.rates, account, second, alive as u64));
        LeaseDecision::Leased { budget: self.budget_lease(limits, usage), requests }
    }

    /// Leases a block of what is left of the budget to a driver, one of `alive`. Returns false if it has to wait for others.
    fn lease_budget(&mut self, budget: Budget, left: Spend, usage: &DriverUsage, alive: u64) -> bool {
        let others = self.drivers.iter().filter(|(name, _)| **name != usage.driver);
        let (leased_by_others, is_last) = others
            .fold((Spend::default(), false), |(sum, is_last), (_, other)| {
                (sum.plus(other.leased), is_last || other.is_last)
            });
        let largest = self.largest;
        let Some(driver) = self.drivers.get_mut(&usage.driver) else { return false };
        let free = left.minus(leased_by_others);
        let needed = budget.limited(need(largest, usage.open + 1));
        if !is_last && largest != Spend::default() && budget.covers(free, needed) {
            // Half of what is left is for the others, and for the next blocks.
            let share = |free: u64| free / alive.saturating_mul(2).max(1);
            let share = Spend { cost_micros: share(free.cost_micros), tokens: share(free.tokens) };
            let block = share.min(budget.limited(need(largest, usage.open + MAX_BLOCK))).max(needed);
            (driver.leased, driver.is_last) = (block.max(driver.leased).min(free), false);
            return true;
        }
        if usage.open > 0 {
            // The open requests may need what the driver leases.
            return false;
        }
        if is_last || leased_by_others != Spend::default() {
            // Everything has to come back before one driver may send a request alone.
            (driver.leased, driver.is_last) = (Spend::default(), false);
            return false;
        }
        let estimate = if largest == Spend::default() { usage.expected } else { largest };
        let one = budget.limited(need(estimate, 1).max(Spend { cost_micros: 1, tokens: 1 }));
        // It may be more than what is left, and counts as a whole if the driver dies.
        (driver.leased, driver.is_last) = (one, true);
        true
    }

    /// Leases requests of the current minute.
    fn lease_requests(&mut self, rates: RateLimits, account: &str, second: u64, alive: u64) -> RequestBlock {
        let reserved_tokens = if rates.tokens_per_minute.is_some() { self.largest.tokens } else { 0 };
        let counts = self.accounts.entry(account.to_owned()).or_default();
        let (sent, tokens) = sums(counts);
        let share = |free: u64| (free / alive.saturating_mul(4).max(1)).clamp(1, MAX_BLOCK);
        let by_requests = rates.requests_per_minute.map(|limit| share(u64::from(limit).saturating_sub(sent)));
        let by_tokens = rates
            .tokens_per_minute
            .map(|limit| share(limit.saturating_sub(tokens).checked_div(reserved_tokens).unwrap_or(1)));
        let requests = by_requests.into_iter().chain(by_tokens).min().unwrap_or(1);
        let requests = u32::try_from(requests).unwrap_or(1);
        let tokens = reserved_tokens.saturating_mul(u64::from(requests));
        match counts.last_mut().filter(|last| last.second >= second) {
            Some(last) => {
                last.requests = last.requests.saturating_add(requests);
                last.tokens = last.tokens.saturating_add(tokens);
            }
            None => counts.push(SecondCount { second, requests, tokens }),
        }
        let second = counts.last().map_or(second, |last| last.second);
        RequestBlock { second, requests, reserved_tokens }
    }

    fn correct(&mut self, corrections: &[BlockCorrection]) {
        for correction in corrections {
            let counts = self.accounts.get_mut(&correction.account);
            let count =
                counts.and_then(|counts| counts.iter_mut().find(|count| count.second == correction.second));
            if let Some(count) = count {
                count.requests = count.requests.saturating_sub(correction.unsent);
                count.tokens = count
                    .tokens
                    .saturating_sub(correction.unused_tokens)
                    .saturating_add(correction.more_tokens);
            }
        }
    }

    /// Counts what dead drivers lease as consumed. It comes back when they report again.
    fn charge_dead(&mut self, now_ms: u64) {
        let mut charged = Spend::default();
        for driver in self.drivers.values_mut().filter(|driver| driver.seen_ms + DEAD_AFTER_MS < now_ms) {
            charged = charged.plus(driver.leased);
            driver.charged = driver.charged.plus(driver.leased);
            (driver.leased, driver.is_last) = (Spend::default(), false);
        }
        self.spent = self.spent.plus(charged);
        self.drivers.retain(|_, driver| {
            driver.charged != Spend::default() || driver.seen_ms + FORGOTTEN_AFTER_MS >= now_ms
        });
    }

    /// Returns the second of the next request with an account if the rates forbid one now.
    fn next_slot(&mut self, rates: RateLimits, account: &str, second: u64) -> Option<u64> {
        // The requests of a block are sent within some seconds.
        self.accounts.retain(|_, counts| {
            counts.retain(|count| count.requests > 0 && count.second + MINUTE_S + BLOCK_S > second);
            !counts.is_empty()
        });
        let counts = self.accounts.get(account)?;
        let (requests, tokens) = sums(counts);
        let is_full = rates.requests_per_minute.is_some_and(|limit| requests >= u64::from(limit))
            || rates
                .tokens_per_minute
                .is_some_and(|limit| tokens.saturating_add(self.largest.tokens) > limit);
        is_full.then(|| counts.first().map(|first| first.second + MINUTE_S + BLOCK_S)).flatten()
    }
}

/// Returns the requests and the tokens of some seconds.
fn sums(counts: &[SecondCount]) -> (u64, u64) {
    counts.iter().fold((0, 0), |(requests, tokens), count| {
        (requests + u64::from(count.requests), count.tokens.saturating_add(tokens))
    })
}

#[cfg(test)]
#[path = "shared_limits_test.rs"]
mod tests;
