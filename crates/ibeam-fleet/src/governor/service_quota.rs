//! The rest of the rate limits of services, as they report it, and the later requests that have used it.

use std::time::Duration;

use super::Account;
use ibeam_governor::{LimitLeft, QuotaLeft};

/// The longest time until a reset for which requests wait. A limit of a day is met, not waited for.
const LONGEST_RESET: Duration = Duration::from_secs(120);

/// The numbers in the response to a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceQuota {
    /// The time at which the request was sent. Later ones are not in the numbers.
    sent_at: Duration,
    requests: Option<KnownLimit>,
    tokens: Option<KnownLimit>,
}

/// The rest of a limit, until it is whole again.
#[derive(Clone, Copy, Debug)]
struct KnownLimit {
    left: u64,
    until: Duration,
}

impl KnownLimit {
    fn new(now: Duration, left: LimitLeft) -> Option<Self> {
        let reset = Duration::from_millis(left.reset_ms);
        (reset <= LONGEST_RESET).then(|| Self { left: left.count, until: now + reset })
    }
}

impl Account {
    /// Takes what the response to a request that was sent at `sent_at` says.
    pub(super) fn observe(&mut self, now: Duration, sent_at: Duration, quota: QuotaLeft) {
        // The response to an earlier request may end later.
        if self.quota.is_none_or(|known| known.sent_at <= sent_at) {
            let limit = |left: Option<LimitLeft>| left.and_then(|left| KnownLimit::new(now, left));
            let (requests, tokens) = (limit(quota.requests), limit(quota.tokens));
            self.quota = Some(ServiceQuota { sent_at, requests, tokens });
        }
    }

    /// Returns the number of requests that the service permits now, as far as is known.
    ///
    /// # Errors
    /// The time at which it permits the next one, with `expected` tokens.
    pub(super) fn room(&self, now: Duration, expected: u64) -> Result<u64, Duration> {
        let Some(quota) = self.quota else { return Ok(u64::MAX) };
        let later = || self.recent.iter().filter(|sent| sent.at > quota.sent_at);
        let mut room = u64::MAX;
        if let Some(limit) = quota.requests.filter(|limit| now < limit.until) {
            room = limit.left.saturating_sub(later().count() as u64);
            if room == 0 {
                return Err(limit.until);
            }
        }
        if let Some(limit) = quota.tokens.filter(|limit| now < limit.until) {
            let used = later().fold(0_u64, |sum, sent| sum.saturating_add(sent.tokens.max(sent.expected)));
            if used.saturating_add(expected) > limit.left {
                return Err(limit.until);
            }
        }
        Ok(room)
    }
}
