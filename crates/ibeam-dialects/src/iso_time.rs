//! Times in ISO 8601: milliseconds since 1970 as `2026-11-21T14:31:50.746Z`, in UTC.

const DAY_SECONDS: u64 = 86_400;

/// The last millisecond of the year 9999.
const MAX_MILLIS: u64 = 253_402_300_799_999;

/// Formats a time; `None` after the year 9999.
pub(crate) fn to_iso(millis: u64) -> Option<String> {
    if millis > MAX_MILLIS {
        return None;
    }
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (days, rest) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    // Days are counted from 0000-03-01, 719,468 days before 1970-01-01, in eras of 400 years. A leap day is then the
    // last day of a year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"))
}

/// Parses a time in the form that [`to_iso`] returns; `None` for any other text.
pub(crate) fn from_iso(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, millis) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    let millis = (days * DAY_SECONDS + hour * 3600 + minute * 60 + second) * 1000 + millis;
    // Formatting the result must give the same text. This rejects other forms and days that do not exist.
    (to_iso(millis)? == text).then_some(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_restored_from_its_text() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (1_795_271_510_746, "2026-11-21T14:31:50.746Z"),
            (MAX_MILLIS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(to_iso(millis).as_deref(), Some(text));
            assert_eq!(from_iso(text), Some(millis));
        }
        assert_eq!(to_iso(MAX_MILLIS + 1), None);
        for wrong in ["", "2026-02-30T00:00:00.000Z", "2026-11-21 14:31:50.746Z", "2026-11-21T14:31:50Z", "é"]
        {
            assert_eq!(from_iso(wrong), None, "{wrong}");
        }
    }
}
