//! Which files were at the paths of a confinement when it was made.
//!
//! A mount lies on a file, not on a name: who puts another file at a path from outside, as editors and git do when
//! they save, takes away what kept or hid the path, in every mount namespace. Nobody inside can, but the next
//! command would find it so. A launcher asks before each command, and makes a new view when the answer is no.
//!
//! Most paths that are to be hidden do not exist, as the credentials of programs that the user does not have. Those
//! below a directory that does not exist either cost one look together.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::confinement::Confinement;

/// The files, by what tells them apart from later ones: their numbers, and when they were made, since numbers are
/// given again.
#[derive(Debug)]
pub(crate) struct Seen {
    present: Vec<(PathBuf, Identity)>,
    /// Paths that nothing was at, by the first directory on the way to them that did not exist.
    absent: BTreeMap<PathBuf, Vec<PathBuf>>,
}

type Identity = (u64, u64, Option<SystemTime>);

impl Seen {
    /// What is there now. To be asked before a view is made of it.
    pub(crate) fn new(confinement: &Confinement) -> Self {
        let Confinement {
            writable,
            read_only,
            hidden,
            hidden_later,
            visible,
            sockets,
            proxied: _,
            scratch: _,
            largest_file: _,
        } = confinement;
        let mut seen = Self { present: Vec::new(), absent: BTreeMap::new() };
        let mut existing = HashSet::new();
        for path in [writable, read_only, hidden, hidden_later, visible, sockets].into_iter().flatten() {
            match identity(path) {
                Some(found) => seen.present.push((path.clone(), found)),
                None => {
                    let first = first_absent(path, &mut existing).to_owned();
                    seen.absent.entry(first).or_default().push(path.clone());
                }
            }
        }
        seen
    }

    /// Whether it still is.
    pub(crate) fn is_still_so(&self) -> bool {
        self.present.iter().all(|(path, seen)| Some(*seen) == identity(path))
            && self.absent.iter().all(|(first, paths)| {
                first.symlink_metadata().is_err() || paths.iter().all(|path| identity(path).is_none())
            })
    }
}

/// The first directory on the way from the root to `path`, or `path` itself, that does not exist. A link that leads
/// nowhere exists.
fn first_absent<'a>(path: &'a Path, existing: &mut HashSet<&'a Path>) -> &'a Path {
    let mut first = path;
    for above in path.ancestors().skip(1) {
        if existing.contains(above) {
            break;
        }
        if above.symlink_metadata().is_ok() {
            existing.insert(above);
            break;
        }
        first = above;
    }
    first
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ibeam_testkit::Workspace;

    use super::*;

    #[test]
    fn what_appears_is_noticed_and_directories_on_the_way_to_it_are_not() {
        let workspace = Workspace::new();
        let at = |name: &str| workspace.path().join(name);
        symlink(at("nowhere"), at("link")).unwrap();
        let names = ["there", "a/b/c", "a/b/d", "a/e", "f", "link/g"];
        fs::write(at("there"), "").unwrap();
        let confinement = Confinement { hidden_later: names.map(&at).into(), ..Confinement::default() };
        let seen = || Seen::new(&confinement);
        let first = seen();
        assert_eq!(first.present.len(), 1);
        let groups: Vec<_> = first.absent.iter().map(|(first, paths)| (first.clone(), paths.len())).collect();
        assert_eq!(groups, [(at("a"), 3), (at("f"), 1), (at("link/g"), 1)]);
        assert!(first.is_still_so());
        fs::create_dir_all(at("a/b")).unwrap();
        assert!(first.is_still_so());
        for name in ["a/b/d", "a/e", "f"] {
            let before = seen();
            assert!(before.is_still_so());
            fs::write(at(name), "").unwrap();
            assert!(!before.is_still_so() && !first.is_still_so(), "{name}");
        }
        let before = seen();
        fs::create_dir(at("nowhere")).unwrap();
        assert!(before.is_still_so());
        fs::write(at("nowhere/g"), "").unwrap();
        assert!(!before.is_still_so());
        let before = seen();
        fs::remove_file(at("f")).unwrap();
        assert!(!before.is_still_so());
    }
}
