//! The words of a page for people.

use super::words::Words;

/// What `html` says between what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageLine<'a> {
    /// Above what the user said.
    Prompt,
    /// Above a prompt that is no part of the conversation.
    Withheld,
    /// Above what the model said.
    Answer,
    /// Above the arguments of a call.
    Arguments,
    /// Above the result of a call.
    Result,
    /// A call that has none.
    NoResult,
    /// How long a call took.
    Took { ms: u64 },
    /// The run succeeded.
    Completed { ms: u64 },
    /// It failed.
    Failed { message: &'a str },
    /// Model requests.
    Requests { count: u64 },
    /// Tokens.
    Tokens { input: u64, output: u64 },
    /// Above the files that were changed.
    Changed,
}

pub(crate) fn words(line: &PageLine<'_>) -> Words {
    match *line {
        PageLine::Prompt => Words::new("page-prompt"),
        PageLine::Withheld => Words::new("page-withheld"),
        PageLine::Answer => Words::new("page-answer"),
        PageLine::Arguments => Words::new("page-arguments"),
        PageLine::Result => Words::new("page-result"),
        PageLine::NoResult => Words::new("page-no-result"),
        PageLine::Took { ms } => Words::new("page-took").seconds(ms),
        PageLine::Completed { ms } => Words::new("page-completed").seconds(ms),
        PageLine::Failed { message } => Words::new("page-failed").text("message", message),
        PageLine::Requests { count } => Words::new("page-requests").count("count", count),
        PageLine::Tokens { input, output } => {
            Words::new("page-tokens").count("input", input).count("output", output)
        }
        PageLine::Changed => Words::new("page-changed"),
    }
}
