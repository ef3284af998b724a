//! Asks the user of the editor the questions of MCP servers.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_acp::{FORM_METHOD, form_answer, form_request};
use ibeam_json_rpc::Peer;
use ibeam_mcp::Questioner;
use serde_json::{Value, json};

use super::turn_control::SessionControl;

/// The user of an editor that shows forms.
pub(super) struct EditorQuestioner {
    pub(super) peer: Arc<Peer>,
    pub(super) session_id: String,
    pub(super) control: SessionControl,
}

impl fmt::Debug for EditorQuestioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorQuestioner").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

impl Questioner for EditorQuestioner {
    /// Asks only while a turn runs. The end of the turn cancels the question.
    fn ask<'a>(&'a self, server: &'a str, params: &'a Value) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let turn = self.control.current_turn()?;
            let form = form_request(&self.session_id, server, params)?;
            tokio::select! {
                biased;
                _ = turn.stop.wait() => Some(json!({ "action": "cancel" })),
                // An editor that refuses the form leaves the question to the policy.
                response = self.peer.request(FORM_METHOD, form) => Some(form_answer(response.ok()?.get())),
            }
        })
    }
}
