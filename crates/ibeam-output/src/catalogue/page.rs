//! The words of a page for people.

use super::message::Message;

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

pub(crate) fn message_for(line: &PageLine<'_>) -> Message {
    match *line {
        PageLine::Prompt => Message::new("page-prompt"),
        PageLine::Withheld => Message::new("page-withheld"),
        PageLine::Answer => Message::new("page-answer"),
        PageLine::Arguments => Message::new("page-arguments"),
        PageLine::Result => Message::new("page-result"),
        PageLine::NoResult => Message::new("page-no-result"),
        PageLine::Took { ms } => Message::new("page-took").seconds(ms),
        PageLine::Completed { ms } => Message::new("page-completed").seconds(ms),
        PageLine::Failed { message } => Message::new("page-failed").text("message", message),
        PageLine::Requests { count } => Message::new("page-requests").count("count", count),
        PageLine::Tokens { input, output } => {
            Message::new("page-tokens").count("input", input).count("output", output)
        }
        PageLine::Changed => Message::new("page-changed"),
    }
}
