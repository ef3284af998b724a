//! Signals that end a run in order: the first one requests a stop, the second one shortens the time for the end.
//!
//! A hang-up stays ignored if the process was started so, as `nohup` does. A file that reaches the size limit of the
//! process causes a write error and does not kill the program.

use std::time::Duration;

use ibeam_protocol::{Reason, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::process_end;
use crate::pump::CurrentStop;

/// SIGXFSZ on Linux and macOS alike; tokio has no name for it.
const FILE_SIZE_LIMIT: i32 = 25;

/// The time for an orderly end after a second signal. Two signals in quick succession are often meant as one.
const SECOND_SIGNAL_TIMEOUT: Duration = Duration::from_millis(300);

/// Requests the stop `target` when one of the four signals arrives, until the returned tasks are dropped.
///
/// # Errors
/// The system's error when a handler cannot be set.
pub fn watch(target: &CurrentStop) -> std::io::Result<JoinSet<()>> {
    // Without a handler the signal would kill the process. The handler stays when the listener is dropped.
    drop(signal(SignalKind::from_raw(FILE_SIZE_LIMIT))?);
    let mut watchers = JoinSet::new();
    let signals = [
        (SignalKind::hangup(), Signal::Hup),
        (SignalKind::interrupt(), Signal::Int),
        (SignalKind::quit(), Signal::Quit),
        (SignalKind::terminate(), Signal::Term),
    ];
    for (kind, name) in signals {
        if name == Signal::Hup && is_ignored(kind) {
            continue;
        }
        let mut arrivals = signal(kind)?;
        let target = target.clone();
        watchers.spawn(async move {
            while arrivals.recv().await.is_some() {
                let stop = target.get();
                if stop.reason().is_none() {
                    stop.request(Reason::Signalled(name));
                    continue;
                }
                tokio::time::sleep(SECOND_SIGNAL_TIMEOUT).await;
                // If another run has started, the first signal has ended the previous run.
                if let Some(reason) = target.get().reason() {
                    process_end::force_exit(reason);
                }
            }
        });
    }
    Ok(watchers)
}

/// Whether this process ignores the signal; false if the system does not report it.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default();
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
