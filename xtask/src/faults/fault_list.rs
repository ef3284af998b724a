//! The listed faults and the hand-written notes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// A failure to read or write the table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultsError {
    /// A file that cannot be read or written.
    #[error("`{0}`: {1}")]
    File(String, std::io::Error),
    /// An invalid line of the list or an invalid note.
    #[error("`{0}`: {1}")]
    Malformed(String, String),
}

/// The list, with one fault per line.
pub(super) const FAULTS_FILE: &str = "corpus/faults.jsonl";
pub(super) const NOTES_FILE: &str = "corpus/notes.toml";

/// The fields of a fault that the table contains.
#[derive(Debug, Deserialize)]
pub(super) struct Fault {
    pub(super) id: String,
    pub(super) layer: FaultLayer,
    pub(super) fault: String,
    pub(super) expect: String,
    pub(super) exit: String,
}

/// The origin of a fault.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum FaultLayer {
    Provider,
    Tool,
    Host,
    Input,
}

/// Additional information about a fault.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// An exit code that differs from the list.
    pub(super) exit: Option<String>,
    /// The rule that decides the exit code.
    pub(super) why: Option<String>,
    /// The substitute for the real fault in a test.
    pub(super) stands_in: Option<String>,
    /// The reason why no test injects the fault.
    pub(super) untested: Option<String>,
}

#[derive(Debug)]
pub(super) struct FaultList {
    pub(super) faults: Vec<Fault>,
    pub(super) notes: BTreeMap<String, Note>,
}

impl FaultList {
    pub(super) fn read(root: &Path) -> Result<Self, FaultsError> {
        let text = |path: &str| {
            std::fs::read_to_string(root.join(path))
                .map_err(|error| FaultsError::File(path.to_owned(), error))
        };
        Self::parse(&text(FAULTS_FILE)?, &text(NOTES_FILE)?)
    }

    pub(super) fn parse(faults: &str, notes: &str) -> Result<Self, FaultsError> {
        let faults = (1..).zip(faults.lines()).map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| FaultsError::Malformed(format!("{FAULTS_FILE}:{number}"), error.to_string()))
        });
        let notes = toml::from_str(notes)
            .map_err(|error| FaultsError::Malformed(NOTES_FILE.to_owned(), error.to_string()))?;
        Ok(Self { faults: faults.collect::<Result<_, _>>()?, notes })
    }
}
