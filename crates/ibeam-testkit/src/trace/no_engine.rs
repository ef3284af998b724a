//! What stands in for the tracer where there is none: it says so.

use std::convert::Infallible;
use std::process::Child;
use std::time::Duration;

use super::TraceAction;
use super::disk::Disk;
use super::trace_point::TracePoint;

/// Cannot be had.
pub(super) struct Engine(Infallible);

impl Engine {
    /// # Errors
    /// Always.
    pub(super) fn seize(
        _: &Child,
        _: &mut Disk,
        _: impl FnMut(&TracePoint) -> TraceAction,
    ) -> Result<Self, String> {
        Err("only on Linux on x86_64 with glibc".to_owned())
    }

    pub(super) fn follow(self, _: Duration) -> (Vec<TracePoint>, bool, Option<i32>) {
        match self.0 {}
    }
}
