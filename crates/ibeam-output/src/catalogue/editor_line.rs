//! The labels of settings, permissions and tool calls that an editor shows.

use serde::Serialize;

use super::lines::CatalogueLine;

/// A label or title in an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorLine<'a> {
    /// The name of the mode that works on the task.
    Agent,
    /// The description of that mode.
    AgentAbout,
    /// The name of the mode that ends with a plan.
    Plan,
    /// The description of that mode.
    PlanAbout,
    /// The name of the mode that answers questions.
    Ask,
    /// The description of that mode.
    AskAbout,
    /// The option for the mode.
    Mode,
    /// The option for the model.
    Model,
    /// The option for the amount of reasoning.
    Effort,
    /// The amount of reasoning of the configuration.
    EffortDefault,
    /// No reasoning.
    EffortNone,
    /// The least reasoning.
    EffortMinimal,
    /// Little reasoning.
    EffortLow,
    /// A medium amount of reasoning.
    EffortMedium,
    /// Much reasoning.
    EffortHigh,
    /// Very much reasoning.
    EffortXhigh,
    /// The most reasoning.
    EffortMax,
    /// The call may run.
    AllowOnce,
    /// The call and similar ones may run.
    AllowAlways,
    /// The call must not run.
    RejectOnce,
    /// The call and similar ones must not run.
    RejectAlways,
    /// The method of authentication with keys that are already stored.
    StoredKeys,
    /// The description of that method.
    StoredKeysAbout,
    /// The description of `ibeam login`.
    LoginAbout,
    /// A call that reads a file.
    Read { file: &'a str },
    /// A call that creates or replaces a file.
    Write { file: &'a str },
    /// A call that changes a file.
    Edit { file: &'a str },
    /// A call that deletes a file.
    Delete { file: &'a str },
    /// A call that lists a directory.
    List { file: &'a str },
    /// A call that searches in files.
    Search { pattern: &'a str },
    /// A call that finds files by name.
    Find { pattern: &'a str },
    /// A call that fetches a page.
    Fetch { url: &'a str },
    /// A call that searches the web.
    WebSearch { query: &'a str },
    /// A call that changes the to-do list.
    Todos,
    /// A call that runs a sub-agent.
    Subagent { task: &'a str },
    /// A file that is attached to a past prompt.
    Attached { name: &'a str },
    /// The end of a command by its timeout.
    TimedOut { timeout_ms: u64 },
    /// The end of a command by a signal.
    EndedBy { signal: &'a str },
    /// The end of a command with an exit code.
    ExitCode { code: &'a str },
}

impl CatalogueLine for EditorLine<'_> {
    const PREFIX: &'static str = "editor";
}
