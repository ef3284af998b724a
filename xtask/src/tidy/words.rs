//! Names that say nothing, and leftovers that must not land.

use std::path::Path;

use super::{Untidy, tracked};

/// Names of files and modules without a noun of their own.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "helpers", "helper", "manager", "misc", "common", "processor"];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Untidy> {
    let mut findings = Vec::new();
    for path in tracked(root)? {
        let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if path.ends_with(".rs") && EMPTY_NAMES.contains(&stem.as_str()) {
            findings.push(format!("{path}: `{stem}` has no noun"));
        }
        if [".orig", ".rej", ".snap.new", ".bak"].iter().any(|leftover| path.ends_with(leftover)) {
            findings.push(format!("{path}: a leftover"));
        }
    }
    Ok(findings)
}
