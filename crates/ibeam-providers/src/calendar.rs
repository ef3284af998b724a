//! Days of the Gregorian calendar, counted from 1970. Dates are written `YYYY-MM-DD`.
//!
//! A library for dates would add more to the program than all that uses it here.

/// Returns the number of days from 1970 to a date. The text may continue with a time. Returns `None` for any other text.
pub fn days_of_date(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let mut number = |digits: usize| parts.next().filter(|part| part.len() == digits)?.parse::<u32>().ok();
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    let has_time = rest.is_empty() || rest.starts_with(['T', 't', ' ']);
    if !is_date || !has_time {
        return None;
    }
    // The algorithm "days_from_civil" of Howard Hinnant.
    let (year, shifted_month) = match month {
        1 | 2 => (i64::from(year) - 1, month + 9),
        _ => (i64::from(year), month - 3),
    };
    let day_of_year = i64::from((153 * shifted_month + 2) / 5 + day - 1);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Returns the date that is a number of days after 1970.
pub fn date_of_days(days: u64) -> String {
    // The algorithm "civil_from_days" of Howard Hinnant, for days after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_counted_from_1970() {
        for (date, days) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-30T17:00:00Z", Some(20_787)),
            ("2026-11-30x", None),
            ("2026-13-01", None),
            ("2026-00-01", None),
            ("26-11-30", None),
            ("2026-11-3é", None),
            ("", None),
        ] {
            assert_eq!(days_of_date(date), days, "{date}");
        }
    }

    proptest! {
        #[test]
        fn a_date_has_one_number(days in 0u64..100_000) {
            prop_assert_eq!(days_of_date(&date_of_days(days)), i64::try_from(days).ok());
        }

        #[test]
        fn no_text_panics(text in ".{0,14}") {
            let _ = days_of_date(&text);
        }
    }
}
