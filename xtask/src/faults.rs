//! `docs/faults.md`: which test holds which fault of `corpus/faults.jsonl`, and with which exit code the run ends.
//!
//! Tests are found by their names in the sources, so the table cannot name one that does not exist. Refuses a
//! fault that nothing holds, and a test or a note for a fault that nobody listed.

mod corpus;
mod page;
mod scan;

use std::path::Path;

use corpus::{Corpus, Fault, Note};
use scan::Test;

/// The generated page.
const PAGE: &str = "docs/faults.md";

/// Why the table cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// A file is missing or not to be written.
    #[error("`{0}`: {1}")]
    File(String, std::io::Error),
    /// A line of the corpus or a note is wrong.
    #[error("`{0}`: {1}")]
    Malformed(String, String),
}

/// The listed faults with what holds them.
struct Table {
    corpus: Corpus,
    tests: Vec<Test>,
}

/// Writes the page, and says what is not held yet.
pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    let table = Table::read(root)?;
    let page = page::render(&table);
    std::fs::write(root.join(PAGE), page).map_err(|error| Failed::File(PAGE.to_owned(), error))?;
    for finding in table.findings() {
        println!("{finding}");
    }
    println!("{PAGE}: {} faults, {} tests", table.corpus.faults.len(), table.tests.len());
    Ok(())
}

/// What is wrong with the table and its page, one line each.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Failed> {
    let table = Table::read(root)?;
    let mut findings = table.findings();
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    if page != page::render(&table) {
        findings.push(format!("{PAGE} is not what `cargo xtask faults` gives; run it"));
    }
    Ok(findings)
}

impl Table {
    fn read(root: &Path) -> Result<Self, Failed> {
        Ok(Self { corpus: Corpus::read(root)?, tests: scan::tests(root)? })
    }

    fn fault(&self, id: &str) -> Option<&Fault> {
        self.corpus.faults.iter().find(|fault| fault.id == id)
    }

    fn note(&self, id: &str) -> Option<&Note> {
        self.corpus.notes.get(id)
    }

    fn tests_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Test> {
        self.tests.iter().filter(move |test| test.id == id)
    }

    /// A test for it, or a reason why there is none.
    fn is_held(&self, fault: &Fault) -> bool {
        self.tests_of(&fault.id).next().is_some()
            || self.note(&fault.id).is_some_and(|note| note.untested.is_some())
    }

    /// What is wrong, one line each.
    fn findings(&self) -> Vec<String> {
        let unheld = self.corpus.faults.iter().filter(|fault| !self.is_held(fault));
        let mut findings: Vec<String> =
            unheld.map(|fault| format!("{}: no test holds it: {}", fault.id, fault.fault)).collect();
        for test in self.tests.iter().filter(|test| self.fault(&test.id).is_none()) {
            findings.push(format!("{}: no fault {} is listed", test.path, test.id));
        }
        for (id, note) in &self.corpus.notes {
            let Some(fault) = self.fault(id) else {
                findings.push(format!("{}: no fault {id} is listed", corpus::NOTES));
                continue;
            };
            if note.exit.is_some() && (note.why.is_none() || note.exit.as_ref() == Some(&fault.exit)) {
                findings.push(format!("{id}: a note of another exit code says which and why"));
            }
            if note.untested.is_some() && self.tests_of(id).next().is_some() {
                findings.push(format!("{id}: the note says that it is not tested, and it is"));
            }
        }
        for (before, after) in self.corpus.faults.iter().zip(self.corpus.faults.iter().skip(1)) {
            if before.id >= after.id {
                findings.push(format!("{}: {} does not come after {}", corpus::FAULTS, after.id, before.id));
            }
        }
        findings
    }
}

#[cfg(test)]
#[path = "faults_test.rs"]
mod tests;
