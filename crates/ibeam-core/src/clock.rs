//! The port to time.

use std::time::Duration;

use futures_util::future::BoxFuture;

/// Time as the loop sees it; tests give their own.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch, for people.
    fn unix_ms(&self) -> u64;

    /// Time since some fixed moment; never goes back. Durations come from here.
    fn monotonic(&self) -> Duration;

    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
