//! The port to whoever answers "may it?".

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::ToolCall;

/// Decides what no rule decides.
pub trait Approver: Send + Sync {
    /// True to let the call run. `reason` is what policy says of it.
    fn decide<'a>(&'a self, call: &'a ToolCall, access: &'a Access, reason: &'a str) -> BoxFuture<'a, bool>;
}

/// Nobody is there: every question is a no, at once.
pub struct Headless;

impl Approver for Headless {
    fn decide<'a>(&'a self, _: &'a ToolCall, _: &'a Access, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}
