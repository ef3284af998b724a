//! The governor of a fleet: decides when a request of a run may be sent, so that all runs together keep the limits.
//!
//! A state machine without clock, threads and sockets (`governor_server` has those). Times are those since 1970. It begins
//! with the lines of the log of requests, so it continues where an earlier driver was killed. A request that failed because the
//! provider has too much to do pauses every run with the same account, and then only some requests at once are sent; a
//! refused key or an exhausted quota ends them all. Near the end of a budget, requests are sent one after the other. Where
//! requests have to wait, each model gets the same share of those that are sent.

mod choice;
mod leases;
mod service_quota;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use self::leases::{SharedLease, TimedBlock};
use self::service_quota::ServiceQuota;
use crate::budget::{Budget, RateLimits};
use crate::shared_limits::{BlockCorrection, RequestBlock};
use ibeam_governor::{Ask, LineKind, LogLine, RequestOutcome, RequestReport, Spend};

/// The time over which `per minute` counts.
const MINUTE: Duration = Duration::from_secs(60);
/// The first pause after a request that failed because the provider has too much to do. It doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The time after which a waiting request is looked at again where nothing announces the change.
const RECHECK: Duration = Duration::from_secs(1);

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The request may be sent.
    Send,
    /// The request waits, at most until this time, or until another one is reported.
    Wait(Duration),
    /// The request waits for a block of the limits that machines share.
    Lease,
    /// The request may not be sent, nor any other of its kind.
    Refuse(String),
}

/// A request that is not sent yet.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    ask: Ask,
    /// The number of the account that was chosen.
    chosen: usize,
    /// Whether it is counted among the waiting ones.
    waits: bool,
}

impl PendingRequest {
    pub(crate) fn new(ask: Ask) -> Self {
        Self { ask, chosen: 0, waits: false }
    }

    pub(crate) fn ask(&self) -> &Ask {
        &self.ask
    }

    fn choose(&mut self, number: usize) {
        self.chosen = number;
    }

    /// Returns the number of the account that was chosen.
    pub(crate) fn chosen(&self) -> usize {
        self.chosen
    }

    /// Returns the account that was chosen.
    pub(crate) fn account(&self) -> &str {
        self.ask.accounts().nth(self.chosen).unwrap_or(&self.ask.account)
    }
}

/// The state of all requests of a fleet.
#[derive(Debug)]
pub(crate) struct Governor {
    budget: Budget,
    rates: RateLimits,
    spent: Spend,
    /// The largest request so far; an estimate of the next ones.
    largest: Option<Spend>,
    permits: HashMap<String, Permit>,
    accounts: HashMap<String, Account>,
    /// The consumption of the requests of the running tasks since the tasks were claimed.
    running: HashMap<String, Spend>,
    /// The reasons for which requests of running tasks were refused.
    refused: HashMap<String, String>,
    /// The limits that machines share, and what is leased of them.
    shared: SharedLease,
}

/// The account of a task whose execution has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// The consumption of all its runs.
    pub(crate) all: Spend,
    /// The consumption of its runs besides the reported requests.
    pub(crate) unreported: Spend,
    /// The reason for which a request was refused.
    pub(crate) refused: Option<String>,
}

/// A request that was sent and not yet reported.
#[derive(Debug)]
struct Permit {
    task: String,
    account: String,
    sent_at: Duration,
    /// The expected consumption.
    expected: Spend,
    /// Whether an earlier driver permitted it, which has no connection to its run.
    is_inherited: bool,
    /// The block of requests that it belongs to.
    block: Option<RequestBlock>,
    /// Whether no other machine may send a request until it has ended.
    is_alone: bool,
}

/// A provider and a key.
#[derive(Debug, Default)]
struct Account {
    /// The requests within the last minute.
    recent: VecDeque<SentRequest>,
    /// The numbers of waiting requests by model.
    waiting: BTreeMap<String, usize>,
    in_flight: u32,
    /// The number of requests at the same time, once the provider had too much to do.
    window: Option<u32>,
    blocked_until: Duration,
    pause: Duration,
    exhausted: Option<String>,
    quota: Option<ServiceQuota>,
    block: Option<TimedBlock>,
}

