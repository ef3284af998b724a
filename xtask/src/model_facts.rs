//! The chore that writes the model table: facts of models from two packages of the registries, joined.
//!
//! Reads the packages that `crates/ibeam-providers/data/sources.json` pins by version and hash, and the reviewed
//! `overrides.jsonl` beside it. Writes `models.jsonl` and `conflicts.txt`. The table
//! has each value on which both sources agree or that only one of them has; a row names its sources. Where they disagree,
//! the value is left out until an override decides. Copies facts only, no text.

mod join;
mod litellm_prices;
#[path = "../../crates/ibeam-providers/src/model_name.rs"]
#[expect(dead_code, reason = "a part of a library, compiled into the chore too")]
mod model_name;
mod overrides;
pub(crate) mod packages;
mod pi_ai_catalogue;
mod providers;
mod row;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::join::JoinedTable;
use self::overrides::Override;
use self::packages::Sources;

/// A failure of the chore.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFactsError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// A file does not have the expected content.
    #[error("{path}: {detail}")]
    Content {
        path: PathBuf,
        /// The first difference.
        detail: String,
    },
    #[error("cannot fetch {package}: {detail}")]
    Fetch {
        /// The name and the version.
        package: String,
        /// The message of the client.
        detail: String,
    },
    /// A package has another hash than the pinned one.
    #[error("{package} has the SHA-256 {found}, not the pinned one")]
    Hash {
        /// The name and the version.
        package: String,
        found: String,
    },
}

/// Writes the model table and the list of conflicts.
pub(crate) fn run(root: &Path) -> Result<(), ModelFactsError> {
    let data = root.join("crates/ibeam-providers/data");
    let sources = Sources::load(&data.join("sources.json"))?;
    let directory = root.join("target/model-facts");
    let litellm = sources.fetch("litellm", &directory)?;
    let pi_ai = sources.fetch("@earendil-works/pi-ai", &directory)?;
    let overrides = Override::load_all(&data.join("overrides.jsonl"))?;
    let table = JoinedTable::new(&litellm, &pi_ai, &overrides, &sources.read)?;
    write_file(&data.join("models.jsonl"), &table.rows_text())?;
    write_file(&data.join("conflicts.txt"), &table.conflicts_text())?;
    println!(
        "{} models, {} retired models, {} conflicts without an override",
        table.rows.len(),
        table.retired.len(),
        table.conflicts.len()
    );
    for unused in table.unused_overrides(&overrides) {
        println!("warning: an override changes nothing: {unused}");
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<String, ModelFactsError> {
    fs::read_to_string(path).map_err(|source| ModelFactsError::File { path: path.to_owned(), source })
}

fn write_file(path: &Path, text: &str) -> Result<(), ModelFactsError> {
    fs::write(path, text).map_err(|source| ModelFactsError::File { path: path.to_owned(), source })
}
