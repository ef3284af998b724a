//! Runs a suite and records its results.

use super::record;
use crate::suite::{SuiteContext, SuiteError, SuiteResult};

impl SuiteContext {
    /// Runs a suite, prints the numbers of its results, and records these.
    ///
    /// # Errors
    /// `Cases` if a case failed, and each error of `cases` but `Missing`, which is printed.
    pub(crate) fn run(
        &self,
        suite: &str,
        cases: impl FnOnce(&Self, &mut SuiteResult) -> Result<(), SuiteError>,
    ) -> Result<(), SuiteError> {
        self.run_part(suite, true, cases)
    }

    /// Runs a suite as [`Self::run`] does, and records its results only if it `is_recorded`: a selection of its cases is not.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_part(
        &self,
        suite: &str,
        is_recorded: bool,
        cases: impl FnOnce(&Self, &mut SuiteResult) -> Result<(), SuiteError>,
    ) -> Result<(), SuiteError> {
        let mut result = SuiteResult::default();
        match cases(self, &mut result) {
            Err(SuiteError::Missing(missing)) => {
                println!("SKIP: {suite}: {missing}");
                return Ok(());
            }
            ended => ended?,
        }
        println!("{suite}: {}", result.counts);
        let failed = result.counts.failed;
        if is_recorded {
            record(&self.root, suite, result)?;
        }
        if failed == 0 { Ok(()) } else { Err(SuiteError::Cases { suite: suite.to_owned(), failed }) }
    }
}
