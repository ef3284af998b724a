//! The port to commands that outlive their call.

use futures_util::future::BoxFuture;

use crate::stop::Stop;

/// What a run has left running. A run never ends with work still going on behind it.
pub trait Background: Send + Sync {
    /// How many commands run now.
    fn running(&self) -> u32;

    /// Comes back when nothing runs any more, and gives how many had to be ended.
    ///
    /// With `wait` it first lets them end by themselves, as long as it may, unless `stop` is requested.
    fn finish<'a>(&'a self, wait: bool, stop: &'a Stop) -> BoxFuture<'a, u32>;
}

/// Tools that never leave anything running.
pub struct NoBackground;

impl Background for NoBackground {
    fn running(&self) -> u32 {
        0
    }

    fn finish<'a>(&'a self, _: bool, _: &'a Stop) -> BoxFuture<'a, u32> {
        Box::pin(std::future::ready(0))
    }
}
