//! The work of commands outside of runs. A signal and the time limit end it in order, with one `error:` line.

use std::sync::OnceLock;
use std::time::Duration;

use ibeam_protocol::{Failure, Reason};

use super::on_runtime;
use super::watchdog::StartupWatchdog;
use crate::app::AppContext;

/// The watch over the signals of the process, from the first work on.
static WATCHDOG: OnceLock<StartupWatchdog> = OnceLock::new();

/// Waits for work of a command with git, at most for `--timeout`, else for `timeouts.git`.
///
/// # Errors
/// As for [`run_command`].
pub fn run_git_command<T, E: From<Failure>>(
    app: &AppContext,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let given = app.base.options.timeout.as_deref().and_then(ibeam_config::parse_time);
    run_command(Some(given.unwrap_or(app.base.settings.timeouts.git.value)), work)
}

/// Waits for work of a command, at most for `limit`. It is dropped where it waits, and what it started ends with it. A
/// thread that hangs in the system does not delay the end.
///
/// # Errors
/// The errors of `work`; the reason of a signal; `TimedOut`; `System`.
pub fn run_command<T, E: From<Failure>>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let watchdog = watchdog().map_err(Failure::from)?;
    let _limit = watchdog.limit(limit);
    on_runtime(|runtime| {
        runtime.block_on(async {
            tokio::select! {
                biased;
                reason = watchdog.stop().wait() => Err(Failure::from(reason).into()),
                done = work => done,
            }
        })
    })
}

fn watchdog() -> Result<&'static StartupWatchdog, Reason> {
    match WATCHDOG.get() {
        Some(watchdog) => Ok(watchdog),
        None => {
            let started = StartupWatchdog::with_limit(None)?;
            Ok(WATCHDOG.get_or_init(|| started))
        }
    }
}
