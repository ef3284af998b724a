//! The lines of a page: the format `html`.

use serde::Serialize;

use super::lines::CatalogueLine;

/// The headings and notes of a page, and the texts of its viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageLine<'a> {
    /// The heading of a prompt.
    Prompt,
    /// The heading of a prompt that is not part of the conversation.
    #[serde(rename = "withheld")]
    WithheldPrompt,
    /// The heading of an answer.
    Answer,
    /// The heading of a call's arguments.
    Arguments,
    /// The heading of a call's result.
    Result,
    /// A call without a result.
    NoResult,
    /// The run succeeded.
    Completed { duration_ms: u64 },
    /// The run failed.
    Failed { message: &'a str },
    /// The heading of the changed files.
    #[serde(rename = "changed")]
    ChangedFiles,
    /// A run, before its number.
    Run,
    /// A model request, before its tokens and cost.
    Request,
    /// The unit of a number of model requests, which selects singular or plural.
    #[serde(rename = "requests")]
    RequestCount { count: u64 },
    /// The unit of a number of calls.
    #[serde(rename = "calls")]
    CallCount { count: u64 },
    /// The unit of a number of failed and refused calls.
    FailedCalls { count: u64 },
    /// The unit of tokens of a prompt.
    TokensRead { count: u64 },
    /// The unit of tokens of a prompt that were cached.
    TokensCached,
    /// The unit of tokens of an answer.
    TokensWritten { count: u64 },
    /// The picture of the time that requests and calls took.
    TimeLine,
    /// The time spent waiting for the model, before a duration.
    ModelTime,
    /// The time spent in calls, before a duration.
    ToolTime,
    /// The list of runs and prompts.
    Contents,
    /// The search field.
    Search,
    /// The button to the match before.
    PreviousMatch,
    /// The button to the next match.
    NextMatch,
    /// The button that changes between light and dark.
    Theme,
    /// The list of keys.
    Keys,
    /// The keys to the next row and the one before.
    KeyRow,
    /// The keys to the next prompt and the one before.
    KeyPrompt,
    /// The key that opens and closes a call.
    KeyOpen,
    /// The keys to the next match and the one before.
    KeyMatch,
    /// The link over the head of the page.
    SkipToRows,
    /// The button that closes a window.
    Close,
    /// A session that is too long for a browser without scripts.
    NeedsScript,
}

impl CatalogueLine for PageLine<'_> {
    const PREFIX: &'static str = "page";
}
