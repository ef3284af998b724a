//! What the compiler does not hold: edges between crates, sizes of files, files that change together,
//! faults that no test holds, tests that the page on security names.

mod edges;
mod orphans;
mod security_page;
mod sizes;
mod together;
mod words;

use std::path::Path;

/// Why the tree is not tidy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Untidy {
    /// The tree could not be looked at.
    #[error("cannot look at the tree: {0}")]
    Unreadable(String),
    /// Findings, already printed.
    #[error("{0} findings")]
    Findings(usize),
}

/// Prints every finding and fails when there is one.
pub(crate) fn run(root: &Path) -> Result<(), Untidy> {
    let mut findings = edges::check(root)?;
    findings.extend(orphans::check(root)?);
    findings.extend(security_page::check(root)?);
    findings.extend(sizes::check(root)?);
    findings.extend(together::check(root)?);
    findings.extend(words::check(root)?);
    findings.extend(crate::faults::check(root).map_err(|error| Untidy::Unreadable(error.to_string()))?);
    findings.extend(crate::schema::check(root));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy");
            Ok(())
        }
        count => Err(Untidy::Findings(count)),
    }
}

/// What a command of the toolchain or of git prints.
fn output_of(root: &Path, program: &str, args: &[&str]) -> Result<String, Untidy> {
    let unreadable = |said: String| Untidy::Unreadable(format!("`{program} {}`: {said}", args.join(" ")));
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

/// The files git tracks, relative to the root.
fn tracked(root: &Path) -> Result<Vec<String>, Untidy> {
    let listed = output_of(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.lines().filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}
