//! Warnings about facts that age: a model that its service stops serving soon, and a model table that is old.

use ibeam_protocol::{Sentence, sentence};
use ibeam_providers::calendar::days_of_date;
use ibeam_providers::{TABLE_DATE, find_model};

use super::{ConfiguredFacts, ModelChoice};
use crate::app::AppContext;
use crate::clock::utc_date;

/// The number of days before its end from which on a model is warned about.
const RETIREMENT_DAYS: i64 = 60;
/// The number of days after which the table is old: four months.
const TABLE_DAYS: i64 = 122;

impl ModelChoice {
    /// Returns the warnings about the model, for people.
    pub fn age_warnings(&self, app: &AppContext) -> Vec<Sentence> {
        let Some(provider) = &self.provider else { return Vec::new() };
        let listed = app.model_lists().facts(provider.list_source(), &self.info.id).unwrap_or_default();
        let known = find_model(&provider.name, &self.info.id);
        let facts = ConfiguredFacts::new(&app.base.config, &provider.name, &self.info.id);
        let set = |field| facts.text(field).map(str::to_owned);
        let retires = set("retires").or(listed.retires).or_else(|| known?.retires.map(str::to_owned));
        let successor = set("successor").or(listed.successor);
        let successor = successor.or_else(|| known?.successor.map(str::to_owned));
        let retirement =
            retirement_warning(&self.info.id, retires.as_deref(), successor.as_deref(), &utc_date());
        retirement.into_iter().chain(table_warning(&utc_date())).collect()
    }
}

/// Returns the warning about a model that retires soon, or has retired.
fn retirement_warning(
    model: &str,
    retires: Option<&str>,
    successor: Option<&str>,
    today: &str,
) -> Option<Sentence> {
    let date = retires.filter(|date| days_between(today, date).is_some_and(|days| days < RETIREMENT_DAYS))?;
    Some(match successor {
        Some(successor) => {
            sentence!("`{model}` retires on {date}; its successor is `{successor}`", model, date, successor)
        }
        None => sentence!("`{model}` retires on {date}", model, date),
    })
}

/// Returns the warning about a table that is older than four months.
fn table_warning(today: &str) -> Option<Sentence> {
    let is_old = days_between(TABLE_DATE, today).is_some_and(|days| days > TABLE_DAYS);
    let date = TABLE_DATE;
    is_old.then(|| {
        sentence!("the table of models is of {date}; a newer version of ibeam knows newer models", date)
    })
}

/// Returns the number of days from one date to another, `YYYY-MM-DD`; negative if the second one is earlier.
fn days_between(from: &str, to: &str) -> Option<i64> {
    Some(days_of_date(to)? - days_of_date(from)?)
}

#[cfg(test)]
mod tests {
    use ibeam_providers::calendar::date_of_days;

    use super::*;

    #[test]
    fn a_model_is_warned_about_in_its_last_sixty_days() {
        let warning = |retires| retirement_warning("m", retires, Some("n"), "2026-11-28");
        assert_eq!(warning(None), None);
        assert_eq!(warning(Some("2027-01-27")), None);
        assert_eq!(warning(Some("not a date")), None);
        for soon in ["2027-01-26", "2026-11-30", "2026-06-15"] {
            let text = warning(Some(soon)).unwrap().to_string();
            assert_eq!(text, format!("`m` retires on {soon}; its successor is `n`"));
        }
    }

    #[test]
    fn the_table_is_old_after_four_months() {
        let after = |days| date_of_days(u64::try_from(days_of_date(TABLE_DATE).unwrap() + days).unwrap());
        assert_eq!(table_warning(&after(122)), None);
        assert!(table_warning(&after(123)).is_some());
        assert_eq!(table_warning("1970-01-01"), None);
    }
}
