//! Checks of the tree that the compiler does not make: edges between crates, sizes and names of files, words, pages
//! that must change with the code.

mod contract_page;
mod edges;
mod files;
mod security_page;
mod words;

use std::path::Path;

/// A failed check of the tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    /// A file or the output of a program that cannot be read.
    #[error("cannot check the tree: {0}")]
    Unreadable(String),
    /// The number of findings, which are already printed.
    #[error("{0} findings")]
    Findings(usize),
}

/// Prints every finding and fails when there is one.
pub(crate) fn run(root: &Path) -> Result<(), TidyError> {
    let mut findings = edges::check(root)?;
    findings.extend(files::check(root)?);
    findings.extend(security_page::check(root)?);
    findings.extend(contract_page::check(root)?);
    findings.extend(words::check(root)?);
    findings.extend(crate::faults::check(root).map_err(|error| TidyError::Unreadable(error.to_string()))?);
    findings.extend(crate::schema::check(root));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy");
            Ok(())
        }
        count => Err(TidyError::Findings(count)),
    }
}

/// Returns the output of a program of the toolchain, or of git.
fn output_of(root: &Path, program: &str, args: &[&str]) -> Result<String, TidyError> {
    let unreadable =
        |detail: String| TidyError::Unreadable(format!("`{program} {}`: {detail}", args.join(" ")));
    let output = std::process::Command::new(program)
        .args(args)
        .current_dir(root)
        .output()
        .map_err(|error| unreadable(error.to_string()))?;
    if !output.status.success() {
        return Err(unreadable(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the files of the tree that git tracks or would track, relative to the root.
fn tracked_files(root: &Path) -> Result<Vec<String>, TidyError> {
    let listed = output_of(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.lines().filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}

/// Returns the text of the file at `path`, relative to the root.
fn read_file(root: &Path, path: &str) -> Result<String, TidyError> {
    std::fs::read_to_string(root.join(path))
        .map_err(|error| TidyError::Unreadable(format!("{path}: {error}")))
}
