//! The listed faults and the notes kept by hand beside them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::FaultsError;

/// One fault a line.
pub(super) const FAULTS: &str = "corpus/faults.jsonl";
/// What must be said besides.
pub(super) const NOTES: &str = "corpus/notes.toml";

/// One line of the corpus; what the table does not show is left in the file.
#[derive(Debug, Deserialize)]
pub(super) struct Fault {
    pub(super) id: String,
    pub(super) layer: Layer,
    pub(super) fault: String,
    pub(super) expect: String,
    pub(super) exit: String,
}

/// Where a fault comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Layer {
    Provider,
    Tool,
    Host,
    Input,
}

/// What the corpus does not say of a fault.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// Another exit code than the corpus has.
    pub(super) exit: Option<String>,
    /// The rule that decides it.
    pub(super) why: Option<String>,
    /// What a test does in place of the real fault.
    pub(super) stands_in: Option<String>,
    /// Why no test injects it.
    pub(super) untested: Option<String>,
}

/// Both files.
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
        Self::parse(&text(FAULTS)?, &text(NOTES)?)
    }

    pub(super) fn parse(faults: &str, notes: &str) -> Result<Self, FaultsError> {
        let faults = (1..).zip(faults.lines()).map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| FaultsError::Malformed(format!("{FAULTS}:{number}"), error.to_string()))
        });
        let notes = toml::from_str(notes)
            .map_err(|error| FaultsError::Malformed(NOTES.to_owned(), error.to_string()))?;
        Ok(Self { faults: faults.collect::<Result<_, _>>()?, notes })
    }
}
