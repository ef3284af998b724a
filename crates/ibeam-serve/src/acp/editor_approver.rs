//! Asks the user of the editor about calls that no rule decides.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ibeam_acp::{ClientFeatures, PermissionAnswer, QuestionView, permission_request};
use ibeam_core::{Access, Approval, ApprovalRequest, Approver};
use ibeam_json_rpc::Peer;
use ibeam_output::Catalogue;
use ibeam_protocol::ToolCall;

use super::turn_control::lock;
use ibeam_agent::run::answered_calls::{AnsweredCalls, HOOK_RULE};

/// The answers that last until the session is closed.
pub(super) type LastingAnswers = Arc<Mutex<HashMap<AnsweredCalls, PermissionAnswer>>>;

/// The approver of a session of an editor.
pub(super) struct EditorApprover {
    pub(super) peer: Arc<Peer>,
    pub(super) session_id: String,
    pub(super) cwd: PathBuf,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) features: ClientFeatures,
    pub(super) answers: LastingAnswers,
}

impl Approver for EditorApprover {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let similar = AnsweredCalls::like(call, access, request.rule);
            let lasting = similar.as_ref().and_then(|calls| lock(&self.answers).get(calls).copied());
            if let Some(answer) = lasting {
                return approval(answer);
            }
            let cause = self.cause(request);
            let view = QuestionView {
                cwd: &self.cwd,
                catalogue: &self.catalogue,
                features: self.features,
                cause: &cause,
                directory: command_directory(access, &self.cwd),
            };
            let question = permission_request(&self.session_id, call, view, similar.is_some());
            let Ok(response) = self.peer.request("session/request_permission", question).await else {
                return Approval::Unanswered;
            };
            let Ok(response) = serde_json::from_str(response.get()) else { return Approval::Unanswered };
            let answer = PermissionAnswer::from_response(&response);
            if let Some(calls) = similar.filter(|_| answer.is_lasting()) {
                lock(&self.answers).insert(calls, answer);
            }
            approval(answer)
        })
    }
}

impl EditorApprover {
    /// Returns why the user is asked: the cause as at a terminal, and what the rule says about this call.
    fn cause(&self, request: ApprovalRequest<'_>) -> String {
        let ApprovalRequest { rule, reason, .. } = request;
        let cause = self.catalogue.question_cause(rule, reason);
        match rule.starts_with(HOOK_RULE) {
            // The cause has the reason of the hook.
            true => cause,
            false => format!("{cause}\n\n{}", self.catalogue.sentence(reason)),
        }
    }
}

/// Returns the directory in which a command starts; `None` for other calls.
fn command_directory<'a>(access: &'a Access, cwd: &'a Path) -> Option<&'a Path> {
    match access {
        Access::Command { directory, .. } => Some(directory.as_deref().unwrap_or(cwd)),
        Access::Nothing
        | Access::Read(_)
        | Access::Write(_)
        | Access::Fetch { .. }
        | Access::Mcp { .. }
        | Access::Task { .. } => None,
    }
}

fn approval(answer: PermissionAnswer) -> Approval {
    if answer.is_allowed() { Approval::Granted } else { Approval::Refused(None) }
}
