//! When a failed request is retried: only before its first text, a limited number of times, within a limited time.

use std::time::Duration;

use crate::ports::{ProviderError, Retry};

/// The limits and delays of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts for an overloaded provider, the first included.
    pub backoff_attempts: u32,
    /// Attempts for a broken connection, the first included.
    pub fast_attempts: u32,
    /// The first delay for an overloaded provider; it doubles with each attempt.
    pub backoff_base: Duration,
    /// The first delay after a broken connection; it doubles with each attempt.
    pub fast_base: Duration,
    /// The longest delay. If a provider asks for a longer one, the request is not retried.
    pub max_delay: Duration,
    /// The time after the first attempt from which on no attempt begins.
    pub max_elapsed: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            backoff_attempts: 6,
            fast_attempts: 4,
            backoff_base: Duration::from_secs(1),
            fast_base: Duration::from_millis(200),
            max_delay: Duration::from_secs(60),
            max_elapsed: Duration::from_secs(5 * 60),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay before the next attempt, or `None` if the request is not retried.
    ///
    /// `attempt` is the number of the failed attempt, from 1. `jitter` in 0..1 spreads clients that failed together. A
    /// delay is never shorter than the base or the provider's `Retry-After`.
    pub fn delay(&self, error: &ProviderError, attempt: u32, jitter: f64) -> Option<Duration> {
        let (attempts, base) = match error.retry {
            // The loop repeats a request without a part itself, because it is another request.
            Retry::Never | Retry::WithoutPart(_) => return None,
            Retry::Once => (self.fast_attempts.min(2), Duration::ZERO),
            Retry::Fast => (self.fast_attempts, self.fast_base),
            Retry::Backoff => (self.backoff_attempts, self.backoff_base),
        };
        if attempt >= attempts {
            return None;
        }
        let doubled = base.saturating_mul(2u32.saturating_pow(attempt.saturating_sub(1)));
        let spread = base + doubled.saturating_sub(base).mul_f64(jitter.clamp(0.0, 1.0));
        match error.retry_after() {
            Some(wanted) if wanted > self.max_delay => None,
            Some(wanted) => Some(wanted + base.mul_f64(jitter.clamp(0.0, 1.0) / 4.0)),
            None => Some(spread.min(self.max_delay)),
        }
    }

    /// Whether an attempt may still begin after `delay`, `elapsed` after the first attempt began.
    pub fn has_time(&self, elapsed: Duration, delay: Duration) -> bool {
        elapsed.saturating_add(delay) < self.max_elapsed
    }
}
