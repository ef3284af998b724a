//! The decision about a request, and the choice of a key where a provider has several.

use std::time::Duration;

use super::{Budget, Decision, Governor, PendingRequest, RECHECK};
use crate::shared_limits::Hold;
use ibeam_governor::Ask;

/// The state of an account for one request.
enum Availability {
    /// A request may be sent, and about so many more: those that the service permits, and how few were sent.
    Free { room: u64, sent: usize },
    /// No request may be sent before this time.
    Busy(Duration),
    /// No request may be sent any more.
    Exhausted(String),
}

impl Governor {
    /// Decides about a request at the time `now`. A request that waits is decided about again until it is sent or refused.
    /// `hold` returns what other machines say about an account.
    pub(crate) fn decide_with(
        &mut self,
        now: Duration,
        request: &mut PendingRequest,
        hold: impl Fn(&str) -> Option<Hold>,
    ) -> Decision {
        let decision = self.judge(now, request, hold);
        let waits = matches!(decision, Decision::Wait(_) | Decision::Lease);
        self.set_waiting(request, waits);
        decision
    }

    fn judge(
        &mut self,
        now: Duration,
        request: &mut PendingRequest,
        hold: impl Fn(&str) -> Option<Hold>,
    ) -> Decision {
        if let Some(permit) = self.permits.get_mut(&request.ask.request) {
            // The earlier driver was killed after it had permitted the request.
            permit.is_inherited = false;
            let account = permit.account.clone();
            request.choose(request.ask.position(&account));
            return Decision::Send;
        }
        let Some(left) = self.budget.left(self.spent) else {
            return self.refuse(&request.ask.task, Budget::SPENT.to_owned());
        };
        let (mut best, mut free_at, mut refusal) = (None, None::<Duration>, None);
        for (number, account) in request.ask.accounts().enumerate() {
            let available = match hold(account) {
                Some(Hold::Refuse(reason)) => Availability::Exhausted(reason),
                Some(Hold::Wait(pause)) => Availability::Busy(now + pause),
                None => self.availability(now, &request.ask, account),
            };
            match available {
                Availability::Free { room, sent } => {
                    let rank = (room, std::cmp::Reverse(sent));
                    if best.is_none_or(|(_, known)| rank > known) {
                        best = Some((number, rank));
                    }
                }
                Availability::Busy(until) => free_at = Some(free_at.map_or(until, |at| at.min(until))),
                Availability::Exhausted(reason) => refusal = Some(reason),
            }
        }
        let Some((number, _)) = best else {
            return match (free_at, refusal) {
                (None, Some(reason)) => self.refuse(&request.ask.task, reason),
                (free_at, _) => Decision::Wait(free_at.unwrap_or(now + RECHECK)),
            };
        };
        // Twice the largest request is more than one that follows it will need.
        let in_flight = self.permits.len() as u64;
        let is_near_end = match self.largest {
            None => self.budget.is_limited(),
            Some(largest) => {
                let needed = |amount: u64| amount.saturating_mul(2).saturating_mul(in_flight + 1);
                left.cost_micros.is_some_and(|left| needed(largest.cost_micros) > left)
                    || left.tokens.is_some_and(|left| needed(largest.tokens) > left)
            }
        };
        if is_near_end && in_flight > 0 || self.has_model_behind(&request.ask) {
            return Decision::Wait(now + RECHECK);
        }
        request.choose(number);
        if self.shared.limits.is_limited() && !self.has_lease(now, request.account()) {
            return Decision::Lease;
        }
        self.permit(now, &request.ask, request.account(), false);
        Decision::Send
    }

    fn availability(&mut self, now: Duration, ask: &Ask, name: &str) -> Availability {
        let account = self.accounts.entry(name.to_owned()).or_default();
        if let Some(reason) = account.exhausted.clone() {
            return Availability::Exhausted(reason);
        }
        if now < account.blocked_until {
            return Availability::Busy(account.blocked_until);
        }
        if account.window.is_some_and(|window| account.in_flight >= window) {
            return Availability::Busy(now + RECHECK);
        }
        if let Some(at) = account.next_slot(now, self.rates, self.largest) {
            return Availability::Busy(at);
        }
        match account.room(now, ask.expected_tokens) {
            Ok(room) => Availability::Free { room, sent: account.recent.len() },
            Err(until) => Availability::Busy(until),
        }
    }

    /// Whether a request to another model waits, of which fewer were sent within the last minute.
    fn has_model_behind(&self, ask: &Ask) -> bool {
        let accounts = || ask.accounts().filter_map(|account| self.accounts.get(account));
        let sent = |model: &str| {
            accounts().flat_map(|account| &account.recent).filter(|sent| sent.model == model).count()
        };
        // Requests wait at their first account.
        let Some(home) = self.accounts.get(&ask.account) else { return false };
        let mut others = home.waiting.iter().filter(|(other, count)| **count > 0 && **other != ask.model);
        others.any(|(other, _)| sent(other) < sent(&ask.model))
    }
}
