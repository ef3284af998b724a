//! Finds the tests of faults in the sources by their names: `fn f024_…` after a `#[test]`.
//!
//! Ignored tests, and functions that are not tests, do not count.

use std::path::Path;

use super::fault_list::FaultsError;

/// A test whose name starts with the id of a fault.
#[derive(Debug, PartialEq)]
pub(super) struct FaultTest {
    /// The id, such as `F024`.
    pub(super) id: String,
    /// The path in the compiler's form: `crate::module::f024_…`.
    pub(super) path: String,
}

/// Returns every such test of the workspace, sorted by path.
pub(super) fn find_tests(root: &Path) -> Result<Vec<FaultTest>, FaultsError> {
    let mut found = Vec::new();
    for top in ["crates", "xtask"] {
        visit(root, &root.join(top), &mut found)?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Adds the tests in the sources below a directory.
fn visit(root: &Path, directory: &Path, found: &mut Vec<FaultTest>) -> Result<(), FaultsError> {
    let fail = |error| FaultsError::File(directory.display().to_string(), error);
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            visit(root, &path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| FaultsError::File(path.display().to_string(), error))?;
            let relative = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            found.extend(tests_in_source(&relative, &text));
        }
    }
    Ok(())
}

/// Returns the tests of one file. `path` is relative to the root of the repository.
pub(super) fn tests_in_source(path: &str, text: &str) -> Vec<FaultTest> {
    let module_path = module_path(path);
    let is_code = !path.contains("/tests/") && !path.ends_with("_test.rs");
    let mut found = Vec::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in text.lines() {
        let code = line.trim_start();
        if code.starts_with("#[") {
            is_test |= code.starts_with("#[test]") || code.starts_with("#[tokio::test");
            is_ignored |= code.starts_with("#[ignore");
        } else if !code.starts_with("//") && !code.is_empty() {
            if let Some((id, name)) = fault_function(code).filter(|_| is_test && !is_ignored) {
                // In a file with code, indented tests are in the module `tests` at its end.
                let inner = if is_code && line.len() > code.len() { "tests::" } else { "" };
                found.push(FaultTest { id, path: format!("{module_path}::{inner}{name}") });
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    found
}

/// Returns the id and the name of a function called `fNNN_…`.
fn fault_function(code: &str) -> Option<(String, &str)> {
    let code = code.strip_prefix("async ").unwrap_or(code);
    let name = code.strip_prefix("fn ")?.split(['(', '<']).next()?;
    let number = name.strip_prefix('f')?.get(..3)?;
    let is_id = number.bytes().all(|byte| byte.is_ascii_digit()) && name.as_bytes().get(4) == Some(&b'_');
    is_id.then(|| (format!("F{number}"), name))
}

/// Returns the module path of a file: `crates/ibeam/tests/end_to_end/faults/host.rs` is
/// `ibeam::end_to_end::faults::host`.
fn module_path(path: &str) -> String {
    let path = path.strip_prefix("crates/").unwrap_or(path).trim_end_matches(".rs");
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part.strip_suffix("_test") {
            _ if ["src", "tests", "lib", "main"].contains(&part) => {}
            Some(tested) => parts.extend([tested.to_owned(), "tests".to_owned()]),
            None => parts.push(part.to_owned()),
        }
    }
    parts.join("::")
}
