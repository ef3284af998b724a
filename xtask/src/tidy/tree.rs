//! Access to the files of the repository, for all checks.

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

/// Returns the output of a program of the toolchain, or of git.
pub(super) fn output_of(root: &Path, program: &str, args: &[&str]) -> Result<String, TidyError> {
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
pub(crate) fn tracked_files(root: &Path) -> Result<Vec<String>, TidyError> {
    let listed = output_of(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.lines().filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}

/// Returns the text of the file at `path`, relative to the root.
pub(super) fn read_file(root: &Path, path: &str) -> Result<String, TidyError> {
    std::fs::read_to_string(root.join(path))
        .map_err(|error| TidyError::Unreadable(format!("{path}: {error}")))
}
