//! The one gate around all tools: what hooks object, then the rules, then whoever can be asked.

use std::sync::Arc;

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::ToolCall;

use crate::approver::{ApprovalRequest, Approver};
use crate::hook::HookBlock;

/// What the gate says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: String,
    /// `None` lets the call run.
    pub refusal: Option<Refusal>,
}

/// Why a call does not run, in English.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence for the model.
    pub for_model: String,
    /// A sentence for people, with what they can do about it.
    pub for_people: String,
}

impl From<String> for Refusal {
    /// Returns the refusal that tells the model and people the same.
    fn from(reason: String) -> Self {
        Self { for_model: reason.clone(), for_people: reason }
    }
}

/// Policy and approver; deny beats ask beats allow.
pub struct Gate {
    policy: Policy,
    approver: Arc<dyn Approver>,
}

impl Gate {
    /// A gate that asks `approver` where `policy` leaves a call open.
    pub fn new(policy: Policy, approver: Arc<dyn Approver>) -> Self {
        Self { policy, approver }
    }

    /// Decides about one call, to which a hook may object.
    pub async fn decide(&self, call: &ToolCall, access: &Access, objection: Option<&HookBlock>) -> Decision {
        if let Some(objection) = objection
            && !objection.ask
        {
            return Decision { rule: objection.rule(), refusal: Some(objection.refusal()) };
        }
        let (rule, refusal) = match (self.policy.decide(access), objection) {
            // A hook narrows what the rules allow, and lifts nothing that they do not.
            (Verdict::Allow { .. }, Some(objection)) => (objection.rule(), objection.refusal()),
            (Verdict::Allow { rule }, None) => return Decision { rule, refusal: None },
            (Verdict::Deny { rule, reason }, _) => return Decision { rule, refusal: Some(reason.into()) },
            (Verdict::Ask { rule, reason }, _) => (rule, reason.into()),
        };
        let asked = ApprovalRequest { rule: &rule, reason: &refusal.for_model };
        match self.approver.decide(call, access, asked).await {
            true => Decision { rule: "approved".to_owned(), refusal: None },
            false => Decision { rule, refusal: Some(refusal) },
        }
    }
}
