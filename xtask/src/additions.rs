//! `cargo xtask additions`: adds one throw-away thing of six kinds to a copy of the tree, and checks that it compiles.
//!
//! Each kind has the largest number of files that one more may touch (ARCHITECTURE.md, "To add …"), documentation included,
//! tests and translations not. If an addition needs another place, the compiler or a missing anchor says so.

mod throwaways;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use self::throwaways::ADDITIONS;
use crate::suite::SuiteError;
use crate::tidy::tracked_files;

/// The directory of the copy, relative to the root.
const COPY: &str = "target/additions/tree";
/// The target directory of the copy: in a common one, cargo would take the artefacts of one tree for those of the other.
const TARGET: &str = "target/additions/target";

/// A throw-away thing.
struct Addition {
    what: &'static str,
    /// The largest number of files.
    limit: usize,
    edits: &'static [Edit],
}

/// A change of a file.
enum Edit {
    New {
        path: &'static str,
        text: &'static str,
    },
    /// The text goes before the anchor, which the file has once.
    Before {
        path: &'static str,
        anchor: &'static str,
        text: &'static str,
    },
    /// The text replaces the anchor, which the file has once.
    Replace {
        path: &'static str,
        anchor: &'static str,
        text: &'static str,
    },
}

impl Edit {
    fn path(&self) -> &'static str {
        match self {
            Self::New { path, .. } | Self::Before { path, .. } | Self::Replace { path, .. } => path,
        }
    }

    /// Returns the text of the file with the change.
    ///
    /// # Errors
    /// What is wrong with the anchor, or with the file.
    fn apply(&self, old: Option<&str>) -> Result<String, String> {
        let (anchor, new) = match (self, old) {
            (Self::New { text, .. }, None) => return Ok((*text).to_owned()),
            (Self::New { .. }, Some(_)) => return Err("exists already".to_owned()),
            (_, None) => return Err("does not exist".to_owned()),
            (Self::Before { anchor, text, .. }, Some(_)) => (anchor, format!("{text}{anchor}")),
            (Self::Replace { anchor, text, .. }, Some(_)) => (anchor, (*text).to_owned()),
        };
        let old = old.unwrap_or_default();
        match old.matches(anchor).count() {
            1 => Ok(old.replacen(anchor, &new, 1)),
            count => Err(format!("has {count} times the text {anchor:?}, after which something is added")),
        }
    }
}

/// Copies the tree, makes the additions, and checks the program.
///
/// # Errors
/// `Failed` with the additions that touch too many files or do not fit, or if the copy does not compile.
pub(crate) fn run(root: &Path) -> Result<(), SuiteError> {
    let copy = root.join(COPY);
    copy_tree(root, &copy)?;
    let mut findings = Vec::new();
    for Addition { what, limit, edits } in ADDITIONS {
        let files: BTreeSet<&str> = edits.iter().map(Edit::path).collect();
        println!("{what}: {} files (at most {limit})", files.len());
        if files.len() > *limit {
            findings.push(format!("{what}: {} files, at most {limit}", files.len()));
        }
        for edit in *edits {
            let path = copy.join(edit.path());
            match edit.apply(fs::read_to_string(&path).ok().as_deref()) {
                Ok(text) => fs::write(&path, text).map_err(SuiteError::system(path.display()))?,
                Err(detail) => findings.push(format!("{what}: {} {detail}", edit.path())),
            }
        }
    }
    if !findings.is_empty() {
        return Err(SuiteError::Failed(findings.join("\n")));
    }
    let mut cargo = Command::new("cargo");
    // The engine of the embedded model is most of what is compiled, and nothing of it depends on an addition.
    cargo.args(["check", "--locked", "--quiet", "-p", "ibeam", "--no-default-features"]);
    cargo.current_dir(&copy).env("CARGO_TARGET_DIR", root.join(TARGET));
    match cargo.status().map_err(SuiteError::system("cargo"))?.success() {
        true => Ok(()),
        false => Err(SuiteError::Failed("the tree with the additions does not compile".to_owned())),
    }
}

/// Copies the files that git tracks or would track into an empty directory.
fn copy_tree(root: &Path, copy: &Path) -> Result<(), SuiteError> {
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(SuiteError::system(copy.display()))?;
    }
    let files = tracked_files(root).map_err(|error| SuiteError::Failed(error.to_string()))?;
    for file in files {
        let target = copy.join(&file);
        let directory = target.parent().unwrap_or(copy);
        fs::create_dir_all(directory).map_err(SuiteError::system(directory.display()))?;
        fs::copy(root.join(&file), &target).map_err(SuiteError::system(target.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_that_is_missing_or_ambiguous_is_an_error() {
        let edit = Edit::Before { path: "a", anchor: "b", text: "x" };
        assert_eq!(edit.apply(Some("abc")).unwrap(), "axbc");
        assert!(edit.apply(Some("ac")).unwrap_err().contains("0 times"));
        assert!(edit.apply(Some("abcb")).unwrap_err().contains("2 times"));
        assert!(edit.apply(None).is_err());
        assert!(Edit::New { path: "a", text: "x" }.apply(Some("")).is_err());
    }
}
