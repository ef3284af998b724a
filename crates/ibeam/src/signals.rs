//! Signals that end a run in order: the first asks to stop, the second leaves little time for it.
//!
//! A hang-up that was to be ignored, as `nohup` has it, is ignored. A file that reaches the size limit of the
//! process is an error of its write, never the death of the program.

use std::time::Duration;

use ibeam_core::Stop;
use ibeam_protocol::{Reason, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::exit;

/// SIGXFSZ on Linux and macOS alike; tokio has no name for it.
const FILE_SIZE_LIMIT: i32 = 25;

/// What an end in order may still take after a second signal. Two in a row are often one wish.
const HASTE: Duration = Duration::from_millis(300);

/// Watches for the four signals until what it gives is dropped.
///
/// # Errors
/// The system's error when a handler cannot be set.
pub(crate) fn watch(stop: &Stop) -> std::io::Result<JoinSet<()>> {
    // Without a handler it would kill us; the handler stays, and nobody need listen.
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
        let stop = stop.clone();
        watchers.spawn(async move {
            while arrivals.recv().await.is_some() {
                if let Some(reason) = stop.requested() {
                    tokio::time::sleep(HASTE).await;
                    exit::force_exit(reason);
                }
                stop.request(Reason::Signalled(name));
            }
        });
    }
    Ok(watchers)
}

/// Whether this process ignores the signal; false where the system does not tell.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default();
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
