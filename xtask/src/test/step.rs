//! A step of the gate: a command of its own, what it needs before it, and how it ended.

use std::time::Duration;

/// A command that the gate runs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The name by which other steps refer to this one, and the name of its log.
    pub(super) key: &'static str,
    /// The command that runs the step alone, from the root of the repository.
    pub(super) command: String,
    /// Environment variables of the command.
    pub(super) environment: Vec<(String, String)>,
    /// The steps that must have passed before this one starts; otherwise it is skipped.
    pub(super) after: Vec<&'static str>,
    /// The steps that must have ended before this one starts, in whatever way.
    pub(super) follows: Vec<&'static str>,
    pub(super) load: Load,
    /// The memory that the step may use at most, in MiB.
    pub(super) memory: u64,
    /// The consequence of a failure, if it leaves out checks of later steps instead of failing the whole.
    pub(super) failure_is: Option<&'static str>,
    /// The command of the complete sweep, if this step is a sample of one.
    pub(super) complete: Option<String>,
}

impl Step {
    /// Returns a step that runs `command`, whose words have no spaces.
    pub(super) fn new(key: &'static str, command: impl Into<String>, load: Load) -> Self {
        Self {
            key,
            command: command.into(),
            environment: Vec::new(),
            after: Vec::new(),
            follows: Vec::new(),
            load,
            memory: 1024,
            failure_is: None,
            complete: None,
        }
    }

    pub(super) fn after(mut self, keys: &[&'static str]) -> Self {
        self.after.extend(keys);
        self
    }

    pub(super) fn follows(mut self, keys: &[&'static str]) -> Self {
        self.follows.extend(keys);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn memory(mut self, mebibytes: u64) -> Self {
        self.memory = mebibytes;
        self
    }

    pub(super) fn failure_is(mut self, warning: &'static str) -> Self {
        self.failure_is = Some(warning);
        self
    }

    /// Names the command of the complete sweep of which this step is a sample.
    pub(super) fn sample_of(mut self, command: impl Into<String>) -> Self {
        self.complete = Some(command.into());
        self
    }
}

/// The part of the machine that a step uses, which decides what runs at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// All cores: such steps run one after the other. Their output is printed as it comes.
    Cores,
    /// Little: the step waits for children and the network most of the time. As many as there are cores run next to a step
    /// of [`Load::Cores`].
    Waits,
    /// One core: a long build, next to the steps of the other kinds. One such step runs at a time.
    Core,
    /// The whole machine: nothing else runs at the same time. These steps come last.
    Alone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    Passed,
    Failed,
    /// The step did not run, or its failure leaves out checks, for this reason.
    Skipped(String),
}

#[derive(Debug)]
pub(super) struct FinishedStep {
    pub(super) step: Step,
    pub(super) time: Duration,
    pub(super) end: StepEnd,
    /// The parts of the step that did not run, each with the reason, as the step printed them.
    pub(super) skipped_parts: Vec<String>,
}
