//! The system's time, or the pinned time of a replay.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use ibeam_core::Clock;

/// The time of a replay.
#[derive(Clone, Copy)]
struct PinnedTime {
    unix_ms: u64,
    /// Whether a delay takes its time. Otherwise it completes at once.
    waits: bool,
}

/// The time of the replay of this process; not set in any other run.
static PINNED: OnceLock<PinnedTime> = OnceLock::new();

/// Stops all clocks of the process at `unix_ms`, for a replay. Without `waits`, delays complete at once.
pub(crate) fn pin(unix_ms: u64, waits: bool) {
    // A process has at most one replay.
    let _ = PINNED.set(PinnedTime { unix_ms, waits });
}

/// The system's wall clock and monotonic clock. In a replay both stand still.
pub(crate) struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Returns a clock whose monotonic time starts at `start`.
    pub(crate) fn since(start: Instant) -> Self {
        Self { start }
    }
}

/// Whether the time is that of a recording.
pub(crate) fn is_pinned() -> bool {
    PINNED.get().is_some()
}

/// Returns the milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    if let Some(PinnedTime { unix_ms, .. }) = PINNED.get() {
        return *unix_ms;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the date, `YYYY-MM-DD`, in UTC.
pub fn utc_date() -> String {
    let at = i64::try_from(now_ms()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        now_ms()
    }

    fn monotonic(&self) -> Duration {
        if self.is_pinned() { Duration::ZERO } else { self.start.elapsed() }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        match PINNED.get() {
            Some(PinnedTime { waits: false, .. }) => Box::pin(std::future::ready(())),
            Some(PinnedTime { waits: true, .. }) | None => Box::pin(tokio::time::sleep(duration)),
        }
    }

    fn is_pinned(&self) -> bool {
        is_pinned()
    }
}
