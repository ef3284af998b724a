//! What people should know of something that is replayed.

use super::message::Message;

/// What `replay` says on stderr, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum ReplayLine<'a> {
    /// A run has no last event: it was killed, or goes on.
    NoEnd { run: u64 },
    /// A run failed, which its format does not show.
    Failed { run: u64, message: &'a str },
    /// A last record or line was not written to its end.
    TruncatedRecord { bytes: u64 },
    /// Places where events are missing.
    Gaps { count: u64 },
}

pub(crate) fn message_for(line: &ReplayLine<'_>) -> Message {
    match *line {
        ReplayLine::NoEnd { run } => Message::new("replay-no-end").count("run", run),
        ReplayLine::Failed { run, message } => {
            Message::new("replay-failed").count("run", run).text("message", message)
        }
        ReplayLine::TruncatedRecord { bytes } => Message::new("replay-torn").count("bytes", bytes),
        ReplayLine::Gaps { count } => Message::new("replay-gaps").count("count", count),
    }
}
