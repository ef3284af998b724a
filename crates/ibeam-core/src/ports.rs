//! The ports of the loop: the traits through which it reaches the model, tools, hooks, approvers, time and commands in
//! the background.
//!
//! Implementations live in other crates. A port holds no policy: the gate decides what may run.

mod hook_event;
mod model;
mod tool;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::{BackgroundEnd, Checkpoint, CheckpointMoment, Notice, Sentence, ToolCall, UserPrompt};

pub use self::hook_event::{
    AnswerEnd, CompactionStart, FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput, Hooks, NoHooks,
    Subagent,
};
pub use self::model::{
    DefaultModels, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, RefusedPart,
    RequestLimits, Retry,
};
pub use self::tool::{
    CallPreview, CallRunner, Notices, OutputObserver, PreparedCall, Tool, ToolContext, ToolInputError,
    ToolOrigin, ToolSet,
};
use crate::stop::Stop;

/// Why a person is asked to approve a call.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    /// The rule that requires approval: a token, `hook: NAME`, or the name of a built-in rule.
    pub rule: &'a str,
    /// The reason, in the words for the model.
    pub reason: &'a Sentence,
    /// The unified diff of the file that the call would change now, if it is known.
    pub diff: Option<&'a str>,
}

/// The answer about a call that no rule decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may run.
    Granted,
    /// Somebody refused the call, with a message for the model or without.
    Refused(Option<String>),
    /// Nobody can be asked, or nobody answered.
    Unanswered,
}

/// Decides on calls that no rule decides.
pub trait Approver: Send + Sync {
    /// Whether a call is previewed before the question about it. A call that would fail is then not asked about: it fails.
    fn wants_preview(&self) -> bool {
        false
    }

    /// Returns the answer about the call. Dropping the future withdraws the question.
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval>;
}

/// Refuses every call at once, in a run that no person can approve.
pub struct NoApprover;

impl Approver for NoApprover {
    fn decide<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a Access,
        _: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(Approval::Unanswered))
    }
}

/// Time as the loop sees it; tests provide their own.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since the Unix epoch, for people.
    fn unix_ms(&self) -> u64;

    /// Returns the time since a fixed point; it never goes back. Durations are measured with it.
    fn monotonic(&self) -> Duration;

    /// Completes after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Whether the clock never advances, so that two equal runs record the same events. Then nothing may depend on
    /// chance or on the speed of the machine.
    fn is_pinned(&self) -> bool {
        false
    }
}

/// The messages that the user adds to a turn while it runs.
pub trait Steering: Send + Sync {
    /// Returns the next message for the running turn; `None` if none is waiting.
    fn next_message(&self) -> Option<UserPrompt>;

    /// Returns whether the user has asked since the last call for a shorter conversation.
    fn take_compaction(&self) -> bool {
        false
    }

    /// Receives that the shorter conversation that the user asked for was not possible.
    fn on_nothing_to_compact(&self) {}
}

/// A run to which the user adds nothing after the prompt.
pub struct NoSteering;

impl Steering for NoSteering {
    fn next_message(&self) -> Option<UserPrompt> {
        None
    }
}

/// The rules for parts of the workspace. The model receives them once it has used a file there.
pub trait ScopedRules: Send + Sync {
    /// Returns the rules for these files, without those of the `known` files of rules. Returns `None` when there are
    /// none.
    fn rules_for<'a>(
        &'a self,
        paths: Vec<PathBuf>,
        known: &'a BTreeSet<String>,
    ) -> BoxFuture<'a, Option<AddedRules>>;
}

/// Rules for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedRules {
    /// The files of the rules.
    pub files: Vec<String>,
    /// The text for the model.
    pub text: String,
}

/// A run without rules for parts of the workspace.
pub struct NoScopedRules;

impl ScopedRules for NoScopedRules {
    fn rules_for<'a>(
        &'a self,
        _: Vec<PathBuf>,
        _: &'a BTreeSet<String>,
    ) -> BoxFuture<'a, Option<AddedRules>> {
        Box::pin(std::future::ready(None))
    }
}

/// Saves the files of the workspace, so that the changes of a turn can be shown and undone.
pub trait Checkpoints: Send + Sync {
    /// Saves the files at this moment of a turn, within a time limit. `unix_ms` is the time now. Returns `None` where
    /// nothing can be saved, e.g. outside of a repository.
    ///
    /// Dropping the future ends the work and changes nothing that a user sees.
    fn save(&self, moment: CheckpointMoment, unix_ms: u64) -> Option<BoxFuture<'_, SavedFiles>>;
}

/// The result of saving files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedFiles {
    /// The checkpoint; `None` if the files could not be saved.
    pub checkpoint: Option<Checkpoint>,
    /// The notices for people: why there is no checkpoint, or which files it does not contain.
    pub notices: Vec<Notice>,
}

/// A run whose changes cannot be undone.
pub struct NoCheckpoints;

impl Checkpoints for NoCheckpoints {
    fn save(&self, _: CheckpointMoment, _: u64) -> Option<BoxFuture<'_, SavedFiles>> {
        None
    }
}

/// Commands that outlive their call. A run never ends while one of them is running.
pub trait Background: Send + Sync {
    /// Returns how many commands are running.
    fn running_count(&self) -> u32;

    /// Removes the ends of commands that ended by themselves, and returns them.
    fn take_ended(&self) -> Vec<BackgroundEnd>;

    /// Completes when no command is running any more, and returns how many had to be stopped.
    ///
    /// With `wait` it first lets them end by themselves, within a time limit and until `stop` is requested.
    fn finish<'a>(&'a self, wait: bool, stop: &'a Stop) -> BoxFuture<'a, u32>;
}

/// A run whose tools leave no command running.
pub struct NoBackground;

impl Background for NoBackground {
    fn running_count(&self) -> u32 {
        0
    }

    fn take_ended(&self) -> Vec<BackgroundEnd> {
        Vec::new()
    }

    fn finish<'a>(&'a self, _: bool, _: &'a Stop) -> BoxFuture<'a, u32> {
        Box::pin(std::future::ready(0))
    }
}
