//! The port to programs of the user's that are told of a run, and may narrow it.
//!
//! They are heard before the rules. They may refuse, ask for a person, or put other arguments in place, which
//! the rules then judge like any others. No word of theirs lets anything run: there is none that could.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::{Notice, RunOutcome, ToolCall, ToolOutcome};
use serde_json::Value;

use crate::gate::Refusal;

/// A point of a run at which hooks are told.
#[derive(Clone, Copy, Debug)]
pub enum HookEvent<'a> {
    /// The run begins.
    RunStart,
    /// The user's prompt is about to become part of the conversation. May be refused.
    PromptSubmit(&'a [String]),
    /// A call is about to be put to the rules. May be refused, or get other arguments.
    BeforeToolCall {
        /// The call, its arguments canonical.
        call: &'a ToolCall,
        /// What it would touch.
        access: &'a Access,
        /// The arguments are a hook's already; they are not changed again.
        is_rewritten: bool,
    },
    /// A call ended, whether it ran or not.
    AfterToolCall(&'a FinishedCall),
    /// The run ends so.
    RunEnd(&'a RunOutcome),
}

/// A call and what it came to.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// The call as it ran, its arguments canonical.
    pub call: ToolCall,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// How long it ran; nothing where it did not.
    pub duration: Duration,
}

/// What hooks say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutput {
    /// What should become of it.
    pub decision: HookDecision,
    /// What the model should know, as text of the user's; at `RunBegins` and `Prompt` only.
    pub context: Vec<String>,
    /// What people should know.
    pub notices: Vec<Notice>,
}

/// The one word that counts of all that hooks say.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HookDecision {
    /// Go on.
    #[default]
    Continue,
    /// Not that.
    Block(HookBlock),
    /// These arguments instead.
    UpdateInput {
        /// Who says so.
        hook: String,
        /// The arguments, as a model might write them.
        arguments: Value,
    },
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBlock {
    /// Who says so.
    pub hook: String,
    /// Why, for the model.
    pub message: String,
    /// Why, for people; `None` where the model's message is for both.
    pub for_people: Option<String>,
    /// A person may overrule it.
    pub ask: bool,
}

impl HookBlock {
    /// The rule that it stands for.
    pub(crate) fn rule(&self) -> String {
        format!("hook: {}", self.hook)
    }

    /// Returns the refusal of a call to which the hook objects.
    pub(crate) fn refusal(&self) -> Refusal {
        let message = self.for_people.as_ref().unwrap_or(&self.message);
        let for_people = format!("the hook `{}` refused it: {message}", self.hook);
        Refusal { for_model: self.message.clone(), for_people }
    }
}

/// Tells hooks what happens and gives what they say.
pub trait Hooks: Send + Sync {
    /// Whether anybody wants to be told of `CallEnded`; the outcomes are kept only then.
    fn wants_tool_results(&self) -> bool;

    /// How long all of them may go on at the end of a run that was asked to stop.
    fn grace(&self) -> Duration;

    /// Tells all who listen, one after the other; `None` when nobody does.
    ///
    /// Dropping the future ends the hook that runs.
    fn run<'a>(&'a self, moment: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>>;
}

/// Nobody listens.
pub struct NoHooks;

impl Hooks for NoHooks {
    fn wants_tool_results(&self) -> bool {
        false
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, _: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        None
    }
}
