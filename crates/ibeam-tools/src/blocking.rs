//! Blocking work of a tool on another thread, with a flag that asks it to end early.
//!
//! A call ends in time whatever its thread does. A thread that does not check the flag, because it waits for a disk or
//! one step takes long, is left running. The number of such threads is limited.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ibeam_core::{Access, CallPreview, PreparedCall, ToolContext};
use ibeam_protocol::{ToolFailure, ToolOutcome};
use serde_json::Value;

use crate::descriptors;
use crate::offload::offload;

/// The time that work may take to check the flag.
const GRACE: Duration = Duration::from_secs(2);
/// The number of late threads beyond which no new work starts.
const MAX_LATE_THREADS: usize = 16;

/// Threads of the process that were left running and have not ended.
static LATE_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Asks blocking work to end: the run is stopping, or the time is up.
#[derive(Clone, Debug)]
pub(crate) struct EndFlag {
    is_raised: Arc<AtomicBool>,
    deadline: Instant,
}

impl EndFlag {
    /// Returns a flag that raises itself after `time`.
    pub(crate) fn after(time: Duration) -> Self {
        Self { is_raised: Arc::default(), deadline: Instant::now() + time }
    }

    /// Whether the run is ending, so that the result will not be used.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// Whether the time is up; what was found until then is the result.
    pub(crate) fn is_out_of_time(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Raises the flag when the waiting future is dropped.
struct RaiseOnDrop(EndFlag);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
    }
}

/// Counts one thread among the late ones, from when it is late until it ends.
#[derive(Clone)]
struct LateThread {
    count: &'static AtomicUsize,
    /// Whether the first of two events has occurred: the thread is late, or has ended.
    is_late_or_ended: Arc<AtomicBool>,
}

impl LateThread {
    fn new(count: &'static AtomicUsize) -> Self {
        Self { count, is_late_or_ended: Arc::default() }
    }

