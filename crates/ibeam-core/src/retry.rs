//! When a failed request is asked again: only before its first text, a bounded number of times, within a bounded time.

use std::time::Duration;

use crate::provider::{ProviderError, Retry};

/// Bounds and pauses of retrying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts for an overloaded provider, the first included.
    pub backoff_attempts: u32,
    /// Attempts for a broken connection, the first included.
    pub fast_attempts: u32,
    /// The first pause for an overloaded provider; it doubles.
    pub backoff_base: Duration,
    /// The first pause after a broken connection; it doubles.
    pub fast_base: Duration,
    /// The longest pause; a provider that asks for more is not asked again.
    pub max_delay: Duration,
    /// No attempt begins this long after the first one did.
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
    /// The pause before the next attempt, or `None` when the error stands.
    ///
    /// `attempt` is the one that failed, from 1; `jitter` in 0..1 spreads clients that failed together. A pause
    /// is never shorter than the provider's `Retry-After` nor than the base.
    pub fn delay(&self, error: &ProviderError, attempt: u32, jitter: f64) -> Option<Duration> {
        let (attempts, base) = match error.retry {
            Retry::Never => return None,
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
            Some(asked) if asked > self.max_delay => None,
            Some(asked) => Some(asked + base.mul_f64(jitter.clamp(0.0, 1.0) / 4.0)),
            None => Some(spread.min(self.max_delay)),
        }
    }
    /// Whether an attempt may still begin after `pause`, when the first one began `spent` ago.
    pub fn has_time(&self, spent: Duration, pause: Duration) -> bool {
        spent.saturating_add(pause) < self.max_elapsed
    }
}
