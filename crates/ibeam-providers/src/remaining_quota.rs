//! The headers with which services say how much of a rate limit is left.

use std::time::{Duration, SystemTime};

use crate::calendar::days_of_date;

/// The rest of the rate limits of a key, as the response to a request reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemainingQuota {
    pub requests: Option<Remaining>,
    pub tokens: Option<Remaining>,
}

/// The rest of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    pub count: u64,
    /// The time until all of the limit is there again.
    pub reset: Duration,
}

impl RemainingQuota {
    /// Reads the headers of a response; `None` without any. `text` returns a header.
    pub(crate) fn read<'a>(text: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Self> {
        let sent = || text("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
        let remaining = |what: &str| {
            let names = [
                (format!("x-ratelimit-remaining-{what}"), format!("x-ratelimit-reset-{what}")),
                (
                    format!("anthropic-ratelimit-{what}-remaining"),
                    format!("anthropic-ratelimit-{what}-reset"),
                ),
            ];
            names.iter().find_map(|(count, reset)| {
                let count = text(count)?.trim().parse().ok()?;
                Some(Remaining { count, reset: parse_reset(text(reset)?.trim(), sent)? })
            })
        };
        let quota = Self { requests: remaining("requests"), tokens: remaining("tokens") };
        (quota != Self::default()).then_some(quota)
    }
}

/// Parses a time until a reset: a number of seconds, a duration such as `1m30.5s`, or a date and time in UTC, which is
/// measured from `sent`.
fn parse_reset(text: &str, sent: impl Fn() -> SystemTime) -> Option<Duration> {
    if text.contains('T') {
        return Some(parse_utc(text)?.duration_since(sent()).unwrap_or_default());
    }
    let (mut total, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, unit_and_rest) = rest.split_at_checked(digits)?;
        let end = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, next) = unit_and_rest.split_at_checked(end)?;
        let seconds = match unit {
            "" | "s" => 1.0,
            "ms" => 0.001,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = next;
    }
    Duration::try_from_secs_f64(total).ok().filter(|_| !text.is_empty())
}

/// Parses a date and time in UTC, such as `2026-11-29T23:45:01Z`, in whole seconds.
fn parse_utc(text: &str) -> Option<SystemTime> {
    let days = u64::try_from(days_of_date(text)?).ok()?;
    let time = text.get(11..)?.strip_suffix('Z')?;
    let mut parts = time.split(':').map(|part| part.split('.').next()?.parse::<u64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = days * 86_400 + hours * 3600 + minutes * 60 + seconds;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_seconds_durations_and_dates() {
        let now = httpdate::parse_http_date("Sun, 29 Nov 2026 23:45:00 GMT").unwrap();
        for (text, milliseconds) in [
            ("0", Some(0)),
            ("12.5", Some(12_500)),
            ("1s", Some(1000)),
            ("6m0s", Some(360_000)),
            ("120ms", Some(120)),
            ("1h2m3.5s", Some(3_723_500)),
            ("2026-11-29T23:45:07Z", Some(7000)),
            ("2026-11-29T23:45:07.25Z", Some(7000)),
            ("2026-11-29T23:44:07Z", Some(0)),
            ("2026-11-29T23:45:07+01:00", None),
            ("", None),
            ("soon", None),
            ("1x", None),
            ("-1", None),
            ("1.2.3s", None),
            ("99999999999999999999999999h", None),
        ] {
            let found = parse_reset(text, || now).map(|reset| reset.as_millis());
            assert_eq!(found, milliseconds, "{text}");
        }
    }

    #[test]
    fn the_headers_of_both_families_are_read() {
        let read = |headers: &'static [(&str, &str)]| {
            let text = |name: &str| headers.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
            RemainingQuota::read(text, SystemTime::UNIX_EPOCH)
        };
        let remaining = |count, seconds| Some(Remaining { count, reset: Duration::from_secs(seconds) });
        let openai = read(&[
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(
            openai,
            Some(RemainingQuota { requests: remaining(59, 1), tokens: remaining(149_984, 360) })
        );
        let anthropic = read(&[
            ("date", "Sun, 29 Nov 2026 23:45:00 GMT"),
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-requests-reset", "2026-11-29T23:45:20Z"),
            // Without a time, a number says nothing about later requests.
            ("anthropic-ratelimit-tokens-remaining", "3"),
        ]);
        assert_eq!(anthropic, Some(RemainingQuota { requests: remaining(3, 20), tokens: None }));
        assert_eq!(
            read(&[("x-ratelimit-remaining-requests", "x"), ("x-ratelimit-reset-requests", "1s")]),
            None
        );
    }
}
