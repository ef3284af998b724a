//! The start of a run whose first request is sent while its sandbox is set up.
//!
//! Nothing is printed, recorded or executed before the sandbox is set up. If it cannot be set up, the request is cancelled and
//! the run ends as if none had been sent. Only for runs in which nothing but the sandbox comes before the first request.

use ibeam_core::{EarlyRequest, Run, Stop};
use ibeam_hooks::HookConfig;
use ibeam_protocol::{Attachment, Reason, Sandbox, UserPrompt};

use super::last_sandbox::LastSandbox;
use super::run_process::{RunKind, RunProcess};
use super::sandbox::{PendingSandbox, RunSandbox, SandboxSetup};
use super::session_opener::{OpenedSession, is_ephemeral};
use crate::app::AppContext;
use crate::mcp::ServerDeclarations;
use crate::model::ModelChoice;
use crate::prompt::Prompt;

/// The conditions of a start: everything that may come before the first request of a run.
pub(super) struct StartConditions<'a> {
    pub(super) app: &'a AppContext,
    pub(super) kind: RunKind,
    pub(super) model: &'a ModelChoice,
    pub(super) prompt: &'a Prompt,
    pub(super) attachments: &'a [Attachment],
    pub(super) servers: &'a ServerDeclarations,
    pub(super) hooks: &'a HookConfig,
    pub(super) is_traced: bool,
}

impl StartConditions<'_> {
    /// Whether nothing but the sandbox comes before the first request.
    pub(super) fn allow_early_request(&self) -> bool {
        let Self { app, kind, model, prompt, attachments, servers, hooks, is_traced } = self;
        // A prompt that names a file or a command is changed before it is sent.
        let is_complete = |text: &String| !text.contains('@') && !text.trim_start().starts_with('/');
        *kind == RunKind::Single
            && prompt.blocks.first().is_some_and(is_complete)
            && attachments.is_empty()
            && servers.servers.is_empty()
            && hooks.commands().next().is_none()
            && app.worktree.is_none()
            && app.base.options.park_requests.is_none()
            && !app.replays()
            // The engine would be in the memory of the process that becomes the sandbox.
            && !model.is_embedded()
            && !is_traced
    }
}

/// Joins the sandbox, unless a run with the session `expected` may begin before. Then it returns the sandbox as it is
/// expected, with its set-up and the session.
///
/// # Errors
/// The errors of [`PendingSandbox::join`].
pub(super) fn join_unless_expected(
    app: &AppContext,
    sandbox: PendingSandbox,
    expected: Option<OpenedSession>,
) -> Result<(RunSandbox, Option<(SandboxSetup, OpenedSession)>), Reason> {
    let Some(expected) = expected else { return Ok((join(app, sandbox)?, None)) };
    match sandbox.expect() {
        Ok((sandbox, setup)) => Ok((sandbox, Some((setup, expected)))),
        Err(sandbox) => Ok((join(app, *sandbox)?, None)),
    }
}

/// Records for the next run that this one has a sandbox, unless it leaves no files. Its session is open.
pub(super) fn record_success(app: &AppContext, sandbox: &RunSandbox) {
    if sandbox.policy.sandboxed && !is_ephemeral(app) {
        LastSandbox::load(&app.dirs.data).record();
    }
}

fn join(app: &AppContext, sandbox: PendingSandbox) -> Result<RunSandbox, Reason> {
    let sandbox = sandbox.join()?;
    app.log_step("sandbox ready");
    Ok(sandbox)
}

/// Sends the first request, and waits for the sandbox. Returns the report of the sandbox and the request; `None` if the
/// run was stopped or ends without a request.
///
/// # Errors
/// `NoSandbox`, after the request was cancelled.
pub(super) fn send_request(
    mut setup: SandboxSetup,
    process: &RunProcess<'_>,
    run: &Run,
    prompt: &Prompt,
    stop: &Stop,
) -> Result<(Sandbox, Option<EarlyRequest>), Reason> {
    let app = &process.app;
    let prompt = UserPrompt::from(prompt.blocks.clone());
    let early = process.runtime.block_on(async {
        let send = async {
            let mut early = EarlyRequest::send(run, prompt, app.redactor().clone()).await?;
            app.log_step("first request sent");
            early.receive_until(setup.end()).await;
            Some(early)
        };
        tokio::select! {
            biased;
            _ = stop.wait() => None,
            early = send => early,
        }
    });
    let (report, _) = setup.join()?;
    app.log_step("sandbox ready");
    Ok((report, early))
}
