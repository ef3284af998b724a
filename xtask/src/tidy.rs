//! Checks of the repository that the compiler does not make: dependencies between crates, circles of modules, sizes of
//! crates and files, names, words, and pages and lists that must change with the code.

mod circles;
mod contract_page;
mod crate_sizes;
mod edges;
mod files;
mod named_tests;
mod tree;
mod words;

use std::path::Path;

pub(crate) use named_tests::package_of;
pub(crate) use tree::{TidyError, tracked_files};

/// Prints every finding and fails when there is one.
pub(crate) fn run(root: &Path) -> Result<(), TidyError> {
    let mut findings = edges::check(root)?;
    findings.extend(crate_sizes::check(root)?);
    findings.extend(circles::check(root)?);
    findings.extend(files::check(root)?);
    findings.extend(named_tests::check(root)?);
    findings.extend(contract_page::check(root)?);
    findings.extend(words::check(root)?);
    findings.extend(crate::faults::check(root).map_err(|error| TidyError::Unreadable(error.to_string()))?);
    findings.extend(crate::schema::check(root));
    findings
        .extend(crate::conformance::check(root).map_err(|error| TidyError::Unreadable(error.to_string()))?);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy");
            Ok(())
        }
        count => Err(TidyError::Findings(count)),
    }
}
