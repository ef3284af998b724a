//! Blocking work of a tool on a thread of its own, with a flag that asks it to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ibeam_core::ToolContext;
use ibeam_protocol::{ToolFailure, ToolOutcome};

/// Asks blocking work to end: somebody said so, or its time is up.
#[derive(Clone, Debug)]
pub(crate) struct EndFlag {
    raised: Arc<AtomicBool>,
    deadline: Instant,
}

impl EndFlag {
    /// A flag that raises itself after `time`.
    pub(crate) fn after(time: Duration) -> Self {
        Self { raised: Arc::default(), deadline: Instant::now() + time }
    }

    /// The run is ending: results are of no use to anybody.
    pub(crate) fn stopped(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The time is up: what was found so far is the result.
    pub(crate) fn out_of_time(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Raises the flag when the future that waits is dropped.
struct Raise(EndFlag);

impl Drop for Raise {
    fn drop(&mut self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` off the async thread, for at most about `file_time`.
///
/// Nothing begins once the run is asked to stop. When it is asked later, or the returned future is dropped, the flag is raised; `work` looks at it
/// between its steps and says what it has done.
pub(crate) async fn run(
    context: &ToolContext,
    work: impl FnOnce(&EndFlag) -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    if context.stop.requested().is_some() {
        return interrupted();
    }
    let flag = EndFlag::after(context.file_time);
    let raise = Raise(flag.clone());
    let mut running = tokio::task::spawn_blocking(move || work(&flag));
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        _ = context.stop.wait() => {
            drop(raise);
            running.await
        }
    };
    ended.unwrap_or_else(|error| ToolOutcome::error(format!("the tool itself failed: {error}")))
}

/// The end of a call whose run ended.
pub(crate) fn interrupted() -> ToolOutcome {
    ToolOutcome::Failure {
        failure: ToolFailure::Interrupted,
        for_model: "interrupted: the run is ending".into(),
    }
}
