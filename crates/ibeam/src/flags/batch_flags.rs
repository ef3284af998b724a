//! The flags of fleets whose requests are answered in batches.

use clap::Args;

/// The flags of `fleet run` with batches.
#[derive(Args, Clone, Debug)]
pub(crate) struct BatchFlags {
    /// Let batches answer the requests at half the price, and end when they are submitted
    #[arg(long, conflicts_with = "queue")]
    pub(crate) batch: bool,
    /// Stay and poll the batches until all tasks have ended
    #[arg(long, requires = "batch")]
    pub(crate) wait: bool,
    /// Seconds between two polls [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "batch")]
    pub(crate) interval: Option<u64>,
    /// Send directly what batches have not answered this long after the start of the fleet, e.g. `12h`
    #[arg(long, value_name = "DURATION", requires = "batch")]
    pub(crate) batch_deadline: Option<String>,
}
