//! A look at the file system that the loop waits for, within a bound.
//!
//! Before a call runs, policy judges where its path leads. A file system that does not answer (a server that is gone)
//! must not keep the loop from its time limit and from signals. What does not end in time is left behind.

use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::offload::offload;

/// The longest that the loop waits. A disk answers within milliseconds.
const LONGEST: Duration = Duration::from_secs(1);

/// Runs `look` on another thread and returns its result; `None` where it did not end in time.
///
/// Outside of a runtime there is no loop to keep, and `look` runs here.
pub(crate) fn within_bound<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if Handle::try_current().is_err() {
        return Some(look());
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    drop(offload(move || drop(sender.send(look()))));
    receiver.recv_timeout(LONGEST).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::fixture::runtime;

    #[test]
    fn a_look_that_ends_gives_its_result() {
        assert_eq!(within_bound(|| 1), Some(1));
        assert_eq!(runtime().block_on(async { within_bound(|| 2) }), Some(2));
    }

    #[test]
    fn a_look_that_does_not_end_is_left_behind() {
        let (release, wait) = mpsc::channel::<()>();
        let runtime = runtime();
        let began = Instant::now();
        let found = runtime.block_on(async {
            within_bound(move || {
                let _ = wait.recv_timeout(Duration::from_secs(60));
            })
        });
        assert_eq!(found, None);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        drop(release);
        runtime.shutdown_background();
    }
}
