//! `--heartbeat SECONDS`: a sign of life on stderr for whoever watches a silent run.

use std::time::{Duration, Instant};

use crate::stderr;

/// Says every `seconds` that the run goes on; ends with the runtime.
pub(super) fn start(seconds: Option<u64>) {
    let Some(period) = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs) else { return };
    let begin = Instant::now();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        loop {
            ticks.tick().await;
            stderr::write_line(&format!("heartbeat: {} s", begin.elapsed().as_secs()));
        }
    });
}
