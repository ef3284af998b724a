//! How long a service asks to wait, believed only when plausible.

use std::time::{Duration, SystemTime};

/// No rate limit is longer: those of a day's quota are the longest there are.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the milliseconds of a `Retry-After` value: seconds or an HTTP date. A date in the past is no wait at all;
/// negative and absurd figures, dates more than a day ahead and garbage are ignored.
///
/// `sent` is the `Date` of the same answer. A date is measured from there, since the clock of this machine may be
/// another one than that of the service; `now` stands in where it is missing.
pub(crate) fn retry_after_ms(value: &str, sent: Option<&str>, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || c == '.') {
        Duration::try_from_secs_f64(value.parse().ok()?).ok()?
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        let sent = sent.and_then(|sent| httpdate::parse_http_date(sent).ok());
        date.duration_since(sent.unwrap_or(now)).unwrap_or_default()
    };
    if wait > LONGEST_WAIT {
        return None;
    }
    u64::try_from(wait.as_millis()).ok()
}

/// The same from a `retry-after-ms` value.
pub(crate) fn plain_ms(value: &str) -> Option<u64> {
    let ms = value.trim().parse().ok()?;
    (Duration::from_millis(ms) <= LONGEST_WAIT).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Option<u64>) {
        let now = httpdate::parse_http_date("Sat, 21 Nov 2026 04:00:00 GMT").unwrap();
        assert_eq!(retry_after_ms(value, None, now), expect);
    }

    #[test]
    fn a_date_is_measured_by_the_clock_of_the_service() {
        let now = httpdate::parse_http_date("Sat, 21 Nov 2020 04:00:00 GMT").unwrap();
        let sent = Some("Sat, 21 Nov 2026 04:00:00 GMT");
        assert_eq!(retry_after_ms("Sat, 21 Nov 2026 04:00:30 GMT", sent, now), Some(30_000));
        assert_eq!(retry_after_ms("30", sent, now), Some(30_000));
        assert_eq!(retry_after_ms("Sat, 21 Nov 2020 04:00:30 GMT", Some("yesterday"), now), Some(30_000));
    }

    #[test]
    fn a_date_is_believed_as_far_ahead_as_a_figure() {
        check("Sat, 21 Nov 2026 06:30:00 GMT", Some(9_000_000));
        check("Sun, 22 Nov 2026 04:00:00 GMT", Some(86_400_000));
        check("Sun, 22 Nov 2026 04:00:01 GMT", None);
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

    #[test]
    fn what_no_limit_asks_for_is_ignored() {
        check("86400", Some(86_400_000));
        check("86401", None);
        check("Sat, 21 Nov 2026 05:00:00 GMT", Some(3_600_000));
        check("Wed, 21 Oct 2099 07:28:00 GMT", None);
        assert_eq!([plain_ms(" 250 "), plain_ms("-1"), plain_ms("86400001")], [Some(250), None, None]);
    }
}
