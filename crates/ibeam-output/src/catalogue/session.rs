//! The lines of the report on a stored session.

use super::message::Message;

/// What `sessions check` says, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum SessionLine<'a> {
    /// Every record and every payload is as it was stored.
    Intact { session: &'a str },
    /// Every record is as it was stored, but some are missing, repeated or moved.
    Incomplete { session: &'a str },
    /// Something is not as it was stored.
    Damaged { session: &'a str },
    /// A repair kept what was before the damage.
    Repaired { session: &'a str },
    /// A repair found nothing that could be kept.
    Unrecoverable { session: &'a str },
    /// Whole events before any damage.
    Events { count: u64 },
    /// The files of the journal.
    Files { count: u64, bytes: u64 },
    /// Payloads that are too large for the journal.
    Payloads { count: u64, bytes: u64 },
    /// Those that no record names.
    UnreferencedPayloads { count: u64 },
    /// A last record that was not written to its end.
    TruncatedRecord { bytes: u64 },
    /// Places where events are missing, repeated or moved.
    Gaps { count: u64 },
    /// Calls without a result.
    OpenCalls { count: u64 },
    /// The first damage.
    Damage { file: &'a str, line: u64, message: &'a str },
    /// Where a repair put what it did not keep.
    MovedAside { path: &'a str },
}

pub(crate) fn message_for(line: &SessionLine<'_>) -> Message {
    match *line {
        SessionLine::Intact { session } => Message::new("session-whole").text("session", session),
        SessionLine::Incomplete { session } => Message::new("session-incomplete").text("session", session),
        SessionLine::Damaged { session } => Message::new("session-damaged").text("session", session),
        SessionLine::Repaired { session } => Message::new("session-repaired").text("session", session),
        SessionLine::Unrecoverable { session } => Message::new("session-gone").text("session", session),
        SessionLine::Events { count } => Message::new("session-events").count("count", count),
        SessionLine::Files { count, bytes } => {
            Message::new("session-files").count("count", count).count("bytes", bytes)
        }
        SessionLine::Payloads { count, bytes } => {
            Message::new("session-payloads").count("count", count).count("bytes", bytes)
        }
        SessionLine::UnreferencedPayloads { count } => Message::new("session-orphans").count("count", count),
        SessionLine::TruncatedRecord { bytes } => Message::new("session-torn").count("bytes", bytes),
        SessionLine::Gaps { count } => Message::new("session-gaps").count("count", count),
        SessionLine::OpenCalls { count } => Message::new("session-open-calls").count("count", count),
        SessionLine::Damage { file, line, message: said } => {
            Message::new("session-damage").text("file", file).count("line", line).text("detail", said)
        }
        SessionLine::MovedAside { path } => Message::new("session-moved").text("path", path),
    }
}
