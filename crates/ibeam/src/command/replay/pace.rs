//! When the next event is shown: at once, in the time it happened, or so many times as fast.

use std::time::{Duration, Instant};

use ibeam_protocol::Reason;

use ibeam_config::parse_time;

/// No pause is longer, whatever the clocks of the recording said.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    /// At once.
    Max,
    /// So many times as fast as it happened; more than 0.
    Times(f64),
}

impl Speed {
    /// `max`, `real` or a number.
    ///
    /// # Errors
    /// `Usage`.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        match text {
            "max" => return Ok(Self::Max),
            "real" => return Ok(Self::Times(1.0)),
            _ => {}
        }
        let times = text.parse().ok().filter(|times: &f64| times.is_finite() && *times > 0.0);
        times.map(Self::Times).ok_or_else(|| Reason::Usage {
            detail: format!("`--speed {text}` is neither `max`, `real` nor a number above 0"),
        })
    }
}

/// The time of a replay.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    speed: Speed,
    longest: Duration,
    /// When the last event happened, in milliseconds since the Unix epoch.
    last_ms: Option<u64>,
    /// When it was to be shown.
    due: Instant,
}

impl Pace {
    /// At this speed, with no pause longer than `longest`.
    ///
    /// # Errors
    /// `Usage` for what is no speed or no time.
    pub(super) fn new(speed: Option<&str>, longest: Option<&str>) -> Result<Self, Reason> {
        let speed = speed.map_or(Ok(Speed::Max), Speed::parse)?;
        let wrong =
            |text| Reason::Usage { detail: format!("`--longest-pause {text}` is no time, such as `2s`") };
        let longest = longest.map(|text| parse_time(text).ok_or_else(|| wrong(text))).transpose()?;
        let longest = longest.unwrap_or(LONGEST).min(LONGEST);
        Ok(Self { speed, longest, last_ms: None, due: Instant::now() })
    }

    /// Another run begins: the time since the one before is not waited for.
    pub(super) fn begin(&mut self) {
        (self.last_ms, self.due) = (None, Instant::now());
    }

    /// How long is left until what happened at `at_ms` is due.
    pub(super) fn left(&mut self, at_ms: u64) -> Duration {
        let pause = self.pause(at_ms);
        if pause.is_zero() {
            return pause;
        }
        self.due += pause;
        self.due.saturating_duration_since(Instant::now())
    }

    /// The pause before what happened at `at_ms`; none where the clock of the recording went back.
    fn pause(&mut self, at_ms: u64) -> Duration {
        let Speed::Times(times) = self.speed else { return Duration::ZERO };
        let last = self.last_ms.replace(at_ms).unwrap_or(at_ms);
        let happened = Duration::from_millis(at_ms.saturating_sub(last));
        Duration::try_from_secs_f64(happened.as_secs_f64() / times).unwrap_or(LONGEST).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(speed: &str, longest: Option<&str>, at_ms: &[u64], expect_ms: &[u64]) {
        let mut pace = Pace::new(Some(speed), longest).unwrap();
        let pauses: Vec<Duration> = at_ms.iter().map(|at_ms| pace.pause(*at_ms)).collect();
        let expect: Vec<Duration> = expect_ms.iter().copied().map(Duration::from_millis).collect();
        assert_eq!(pauses, expect);
    }

    #[test]
    fn pauses_are_those_of_the_recording_times_the_speed() {
        check("real", None, &[1000, 1000, 3000, 3500], &[0, 0, 2000, 500]);
        check("4", None, &[1000, 3000], &[0, 500]);
        check("0.5", None, &[1000, 3000], &[0, 4000]);
        check("max", None, &[1000, 3000], &[0, 0]);
    }

    #[test]
    fn pauses_are_capped_after_the_speed() {
        check("2", Some("250ms"), &[0, 400, 10_000], &[0, 200, 250]);
        check("real", Some("0"), &[0, 400], &[0, 0]);
        check("real", None, &[0, u64::MAX], &[0, 365 * 24 * 3_600_000]);
        check("1e-300", None, &[0, 1], &[0, 365 * 24 * 3_600_000]);
    }

    #[test]
    fn a_clock_that_went_back_makes_no_pause() {
        check("real", None, &[5000, 1000, 1500], &[0, 0, 500]);
    }

    #[test]
    fn what_is_no_speed_and_no_time_is_a_usage_error() {
        for (speed, longest) in
            [("0", None), ("-1", None), ("nan", None), ("inf", None), ("fast", None), ("1", Some("soon"))]
        {
            assert!(matches!(Pace::new(Some(speed), longest), Err(Reason::Usage { .. })), "{speed}");
        }
    }
}
