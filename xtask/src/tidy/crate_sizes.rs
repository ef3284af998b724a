//! Checks that the biggest crate holds at most a tenth of all lines of Rust, tests included.
//!
//! The tests of a crate live with it, so a crate that grows over the limit has either two subjects or tests of another one.

use std::collections::BTreeMap;
use std::path::Path;

use super::named_tests::package_of;
use super::tree::{TidyError, read_file, tracked_files};

/// The biggest crate holds at most one line in so many.
const SHARES: usize = 10;

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let mut lines = BTreeMap::<String, usize>::new();
    for path in tracked_files(root)? {
        if let Some(package) = package_of(&path) {
            *lines.entry(package.to_owned()).or_default() += read_file(root, &path)?.lines().count();
        }
    }
    Ok(size_finding(&lines).into_iter().collect())
}

/// Returns the finding for the biggest of the crates, with its lines.
fn size_finding(lines: &BTreeMap<String, usize>) -> Option<String> {
    let limit = lines.values().sum::<usize>() / SHARES;
    let (name, size) = lines.iter().max_by_key(|(_, size)| **size)?;
    (*size > limit).then(|| {
        format!("{name}: {size} lines of Rust; move code or tests to the crate of their subject (at most {limit}, a tenth of all)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_above_a_tenth_of_all_lines_is_found() {
        let sizes = |biggest: usize| {
            let others = (0..9).map(|number| (format!("ibeam-{number}"), 100));
            others.chain([("ibeam".to_owned(), biggest)]).collect()
        };
        assert_eq!(size_finding(&sizes(100)), None);
        let finding = size_finding(&sizes(110)).unwrap();
        assert!(finding.starts_with("ibeam: 110 lines") && finding.contains("at most 101,"), "{finding}");
    }
}
