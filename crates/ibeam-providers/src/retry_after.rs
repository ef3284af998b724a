//! The `Retry-After` headers of services.

use std::time::{Duration, SystemTime};

/// The longest wait that is reported; a longer one is reported as this.
const MAX_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Returns the milliseconds of a `Retry-After` value, which is seconds or an HTTP date.
///
/// A date in the past is 0. Invalid and negative values are `None`. `sent` is the `Date`
/// header of the same response, from which a date is measured, because the clocks of service and client may differ.
/// Without it a date is measured from `now`.
pub(crate) fn parse_retry_after(value: &str, sent: Option<&str>, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || c == '.') {
        Duration::try_from_secs_f64(value.parse().ok()?).unwrap_or(MAX_WAIT)
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        let sent = sent.and_then(|sent| httpdate::parse_http_date(sent).ok());
        date.duration_since(sent.unwrap_or(now)).unwrap_or_default()
    };
    u64::try_from(wait.min(MAX_WAIT).as_millis()).ok()
}

/// Returns the milliseconds of a `retry-after-ms` value; `None` if it is invalid.
pub(crate) fn parse_retry_after_ms(value: &str) -> Option<u64> {
    let ms: u64 = value.trim().parse().ok()?;
    u64::try_from(Duration::from_millis(ms).min(MAX_WAIT).as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Option<u64>) {
        let now = httpdate::parse_http_date("Sat, 21 Nov 2026 04:00:00 GMT").unwrap();
        assert_eq!(parse_retry_after(value, None, now), expect);
    }

    #[test]
    fn a_date_is_measured_by_the_clock_of_the_service() {
        let now = httpdate::parse_http_date("Sat, 21 Nov 2020 04:00:00 GMT").unwrap();
        let sent = Some("Sat, 21 Nov 2026 04:00:00 GMT");
        assert_eq!(parse_retry_after("Sat, 21 Nov 2026 04:00:30 GMT", sent, now), Some(30_000));
        assert_eq!(parse_retry_after("30", sent, now), Some(30_000));
        assert_eq!(parse_retry_after("Sat, 21 Nov 2020 04:00:30 GMT", Some("yesterday"), now), Some(30_000));
    }

    #[test]
    fn a_date_may_be_as_far_ahead_as_a_number_of_seconds() {
        check("Sat, 21 Nov 2026 06:30:00 GMT", Some(9_000_000));
        check("Sun, 22 Nov 2026 04:00:00 GMT", Some(86_400_000));
        check("Sun, 22 Nov 2026 04:00:01 GMT", Some(86_401_000));
        check("100000", Some(100_000_000));
        check("Sat, 21 Nov 2037 04:00:00 GMT", Some(366 * 86_400_000));
        check("99999999999", Some(366 * 86_400_000));
    }

    #[test]
    fn seconds_and_dates_are_parsed() {
        check("2", Some(2000));
        check("0.5", Some(500));
        check("Sat, 21 Nov 2026 04:00:30 GMT", Some(30_000));
        check("Sat, 21 Nov 2026 03:59:00 GMT", Some(0));
    }

    #[test]
    fn negative_and_invalid_values_are_ignored() {
        check("-5", None);
        check("2²", None);
        check("soon", None);
        check("", None);
        check("1.2.3", None);
        check("999999999999999999999999999999", Some(366 * 86_400_000));
    }

    #[test]
    fn a_wait_of_more_than_a_year_is_reported_as_a_year() {
        check("86400", Some(86_400_000));
        check("86401", Some(86_401_000));
        check("Sat, 21 Nov 2026 05:00:00 GMT", Some(3_600_000));
        check("Wed, 21 Oct 2099 07:28:00 GMT", Some(366 * 86_400_000));
        assert_eq!(
            [" 250 ", "-1", "86400001"].map(parse_retry_after_ms),
            [Some(250), None, Some(86_400_001)]
        );
    }
}
