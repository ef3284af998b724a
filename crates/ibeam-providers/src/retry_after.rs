//! How long a service asks to wait.

use std::time::{Duration, SystemTime};

/// Milliseconds from a `Retry-After` value: seconds or an HTTP date. A date in the past is no wait at all;
/// negative figures and garbage are ignored.
pub(crate) fn retry_after_ms(value: &str, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || c == '.') {
        let wait = Duration::try_from_secs_f64(value.parse().ok()?).ok()?;
        return u64::try_from(wait.as_millis()).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    u64::try_from(date.duration_since(now).unwrap_or_default().as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Option<u64>) {
        let now = httpdate::parse_http_date("Sat, 21 Nov 2026 04:00:00 GMT").unwrap();
        assert_eq!(retry_after_ms(value, now), expect);
    }

    #[test]
    fn seconds_and_dates_are_understood() {
        check("2", Some(2000));
        check("0.5", Some(500));
        check("Sat, 21 Nov 2026 04:00:30 GMT", Some(30_000));
        check("Sat, 21 Nov 2026 03:59:00 GMT", Some(0));
    }

    #[test]
    fn negative_figures_and_garbage_are_ignored() {
        check("-5", None);
        check("2²", None);
        check("soon", None);
        check("", None);
        check("1.2.3", None);
        check("999999999999999999999999999999", None);
    }
}
