//! The question whether a call may run, and its answer.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse,
};
use ibeam_output::{Catalogue, EditorLine};
use ibeam_protocol::ToolCall;

use crate::client::ClientFeatures;
use crate::tool_call::{self, CallView, Detail};

/// The decision of the user of the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The call may run.
    AllowOnce,
    /// The call and similar ones may run, until the session is closed.
    AllowAlways,
    /// The call must not run.
    RejectOnce,
    /// The call and similar ones must not run, until the session is closed.
    RejectAlways,
}

impl PermissionAnswer {
    const ALL: [Self; 4] = [Self::AllowOnce, Self::AllowAlways, Self::RejectOnce, Self::RejectAlways];

    /// Returns the answer in a response. A cancelled question, and an unknown option, reject the call.
    pub fn from_response(response: &RequestPermissionResponse) -> Self {
        let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return Self::RejectOnce };
        let id = &*selected.option_id.0;
        Self::ALL.into_iter().find(|answer| answer.id() == id).unwrap_or(Self::RejectOnce)
    }

    /// Whether the call may run.
    pub fn is_allowed(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::RejectOnce | Self::RejectAlways => false,
        }
    }

    /// Whether the answer is also that of similar calls.
    pub fn is_lasting(self) -> bool {
        match self {
            Self::AllowAlways | Self::RejectAlways => true,
            Self::AllowOnce | Self::RejectOnce => false,
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
            Self::RejectOnce => "reject-once",
            Self::RejectAlways => "reject-always",
        }
    }

    fn option(self, catalogue: &Catalogue) -> PermissionOption {
        let (name, kind) = match self {
            Self::AllowOnce => (EditorLine::AllowOnce, PermissionOptionKind::AllowOnce),
            Self::AllowAlways => (EditorLine::AllowAlways, PermissionOptionKind::AllowAlways),
            Self::RejectOnce => (EditorLine::RejectOnce, PermissionOptionKind::RejectOnce),
            Self::RejectAlways => (EditorLine::RejectAlways, PermissionOptionKind::RejectAlways),
        };
        PermissionOption::new(self.id(), catalogue.line(&name), kind)
    }
}

/// The form in which the call of a question is shown.
#[derive(Clone, Copy)]
pub struct QuestionView<'a> {
    pub cwd: &'a Path,
    pub catalogue: &'a Catalogue,
    /// The optional features of the client.
    pub features: ClientFeatures,
    /// Why the call needs approval.
    pub cause: &'a str,
    /// The directory in which the command of the call starts; `None` for other calls.
    pub directory: Option<&'a Path>,
}

impl<'a> QuestionView<'a> {
    fn call_view(self) -> CallView<'a> {
        let Self { cwd, catalogue, features, .. } = self;
        CallView { cwd, detail: Detail::Full, catalogue, has_terminals: features.terminal_output }
    }
}

/// Returns the question about `call`; `can_last` offers answers for similar calls.
pub fn permission_request(
    session_id: &str,
    call: &ToolCall,
    view: QuestionView<'_>,
    can_last: bool,
) -> RequestPermissionRequest {
    let options = PermissionAnswer::ALL.into_iter().filter(|answer| can_last || !answer.is_lasting());
    let options = options.map(|answer| answer.option(view.catalogue)).collect();
    RequestPermissionRequest::new(
        session_id.to_owned(),
        tool_call::question(call, view.call_view(), view.cause, view.directory),
        options,
    )
}
