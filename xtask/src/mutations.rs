//! Mutation tests: each listed protection is removed in turn, and some test must fail.
//!
//! Changes the files of the checkout, one file at a time, and restores each file after its tests, even after an error. A
//! file with uncommitted changes is rejected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{PROGRAM_VARIABLE, PROGRAMS_VARIABLE, cargo_command};
use serde::Deserialize;

use crate::test_runner::{TestRunner, TestRunnerError, words_of_filter};
use crate::tidy::package_of;

/// The list of mutations, relative to the root of the repository.
pub(crate) const LIST_PATH: &str = "corpus/mutations.toml";

/// A failure of this subcommand, or a protection without a test.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MutationsError {
    /// The list, or a file that the list names, cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// The list is invalid.
    #[error("{LIST_PATH}: {0}")]
    List(#[from] toml::de::Error),
    /// A program could not be started.
    #[error("cannot start `{0}`: {1}")]
    Start(&'static str, std::io::Error),
    /// Uncommitted changes would be lost.
    #[error("`{0}` has uncommitted changes; commit them first")]
    UncommittedChanges(String),
    /// The file does not contain the text of the protection any more, or more than once.
    #[error("`{0}` does not contain `{1}` exactly once; update {LIST_PATH}")]
    Stale(String, String),
    /// The filter of a mutation has more than words.
    #[error(transparent)]
    Filter(#[from] TestRunnerError),
    /// The tests fail without a mutation, so their failure with a mutation would prove nothing.
    #[error("`{0}` fails without a mutation")]
    FailingTests(String),
    /// The number of protections that can be removed without a failing test.
    #[error("{0} of the protections can be removed without a failing test")]
    UndetectedMutations(usize),
}

#[derive(Deserialize)]
struct MutationList {
    mutation: Vec<Mutation>,
}

/// A protection, and the change of a file that removes it.
#[derive(Deserialize)]
pub(crate) struct Mutation {
    #[serde(rename = "what")]
    pub(crate) protection: String,
    /// The file with the protection, relative to the root.
    pub(crate) file: String,
    /// The text of the protection.
    pub(crate) find: String,
    /// The text without the protection.
    pub(crate) replace: String,
    /// The crate whose tests must fail.
    pub(crate) package: String,
    /// The words in the names of these tests, as a filter of nextest.
    pub(crate) tests: String,
}

pub(crate) fn load(root: &Path) -> Result<Vec<Mutation>, MutationsError> {
    let path = root.join(LIST_PATH);
    let text = std::fs::read_to_string(&path).map_err(|error| MutationsError::File(path, error))?;
    let MutationList { mutation } = toml::from_str(&text)?;
    Ok(mutation)
}

/// Returns the text of the file that `mutation` changes.
///
/// # Errors
/// `Stale` unless the file contains the text of the protection exactly once; `File`.
pub(crate) fn read_target(root: &Path, mutation: &Mutation) -> Result<String, MutationsError> {
    let path = root.join(&mutation.file);
    let text = std::fs::read_to_string(&path).map_err(|error| MutationsError::File(path, error))?;
    if text.matches(&mutation.find).count() != 1 {
        return Err(MutationsError::Stale(mutation.file.clone(), mutation.find.clone()));
    }
    Ok(text)
}

/// Removes each protection whose name contains `only`, or all without it, and runs the tests that should fail.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), MutationsError> {
    let mut all = load(root)?;
    all.retain(|mutation| only.is_none_or(|only| mutation.protection.contains(only)));
    let runner = TestRunner::find(root);
    let unchanged: BTreeSet<_> = all.iter().map(|mutation| (&mutation.package, &mutation.tests)).collect();
    for (package, tests) in unchanged {
        if !passes(root, &runner, package, tests)? {
            return Err(MutationsError::FailingTests(tests.clone()));
        }
    }
    let mut unnoticed = 0;
    for mutation in &all {
        let Mutation { protection, package, tests, .. } = mutation;
        let noticed = {
            let _mutated = MutatedFile::apply(root, mutation)?;
            compiles(root, mutation)? && !passes(root, &runner, package, tests)?
        };
        println!("{}  without {protection}", if noticed { "noticed  " } else { "UNNOTICED" });
        unnoticed += usize::from(!noticed);
    }
    println!("{} protections removed, {unnoticed} unnoticed", all.len());
    if unnoticed == 0 { Ok(()) } else { Err(MutationsError::UndetectedMutations(unnoticed)) }
}

/// A mutated file, which is restored on drop.
struct MutatedFile {
    path: PathBuf,
    original: String,
}

impl MutatedFile {
    fn apply(root: &Path, mutation: &Mutation) -> Result<Self, MutationsError> {
        let changed = Command::new("git")
            .args(["status", "--porcelain", "--", &mutation.file])
            .current_dir(root)
            .output()
            .map_err(|error| MutationsError::Start("git", error))?;
        if !changed.stdout.is_empty() {
            return Err(MutationsError::UncommittedChanges(mutation.file.clone()));
        }
        let original = read_target(root, mutation)?;
        let mutated = original.replacen(&mutation.find, &mutation.replace, 1);
        let guard = Self { path: root.join(&mutation.file), original };
        std::fs::write(&guard.path, mutated)
            .map_err(|error| MutationsError::File(guard.path.clone(), error))?;
        Ok(guard)
    }
}

impl Drop for MutatedFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.path, &self.original) {
            eprintln!("error: cannot restore {}: {error}", self.path.display());
        }
    }
}

/// Whether the file of the mutation compiles. No test notices one that does not.
fn compiles(root: &Path, mutation: &Mutation) -> Result<bool, MutationsError> {
    let package = package_of(&mutation.file).unwrap_or_default();
    let output = cargo_command().args(["check", "--locked", "-p", package]).current_dir(root).output();
    let output = output.map_err(|error| MutationsError::Start("cargo", error))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success())
}

/// Whether the tests pass. End-to-end tests build the program from the sources as they are.
fn passes(root: &Path, runner: &TestRunner, package: &str, tests: &str) -> Result<bool, MutationsError> {
    let words = words_of_filter(tests)?;
    let run = |args: &[&str]| {
        let mut command = runner.command(root);
        command.args(["-p", package]).args(args).env_remove(PROGRAM_VARIABLE).env_remove(PROGRAMS_VARIABLE);
        command.output().map_err(|error| MutationsError::Start("cargo", error))
    };
    // `cargo test` takes one word before `--`, and any number after it, as nextest does.
    let words = words.iter().map(String::as_str);
    let result = run(&["--"].into_iter().chain(words).collect::<Vec<_>>())?;
    Ok(result.status.success())
}