    /// Counts the thread, unless it has ended.
    fn mark_late(&self) {
        if !self.is_late_or_ended.swap(true, Ordering::Relaxed) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stops counting the thread, if it was counted.
    fn mark_ended(&self) {
        if self.is_late_or_ended.swap(true, Ordering::Relaxed) {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Returns a call that runs `work` as [`run`] does.
pub(crate) fn prepare_call(
    arguments: Value,
    access: Access,
    work: impl FnOnce(&EndFlag) -> ToolOutcome + Send + 'static,
) -> PreparedCall {
    PreparedCall::new(arguments, access, move |context| run(context, work))
}

/// Returns the preview of a call about which nothing is known.
pub(crate) fn unknown_preview() -> BoxFuture<'static, CallPreview> {
    Box::pin(std::future::ready(CallPreview::Unknown))
}

/// Previews a call with `work`, which changes nothing, as [`run`] does. What does not end in time is unknown.
pub(crate) fn preview(
    context: ToolContext,
    work: impl FnOnce(&EndFlag) -> CallPreview + Send + 'static,
) -> BoxFuture<'static, CallPreview> {
    Box::pin(async move {
        let (sender, found) = mpsc::channel();
        let ended = run(context, move |end| {
            // Nobody waits any more after the time is up.
            let _ = sender.send(work(end));
            interrupted_outcome()
        });
        drop(ended.await);
        found.try_recv().unwrap_or(CallPreview::Unknown)
    })
}

/// Runs `work` on another thread, for at most about `file_timeout`.
///
/// Nothing starts once the run is asked to stop. When it is asked later, or the returned future is dropped, the flag is
/// raised; `work` checks it between its steps and returns what it has. Work that does not end in time is left running,
/// and the call fails with an unknown effect.
async fn run(
    context: ToolContext,
    work: impl FnOnce(&EndFlag) -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    if context.stop.reason().is_some() {
        return interrupted_outcome();
    }
    if LATE_THREADS.load(Ordering::Relaxed) >= MAX_LATE_THREADS {
        return ToolOutcome::error(format!(
            "not executed: {MAX_LATE_THREADS} earlier file calls have not ended although their time was up; wait for them, \
             or work with other files"
        ));
    }
    let Some(_permit) = descriptors::acquire_descriptors(&context).await else {
        return interrupted_outcome();
    };
    let flag = EndFlag::after(context.file_timeout);
    let raise = RaiseOnDrop(flag.clone());
    let late_thread = LateThread::new(&LATE_THREADS);
    let ending = late_thread.clone();
    let mut running = offload(move || {
        let outcome = work(&flag);
        ending.mark_ended();
        outcome
    });
    let max_time = context.file_timeout.saturating_add(GRACE);
    let ended = tokio::select! {
        biased;
        ended = &mut running => Some(ended),
        _ = context.stop.wait() => {
            drop(raise);
            tokio::time::timeout(GRACE, &mut running).await.ok()
        }
        () = tokio::time::sleep(max_time) => None,
    };
    match ended {
        Some(ended) => {
            ended.unwrap_or_else(|error| ToolOutcome::error(format!("the tool itself failed: {error}")))
        }
        None => {
            late_thread.mark_late();
            if context.stop.reason().is_some() {
                interrupted_unknown_outcome()
            } else {
                timed_out_outcome(context.file_timeout)
            }
        }
    }
}

/// Returns the outcome of a call that the end of the run interrupted.
pub(crate) fn interrupted_outcome() -> ToolOutcome {
    ToolOutcome::Failure {
        failure: ToolFailure::Interrupted,
        for_model: "interrupted: the run is ending".into(),
    }
}

/// Returns the outcome of a call that had not ended when the run ended.
fn interrupted_unknown_outcome() -> ToolOutcome {
    ToolOutcome::Failure {
        failure: ToolFailure::Interrupted,
        for_model: "interrupted: the run is ending, and the call has not ended; its effect is unknown".into(),
    }
}

/// Returns the outcome of a call whose thread was left running.
fn timed_out_outcome(time: Duration) -> ToolOutcome {
    ToolOutcome::error(format!(
        "the call did not end within {time:?} (`timeouts.files`) and was abandoned; its effect is \
         unknown. A simpler pattern or a smaller part of the tree may do"
    ))
}

#[cfg(test)]
mod tests {
    use ibeam_core::Stop;
    use ibeam_protocol::Reason;

    use super::*;
    use crate::fixture::{failure, runtime};

    /// Runs work that waits until the test ends, and returns the outcome of its call.
    #[track_caller]
    fn stuck(file_time: Duration, stop_after: Option<Duration>) -> (ToolFailure, String) {
        let stop = Stop::default();
        let context = ToolContext::new(stop.clone(), file_time);
        let (_release, wait) = mpsc::channel::<()>();
        let runtime = runtime();
        let started = Instant::now();
        let outcome = runtime.block_on(async {
            if let Some(pause) = stop_after {
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    stop.request(Reason::OutputClosed);
                });
            }
            run(context, move |_| {
                let _ = wait.recv_timeout(Duration::from_secs(30));
                interrupted_outcome()
            })
            .await
        });
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        runtime.shutdown_background();
        failure(outcome)
    }

    #[test]
    fn work_that_exceeds_its_time_limit_is_left_running() {
        let (_, for_model) = stuck(Duration::from_millis(50), None);
        assert!(
            for_model.contains("timeouts.files") && for_model.contains("effect is unknown"),
            "{for_model}"
        );
    }

    #[test]
    fn work_that_does_not_end_with_its_run_is_left_running() {
        let (why, for_model) = stuck(Duration::from_secs(60), Some(Duration::from_millis(50)));
        assert_eq!(why, ToolFailure::Interrupted);
        assert!(for_model.contains("effect is unknown"), "{for_model}");
    }

    #[test]
    fn a_late_thread_counts_until_it_ends() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = || COUNT.load(Ordering::Relaxed);
        let (late_thread, quick) = (LateThread::new(&COUNT), LateThread::new(&COUNT));
        quick.mark_ended();
        quick.mark_late();
        assert_eq!(count(), 0, "it had ended before it was late");
        late_thread.mark_late();
        assert_eq!(count(), 1);
        late_thread.mark_ended();
        assert_eq!(count(), 0);
    }
}
