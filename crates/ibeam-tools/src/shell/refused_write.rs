//! Finds in the output of a command a write that only Landlock can have refused.
//!
//! Where nothing is mounted read-only, such a write fails with "Permission denied", as it does where a file belongs to
//! somebody else. So the path in the message counts only if this program itself could write there.

use std::path::{Component, Path, PathBuf};

use ibeam_policy::PathPolicy;
use rustix::fs::{Access, access};

/// Messages of programs about a missing permission.
const SYMPTOMS: [&str; 2] = ["ermission denied", "EACCES"];
/// Maximum number of paths that are looked at.
const MAX_PATHS: usize = 64;

/// Whether a line of `output` reports that a path outside `workspace` cannot be written, although the user could write
/// it and `policy` does not hide it.
pub(super) fn reports_refused_write(output: &str, workspace: &Path, policy: &PathPolicy) -> bool {
    let lines = output.lines().filter(|line| SYMPTOMS.iter().any(|symptom| line.contains(symptom)));
    let paths = lines.flat_map(named_paths).filter_map(|word| outside_path(word, workspace));
    paths.take(MAX_PATHS).any(|path| !policy.hides(&path) && is_writable(&path))
}

/// Returns the words of a message that may be paths.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_delimiter = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '(' | ')' | '‘' | '’');
    let words = line.split(is_delimiter).map(|word| word.trim_matches([':', ',', ';']));
    words.filter(|word| word.starts_with('/') || word.starts_with("../"))
}

/// Returns the absolute path of a word if it is outside the workspace.
fn outside_path(word: &str, workspace: &Path) -> Option<PathBuf> {
    let mut path = workspace.to_owned();
    for component in Path::new(word).components() {
        match component {
            Component::RootDir | Component::Prefix(_) => path = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
        }
    }
    (!path.starts_with(workspace)).then_some(path)
}

/// Whether this program may write an existing file, or create a missing one.
fn is_writable(path: &Path) -> bool {
    let place = if path.symlink_metadata().is_ok() { Some(path) } else { path.parent() };
    place.is_some_and(|place| access(place, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_outside_differs_from_other_refusals() {
        let directory = tempfile::tempdir().unwrap();
        let (root, workspace) = (directory.path().canonicalize().unwrap(), directory.path().join("w"));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let workspace = workspace.canonicalize().unwrap();
        let shown = root.display();
        for (output, expect) in [
            (format!("touch: cannot touch '{shown}/new': Permission denied"), true),
            (format!("bash: line 1: {shown}/file: Permission denied"), true),
            ("mkdir: cannot create directory ‘../new’: Permission denied".to_owned(), true),
            (format!("Error: EACCES: permission denied, open '{shown}/x.json'"), true),
            (format!("PermissionError: [Errno 13] Permission denied: '{shown}/new'"), true),
            ("bash: line 1: ./run.sh: Permission denied".to_owned(), false),
            (format!("cat: {shown}/w/locked: Permission denied"), false),
            ("cat: /nonexistent-directory/x: Permission denied".to_owned(), false),
            (format!("wrote {shown}/new"), false),
            ("Permission denied (publickey).".to_owned(), false),
        ] {
            let found = reports_refused_write(&output, &workspace, &PathPolicy::default());
            assert_eq!(found, expect, "{output}");
        }
    }
}
