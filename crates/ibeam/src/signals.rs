//! Signals that end a run in order: the first asks to stop, the second ends the process at once.

use ibeam_core::Stop;
use ibeam_protocol::{FailureCode, Reason, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// Watches for the four signals until what it gives is dropped.
///
/// # Errors
/// The system's error when a handler cannot be set.
pub(crate) fn watch(stop: &Stop) -> std::io::Result<JoinSet<()>> {
    let mut watchers = JoinSet::new();
    let signals = [
        (SignalKind::hangup(), Signal::Hup),
        (SignalKind::interrupt(), Signal::Int),
        (SignalKind::quit(), Signal::Quit),
        (SignalKind::terminate(), Signal::Term),
    ];
    for (kind, name) in signals {
        let mut arrivals = signal(kind)?;
        let stop = stop.clone();
        watchers.spawn(async move {
            while arrivals.recv().await.is_some() {
                if stop.requested().is_some() {
                    std::process::exit(FailureCode::Signal(name).exit_code().into());
                }
                stop.request(Reason::Signalled(name));
            }
        });
    }
    Ok(watchers)
}
