//! The one gate around all tools: what hooks object, then the rules, then whoever can be asked.

use std::sync::Arc;

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::ToolCall;

use crate::approver::{Approver, Asked};
use crate::hook::Objection;

/// What the gate says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: String,
    /// `None` lets the call run; otherwise the sentence for the model.
    pub refusal: Option<String>,
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
    pub async fn decide(&self, call: &ToolCall, access: &Access, objection: Option<&Objection>) -> Decision {
        if let Some(objection) = objection
            && !objection.unless_approved
        {
            return Decision { rule: objection.rule(), refusal: Some(objection.message.clone()) };
        }
        let verdict = match (self.policy.decide(access), objection) {
            // A hook narrows what the rules allow, and lifts nothing that they do not.
            (Verdict::Allow { .. }, Some(objection)) => {
                Verdict::Ask { rule: objection.rule(), reason: objection.message.clone() }
            }
            (verdict, _) => verdict,
        };
        match verdict {
            Verdict::Allow { rule } => Decision { rule, refusal: None },
            Verdict::Deny { rule, reason } => Decision { rule, refusal: Some(reason) },
            Verdict::Ask { rule, reason } => {
                let asked = Asked { rule: &rule, reason: &reason };
                match self.approver.decide(call, access, asked).await {
                    true => Decision { rule: "approved".to_owned(), refusal: None },
                    false => Decision { rule, refusal: Some(reason) },
                }
            }
        }
    }
}
