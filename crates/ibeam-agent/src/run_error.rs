//! The failure of a run.

use std::fmt;

use ibeam_output::{Catalogue, Explanation, Locale};
use ibeam_protocol::{Failure, Reason, RunFinished};

/// A failure before or during a run, and the end of that run if it had started.
#[derive(Clone, Debug)]
pub struct RunError {
    /// The reason, with what the provider reported; `failure.reason.code()` is its class.
    pub failure: Failure,
    /// The end of the run, with its totals; `None` if no run had started.
    pub run: Option<Box<RunFinished>>,
}

impl RunError {
    /// Returns the sentence and the hints for people.
    #[doc(hidden)]
    pub fn explained(&self, catalogue: &Catalogue) -> Explanation {
        catalogue.failed_run(&self.failure, self.run.as_deref())
    }

    /// Returns the sentence and the hints for a person whose conversation goes on: without those about its session, and
    /// with `/model` instead of the flag.
    pub(crate) fn explained_in_conversation(&self, catalogue: &Catalogue) -> Explanation {
        let mut explanation = catalogue.failed_run(&self.failure, None);
        for hint in &mut explanation.hints {
            *hint = hint.replace("`--model", "`/model");
        }
        explanation
    }
}

/// The sentence in English.
impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.explained(&Catalogue::new(Locale::En)).message)
    }
}

impl std::error::Error for RunError {}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        Self { failure, run: None }
    }
}

impl From<Reason> for RunError {
    fn from(reason: Reason) -> Self {
        Failure::from(reason).into()
    }
}

impl RunError {
    /// Whether the reader of a command's output closed it early, as `head` does. This is not reported. If the output of
    /// a run is closed, the run ends early, which is reported.
    #[doc(hidden)]
    pub fn is_reader_done(&self) -> bool {
        self.run.is_none() && self.failure.reason == Reason::OutputClosed
    }
}
