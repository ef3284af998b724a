//! The time at which the next event of a replay is due: at once, in real time, or faster by a factor.

use std::time::{Duration, Instant};

use ibeam_protocol::{Reason, sentence};

use ibeam_config::parse_time;

/// The longest pause, whatever the times of the recording are.
const MAX_PAUSE: Duration = Duration::from_secs(365 * 24 * 3600);

/// The speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    /// At once.
    Max,
    /// A factor of the real speed; above 0.
    Factor(f64),
}

impl Speed {
    /// Parses `max`, `real` or a number.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        match text {
            "max" => return Ok(Self::Max),
            "real" => return Ok(Self::Factor(1.0)),
            _ => {}
        }
        let factor = text.parse().ok().filter(|times: &f64| times.is_finite() && *times > 0.0);
        factor.map(Self::Factor).ok_or_else(|| Reason::Usage {
            detail: sentence!("`--speed {text}` is not `max`, `real` or a number above 0", text),
        })
    }
}

/// The pauses of a replay.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    speed: Speed,
    longest_pause: Duration,
    /// The time of the last event, in milliseconds since the Unix epoch.
    last_ms: Option<u64>,
    /// When the last event was due.
    due: Instant,
}

impl Pace {
    /// Returns the pauses at this speed, none longer than `longest_pause`.
    ///
    /// # Errors
    /// `Usage` for an invalid speed or time.
    pub(super) fn new(speed: Option<&str>, longest_pause: Option<&str>) -> Result<Self, Reason> {
        let speed = speed.map_or(Ok(Speed::Max), Speed::parse)?;
        let usage_error = |text: &str| Reason::Usage {
            detail: sentence!("`--longest-pause {text}` is not a time such as `2s`", text),
        };
        let longest_pause =
            longest_pause.map(|text| parse_time(text).ok_or_else(|| usage_error(text))).transpose()?;
        let longest_pause = longest_pause.unwrap_or(MAX_PAUSE).min(MAX_PAUSE);
        Ok(Self { speed, longest_pause, last_ms: None, due: Instant::now() })
    }

    /// Starts another run: there is no pause between two runs.
    pub(super) fn start_run(&mut self) {
        (self.last_ms, self.due) = (None, Instant::now());
    }

    /// Returns how long to wait for the event of the time `at_ms`.
    pub(super) fn time_until_due(&mut self, at_ms: u64) -> Duration {
        let pause = self.pause(at_ms);
        if pause.is_zero() {
            return pause;
        }
        self.due += pause;
        self.due.saturating_duration_since(Instant::now())
    }

    /// Returns the pause before the event of the time `at_ms`; 0 if the clock of the recording went back.
    fn pause(&mut self, at_ms: u64) -> Duration {
        let Speed::Factor(times) = self.speed else { return Duration::ZERO };
        let last = self.last_ms.replace(at_ms).unwrap_or(at_ms);
        let happened = Duration::from_millis(at_ms.saturating_sub(last));
        Duration::try_from_secs_f64(happened.as_secs_f64() / times)
            .unwrap_or(MAX_PAUSE)
            .min(self.longest_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(speed: &str, longest_pause: Option<&str>, at_ms: &[u64], expect_ms: &[u64]) {
        let mut pace = Pace::new(Some(speed), longest_pause).unwrap();
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
    fn a_clock_that_went_back_adds_no_pause() {
        check("real", None, &[5000, 1000, 1500], &[0, 0, 500]);
    }

    #[test]
    fn an_invalid_speed_or_time_is_a_usage_error() {
        for (speed, longest) in
            [("0", None), ("-1", None), ("nan", None), ("inf", None), ("fast", None), ("1", Some("soon"))]
        {
            assert!(matches!(Pace::new(Some(speed), longest), Err(Reason::Usage { .. })), "{speed}");
        }
    }
}
