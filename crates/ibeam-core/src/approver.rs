//! The port to whoever answers "may it?".

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::ToolCall;

/// Why somebody is asked.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    /// The rule that asks: a token, `hook: NAME`, or the name of a built-in rule.
    pub rule: &'a str,
    /// What it says of the call, for the model.
    pub reason: &'a str,
}

/// Decides what no rule decides.
pub trait Approver: Send + Sync {
    /// True to let the call run.
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        asked: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, bool>;
}

/// Nobody is there: every question is a no, at once.
pub struct NoApprover;

impl Approver for NoApprover {
    fn decide<'a>(&'a self, _: &'a ToolCall, _: &'a Access, _: ApprovalRequest<'a>) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}
