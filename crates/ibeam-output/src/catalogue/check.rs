//! The lines that frame the report on a stream. What each finding says is English, like all on the wire.

use super::message::Message;

/// What `check` says around its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum CheckLine<'a> {
    /// The contract is kept.
    Valid { file: &'a str, contract: &'a str, events: u64, warnings: u64 },
    /// It is not.
    Invalid { file: &'a str, contract: &'a str, events: u64, errors: u64, warnings: u64 },
    /// There were more findings than are told.
    MoreFindings { count: u64 },
}

pub(crate) fn message_for(line: &CheckLine<'_>) -> Message {
    match *line {
        CheckLine::Valid { file, contract, events, warnings } => Message::new("check-keeps")
            .text("file", file)
            .text("contract", contract)
            .count("events", events)
            .count("warnings", warnings),
        CheckLine::Invalid { file, contract, events, errors, warnings } => Message::new("check-breaks")
            .text("file", file)
            .text("contract", contract)
            .count("events", events)
            .count("errors", errors)
            .count("warnings", warnings),
        CheckLine::MoreFindings { count } => Message::new("check-more").count("count", count),
    }
}
