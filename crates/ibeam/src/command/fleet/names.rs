//! The names of outcomes and states of tasks for people, and columns for them. Programs read the names on the wire.

use std::fmt::Display;

use ibeam_fleet::{Outcome, TaskState};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::sentence;
use unicode_width::UnicodeWidthStr as _;

fn outcome_name(catalogue: &Catalogue, outcome: Outcome) -> String {
    catalogue.sentence(&match outcome {
        Outcome::Passed => sentence!("passed"),
        Outcome::CheckFailed => sentence!("check_failed"),
        Outcome::Failed => sentence!("failed"),
        Outcome::Skipped => sentence!("skipped"),
    })
}

/// Returns the word for a state.
pub(super) fn state_name(catalogue: &Catalogue, state: TaskState) -> String {
    catalogue.sentence(&match state {
        TaskState::Waiting => sentence!("waiting"),
        TaskState::Running => sentence!("running"),
        TaskState::Passed => sentence!("passed"),
        TaskState::Failed => sentence!("failed"),
        TaskState::Undecided => sentence!("not decided"),
        TaskState::Parked => sentence!("parked"),
        TaskState::Refused => sentence!("refused"),
    })
}

/// Returns the state of a task with a result, and in brackets how it failed.
pub(super) fn result_text(catalogue: &Catalogue, outcome: Outcome, code: Option<&str>) -> String {
    let state = TaskState::for_result(outcome, code);
    let name = state_name(catalogue, state);
    let detail = match (outcome, code) {
        (Outcome::CheckFailed | Outcome::Skipped, _) => outcome_name(catalogue, outcome),
        (Outcome::Failed, Some(code)) if state == TaskState::Failed => escape_to_one_line(code),
        (Outcome::Passed | Outcome::Failed, _) => return name,
    };
    format!("{name} ({detail})")
}

/// Returns the name of a class of failures: that of an outcome, or else the class of the run as it is on the wire.
pub(super) fn failure_name(catalogue: &Catalogue, class: &str) -> String {
    let outcomes = [Outcome::CheckFailed, Outcome::Failed, Outcome::Skipped];
    let outcome = outcomes.into_iter().find(|outcome| outcome.as_str() == class);
    outcome.map_or_else(|| class.to_owned(), |outcome| outcome_name(catalogue, outcome))
}

/// Returns the line with the number of tasks that have this outcome or state, or with another amount.
pub(super) fn counted(catalogue: &Catalogue, name: &str, count: impl Display) -> String {
    format!("{}\n", catalogue.sentence(&sentence!("{name}: {count}", name, count)))
}

/// Returns the text at the right of a column. `width` is in cells of a terminal.
pub(super) fn right_aligned(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// Returns the text at the left of a column. `width` is in cells of a terminal.
pub(super) fn left_aligned(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    #[test]
    fn english_names_are_those_on_the_wire_and_others_differ() {
        let (english, japanese) = (Catalogue::new(Locale::En), Catalogue::new(Locale::Ja));
        for outcome in [Outcome::Passed, Outcome::CheckFailed, Outcome::Failed, Outcome::Skipped] {
            assert_eq!(outcome_name(&english, outcome), outcome.as_str());
            assert_ne!(outcome_name(&japanese, outcome), outcome.as_str());
        }
        for state in TaskState::ALL {
            assert_eq!(state_name(&english, state), state.as_str().replace('_', " "));
            assert_ne!(state_name(&japanese, state), state.as_str());
        }
        for (outcome, code, text) in [
            (Outcome::Passed, None, "passed"),
            (Outcome::CheckFailed, None, "failed (check_failed)"),
            (Outcome::Skipped, None, "failed (skipped)"),
            (Outcome::Failed, Some("timeout"), "failed (timeout)"),
            (Outcome::Failed, Some("refused"), "refused"),
            (Outcome::Failed, None, "failed"),
        ] {
            assert_eq!(result_text(&english, outcome, code), text);
        }
        assert_eq!(failure_name(&japanese, "check_failed"), outcome_name(&japanese, Outcome::CheckFailed));
        assert_eq!(failure_name(&japanese, "timeout"), "timeout");
        assert_eq!(counted(&Catalogue::new(Locale::Fr), "en cours", 2), "en cours : 2\n");
    }

    #[test]
    fn a_column_counts_cells() {
        assert_eq!((right_aligned("合格", 6), left_aligned("合格", 6)), ("  合格".into(), "合格  ".into()));
        assert_eq!(right_aligned("passed", 3), "passed");
    }
}
