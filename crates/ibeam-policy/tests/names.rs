//! Compares the table of names with `docs/protected-names.md`.

#![allow(clippy::unwrap_used, reason = "clippy knows only functions marked #[test] as tests")]

use std::fmt::Write as _;

use ibeam_policy::names::{NameGroup, Protection, name_groups};

const DOCUMENT: &str = include_str!("../../../docs/protected-names.md");
const START: &str = "<!-- table -->\n";

/// Returns the part of the document that is generated from the table.
fn rendered() -> String {
    let mut text = String::from(START);
    for (protection, heading, column) in [
        (Protection::ReadOnly, "Kept from file tools and commands", "not changed, because"),
        (
            Protection::ReadOnlyForFileTools,
            "Kept from file tools, and in part from commands",
            "not changed, because",
        ),
        (Protection::Credential, "Credentials, below the home directory", "not read, because there are"),
        (Protection::SystemCredential, "Credentials of the system", "not read, because there are"),
    ] {
        write!(text, "\n## {heading}\n\n| names | {column} |\n|---|---|\n").unwrap();
        for NameGroup { names, reason, .. } in name_groups().filter(|group| group.protection == protection) {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            writeln!(text, "| {} | {reason} |", names.join(", ")).unwrap();
        }
    }
    text
}

#[test]
#[allow(clippy::disallowed_methods, reason = "writes the right text next to the other output of tests")]
fn the_document_shows_the_table() {
    let expect = rendered();
    let start = DOCUMENT.find(START).unwrap();
    if DOCUMENT[start..] != expect {
        let path = format!("{}/protected-names.md", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, format!("{}{expect}", &DOCUMENT[..start])).unwrap();
        panic!("docs/protected-names.md does not show the table of names; `{path}` does: copy it");
    }
}
