//! `--from-plan`: the result of a run in plan mode or ask mode becomes the start of a new session.
//!
//! The plan is quoted in the prompt together with the id of its session. The session of the plan is only read, so a
//! second run can start from the same plan. Nothing of its permissions is taken over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ibeam_protocol::{
    Answer, Block, Event, EventKind, Failure, PermissionMode, Reason, RunOutcome, SessionId, sentence,
};
use ibeam_session::CancelFlag;

use super::session_opener::{self, SessionTarget};
use crate::app::AppContext;
use crate::prompt;
use crate::session_name::find_session;

/// The prompt of a run that has a plan and no other prompt.
const DEFAULT_PROMPT: &str = "Carry out this plan.";

/// A plan that a run starts with.
#[derive(Debug)]
pub struct PlanHandover {
    session: SessionId,
    mode: PermissionMode,
    text: String,
}

impl PlanHandover {
    /// Returns the words of the prompt; the default prompt where the words have no text.
    pub fn words(words: Vec<OsString>) -> Vec<OsString> {
        // `-` asks for stdin, which is then the prompt.
        let reads_stdin = words.iter().any(|word| word == "-");
        match prompt::has_text(&words) || reads_stdin {
            true => words,
            false => vec![DEFAULT_PROMPT.into()],
        }
    }

    /// Returns the text block of the prompt that quotes the plan.
    pub fn block(&self) -> String {
        let Self { session, mode, text } = self;
        let what = match mode {
            PermissionMode::Ask => "answer",
            PermissionMode::Plan | PermissionMode::Default | PermissionMode::Force => "plan",
        };
        format!("The {what} at the end of session {session}:\n\n{text}")
    }
}

/// Returns the plan of the session that `--from-plan` names; `None` without the flag.
///
/// # Errors
/// `Usage` with a session to resume; `UnknownSession`, `NoSessionToContinue`, `SessionElsewhere`, `SessionDamaged`;
/// `NoPlan` where no run of the session ended well in plan mode or ask mode.
pub fn load_plan(app: &AppContext, target: &SessionTarget) -> Result<Option<PlanHandover>, Failure> {
    let Some(name) = &app.base.options.from_plan else { return Ok(None) };
    if *target != SessionTarget::New {
        let detail = sentence!("`--from-plan` starts a new session; leave `--resume` and `--continue` out");
        return Err(Reason::Usage { detail }.into());
    }
    app.dirs.check_directories()?;
    let sessions = app.dirs.sessions();
    let session = session_id(&sessions, &app.workspace, name)?;
    let mut search = PlanSearch::default();
    session_opener::read(&sessions, session, &CancelFlag::default(), &mut |event| search.fold(event))?;
    if let Some(cwd) = search.cwd.as_ref().filter(|cwd| **cwd != app.workspace && cwd.is_dir()) {
        let (session, cwd) = (session.to_string(), cwd.display().to_string());
        return Err(Reason::SessionElsewhere { session, cwd }.into());
    }
    match search.plan {
        Some((mode, text)) => Ok(Some(PlanHandover { session, mode, text })),
        None => Err(Reason::NoPlan { session: session.to_string() }.into()),
    }
}

/// Returns the id of the session that `name` names, which must exist.
fn session_id(sessions: &Path, workspace: &Path, name: &str) -> Result<SessionId, Failure> {
    let unknown = || Failure::from(Reason::UnknownSession { session: name.to_owned() });
    let id = find_session(sessions, workspace, name)?;
    match ibeam_session::exists(sessions, id) {
        true => Ok(id),
        false => Err(unknown()),
    }
}

/// Finds the last answer of the newest completed run in plan mode or ask mode.
#[derive(Default)]
struct PlanSearch {
    /// The workspace of the newest run.
    cwd: Option<PathBuf>,
    /// The mode of the current run.
    mode: Option<PermissionMode>,
    /// The last visible answer of the current run.
    answer: String,
    plan: Option<(PermissionMode, String)>,
}

impl PlanSearch {
    fn fold(&mut self, event: Event) {
        if let EventKind::RunStarted(head) = event.kind {
            (self.cwd, self.mode) = (Some(head.cwd), Some(head.permission_mode));
            self.answer.clear();
        } else if let EventKind::ModelRequestFinished { answer, .. } = event.kind {
            let text = visible_text(&answer);
            if !text.trim().is_empty() {
                self.answer = text;
            }
        } else if let EventKind::RunFinished(finished) = event.kind
            && let Some(mode @ (PermissionMode::Plan | PermissionMode::Ask)) = self.mode
            && finished.outcome == RunOutcome::Completed
            && !self.answer.is_empty()
        {
            self.plan = Some((mode, std::mem::take(&mut self.answer)));
        }
    }
}

fn visible_text(answer: &Answer) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    texts.collect()
}
