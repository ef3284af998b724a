//! Builds the program as it is distributed.
//!
//! The profile is `dist` of `Cargo.toml`, and [`linker`] links the file: nearly all memory of a short run is pages of the
//! program file, so what runs use lies together there. Without valgrind the functions stay in the order of the compiler.

pub(crate) mod linker;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{BuildError, build_program_linked_by};

/// A variant of the distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Without the engine of the embedded model and without the client of queues.
    WithoutEngine,
    /// With all features.
    WithEverything,
}

/// A distribution that was not built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DistributionError {
    /// The program was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The linker could not be made.
    #[error("{0}: {1}")]
    System(String, io::Error),
}

impl Distribution {
    /// Returns the name of the variant in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WithoutEngine => "without the engine",
            Self::WithEverything => "with everything",
        }
    }

    /// Builds the variant, and returns the absolute path of the executable.
    ///
    /// # Errors
    /// `System` when the linker cannot be made, `Build` when the build fails.
    pub(crate) fn build(self, root: &Path) -> Result<PathBuf, DistributionError> {
        if !has_valgrind() {
            eprintln!("SKIP: the functions of the file are not sorted, since valgrind is not installed");
        }
        let features = match self {
            Self::WithoutEngine => "--no-default-features",
            Self::WithEverything => "--features=nats",
        };
        let linker = linker::create(root)
            .map_err(|error| DistributionError::System("the linker of the distribution".to_owned(), error))?;
        Ok(build_program_linked_by(root, &["--profile", "dist", features], &linker)?)
    }
}

/// Whether valgrind can be started.
pub(crate) fn has_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Builds a variant and prints the path of the executable.
pub(crate) fn run(root: &Path, everything: bool) -> Result<(), DistributionError> {
    let distribution = if everything { Distribution::WithEverything } else { Distribution::WithoutEngine };
    println!("{}", distribution.build(root)?.display());
    Ok(())
}
