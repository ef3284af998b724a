//! The one gate before all tools: blocks of hooks, then the rules, then the approver.

use std::sync::Arc;

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::{PermissionMode, Sentence, ToolCall, sentence};

use crate::ports::{Approval, ApprovalRequest, Approver, HookBlock};

/// The decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: String,
    /// `None` lets the call run.
    pub refusal: Option<Refusal>,
}

/// The reason why a call does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence for the model.
    pub for_model: Sentence,
    /// A sentence for people, with what they can do about it.
    pub for_people: Sentence,
}

impl Refusal {
    /// Returns the refusal of a call by a person or a host that was asked.
    fn by_user(message: Option<&str>) -> Self {
        let message = message.map(str::trim).filter(|message| !message.is_empty());
        match message {
            Some(message) => sentence!("the user refused this call: {message}", message).into(),
            None => sentence!("the user refused this call").into(),
        }
    }
}

impl From<Sentence> for Refusal {
    /// Returns a refusal with the same sentence for the model and for people.
    fn from(reason: Sentence) -> Self {
        Self { for_model: reason.clone(), for_people: reason }
    }
}

/// Policy and approver; deny beats ask beats allow.
#[derive(Clone)]
pub struct Gate {
    policy: Policy,
    approver: Arc<dyn Approver>,
}

impl Gate {
    /// Returns a gate that asks `approver` where `policy` requires approval.
    pub fn new(policy: Policy, approver: Arc<dyn Approver>) -> Self {
        Self { policy, approver }
    }

    /// Replaces the tools of MCP servers, by server and name, that are refused because they changed after their approval.
    pub fn set_unapproved_mcp_tools(&mut self, tools: Vec<(String, String)>) {
        self.policy.unapproved_mcp_tools = tools;
    }

    /// Returns the gate of a sub-agent: with the same rules and approver, and if it may only read, in ask mode.
    #[must_use]
    pub fn for_subagent(&self, read_only: bool) -> Self {
        let mut gate = self.clone();
        gate.policy.mode = subagent_mode(gate.policy.mode, read_only);
        gate
    }

    /// Whether the policy allows an access without approval.
    pub fn allows(&self, access: &Access) -> bool {
        match self.policy.decide(access) {
            Verdict::Allow { .. } => true,
            Verdict::Deny { .. } | Verdict::Ask { .. } => false,
        }
    }

    /// Whether a call is previewed before the decision: the approver wants it and would be asked, and the file that the
    /// call would change may be read without a question.
    pub(crate) fn wants_preview(&self, access: &Access, block: Option<&HookBlock>) -> bool {
        let Access::Write(path) = access else { return false };
        let is_asked = match (self.policy.decide(access), block) {
            (Verdict::Ask { .. }, None) => true,
            (Verdict::Ask { .. } | Verdict::Allow { .. }, Some(block)) => block.ask,
            (Verdict::Allow { .. }, None) | (Verdict::Deny { .. }, _) => false,
        };
        is_asked && self.approver.wants_preview() && self.allows(&Access::Read(path.clone()))
    }

    /// Decides on one call, which a hook may have blocked. `diff` is the change that the call would make now, if it is
    /// known.
    pub async fn decide(
        &self,
        call: &ToolCall,
        access: &Access,
        block: Option<&HookBlock>,
        diff: Option<&str>,
    ) -> Decision {
        if let Some(block) = block
            && !block.ask
        {
            return Decision { rule: block.rule(), refusal: Some(block.refusal()) };
        }
        let (rule, refusal) = match (self.policy.decide(access), block) {
            // A hook narrows what the rules allow. It never allows what they refuse.
            (Verdict::Allow { .. }, Some(block)) => (block.rule(), block.refusal()),
            (Verdict::Allow { rule }, None) => return Decision { rule, refusal: None },
            (Verdict::Deny { rule, reason }, _) => return Decision { rule, refusal: Some(reason.into()) },
            (Verdict::Ask { rule, reason }, _) => (rule, reason.into()),
        };
        let request = ApprovalRequest { rule: &rule, reason: &refusal.for_model, diff };
        match self.approver.decide(call, access, request).await {
            Approval::Granted => Decision { rule: "approved".to_owned(), refusal: None },
            // The reason of the rule names ways to allow the call, which would contradict the answer.
            Approval::Refused(message) => {
                Decision { rule, refusal: Some(Refusal::by_user(message.as_deref())) }
            }
            Approval::Unanswered => Decision { rule, refusal: Some(refusal) },
        }
    }
}

/// Returns the mode of a sub-agent of a run in `mode`; it never allows more.
pub fn subagent_mode(mode: PermissionMode, read_only: bool) -> PermissionMode {
    match mode {
        PermissionMode::Default | PermissionMode::Force if read_only => PermissionMode::Ask,
        mode => mode,
    }
}
