//! A snapshot of the files at the paths of a confinement.
//!
//! A mount covers a file, not a name. If another file is put at a path from outside, as editors and git do when they
//! save, the mount that protected or hid the path is gone in every mount namespace. No process inside can do this, but
//! the next command would have access to the new file. So a launcher compares the snapshot before each command and
//! creates a new view when it differs.
//!
//! Most hidden paths do not exist, such as the credentials of programs that the user does not have. They are checked
//! only where the directory that would hold them has changed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::confinement::Confinement;
use crate::existing_paths::DirectoryListings;

/// The existing files and the absent paths of a confinement.
#[derive(Debug)]
pub(crate) struct PathSnapshot {
    present: Vec<(PathBuf, FileIdentity)>,
    absent: Vec<AbsentPaths>,
}

/// Device, inode and creation time of a file. The creation time is included, because inodes are reused.
type FileIdentity = (u64, u64, Option<SystemTime>);

/// Paths that did not exist, below one existing directory.
#[derive(Debug)]
struct AbsentPaths {
    directory: PathBuf,
    /// Changes with every new name in the directory; `None` if it is not reliable.
    stamp: Option<DirStamp>,
    /// The paths by the first missing name below the directory.
    paths: Vec<(PathBuf, Vec<PathBuf>)>,
}

/// Device, inode, and seconds and nanoseconds of the last change of a directory.
type DirStamp = (u64, u64, i64, i64);

/// A directory with a more recent change may change again with the same timestamp, where the file system's clock is
/// coarse.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

impl PathSnapshot {
    /// Takes a snapshot. Must be called before the view is created.
    pub(crate) fn new(confinement: &Confinement) -> Self {
        let Confinement {
            writable,
            read_only,
            hidden,
            // Nothing of it is visible, whatever is there.
            covered: _,
            hidden_when_created,
            visible,
            sockets,
            has_proxy: _,
            max_file_size: _,
            max_scratch_size: _,
        } = confinement;
        let all = [writable, read_only, hidden, hidden_when_created, visible, sockets];
        let mut listings = DirectoryListings::default();
        let mut present = Vec::new();
        // Keyed by bytes, because comparing paths by their components takes ten times as long.
        let mut absent: BTreeMap<&OsStr, BTreeMap<&OsStr, Vec<PathBuf>>> = BTreeMap::new();
        let mut known = HashMap::new();
        for path in all.into_iter().flatten() {
            let found = listings.may_exist(path).then(|| identity(path)).flatten();
            match found {
                Some(found) => present.push((path.clone(), found)),
                None => {
                    let (directory, first) = split_at_first_missing(path, &listings, &mut known);
                    let paths_below = absent.entry(directory.as_os_str()).or_default();
                    paths_below.entry(first.as_os_str()).or_default().push(path.clone());
                }
            }
        }
        let absent = absent.into_iter().map(|(directory, paths)| {
            let paths = paths.into_iter().map(|(first, paths)| (PathBuf::from(first), paths)).collect();
            AbsentPaths::new(Path::new(directory), paths)
        });
        Self { present, absent: absent.collect() }
    }

    /// Whether the files are still the same.
    pub(crate) fn is_current(&self) -> bool {
        self.present.iter().all(|(path, current)| Some(*current) == identity(path))
            && self.absent.iter().all(AbsentPaths::is_current)
    }
}

impl AbsentPaths {
    fn new(directory: &Path, paths: Vec<(PathBuf, Vec<PathBuf>)>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = i64::try_from(now.saturating_sub(TIMESTAMP_GRANULARITY).as_secs()).unwrap_or_default();
        let stamp = read_stamp(directory).filter(|(_, _, seconds, _)| *seconds < settled);
        Self { directory: directory.to_owned(), stamp, paths }
    }

    fn is_current(&self) -> bool {
        let is_unchanged = self.stamp.is_some() && self.stamp == read_stamp(&self.directory);
        is_unchanged
            || self.paths.iter().all(|(first, paths)| {
                first.symlink_metadata().is_err() || paths.iter().all(|path| identity(path).is_none())
            })
    }
}

/// Returns the nearest existing directory above `path`, and the first name below it that does not exist. A broken link
/// counts as existing. `known` caches earlier checks.
fn split_at_first_missing<'a>(
    path: &'a Path,
    listings: &DirectoryListings<'_>,
    known: &mut HashMap<&'a OsStr, bool>,
) -> (&'a Path, &'a Path) {
    let mut first = path;
    for above in path.ancestors().skip(1) {
        let exists = || !listings.is_known_missing(above) && above.symlink_metadata().is_ok();
        if *known.entry(above.as_os_str()).or_insert_with(exists) {
            return (above, first);
        }
        first = above;
    }
    (Path::new("/"), first)
}

fn read_stamp(directory: &Path) -> Option<DirStamp> {
    let found = fs::metadata(directory).ok()?;
    Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ibeam_testkit::Workspace;

    use super::*;

    #[test]
    fn a_created_path_makes_the_snapshot_outdated_but_a_directory_above_it_does_not() {
        let workspace = Workspace::new();
        let at = |name: &str| workspace.path().join(name);
        symlink(at("nowhere"), at("link")).unwrap();
        let names = ["there", "a/b/c", "a/b/d", "a/e", "f", "link/g"];
        fs::write(at("there"), "").unwrap();
        let confinement =
            Confinement { hidden_when_created: names.map(&at).into(), ..Confinement::default() };
        let current = || PathSnapshot::new(&confinement);
        let first = current();
        assert_eq!(first.present.len(), 1);
        let groups = first.absent.iter().flat_map(|paths_below| &paths_below.paths);
        let groups: Vec<_> = groups.map(|(first, paths)| (first.clone(), paths.len())).collect();
        assert_eq!(groups, [(at("a"), 3), (at("f"), 1), (at("link/g"), 1)]);
        assert!(first.is_current());
        fs::create_dir_all(at("a/b")).unwrap();
        assert!(first.is_current());
        for name in ["a/b/d", "a/e", "f"] {
            let before = current();
            assert!(before.is_current());
            fs::write(at(name), "").unwrap();
            assert!(!before.is_current() && !first.is_current(), "{name}");
        }
        let before = current();
        fs::create_dir(at("nowhere")).unwrap();
        assert!(before.is_current());
        fs::write(at("nowhere/g"), "").unwrap();
        assert!(!before.is_current());
        let before = current();
        fs::remove_file(at("f")).unwrap();
        assert!(!before.is_current());
    }

    #[test]
    fn an_old_unchanged_directory_needs_no_check_of_the_paths_below_it() {
        let workspace = Workspace::new();
        let at = |name: &str| workspace.path().join(name);
        fs::create_dir(at("home")).unwrap();
        let directory = fs::File::open(at("home")).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(600);
        directory.set_times(fs::FileTimes::new().set_modified(long_ago)).unwrap();
        let names = ["home/.aws", "home/.config/gh"];
        let confinement =
            Confinement { hidden_when_created: names.map(&at).into(), ..Confinement::default() };
        let current = PathSnapshot::new(&confinement);
        assert!(current.absent.iter().all(|paths_below| paths_below.stamp.is_some()) && current.is_current());
        fs::write(at("home/other"), "").unwrap();
        assert!(current.is_current());
        fs::create_dir_all(at("home/.config/gh")).unwrap();
        assert!(!current.is_current());
    }
}
