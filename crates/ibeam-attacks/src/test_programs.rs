//! The small programs in C that cases call, compiled once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::AttacksError;

/// Compiles each source that changed since; gives the directory of the programs.
pub(crate) fn build(sources: &Path, scratch: &Path) -> Result<PathBuf, AttacksError> {
    let file = |path: &Path, error| AttacksError::File(path.display().to_string(), error);
    let programs = scratch.join("programs");
    std::fs::create_dir_all(&programs).map_err(|error| file(&programs, error))?;
    for entry in std::fs::read_dir(sources).map_err(|error| file(sources, error))?.flatten() {
        let source = entry.path();
        let Some(name) = source.file_name().and_then(|name| name.to_str()?.strip_suffix(".c")) else {
            continue;
        };
        let program = programs.join(name);
        if modified_at(&program) > modified_at(&source) {
            continue;
        }
        // Another runner may compile at the same time, or a case may run the old one.
        let fresh = programs.join(format!("{name}.{}", std::process::id()));
        let compiled =
            Command::new("cc").args(["-O1", "-Wall", "-Werror", "-o"]).arg(&fresh).arg(&source).status();
        match compiled {
            Ok(status) if status.success() => {
                std::fs::rename(&fresh, &program).map_err(|error| file(&program, error))?
            }
            Ok(status) => return Err(AttacksError::Malformed(format!("cc {}: {status}", source.display()))),
            Err(error) => return Err(AttacksError::File("cc".to_owned(), error)),
        }
    }
    Ok(programs)
}

fn modified_at(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}