#[derive(Debug)]
struct SentRequest {
    request: String,
    at: Duration,
    model: String,
    /// The tokens that were expected.
    expected: u64,
    /// 0 until they are reported.
    tokens: u64,
}

impl Governor {
    /// Returns a governor for a fleet that has consumed nothing.
    pub(crate) fn new(budget: Budget, rates: RateLimits) -> Self {
        Self {
            budget,
            rates,
            spent: Spend::default(),
            largest: None,
            permits: HashMap::new(),
            accounts: HashMap::new(),
            running: HashMap::new(),
            refused: HashMap::new(),
            shared: SharedLease::default(),
        }
    }

    /// Whether there is a budget or a rate.
    pub(crate) fn is_limited(&self) -> bool {
        self.budget.is_limited() || self.rates != RateLimits::default()
    }

    /// Returns what the fleet has consumed.
    pub(crate) fn spent(&self) -> Spend {
        self.spent
    }

    /// Takes over a line that an earlier driver or one of its runs has logged.
    pub(crate) fn replay(&mut self, now: Duration, line: LogLine) {
        let spend = line.spend();
        let LogLine { kind, request, task, account, model, reason, at_ms, .. } = line;
        match kind {
            LineKind::Sent => {
                let ask = Ask {
                    request,
                    task,
                    account,
                    model,
                    expected_tokens: spend.tokens,
                    expected_micros: spend.cost_micros,
                    ..Ask::default()
                };
                self.permit(Duration::from_millis(at_ms).min(now), &ask, &ask.account, true);
            }
            LineKind::Ended => self.count_end(&request, spend),
            LineKind::Added => self.spent = self.spent.plus(spend),
            LineKind::Consumed => self.raise(spend),
            LineKind::Largest => self.raise_largest(spend),
            LineKind::Running => drop(self.running.insert(task, spend)),
            LineKind::Log => {}
            LineKind::Refused => drop(self.refused.insert(task, reason)),
            LineKind::Settled => {
                self.running.remove(&task);
                self.refused.remove(&task);
            }
        }
    }

    /// Returns lines that say the same as all those before, if no request is open.
    pub(crate) fn summary(&self, now: Duration) -> Option<Vec<LogLine>> {
        if !self.permits.is_empty() {
            return None;
        }
        let mut lines = Vec::new();
        for (account, state) in &self.accounts {
            for sent in state.recent.iter().filter(|sent| sent.at + MINUTE > now) {
                let SentRequest { request, at, model, tokens, .. } = sent;
                lines.push(LogLine {
                    request: request.clone(),
                    account: account.clone(),
                    model: model.clone(),
                    at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
                    ..LogLine::default()
                });
                lines.push(LogLine::end(request, Spend { tokens: *tokens, cost_micros: 0 }));
            }
        }
        let running = self.running.iter().filter(|(task, _)| !task.is_empty());
        lines.extend(running.map(|(task, spend)| LogLine::for_task(LineKind::Running, task, *spend)));
        lines.extend(self.refused.iter().map(|(task, reason)| LogLine {
            reason: reason.clone(),
            ..LogLine::for_task(LineKind::Refused, task, Spend::default())
        }));
        lines.extend(self.largest.map(|largest| LogLine::new(LineKind::Largest, largest)));
        lines.push(LogLine::new(LineKind::Consumed, self.spent));
        Some(lines)
    }

    /// Raises what the fleet has consumed to what is recorded elsewhere.
    pub(crate) fn raise(&mut self, recorded: Spend) {
        self.spent = self.spent.max(recorded);
    }

    fn raise_largest(&mut self, used: Spend) {
        if used != Spend::default() {
            self.largest = Some(self.largest.unwrap_or_default().max(used));
        }
    }

