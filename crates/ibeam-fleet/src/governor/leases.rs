//! The lease of a governor on the limits that machines share: blocks of the budget, and of the requests of a minute.

use std::time::Duration;

use super::{Account, Governor};
use crate::budget::RateLimits;
use crate::shared_limits::{BLOCK_S, BlockCorrection, BudgetLease, DriverUsage, FleetLimits, RequestBlock};
use ibeam_governor::Spend;

/// The time for which the requests of a block are sent: less than the others count them, whatever the clocks.
const BLOCK_TIME: Duration = Duration::from_secs(BLOCK_S - 1);
/// The time without requests after which a driver gives back what it leases.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// The limits that machines share, and the lease of a driver.
#[derive(Debug, Default)]
pub(super) struct SharedLease {
    pub(super) limits: FleetLimits,
    pub(super) budget: Option<BudgetLease>,
    pub(super) corrections: Vec<BlockCorrection>,
    /// The last time at which a request began or ended.
    pub(super) used_at: Duration,
    /// The consumption that was reported last.
    pub(super) reported: Spend,
    /// Whether others wait for the report of a request.
    pub(super) is_awaited: bool,
}

/// A block of requests, and the time until which it may be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedBlock {
    pub(super) block: RequestBlock,
    pub(super) until: Duration,
}

impl Governor {
    /// Sets the limits that machines share. They come besides those of this governor.
    pub(crate) fn set_shared(&mut self, limits: FleetLimits) {
        self.shared.limits = limits;
    }

    /// Whether what is leased permits a request with an account now.
    pub(crate) fn has_lease(&self, now: Duration, account: &str) -> bool {
        let limits = self.shared.limits;
        let has_budget = !limits.budget.is_limited()
            || self.shared.budget.is_some_and(|lease| {
                lease.budget == limits.budget
                    && lease.permits(self.spent, self.largest, self.permits.len() as u64)
            });
        let block = self.accounts.get(account).and_then(|account| account.block);
        let has_request = limits.rates == RateLimits::default()
            || block.is_some_and(|timed| timed.block.requests > 0 && now < timed.until);
        has_budget && has_request
    }

    /// Takes what was leased at `now` for requests with an account.
    pub(crate) fn take_lease(
        &mut self,
        now: Duration,
        account: &str,
        budget: BudgetLease,
        requests: Option<RequestBlock>,
    ) {
        self.shared.budget = Some(budget);
        self.largest =
            self.largest.map_or(budget.largest, |own| Some(own.max(budget.largest?)).or(Some(own)));
        if let Some(block) = requests {
            self.return_block(account);
            let timed = TimedBlock { block, until: now + BLOCK_TIME };
            self.accounts.entry(account.to_owned()).or_default().block = Some(timed);
        }
    }

    /// Takes what is still leased after a report or an attempt to lease more.
    pub(crate) fn update_lease(&mut self, lease: Option<BudgetLease>) {
        if self.shared.budget.is_some() {
            // One for a single request is for that request alone.
            self.shared.budget = lease.filter(|lease| !lease.is_last);
        }
    }

    /// Whether nothing of what is leased is needed for some time. With `is_ended`, what waits leases again.
    pub(crate) fn is_idle(&self, now: Duration, is_ended: bool) -> bool {
        let waits = |account: &Account| account.waiting.values().any(|count| *count > 0);
        let is_unused = now >= self.shared.used_at + IDLE_TIME && !self.accounts.values().any(waits);
        self.permits.is_empty() && (is_ended || is_unused)
    }

    /// Whether others wait for a report.
    pub(crate) fn is_report_awaited(&self) -> bool {
        self.shared.is_awaited
    }

    /// Whether something is leased, or was consumed since the last report.
    pub(crate) fn has_report(&self) -> bool {
        self.shared.budget.is_some() || self.shared.reported != self.spent
    }

    /// Returns the consumption for the other machines. With `is_idle`, all that is leased is given back.
    pub(crate) fn usage(
        &mut self,
        now: Duration,
        driver: &str,
        expected: Spend,
        is_idle: bool,
    ) -> DriverUsage {
        let is_over = |timed: TimedBlock| is_idle || now >= timed.until;
        let over: Vec<String> = self
            .accounts
            .iter()
            .filter(|(_, account)| account.block.is_some_and(is_over))
            .map(|(name, _)| name.clone())
            .collect();
        over.iter().for_each(|account| self.return_block(account));
        // The others take back the lease for one request that was not sent.
        if is_idle || self.permits.is_empty() && self.shared.budget.is_some_and(|lease| lease.is_last) {
            self.shared.budget = None;
        }
        (self.shared.reported, self.shared.is_awaited) = (self.spent, false);
        DriverUsage {
            driver: driver.to_owned(),
            consumed: self.spent,
            largest: self.largest.unwrap_or_default(),
            expected,
            open: self.permits.len() as u64,
            corrections: std::mem::take(&mut self.shared.corrections),
        }
    }

    /// Returns the requests of a block that are not sent.
    fn return_block(&mut self, account: &str) {
        let state = self.accounts.get_mut(account);
        let Some(TimedBlock { block, .. }) = state.and_then(|account| account.block.take()) else { return };
        if block.requests > 0 {
            self.shared.corrections.push(BlockCorrection {
                account: account.to_owned(),
                second: block.second,
                unsent: block.requests,
                unused_tokens: block.reserved_tokens.saturating_mul(u64::from(block.requests)),
                more_tokens: 0,
            });
        }
    }
}
