//! `docs/schema/` and `types/`: the contract as JSON Schema, and types of other languages generated from it.
//!
//! The examples in `types/` are not generated. A file that differs from the generated text is a finding of `cargo xtask
//! tidy`.

mod definition;
mod python;
mod typescript;

use std::path::Path;

use ibeam_wire::{Contract, SchemaTarget};
use serde_json::{Map, Value};

use definition::Definition;

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("`{0}`: {1}")]
pub(crate) struct SchemaError(String, std::io::Error);

/// Writes every file.
pub(crate) fn run(root: &Path) -> Result<(), SchemaError> {
    for (path, text) in files() {
        let target_path = root.join(&path);
        let written = target_path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&target_path, &text))
            .map_err(|error| SchemaError(path.clone(), error))?;
        println!("{path}: {} lines", text.lines().count());
    }
    Ok(())
}

/// Returns the files that differ from the generated text, one per line.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let stale = files().into_iter().filter(|(path, text)| {
        std::fs::read_to_string(root.join(path)).ok().as_deref() != Some(text.as_str())
    });
    stale.map(|(path, _)| format!("{path} is outdated; run `cargo xtask schema`")).collect()
}

/// Returns the path and the text of each generated file.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for contract in Contract::ALL {
        for target in SchemaTarget::ALL {
            let path = format!("docs/schema/contract-{}/{}.schema.json", contract.as_str(), target.name());
            files.push((path, format!("{:#}\n", ibeam_wire::schema(target, contract))));
        }
    }
    let definitions = definitions();
    files.push(("types/ibeam.d.ts".to_owned(), typescript::render(&definitions)));
    files.push(("types/ibeam_events.py".to_owned(), python::render(&definitions)));
    files
}

/// Returns the definitions of the schemas under both contracts, by name.
fn definitions() -> Vec<Definition> {
    let contract_two = definitions_of(Contract::Two);
    let merge = |(name, schema): (&String, &Value)| {
        let one = Definition::from_schema(name, schema);
        match contract_two.get(name) {
            Some(two) => one.merge(Definition::from_schema(name, two)),
            None => one,
        }
    };
    definitions_of(Contract::One).iter().map(merge).collect()
}

fn definitions_of(contract: Contract) -> Map<String, Value> {
    let mut found = Map::new();
    for target in [SchemaTarget::StreamJson, SchemaTarget::Json, SchemaTarget::Input] {
        let mut schema = ibeam_wire::schema(target, contract);
        if let Some(Value::Object(definitions)) = schema.get_mut("$defs").map(Value::take) {
            found.extend(definitions);
        }
    }
    found.sort_keys();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_match_the_wire_types() {
        assert_eq!(check(&crate::root()), Vec::<String>::new());
    }

    #[test]
    fn a_changed_file_is_found() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(check(root.path()).len(), files().len());
        run(root.path()).unwrap();
        assert_eq!(check(root.path()), Vec::<String>::new());
        std::fs::write(root.path().join("types/ibeam.d.ts"), "// mine\n").unwrap();
        assert_eq!(check(root.path()), ["types/ibeam.d.ts is outdated; run `cargo xtask schema`"]);
    }
}