    /// Returns the open requests that an earlier driver permitted.
    pub(crate) fn inherited(&self) -> impl Iterator<Item = &str> {
        self.permits.iter().filter(|(_, permit)| permit.is_inherited).map(|(request, _)| request.as_str())
    }

    /// Decides about a request without other machines.
    #[cfg(test)]
    pub(crate) fn decide(&mut self, now: Duration, request: &mut PendingRequest) -> Decision {
        self.decide_with(now, request, |_| None)
    }

    /// Refuses a request that may have waited.
    pub(crate) fn refuse_request(&mut self, request: &mut PendingRequest, reason: &str) {
        self.set_waiting(request, false);
        self.refused.insert(request.ask.task.clone(), reason.to_owned());
    }

    /// Counts a request among the waiting ones, or no longer.
    pub(crate) fn set_waiting(&mut self, request: &mut PendingRequest, waits: bool) {
        if waits != request.waits {
            request.waits = waits;
            let account = self.accounts.entry(request.ask.account.clone()).or_default();
            let count = account.waiting.entry(request.ask.model.clone()).or_default();
            *count = if waits { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// Whether requests to several models of this account wait, so that the next one of another model may have its turn.
    pub(crate) fn has_turns(&self, account: &str) -> bool {
        let account = self.accounts.get(account);
        account.is_some_and(|account| account.waiting.values().filter(|count| **count > 0).count() > 1)
    }

    /// Counts a request that is sent.
    fn permit(&mut self, now: Duration, ask: &Ask, account: &str, is_inherited: bool) {
        let permit = Permit {
            task: ask.task.clone(),
            account: account.to_owned(),
            sent_at: now,
            expected: ask.expected(),
            is_inherited,
            block: None,
            is_alone: false,
        };
        if self.permits.insert(ask.request.clone(), permit).is_some() {
            return;
        }
        self.shared.used_at = self.shared.used_at.max(now);
        let account = self.accounts.entry(account.to_owned()).or_default();
        let block = account.block.as_mut().map(|timed| {
            timed.block.requests = timed.block.requests.saturating_sub(1);
            timed.block
        });
        // A lease without others is for one request.
        let is_alone =
            self.shared.budget.take_if(|lease| lease.budget.is_limited() && lease.is_last).is_some();
        if let Some(permit) = self.permits.get_mut(&ask.request) {
            (permit.block, permit.is_alone) = (block, is_alone);
        }
        account.in_flight += 1;
        account.recent.push_back(SentRequest {
            request: ask.request.clone(),
            at: now,
            model: ask.model.clone(),
            expected: ask.expected_tokens,
            tokens: 0,
        });
    }

    fn refuse(&mut self, task: &str, reason: String) -> Decision {
        self.refused.insert(task.to_owned(), reason.clone());
        Decision::Refuse(reason)
    }

    /// Takes back the permission for a request, which is not sent.
    pub(crate) fn revoke(&mut self, request: &str, reason: &str) {
        if let Some(permit) = self.permits.get(request) {
            self.refused.insert(permit.task.clone(), reason.to_owned());
        }
        self.count_end(request, Spend::default());
    }

    /// Counts a request as lost: its run was killed or stopped, and the request may have been answered. Returns what it
    /// counts as, or `None` if it has ended already.
    pub(crate) fn lose(&mut self, request: &str) -> Option<Spend> {
        let expected = self.permits.get(request)?.expected;
        let used = self.largest.unwrap_or(expected);
        self.count_end(request, used);
        Some(used)
    }

    pub(crate) fn count_end(&mut self, request: &str, used: Spend) {
        let Some(permit) = self.permits.remove(request) else { return };
        self.spent = self.spent.plus(used);
        self.shared.is_awaited |= permit.is_alone;
        if let Some(block) = permit.block.filter(|_| self.shared.limits.rates.tokens_per_minute.is_some()) {
            self.shared.corrections.push(BlockCorrection {
                account: permit.account.clone(),
                second: block.second,
                unsent: 0,
                unused_tokens: block.reserved_tokens,
                more_tokens: used.tokens,
            });
        }
        let task_spend = self.running.entry(permit.task).or_default();
        *task_spend = task_spend.plus(used);
        self.raise_largest(used);
        let Some(account) = self.accounts.get_mut(&permit.account) else { return };
        account.in_flight = account.in_flight.saturating_sub(1);
        if let Some(sent) = account.recent.iter_mut().rev().find(|sent| sent.request == request) {
            sent.tokens = used.tokens;
        }
    }

    /// Records the end of a request that its run has reported.
    pub(crate) fn end(&mut self, now: Duration, request: &str, report: &RequestReport) {
        let Some(permit) = self.permits.get(request) else { return };
        let (account, sent_at) = (permit.account.clone(), permit.sent_at);
        let at_once = self.accounts.get(&account).map_or(0, |account| account.in_flight);
        self.count_end(request, report.spend());
        let Some(account) = self.accounts.get_mut(&account) else { return };
        if let Some(quota) = report.quota {
            account.observe(now, sent_at, quota);
        }
        match &report.outcome {
            RequestOutcome::Complete => {
                account.window = account.window.map(|window| window.saturating_add(1));
                account.pause = Duration::ZERO;
            }
            RequestOutcome::Overloaded { retry_after_ms } => {
                // The other requests that were sent before the pause do not extend it.
                if sent_at >= account.blocked_until {
                    account.pause = account.pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                    account.window = Some((at_once / 2).max(1));
                }
                let pause = account.pause.max(Duration::from_millis(retry_after_ms.unwrap_or_default()));
                account.blocked_until = account.blocked_until.max(now + pause);
            }
            RequestOutcome::Exhausted { reason } => {
                account.exhausted.get_or_insert_with(|| reason.clone());
            }
            RequestOutcome::Failed => {}
        }
    }

    /// Returns the reason for which a request of a task was refused.
    pub(crate) fn refusal(&self, task: &str) -> Option<&str> {
        self.refused.get(task).map(String::as_str)
    }

    /// Ends the account of a task: its runs have consumed `known`, of which earlier drivers recorded `before`. Returns what
    /// they have consumed with the requests of killed runs, and the reason for which a request was refused.
    pub(crate) fn settle(&mut self, task: &str, before: Spend, known: Spend) -> Settlement {
        let reported = self.running.remove(task).unwrap_or_default();
        let counted = before.plus(reported);
        let all = Spend {
            cost_micros: known.cost_micros.max(counted.cost_micros),
            tokens: known.tokens.max(counted.tokens),
        };
        let unreported = all.minus(counted);
        self.spent = self.spent.plus(unreported);
        Settlement { all, unreported, refused: self.refused.remove(task) }
    }
}

impl Account {
    /// Returns the time of the next request if the rates forbid one now.
    fn next_slot(&mut self, now: Duration, rates: RateLimits, largest: Option<Spend>) -> Option<Duration> {
        while self.recent.front().is_some_and(|sent| sent.at + MINUTE <= now) {
            self.recent.pop_front();
        }
        let first = self.recent.front()?.at;
        let has_requests =
            rates.requests_per_minute.is_some_and(|limit| self.recent.len() as u64 >= u64::from(limit));
        let expected = largest.map_or(0, |largest| largest.tokens);
        let open = u64::from(self.in_flight) + 1;
        let tokens = self
            .recent
            .iter()
            .fold(expected.saturating_mul(open), |sum, sent| sum.saturating_add(sent.tokens));
        let has_tokens = rates.tokens_per_minute.is_some_and(|limit| tokens > limit);
        (has_requests || has_tokens).then(|| first + MINUTE)
    }
}

#[cfg(test)]
#[path = "governor_test.rs"]
mod tests;
