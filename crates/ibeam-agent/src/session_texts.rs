//! The texts of lists of sessions.

use ibeam_output::Catalogue;
use ibeam_protocol::sentence;
use ibeam_session::SessionSummary;

/// The number of characters of a title that are printed.
const MAX_TITLE_CHARS: usize = 72;

/// Returns the title on one line, for people.
pub fn title_text(catalogue: &Catalogue, session: &SessionSummary) -> String {
    let Some(title) = &session.title else { return catalogue.sentence(&sentence!("(empty)")) };
    let title: String = title.chars().take(MAX_TITLE_CHARS).collect();
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a size such as `18 kB`, rounded up. All six languages use these symbols.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

/// Returns a date and a time of day in UTC.
pub fn utc_time_text(ms: u64) -> String {
    let at =
        i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
