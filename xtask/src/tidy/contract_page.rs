//! Checks that the types of the contract and the page that documents them change together.
//!
//! The page contains a fingerprint of the types. A fingerprint that differs from the types is a finding.

use std::path::Path;

use super::tree::{TidyError, read_file, tracked_files};

/// The modules that declare the contract's types.
const TYPE_MODULES: [&str; 3] =
    ["crates/ibeam-wire/src/event", "crates/ibeam-wire/src/input", "crates/ibeam-wire/src/tool"];
/// The page that documents the contract.
const CONTRACT_PAGE: &str = "docs/output-format.md";
/// The text before the fingerprint on the page.
const FINGERPRINT_MARK: &str = "<!-- wire: ";

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let mut types = String::new();
    for path in
        tracked_files(root)?.iter().filter(|path| TYPE_MODULES.iter().any(|types| path.starts_with(types)))
    {
        types.push_str(&read_file(root, path)?);
    }
    let fingerprint = fingerprint(&types);
    let page = read_file(root, CONTRACT_PAGE)?;
    let documented =
        page.split_once(FINGERPRINT_MARK).and_then(|(_, rest)| rest.split_once(" -->")).map(|(mark, _)| mark);
    Ok(match documented {
        Some(documented) if documented == fingerprint => Vec::new(),
        Some(_) | None => vec![format!(
            "{}* changed: bring {CONTRACT_PAGE} up to date, then write `{FINGERPRINT_MARK}{fingerprint} -->` at its end",
            TYPE_MODULES.join("* or ")
        )],
    })
}

/// Returns the FNV-1a hash of the code without comments and white space.
fn fingerprint(types: &str) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let lines = types.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    for byte in lines.flat_map(str::bytes).filter(|byte| !byte.is_ascii_whitespace()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_change_the_fingerprint_but_fields_do() {
        let base = fingerprint("struct A {\n    b: u8,\n}\n");
        assert_eq!(base, fingerprint("/// A.\nstruct A {\nb: u8,\n}"));
        assert_ne!(base, fingerprint("struct A {\n    b: u16,\n}\n"));
    }
}
