//! The directories of a repository, found without starting a process.
//!
//! The author of the repository may have written these files. Links are not followed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;

/// The size limit of a file with one line, in bytes.
const MAX_BYTES: u64 = 4096;

/// The directories of a repository, as real paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryLocation {
    /// The directory with `HEAD` and the index of the work tree.
    pub git_dir: PathBuf,
    /// The directory with the objects, references and configuration: that of a linked work tree is that of the main one.
    pub common_dir: PathBuf,
}

impl RepositoryLocation {
    /// Returns the repository of the work tree `top`, a real path. A `.git` file counts only if it names a directory of
    /// git that names the `.git` file in turn, or that of a submodule.
    pub fn for_work_tree(top: &Path) -> Option<Self> {
        let git_dir = git_dir(top)?;
        Some(Self { common_dir: common_dir(&git_dir)?, git_dir })
    }

    /// Returns the repository that the user names as a source: a work tree, whatever directory its `.git` file names, or
    /// a git directory. `None` if there is none.
    pub fn for_source(path: &Path) -> Option<Self> {
        let linked = || {
            let target = read_line(&path.join(".git"))?;
            path.join(target.strip_prefix("gitdir: ")?).canonicalize().ok()
        };
        let suffixed = || {
            let mut name = path.file_name()?.to_owned();
            name.push(".git");
            Some(path.with_file_name(name))
        };
        let candidates = [Some(path.join(".git")), linked(), Some(path.to_owned()), suffixed()];
        candidates.into_iter().flatten().find_map(|candidate| {
            let git_dir = candidate.canonicalize().ok().filter(|found| found.join("HEAD").is_file())?;
            let common_dir = common_dir(&git_dir)?;
            let is_repository = ["objects", "refs"].iter().all(|name| common_dir.join(name).is_dir());
            is_repository.then_some(Self { git_dir, common_dir })
        })
    }
}

/// Returns the path of a repository on this machine; `None` for a URL of another one.
pub fn local_path(url: &str) -> Option<PathBuf> {
    if let Some(path) = url.strip_prefix("file://") {
        let path = path.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        return Some(decode(path));
    }
    // `host:path` and `scheme://` are remote; git decides in the same way.
    let is_remote = url.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
    (!is_remote).then(|| PathBuf::from(url))
}

/// Decodes `%xx`, as git does in URLs.
fn decode(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded =
            digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Returns the directory with the objects and references of the git directory `git_dir`: that of a linked work tree shares
/// those of the main one.
pub(crate) fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let pointer = git_dir.join("commondir");
    let common = match pointer.symlink_metadata() {
        Ok(_) => git_dir.join(read_line(&pointer)?).canonicalize().ok()?,
        Err(_) => return Some(git_dir.to_owned()),
    };
    (git_dir.parent() == Some(&common.join("worktrees"))).then_some(common)
}

/// Returns the git directory of the work tree `top`.
pub fn git_dir(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.symlink_metadata().ok()?.is_dir() {
        return Some(dot_git);
    }
    let target = read_line(&dot_git)?;
    let directory = top.join(target.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let points_back = || {
        let back = directory.join(read_line(&directory.join("gitdir"))?);
        Some(back.parent()?.canonicalize().ok()? == top && back.file_name()? == ".git")
    };
    // The git directory of a submodule is inside that of the outer repository.
    let is_module = || {
        let mut around = top.ancestors().skip(1).map(|outer| outer.join(".git/modules"));
        around.any(|modules| directory.starts_with(modules))
    };
    (points_back() == Some(true) || is_module()).then_some(directory)
}

/// Returns the line of a small regular file with one line; does not follow links.
pub fn read_line(path: &Path) -> Option<String> {
    let file = regular_file::open(path, false).ok()?;
    let text = String::from_utf8(regular_file::read_all(&file, MAX_BYTES).ok()?).ok()?;
    let line = text.trim_end();
    (!line.contains('\n')).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_file_url_are_local() {
        for (url, expect) in [
            ("/a/b", Some("/a/b")),
            ("./a:b", Some("./a:b")),
            ("file:///a%20b/c", Some("/a b/c")),
            ("file://localhost/a", Some("/a")),
            ("host:path", None),
            ("https://example.com/a.git", None),
            ("ext::sh -c x", None),
        ] {
            assert_eq!(local_path(url).as_deref(), expect.map(Path::new), "{url}");
        }
    }
}
