//! The system's time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use ibeam_core::Clock;

/// The system's wall clock and monotonic clock.
pub(crate) struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Returns a clock whose monotonic time starts at `start`.
    pub(crate) fn since(start: Instant) -> Self {
        Self { start }
    }
}

/// Returns the milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        now_ms()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
