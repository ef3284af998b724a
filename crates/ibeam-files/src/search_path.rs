//! The directories in which programs are found: those of a `PATH` that no repository could fill.
//!
//! The only place that reads a `PATH`, for the programs that this program starts and for those of commands. Otherwise the
//! author of a repository, or the model in an earlier run, could choose which program runs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The directories that are searched where `PATH` has none. bash would search the working directory as well.
pub const DEFAULT_DIRECTORIES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// The number of links that one path may lead through, as in Linux.
const MAX_LINKS: usize = 40;

/// Returns the directories of `path`, a value of `PATH`, that are absolute and outside of `roots`, which are real paths.
pub fn directories_outside<R: AsRef<Path>>(path: &OsStr, roots: &[R]) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|directory| is_outside(directory, roots)).collect()
}

/// Whether `path` is absolute, and neither it nor what it leads to lies in one of `roots`, which are real paths.
///
/// What does not exist yet counts as well: a command could create it where a link leads into a root.
pub fn is_outside<R: AsRef<Path>>(path: &Path, roots: &[R]) -> bool {
    let is_in_root = |path: &Path| roots.iter().any(|root| path.starts_with(root.as_ref()));
    path.is_absolute() && !is_in_root(path) && real_path(path).is_some_and(|real| !is_in_root(&real))
}

/// Returns an absolute path with its links resolved, also of what does not exist; `None` for too many links.
fn real_path(path: &Path) -> Option<PathBuf> {
    let (mut path, mut rest) = (path.to_owned(), Vec::new());
    for _ in 0..MAX_LINKS {
        loop {
            if let Ok(real) = path.canonicalize() {
                return Some(rest.iter().rev().fold(real, |real, name| real.join(name)));
            }
            if let Ok(target) = path.read_link() {
                path = path.parent()?.join(target);
                break;
            }
            // A path that ends in `..` has no name.
            rest.push(path.file_name()?.to_owned());
            path.pop();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_spelling_leads_into_a_root() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("ws");
        for directory in [root.join("bin"), home.join("tools")] {
            fs::create_dir_all(directory).unwrap();
        }
        for (link, target) in [
            ("link", "ws/bin"),
            ("later", "ws/later"),
            ("far", "later/deep"),
            ("to-root", "ws"),
            ("loop", "loop"),
            ("good", "tools"),
        ] {
            symlink(home.join(target), home.join(link)).unwrap();
        }
        symlink("ws/relative", home.join("relative")).unwrap();
        let (absolute, roots) = (|name: &str| home.join(name).display().to_string(), [&root]);
        let inside =
            ["ws", "ws/bin", "ws/none", "tools/../ws/bin", "link", "later", "later/x", "far", "to-root/x"];
        let unknown = ["relative", "loop", "loop/x", "none/../ws/bin"];
        for path in inside.iter().chain(&unknown).map(|name| absolute(name)).chain([
            "".into(),
            ".".into(),
            "bin".into(),
        ]) {
            assert!(!is_outside(Path::new(&path), &roots), "{path}");
        }
        let outside = ["tools", "good", "none", "none/x", "ws2/bin"].map(absolute);
        let all = [&inside.map(absolute)[..], &outside, &["".to_owned(), ".".to_owned()]].concat().join(":");
        assert_eq!(directories_outside(OsStr::new(&all), &roots), outside.map(PathBuf::from));
    }
}
