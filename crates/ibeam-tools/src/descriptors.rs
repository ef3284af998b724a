//! File descriptors where the limit is low (`ulimit -n`): calls take turns instead of failing together.
//!
//! A search holds several descriptors, and eight calls may run at once. Where the limit is low, one call at a time
//! opens files. If even one call cannot open what it needs, no later call can, so the run ends with the reason.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ibeam_core::ToolContext;
use ibeam_protocol::{Reason, ToolFailure, ToolOutcome};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::file_error::errno_name;

/// From this limit on, calls do not take turns.
const AMPLE_LIMIT: u64 = 128;
/// The most that one call opens at once: a directory that is read, one that is held, a file, ignore files, the pipes of
/// a command.
const DESCRIPTORS_PER_CALL: usize = 8;
/// The longest wait for descriptors that others release, such as closing connections.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Permits for one call at a time. The limit belongs to the process, so this is a static.
static PERMITS: Semaphore = Semaphore::const_new(1);

/// The permission to open files, until it is dropped.
#[derive(Debug)]
pub(crate) struct DescriptorPermit(
    #[expect(dead_code, reason = "held until it is dropped")] Option<SemaphorePermit<'static>>,
);

/// Waits until the call may open files.
///
/// Returns `None` when the run ends, because it was stopped or because there are no descriptors. Cancel safe.
pub(crate) async fn acquire_descriptors(context: &ToolContext) -> Option<DescriptorPermit> {
    static IS_LOW: OnceLock<bool> = OnceLock::new();
    let is_low = || getrlimit(Resource::Nofile).current.is_some_and(|limit| limit < AMPLE_LIMIT);
    if !*IS_LOW.get_or_init(is_low) {
        return Some(DescriptorPermit(None));
    }
    acquire_when_low(context, check_descriptors_available).await
}

async fn acquire_when_low(
    context: &ToolContext,
    check_descriptors_available: impl Fn() -> Result<(), Errno>,
) -> Option<DescriptorPermit> {
    let permit = tokio::select! {
        biased;
        _ = context.stop.wait() => return None,
        permit = PERMITS.acquire() => permit.ok(),
    };
    let started = Instant::now();
    while let Err(errno) = check_descriptors_available() {
        if started.elapsed() >= MAX_WAIT {
            end_run(context, errno);
            return None;
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    Some(DescriptorPermit(permit))
}

/// Ends the run if a command could not be started for lack of descriptors: later commands would fail too.
pub(crate) fn end_run_if_exhausted(context: &ToolContext, outcome: &ToolOutcome) {
    let ToolOutcome::Failure { failure: ToolFailure::SpawnFailed { message }, .. } = outcome else { return };
    let names = |errno: &Errno| {
        message.contains(&std::io::Error::from(*errno).to_string()) || message.contains(&errno_name(*errno))
    };
    if let Some(errno) = [Errno::MFILE, Errno::NFILE].into_iter().find(names) {
        end_run(context, errno);
    }
}

fn end_run(context: &ToolContext, errno: Errno) {
    context.stop.request(Reason::System { what: "descriptor".to_owned(), detail: errno.to_string() });
}

/// Checks that the descriptors which one call needs can be opened.
fn check_descriptors_available() -> Result<(), Errno> {
    let open = |_| rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
    (0..DESCRIPTORS_PER_CALL).map(open).collect::<Result<Vec<OwnedFd>, Errno>>().map(drop)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ibeam_core::Stop;

    use super::*;
    use crate::fixture::runtime;

    fn context() -> ToolContext {
        ToolContext::new(Stop::default(), Duration::from_secs(60))
    }

    /// One test for everything, because the permits belong to the process.
    #[test]
    fn calls_wait_for_descriptors_and_the_run_ends_if_none_are_free() {
        runtime().block_on(async {
            let (context, other) = (context(), context());
            let first = acquire_when_low(&context, check_descriptors_available).await;
            assert!(first.is_some());
            let second = acquire_when_low(&other, check_descriptors_available);
            tokio::pin!(second);
            let waited = tokio::time::timeout(Duration::from_millis(100), &mut second).await;
            assert!(waited.is_err(), "the first call holds the turn");
            drop(first);
            assert!(second.await.is_some());
            assert_eq!(other.stop.reason(), None);

            let attempts = Cell::new(0);
            let freed_later = || {
                attempts.set(attempts.get() + 1);
                if attempts.get() < 3 { Err(Errno::MFILE) } else { Ok(()) }
            };
            assert!(acquire_when_low(&context, freed_later).await.is_some(), "descriptors are waited for");

            assert!(acquire_when_low(&context, || Err(Errno::MFILE)).await.is_none());
            let reason = context.stop.reason();
            assert!(
                matches!(reason, Some(Reason::System { what, .. }) if what == "descriptor"),
                "{reason:?}"
            );
            assert!(
                acquire_when_low(&context, check_descriptors_available).await.is_none(),
                "the run is ending"
            );
        });
    }

    #[test]
    fn a_command_that_lacked_descriptors_ends_the_run() {
        for (message, is_end) in [
            ("the command could not be started: EMFILE", true),
            ("the command could not be started: /proc: Too many open files (os error 24)", true),
            ("the command could not be started: ENOMEM", false),
        ] {
            let context = context();
            let failure = ToolFailure::SpawnFailed { message: message.into() };
            end_run_if_exhausted(&context, &ToolOutcome::Failure { failure, for_model: message.into() });
            assert_eq!(context.stop.reason().is_some(), is_end, "{message}");
        }
    }
}
