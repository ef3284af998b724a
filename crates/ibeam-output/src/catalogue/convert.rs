//! The lines of the report on what a conversion lost. Keys are those of the source, in no language.

use super::message::Message;

/// What `convert` says of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum ConvertLine<'a> {
    /// Something was lost; how many different things.
    Lossy { file: &'a str, to: &'a str, count: u64 },
    /// The target does not say it.
    Dropped { key: &'a str, count: u64, line: u64 },
    /// The target says something else.
    Changed { key: &'a str, count: u64, line: u64 },
    /// The target says several as one.
    Joined { key: &'a str, count: u64, line: u64 },
    /// There were more than are told.
    MoreLosses { count: u64 },
}

pub(crate) fn message_for(line: &ConvertLine<'_>) -> Message {
    let lost = |id: &'static str, key: &str, count, line| {
        Message::new(id).text("key", key).count("count", count).count("line", line)
    };
    match *line {
        ConvertLine::Lossy { file, to, count } => {
            Message::new("convert-lossy").text("file", file).text("to", to).count("count", count)
        }
        ConvertLine::Dropped { key, count, line } => lost("convert-dropped", key, count, line),
        ConvertLine::Changed { key, count, line } => lost("convert-changed", key, count, line),
        ConvertLine::Joined { key, count, line } => lost("convert-joined", key, count, line),
        ConvertLine::MoreLosses { count } => Message::new("convert-more").count("count", count),
    }
}
